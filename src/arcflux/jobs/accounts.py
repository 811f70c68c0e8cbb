"""What kernels want of a machine, memory or arithmetic, and what two of them gain side by side.

By the account alone: a kernel that keeps memory busy for a share `memory` of its time, and arithmetic for a share
`arithmetic`, beside another one is slowed down once a resource is wanted for more than all of the time. What was
measured corrects that: the speed of a kernel beside another kind, over its speed alone.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Account", "Pairs"]

# Bytes a second over operations a second of a usual core: what makes a kernel wait for memory, or for arithmetic.
_BYTES, _OPERATIONS = 8e9, 4e9
# So many measurements weigh as much as the account.
_PRIOR = 4.0
_FRESH = 0.2


@dataclass(frozen=True)
class Account:
    """How busy a kernel of a kind keeps memory and arithmetic while it runs alone: shares of its time, from 0 to 1.

    Examples
    --------
    >>> Account.of_work("bfs", edge_bytes=12, edge_operations=2)
    Account(kind='bfs', memory=1.0, arithmetic=0.333...)
    """

    kind: str
    memory: float
    arithmetic: float

    @classmethod
    def of_work(cls, kind: str, edge_bytes: float, edge_operations: float) -> Account:
        """The account of a kernel that moves so many bytes and does so many operations for each edge."""
        moving, counting = edge_bytes / _BYTES, edge_operations / _OPERATIONS
        longest = max(moving, counting, 1e-30)
        return cls(kind, moving / longest, counting / longest)


class Pairs:
    """What kinds of kernels gain side by side: 2 where neither slows the other down, 1 where it is all the same.

    Examples
    --------
    >>> pairs = Pairs()
    >>> search, filtering = Account("bfs", 1.0, 0.2), Account("cf", 0.3, 1.0)
    >>> pairs.gain(search, search), round(pairs.gain(search, filtering), 2)
    (1.0, 1.54)
    """

    def __init__(self) -> None:
        self._alone: dict[str, float] = {}
        self._beside: dict[tuple[str, str], tuple[float, float]] = {}

    def gain(self, one: Account, other: Account) -> float:
        """What two kernels do in a second side by side, over what they do one after the other."""
        wanted = max(1.0, one.memory + other.memory, one.arithmetic + other.arithmetic)
        expected = 1.0 / wanted
        return self._speed(one, other, expected) + self._speed(other, one, expected)

    def _speed(self, one: Account, other: Account, expected: float) -> float:
        """The speed of a kernel beside another, over its speed alone on all workers; 1 where it is not slowed down."""
        seen, count = self._beside.get((one.kind, other.kind), (0.0, 0.0))
        return (expected * _PRIOR + seen * count) / (_PRIOR + count)

    def measured(self, one: Account, beside: Account | None, speed: float) -> None:
        """A slice of a kernel has run at so many chunks a second: alone on all workers, or beside another."""
        if beside is None:
            before = self._alone.get(one.kind, speed)
            self._alone[one.kind] = before + _FRESH * (speed - before)
        elif one.kind in self._alone:
            ratio = min(1.5, speed / self._alone[one.kind])
            before, count = self._beside.get((one.kind, beside.kind), (ratio, 0.0))
            self._beside[one.kind, beside.kind] = before + _FRESH * (ratio - before), min(count + 1, 4 * _PRIOR)

    def forget_alone(self, kind: str) -> None:
        """Another graph, or another phase: how fast a kind is alone is measured anew."""
        self._alone.pop(kind, None)

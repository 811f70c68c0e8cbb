"""The resources that kernels need, memory or arithmetic, and what two of them gain by running side by side.

By the account alone: a kernel keeps memory busy for a share `memory` of its time on all workers, and arithmetic for a
share `arithmetic`. On half of the workers it has half of the arithmetic, and more than half of the memory's bandwidth;
beside another one it slows down once both need more than the whole bandwidth. Measurements correct the account: the
speed of a kernel on its half beside another kind, over its speed alone on all workers.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Account", "Pairs"]

# Bytes and operations a second of a typical core: their ratio decides whether a kernel waits for memory or for
# arithmetic.
_BYTES, _OPERATIONS = 8e9, 4e9
# The share of the bandwidth that half of the workers reach: they have fewer misses in flight, but less contention.
_HALF_BANDWIDTH = 0.65
# The account weighs as much as this many measurements; and every pair is tried for this many slices, whatever the
# account says.
_PRIOR, _TRIALS = 1.0, 3
_FRESH, _FULL = 0.2, 16.0


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
        """The account of a kernel that moves this many bytes and executes this many operations per edge."""
        moving, counting = edge_bytes / _BYTES, edge_operations / _OPERATIONS
        longest = max(moving, counting, 1e-30)
        return cls(kind, moving / longest, counting / longest)


class Pairs:
    """The gain of two kinds of kernels side by side, each on half of the workers: 1 if there is none.

    Examples
    --------
    >>> pairs = Pairs()
    >>> search, filtering = Account("bfs", 1.0, 0.2), Account("cf", 0.3, 1.0)
    >>> pairs.gain(search, search), round(pairs.gain(search, filtering), 2), pairs.gain(filtering, filtering)
    (1.0, 1.15, 1.0)
    """

    def __init__(self) -> None:
        self._alone: dict[str, float] = {}
        self._beside: dict[tuple[str, str], tuple[float, float]] = {}

    def gain(self, one: Account, other: Account) -> float:
        """What two kernels do in a second side by side, over what they do one after the other."""
        mine, others = _half_speed(one), _half_speed(other)
        crowding = max(1.0, one.memory * mine + other.memory * others)
        return self._speed(one, other, mine / crowding) + self._speed(other, one, others / crowding)

    def is_worth_a_try(self, one: Account, other: Account) -> bool:
        """Whether two kinds should be measured side by side: they differ, and were measured alone, but not together.

        Half of the workers have less synchronisation to wait for, so a pair without gain loses next to nothing.
        """
        if one.kind not in self._alone or other.kind not in self._alone:
            return False
        seen = min(self._beside.get(pair, (0.0, 0.0))[1] for pair in ((one.kind, other.kind), (other.kind, one.kind)))
        return one.kind != other.kind and seen < _TRIALS

    def _speed(self, one: Account, other: Account, expected: float) -> float:
        """The speed of a kernel on its half beside another, over its speed alone on all workers."""
        seen, count = self._beside.get((one.kind, other.kind), (0.0, 0.0))
        return (expected * _PRIOR + seen * count) / (_PRIOR + count)

    def measured(self, one: Account, beside: Account | None, speed: float) -> None:
        """A slice of a kernel ran at this many chunks a second: alone on all workers, or on half beside another."""
        if beside is None:
            before = self._alone.get(one.kind, speed)
            self._alone[one.kind] = before + _FRESH * (speed - before)
        elif one.kind in self._alone:
            ratio = min(1.5, speed / self._alone[one.kind])
            before, count = self._beside.get((one.kind, beside.kind), (ratio, 0.0))
            self._beside[one.kind, beside.kind] = before + _FRESH * (ratio - before), min(count + 1, _FULL)


def _half_speed(one: Account) -> float:
    """The speed of a kernel on half of the workers, alone, over its speed on all."""
    return 1.0 / max(2.0 * one.arithmetic, one.memory / _HALF_BANDWIDTH, 1.0)

"""What happened in a run, superstep by superstep: columns of numbers, and records that are made when looked at.

A road graph has hundreds of thousands of supersteps, and few people look at each. So a run keeps rows of numbers;
sums and plots read columns, and a :class:`Superstep` is made when one is asked for.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from types import MappingProxyType
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from arcflux.trace import counted

__all__ = ["Chained", "History", "Phased", "Recorded", "Superstep", "column"]

Array = NDArray[Any]
# Supersteps that a notebook shows of a long history, first and last ones.
_SHOWN = 10
# What is known of a run without parts.
_NOUGHT: dict[str, Array | float] = dict.fromkeys(("bytes", "more_bytes", "slowest", "planning", "migration"), 0.0)


@dataclass(frozen=True)
class Superstep:
    """One superstep: which way and why, how many vertices sent along how many edges, what came of it, how long.

    `edges` of a pull that follows a push of many vertices are estimated, from the degrees of one vertex in 16. On parts
    of a graph, `bytes` are the values that crossed between nodes, `more_bytes` what said whose values they are, and
    `part_seconds` is how long each part computed, and `bounds` where each began and the last one ended, if parts are
    ranges; `planning` is how long the first rank then computed to find better ones, while the others went on, and
    `migration` how long moving to them took. `totals` are the program's, by name, of this superstep; `phase` is the
    phase that it was one of, "" without phases.
    """

    number: int
    direction: str
    frontier: int
    residual: float
    seconds: float
    changed: int | None = None
    edges: int | None = None
    reason: str = ""
    bytes: int = 0
    more_bytes: int = 0
    part_seconds: tuple[float, ...] = ()
    bounds: tuple[int, ...] = ()
    planning: float = 0.0
    migration: float = 0.0
    totals: Mapping[str, Any] = field(default_factory=dict)
    phase: str = ""

    @property
    def slowest(self) -> float:
        """How long the slowest part computed; 0 without parts."""
        return max(self.part_seconds, default=0.0)


class _Lazy(Sequence[Superstep]):
    """Supersteps that are made when looked at."""

    @abstractmethod
    def _made(self, place: int) -> Superstep:
        """The superstep at a place."""

    @abstractmethod
    def column(self, name: str, missing: float = 0.0) -> Array:
        """A number of every superstep; `missing` where none is known."""

    @overload
    def __getitem__(self, place: int) -> Superstep: ...

    @overload
    def __getitem__(self, place: slice) -> list[Superstep]: ...

    def __getitem__(self, place: int | slice) -> Superstep | list[Superstep]:
        if isinstance(place, slice):
            return [self._made(k) for k in range(*place.indices(len(self)))]
        return self._made(range(len(self))[place])

    def __repr__(self) -> str:
        return f"<History: {counted(len(self), 'superstep')}>"

    def _repr_html_(self) -> str:
        phased = ("phase",) if len(self) and self[0].phase else ()
        names = ("number", *phased, "direction", "frontier", "edges", "changed", "residual", "seconds", "reason")
        steps = [*self[:_SHOWN], *self[max(_SHOWN, len(self) - _SHOWN) :]]
        rows = ["".join(f"<td>{escape(_cell(getattr(step, name)))}</td>" for name in names) for step in steps]
        head = "".join(f"<th>{name}</th>" for name in names)
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return f"<b>{escape(repr(self)[1:-1])}</b><table><tr>{head}</tr>{body}</table>"


def _cell(value: Any) -> str:
    """A value of a superstep in few signs."""
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


class History(_Lazy):
    """Supersteps as rows of numbers: `make` has one from its number and its row, `columns` are those of the rows.

    A column that is the same for all supersteps may be given as that number. `totals` are the program's, by name: a row
    for each superstep.
    """

    def __init__(
        self,
        rows: Array,
        make: Callable[[int, list[float]], Superstep],
        columns: Callable[[Array], Mapping[str, Array | float]],
        totals: Mapping[str, Array] = MappingProxyType({}),
    ) -> None:
        self._rows, self._make, self._columns, self._totals = rows, make, columns, totals

    def __len__(self) -> int:
        return len(self._rows)

    def _made(self, place: int) -> Superstep:
        made = self._make(place, self._rows[place].tolist())
        known = _row(self._totals, place)
        return replace(made, totals=known) if known else made

    @property
    def rows(self) -> Array:
        """The numbers of which supersteps are made: a row for each."""
        return self._rows

    @property
    def totals(self) -> Mapping[str, Array]:
        """The totals of the program, by name: a row for each superstep."""
        return self._totals

    def column(self, name: str, missing: float = 0.0) -> Array:
        """A number of every superstep; `missing` where none is known."""
        numbers = {known: past for known, past in self._totals.items() if past.ndim == 1}
        known = {**_NOUGHT, **numbers, **self._columns(self._rows)}.get(name, missing)
        return known if isinstance(known, np.ndarray) else np.broadcast_to(known, len(self))


def _row(totals: Mapping[str, Array], place: int) -> dict[str, Any]:
    """The totals of a superstep, by name."""
    return {name: past[place] if past.ndim > 1 else past[place].item() for name, past in totals.items()}


class Recorded(_Lazy):
    """Supersteps that are records already: those of plain Python and of native algorithms."""

    def __init__(self, steps: list[Superstep]) -> None:
        self._steps = steps

    def __len__(self) -> int:
        return len(self._steps)

    def _made(self, place: int) -> Superstep:
        return self._steps[place]

    def column(self, name: str, missing: float = 0.0) -> Array:
        """A number of every superstep; `missing` where none is known."""
        return column(self._steps, name, missing)


class Chained(_Lazy):
    """The supersteps of two runs, one after the other, numbered through."""

    def __init__(self, first: Sequence[Superstep], second: Sequence[Superstep]) -> None:
        self._first, self._second = first, second

    def __len__(self) -> int:
        return len(self._first) + len(self._second)

    def _made(self, place: int) -> Superstep:
        if place < (before := len(self._first)):
            return self._first[place]
        found = self._second[place - before]
        return replace(found, number=before + found.number)

    def column(self, name: str, missing: float = 0.0) -> Array:
        """A number of every superstep; `missing` where none is known."""
        return np.concatenate([column(each, name, missing) for each in (self._first, self._second)])


class Phased(_Lazy):
    """The supersteps of several phases, in the order in which they ran, numbered through.

    `histories` has those of each phase by name, `phases` the name of each superstep's; `totals` are the program's, by
    name: a row for each superstep, or none where the histories have them.
    """

    def __init__(
        self,
        histories: Mapping[str, Sequence[Superstep]],
        phases: Sequence[str],
        totals: Mapping[str, Array] = MappingProxyType({}),
    ) -> None:
        self._histories, self._phases, self._totals = histories, phases, totals
        self._places = {
            name: np.flatnonzero(np.array([name == each for each in phases], np.bool_)) for name in histories
        }

    def __len__(self) -> int:
        return len(self._phases)

    def _made(self, place: int) -> Superstep:
        name = self._phases[place]
        found = self._histories[name][int(np.searchsorted(self._places[name], place))]
        return replace(found, number=place, phase=name, totals=_row(self._totals, place) or found.totals)

    def column(self, name: str, missing: float = 0.0) -> Array:
        """A number of every superstep; `missing` where none is known."""
        if name in self._totals and self._totals[name].ndim == 1:
            return self._totals[name][: len(self)]
        made = np.full(len(self), missing, np.float64)
        for phase, places in self._places.items():
            made[places] = column(self._histories[phase], name, missing)[: len(places)]
        return made


def column(history: Sequence[Superstep], name: str, missing: float = 0.0) -> Array:
    """A number of every superstep of a run, as an array; `missing` where none is known.

    Examples
    --------
    >>> column([Superstep(0, "push", 1, 0.0, 0.5), Superstep(1, "pull", 7, 0.0, 0.5, edges=9)], "edges", -1).tolist()
    [-1.0, 9.0]
    """
    if isinstance(history, _Lazy):
        return history.column(name, missing)
    found = (getattr(step, name) if hasattr(step, name) else step.totals.get(name) for step in history)
    return np.array([missing if value is None else value for value in found], np.float64)

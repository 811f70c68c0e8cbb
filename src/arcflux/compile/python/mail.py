"""Mail in plain Python: records are stored by receiver in the order in which they were sent, vertex by vertex."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from arcflux.compile.lower import Lowered
from arcflux.compile.python.numbers import Fault, Unfit, keeper
from arcflux.compile.python.numbers import number as as_number
from arcflux.compile.python.vertex import shown
from arcflux.graph import Graph
from arcflux.mail import VALUE, Mail

__all__ = ["MailFault", "PlainMail"]

_COMBINED: dict[str, Callable[[Any, Any], Any]] = {
    "sum": operator.add, "or": operator.or_, "and": operator.and_, "min": min, "max": max,
}  # fmt: skip


class MailFault(Fault):
    """A record that kernels refuse; `remedy` says what to write instead."""

    remedy = "send to the number of a vertex: u.number, a field of af.ref, or af.neighbour(v, k)"


class Record:
    """A record as `receive` sees it: its parts by name."""

    def __init__(self, parts: Mapping[str, Any]) -> None:
        self.__dict__.update(parts)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"r.{name} is assigned, and records never change")

    def __repr__(self) -> str:
        return shown("record", self.__dict__)


class PlainMail:
    """All mail of a run: what is received in this superstep, and what is sent in it."""

    def __init__(self, lowered: Lowered, graph: Graph) -> None:
        self.mails, self.graph = lowered.mails, graph
        self._arrived: dict[int, dict[str, list[Any]]] = {}
        self._sent: dict[int, dict[str, list[Any]]] = {}
        self._columns = {name: graph.columns[name] for name in lowered.out_columns}

    @property
    def receivers(self) -> set[int]:
        """The vertices that have mail."""
        return set(self._arrived)

    def __contains__(self, v: int) -> bool:
        return v in self._arrived

    def take(self, to: Any, records: Mapping[str, Any]) -> None:
        """Store what a vertex sends."""
        for name, given in records.items():
            if isinstance(to, bool) or not isinstance(to, (int, np.integer)):
                raise MailFault(f"{name} is sent to {to!r}, which is no whole number")
            if not 0 <= to < self.graph.vertices:
                raise MailFault(f"{name} is sent to {int(to)}, and vertices are 0 to {self.graph.vertices - 1},")
            declared = self.mails[name]
            values = given if declared.is_record else (given,)
            parts = zip(declared.parts.items(), values, strict=True)
            kept = {part: _kept(f"{name}.{part}" if declared.is_record else name, kind.dtype, value)
                    for (part, kind), value in parts}  # fmt: skip
            self._sent.setdefault(int(to), {}).setdefault(name, []).append(kept)

    def deliver(self) -> None:
        """What was sent becomes what vertices receive."""
        self._arrived, self._sent = self._sent, {}

    def of(self, v: int) -> dict[str, Any]:
        """The arguments of `receive` for a vertex, by the names of mails."""
        mine = self._arrived[v]
        return {name: _received(name, declared, mine.get(name, [])) for name, declared in self.mails.items()}

    def out(self, v: int, k: Any) -> tuple[Any, Record]:
        """The k-th out-neighbour of a vertex, and the edge to it."""
        offsets, neighbours = self.graph.out
        row = int(offsets[v])
        if not 0 <= k < int(offsets[v + 1]) - row:
            raise MailFault(f"out-neighbour {int(k)} of {int(offsets[v + 1]) - row} is asked for")
        columns = {
            name: as_number(column[row + int(k)].item(), column.dtype if column.dtype.kind == "f" else None)
            for name, column in self._columns.items()
        }
        return as_number(int(neighbours[row + int(k)])), Record(columns)


def _kept(name: str, dtype: np.dtype[Any], value: Any) -> Any:
    """A part of a record as mail stores it; a value that does not fit is an error here."""
    try:
        return keeper(dtype)(value)
    except Unfit as unfit:
        comma = "," if unfit.outside else ""
        raise MailFault(f"{name} of a record is {unfit.value}{unfit.outside}{comma}") from None


def _received(name: str, declared: Mail, records: list[dict[str, Any]]) -> Any:
    if declared.operation is None:
        return [Record(parts) if declared.is_record else parts[VALUE] for parts in records]
    dtype = declared.parts[VALUE].dtype
    if not records:
        return as_number(dtype.type(declared.nothing).item(), dtype)
    values = [dtype.type(parts[VALUE]).item() for parts in records]
    total = values[0]
    for value in values[1:]:
        total = _COMBINED[declared.operation](total, value)
        if dtype.kind in "iu" and not np.iinfo(dtype).min <= total <= np.iinfo(dtype).max:
            raise MailFault(f"{name} is combined to {total}, outside {dtype},")
        total = dtype.type(total).item()
    return as_number(total, dtype)

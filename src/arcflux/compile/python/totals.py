"""Totals in plain Python: the `g` of functions that contribute; an assignment to it is a contribution."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from arcflux.compile.lower import Lowered, Measure
from arcflux.compile.python.numbers import Fault
from arcflux.compile.python.numbers import number as as_number
from arcflux.compile.python.vectors import Vector
from arcflux.compile.python.vertex import shown

__all__ = ["Counted"]


class Counted:
    """The `g` of a function: the graph's counts, and the totals of the superstep before.

    The contributions of a vertex are kept separate until it is certain that the vertex counts (`accept`).
    """

    def __init__(self, lowered: Lowered, **counts: int) -> None:
        known = {
            name: [_identity(each)] * each.length if each.length else _identity(each)
            for name, each in lowered.totals.items()
        }
        self.__dict__.update({name: as_number(count) for name, count in counts.items()})
        self.__dict__.update(_measures=lowered.totals, _known=known, _of_vertex={}, _reduced={})

    def __getattr__(self, name: str) -> Any:
        if name not in self.__dict__.get("_measures", {}):
            raise AttributeError(name)
        dtype, value = self._measures[name].dtype, self._known[name]
        if not isinstance(value, list):
            return as_number(value, dtype)
        return _Elements([as_number(each, dtype) for each in value], lambda k, x: self._contribute(name, {k: x}))

    def __repr__(self) -> str:
        return shown("graph", {**self.__dict__, **{name: getattr(self, name) for name in self._measures}})

    def __setattr__(self, name: str, value: Any) -> None:
        length = self._measures[name].length
        if length is None:
            self._contribute(name, {0: value})
        else:
            self._contribute(name, dict(enumerate(value if isinstance(value, Vector) else [value] * length)))

    def _contribute(self, name: str, values: Mapping[int, Any]) -> None:
        measure = self._measures[name]
        row = self._of_vertex.setdefault(name, [_identity(measure)] * (measure.length or 1))
        for k, value in values.items():
            row[k] = _combined(measure, row[k], value)

    def drop(self) -> None:
        """Discard the contributions of the vertex."""
        self._of_vertex.clear()

    def accept(self) -> None:
        """Accept the contributions of the vertex."""
        for name, row in self._of_vertex.items():
            measure = self._measures[name]
            before = self._reduced.setdefault(name, [_identity(measure)] * len(row))
            before[:] = [_combined(measure, a, b) for a, b in zip(before, row, strict=True)]
        self.drop()

    def finish(self, written: list[Measure]) -> None:
        """After the contributions of all vertices: they become the totals."""
        for each in written:
            row = self._reduced.get(each.name, [_identity(each)] * (each.length or 1))
            self._known[each.name] = row if each.length else row[0]
        self._reduced.clear()

    def shown(self) -> dict[str, Any]:
        """The totals as a user reads them."""
        return {
            name: np.array(value, self._measures[name].dtype) if isinstance(value, list) else value
            for name, value in self._known.items()
        }


class _Elements(Vector):
    """A total that is a vector; assigning an element contributes to it."""

    def __init__(self, elements: list[Any], contribute: Callable[[int, Any], None]) -> None:
        super().__init__(elements)
        self.contribute = contribute

    def __setitem__(self, index: int, value: Any) -> None:
        self.contribute(index, value)


@lru_cache
def _limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    """The smallest and the largest integer of a type."""
    return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)


def _identity(measure: Measure) -> Any:
    """The identity of a total, as a Python number."""
    kind, operation = measure.dtype.kind, measure.operation
    if kind == "b":
        return operation == "and"
    if kind == "f":
        return {"sum": 0.0, "min": np.inf, "max": -np.inf}[operation]
    least, most = _limits(measure.dtype)
    return {"sum": 0, "or": 0, "and": most if kind == "u" else -1, "min": most, "max": least}[operation]


def _combined(measure: Measure, a: Any, b: Any) -> Any:
    """Two values reduced to one."""
    kind = measure.dtype.kind
    if kind == "f":
        a, b = float(a), float(b)
        if b != b:
            raise Fault(f"g.{measure.name} is given NaN")
        return a + b if measure.operation == "sum" else {"min": min, "max": max}[measure.operation](a, b) + 0.0
    if kind == "b":
        return bool(a or b) if measure.operation == "or" else bool(a and b)
    a, b = int(a), int(b)
    results = {"sum": a + b, "or": a | b, "and": a & b, "min": min(a, b), "max": max(a, b)}[measure.operation]
    least, most = _limits(measure.dtype)
    if not least <= min(results, b) <= max(results, b) <= most:
        raise Fault(f"g.{measure.name} becomes {results}, which does not fit in {measure.dtype}")
    return results

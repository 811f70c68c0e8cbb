"""The totals of a run: two arrays for each, both of them arguments of every kernel.

`values` has a total's value before a launch in its first row, and after each superstep of the launch in the next ones:
kernels of many supersteps fill in these rows, which are the history. `sums` has the partial reduction of each chunk of
vertices, or of each worker of a part; they are reduced in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.compile.check.tuples import TUPLES
from arcflux.compile.lower import Lowered, Measure

__all__ = ["Totals", "identity", "reduced", "shown"]

Array = NDArray[Any]

_REDUCING: dict[str, Any] = {"sum": np.add, "min": np.fmin, "max": np.fmax, "or": np.bitwise_or, "and": np.bitwise_and}
# Numbers of a total that a launch may leave behind; longer vectors end a launch sooner.
_MOST_NUMBERS = 1 << 16


class Totals:
    """The totals of a run; `made` allocates zeros, `count` is the number of partial reductions."""

    def __init__(self, lowered: Lowered, count: int, supersteps: int, made: Callable[..., Array]) -> None:
        self.measures = lowered.totals
        longest = max((each.length or 1 for each in self.measures.values()), default=1)
        self.supersteps = max(1, min(supersteps, _MOST_NUMBERS // longest))
        rows = {"values": self.supersteps + 1, "sums": count}
        self.values, self.sums = (
            {
                name: made((size, each.length) if each.length else size, each.dtype)
                for name, each in self.measures.items()
            }
            for size in rows.values()
        )
        self.forget()
        self.clear()  # chunks that do not exist contribute nothing
        self._past: dict[str, list[Array]] = {name: [] for name in self.measures}

    @property
    def constants(self) -> list[Array]:
        """The arguments of kernels."""
        return [array for name in self.measures for array in (self.values[name], self.sums[name])]

    def forget(self) -> None:
        """Reset: no vertex has contributed anything."""
        self.set({name: identity(each.operation, each.dtype) for name, each in self.measures.items()})

    def clear(self, names: Iterable[str] | None = None) -> None:
        """Begin to reduce anew: these totals, or all."""
        for name in self.measures if names is None else names:
            each = self.measures[name]
            self.sums[name][:] = identity(each.operation, each.dtype)

    def set(self, known: Mapping[str, Any]) -> None:
        """Set the current values."""
        for name, value in known.items():
            self.values[name][0] = value

    def begin(self, written: Iterable[Measure], count: int) -> None:
        """After `start`: reduce the first `count` partial values to the first totals."""
        self.set({each.name: reduced(each, self.sums[each.name][:count]) for each in written})

    def advance(self, supersteps: int) -> None:
        """After a launch of this many supersteps: record their totals, and begin the next launch with the last ones."""
        for name, array in self.values.items():
            self._past[name].append(array[1 : supersteps + 1].copy())
            array[0] = array[supersteps]

    def note(self) -> None:
        """After a superstep whose values are set: record them."""
        for name, array in self.values.items():
            self._past[name].append(array[:1].copy())

    @property
    def history(self) -> dict[str, Array]:
        """The totals of all supersteps by name, a row for each superstep."""
        return {name: np.concatenate(past) if past else self.values[name][:0] for name, past in self._past.items()}

    @property
    def last(self) -> dict[str, Any]:
        """The totals after the last superstep, as a user reads them."""
        return {name: shown(array[0]) for name, array in self.values.items()}


def reduced(measure: Measure, values: Array) -> Any:
    """Values reduced to one, in order; a minimum or maximum is never a negative zero, as in kernels."""
    first = np.full((1, *values.shape[1:]), identity(measure.operation, measure.dtype), measure.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        total = _REDUCING[measure.operation].accumulate(np.concatenate([first, values]), axis=0)[-1]
    return total + 0.0 if measure.dtype.kind == "f" and measure.operation != "sum" else total


def shown(value: Any) -> Any:
    """A total as a user reads it: a Python number, or an array."""
    return value.copy() if isinstance(value, np.ndarray) and value.ndim else value.item()


def identity(operation: str, dtype: np.dtype[Any]) -> Any:
    """The identity element of a reduction."""
    operation = TUPLES.get(operation, operation)
    if operation in ("sum", "or", "any"):
        return dtype.type(0)
    if operation == "product":
        return dtype.type(1)
    if operation == "and":
        return np.bool_(True) if dtype.kind == "b" else dtype.type(np.iinfo(dtype).max if dtype.kind == "u" else -1)
    if dtype.kind == "f":
        return dtype.type(np.inf if operation == "min" else -np.inf)
    if dtype.kind == "b":
        return np.bool_(operation == "min")
    return dtype.type(np.iinfo(dtype).max if operation == "min" else np.iinfo(dtype).min)

"""The history of a run on parts: a row of numbers for each superstep, however many there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.compile.direction import Direction
from arcflux.history import History, Superstep

__all__ = ["Record"]

Array = NDArray[Any]

# The columns of a row, before the seconds of each part; `about` explains the direction, `bounds` is an index of bounds.
_NAMES = ("pull", "frontier", "residual", "seconds", "changed", "edges", "bytes", "more_bytes", "about", "bounds",
          "planning", "migration")  # fmt: skip
_PLACE = {name: place for place, name in enumerate(_NAMES)}


class Record:
    """A table that grows by a row with every superstep."""

    def __init__(self, direction: Direction, parts: int) -> None:
        self._direction = direction
        self._rows = np.empty((64, len(_NAMES) + parts))
        self._bounds: list[tuple[int, ...]] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, part_seconds: Sequence[float], bounds: Array | None, **numbers: float) -> None:
        """Add a superstep."""
        if self._count == len(self._rows):
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
        current_bounds = () if bounds is None else tuple(bounds.tolist())
        if not self._bounds or self._bounds[-1] != current_bounds:
            self._bounds.append(current_bounds)
        values = {**numbers, "about": self._direction.about, "bounds": len(self._bounds) - 1}
        row = self._rows[self._count]
        row[: len(_NAMES)] = [values.get(name, 0.0) for name in _NAMES]
        row[len(_NAMES) :] = part_seconds
        self._count += 1

    def balanced(self, planning: float, migration: float) -> None:
        """Add the cost of rebalancing after the last superstep."""
        self._rows[self._count - 1, _PLACE["planning"]] = planning
        self._rows[self._count - 1, _PLACE["migration"]] = migration

    def history(self, totals: Mapping[str, Array]) -> History:
        """The supersteps so far; `totals` has a row for each of them."""
        return History(self._rows[: self._count].copy(), self._superstep, self._columns, totals)

    def _superstep(self, number: int, row: list[float]) -> Superstep:
        values = dict(zip(_NAMES, row, strict=False))
        pull, edges = values["pull"] != 0, int(values["edges"])
        way = ("pull" if pull else "push") if self._direction.lowered.has_edges else "none"
        return Superstep(
            number, way, int(values["frontier"]), values["residual"], values["seconds"],
            int(values["changed"]), edges, self._direction.reason(pull, edges, values["about"]),
            bytes=int(values["bytes"]), more_bytes=int(values["more_bytes"]), part_seconds=tuple(row[len(_NAMES) :]),
            bounds=self._bounds[int(values["bounds"])], planning=values["planning"], migration=values["migration"],
        )  # fmt: skip

    def _columns(self, rows: Array) -> Mapping[str, Array | float]:
        slowest = rows[:, len(_NAMES) :].max(axis=1, initial=0.0)
        return {"slowest": slowest, **{name: rows[:, place] for name, place in _PLACE.items()}}

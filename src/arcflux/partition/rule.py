"""At which part an arc is, as a few tables that the kernels of this folder read: a pure function of its two ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcflux.graph.core import Graph
from arcflux.spmd.memory import frozen

__all__ = ["Rule", "Tables", "smallest"]

Array = NDArray[Any]


class Tables(NamedTuple):
    """A rule for kernels: its mode, a table for sources and one for targets, a grid's cells, out-offsets, a limit."""

    mode: int
    first: Array
    second: Array
    fold: Array
    out: Array
    limit: np.uint64


@dataclass(frozen=True)
class Rule:
    """Where arcs are, by `mode`.

    ``"target"``: at the owner of their target. ``"source"``: at the owner of their source. ``"grid"``: at part
    ``fold[rows[source] + columns[target]]``. ``"degree"``: at the owner of a source of at most `limit` out-arcs; else
    of a target of at most `limit`; else of the end with fewer out-arcs, the smaller number of equal ones.
    `shape`: rows and columns of a grid. `duplicated`: every part has the whole graph beside its arcs.
    """

    mode: str = "target"
    rows: Array | None = None
    columns: Array | None = None
    fold: Array | None = None
    limit: int = 0
    shape: tuple[int, int] | None = None
    duplicated: bool = False

    @property
    def placement(self) -> str:
        """``"target"`` or ``"source"`` when all arcs of a vertex in that direction are together, else ``"arcs"``."""
        return self.mode if self.mode in ("target", "source") else "arcs"

    def tables(self, owner: Array, graph: Graph) -> Tables:
        """The rule as :func:`arcflux.partition.kernels.part_of_arc` reads it."""
        from arcflux.partition.kernels import MODES

        first = owner if self.rows is None else self.rows
        second = owner if self.columns is None else self.columns
        fold = np.empty(0, owner.dtype) if self.fold is None else self.fold
        mode = MODES.index(self.mode)
        return Tables(mode, frozen(first), frozen(second), frozen(fold), graph.out.offsets, np.uint64(self.limit))


def smallest(k: int) -> type[np.unsignedinteger[Any]]:
    """The smallest unsigned type that numbers `k` parts."""
    return np.uint8 if k <= 1 << 8 else np.uint16 if k <= 1 << 16 else np.uint32

"""MapGraph's grid: sources on rows, targets on columns, equal ranges of vertices on both (MapGraph, III-A).

Parts are counted down the columns: part ``column * rows + row``. The vertices of a column are cut into as many pieces
as there are rows, and the piece r belongs to the part in row r; so parts own contiguous vertices, in order.
"""

from __future__ import annotations

from itertools import pairwise
from math import isqrt

import numpy as np

from arcflux.graph.core import Graph
from arcflux.partition.parts import Parts
from arcflux.partition.ranges import equal
from arcflux.partition.rule import Rule, smallest

__all__ = ["shape", "split"]


def split(graph: Graph, k: int) -> Parts:
    """Deal the arcs to the cells of the grid that is nearest to a square."""
    rows, columns = shape(k)
    cells, notes = rows * columns, []
    if cells > k:
        notes.append(
            f"no grid near a square has {k} cells: of the {cells} cells of {rows} x {columns}, "
            f"{cells - k} share a part with the cell before"
        )
    kind, n = smallest(cells), graph.vertices
    across = equal(n, columns)
    bounds = np.concatenate([[0], *(begin + equal(end - begin, rows)[1:] for begin, end in pairwise(across))])
    fold = np.arange(cells) * k // cells
    rule = Rule(
        "grid",
        rows=np.repeat(np.arange(rows, dtype=kind), np.diff(equal(n, rows))),
        columns=np.repeat(np.arange(0, cells, rows, dtype=kind), np.diff(across)),
        fold=fold.astype(kind),
        shape=(rows, columns),
    )
    ends = np.append(np.searchsorted(fold, np.arange(k)), cells)
    return Parts(graph, k, "grid", bounds=bounds[ends], rule=rule, notes=notes)


def shape(k: int) -> tuple[int, int]:
    """Rows and columns of the grid for `k` parts: a product of k, else (when k is prime) the next that covers it.

    Examples
    --------
    >>> shape(16), shape(6), shape(3), shape(7)
    ((4, 4), (2, 3), (1, 3), (2, 4))
    """
    side = isqrt(k)
    rows = next(rows for rows in range(side, 0, -1) if k % rows == 0)
    return (rows, k // rows) if rows > 1 or side == 1 else (side, -(-k // side))

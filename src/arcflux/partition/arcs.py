"""The arcs of a part, by target and by source. Numbers are those of the whole graph."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import NDArray

from arcflux.graph.core import Adjacency

__all__ = ["Inward", "Outward"]

Array = NDArray[Any]


class Inward(NamedTuple):
    """Arcs by target: a row for each of `targets`, with the sources and the columns of its arcs."""

    targets: Array
    into: Adjacency
    columns: dict[str, Array]


class Outward(NamedTuple):
    """Arcs by source: a row for each vertex of the graph, with the targets and the columns of its arcs."""

    out: Adjacency
    columns: dict[str, Array]

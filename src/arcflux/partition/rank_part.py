"""The part that a rank holds of a graph that was built in parts: the in-edges of a range of vertices."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from arcflux.errors import WholeGraphError
from arcflux.graph.split import SplitGraph
from arcflux.partition.arcs import Inward
from arcflux.partition.part import Part
from arcflux.partition.parts import Parts

__all__ = ["HeldParts"]

Array = NDArray[Any]


class HeldParts(Parts):
    """Parts by ranges, of which this rank holds number `held`: its in-edges are `arcs`."""

    def __init__(self, graph: SplitGraph, bounds: Array, held: int, arcs: Inward) -> None:
        super().__init__(graph, len(bounds) - 1, "ranges", bounds=bounds)
        self.held, self._arcs = held, arcs

    def _make(self, i: int) -> Part:
        if i != self.held:
            raise WholeGraphError(f"part {i} is asked for, which another rank has", expected=f"part {self.held}")
        return Part(i, self.graph, self.owned(i), lambda: self._arcs)

"""A graph built edge by edge, as Medusa's programs build theirs: AddEdge and AddVertex (G2, table II)."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from arcflux.checks import array, shown
from arcflux.errors import UsageError
from arcflux.graph import Graph

__all__ = ["Medusa"]


class Medusa:
    """A graph in the making: vertices with their first values, edges with their columns.

    Large graphs are better read whole, by :func:`arcflux.load` or :meth:`arcflux.Graph.from_edges`.

    Examples
    --------
    >>> import arcflux as af
    >>> medusa = af.Medusa()
    >>> medusa.AddVertex("a", heat=2.0)
    >>> medusa.AddVertex("b")
    >>> medusa.AddEdge("a", "b", weight=3.0)
    >>> medusa.graph().vertices, medusa.given
    (2, {'heat': {'a': 2.0}})
    """

    def __init__(self, directed: bool = True) -> None:
        self.directed = directed
        self.given: dict[str, dict[Any, Any]] = {}
        self._vertices: dict[Any, None] = {}
        self._ends: tuple[list[Any], list[Any]] = [], []
        self._columns: dict[str, list[Any]] = {}

    def AddVertex(self, vertex: Any, **fields: Any) -> None:
        """Add a vertex by its id, with the first values of its fields, which a run takes as ``given=medusa.given``."""
        self._vertices[_id(vertex)] = None
        for name, value in fields.items():
            self.given.setdefault(name, {})[vertex] = value

    def AddEdge(self, tail: Any, head: Any, **columns: Any) -> None:
        """Add an edge from `tail` to `head`; every edge has the same columns."""
        if self._ends[0] and columns.keys() != self._columns.keys():
            raise UsageError(
                f"an edge has the columns {', '.join(columns) or 'none'}",
                expected=f"those of the edges before: {', '.join(self._columns) or 'none'}",
            )
        tail, head = _id(tail), _id(head)
        for name, value in columns.items():
            self._columns.setdefault(name, []).append(value)
        for ends, end in zip(self._ends, (tail, head), strict=True):
            ends.append(end)
            self._vertices[end] = None

    def graph(self) -> Graph:
        """The graph as it is now, for :func:`arcflux.run`."""
        columns = {name: np.array(array(name, values)) for name, values in self._columns.items()}
        ids = np.array(list(self._vertices)) if self._vertices else np.empty(0, np.int64)
        tails, heads = (np.array(ends, dtype=ids.dtype) for ends in self._ends)
        return Graph.from_edges(tails, heads, columns=columns, vertices=ids, directed=self.directed)


def _id(given: Any) -> Any:
    """An id of a vertex, if it can be one."""
    if isinstance(given, bool) or not isinstance(given, str | Integral):
        raise UsageError(f"the id of a vertex is {shown(given)}", expected="a whole number, or text")
    return given

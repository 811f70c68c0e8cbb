"""A directed graph seen otherwise: its edges turned round, or each in both directions. Kept with the graph.

Turned round, in- and out-edges change places and nothing is copied. What is derived from a view (blocks, parts,
patterns) is kept with the view, so a program that goes against edges pays for it once, as one along them does. All
threads get the same view: ranks that are threads find what is kept with it together, or they would wait in vain.
"""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arcflux.graph.core import Graph

__all__ = ["one_at_a_time", "reversed_view", "united_view"]

# Held while a view of a graph is made, of whichever sort.
one_at_a_time = threading.RLock()


def reversed_view(graph: Graph) -> Graph:
    """The graph with in- and out-edges swapped; turned round again, it is the graph itself."""
    with one_at_a_time:
        known = graph.kept.get("reversed")
        if isinstance(known, weakref.ref):  # what a view knows of its graph, which must not live for the view's sake
            known = known()
        if known is None:
            known = _reverse(graph)
            known.kept["reversed"] = weakref.ref(graph)
            graph.kept["reversed"] = known
    view: Graph = known
    return view


def _reverse(graph: Graph) -> Graph:
    from arcflux.graph.core import Graph

    columns = {name: graph.in_columns[name] for name in graph.in_columns}
    view = Graph(
        graph.into, directed=True, columns=columns, ids=graph.ids, sorted=graph.sorted, origin=graph.origin
    )  # fmt: skip
    view._in = graph.out, {name: graph.columns[name] for name in graph.columns}
    return view


def united_view(graph: Graph) -> Graph:
    """The undirected graph that has every edge of a directed one in both directions, parallel ones and all."""
    from arcflux.graph.build import build
    from arcflux.graph.core import Adjacency, Graph
    from arcflux.graph.edges import Edges, Options

    with one_at_a_time:
        if "both ways" not in graph.kept:
            columns = {name: graph.columns[name] for name in graph.columns}
            built = build(Edges(*graph.edge_numbers()[:2], columns=columns), graph.vertices, Options(directed=False))
            graph.kept["both ways"] = Graph(
                Adjacency(built.offsets, built.neighbours), directed=False, columns=built.columns, ids=graph.ids,
                loops=built.loops, origin=graph.origin,
            )  # fmt: skip
        view: Graph = graph.kept["both ways"]
    return view

"""Parts of a graph as graphs of their own: some vertices, some edges; and the graph without directions or loops.

Ids, columns and the order of vertices stay; vertices that are left out have no number in what is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arcflux.checks import array, checked, flag
from arcflux.errors import UsageError

if TYPE_CHECKING:
    from arcflux.graph.core import Graph
    from arcflux.graph.ids import Ids

__all__ = ["contracted", "edge_subgraph", "induced_subgraph", "simple_view", "undirected"]

Array = NDArray[Any]


def induced_subgraph(graph: Graph, numbers: Array) -> Graph:
    """The vertices of these numbers, and all edges among them."""
    kept = np.unique(numbers).astype(np.int64)
    inside = np.zeros(graph.vertices, np.bool_)
    inside[kept] = True
    sources, targets, places = graph.edge_numbers()
    stays = inside[sources] & inside[targets]
    rank = np.cumsum(inside) - 1
    ends = rank[sources[stays]], rank[targets[stays]]
    return _built(graph, *ends, places[stays], len(kept), _some_ids(graph.ids, kept))


def edge_subgraph(graph: Graph, chosen: Any) -> Graph:
    """All vertices, and the edges whose arcs are chosen: a flag for each arc, in the order of `graph.columns`."""
    flags = np.asarray(array("chosen", chosen))
    if flags.dtype != np.bool_ or flags.shape != (graph.arcs,):
        raise UsageError(
            f"the choice of edges is an array of {flags.dtype} of shape {flags.shape}",
            expected=f"a flag for each arc: shape ({graph.arcs},)",
            remedy='such as result.edges["inside"], or graph.columns["weight"] > 3',
        )
    sources, targets, places = graph.edge_numbers()
    stays = flags[places]
    return _built(graph, sources[stays], targets[stays], places[stays], graph.vertices, graph.ids)


@checked(reciprocal=flag)
def undirected(graph: Graph, reciprocal: bool, deduplicate: str | None) -> Graph:
    """The edges without their directions; `reciprocal`: those alone that go both ways."""
    from arcflux.graph.build import build
    from arcflux.graph.core import Adjacency, Graph
    from arcflux.graph.edges import Edges, Options

    options = Options(directed=False, deduplicate=deduplicate)
    if not graph.directed:
        return graph
    sources, targets, places = graph.edge_numbers()
    if reciprocal:
        wide = np.uint64(max(1, graph.vertices))
        there, back = (a.astype(np.uint64) * wide + b for a, b in ((sources, targets), (targets, sources)))
        both = np.isin(there, back)
        sources, targets, places = sources[both], targets[both], places[both]
    low, high = np.minimum(sources, targets), np.maximum(sources, targets)
    columns = {name: column[places] for name, column in graph.columns.items()}
    built = build(Edges(low, high, columns=columns), graph.vertices, options)
    return Graph(
        Adjacency(built.offsets, built.neighbours), directed=False, columns=built.columns, ids=graph.ids,
        loops=built.loops, origin=graph.origin,
    )  # fmt: skip


def simple_view(graph: Graph) -> Graph:
    """The same vertices with sorted rows of distinct neighbours, undirected, without loops; made once.

    A graph that has such rows is its own view.
    """
    from arcflux.graph.build import build
    from arcflux.graph.core import Adjacency, Graph
    from arcflux.graph.edges import Edges, Options
    from arcflux.graph.views import one_at_a_time

    if _is_simple(graph):
        return graph
    with one_at_a_time:
        if "simple" not in graph.kept:
            sources, targets, _ = graph.edge_numbers()
            ends = np.minimum(sources, targets), np.maximum(sources, targets)
            options = Options(directed=False, deduplicate="first", drop_self_loops=True)
            built = build(Edges(*ends), graph.vertices, options)
            rows = Adjacency(built.offsets, built.neighbours)
            graph.kept["simple"] = Graph(rows, directed=False, ids=graph.ids, origin=graph.origin)
        view: Graph = graph.kept["simple"]
    return view


def _is_simple(graph: Graph) -> bool:
    if graph.directed or not graph.sorted or 2 * graph.edges != graph.arcs:  # a loop is one arc
        return False
    if "is simple" not in graph.kept:
        offsets, neighbours = graph.out
        again = np.flatnonzero(neighbours[1:] == neighbours[:-1]).astype(np.uint64) + np.uint64(1)
        begins = np.searchsorted(offsets, again)
        graph.kept["is simple"] = bool(
            (offsets[begins] == again).all()
        )  # equal neighbours of two rows are no parallels
    found: bool = graph.kept["is simple"]
    return found


def _built(graph: Graph, sources: Array, targets: Array, places: Array, vertices: int, ids: Ids) -> Graph:
    from arcflux.graph.build import build
    from arcflux.graph.core import Adjacency, Graph
    from arcflux.graph.edges import Edges, Options

    kind = np.uint32 if vertices < 1 << 32 else np.uint64
    columns = {name: column[places] for name, column in graph.columns.items()}
    edges = Edges(sources.astype(kind), targets.astype(kind), columns=columns)
    built = build(edges, vertices, Options(directed=graph.directed, sort=graph.sorted))
    return Graph(
        Adjacency(built.offsets, built.neighbours), directed=graph.directed, columns=built.columns, ids=ids,
        loops=built.loops, sorted=graph.sorted, origin=graph.origin,
    )  # fmt: skip


def _some_ids(ids: Ids, kept: Array) -> Ids:
    from arcflux.graph.ids import TextIds
    from arcflux.graph.number import renumbered

    return TextIds.of(ids.to_ids(kept)) if ids.kind == "text" else renumbered(ids, kept)


def contracted(graph: Graph, label: Array) -> Graph:
    """One vertex for all with the same label, which is the number of one of them; edges between labels are counted."""
    from arcflux.graph.build import build
    from arcflux.graph.core import Adjacency, Graph
    from arcflux.graph.edges import Edges, Options

    kept, group = np.unique(label, return_inverse=True)
    kind = np.uint32 if len(kept) < 1 << 32 else np.uint64
    sources, targets, _ = graph.edge_numbers()
    ends = group.astype(kind)[sources], group.astype(kind)[targets]
    apart = ends[0] != ends[1]
    edges = Edges(ends[0][apart], ends[1][apart], columns={"count": np.ones(int(apart.sum()), np.int64)})
    built = build(edges, len(kept), Options(directed=graph.directed, deduplicate="sum"))
    rows, ids = Adjacency(built.offsets, built.neighbours), _some_ids(graph.ids, kept.astype(np.int64))
    return Graph(rows, directed=graph.directed, columns=built.columns, ids=ids, origin=graph.origin)

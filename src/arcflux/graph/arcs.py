"""Where an arc stands among in-edges: the one at a place of the out-edges, and the reverse of one. Kept with the graph.

Parallel arcs are taken in their order: the first from u to v is the reverse of the first from v to u. A self-loop is
its own reverse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arcflux.errors import GraphError
from arcflux.spmd.memory import frozen

if TYPE_CHECKING:
    from arcflux.graph.core import Graph

__all__ = ["edge_of_arcs", "in_places", "not_both_ways", "reverse_places"]

Array = NDArray[Any]


def in_places(graph: Graph) -> Array:
    """For each place of `out`, the place of the same arc in `into`.

    Examples
    --------
    >>> import arcflux as af
    >>> in_places(af.Graph.from_edges([0, 0, 1], [1, 2, 0])).tolist()
    [1, 2, 0]
    """
    if not graph.directed:
        return reverse_places(graph)
    if "in places" not in graph.kept:
        from arcflux.graph.build import reverse

        _, _, origin = reverse(*graph.out, carry=True)
        assert origin is not None
        places = np.empty(len(origin), _kind(graph))
        places[origin] = np.arange(len(origin), dtype=places.dtype)
        graph.kept["in places"] = frozen(places)
    found: Array = graph.kept["in places"]
    return found


def reverse_places(graph: Graph) -> Array:
    """For each place of `into`, the place of the reverse arc there; an error when some arc has none.

    Examples
    --------
    >>> import arcflux as af
    >>> reverse_places(af.load("path:3")).tolist()
    [1, 0, 3, 2]
    """
    if "reverse places" not in graph.kept:
        graph.kept["reverse places"] = frozen(_reverse_places(graph))
    found: Array = graph.kept["reverse places"]
    return found


def edge_of_arcs(graph: Graph) -> Array:
    """The number of each arc's edge among the `edge_numbers` of an undirected graph.

    Examples
    --------
    >>> import arcflux as af
    >>> edge_of_arcs(af.load("path:3")).tolist()
    [0, 0, 1, 1]
    """
    if "edge of arcs" not in graph.kept:
        _, _, places = graph.edge_numbers()
        edge_of = np.empty(graph.arcs, np.uint32 if len(places) < 1 << 32 else np.uint64)
        edge_of[places] = np.arange(len(places))
        edge_of[reverse_places(graph)[places]] = np.arange(len(places))
        graph.kept["edge of arcs"] = frozen(edge_of)
    found: Array = graph.kept["edge of arcs"]
    return found


def _reverse_places(graph: Graph) -> Array:
    """Arcs grouped by their targets, beside the same arcs grouped by their sources: reverses stand side by side."""
    from arcflux.graph.build import reverse

    offsets, neighbours = graph.into
    order: Array = np.arange(len(neighbours))
    if not graph.sorted:
        rows = np.repeat(np.arange(graph.vertices), np.diff(offsets).astype(np.int64))
        order = np.lexsort((neighbours, rows))
    by_source, targets, origin = reverse(offsets, neighbours, carry=True)
    assert origin is not None
    if not (np.array_equal(by_source, offsets) and np.array_equal(targets, neighbours[order])):
        raise _one_way(graph)
    places = np.empty(len(neighbours), _kind(graph))
    places[origin] = order
    return places


def _kind(graph: Graph) -> Any:
    return np.uint32 if graph.arcs < 1 << 32 else np.uint64


def _one_way(graph: Graph) -> GraphError:
    """The error that names an arc without a reverse: of an undirected graph too, which somebody's store may hold."""
    offsets, sources = graph.into
    targets = np.repeat(np.arange(graph.vertices), np.diff(offsets).astype(np.int64))
    there, found = np.unique(np.stack([sources, targets]), axis=1, return_counts=True)
    known = dict(zip(map(tuple, there.T.tolist()), found.tolist(), strict=True))
    u, v = next((u, v) for (u, v), count in known.items() if known.get((v, u), 0) < count)
    ids = graph.ids.to_ids(np.array([u, v]))
    what = f"the edge from {ids[0]} to {ids[1]} has no reverse"
    if not graph.directed:
        return not_both_ways(f"{what}, and the graph is undirected")
    return GraphError(
        what, expected="a graph that has every edge both ways",
        remedy="load it with directed=False, or use g.both_ways(); an undirected graph has both",
    )  # fmt: skip


def not_both_ways(what: str = "an undirected graph has an edge in one direction only") -> GraphError:
    """The error for an undirected graph that somebody's store has made one of, which only ``verify`` looks for."""
    return GraphError(what, expected="every edge in both directions",
                      remedy="check the store that it came from: arcflux verify STORE")  # fmt: skip

"""Bridges and articulation points, checked by another algorithm: a decomposition into chains (Schmidt 2013).

Every edge outside a depth-first search tree closes a chain: from its upper end down to the lower one, and up the tree
to the first vertex already on a chain. An edge on no chain is a bridge. A vertex is an articulation point when it has a
bridge and another neighbour, or a chain that is a cycle begins there and is not the first of its tree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import arcflux.validate.arguments as arguments
from arcflux.checks import checked
from arcflux.io import takes_graph
from arcflux.spmd.pool import run
from arcflux.validate.report import Offence, Report, Rule

if TYPE_CHECKING:
    from arcflux.graph import Graph

__all__ = ["articulation_flags", "articulation_points", "bridges"]

Array = NDArray[Any]


@takes_graph
@checked(articulation=None)
def articulation_points(graph: Graph, articulation: Any) -> Report:
    """Check the articulation points of an undirected graph: a flag for each vertex.

    Examples
    --------
    >>> import arcflux as af
    >>> bool(af.validate.articulation_points("path:3", [False, True, False]))
    True
    """
    given = arguments.flags("articulation", articulation, graph.vertices)
    points = articulation_flags(graph)

    def tell(v: int) -> Offence:
        words = ("no articulation point", "an articulation point")
        return Offence(arguments.user_id(graph, v), words[int(given[v])], words[int(points[v])])

    rule = Rule.checked("points", "a vertex is marked exactly when its component falls apart without it",
                        np.flatnonzero(given != points), tell)  # fmt: skip
    return Report("articulation_points", (rule,))


@takes_graph
@checked(chosen=None)
def bridges(graph: Graph, chosen: Any) -> Report:
    """Check the bridges of an undirected graph: a flag for each arc, in the order of `graph.columns`.

    Examples
    --------
    >>> import arcflux as af
    >>> bool(af.validate.bridges("path:3", [True, True, True, True]))
    True
    """
    given = arguments.flags("chosen", chosen, graph.arcs)
    _, bridged = _chains(graph)

    def tell(place: int) -> Offence:
        u, v = arguments.arc(graph, place)
        words = ("no bridge", "a bridge")
        ends = f"edge {arguments.user_id(graph, u)} -> {arguments.user_id(graph, v)}"
        return Offence(arguments.user_id(graph, u), f"{ends}, {words[int(given[place])]}", words[int(bridged[place])])

    rule = Rule.checked("edges", "an edge is marked exactly when its component falls apart without it",
                        np.flatnonzero(given != bridged), tell, unit="edges")  # fmt: skip
    return Report("bridges", (rule,))


def articulation_flags(graph: Graph) -> Array:
    """Which vertices of an undirected graph are articulation points: bool[vertices]."""
    return _chains(graph)[0]


def _chains(graph: Graph) -> tuple[Array, Array]:
    """Which vertices are articulation points, and which arcs are bridges."""
    from arcflux.validate.kernels import search_in_depth, walk_chains

    n, (offsets, neighbours) = graph.vertices, graph.out
    order, met, parent, tree, place = (np.full(n, -1, np.int64) for _ in range(5))
    run(search_in_depth, 1, offsets, neighbours, order, met, parent, tree, place, threads=1)
    visited, covered, cyclic = (np.zeros(n, np.bool_) for _ in range(3))
    first = np.ones(n, np.bool_)
    root = np.arange(n)
    for v in order.tolist():
        if parent[v] >= 0:
            root[v] = root[parent[v]]
    run(walk_chains, 1, offsets, neighbours, order, met, parent, tree, root, first, visited, covered, cyclic, threads=1)
    sources = np.repeat(np.arange(n), graph.out_degrees.astype(np.int64))
    targets = neighbours.astype(np.int64)
    child = np.where(parent[targets] == sources, targets, sources)
    in_tree = (parent[targets] == sources) | (parent[sources] == targets)
    bridged = in_tree & ~covered[child] & (sources != targets)
    pairs = np.unique(np.stack([sources, targets])[:, sources != targets], axis=1)
    several = np.bincount(pairs[0], minlength=n) > 1
    beside = np.zeros(n, np.bool_)
    beside[sources[bridged]] = True
    return cyclic | (beside & several), bridged

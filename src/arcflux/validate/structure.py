"""Sets of vertices and edges, checked by their defining properties: forests, independent sets, colours, orders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import arcflux.validate.arguments as arguments
from arcflux.checks import checked, flag
from arcflux.errors import WeightError
from arcflux.io import takes_graph
from arcflux.spmd.pool import run
from arcflux.validate.report import Offence, Report, Rule

if TYPE_CHECKING:
    from arcflux.graph import Graph

__all__ = [
    "coloring", "independent_set", "matching", "maximum_matching", "spanning_forest", "topological_order",
]  # fmt: skip

Array = NDArray[Any]


@takes_graph
@checked(inside=None)
def independent_set(graph: Graph, inside: Any) -> Report:
    """Check a maximal independent set: a flag for each vertex, no two neighbours in it, and a neighbour of every other.

    Examples
    --------
    >>> import arcflux as af
    >>> bool(af.validate.independent_set("path:3", [True, False, True]))
    True
    >>> [rule.name for rule in af.validate.independent_set("path:3", [True, False, False]).failures]
    ['maximal']
    """
    given = arguments.flags("inside", inside, graph.vertices)
    sources, targets, _ = _apart(graph)
    clash = given[sources] & given[targets]
    near = given.copy()
    near[sources[given[targets]]] = True
    near[targets[given[sources]]] = True

    def tell_clash(k: int) -> Offence:
        u, v = (arguments.user_id(graph, end[k]) for end in (sources, targets))
        return Offence(u, f"inside, as its neighbour {v}", "one of them outside")

    return Report("independent_set", (
        Rule.checked("independent", "no two neighbours are inside", np.flatnonzero(clash), tell_clash, unit="edges"),
        Rule.checked("maximal", "a vertex outside has a neighbour inside", np.flatnonzero(~near),
                     lambda v: Offence(arguments.user_id(graph, v), "outside", "inside: no neighbour of it is")),
    ))  # fmt: skip


@takes_graph
@checked(color=None)
def coloring(graph: Graph, color: Any) -> Report:
    """Check colours: integers from 0 on, different between neighbours, and none could be smaller.

    Examples
    --------
    >>> import arcflux as af
    >>> bool(af.validate.coloring("path:3", [0, 1, 0]))
    True
    """
    given = arguments.wholes("color", color, graph.vertices)
    sources, targets, _ = _apart(graph)
    same = given[sources] == given[targets]
    degrees = np.bincount(sources, minlength=graph.vertices) + np.bincount(targets, minlength=graph.vertices)

    def tell(k: int) -> Offence:
        u, v = (arguments.user_id(graph, end[k]) for end in (sources, targets))
        return Offence(u, f"colour {given[sources[k]]}, as its neighbour {v}", "another colour")

    return Report("coloring", (
        Rule.checked("range", "a colour is from 0 to the degree of its vertex",
                     np.flatnonzero((given < 0) | (given > degrees)),
                     lambda v: Offence(arguments.user_id(graph, v), f"colour {given[v]}", f"0 to {degrees[v]}")),
        Rule.checked("neighbours", "neighbours have different colours", np.flatnonzero(same), tell, unit="edges"),
    ))  # fmt: skip


@takes_graph
@checked(mate=None)
def matching(graph: Graph, mate: Any) -> Report:
    """Check a maximal matching: `mate` has the number of each vertex's mate, -1 for none.

    Examples
    --------
    >>> import arcflux as af
    >>> bool(af.validate.matching("path:3", [1, 0, -1]))
    True
    """
    given, n = arguments.wholes("mate", mate, graph.vertices), graph.vertices
    own = np.arange(n)
    known = (given >= 0) & (given < n) & (given != own)
    returned = np.zeros(n, np.bool_)
    returned[known] = given[given[known]] == own[known]
    sources, targets, _ = _apart(graph)
    wide = max(1, n)
    edges = np.concatenate([sources.astype(np.int64) * wide + targets, targets.astype(np.int64) * wide + sources])
    joined = np.zeros(n, np.bool_)
    joined[known] = np.isin(own[known] * wide + given[known], edges)
    free = given < 0

    def tell(v: int) -> Offence:
        return Offence(arguments.user_id(graph, v), f"mate {given[v]}", "a neighbour whose mate it is")

    def tell_edge(k: int) -> Offence:
        u, v = (arguments.user_id(graph, end[k]) for end in (sources, targets))
        return Offence(u, f"no mate, as its neighbour {v}", "one of them matched")

    return Report("matching", (
        Rule.checked("pairs", "a mate has its vertex as a mate, and an edge joins them",
                     np.flatnonzero(~free & ~(known & returned & joined)), tell),
        Rule.checked("maximal", "no edge has two free ends", np.flatnonzero(free[sources] & free[targets]), tell_edge,
                     unit="edges"),
    ))  # fmt: skip


@takes_graph
@checked(position=None)
def topological_order(graph: Graph, position: Any) -> Report:
    """Check an order of vertices: each position occurs once, and every edge leads to a later one.

    Examples
    --------
    >>> import arcflux as af
    >>> bool(af.validate.topological_order(af.Graph.from_edges([0, 1], [1, 2]), [0, 1, 2]))
    True
    """
    given = arguments.wholes("position", position, graph.vertices)
    sources, targets, _ = graph.edge_numbers()
    back = np.flatnonzero(given[sources] >= given[targets])

    def tell(k: int) -> Offence:
        u, v = (arguments.user_id(graph, end[k]) for end in (sources, targets))
        return Offence(v, f"position {given[targets[k]]}", f"one after {given[sources[k]]}: edge {u} -> {v}")

    once = bool(np.array_equal(np.sort(given), np.arange(graph.vertices)))
    return Report("topological_order", (
        Rule.overall("positions", "each position is there once", found="others", broken=not once),
        Rule.checked("edges", "every edge leads to a later position", back, tell, unit="edges"),
    ))  # fmt: skip


@takes_graph
@checked(chosen=None, maximum=flag)
def spanning_forest(graph: Graph, chosen: Any, weight: str | None = "weight", maximum: bool = False) -> Report:
    """Check a spanning forest of the least or most weight: a flag for each arc, in the order of `graph.columns`.

    All such forests have the same sorted weights; Kruskal's algorithm gives them.

    Examples
    --------
    >>> import arcflux as af
    >>> bool(af.validate.spanning_forest("path:3", [True] * 4))
    True
    """
    from arcflux.validate.kernels import join_sorted

    given = arguments.flags("chosen", chosen, graph.arcs)
    sources, targets, places = graph.edge_numbers()
    plain = weight is None or (weight == "weight" and weight not in graph.columns)
    if not plain and weight not in graph.columns:
        raise WeightError(f"the graph has no edge column {weight!r}", expected="one of its columns, or None")
    weights = np.ones(len(places)) if plain else graph.columns[str(weight)][places]
    picked = given[places]

    def kruskal(which: Array) -> tuple[Array, int]:
        order = which[np.argsort(weights[which], kind="stable")]
        order = order[::-1].copy() if maximum else order
        joined = np.zeros(len(order), np.bool_)
        run(join_sorted, 1, sources[order], targets[order], np.arange(graph.vertices), joined, threads=1)
        return np.sort(weights[order[joined]]), int(joined.sum())

    best, needed = kruskal(np.arange(len(places)))
    own, acyclic = kruskal(np.flatnonzero(picked))
    count = int(picked.sum())
    agree = len(own) == len(best) and bool(np.array_equal(own, best))
    return Report("spanning_forest", (
        Rule.overall("acyclic", "the edges close no cycle", found=f"{count - acyclic} that do", broken=acyclic < count),
        Rule.overall("spans", f"they join all that can be joined, by {needed:,} edges", found=f"{acyclic:,}",
                     broken=acyclic != needed),
        Rule.overall("weight", "their weights are those of the best forest", found="others", broken=not agree),
    ))  # fmt: skip


def _apart(graph: Graph) -> tuple[Array, Array, Array]:
    """Every edge once without self-loops: sources, targets, places; directions ignored."""
    sources, targets, places = graph.edge_numbers()
    apart = sources != targets
    low, high = np.minimum(sources, targets)[apart], np.maximum(sources, targets)[apart]
    return low, high, places[apart]


@takes_graph
@checked(mate=None, side=None)
def maximum_matching(graph: Graph, mate: Any, side: Any) -> Report:
    """Check a largest matching of a bipartite graph: pairs, and a vertex cover with as many vertices as it has edges.

    `mate` has the number of each vertex's mate, -1 for none; `side` is 0 or 1. The vertices that alternating paths
    reach from free vertices of side 0 give the cover (Konig 1931); no matching can have more edges than a cover has
    vertices.

    Examples
    --------
    >>> import arcflux as af
    >>> bool(af.validate.maximum_matching("path:4", [1, 0, 3, 2], [0, 1, 0, 1]))
    True
    >>> bool(af.validate.maximum_matching("path:4", [-1, 2, 1, -1], [0, 1, 0, 1]))
    False
    """
    given, sides = arguments.wholes("mate", mate, graph.vertices), arguments.wholes("side", side, graph.vertices)
    pairs = matching(graph, given)["pairs"]
    sources, targets, _ = _apart(graph)
    swap = sides[sources] == 1
    left, right = np.where(swap, targets, sources), np.where(swap, sources, targets)
    reached = (sides == 0) & (given < 0)
    while True:
        beyond = reached.copy()
        beyond[right[reached[left]]] = True
        mates = given[beyond & (sides == 1)]
        beyond[mates[mates >= 0]] = True
        if np.array_equal(beyond, reached):
            break
        reached = beyond
    cover = np.where(sides == 0, ~reached, reached)
    size, count = int(cover.sum()), int((given >= 0).sum()) // 2
    bare = int(np.count_nonzero(~cover[left] & ~cover[right]))
    within = int(np.count_nonzero(sides[sources] == sides[targets]))
    return Report("maximum_matching", (
        pairs,
        Rule.overall("sides", "every edge joins the two sides", found=f"{within} within one", broken=within > 0),
        Rule.overall("largest", "a vertex cover has as many vertices as the matching has edges",
                     found=f"{size} and {count}, {bare} edges bare", broken=size != count or bare > 0),
    ))  # fmt: skip

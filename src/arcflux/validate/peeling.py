"""Core and truss numbers, checked by peeling again: one vertex, or one edge, at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import arcflux.validate.arguments as arguments
from arcflux.checks import checked, whole
from arcflux.io import takes_graph
from arcflux.spmd.pool import run
from arcflux.validate.report import Offence, Report, Rule

if TYPE_CHECKING:
    from arcflux.graph import Graph

__all__ = ["core_number", "edge_support", "k_truss", "truss_number"]

Array = NDArray[Any]


@takes_graph
@checked(core=None)
def core_number(graph: Graph, core: Any) -> Report:
    """Check core numbers by removing a vertex with the fewest remaining neighbours (Batagelj, Zaversnik 2003).

    Edges count in both directions, each of parallel edges counts, self-loops do not.

    Examples
    --------
    >>> import arcflux as af
    >>> bool(af.validate.core_number("path:3", [1, 1, 1])), bool(af.validate.core_number("path:3", [1, 2, 1]))
    (True, False)
    """
    from arcflux.validate.kernels import peel

    given, n = arguments.wholes("core", core, graph.vertices), graph.vertices
    sources, targets, _ = graph.edge_numbers()
    apart = sources != targets
    rows = type(graph).from_edges(sources[apart], targets[apart], vertices=n, directed=False).out
    expected = np.diff(rows.offsets).astype(np.int64)
    order = np.argsort(expected, kind="stable")
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    first = np.searchsorted(expected[order], np.arange(expected.max(initial=0) + 1))
    run(peel, 1, *rows, expected, order, place, first, threads=1)
    rule = Rule.checked("core", "every core number is the one that peeling gives", np.flatnonzero(given != expected),
                        lambda v: Offence(arguments.user_id(graph, v), f"{given[v]}", f"{expected[v]}"))  # fmt: skip
    return Report("core_number", (rule,))


@takes_graph
@checked(support=None)
def edge_support(graph: Graph, support: Any) -> Report:
    """Check the number of triangles of each edge of an undirected graph: one for each arc, 0 for a self-loop.

    Examples
    --------
    >>> import arcflux as af
    >>> bool(af.validate.edge_support("complete:3", [1] * 6)), bool(af.validate.edge_support("complete:3", [2] * 6))
    (True, False)
    """
    edges = _Edges(graph)
    rule = edges.rule("support", "an edge is in as many triangles as its ends have common neighbours",
                      arguments.wholes("support", support, graph.arcs), edges.supports())  # fmt: skip
    return Report("edge_support", (rule,))


@takes_graph
@checked(truss=None)
def truss_number(graph: Graph, truss: Any) -> Report:
    """Check the truss numbers of an undirected graph's edges, by peeling: one for each arc, 0 for a self-loop.

    Examples
    --------
    >>> import arcflux as af
    >>> bool(af.validate.truss_number("complete:3", [3] * 6)), bool(af.validate.truss_number("path:2", [3, 3]))
    (True, False)
    """
    given = arguments.wholes("truss", truss, graph.arcs)
    edges, numbers, k = _Edges(graph), {}, 2
    left = edges.supports()
    while left:
        k += 1
        numbers.update(dict.fromkeys(edges.peel(left, k), k - 1))
    rule = edges.rule("truss", "an edge has the largest k of whose truss it is", given, numbers)
    return Report("truss_number", (rule,))


@takes_graph
@checked(chosen=None, k=whole)
def k_truss(graph: Graph, chosen: Any, k: int) -> Report:
    """Check a k-truss: a flag for each arc. Every edge of it is in k - 2 of its triangles, and no edge could be added.

    Examples
    --------
    >>> import arcflux as af
    >>> bool(af.validate.k_truss("complete:3", [True] * 6, 3))
    True
    """
    given = arguments.flags("chosen", chosen, graph.arcs)
    edges = _Edges(graph)
    left = edges.supports()
    outside = edges.peel(left, k)
    rule = edges.rule("edges", f"an edge is inside (1) exactly when it is in the {k}-truss",
                      given.astype(np.int64), {**dict.fromkeys(left, 1), **dict.fromkeys(outside, 0)})  # fmt: skip
    return Report("k_truss", (rule,))


class _Edges:
    """The edges of a graph as pairs of ends, each once, without self-loops, and the remaining neighbours."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        sources = np.repeat(np.arange(graph.vertices), graph.out_degrees.astype(np.int64))
        targets = graph.out.neighbours.astype(np.int64)
        self.arcs = list(zip(np.minimum(sources, targets).tolist(), np.maximum(sources, targets).tolist(), strict=True))
        self.neighbours: list[set[int]] = [set() for _ in range(graph.vertices)]
        for u, v in self.arcs:
            if u != v:
                self.neighbours[u].add(v)
                self.neighbours[v].add(u)

    def supports(self) -> dict[tuple[int, int], int]:
        """How many neighbours the ends of each edge have in common."""
        return {(u, v): len(self.neighbours[u] & self.neighbours[v]) for u, v in set(self.arcs) if u != v}

    def peel(self, left: dict[tuple[int, int], int], k: int) -> list[tuple[int, int]]:
        """Remove the edges that are in fewer than k - 2 of the remaining triangles, one by one."""
        weak = [edge for edge, support in left.items() if support < k - 2]
        for u, v in weak:  # grows during the loop
            del left[u, v]
            self.neighbours[u].discard(v)
            self.neighbours[v].discard(u)
            for w in self.neighbours[u] & self.neighbours[v]:
                for edge in ((min(u, w), max(u, w)), (min(v, w), max(v, w))):
                    left[edge] -= 1
                    if left[edge] == k - 3:
                        weak.append(edge)
        return weak

    def rule(self, name: str, sentence: str, given: Array, right: dict[tuple[int, int], int]) -> Rule:
        """Whether each arc has its edge's number."""
        expected = np.array([right.get(edge, 0) for edge in self.arcs], np.int64)

        def tell(place: int) -> Offence:
            u, v = (arguments.user_id(self.graph, end) for end in arguments.arc(self.graph, place))
            return Offence(u, f"edge {u} -> {v}: {given[place]}", f"{expected[place]}")

        return Rule.checked(name, sentence, np.flatnonzero(given != expected), tell, unit="edges")

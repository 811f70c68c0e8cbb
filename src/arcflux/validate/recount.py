"""Centrality and triangles, checked by computing them once more, with the plainest algorithm that finishes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import arcflux.validate.arguments as arguments
from arcflux import config
from arcflux.checks import checked, maybe, real, text
from arcflux.errors import UsageError
from arcflux.graph.core import Adjacency
from arcflux.io import takes_graph
from arcflux.spmd.memory import frozen
from arcflux.spmd.pool import run
from arcflux.validate.report import Offence, Report, Rule
from arcflux.validate.sweep import sweep

if TYPE_CHECKING:
    from arcflux.graph import Graph

__all__ = ["betweenness", "scan_statistics", "triangles"]

Array = NDArray[Any]

# What two correct centralities may differ by where almost no path passes, relative to the largest centrality.
_SMALLEST = 1e-9
# Bytes that workers may take for arrays of their own, before there are fewer workers.
_ROOM = 2 << 30


@takes_graph
@checked(normalize=maybe(text), tolerance=real)
def betweenness(
    graph: Graph, sources: Any, centrality: Any, *, normalize: str | None = None, tolerance: float = 1e-4
) -> Report:
    """Check betweenness centrality, unweighted, by computing it again with Brandes' algorithm.

    Parameters
    ----------
    sources
        The ids of the vertices whose shortest paths count, a repeated one again; None for all vertices.
    centrality
        The centrality of each vertex, in the order of vertex numbers.
    normalize
        None for the plain sum of dependencies; "largest" when the largest is 1, as in the GAP suite; "pairs" when
        divided by (vertices - 1)(vertices - 2). An undirected path counts from each end that is a source.
    tolerance
        By how much a value may differ, relative to the right one, beyond a billionth of the largest.

    Parallel edges count once, self-loops not at all; the ends of a path get no credit.

    Examples
    --------
    >>> import arcflux as af
    >>> path = af.Graph.from_edges([0, 1], [1, 2], directed=False)
    >>> bool(af.validate.betweenness(path, None, [0, 2, 0]))
    True
    """
    if normalize not in (None, "largest", "pairs"):
        raise arguments.unknown_choice("normalize", normalize, (None, "largest", "pairs"))
    arguments.checked_tolerance(tolerance)
    given = arguments.reals("centrality", centrality, graph.vertices)
    chosen = np.arange(graph.vertices) if sources is None else arguments.numbers_of(graph, sources)
    expected = _brandes(graph, chosen)
    largest = float(expected.max(initial=0))
    if normalize == "largest" and largest:
        expected /= largest
    elif normalize == "pairs" and graph.vertices > 2:
        expected /= (graph.vertices - 1) * (graph.vertices - 2)
    slack = tolerance * expected + _SMALLEST * float(expected.max(initial=0))
    rule = Rule.checked(
        "centrality",
        f"every centrality is within {tolerance} of the right one, relative to it",
        np.flatnonzero(~(np.abs(given - expected) <= slack)),
        lambda v: Offence(arguments.shown(graph, v), repr(float(given[v])), repr(float(expected[v]))),
    )
    return Report(f"betweenness from {len(chosen):,} sources", (rule,))


def _brandes(graph: Graph, sources: Array) -> Array:
    import arcflux.validate.kernels as kernels

    rows = graph.out if graph.sorted else _simple(graph, *graph.edge_numbers()[:2], graph.directed)
    workers = _workers(graph, arrays=5)
    real = np.zeros((workers, 3, graph.vertices))
    whole = np.empty((workers, 2, graph.vertices), np.int64)
    run(kernels.brandes, len(sources), *rows, frozen(sources), whole, real, threads=workers)
    total: Array = real[:, 0].sum(axis=0)
    return total


def _workers(graph: Graph, arrays: int) -> int:
    """How many workers may have so many arrays of 64 bits a vertex each: all of them while that is little memory."""
    return max(1, min(config.threads(), _ROOM // (8 * arrays * max(1, graph.vertices))))


def _simple(graph: Graph, source: Array, target: Array, directed: bool) -> Adjacency:
    """Sorted rows, without parallel edges and self-loops, between the vertices of a graph."""
    simple = type(graph).from_edges(
        source, target, vertices=graph.vertices, directed=directed, deduplicate="first", drop_self_loops=True
    )
    return simple.out


@takes_graph
@checked()
def triangles(graph: Graph, total: int | None = None, per_vertex: Any = None) -> Report:
    """Check the number of triangles, in all or through each vertex, by counting again.

    Directions are forgotten, parallel and opposite edges count once, self-loops not at all.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3])
    >>> bool(af.validate.triangles(g, total=1, per_vertex=[1, 1, 1, 0]))
    True
    """
    if total is None and per_vertex is None:
        raise UsageError("neither total nor per_vertex is given", expected="one of them, or both")
    given = None if per_vertex is None else arguments.wholes("per_vertex", per_vertex, graph.vertices)
    if total is not None and not isinstance(total, (int, np.integer)):
        raise UsageError(f"total is {total!r}", expected="a whole number of triangles")
    corners = _corners(graph)
    rules = []
    if total is not None:
        right = int(corners.sum()) // 3
        rules.append(Rule.overall("total", f"there are {right:,} triangles", found=f"{total:,}", broken=total != right))
    if given is not None:
        rules.append(
            Rule.checked(
                "per-vertex",
                "every vertex has as many triangles as pass through it",
                np.flatnonzero(given != corners),
                lambda v: Offence(arguments.shown(graph, v), f"{given[v]} triangles", f"{corners[v]}"),
            )
        )
    return Report("triangles", tuple(rules))


@takes_graph
@checked()
def scan_statistics(graph: Graph, statistic: Any) -> Report:
    """Check scan statistics, the edges among a vertex and its neighbours, by counting again.

    Examples
    --------
    >>> import arcflux as af
    >>> bool(af.validate.scan_statistics(af.load("complete:4"), [6, 6, 6, 6]))
    True
    """
    given = arguments.wholes("statistic", statistic, graph.vertices)
    corners = _corners(graph)
    simple = _simple(graph, *graph.edge_numbers()[:2], directed=False)
    degrees = np.diff(simple.offsets).astype(np.int64)
    edges, total = int(degrees.sum()) // 2, int(corners.sum())
    right = corners + degrees
    return Report("scan statistics", (
        Rule.checked(
            "per-vertex", "every vertex has its triangles and its neighbours", np.flatnonzero(given != right),
            lambda v: Offence(arguments.shown(graph, v), f"{given[v]}", f"{right[v]}"),
        ),
        Rule.overall("sum", "all add up to three times the triangles and twice the edges", f"{int(given.sum()):,}",
                     int(given.sum()) != total + 2 * edges),
    ))  # fmt: skip


def _corners(graph: Graph) -> Array:
    """Triangles through each vertex: int64[vertices].

    Vertices are numbered anew by degree, and every edge goes up: then no row is longer than the square root of twice
    the edges, and each triangle is found once, from its lowest corner.
    """
    import arcflux.validate.kernels as kernels

    source, target, _ = graph.edge_numbers()
    order = np.argsort(graph.out_degrees + graph.in_degrees, kind="stable")
    height = np.empty(graph.vertices, np.int64)
    height[order] = np.arange(graph.vertices)
    low, high = height[source], height[target]
    rows = _simple(graph, np.minimum(low, high), np.maximum(low, high), directed=True)
    workers = _workers(graph, arrays=2)
    stamp = np.zeros((workers, graph.vertices), np.uint64)
    corners = np.zeros((workers, graph.vertices), np.int64)
    sweep("validate triangles", kernels.triangles, rows, stamp, corners, threads=workers)
    found: Array = corners.sum(axis=0)[height]
    return found

"""Betweenness, triangles, friends of friends, checked by computing them again in the plainest way that finishes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import arcflux.validate.arguments as arguments
from arcflux import config
from arcflux.checks import array, checked, flag, is_integer, maybe, real, text
from arcflux.errors import UsageError
from arcflux.graph.core import Adjacency
from arcflux.io import takes_graph
from arcflux.spmd.memory import frozen
from arcflux.spmd.pool import run
from arcflux.validate.report import Offence, Report, Rule
from arcflux.validate.sweep import sweep

if TYPE_CHECKING:
    from arcflux.graph import Graph

__all__ = ["betweenness", "clustering", "edge_betweenness", "scan_statistics", "triangles", "two_hop_friends"]

Array = NDArray[Any]

# How much two correct centralities may differ where almost no path passes, relative to the largest centrality.
_SMALLEST = 1e-9
# Bytes for the workers' own arrays; beyond that, fewer workers are used.
_ROOM = 2 << 30
# In larger results, the number of vertices whose friends are listed again.
_SAMPLE = 1024
# A product of matrices is computed in about this many slices of its rows.
_SLICES = 32


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
    rows = graph.out if graph.sorted else _simple(graph, *graph.edge_numbers()[:2], graph.directed)
    expected = _brandes(graph, rows, chosen)
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
        lambda v: Offence(arguments.user_id(graph, v), repr(float(given[v])), repr(float(expected[v]))),
    )
    return Report(f"betweenness from {len(chosen):,} sources", (rule,))


@takes_graph
@checked(normalized=flag, tolerance=real)
def edge_betweenness(
    graph: Graph, centrality: Any, sources: Any = None, *, normalized: bool = True, tolerance: float = 1e-6
) -> Report:
    """Check the betweenness of edges, a number for each arc, by computing it again with Brandes' algorithm.

    `sources`: the ids of those whose shortest paths were taken, scaled to all; None for all. Each of parallel edges has
    a path of its own. `normalized`: divided by the number of pairs. `tolerance` is relative to the largest value.

    Examples
    --------
    >>> import arcflux as af
    >>> bool(af.validate.edge_betweenness("path:3", [2, 2, 2, 2], normalized=False))
    True
    """
    from arcflux.graph.arcs import reverse_places

    arguments.checked_tolerance(tolerance)
    given, n = arguments.reals("centrality", centrality, graph.arcs), graph.vertices
    chosen = np.arange(n) if sources is None else arguments.numbers_of(graph, sources)
    expected = _brandes(graph, graph.out, chosen, arcs=True) * (n / max(1, len(chosen)))
    if not graph.directed and graph.arcs:
        expected = (expected + expected[reverse_places(graph)]) / 2
    if normalized and n > 1:
        expected *= (1 if graph.directed else 2) / (n * (n - 1))
    slack = tolerance * float(expected.max(initial=0.0))

    def tell(place: int) -> Offence:
        u, v = (arguments.user_id(graph, end) for end in arguments.arc(graph, place))
        return Offence(u, f"edge {u} -> {v}: {given[place]:.9g}", f"{expected[place]:.9g}")

    rule = Rule.checked("centrality", "every edge has its share of the shortest paths",
                        np.flatnonzero(~(np.abs(given - expected) <= slack)), tell, unit="edges")  # fmt: skip
    return Report(f"edge betweenness from {len(chosen):,} sources", (rule,))


def _brandes(graph: Graph, rows: Adjacency, sources: Array, arcs: bool = False) -> Array:
    """The dependencies of all vertices, or of all arcs, where each of parallel arcs counts by itself."""
    import arcflux.validate.kernels as kernels

    workers = _workers(graph, arrays=5 + arcs * (1 + graph.arcs // max(1, graph.vertices)))
    real = np.zeros((workers, 3, graph.vertices))
    whole = np.empty((workers, 2, graph.vertices), np.int64)
    shares = np.zeros((workers, graph.arcs)) if arcs else None
    run(kernels.brandes, len(sources), *rows, frozen(sources), whole, real, shares, threads=workers)
    total: Array = real[:, 0].sum(axis=0) if shares is None else shares.sum(axis=0)
    return total


def _workers(graph: Graph, arrays: int) -> int:
    """How many workers may have `arrays` 64-bit arrays by vertex each: all of them while that is little memory."""
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

    Directions are ignored, parallel and opposite edges count once, self-loops not at all.

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
    if total is not None and not is_integer(total):
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
                lambda v: Offence(arguments.user_id(graph, v), f"{given[v]} triangles", f"{corners[v]}"),
            )
        )
    return Report("triangles", tuple(rules))


@takes_graph
@checked()
def clustering(graph: Graph, clustering: Any) -> Report:
    """Check local clustering coefficients, as LDBC defines them, by products of sparse matrices.

    Examples
    --------
    >>> import arcflux as af
    >>> bool(af.validate.clustering("complete:3", [1, 1, 1])), bool(af.validate.clustering("complete:3", [1, 1, 0.5]))
    (True, False)
    """
    from scipy.sparse import csr_array

    given, n = arguments.reals("clustering", clustering, graph.vertices), graph.vertices
    sources, targets, _ = graph.edge_numbers()
    apart = sources != targets
    ends = sources[apart].astype(np.int64), targets[apart].astype(np.int64)
    arcs = csr_array((np.ones(len(ends[0])), ends), (n, n))
    arcs.data[:] = 1.0  # the constructor has added up parallel arcs
    around = arcs + arcs.T
    around.data[:] = 1.0
    arcs = arcs if graph.directed else around
    degree = np.diff(around.indptr).astype(np.float64)
    links, step = np.zeros(n), max(1, n // _SLICES)
    for first in range(0, n, step):  # so that a product fits in memory
        rows = around[first : first + step]
        links[first : first + step] = (rows @ arcs).multiply(rows).sum(axis=1)
    pairs = degree * (degree - 1)
    expected = np.divide(links, pairs, out=np.zeros(n), where=pairs > 0)
    return Report("clustering", (
        Rule.checked("coefficients", "every vertex has its neighbours' edges as a share of their pairs",
                     np.flatnonzero(~(np.abs(given - expected) <= 1e-9)),
                     lambda v: Offence(arguments.user_id(graph, v), f"{given[v]:.9g}", f"{expected[v]:.9g}")),
    ))  # fmt: skip


@takes_graph
@checked()
def two_hop_friends(graph: Graph, vertices: Any, count: Any, lists: Any = None) -> Report:
    """Check how many vertices are two edges away from each of `vertices` and not one, -1 for others; and which.

    `lists`, if given: the numbers of the friends of the k-th vertex are ``lists[1][lists[0][k] : lists[0][k + 1]]``. Of
    more than 1,024 vertices this many are looked at, drawn by a seed.

    Examples
    --------
    >>> import arcflux as af
    >>> bool(af.validate.two_hop_friends("path:4", [0, 1], [1, 1, -1, -1]))
    True
    >>> bool(af.validate.two_hop_friends("path:4", [0, 1], [1, 2, -1, -1]))
    False
    """
    given, chosen = arguments.wholes("count", count, graph.vertices), arguments.numbers_of(graph, vertices)
    parted = None if lists is None else _list_bounds(lists, len(chosen))
    others = np.ones(graph.vertices, np.bool_)
    others[chosen] = False
    looked = np.arange(len(chosen))
    if len(looked) > _SAMPLE:
        looked = np.sort(np.random.default_rng(1).choice(looked, _SAMPLE, replace=False))
    offsets, neighbours = graph.out[0].astype(np.int64), graph.out[1]
    right, wrong = given.copy(), []
    for k in looked.tolist():
        v = chosen[k]
        near = np.unique(neighbours[offsets[v] : offsets[v + 1]])
        far = [neighbours[offsets[u] : offsets[u + 1]] for u in near.tolist()]
        friends = np.setdiff1d(np.concatenate(far) if far else near, np.append(near, v))
        right[v] = len(friends)
        if parted is not None:
            begins, listed = parted
            if not np.array_equal(friends, listed[begins[k] : begins[k + 1]]):
                wrong.append(v)
    rules = [
        Rule.checked("count", f"{len(looked):,} vertices have as many friends as are found",
                     np.flatnonzero(given != right),
                     lambda v: Offence(arguments.user_id(graph, v), f"{given[v]}", f"{right[v]}")),
        Rule.checked("others", "of no other vertex they were counted", np.flatnonzero(others & (given != -1)),
                     lambda v: Offence(arguments.user_id(graph, v), f"{given[v]}", "-1")),
    ]  # fmt: skip
    if lists is not None:
        rules.append(
            Rule.checked("lists", "their lists are those that are found", wrong,
                         lambda v: Offence(arguments.user_id(graph, v), "another list", "its friends"))
        )  # fmt: skip
    return Report("two-hop friends", tuple(rules))


def _list_bounds(lists: Any, count: int) -> tuple[Array, Array]:
    """The bounds of the lists, and their contents."""
    if isinstance(lists, (list, tuple)) and len(lists) == 2:
        begins, listed = (np.asarray(array("lists", part)) for part in lists)
        if begins.shape == (count + 1,) and listed.ndim == 1 and {begins.dtype.kind, listed.dtype.kind} <= {"i", "u"}:
            return begins.astype(np.int64), listed
    raise UsageError("lists are not offsets and vertex numbers", expected=f"({count + 1} offsets, what they cut)")


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
            lambda v: Offence(arguments.user_id(graph, v), f"{given[v]}", f"{right[v]}"),
        ),
        Rule.overall("sum", "all add up to three times the triangles and twice the edges", f"{int(given.sum()):,}",
                     int(given.sum()) != total + 2 * edges),
    ))  # fmt: skip


def _corners(graph: Graph) -> Array:
    """Triangles through each vertex: int64[vertices].

    Vertices are renumbered by degree, and every edge goes up: then no row is longer than the square root of twice the
    edges, and each triangle is found once, from its lowest corner.
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

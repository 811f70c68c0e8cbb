"""PageRank's surfer: where it begins, where it jumps to, and which edges it can choose, as numbers for each vertex.

They are shares of 1, computed within the range of floats: weights are first divided by the largest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcflux.checks import real_array
from arcflux.errors import UsageError, WeightError
from arcflux.graph import Graph
from arcflux.graph.ids import by_id
from arcflux.validate import arguments

__all__ = ["Start", "best_start", "choosable", "dangling_count", "shares", "weighed"]

Array = NDArray[Any]

# Arcs by which a graph is judged, and neighbours of a vertex at most.
_SAMPLE, _NEIGHBOURS = 1024, 64
# To a share of how many a sample tells how a residual declines: what is less of it may be of another kind.
_SEEN = 4096
# What a superstep leaves at least of a residual, as far as a sample can tell; supersteps to learn from.
_FASTEST, _LEARNING = 0.02, 2
# Up to where 1 over a sum of weights, times a rank, is a float of a type without losing digits.
_WIDEST = {"f64": 1e200, "f32": 1e25}


def dangling_count(graph: Graph) -> int:
    """The number of vertices without out-edges; cached with the graph."""
    offsets = graph.out_offsets
    if "dangling" not in graph.kept:
        graph.kept["dangling"] = int(np.count_nonzero(offsets[1:] == offsets[:-1]))
    return int(graph.kept["dangling"])


class Start(NamedTuple):
    """The first ranks: ``even / vertices + by_degree * degree``; and how much a superstep would move them, in total."""

    even: float
    by_degree: float
    residual: float


def best_start(graph: Graph, damping: float, moved: float, redistribute: bool) -> Start:
    """The first ranks from which fewer supersteps lead to a residual of `moved`, on an undirected graph.

    All alike, or ``(1 - damping) / vertices`` and the rest in proportion to degrees, where a surfer stands who never
    jumps. The latter moves less at first; but where regions of the graph differ in degree and few edges lead from one
    to the other, it takes long until each has the share that is its own, which ranks that are all alike begin with.
    So what decides is the residual, and how much of it a superstep leaves. What lasts longest may be too little of it
    for a sample to see (small components that lack their share), so a tight tolerance begins with ranks all alike.
    """
    even, by_degree, isolated = _residuals(graph)
    degree = graph.arcs / max(1, graph.vertices)
    all_alike = Start(1.0, 0.0, damping * (degree * even.size + isolated))
    following = damping * (1.0 - damping) * degree * by_degree.size
    if not graph.arcs or following > _SEEN * moved:
        return all_alike
    whole = 1.0 - damping * isolated if redistribute else 1.0
    shares = (1.0 - damping) / whole, damping * (1.0 - isolated) / whole / graph.arcs
    proportional = Start(*shares, following)
    lasting = [_supersteps(start.residual, damping * residual.left, moved)
               for start, residual in ((all_alike, even), (proportional, by_degree))]  # fmt: skip
    return proportional if lasting[1] < lasting[0] else all_alike


def _supersteps(residual: float, decline: float, moved: float) -> float:
    """About how many supersteps it takes, accelerated or not, where each leaves so much of the residual."""
    if residual <= moved or moved <= 0:
        return 0.0
    decline = min(max(decline, _FASTEST), 1.0 - _FASTEST)
    faster = decline / (1.0 + math.sqrt(1.0 - decline * decline))
    length = math.log(residual / moved)
    return min(length / -math.log(decline), _LEARNING + length / -math.log(faster))


class _Residual(NamedTuple):
    """The mean size of a residual over degree at the arcs of a graph, and what share of it a superstep leaves."""

    size: float
    left: float


def _residuals(graph: Graph) -> tuple[_Residual, _Residual, float]:
    """The residuals of ranks that are all alike, and in proportion to degrees, times the vertices; of a sample of arcs.

    The matrix of an undirected graph is symmetric where vertices count by 1 over their degree. So what a superstep
    leaves of a residual f * degree is by and large the mean of f(u) f(v) at arcs from u to v over that of f(u) ** 2
    (Rayleigh's quotient). The last is the share of vertices without neighbours. The graph remembers.
    """
    if "residuals" not in graph.kept:
        offsets, neighbours = graph.out
        isolated = dangling_count(graph) / max(1, graph.vertices)
        places = np.arange(graph.arcs)
        if graph.arcs > _SAMPLE:
            places = np.random.default_rng(1).integers(graph.arcs, size=_SAMPLE)
        ends = np.searchsorted(offsets, places, side="right") - 1, neighbours[places].astype(np.int64)
        degrees = [(offsets[v + 1] - offsets[v]).astype(np.float64) for v in ends]
        received = [_received(graph, v) for v in ends]
        mean = (1.0 - isolated) * graph.vertices / max(1, graph.arcs)
        found = (
            _residual(*(r - 1.0 / d for r, d in zip(received, degrees, strict=True))),
            _residual(*(r - mean for r in received)),
        )
        graph.kept["residuals"] = *found, isolated
    known: tuple[_Residual, _Residual, float] = graph.kept["residuals"]
    return known


def _residual(here: Array, there: Array) -> _Residual:
    """What a sample of arcs says of a residual at both of their ends."""
    if not len(here):
        return _Residual(0.0, 0.0)
    square = float((here**2).mean() + (there**2).mean()) / 2.0
    return _Residual(float(np.abs(here).mean()), abs(float((here * there).mean())) / square if square else 0.0)


def _received(graph: Graph, vertices: Array) -> Array:
    """The mean of 1 over the degrees of each vertex's neighbours; of this many of them where there are more."""
    offsets, neighbours = graph.out
    starts = offsets[vertices].astype(np.int64)
    lengths = offsets[vertices + 1].astype(np.int64) - starts
    taken = np.minimum(lengths, _NEIGHBOURS)
    owner = np.repeat(np.arange(len(vertices)), taken)
    turn = np.arange(len(owner)) - np.repeat(np.cumsum(taken) - taken, taken)
    ends = neighbours[starts[owner] + turn * lengths[owner] // taken[owner]].astype(np.int64)
    inverse = 1.0 / (offsets[ends + 1] - offsets[ends])
    mean: Array = np.bincount(owner, inverse, minlength=len(vertices)) / taken
    return mean


def weighed(graph: Graph, name: str | None) -> Graph | None:
    """The graph with the column to choose edges by as `weight`, if there is one."""
    if name is None or (name == "weight" and not graph.weighted):
        return None
    column = arguments.weights(graph, name)
    return graph if name == "weight" else graph.with_columns({"weight": column})


def choosable(graph: Graph, dtype: str) -> tuple[Graph, Array]:
    """The graph, and the sum of the weights of each vertex's out-edges, of which 1 over it is a float of `dtype`.

    Only proportions matter, so weights that are too large or too small for that are scaled, all by one power of 2.
    """
    sums, widest = _strengths(graph), _WIDEST[dtype]
    positive = sums[sums > 0]
    if not positive.size or 1 / widest <= positive.min() <= positive.max() <= widest:
        return graph, sums
    column = graph.columns["weight"].astype(np.float64)
    scaled = graph.with_columns({"weight": np.ldexp(column, -int(np.frexp(column.max())[1]))})
    found = _strengths(scaled)
    lost = (sums > 0) & (found < 1 / widest)
    if lost.any():
        v = int(np.argmax(lost))
        raise WeightError(
            f"the weights of vertex {arguments.user_id(graph, v)} sum to {sums[v]}, and the largest is {column.max()}",
            expected=f"sums of at least {1 / widest} times the largest weight, with dtype={dtype!r}",
            remedy="drop edges of such small weights, or scale those of each vertex"
            + ", or dtype='f64'" * (dtype == "f32"),
        )
    return scaled, found


def _strengths(graph: Graph) -> Array:
    """The sum of the weights of each vertex's out-edges; infinite when that is no float."""
    sums = np.zeros(graph.vertices)
    some = graph.out_degrees > 0
    if some.any():
        starts = graph.out.offsets[:-1][some].astype(np.int64)
        with np.errstate(over="ignore"):
            sums[some] = np.add.reduceat(graph.columns["weight"].astype(np.float64), starts)
    return sums


def shares(graph: Graph, given: Any, name: str) -> Array:
    """Weights of vertices, by id or in order, as shares that sum to 1; the same for all when none are given."""
    if given is None:
        return np.full(graph.vertices, 1.0 / max(1, graph.vertices))
    given = by_id(given)
    wrong = UsageError(f"{name} cannot be made into shares", expected="weights of vertices, not negative, not all 0")
    numbers = graph.ids.to_numbers(list(given)) if isinstance(given, Mapping) and given else None
    try:
        found = real_array(name, list(given.values()) if isinstance(given, Mapping) else given, wrong.expected)
    except UsageError as error:
        raise wrong from error
    if numbers is not None:
        if found.shape != numbers.shape:
            raise wrong
        values, found = found, np.zeros(graph.vertices)
        found[numbers] = values
    if found.shape != (graph.vertices,) or not np.isfinite(found).all() or (found < 0).any() or not found.any():
        raise wrong
    found /= found.max()
    normalised: Array = found / found.sum()
    return normalised

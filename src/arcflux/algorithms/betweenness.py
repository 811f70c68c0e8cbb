"""Betweenness centrality: how many of all shortest paths lead through a vertex."""

from __future__ import annotations

import math
import operator
import random
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import arcflux as af
from arcflux import trace
from arcflux.checks import flag, maybe
from arcflux.checks import seed as any_seed
from arcflux.devices import Device
from arcflux.distributed.gpus import dependencies as on_gpu
from arcflux.distributed.gpus import on_gpus
from arcflux.engine.call import graph_call
from arcflux.engine.spread import Spread, asked, on_ranks
from arcflux.errors import UsageError
from arcflux.graph import Graph
from arcflux.history import Chained
from arcflux.kernels.accumulation import Accumulation, dealt

__all__ = ["Dependencies", "ShortestPaths", "betweenness_centrality", "dependencies"]

Array = NDArray[Any]


@af.program
class ShortestPaths:
    """Forward (Lux, section 3.4): the level of every vertex, and how many shortest paths lead there."""

    source: af.vertex
    sparse = True
    level: af.i32
    paths: af.f64

    def start(v, p):
        v.level = 0 if v.number == p.source else -1
        v.paths = 1.0 if v.number == p.source else 0.0
        return v.number == p.source

    def wants(v):
        return v.level < 0

    def compute(v, u):
        v.paths += u.paths

    def update(v, step):
        if v.paths == 0.0:
            return False
        v.level = step + 1
        return True


@af.program
class Dependencies:
    """Backward: a vertex gets its share of what its successors have, and 1 for each of them that is an end itself.

    Runs on the edges of shortest paths alone, turned round, with ``share = paths[v] / paths[u]`` of each.
    """

    dependency: af.f64

    def start(v):
        v.dependency = 0.0
        return True

    def init(v):
        v.dependency = 0.0

    def compute(v, u, edge):
        v.dependency += edge.share * (1.0 + u.dependency)

    def update(v, old):
        return v.dependency != old.dependency


def dependencies(graph: Graph, source: Any, **options: Any) -> af.Result:
    """What the shortest paths from one source give to each vertex, by two vertex programs, one after the other.

    The plain way, to read and to compare with: :func:`betweenness_centrality` with ``sources=[source]`` gives the same
    many times faster. The source itself has as many as it reaches, which centrality does not count. Unreached vertices
    have 0. Parallel edges count as often as they appear (make the graph with ``deduplicate="first"``); self-loops make
    no difference.

    Examples
    --------
    >>> import arcflux as af
    >>> af.algorithms.betweenness.dependencies(af.load("path:4"), 0)["dependency"].tolist()
    [3.0, 2.0, 1.0, 0.0]
    """
    forward = af.run(ShortestPaths, graph, source=source, **options)
    level, paths = forward["level"], forward["paths"]
    rows = np.repeat(np.arange(graph.vertices), graph.out_degrees.astype(np.int64))
    tight = (level[rows] >= 0) & (level[graph.out.neighbours] == level[rows] + 1)
    near, far = rows[tight], graph.out.neighbours[tight]
    back = af.Graph.from_edges(far, near, columns={"share": paths[near] / paths[far]}, vertices=graph.vertices)
    found = af.run(Dependencies, back, **options)
    return replace(
        found,
        graph=graph,
        history=Chained(forward.history, found.history),
        seconds=forward.seconds + found.seconds,
        compile_seconds=forward.compile_seconds + found.compile_seconds,
    )


@graph_call(normalized=flag, weight=None, endpoints=flag, seed=maybe(any_seed))
def betweenness_centrality(
    graph: Graph,
    k: int | None = None,
    normalized: bool = True,
    weight: str | None = None,
    endpoints: bool = False,
    seed: int | None = None,
    *,
    sources: Any = None,
    threads: int | None = None,
    parts: int | af.Parts | None = None,
    partition: str = "ranges",
    transport: str | None = None,
    ranks_per_node: int | None = None,
    devices: str | Sequence[Device] | None = None,
) -> af.Result:
    """The share of shortest paths between all pairs of other vertices that lead through each vertex: `centrality`.

    Arguments and values are those of NetworkX. Brandes' algorithm (2001): tied shortest paths share equally, a pair
    without a path counts for nothing. Edges are followed in their direction. Parallel edges count once, as in a simple
    graph; self-loops and edge columns make no difference. Values do not depend on the number of threads.

    Parameters
    ----------
    k
        Estimate from `k` sampled sources, scaled up to all; of one source alone its own value is unknown, NaN. The
        sample is the one that NetworkX takes of the vertices in the order of their ids.
    normalized
        Divide by the number of pairs. Without it, a pair of an undirected graph counts once, not from each end.
    weight
        Only None: paths are measured in edges.
    endpoints
        Count the two ends of a path as well.
    seed
        Of the sample; without it, every call takes another.
    sources
        Ids instead of a sample: only paths that start there count, and nothing is scaled up. A repeated one counts
        again.
    threads
        Workers; every core without it.
    parts, partition, transport, ranks_per_node
        Those of :func:`arcflux.run`: run on parts of the graph, which agree to rounding. With
        ``partition="duplicate"`` each part takes sources of its own.
    devices
        That of :func:`arcflux.run`: run on GPUs, and on cores beside them, each with the whole graph and sources of
        its own, with the bits of cores alone.

    Examples
    --------
    >>> import arcflux as af
    >>> af.algorithms.betweenness_centrality(af.load("path:5"), normalized=False)["centrality"].tolist()
    [0.0, 3.0, 4.0, 3.0, 0.0]
    """
    begun = time.perf_counter()
    if weight is not None:
        raise UsageError(
            f"weight is {weight!r}", expected="None: paths are measured in edges", remedy="leave weight= away"
        )
    chosen, sampled = _sources(graph, k, seed, sources)
    where = parts, partition, transport, ranks_per_node, threads
    gpus = on_gpus(devices, *where)
    spread = asked(*where) if gpus is None else None
    if gpus is not None:
        sums, chosen = on_gpu(gpus, graph, chosen, endpoints)
        seconds, compiled = gpus.seconds, gpus.compiled
    elif spread is not None:
        sums, chosen, seconds, compiled = _spread(spread, graph, chosen, endpoints)
    else:
        made = Accumulation(graph, threads)
        with trace.task("betweenness", total=len(chosen), unit="sources") as task:
            sums = made.run(chosen, *dealt(graph, len(chosen)), endpoints, task.at).sum(axis=0)
        compiled = made.compile_seconds
        seconds = time.perf_counter() - begun - compiled
    scale = _scale(graph, chosen, sampled, normalized, endpoints)
    result = af.Result("betweenness", graph, {"centrality": sums * scale}, [], True, seconds, compiled)
    if endpoints:
        return result  # the validator knows paths, not their ends
    return result.checked_by(
        lambda result: af.validate.betweenness(graph, graph.ids.to_ids(chosen), _unscaled(result["centrality"], scale))
    )


def _unscaled(centrality: Array, scale: Any) -> Array:
    """Plain sums again; where the scale is unknown, and so NaN is right, the 0 that a lone source gives itself."""
    plain: Array = np.where(np.isnan(scale) & np.isnan(centrality), 0.0, centrality / scale)
    return plain


def _spread(spread: Spread, graph: Graph, sources: Array, endpoints: bool) -> tuple[Array, Array, float, float]:
    """What the paths from all sources give to each vertex, on parts; the sources, seconds, and those of compiling.

    The sources are the first rank's: without a seed, each has sampled others.
    """
    from arcflux.distributed.betweenness import dependencies

    def work(transport: Any, parts: af.Parts) -> tuple[Array, Any, Array]:
        agreed = transport.broadcast(sources.astype(np.int64), 0)
        return *dependencies(transport, parts, agreed, endpoints), agreed

    sums, launch, agreed = on_ranks(spread, graph, work)
    return sums, agreed, launch.seconds, launch.compiled


def _sources(graph: Graph, k: Any, seed: int | None, sources: Any) -> tuple[Array, bool]:
    """The numbers of the sources, and whether they are a sample."""
    n = graph.vertices
    if sources is not None:
        if k is not None:
            raise UsageError("both k and sources are given", expected="one of them")
        if np.ndim(sources) != 1:
            raise UsageError(f"sources is {sources!r}", expected="a list of ids")
        return graph.ids.to_numbers(sources) if len(sources) else np.empty(0, np.int64), False
    if k is None:
        return np.arange(n), False
    try:
        count = operator.index(k)
    except TypeError:
        count = 0
    if not 1 <= count <= n:
        raise UsageError(f"k is {k!r}", expected=f"a whole number from 1 to the graph's {n:,} vertices")
    return (np.arange(n), False) if count == n else (np.array(random.Random(seed).sample(range(n), count)), True)


def _scale(graph: Graph, sources: Array, sampled: bool, normalized: bool, endpoints: bool) -> Any:
    """What the plain sums are multiplied by, as NetworkX has it: a number, or one for each vertex."""
    ends = graph.vertices if endpoints else graph.vertices - 1
    if ends < 2:
        return 1.0
    whole = 1.0 / (ends - 1) if normalized else ends / (1 if graph.directed else 2)
    if not sampled or endpoints:
        return whole / (len(sources) if sampled else ends)
    # A source is never inside its own paths, so it was sampled once less than the others.
    scale = np.full(graph.vertices, whole / len(sources))
    scale[sources] = whole / (len(sources) - 1) if len(sources) > 1 else math.nan
    return scale

"""Betweenness centrality: how many of all shortest paths lead through a vertex."""

from __future__ import annotations

import math
import operator
import random
from typing import Any

import numpy as np
from numpy.typing import NDArray

import arcflux as af
from arcflux.algorithms.betweenness.programs import Dependencies, ShortestPaths, dependencies
from arcflux.checks import flag, maybe
from arcflux.checks import seed as any_seed
from arcflux.engine.call import graph_call
from arcflux.engine.launch import launch
from arcflux.engine.worker import Worker
from arcflux.errors import UsageError
from arcflux.graph import Graph
from arcflux.trace import Task

__all__ = ["Dependencies", "Progress", "ShortestPaths", "betweenness_centrality", "dependencies", "work"]

Array = NDArray[Any]

# From this many sources on, and up to this many vertices, each core processes sources of its own. The rule does not
# depend on the number of cores: the sums are the same for any number.
_MANY_SOURCES = 16
_FEW_VERTICES = 1 << 18
_LANES = 64
# Bytes of rows of sums that workers exchange at a time, and the most sources of these.
_BATCH = 1 << 28
_SOURCES = 64
# A count of paths above this is close to overflow. The next level is still summed plainly, and cannot overflow: a
# vertex has fewer than 2**60 neighbours.
MANY_PATHS = 2.0**900


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
    **where: Any,
) -> af.Result:
    """The share of shortest paths between all pairs of other vertices through each vertex: `centrality`.

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
    **where
        The options of :func:`arcflux.run` that say where it runs: `threads`, `parts`, `partition`, `transport`,
        `ranks_per_node`, `devices`. Every worker sees the whole graph and takes sources of its own; the values have the
        same bits wherever that is.

    Examples
    --------
    >>> import arcflux as af
    >>> af.algorithms.betweenness_centrality(af.load("path:5"), normalized=False)["centrality"].tolist()
    [0.0, 3.0, 4.0, 3.0, 0.0]
    """
    if weight is not None:
        raise UsageError(
            f"weight is {weight!r}", expected="None: paths are measured in edges", remedy="leave weight= out"
        )
    chosen, sampled = _sources(graph, k, seed, sources)
    done = launch(graph, where, lambda worker: work(worker, chosen, endpoints))
    sums, chosen = done.answer
    times = done.seconds, done.compile_seconds
    scale = _scale(graph, chosen, sampled, normalized, endpoints)
    result = done.finish(af.Result("betweenness", graph, {"centrality": sums * scale}, [], True, *times))
    if endpoints:
        return result  # the validator knows paths, not their ends
    return result.checked_by(
        lambda result: af.validate.betweenness(graph, graph.ids.to_ids(chosen), _unscaled(result["centrality"], scale))
    )


def _unscaled(centrality: Array, scale: Any) -> Array:
    """Undo the scaling; where the scale is unknown (NaN), the 0 that a single source has of itself."""
    plain: Array = np.where(np.isnan(scale) & np.isnan(centrality), 0.0, centrality / scale)
    return plain


def work(worker: Worker, sources: Array, endpoints: bool) -> tuple[Array, Array]:
    """The dependencies of all sources on each vertex, and the sources: those of the first worker.

    Without a seed, each process has sampled different sources. Sums have the same bits on any workers: if sources are
    assigned to lanes, workers divide the lanes. If there is only one lane, some sources at a time are divided, and
    their contributions are added in order.
    """
    agreed, n = worker.broadcast(sources.astype(np.int64)), worker.graph.vertices
    lanes, apart = dealt(n, len(agreed))
    whole = apart or worker.size == 1
    width = lanes if whole else max(worker.size, min(_SOURCES, _BATCH // (8 * max(1, n))))
    own = worker.kernels(__name__).Accumulation(worker, width, apart, MANY_PATHS)
    total = np.zeros(n)
    with worker.task("betweenness", len(agreed), "sources") as task:
        progress = Progress(worker, len(agreed), task)
        for begin in range(0, max(1, len(agreed)), max(1, len(agreed)) if whole else width):
            some = agreed if whole else agreed[begin : begin + width]
            lanes = lanes if whole else len(some)
            rows = own.run(some, lanes, range(*worker.share(lanes)), float(endpoints), progress)
            rows = worker.gather(rows.reshape(-1)).reshape(lanes, n)
            if whole:
                return np.asarray(rows.sum(axis=0)), agreed
            for row in rows:
                total += row
    return total, agreed


def dealt(vertices: int, sources: int) -> tuple[int, bool]:
    """The number of lanes for this many sources, and whether each lane belongs to a single core.

    Examples
    --------
    >>> dealt(5, 100), dealt(5, 4)
    ((64, True), (1, False))
    """
    apart = sources >= _MANY_SOURCES and vertices <= _FEW_VERTICES
    return min(_LANES, sources) if apart else 1, apart


class Progress:
    """Counts the sources that a worker has processed, and estimates the overall progress from it."""

    def __init__(self, worker: Worker, total: int, task: Task) -> None:
        self.worker, self.total, self.task, self.own = worker, total, task, 0

    def advance(self, sources: int) -> None:
        """So many more sources are done."""
        self.worker.check()
        self.own += sources
        self.at(0)

    def at(self, sources: int) -> None:
        """So many more sources will be done soon."""
        self.task.at(min(self.total, round((self.own + sources) / self.worker.shares.part)))


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
    """The factor for the plain sums, as in NetworkX: a number, or one for each vertex."""
    ends = graph.vertices if endpoints else graph.vertices - 1
    if ends < 2:
        return 1.0
    whole = 1.0 / (ends - 1) if normalized else ends / (1 if graph.directed else 2)
    if not sampled or endpoints:
        return whole / (len(sources) if sampled else ends)
    # A source is never inside its own paths, so it has one sample less than the others.
    scale = np.full(graph.vertices, whole / len(sources))
    scale[sources] = whole / (len(sources) - 1) if len(sources) > 1 else math.nan
    return scale

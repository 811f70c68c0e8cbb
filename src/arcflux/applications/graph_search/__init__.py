"""Graph search: walkers that search vertices of high score, uniformly, greedily, or with probabilities by score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import arcflux as af
from arcflux.applications.random_walks import Method, Walks, united
from arcflux.applications.random_walks import work as walk
from arcflux.applications.random_walks.method import number_type
from arcflux.applications.random_walks.spread import Travellers, travel
from arcflux.applications.random_walks.walks import Visits
from arcflux.applications.traffic import Traffic
from arcflux.applications.vertex_lists import listed
from arcflux.checks import array, flag, text, wholes
from arcflux.checks import seed as any_seed
from arcflux.engine.call import graph_call
from arcflux.engine.launch import launch
from arcflux.engine.worker import Worker
from arcflux.errors import UsageError
from arcflux.graph import Graph
from arcflux.spmd.space import afford
from arcflux.validate import arguments

__all__ = ["graph_search"]

Array = NDArray[Any]
_MODES = ("uniform", "greedy", "stochastic_greedy")
_METHODS = ("direct", "previsit")


@dataclass(frozen=True)
class _Search:
    """The parameters. scores: float64[vertices]."""

    starts: Array
    walks: int
    length: int
    seed: int
    scores: Array
    greedy: bool
    prepared: bool


@graph_call(
    scores=array, starts=array, walk_length=wholes(1), walks_per_vertex=wholes(1), mode=text, method=text,
    seed=any_seed, distributed=flag,
)  # fmt: skip
def graph_search(
    graph: Graph,
    scores: list[float] | None = None,
    starts: Any = None,
    walk_length: int = 10,
    *,
    walks_per_vertex: int = 1,
    mode: str = "greedy",
    method: str = "previsit",
    seed: int = 0,
    distributed: bool = False,
    **where: Any,
) -> Walks:
    """Walks that look for vertices of high score, each step by the scores of the neighbours (the HIVE graph search).

    Parameters
    ----------
    scores
        A number for each vertex, in the order of the graph's ids; without it the out-degree.
    starts, walk_length, walks_per_vertex, seed, distributed, **where
        As in :func:`random_walks`.
    mode
        "greedy": to the neighbour of the highest score, of equals the first in the row. "stochastic_greedy": to a
        neighbour with a probability in proportion to its score, which is 0 or more. "uniform": to any neighbour.
    method
        "previsit" prepares every vertex once (its best neighbour; the sums of scores, in which a draw is looked up),
        "direct" reads the row at each visit. Walks are the same.

    A walk ends where there are no neighbours, or (stochastic) none with a score above 0. Parallel edges count each.

    Examples
    --------
    >>> import arcflux as af
    >>> af.graph_search(af.load("path:5"), [1, 2, 3, 4, 5], [0], 6).walks.tolist()
    [[0, 1, 2, 3, 4, 3]]
    """
    if mode not in _MODES:
        raise arguments.unknown_choice("mode", mode, _MODES)
    if method not in _METHODS:
        raise arguments.unknown_choice("method", method, _METHODS)
    values = _scores(graph, scores, mode)
    roots = np.arange(graph.vertices) if starts is None else listed(graph, "starts", starts)
    walks = len(roots) * walks_per_vertex
    afford(walks * walk_length * 4, f"{walks:,} walks of {walk_length:,} vertices", "fewer starts, or shorter walks")
    if mode == "uniform":
        uniform = Method(roots, walk_length, walks, seed % 2**64)
        done = launch(graph, where, lambda worker: walk(worker, uniform, distributed))
    else:
        asked = _Search(roots, walks, walk_length, seed % 2**64, values, mode == "greedy", method == "previsit")
        done = launch(graph, where, lambda worker: _work(worker, asked, distributed))
    rows, traffic = done.answer
    result = Walks(
        f"{mode} search", graph, Visits(rows, graph.vertices), [], True, done.seconds, done.compile_seconds,
        numbers_of_walks=rows, traffic=traffic,
    )  # fmt: skip
    return replace(
        done.finish(result), validator=lambda made: af.validate.search(graph, made.numbers_of_walks, values, mode)
    )


def _scores(graph: Graph, scores: Any, mode: str) -> Array:
    if scores is None:
        return graph.out_degrees.astype(np.float64)
    values = arguments.reals("scores", scores, graph.vertices)
    bad = ~np.isfinite(values) if mode != "stochastic_greedy" else ~((values >= 0) & (values < np.inf))
    if bad.any():
        v = int(np.argmax(bad))
        expected = "finite numbers, 0 or more" if mode == "stochastic_greedy" else "finite numbers"
        raise UsageError(f"the score of vertex {arguments.user_id(graph, v)} is {values[v]}", expected=expected)
    with np.errstate(over="ignore"):
        whole = values.max(initial=0.0) * float(graph.out_degrees.max(initial=1))
    if mode == "stochastic_greedy" and whole == np.inf:
        raise UsageError(
            f"a score is {values.max():g}, and those of neighbours may sum to infinity", expected="smaller scores",
            remedy="divide all by the same number",
        )  # fmt: skip
    return values


def _work(worker: Worker, asked: _Search, distributed: bool) -> tuple[Array, Mapping[str, int]]:
    traffic, apart = Traffic(worker), distributed and worker.size > 1
    rows = worker.share_of_rows() if apart else (0, worker.graph.vertices)
    prepared = _prepared(worker, asked, *rows)
    own = travel(_Searchers(worker, asked, prepared, traffic)) if apart else _search_here(worker, asked, prepared)
    return united(worker, own, asked.walks, traffic)


def _prepared(worker: Worker, asked: _Search, first: int, last: int) -> tuple[Array | None, Array | None]:
    """The best neighbours, or the sums of scores, of some rows; None for what is not precomputed."""
    if not asked.prepared:
        return None, None
    kernels, cores, graph = worker.kernels(__name__), worker.cores, worker.graph
    where = *graph.out, asked.scores, np.uint64(first), np.uint64(last)
    if asked.greedy:
        best = cores.host(graph.vertices, number_type(graph))
        cores.launch(kernels.best_neighbours, last - first, *where, best)
        return best, None
    sums = cores.host(graph.arcs, np.float64)
    cores.launch(kernels.score_sums, last - first, *where, sums)
    return None, sums


def _search_here(worker: Worker, asked: _Search, prepared: tuple[Array | None, Array | None]) -> Array:
    first, last = worker.share(asked.walks)
    count, cores = last - first, worker.cores
    out = cores.kept(count * asked.length, number_type(worker.graph), zero=False).reshape(count, asked.length)
    given = asked.starts, np.uint64(first), np.uint64(last), np.uint64(asked.seed)
    kernel = worker.kernels(__name__).search
    with worker.task("searches", count, "walks") as task:
        cores.launch(
            kernel, 1 + count // 64, *given, *worker.graph.out, asked.scores, *prepared, asked.greedy, out, task=task
        )
    return out


class _Searchers(Travellers):
    """Walkers of a search on a distributed graph; every worker has the scores of all vertices."""

    def __init__(self, worker: Worker, asked: _Search, prepared: Any, traffic: Traffic) -> None:
        super().__init__(worker, asked.starts, asked.walks, asked.length, traffic)
        self.asked, self.prepared, self.kernel = asked, prepared, worker.kernels(__name__).choose

    def choose(self, step: int) -> tuple[Array, Array, Array]:
        """By the scores of the neighbours."""
        goals = self.room("goals", np.zeros(len(self.at), np.int64))
        given = np.uint64(step), np.uint64(self.asked.seed), self.room("walks", self.walks), self.room("at", self.at)
        self.worker.cores.launch(
            self.kernel, 1 + len(self.at) // 256, *given, *self.worker.graph.out, self.asked.scores, *self.prepared,
            self.asked.greedy, goals,
        )  # fmt: skip
        self.worker.cores.together()
        found = goals.copy()
        self.worker.cores.together()
        return found.astype(np.uint64), self.at, found >= 0

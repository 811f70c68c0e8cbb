"""Matching of graphs: pairs up the vertices of two graphs so that as many edges as possible agree.

J. T. Vogelstein and others, "Fast approximate quadratic programming for graph matching", 2015; with known pairs, D. E.
Fishkind and others, "Seeded graph matching", 2019. Frank-Wolfe: the gradient at a doubly stochastic matrix is a linear
assignment problem, whose solution is the direction of the next step; a line search gives its length. All matrices are
sparse: a point is a mean of permutations, and the gradient is linear in it, so that each step needs only one product.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import arcflux as af
from arcflux.applications.weights import edge_weights
from arcflux.checks import array, maybe, real, shown, text, wholes
from arcflux.engine.call import graph_call
from arcflux.engine.launch import launch
from arcflux.engine.worker import Worker
from arcflux.errors import UsageError, WeightError
from arcflux.graph import Graph
from arcflux.spmd.space import afford

__all__ = ["Matching", "match_graphs"]

Array = NDArray[Any]
# Epsilon falls by this factor, from half of the largest value to this part of it for all rows together.
_FALL, _CLOSE = 5.0, 1e-3
# Prices are at most the largest value per vertex; a smaller share of it cannot be added to one.
_ROUNDING = 2.0**-50
# The largest weight may be at most this, and at least its inverse: sums of products are finite then, and not 0.
_HUGE = 1e120


@dataclass(frozen=True, repr=False)
class Matching(af.Result):
    """The result of :func:`match_graphs`: the field `match`, the number of each vertex's partner in the other graph.

    score: the sum of products of weights of edges that agree, over all pairs of vertices; disagreements: the sum of
    squared differences of weights, over the same; iterations: of Frank-Wolfe.
    """

    other: Graph | None = None
    score: float = 0.0
    disagreements: float = 0.0

    def pairs(self) -> dict[Any, Any]:
        """The partner of each vertex, both by id.

        Examples
        --------
        >>> import arcflux as af
        >>> g = af.Graph.from_edges(["a", "b"], ["b", "c"], directed=False)
        >>> h = af.Graph.from_edges(["x", "z"], ["y", "x"], directed=False)
        >>> af.match_graphs(g, h, {"a": "y"}).pairs()
        {'a': 'y', 'b': 'x', 'c': 'z'}
        """
        assert self.other is not None
        return dict(zip(self.ids.tolist(), self.other.ids.to_ids(self.values["match"]).tolist(), strict=True))

    def highlights(self) -> list[tuple[str, str]]:
        """How well they agree."""
        return [("agreement", f"{self.score:,.6g}, disagreements {self.disagreements:,.6g}")]


@graph_call(other=None, seeds=None, start=text, max_iter=wholes(0), tol=real, weight=maybe(text))
def match_graphs(
    graph: Graph,
    other: str | Graph,
    seeds: str | Mapping[Any, Any] | Iterable[tuple[Any, Any]] | None = None,
    *,
    start: str = "sparse",
    max_iter: int = 30,
    tol: float = 0.01,
    weight: str | None = "weight",
    **where: Any,
) -> Matching:
    """Match the vertices of two graphs of equal size, from a few pairs that are known.

    Parameters
    ----------
    other
        The second graph, or what :func:`arcflux.load` takes.
    seeds
        Pairs that are known: {id in graph: id in other}, a list of pairs, or text such as "0:5,3:7". About the
        logarithm of the number of vertices is enough where graphs are alike; without any, `start` has to be
        "barycenter".
    start
        "sparse": what the neighbours that are seeds say; all stays sparse. "barycenter": all pairs alike, which takes
        dense matrices, and is better with few seeds.
    max_iter, tol
        How many steps there may be, and how far the last one moves: the norm of the change by the root of the size.
    weight
        The edge column of both graphs; 1 for each edge without such a column, or with None.
    **where
        The options of :func:`arcflux.run` that say where it runs; every worker does the same, by itself.

    Parallel edges add up. The problem is hard, and this a local search: it ends where no step gains. The result is the
    same on any number of workers.

    Examples
    --------
    >>> import arcflux as af
    >>> a, b = af.generate.correlated_pair(60, p=0.2, rho=1.0)
    >>> found = af.match_graphs(a, b, [(v, v) for v in range(6)])
    >>> found["match"].tolist() == list(range(60)), found.disagreements
    (True, 0.0)
    """
    second = other if isinstance(other, Graph) else af.load(other)
    if graph.vertices != second.vertices:
        raise UsageError(
            f"the graphs have {graph.vertices:,} and {second.vertices:,} vertices", expected="as many of each",
            remedy="add vertices without edges to the smaller one",
        )  # fmt: skip
    if not 0 <= tol < np.inf:
        raise UsageError(f"tol is {tol!r}", expected="a number from 0 on", remedy="0.01 is usual")
    if start not in ("sparse", "barycenter"):
        raise UsageError(f"start is {start!r}", expected="'sparse' or 'barycenter'")
    known = _seeds(graph, second, seeds)
    if start == "sparse" and not len(known) and graph.vertices:
        raise UsageError("there are no seeds", expected="some pairs that are known", remedy="start='barycenter'")
    if start == "barycenter":
        size = graph.vertices
        afford(5 * 8 * size * size, f"matching {size:,} vertices from the barycenter", "start='sparse', and seeds")
    matrices = _matrix(graph, weight), _matrix(second, weight)
    done = launch(graph, where, lambda worker: _work(worker, *matrices, known, start, max_iter, tol))
    match, steps = done.answer
    image = matrices[1][match][:, match]
    result = Matching(
        "match_graphs", graph, {"match": match}, [], True, done.seconds, done.compile_seconds, iterations=steps,
        other=second, score=float(matrices[0].multiply(image).sum()),
        disagreements=float((matrices[0] - image).power(2).sum()),
        validator=lambda one: af.validate.graph_matching(
            graph, second, one["match"], one.disagreements, seeds=known, weight=weight
        ),
    )  # fmt: skip
    return done.finish(result)


def _seeds(graph: Graph, other: Graph, seeds: Any) -> Array:
    """The known pairs, as numbers: int64[pairs, 2]."""
    if seeds is None:
        return np.empty((0, 2), np.int64)
    if isinstance(seeds, str):
        parts = [pair.partition(":") for pair in seeds.split(",") if pair]
        kinds = [str if one.ids.kind == "text" else int for one in (graph, other)]
        try:
            pairs = [(kinds[0](a), kinds[1](b)) for a, _, b in parts]
        except ValueError:
            raise UsageError(f"seeds is {seeds!r}", expected="pairs of ids, such as 0:5,3:7") from None
    else:
        try:
            pairs = list(seeds.items() if isinstance(seeds, Mapping) else array("seeds", seeds))
        except TypeError:
            raise UsageError(f"seeds is {shown(seeds)}", expected="pairs: {id: id of the other}") from None
    if not all(isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in pairs):
        raise UsageError(f"seeds is {shown(seeds)}", expected="pairs: an id of the graph, and one of the other")
    if not pairs:
        return np.empty((0, 2), np.int64)
    sides = zip((graph, other), zip(*pairs, strict=True), strict=True)
    found = np.stack([one.ids.to_numbers(list(ids)).astype(np.int64) for one, ids in sides], 1)
    for side in found.T:
        if len(np.unique(side)) < len(side):
            raise UsageError("a vertex is in several seeds", expected="each vertex in one pair at most")
    return found


def _matrix(graph: Graph, weight: str | None) -> Any:
    from scipy.sparse import csr_array

    column = edge_weights(graph, weight)
    values = np.ones(graph.arcs) if column is None else column.astype(np.float64)
    most = float(values.max(initial=0.0))
    if most and not 1 / _HUGE <= most <= _HUGE:
        raise WeightError(
            f"the largest value of the column {weight!r} is {most:g}, and products of two are added up",
            expected=f"from {1 / _HUGE:g} to {_HUGE:g}", remedy="divide the columns of both graphs by the same number",
        )  # fmt: skip
    offsets, neighbours = graph.out
    made = csr_array((values, neighbours.astype(np.int64), offsets.astype(np.int64)), (graph.vertices,) * 2)
    made.sum_duplicates()
    return made


class _Search:
    """Frank-Wolfe over the vertices that are no seeds: A, B are their matrices, C the seeds' part for each pair."""

    def __init__(self, worker: Worker, a: Any, b: Any, c: Any) -> None:
        self.worker, self.a, self.b, self.c, self.n = worker, a, b, c, a.shape[0]
        self.kernels = worker.kernels("arcflux.applications.match_graphs")

    def gradient(self, point: Any) -> Any:
        """A P B' + A' P B: the value of each pair, given a point."""
        return self.a @ point @ self.b.T + self.a.T @ point @ self.b

    def permutation(self, mate: Array) -> Any:
        """The matrix of a permutation."""
        from scipy.sparse import csr_array

        return csr_array((np.ones(self.n), mate, np.arange(self.n + 1)), (self.n, self.n))

    def assigned(self, values: Any) -> Array:
        """The permutation with the largest sum of values, nearly: by an auction, or of dense ones exactly."""
        if isinstance(values, np.ndarray):
            from scipy.optimize import linear_sum_assignment

            return np.asarray(linear_sum_assignment(values, maximize=True)[1], np.int64)
        rows, cores = values.tocsr(), self.worker.cores
        most = float(rows.data.max(initial=0.0)) or 1.0
        last = max(min(_CLOSE * most, 0.5) / max(1, self.n), _ROUNDING * most * self.n)
        steps = max(1, int(np.ceil(np.log(0.5 * most / last) / np.log(_FALL))) + 1)
        epsilons = last * _FALL ** np.arange(steps - 1, -1, -1.0)
        leaves = 1 << max(0, self.n - 1).bit_length()
        scratch = [cores.small(self.n) for _ in range(3)]
        cores.launch(
            self.kernels.auction, 1, rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data, epsilons,
            cores.small(self.n, np.float64), cores.small(2 * leaves), *scratch,
        )  # fmt: skip
        cores.together()
        return scratch[1].copy()

    def run(self, start: str, max_iter: int, tol: float) -> tuple[Array, int]:
        """The final permutation of the search, and how many steps it took."""
        dense = start == "barycenter"
        given = self.c.toarray() if dense else self.c
        point = np.full((self.n, self.n), 1.0 / self.n) if dense else self.permutation(self.assigned(self.c))
        slope, steps = self.gradient(point), 0
        with self.worker.task("match graphs", max_iter, "steps") as task:
            while steps < max_iter:
                self.worker.superstep(steps)
                goal = self.permutation(self.assigned(given + slope))
                there = self.gradient(goal)
                back, turn = point - goal, slope - there
                along = _inner(back, given) + _inner(back, there)
                bend = 0.5 * _inner(back, turn)
                part = _best_part(bend, along)
                point, slope = goal + part * back, there + part * turn
                steps += 1
                task.at(steps)
                if (1.0 - part) * np.sqrt(_inner(back, back) / max(1, self.n)) < tol:
                    break
        return self.assigned(np.asarray(point) if dense else point), steps


def _inner(one: Any, other: Any) -> float:
    """The sum of products of all entries."""
    if isinstance(one, np.ndarray):
        return float((one * (other if isinstance(other, np.ndarray) else other.toarray())).sum())
    return float(one.multiply(other).sum())


def _best_part(bend: float, along: float) -> float:
    """Where bend * s^2 + along * s is largest for s from 0 to 1."""
    if bend < 0 and 0 <= -along / (2 * bend) <= 1:
        return -along / (2 * bend)
    return 1.0 if bend + along > 0 else 0.0


def _work(
    worker: Worker, a: Any, b: Any, seeds: Array, start: str, max_iter: int, tol: float
) -> tuple[Array, int]:  # fmt: skip
    n = a.shape[0]
    rest = [np.setdiff1d(np.arange(n), side) for side in (seeds[:, 0], seeds[:, 1])]
    match = np.empty(n, np.int64)
    match[seeds[:, 0]] = seeds[:, 1]
    if not len(rest[0]):
        return match, 0
    (s, t), (u, v) = seeds.T, rest
    said = a[u][:, s] @ b[v][:, t].T + a[s][:, u].T @ b[t][:, v]
    found, steps = _Search(worker, a[u][:, u], b[v][:, v], said.tocsr()).run(start, max_iter, tol)
    match[u] = v[found]
    return match, steps

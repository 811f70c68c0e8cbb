"""Classification: finds a small pattern in a graph, by the attributes of vertices and edges and by their structure.

Belief propagation on the pattern, whose labels are the vertices of the graph: the study's "Application classification".
In its published form (``method="pnnl"``) the message for a missing edge costs nothing, and wins in every other round
whatever the edges are, so that from then on only attributes of vertices count. The default is corrected: a message
comes from the far end of an edge, costs are not normalised, a missing edge costs as much as the worst one, and messages
are shifted by their maximum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import arcflux as af
from arcflux.applications.arrays import numbers_of_vertices
from arcflux.applications.traffic import Traffic, told
from arcflux.checks import maybe, real, shown, text, wholes
from arcflux.engine.call import graph_call
from arcflux.engine.launch import launch
from arcflux.engine.worker import Worker
from arcflux.errors import UsageError, WeightError
from arcflux.graph import Graph
from arcflux.graph.arcs import in_places

__all__ = ["Classification", "classify"]

Array = NDArray[Any]
_MOST = 1024


@dataclass(frozen=True)
class _Problem:
    """graph: of the data; ends: sources and targets of the pattern's edges; nodes: float64[vertices, pattern vertices]
    are distances; marks: float64[arcs, columns] and wanted: float64[columns, pattern edges] are attributes of edges
    (None: none); null: float64[pattern edges], the cost of a missing edge; features, edges: the arguments.
    """

    graph: Graph
    ends: tuple[Array, Array]
    nodes: Array
    marks: Array | None
    wanted: Array | None
    null: Array
    features: tuple[Array | None, Array | None]
    edges: list[str]


@dataclass(frozen=True, repr=False)
class Classification(af.Result):
    """The result of :func:`classify`: the field `log_probability`, of each vertex for each vertex of the pattern.

    pattern: the graph that was searched; sent: bytes between nodes.
    """

    pattern: Graph | None = None
    sent: Mapping[str, int] = field(default_factory=dict)

    def best(self) -> dict[Any, Any]:
        """For each vertex of the pattern the most likely vertex, both by id; of equal ones that of the smallest number.

        Examples
        --------
        >>> import arcflux as af
        >>> af.classify("path:3", "path:1", [[0], [5], [9]], [[8]]).best()
        {0: 2}
        """
        assert self.pattern is not None
        places = self.values["log_probability"].argmax(0)
        return dict(zip(self.pattern.ids.to_ids().tolist(), self.graph.ids.to_ids(places).tolist(), strict=True))

    def highlights(self) -> list[tuple[str, str]]:
        """The most likely vertices."""
        chance = np.exp(self.values["log_probability"].max(0))
        pairs = list(zip(self.best().items(), chance, strict=True))
        said = ", ".join(f"{label} at {vertex} ({part:.2f})" for (label, vertex), part in pairs[:8])
        return [("found", said + (", ..." if len(pairs) > 8 else "")), *told(self.sent)]


@graph_call(
    pattern=None, features=None, pattern_features=None, edges=None, iterations=maybe(wholes(0)), method=text,
    null_cost=maybe(real),
)  # fmt: skip
def classify(
    graph: Graph,
    pattern: str | Graph,
    features: str | Sequence[Any] | None = None,
    pattern_features: str | Sequence[Any] | None = None,
    *,
    edges: Sequence[str] = (),
    iterations: int | None = None,
    method: str = "corrected",
    null_cost: float | None = None,
    **where: Any,
) -> Classification:
    """How likely each vertex of a graph is each vertex of a small pattern, by max-product belief propagation.

    Parameters
    ----------
    pattern
        The graph to look for, or what :func:`arcflux.load` takes: some tens of vertices.
    features, pattern_features
        A row of numbers for each vertex of the graph and of the pattern, or the path of a .npy or text file; both or
        none. What counts is the Euclidean distance of rows.
    edges
        The names of edge columns, of both graphs, whose Euclidean distance is the cost of an edge.
    iterations
        Rounds of messages; without it as many as the pattern has vertices.
    method
        "corrected", or "pnnl" for the form that the study measured.
    null_cost
        What it costs that an edge of the pattern is not there; without it the cost of the worst edge, or 1 without
        `edges`. Of "corrected" only.
    **where
        The options of :func:`arcflux.run` that say where it runs: `threads`, `parts`, `transport`, `ranks_per_node`.

    An undirected edge is one in each direction. The probabilities of all vertices for one of the pattern sum to 1. The
    result is the same on any number of workers.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 4], columns={"kind": [1, 5, 9, 1]})
    >>> p = af.Graph.from_edges([0, 1], [1, 2], columns={"kind": [5, 9]})
    >>> af.classify(g, p, edges=["kind"]).best()
    {0: 1, 1: 2, 2: 3}
    """
    wanted = pattern if isinstance(pattern, Graph) else af.load(pattern)
    if method not in ("corrected", "pnnl"):
        raise UsageError(f"method is {method!r}", expected="'corrected' or 'pnnl'")
    if not 0 < wanted.vertices <= _MOST or not graph.vertices:
        raise UsageError(
            f"the pattern has {wanted.vertices:,} vertices and the graph {graph.vertices:,}",
            expected=f"a pattern of 1 to {_MOST} vertices, and a graph that has some",
        )
    problem = _problem(graph, wanted, features, pattern_features, edges, null_cost)
    rounds = wanted.vertices if iterations is None else iterations
    solve = _corrected if method == "corrected" else _published
    inputs = {} if method == "pnnl" else {
        "pattern": wanted, "features": problem.features[0], "pattern_features": problem.features[1],
        "edges": problem.edges, "iterations": rounds, "null_cost": null_cost,
    }  # fmt: skip
    done = launch(graph, where, lambda worker: solve(worker, problem, rounds))
    found, sent = done.answer
    result = Classification(
        "classify", graph, {"log_probability": found}, [], True, done.seconds, done.compile_seconds, pattern=wanted,
        sent=sent, validator=lambda one: af.validate.classification(one.graph, one["log_probability"], **inputs),
    )  # fmt: skip
    return done.finish(result)


def _problem(
    graph: Graph, pattern: Graph, features: Any, pattern_features: Any, edges: Sequence[str], null_cost: float | None
) -> _Problem:  # fmt: skip
    if (features is None) != (pattern_features is None):
        raise UsageError("of features and pattern_features one is given", expected="both, or none of them")
    nodes = np.zeros((graph.vertices, pattern.vertices))
    rows = theirs = None
    if features is not None:
        rows = numbers_of_vertices("features", features, graph.vertices, None)
        theirs = numbers_of_vertices("pattern_features", pattern_features, pattern.vertices, None)
        if rows.shape[1] != theirs.shape[1]:
            raise UsageError(
                f"features has {rows.shape[1]} columns and pattern_features {theirs.shape[1]}", expected="as many"
            )
        nodes = _distances(rows, theirs)
    names = [edges] if isinstance(edges, str) else edges
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        raise UsageError(f"edges is {shown(edges)}", expected="names of columns of edges, such as ['kind']")
    names = list(names)
    marks, wanted = (_columns(graph, names), _columns(pattern, names)) if names else (None, None)
    sources = np.repeat(np.arange(pattern.vertices), np.diff(pattern.out.offsets).astype(np.int64))
    usual = np.ones(pattern.arcs)
    if marks is not None and wanted is not None:
        usual = np.array([_distances(marks, wanted[q : q + 1]).max(initial=0.0) for q in range(pattern.arcs)])
    if null_cost is not None and not 0 <= null_cost < np.inf:
        raise UsageError(f"null_cost is {null_cost!r}", expected="a number from 0 on")
    null = usual if null_cost is None else np.full(pattern.arcs, null_cost)
    ends = sources, pattern.out.neighbours.astype(np.int64)
    turned = None if wanted is None else np.ascontiguousarray(wanted.T)
    return _Problem(graph, ends, nodes, marks, turned, null, (rows, theirs), names)


def _columns(graph: Graph, names: list[str]) -> Array:
    for name in names:
        if name not in graph.columns:
            known = ", ".join(graph.columns) or "none"
            raise WeightError(f"a graph has no edge column {name!r}", expected=f"one of its columns: {known}")
        if not np.isfinite(graph.columns[name]).all():
            raise WeightError(f"the edge column {name!r} has numbers that are not finite", expected="finite numbers")
    return np.stack([graph.columns[name].astype(np.float64) for name in names], 1)


def _distances(one: Array, other: Array) -> Array:
    squares = np.zeros((len(one), len(other)))
    with np.errstate(over="ignore"):
        for k in range(one.shape[1]):
            squares += (one[:, k, None] - other[None, :, k]) ** 2
    if not np.isfinite(squares).all():
        raise UsageError(
            "features or attributes of edges differ so much that squares of distances are infinite",
            expected="smaller numbers", remedy="divide all by the same number",
        )  # fmt: skip
    return np.sqrt(squares)


def _log_softmax(values: Array) -> Array:
    """Each column minus the logarithm of the sum of its exponentials."""
    if not values.size:
        return values
    shifted = values - values.max(0)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(0)))


def _gathered(values: Array, ends: Array, width: int) -> Array:
    """For each vertex of the pattern the sum over its edges."""
    total = np.zeros((len(values), width))
    for q, p in enumerate(ends.tolist()):
        total[:, p] += values[:, q]
    return total


def _corrected(worker: Worker, problem: _Problem, rounds: int) -> tuple[Array, dict[str, int]]:
    (sources, targets), width = problem.ends, problem.nodes.shape[1]
    traffic = Traffic(worker)
    if not len(sources) or not rounds:
        return _log_softmax(-problem.nodes), traffic.total()
    messages = _Messages(worker, problem, traffic)
    with worker.task("classify", rounds, "rounds") as task:
        for step in range(rounds):
            worker.superstep(step)
            messages.round()
            task.at(step + 1)
    forward, backward = (rows - most for rows, most in zip(messages.told, messages.most, strict=True))
    sums = _gathered(forward, targets, width) + _gathered(backward, sources, width)
    return _log_softmax(sums - problem.nodes), traffic.total()


class _Messages:
    """Messages along each pattern edge, both ways: a worker computes those of its rows, all get all."""

    def __init__(self, worker: Worker, problem: _Problem, traffic: Traffic) -> None:
        self.kernels = worker.kernels("arcflux.applications.classify")
        self.worker, self.problem, self.traffic, graph = worker, problem, traffic, problem.graph
        self.first, self.last = worker.share(graph.vertices)
        self.width = len(problem.null)
        self.told, self.values = ([self._room(graph.vertices) for _ in range(2)] for _ in range(2))
        for rows in self.told:
            worker.cores.publish(0.0, rows)
        self.out = [self._room(self.last - self.first) for _ in range(2)] if worker.size > 1 else self.told
        self.most = np.zeros((2, self.width))
        self.beliefs = worker.cores.host(worker.cores.workers * problem.nodes.shape[1], np.float64)
        self.beliefs = self.beliefs.reshape(worker.cores.workers, -1)
        places = np.empty(graph.arcs, np.int64)
        places[in_places(graph)] = np.arange(graph.arcs)
        self.rows = (*graph.into, None if graph.into is graph.out else places), (*graph.out, None)

    def _room(self, rows: int) -> Array:
        return self.worker.cores.host(rows * self.width, np.float64).reshape(rows, self.width)

    def round(self) -> None:
        """Recompute all messages: along edges from the sources' values, against them from the targets'."""
        cores, kernels, problem = self.worker.cores, self.kernels, self.problem
        tops = self._tops(2 * self.width)
        chunks = -(-len(problem.nodes) // kernels.CHUNK)
        cores.launch(
            kernels.speak, chunks, problem.nodes, *problem.ends, *self.told, self.most, self.beliefs, *self.values,
            tops.reshape(-1, 2, self.width),
        )  # fmt: skip
        cores.together()
        null = tops.max(0).reshape(2, self.width) - problem.null
        best = [self._offer(k, null[k]) for k in range(2)]
        with self.traffic.phase("messages"):
            self.most = self.worker.gather(np.concatenate(best)).reshape(-1, 2, self.width).max(0)
            if self.worker.size > 1:
                for rows, out in zip(self.told, self.out, strict=True):
                    whole = self.worker.gather(out.reshape(-1).copy()).reshape(-1, self.width)
                    cores.publish(whole, rows)

    def _offer(self, way: int, null: Array) -> Array:
        """The best offers along in-edges (0) or out-edges (1), and the best of all for each edge of the pattern."""
        cores, problem, tops = self.worker.cores, self.problem, self._tops(self.width)
        chunks = max(1, -(-(self.last - self.first) // self.kernels.CHUNK))
        cores.launch(
            self.kernels.offer, chunks, np.uint64(self.first), np.uint64(self.last), *self.rows[way], problem.marks,
            problem.wanted, self.values[way], null, self.out[way], tops,
        )  # fmt: skip
        cores.together()
        best: Array = tops.max(0)
        return best

    def _tops(self, width: int) -> Array:
        tops = self.worker.cores.small((self.worker.cores.workers, width), np.float64)
        self.worker.cores.publish(-np.inf, tops)
        return tops


def _published(worker: Worker, problem: _Problem, rounds: int) -> tuple[Array, dict[str, int]]:
    """The published form, in plain NumPy: the same on every worker."""
    graph, (sources, targets) = problem.graph, problem.ends
    (offsets, heads), n, width = graph.out, graph.vertices, problem.nodes.shape[1]
    rows = np.repeat(np.arange(n), np.diff(offsets).astype(np.int64))
    costs = np.zeros((graph.arcs, len(sources)))
    if problem.marks is not None and problem.wanted is not None:
        costs = _distances(problem.marks, problem.wanted.T)
    belief, nodes = _log_softmax(-problem.nodes), _log_softmax(problem.nodes)
    offered, paid = _log_softmax(-costs), _log_softmax(costs)
    peak = belief.max(0)
    forward = _largest(n, heads, offered, peak[sources])
    backward = _largest(n, rows, offered, peak[targets])
    for step in range(rounds if len(sources) else 0):
        worker.superstep(step)
        ahead, behind = belief[:, targets] - forward, belief[:, sources] - backward
        to_source, to_target = ahead[rows] - paid, behind[rows] - paid
        backward = _largest(n, rows, to_source - _log_sum(to_source), ahead.max(0))
        forward = _largest(n, heads, to_target - _log_sum(to_target), behind.max(0))
        sums = _gathered(forward, targets, width) + _gathered(backward, sources, width)
        belief = _log_softmax(sums - nodes)
    return belief, {}


def _log_sum(values: Array) -> Array:
    if not len(values):
        return np.zeros(values.shape[1])
    peak = values.max(0)
    return np.asarray(peak + np.log(np.exp(values - peak).sum(0)))


def _largest(size: int, groups: Array, values: Array, least: Array) -> Array:
    """The largest row of each group, no less than `least`."""
    found = np.tile(least, (size, 1))
    np.maximum.at(found, groups, values)
    return found

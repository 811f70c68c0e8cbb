"""Random walks: every step is an edge, no walk ends early, and choices have their probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import arcflux.validate.arguments as arguments
from arcflux.checks import array, checked, maybe, real, text
from arcflux.errors import UsageError
from arcflux.io import takes_graph
from arcflux.validate.report import Offence, Report, Rule

if TYPE_CHECKING:
    from arcflux.graph import Graph

__all__ = ["checked_rules", "chi_square", "search", "walks"]

Array = NDArray[Any]

# A result with a probability of one in a billion is called wrong: standard deviations.
_STANDARD_DEVIATIONS = 6.0
# Cells of a chi-square test with smaller expectations are pooled; the number of node2vec steps that are sampled.
_LEAST_EXPECTED = 5.0
_SAMPLE = 4000


@takes_graph
@checked(rows=array, p=real, q=real, weight=maybe(text), metapath=array, types=array, restart=real)
def walks(
    graph: Graph, rows: Any, *, p: float = 1.0, q: float = 1.0, weight: str | None = "weight", metapath: Any = None,
    types: Any = None, restart: float = 0.0,
) -> Report:  # fmt: skip
    """Check random walks: `rows` are numbers of vertices, -1 after the end of a walk.

    The other arguments are those of :func:`arcflux.random_walks`. The probabilities of choices are tested by
    chi-square: over all edges, or with p and q by how often a sample of steps goes back, stays near, and leaves.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.load("cycle:5")
    >>> bool(af.validate.walks(g, af.random_walks(g, walk_length=6).numbers_of_walks))
    True
    >>> af.validate.walks(g, [[0, 2]])["edges"].passed
    False
    """
    paths = np.asarray(rows)
    if paths.ndim != 2 or paths.dtype.kind not in "iu":
        raise UsageError(f"rows has shape {paths.shape} and holds {paths.dtype}", expected="int[walks, length]")
    paths = paths.astype(np.int64)
    kinds, path = checked_rules(graph, p, q, restart, types, metapath)
    inside = (paths >= -1) & (paths < graph.vertices)
    whole = inside.all() and not (paths[:, 0] < 0).any() and not ((paths[:, :-1] < 0) & (paths[:, 1:] >= 0)).any()
    rules = [Rule.overall("range", "walks are vertices, and nothing comes behind an end", "others", not whole)]
    if not whole or paths.shape[1] == 1:
        return Report("walks", tuple(rules))
    column = None if weight == "weight" and weight not in graph.columns else arguments.weights(graph, weight)
    arcs = _Arcs(graph, column)
    steps = _Steps(paths, kinds, path)
    known = arcs.weight(steps.tail, steps.head) > 0
    home = (steps.head == steps.start) if restart else np.zeros(len(known), bool)
    rules.append(_edges_rule(graph, steps, known | home))
    rules.append(_ends_rule(graph, arcs, paths, kinds, path))
    if path is not None and kinds is not None:
        wrong = np.flatnonzero((kinds[steps.head] != steps.wanted) & ~home)
        rules.append(_types_rule(graph, kinds, steps.head[wrong]))
    if rules[1].passed and not restart and path is None:
        second = (p, q) != (1.0, 1.0)
        z = _second_order(arcs, paths, 1 / p, 1 / q) if second else _first_order(arcs, steps)
        said = f"choices are as likely as they should be, within {_STANDARD_DEVIATIONS:g} standard deviations"
        rules.append(Rule.overall("chi-square", said, f"{z:.1f}", not z <= _STANDARD_DEVIATIONS))
    return Report("walks", tuple(rules))


def checked_rules(
    graph: Graph, p: float, q: float, restart: float, types: Any, metapath: Any
) -> tuple[Array | None, Array | None]:
    """The types of vertices and the metapath as arrays, or None; an error if the arguments make no sense."""
    for name, value in (("p", p), ("q", q)):
        if not (0 < value < np.inf and 1 / value < np.inf):
            raise UsageError(f"{name} is {value!r}", expected="a finite number above 0", remedy="1 makes no difference")
    if not 0 <= restart <= 1:
        raise UsageError(f"restart is {restart!r}", expected="a probability, from 0 to 1")
    if (types is None) != (metapath is None):
        given, other = ("types", "metapath") if metapath is None else ("metapath", "types")
        raise UsageError(f"{given} is given, and {other} is not", expected="both of them, or none")
    if types is None:
        return None, None
    kinds = arguments.wholes("types", types, graph.vertices)
    if np.ndim(metapath) != 1 or not len(metapath):
        raise UsageError(f"metapath is {metapath!r}", expected="a list of types, such as [0, 1]")
    path = arguments.wholes("metapath", metapath, len(metapath))
    missing = np.setdiff1d(path, kinds)
    if len(missing):
        raise UsageError(f"metapath has type {missing[0]}, and no vertex is of it", expected="types that are there")
    if (p, q) != (1.0, 1.0):
        raise UsageError("both metapath and p or q are given", expected="one of them", remedy="leave p and q out")
    return kinds, path


class _Steps:
    """The steps of walks, one after another."""

    def __init__(self, paths: Array, kinds: Array | None, metapath: Array | None) -> None:
        there = paths[:, 1:] >= 0
        self.tail, self.head = paths[:, :-1][there], paths[:, 1:][there]
        self.start = np.broadcast_to(paths[:, :1], there.shape)[there]
        if metapath is not None:
            number = np.broadcast_to(np.arange(1, paths.shape[1]), there.shape)[there]
            self.wanted = metapath[number % len(metapath)]


class _Arcs:
    """The arcs of a graph by both ends, parallel arcs as one with the sum of their weights."""

    def __init__(self, graph: Graph, weights: Array | None) -> None:
        offsets, neighbours = graph.out
        self.size = graph.vertices
        source = np.repeat(np.arange(self.size), np.diff(offsets).astype(np.int64))
        keys = source * self.size + neighbours.astype(np.int64)
        self.keys, place = np.unique(keys, return_inverse=True)
        self.weights = np.bincount(place, weights, len(self.keys)).astype(np.float64)
        self.source = self.keys // max(1, self.size)
        self.head = self.keys % max(1, self.size)
        self.strength = np.bincount(self.source, self.weights, self.size)
        self.bounds = np.searchsorted(self.source, np.arange(self.size + 1))

    def positions(self, tail: Array, head: Array) -> tuple[Array, Array]:
        """The places of arcs, and whether they exist."""
        keys = tail * self.size + head
        at = np.minimum(np.searchsorted(self.keys, keys), max(0, len(self.keys) - 1))
        return at, (self.keys[at] == keys) if len(self.keys) else np.zeros(len(keys), bool)

    def weight(self, tail: Array, head: Array) -> Array:
        at, there = self.positions(tail, head)
        return np.where(there, self.weights[at] if len(self.keys) else 0.0, 0.0)

    def adjacent(self, tail: int, heads: Array) -> Array:
        return self.positions(np.full(len(heads), tail), heads)[1]

    def row(self, v: int) -> tuple[Array, Array]:
        where = slice(self.bounds[v], self.bounds[v + 1])
        return self.head[where], self.weights[where]


def _edges_rule(graph: Graph, steps: _Steps, good: Array) -> Rule:
    def tell(k: Any) -> Offence:
        tail, head = (arguments.user_id(graph, end) for end in (steps.tail[k], steps.head[k]))
        return Offence(tail, f"a step to {head}", "a step along an edge of weight")

    return Rule.checked("edges", "every step follows an edge", np.flatnonzero(~good), tell)


def _types_rule(graph: Graph, kinds: Array, wrong: Array) -> Rule:
    sentence = "every vertex has the type that is next in the metapath"
    return Rule.checked(
        "types", sentence, wrong, lambda v: Offence(arguments.user_id(graph, v), f"type {kinds[v]}", "another")
    )


def _ends_rule(graph: Graph, arcs: _Arcs, paths: Array, kinds: Array | None, metapath: Array | None) -> Rule:
    """A walk ends early only at a vertex without a next step."""
    count = (paths >= 0).sum(axis=1)
    early = np.flatnonzero(count < paths.shape[1])
    last = paths[early, count[early] - 1]
    stuck = arcs.strength[last] == 0
    if kinds is not None and metapath is not None:
        wanted = metapath[count[early] % len(metapath)]
        pairs = np.unique(np.stack([last, wanted], 1), axis=0)
        ways = {(v, t): float(arcs.row(v)[1][kinds[arcs.row(v)[0]] == t].sum()) for v, t in pairs.tolist()}
        stuck = np.array([ways[pair] == 0 for pair in zip(last.tolist(), wanted.tolist(), strict=True)], bool)
    return Rule.checked("ends", "a walk ends early only where nothing leads on", last[~stuck],
                        lambda v: Offence(arguments.user_id(graph, v), "the end of a walk", "a step on"))  # fmt: skip


def chi_square(observed: Array, expected: Array, group: Array) -> float:
    """How many standard deviations a chi-square statistic is above its expectation.

    Cells that expect less than five are pooled within their group, whose counts add up to a known number.

    Examples
    --------
    >>> chi_square(np.array([50, 50]), np.array([50.0, 50.0]), np.array([0, 0])) < 0
    True
    """
    few = expected < _LEAST_EXPECTED
    size = int(group.max(initial=-1)) + 1
    pooled = np.bincount(group[few], expected[few], size), np.bincount(group[few], observed[few], size)
    use = pooled[0] >= _LEAST_EXPECTED
    e = np.concatenate([expected[~few], pooled[0][use]])
    o = np.concatenate([observed[~few], pooled[1][use]])
    cells = np.bincount(group[~few], minlength=size) + use
    freedom = int(np.maximum(cells - 1, 0).sum())
    if not freedom:
        return 0.0
    return float((((o - e) ** 2 / e).sum() - freedom) / np.sqrt(2 * freedom))


def _first_order(arcs: _Arcs, steps: _Steps) -> float:
    at, _ = arcs.positions(steps.tail, steps.head)
    observed = np.bincount(at, minlength=len(arcs.keys))
    visits = np.bincount(steps.tail, minlength=arcs.size)
    expected = visits[arcs.source] * arcs.weights / np.maximum(arcs.strength[arcs.source], 1e-300)
    heavy = expected > 0
    return chi_square(observed[heavy], expected[heavy], arcs.source[heavy])


def _second_order(arcs: _Arcs, paths: Array, back: float, out: float) -> float:
    """For a sample of steps, how often they go back, stay near, and leave: the largest deviation of the three."""
    there = np.argwhere(paths[:, 2:] >= 0)
    chosen = there[np.random.default_rng(0).permutation(len(there))[:_SAMPLE]]
    seen, mean, variance = np.zeros(3), np.zeros(3), np.zeros(3)
    for walk, step in chosen.tolist():
        t, v, x = paths[walk, step : step + 3].tolist()
        heads, weights = arcs.row(v)
        kind = np.where(heads == t, 0, np.where(arcs.adjacent(t, heads), 1, 2))
        mass = np.bincount(kind, weights * np.array([back, 1.0, out])[kind], 3)
        share = mass / mass.sum()
        seen[kind[np.searchsorted(heads, x)]] += 1
        mean += share
        variance += share * (1 - share)
    sure = variance < 1e-9
    z = np.where(sure, np.where(np.abs(seen - mean) < 1e-6, 0.0, np.inf), (seen - mean) / np.sqrt(variance + 1e-300))
    return float(np.abs(z).max(initial=0.0))


@takes_graph
@checked(rows=array, scores=array, mode=text)
def search(graph: Graph, rows: Any, scores: Any, mode: str = "greedy") -> Report:
    """Check a graph search: `rows` are numbers of vertices, -1 after an end; `scores` has a number for each vertex.

    Greedy walks are compared with the best neighbours, computed again; for others choices are tested by chi-square.

    Examples
    --------
    >>> import arcflux as af
    >>> af.validate.search(af.load("path:4"), [[1, 2, 3]], [5, 1, 2, 3])["best"].passed
    False
    """
    if mode not in ("uniform", "greedy", "stochastic_greedy"):
        raise arguments.unknown_choice("mode", mode, ("uniform", "greedy", "stochastic_greedy"))
    values = arguments.reals("scores", scores, graph.vertices)
    heads = graph.out.neighbours.astype(np.int64)
    if mode != "greedy":
        likely = graph.with_columns({"score": values[heads]}) if mode == "stochastic_greedy" else graph
        return walks(likely, rows, weight="score" if mode == "stochastic_greedy" else None)
    found = walks(graph, rows, weight=None)
    if not found["range"].passed:
        return Report("greedy search", tuple(found))
    offsets = graph.out.offsets.astype(np.int64)
    best = np.full(graph.vertices, -1)
    for v in np.flatnonzero(np.diff(offsets)).tolist():
        row = slice(offsets[v], offsets[v + 1])
        best[v] = heads[row][np.argmax(values[heads[row]])]
    paths = np.asarray(rows, np.int64)
    there = paths[:, :-1] >= 0
    tail, head = paths[:, :-1][there], paths[:, 1:][there]
    rule = Rule.checked(
        "best", "every step leads to the neighbour of the highest score, of equals the first",
        tail[head != best[tail]],
        lambda v: Offence(arguments.user_id(graph, v), "another step", f"a step to number {best[v]}"),
    )  # fmt: skip
    return Report("greedy search", (*(one for one in found if one.name != "chi-square"), rule))

"""Classifications, checked to be distributions, and belief propagation, by computing every message again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import arcflux.validate.arguments as arguments
from arcflux.checks import array, checked, maybe, real, shown, wholes
from arcflux.errors import UsageError
from arcflux.io import takes_graph
from arcflux.validate.report import Offence, Report, Rule

if TYPE_CHECKING:
    from arcflux.graph import Graph

__all__ = ["classification"]


@takes_graph
@checked(iterations=maybe(wholes(0)), null_cost=maybe(real), tolerance=real)
def classification(
    graph: Graph,
    log_probability: Any,
    pattern: Graph | None = None,
    features: Any = None,
    pattern_features: Any = None,
    *,
    edges: Sequence[str] = (),
    iterations: int | None = None,
    null_cost: float | None = None,
    tolerance: float = 1e-6,
) -> Report:
    """Check that logarithms of probabilities are valid: none above 0, and each column sums to 1.

    With a `pattern`, and the other arguments of :func:`arcflux.classify`, all messages are computed again, an edge of
    the pattern at a time: no number may differ by more than `tolerance`. (Not checked for method="pnnl".)

    Examples
    --------
    >>> import arcflux as af
    >>> found = af.classify("path:4", "path:2", [[0], [1], [2], [3]], [[1], [2]])
    >>> bool(af.validate.classification(found.graph, found["log_probability"]))
    True
    """
    values = _numbers("log_probability", log_probability)
    if values.ndim != 2 or len(values) != graph.vertices:
        raise UsageError(f"log_probability has shape {values.shape}", expected=f"({graph.vertices}, labels)")
    wrong = np.flatnonzero(~(values <= 1e-12).all(1))
    with np.errstate(over="ignore"):
        sums = np.exp(values).sum(0)
    off = float(np.abs(sums - 1).max(initial=0.0))
    rules = [
        Rule.checked(
            "range", "no probability is above 1", wrong,
            lambda v: Offence(arguments.user_id(graph, v), f"{values[v].max()}", "at most 0"),
        ),
        Rule.overall("sums", "the probabilities of each label sum to 1", f"{off:.3g} off", not off <= 1e-9),
    ]  # fmt: skip
    if pattern is not None:
        _check_pattern(graph, pattern, edges)
        if features is not None or pattern_features is not None:
            features = _rows("features", features, graph.vertices)
            pattern_features = _rows("pattern_features", pattern_features, pattern.vertices)
            if features.shape[1] != pattern_features.shape[1]:
                raise UsageError(
                    f"features have {features.shape[1]} numbers, and pattern_features {pattern_features.shape[1]}",
                    expected="as many for each vertex of both graphs",
                )
        again = _beliefs(graph, pattern, features, pattern_features, list(edges), iterations, null_cost)
        if again.shape != values.shape:
            raise UsageError(f"log_probability has shape {values.shape}", expected=f"{again.shape}")
        far = np.flatnonzero(~(np.abs(again - values) <= tolerance).all(1))
        sentence = "messages that are computed once more give the same"
        rules.append(
            Rule.checked("messages", sentence, far,
                         lambda v: Offence(arguments.user_id(graph, v), f"{values[v]}", f"{again[v]}"))
        )  # fmt: skip
    return Report("classification", tuple(rules))


def _numbers(name: str, given: Any) -> Any:
    try:
        return np.asarray(array(name, given), np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError(f"{name} is {shown(given)}", expected="an array of numbers") from error


def _rows(name: str, given: Any, size: int) -> Any:
    """A row of numbers for each vertex."""
    values = _numbers(name, given)
    if values.ndim not in (1, 2) or len(values) != size or not values.size:
        raise UsageError(f"{name} has shape {values.shape}", expected=f"a row of numbers for each of {size:,} vertices")
    return values.reshape(size, -1)


def _check_pattern(graph: Graph, pattern: Any, edges: Any) -> None:
    if not hasattr(pattern, "out"):
        raise UsageError(f"pattern is {shown(pattern)}", expected="a graph")
    if isinstance(edges, str) or not isinstance(edges, (list, tuple)):
        raise UsageError(f"edges is {shown(edges)}", expected="a list of names of edge columns")
    for name in edges:
        if not isinstance(name, str) or name not in graph.columns or name not in pattern.columns:
            raise UsageError(f"edges has {shown(name)}", expected="names of edge columns that both graphs have")


def _beliefs(
    graph: Graph, pattern: Graph, features: Any, pattern_features: Any, edges: list[str], iterations: int | None,
    null_cost: float | None,
) -> Any:  # fmt: skip
    """Max-product belief propagation by its definition, with sorted arcs and one edge of the pattern at a time."""
    tails, heads = _ends(graph)
    nodes = np.zeros((graph.vertices, pattern.vertices))
    if features is not None:
        rows, theirs = (np.asarray(part, np.float64).reshape(len(part), -1) for part in (features, pattern_features))
        nodes = np.stack([np.linalg.norm(rows - other, axis=1) for other in theirs], 1)
    links = list(zip(*(ends.tolist() for ends in _ends(pattern)), strict=True))
    costs = [_costs(graph, pattern, edges, q) for q in range(len(links))]
    nulls = [float(cost.max(initial=0.0)) if edges else 1.0 for cost in costs]
    nulls = nulls if null_cost is None else [null_cost] * len(links)
    into, out = np.argsort(heads, kind="stable"), np.argsort(tails, kind="stable")
    forward, backward = np.zeros((2, graph.vertices, len(links)))
    belief = _normal(-nodes)
    for _ in range(pattern.vertices if iterations is None else iterations):
        behind = np.stack([belief[:, p] for p, _ in links], 1) - backward if links else backward
        ahead = np.stack([belief[:, r] for _, r in links], 1) - forward if links else forward
        total = -nodes
        for q, (p, r) in enumerate(links):
            forward[:, q] = _best(heads, into, behind[tails, q] - costs[q], behind[:, q].max() - nulls[q], len(nodes))
            backward[:, q] = _best(tails, out, ahead[heads, q] - costs[q], ahead[:, q].max() - nulls[q], len(nodes))
            total[:, r] += forward[:, q]
            total[:, p] += backward[:, q]
        belief = _normal(total)
    return belief


def _ends(graph: Graph) -> tuple[Any, Any]:
    offsets, neighbours = graph.out
    return np.repeat(np.arange(graph.vertices), np.diff(offsets).astype(np.int64)), neighbours.astype(np.int64)


def _costs(graph: Graph, pattern: Graph, edges: list[str], q: int) -> Any:
    apart = [graph.columns[name].astype(np.float64) - float(pattern.columns[name][q]) for name in edges]
    return np.linalg.norm(apart, axis=0) if edges else np.zeros(graph.arcs)


def _best(ends: Any, order: Any, offers: Any, null: float, size: int) -> Any:
    """The best offer that each vertex gets, less the best of all."""
    best = np.full(size, null)
    if len(order):
        begins = np.flatnonzero(np.diff(ends[order], prepend=-1))
        there = ends[order][begins]
        best[there] = np.maximum(best[there], np.maximum.reduceat(offers[order], begins))
    return best - best.max()


def _normal(values: Any) -> Any:
    peak = values.max(0)
    return values - peak - np.log(np.exp(values - peak).sum(0))

"""Matchings of graphs, checked by counting again what agrees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import arcflux.validate.arguments as arguments
from arcflux.checks import array, checked, maybe, real, shown, text
from arcflux.errors import UsageError
from arcflux.io import takes_graph
from arcflux.validate.report import Offence, Report, Rule

if TYPE_CHECKING:
    from arcflux.graph import Graph

__all__ = ["graph_matching"]


@takes_graph
@checked(other=arguments.graph, disagreements=real, weight=maybe(text))
def graph_matching(
    graph: Graph, other: Graph, match: Any, disagreements: float, *, seeds: Any = (), weight: str | None = "weight"
) -> Report:  # fmt: skip
    """Check a matching: each vertex has a partner of its own, seeds have theirs, and the disagreements are as said.

    Parameters
    ----------
    match
        The number of each vertex's partner in the other graph.
    disagreements
        The sum over all pairs of vertices of squared differences of their weights in both graphs.
    seeds
        Pairs of numbers that were known.

    Examples
    --------
    >>> import arcflux as af
    >>> a, b = af.load("path:3"), af.load("star:3")
    >>> bool(af.validate.graph_matching(a, b, [1, 0, 2], 0)), bool(af.validate.graph_matching(a, b, [0, 1, 2], 0))
    (True, False)
    """
    given, n = arguments.wholes("match", match, graph.vertices), other.vertices
    inside = (given >= 0) & (given < n)
    often = np.bincount(given[inside], minlength=n)
    wrong = np.flatnonzero(~inside | (often[np.where(inside, given, 0)] != 1))
    try:
        pairs = np.asarray(seeds if np.ndim(array("seeds", seeds)) else list(seeds), np.int64).reshape(-1, 2)
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError(f"seeds is {shown(seeds)}", expected="pairs of vertex numbers") from error
    if pairs.size and not (pairs.min() >= 0 and pairs[:, 0].max() < graph.vertices and pairs[:, 1].max() < n):
        raise UsageError(f"seeds is {shown(seeds)}", expected="pairs of vertex numbers, of graph and of other")
    lost = pairs[given[pairs[:, 0]] != pairs[:, 1]]
    rules = [
        Rule.checked(
            "partners", "each vertex has a partner of its own", wrong,
            lambda v: Offence(arguments.user_id(graph, v), f"{given[v]}", "a vertex of the other graph, once"),
        ),
        Rule.checked(
            "seeds", "seeds have their partners", lost,
            lambda pair: Offence(arguments.user_id(graph, pair[0]), f"{given[pair[0]]}", f"{pair[1]}"),
        ),
    ]  # fmt: skip
    if not len(wrong):
        counted = _disagreements(graph, other, given, weight)
        off = not abs(counted - disagreements) <= 1e-9 * max(1.0, abs(counted))
        rules.append(Rule.overall("disagreements", "the disagreements are as said", f"{counted:g}", off))
    return Report("matching", tuple(rules))


def _disagreements(graph: Graph, other: Graph, match: Any, weight: str | None) -> float:
    """By sorting the arcs of both graphs under one key."""
    keys, values = [], []
    for one, sign, number in ((graph, 1.0, match), (other, -1.0, np.arange(other.vertices))):
        offsets, neighbours = one.out
        rows = np.repeat(np.arange(one.vertices), np.diff(offsets).astype(np.int64))
        column = one.columns.get(weight) if weight is not None else None
        keys.append(number[rows] * one.vertices + number[neighbours])
        values.append(sign * (np.ones(one.arcs) if column is None else column.astype(np.float64)))
    place = np.unique(np.concatenate(keys), return_inverse=True)[1]
    return float((np.bincount(place, np.concatenate(values)) ** 2).sum()) if len(place) else 0.0

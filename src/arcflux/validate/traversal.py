"""Breadth-first searches and shortest paths, checked by the rules of Graph500 for levels, distances and trees.

No search is repeated. If existing edges lead from a source to every reached vertex, no distance is too small; if no
edge is a shortcut, none is too large; together the distances are right. One sweep over the edges and some passes over
the vertices decide that, for the result of any algorithm.

Graph500 benchmark specification, section "Validation": https://graph500.org/?page_id=12
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import arcflux.validate.arguments as arguments
from arcflux.checks import checked, flag, maybe, real
from arcflux.errors import UsageError
from arcflux.io import takes_graph
from arcflux.validate.paths import LEVELS, Result, Tree, path_rules
from arcflux.validate.report import Offence, Report, Rule

if TYPE_CHECKING:
    from arcflux.graph import Graph

__all__ = ["bfs", "sssp"]

Array = NDArray[Any]


@takes_graph
@checked(numbers=flag)
def bfs(graph: Graph, source: Any, level: Any = None, parent: Any = None, *, numbers: bool = False) -> Report:
    """Check a breadth-first search from the vertex with id `source` by the rules of Graph500.

    Parameters
    ----------
    level
        The level of each vertex, in the order of vertex numbers: 0 at the source, -1 where it does not reach.
    parent
        The parent of each vertex, in the order of vertex numbers, as the user's id: the source is its own, a vertex
        that is not reached has -1 (None when ids are text). Without `level`, levels are depths in this tree.
    numbers
        Parents are vertex numbers rather than ids. Needed when -1 is an id.

    Directed graphs are searched along their edges. Self-loops and parallel edges make no difference.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges(["ada", "bob", "eve"], ["bob", "eve", "ada"], vertices=["ada", "bob", "eve", "kim"])
    >>> bool(af.validate.bfs(g, "ada", level=[0, 1, 2, -1], parent=["ada", "ada", "bob", None]))
    True
    >>> report = af.validate.bfs(g, "ada", parent=["ada", "ada", "ada", None])
    >>> [rule.name for rule in report.failures], report["parent-edge"].offences[0].vertex
    (['parent-edge'], 'eve')
    """
    if level is None and parent is None:
        raise UsageError("neither level nor parent is given", expected="one of them, or both")
    root = arguments.source_of(graph, source)
    tree = None if parent is None else Tree(arguments.parents(graph, parent, numbers), root)
    rules = []
    if level is not None:
        given = arguments.wholes("level", level, graph.vertices)
        rules.append(_level_range(graph, given))
        distance = np.where(given < 0, np.inf, given)
    else:
        assert tree is not None
        distance = tree.depth
    result = Result(graph, root, distance, tree, derived=level is None, words=LEVELS)
    return Report(f"bfs from {source}", (*rules, *path_rules(result)))


@takes_graph
@checked(numbers=flag, tolerance=maybe(real))
def sssp(
    graph: Graph,
    source: Any,
    distance: Any,
    parent: Any = None,
    weight: str | None = "weight",
    sources: Any = None,
    *,
    numbers: bool = False,
    tolerance: float | None = None,
) -> Report:
    """Check shortest paths from the vertex with id `source`, or from the nearest of several `sources`.

    Parameters
    ----------
    source
        The id of a vertex; None when `sources`, a list of ids, is given.
    distance
        The distance of each vertex, in the order of vertex numbers: 0 at a source, inf where none reaches.
    parent, numbers
        As in :func:`bfs`. Without it, the check looks for edges that explain the distances.
    weight
        The edge column to add up; None counts every edge as 1.
    tolerance
        By how much a distance may differ from the one before it plus a weight, relative to that sum. It is 0 when
        weights are integers, else 1e-9 (1e-6 when distances are float32), which covers the rounding of one addition.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges([0, 0, 1], [1, 2, 2], columns={"weight": [1, 9, 2]}, vertices=4)
    >>> bool(af.validate.sssp(g, 0, [0, 1, 3, float("inf")], parent=[0, 0, 1, -1]))
    True
    >>> [rule.name for rule in af.validate.sssp(g, 0, [0, 1, 9, float("inf")]).failures]
    ['edges']
    """
    roots = _roots(graph, source, sources)
    column = arguments.weights(graph, weight)
    given = arguments.reals("distance", distance, graph.vertices)
    if tolerance is None:
        exact = column is None or column.dtype.kind != "f"
        tolerance = 0.0 if exact else 1e-6 if np.asarray(distance).dtype == np.float32 else 1e-9
    tree = None if parent is None else Tree(arguments.parents(graph, parent, numbers), roots)
    valid = np.where(given >= 0, given, np.inf)
    result = Result(graph, roots, valid, tree, column, arguments.checked_tolerance(tolerance))
    subject = f"sssp from {source if sources is None else f'{len(roots):,} sources'}"
    return Report(subject, (_distance_range(graph, given), *path_rules(result)))


def _roots(graph: Graph, source: Any, sources: Any) -> Array:
    if sources is None:
        return arguments.source_of(graph, source)
    if source is not None:
        raise UsageError("source and sources are both given", expected="one of them", remedy="source=None")
    return np.unique(arguments.numbers_of(graph, sources))


def _level_range(graph: Graph, level: Array) -> Rule:
    last = graph.vertices - 1
    sentence = f"every level is -1 (unreached) or from 0 to {last}"
    wrong = np.flatnonzero((level < -1) | (level > last))
    return Rule.checked(
        "range",
        sentence,
        wrong,
        lambda v: Offence(arguments.user_id(graph, v), f"level {level[v]}", f"-1, or 0 to {last}"),
    )


def _distance_range(graph: Graph, distance: Array) -> Rule:
    wrong = np.flatnonzero(~(distance >= 0))
    return Rule.checked(
        "range",
        "every distance is a number from 0 on, or inf (unreached)",
        wrong,
        lambda v: Offence(arguments.user_id(graph, v), f"distance {distance[v]}", "0 or more, or inf"),
    )

"""Ranks and components, checked as the GAP suite checks them: one more iteration, and an independent union-find.

Beamer, Asanovic, Patterson, "The GAP Benchmark Suite", 2015: https://arxiv.org/abs/1508.03619
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import arcflux.validate.arguments as arguments
from arcflux.checks import checked, real, text
from arcflux.errors import UsageError
from arcflux.io import takes_graph
from arcflux.spmd.memory import frozen
from arcflux.spmd.pool import run
from arcflux.validate.report import Offence, Report, Rule
from arcflux.validate.sweep import ArcTally, sweep

if TYPE_CHECKING:
    from arcflux.graph import Graph

__all__ = ["components", "pagerank"]

Array = NDArray[Any]

_TINIEST = float(np.nextafter(0, 1))


@takes_graph
@checked(damping=real, tolerance=real, dangling=text)
def pagerank(
    graph: Graph,
    rank: Any,
    damping: float = 0.85,
    tolerance: float = 1e-4,
    dangling: str = "drop",
    weight: str | None = None,
    personalization: Any = None,
) -> Report:
    """Check a PageRank: one more iteration changes it by less than `tolerance` in all (the L1 norm).

    Parameters
    ----------
    rank
        The rank of each vertex, in the order of vertex numbers.
    dangling
        The treatment of the rank of vertices without out-edges: "redistribute" spreads it like jumps, and the ranks sum
        to 1; "drop" loses it, as the GAP suite does, and they sum to at most 1.
    weight
        The edge column in proportion to which a vertex hands out its rank; None for evenly.
    personalization
        The targets of jumps: the share of each vertex, in the order of vertex numbers; None for evenly.

    Each of parallel edges counts, and a self-loop returns rank to its vertex.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges([0, 1, 2], [1, 2, 0])
    >>> bool(af.validate.pagerank(g, [1 / 3, 1 / 3, 1 / 3]))
    True
    >>> [rule.name for rule in af.validate.pagerank(g, [0.5, 0.25, 0.25]).failures]
    ['iteration']
    """
    if dangling not in ("drop", "redistribute"):
        raise arguments.unknown_choice("dangling", dangling, ("drop", "redistribute"))
    if not 0 <= damping < 1:
        raise UsageError(f"damping is {damping!r}", expected="a number from 0 to below 1, such as 0.85")
    arguments.checked_tolerance(tolerance)
    given = arguments.reals("rank", rank, graph.vertices)
    sane = np.isfinite(given) & (given >= 0)
    ranks = np.where(sane, given, 0.0)
    home: Any = 1 / max(1, graph.vertices)
    if personalization is not None:
        home = arguments.reals("personalization", personalization, graph.vertices)
        if not (np.isfinite(home).all() and (home >= 0).all()):
            raise UsageError("personalization has a value that is no share", expected="finite numbers from 0 on")
    with np.errstate(over="ignore", invalid="ignore"):  # for ranks that are not numbers; the rules report them
        moved = np.abs(_iterate(graph, ranks, damping, dangling, weight, home) - ranks)
        total, change = float(ranks.sum()), float(moved.sum())
    rules = (
        Rule.checked(
            "range",
            "every rank is a finite number from 0 on",
            np.flatnonzero(~sane),
            lambda v: Offence(arguments.user_id(graph, v), f"rank {given[v]}", "a finite number from 0 on"),
        ),
        _sum_rule(total, tolerance, dangling, graph.vertices),
        _iteration_rule(graph, ranks, moved, change, tolerance),
    )
    return Report("pagerank", rules)


def _iterate(graph: Graph, rank: Array, damping: float, dangling: str, weight: str | None, home: Any) -> Array:
    """The ranks after one more iteration."""
    column = arguments.weights(graph, weight)
    if column is None:
        import arcflux.validate.kernels as kernels

        strength = graph.out_degrees.astype(np.float64)
        hand_out = np.divide(rank, strength, out=np.zeros_like(rank), where=strength > 0)
        gathered = np.zeros_like(rank)
        sweep("validate ranks", kernels.pull, graph.into, frozen(hand_out), gathered)
    else:
        n, degrees = graph.vertices, graph.out_degrees.astype(np.int64)
        source = np.repeat(np.arange(n), degrees)
        column = column.astype(np.float64)
        column /= max(float(column.max(initial=0)), _TINIEST)  # so that no sum of weights overflows
        strength = np.bincount(source, column, n).astype(np.float64)
        share = np.divide(column, strength[source], out=np.zeros(len(source)), where=strength[source] > 0)
        gathered = np.bincount(graph.out.neighbours, rank[source] * share, n)
    stranded = float(rank[strength == 0].sum()) if dangling == "redistribute" else 0.0
    again: Array = (1 - damping + damping * stranded) * home + damping * gathered
    return again


def _sum_rule(total: float, tolerance: float, dangling: str, vertices: int) -> Rule:
    redistributed = dangling == "redistribute"
    least = 1 - tolerance if redistributed else 0.0
    sentence = "the ranks sum to 1" if redistributed else "the ranks sum to at most 1"
    broken = vertices > 0 and not least <= total <= 1 + tolerance
    return Rule.overall("sum", f"{sentence}, give or take {tolerance}", found=f"{total:.9g}", broken=broken)


def _iteration_rule(graph: Graph, rank: Array, moved: Array, change: float, tolerance: float) -> Rule:
    """The vertices that changed by more than an even share of the tolerance, largest change first."""
    sentence = f"one more iteration moves the ranks by at most {tolerance} in all"
    if change <= tolerance:
        return Rule("iteration", sentence)
    restless = np.flatnonzero(~(moved <= tolerance / graph.vertices))  # NaN is included
    restless = restless[np.argsort(-moved[restless], kind="stable")]

    def tell(v: int) -> Offence:
        return Offence(arguments.user_id(graph, v), f"rank {rank[v]}", f"one that moves less than by {moved[v]:.3g}")

    return Rule.checked("iteration", f"{sentence}; it moves them by {change:.3g}", restless, tell)


@takes_graph
@checked()
def components(graph: Graph, component: Any) -> Report:
    """Check weakly connected components: two vertices have the same label exactly when a path joins them.

    `component` holds any labels (integers or text), in the order of vertex numbers. Directions are ignored.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges(["ada", "eve"], ["bob", "kim"])
    >>> bool(af.validate.components(g, [7, 7, 5, 5]))
    True
    >>> [rule.name for rule in af.validate.components(g, [7, 7, 7, 7]).failures]
    ['labels', 'count']
    """
    import arcflux.validate.kernels as kernels

    given = arguments.labels("component", component, graph.vertices)
    names, place, label = np.unique(given, return_index=True, return_inverse=True)
    arcs = ArcTally(rules=1)
    sweep("validate components", kernels.differ, graph.out, frozen(label), not graph.directed, arcs.tally, arcs.first)
    root = np.arange(graph.vertices)
    run(kernels.unite, 1, *graph.out, root)
    parts = int((root == np.arange(graph.vertices)).sum())

    def torn(place: int) -> Offence:
        u, v = (arguments.user_id(graph, end) for end in arguments.arc(graph, place))
        mine, other = (given[end] for end in arguments.arc(graph, place))
        return Offence(v, f"label {other}", f"{mine}, the label of {u}: edge {u} -> {v}")

    def merged(v: int) -> Offence:
        other = arguments.user_id(graph, place[label[v]])
        return Offence(
            arguments.user_id(graph, v), f"label {given[v]}, as {other}", f"another: no path joins it to {other}"
        )

    rules = (
        arcs.rule(0, "edges", "the ends of every edge have the same label", torn),
        Rule.checked(
            "labels",
            "vertices with the same label are joined by a path",
            np.flatnonzero(root != root[place][label]),
            merged,
        ),
        Rule.overall(
            "count",
            f"there are as many labels as components, {parts:,}",
            found=f"{len(names):,}",
            broken=len(names) != parts,
        ),
    )
    return Report("components", rules)

"""PageRank: the probability that a random surfer is at a vertex (Page, Brin, Motwani, Winograd 1999).

On undirected graphs the power iteration is accelerated (accelerated_pagerank.py).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import arcflux as af
from arcflux.checks import array, flag, maybe, real, text, unwelcome, wholes
from arcflux.engine.call import graph_call
from arcflux.errors import UsageError
from arcflux.graph import Graph

if TYPE_CHECKING:
    from arcflux.algorithms.surfer import Start

__all__ = ["PageRank", "PersonalPageRank", "PushPageRank", "WeightedPageRank", "pagerank", "pagerank_delta"]

_DAMPING = 0.85
# Ranks that another superstep moves by more than this in total are not converged.
_MOST_MOVED = 1e-4
# Rounding alone moves ranks by about this many times the machine epsilon.
_ROUNDING = 100
# Supersteps from which an accelerated iteration estimates its factor.
_LEARNING = 4


@af.program
class PageRank:
    """Lux, figure 4 and equation 1: pull, until the ranks move by less than the tolerance in all.

    With `redistribute`, the surfer jumps from a dangling vertex to any vertex: every superstep adds up the ranks of
    these (`lost`), and the next one distributes them to all (LDBC Graphalytics, section 2.3.3, and NetworkX). Without,
    they are lost, which converges to the same proportions, but differs after a fixed number of supersteps. Ranks begin
    with `even`, shared by all vertices, and `by_degree` for each out-edge.
    """

    damping: float = 0.85
    tolerance: float = 1e-6
    redistribute: bool = False
    even: float = 1.0
    by_degree: float = 0.0
    rank: af.f64
    lost: af.total(af.f64)

    def start(v, g, p):
        v.rank = p.even / g.vertices + p.by_degree * v.out_degree
        if p.redistribute and v.out_degree == 0:
            g.lost += v.rank
        return True

    def init(v):
        v.rank = 0.0

    def compute(v, u):
        v.rank += u.rank / u.out_degree

    def update(v, old, g, p):
        v.rank = (1.0 - p.damping + p.damping * g.lost) / g.vertices + p.damping * v.rank
        if p.redistribute and v.out_degree == 0:
            g.lost += v.rank
        return v.rank != old.rank

    def residual(v, old):
        return abs(v.rank - old.rank)


@af.program
class PersonalPageRank:
    """The surfer starts at, and jumps to, vertices in proportion to `home`, which is given and sums to 1."""

    damping: float = 0.85
    tolerance: float = 1e-6
    redistribute: bool = False
    rank: af.f64
    home: af.f64
    lost: af.total(af.f64)

    def start(v, g, p):
        if p.redistribute and v.out_degree == 0:
            g.lost += v.rank
        return True

    def init(v):
        v.rank = 0.0

    def compute(v, u):
        v.rank += u.rank / u.out_degree

    def update(v, old, g, p):
        v.rank = (1.0 - p.damping + p.damping * g.lost) * v.home + p.damping * v.rank
        if p.redistribute and v.out_degree == 0:
            g.lost += v.rank
        return v.rank != old.rank

    def residual(v, old):
        return abs(v.rank - old.rank)


@af.program
class WeightedPageRank(PersonalPageRank):
    """The surfer takes an edge in proportion to its weight; `share`, 1 over the sum of a vertex's weights, is given."""

    share: af.f64

    def start(v, g, p):
        if p.redistribute and v.share == 0.0:
            g.lost += v.rank
        return True

    def compute(v, u, edge):  # type: ignore[override]
        v.rank += u.rank * u.share * edge.weight

    def update(v, old, g, p):
        v.rank = (1.0 - p.damping + p.damping * g.lost) * v.home + p.damping * v.rank
        if p.redistribute and v.share == 0.0:
            g.lost += v.rank
        return v.rank != old.rank


@af.program
class PushPageRank:
    """By delta push: a vertex sends the gain of its rank, once that is more than the tolerance.

    A smaller gain is `held` until more comes; `sent`: the held gain has been sent.
    """

    damping: float = 0.85
    tolerance: float = 1e-9
    sparse = True
    rank: af.f64
    held: af.f64
    gain: af.f64
    sent: af.flag

    def start(v, g, p):
        v.rank = (1.0 - p.damping) / g.vertices
        v.held = v.rank
        v.sent = True
        return True

    def init(v):
        v.gain = 0.0

    def compute(v, u):
        v.gain += u.held / u.out_degree

    def update(v, old, p):
        if v.gain == 0.0:
            return False
        gained = p.damping * v.gain
        v.rank = old.rank + gained
        v.held = gained if old.sent else old.held + gained
        v.sent = v.held > p.tolerance
        return v.sent


@graph_call(
    alpha=real, personalization=array, max_iter=wholes(0), tol=real, nstart=array, dangling=text, damping=maybe(real),
    dtype=text, eager=flag, method=text, given=unwelcome,
)  # fmt: skip
def pagerank(
    graph: Graph,
    alpha: float = _DAMPING,
    personalization: Mapping[Any, float] | Any = None,
    max_iter: int = 100,
    tol: float = 1e-6,
    nstart: Mapping[Any, float] | Any = None,
    weight: str | None = "weight",
    dangling: str = "redistribute",
    *,
    damping: float | None = None,
    dtype: str = "f64",
    eager: bool = False,
    method: str = "auto",
    **options: Any,
) -> af.Result:
    """The rank of every vertex; the arguments are NetworkX's.

    Parameters
    ----------
    alpha
        The chance that the surfer follows an edge rather than jumping (the damping).
    personalization
        Where the surfer jumps to: a weight by id (others get 0), or for every vertex in order. Without it, anywhere.
    max_iter
        The most supersteps; the result is then marked as not converged, with a warning.
    tol
        It stops when ranks move by less than ``vertices * tol`` in all (the L1 norm), as NetworkX does, and by less
        than 1e-4, as the GAP suite does: of a million vertices the former alone would take any ranks.
    nstart
        First ranks, like `personalization`; without them, all alike. They only matter for how long it takes.
    weight
        The edge column by which the surfer chooses; None for all edges alike. Without a column of the default name all
        edges are alike.
    dangling
        What happens at vertices without out-edges, or with weights of 0 alone: "redistribute" lets the surfer jump as
        from anywhere, in every superstep, and ranks sum to 1, as in NetworkX and LDBC Graphalytics (whose fixed number
        of iterations is ``max_iter=14, tol=0``); "drop" loses it, as in Lux's equation 1 and the GAP suite.
    damping
        Another name for `alpha`.
    dtype
        "f64", or "f32" for half the memory traffic and seven digits.
    eager
        Let a vertex take ranks that are of this superstep already (as Gauss and Seidel do). On meshes half as many
        supersteps are needed, elsewhere a third less for a loose tolerance, such as 1e-4 in all, and up to twice as
        many for a tight one. How workers meet shows in the ranks, within the tolerance; with `deterministic`, and on
        parts of several nodes, it changes nothing.
    method
        "power": each superstep is one of the power iteration. "accelerated": each goes further in the direction of the
        last ones, which takes a half to a third of the supersteps where they are many, and ends by the same test; on
        undirected graphs only, whose eigenvalues are real. "auto" is the latter there, unless `eager` is set, the graph
        was built in parts, of which none can judge how long it takes, few
        supersteps are to be expected (on meshes, with a loose tolerance) or the tolerance is as small as rounding:
        ``tol=0`` asks for `max_iter` supersteps of the power iteration, exactly.

    Parallel edges count as often as they appear, self-loops count, and edges are followed in their direction. With
    negative weights there is no surfer: they are refused.

    Examples
    --------
    >>> import arcflux as af
    >>> af.algorithms.pagerank(af.Graph.from_edges([0, 1], [2, 2]))["rank"].round(3).tolist()
    [0.213, 0.213, 0.574]
    """
    from arcflux.algorithms.accelerated_pagerank import accelerated
    from arcflux.algorithms.surfer import best_start, choosable, dangling_count, shares, weighed

    if dangling not in ("redistribute", "drop"):
        raise UsageError(f"dangling is {dangling!r}", expected="'redistribute' or 'drop'")
    if dtype not in ("f64", "f32"):
        raise UsageError(f"dtype is {dtype!r}", expected="'f64' or 'f32'")
    alpha = _damping(alpha, damping)
    if not tol >= 0:
        raise UsageError(f"tol is {tol!r}", expected="a number from 0 on, such as 1e-6")
    n = graph.vertices
    choosing = weighed(graph, weight)
    program: Any = PageRank
    given: dict[str, Any] = {}
    if personalization is not None or nstart is not None or choosing is not None:
        program = PersonalPageRank
        given = {"home": shares(graph, personalization, "personalization"), "rank": shares(graph, nstart, "nstart")}
    strength: NDArray[Any] | None = None
    if choosing is not None:
        program = WeightedPageRank
        choosing, strength = choosable(choosing, dtype)
        given["share"] = np.divide(1.0, strength, out=np.zeros(n), where=strength != 0)
    # Without dangling vertices there is nothing to redistribute.
    some = dangling_count(graph) if strength is None else n - np.count_nonzero(strength)
    redistribute = dangling == "redistribute" and bool(some)
    moved, rounding = min(n * tol, _MOST_MOVED), _ROUNDING * float(np.finfo(dtype.replace("f", "float")).eps)
    start = None
    # A deterministic run cannot be eager: it is the power iteration, to the bit.
    power = method == "power" or (eager and bool(options.get("deterministic")))
    if program is PageRank and not power and moved > rounding and not graph.directed and graph.whole:
        start = best_start(graph, alpha, moved, redistribute)
        options |= {"even": start.even, "by_degree": start.by_degree}
    sooner = _accelerates(graph, method, eager) and (
        method == "accelerated" or (moved > rounding and _takes_long(start, alpha, moved))
    )
    chosen = _variant(accelerated(program) if sooner else program, dtype, eager)
    options = {"max_supersteps": max_iter, **options}
    result = af.run(
        chosen, choosing or graph, given=given, damping=alpha, tolerance=moved, redistribute=redistribute, **options
    )
    # Of extrapolated ranks, those with a measured residual are the ones before.
    rank = result.values["before" if sooner else "rank"]
    if eager and dangling == "redistribute" and not options.get("deterministic") and rank.any():
        # Vertices did not all see the ranks of one superstep, so the last ones sum to 1 only within the tolerance.
        rank = rank / rank.sum()
    checked_weight = None if choosing is None else weight
    reached = max(10 * moved, rounding)
    return replace(result, name="PageRank", graph=graph, values={"rank": rank}).checked_by(
        lambda r: af.validate.pagerank(graph, r["rank"], alpha, reached, dangling, checked_weight, given.get("home"))
    )


@graph_call(alpha=real, tol=real)
def pagerank_delta(graph: Graph, alpha: float = _DAMPING, tol: float = 1e-9, **options: Any) -> af.Result:
    """The rank of every vertex by delta push: only vertices whose rank still gains send.

    A vertex keeps what it gained to itself until that exceeds `tol`, so each rank is low by at most what all vertices
    together keep. Dangling vertices lose the surfer; all edges count alike. (Whang, Lenharth, Dhillon, Pingali,
    "Scalable data-driven PageRank", 2015.)

    Examples
    --------
    >>> import arcflux as af
    >>> af.algorithms.pagerank_delta(af.load("cycle:4"))["rank"].round(3).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    _damping(alpha, None)
    if not tol >= sys.float_info.min:  # smaller gains do not decrease when they are multiplied by alpha
        raise UsageError(f"tol is {tol!r}", expected="a positive number, such as 1e-9")
    result = af.run(PushPageRank, graph, damping=alpha, tolerance=tol, **options)
    reached = min(10 * max(1, graph.vertices) * tol / (1.0 - alpha), 10 * _MOST_MOVED)
    return replace(result, values={"rank": result.values["rank"]}).checked_by(
        lambda r: af.validate.pagerank(graph, r["rank"], damping=alpha, tolerance=reached)
    )


_variants: dict[tuple[int, str, bool], Any] = {}


def _variant(program: Any, dtype: str, eager: bool) -> Any:
    """One of the programs above with another type of ranks and other promises; cached."""
    key = id(program), dtype, eager
    if key not in _variants:
        chosen = program.retyped(**dict.fromkeys(program.fields, af.f32)) if dtype == "f32" else program
        _variants[key] = chosen.promising("monotone") if eager else chosen
    return _variants[key]


def _accelerates(graph: Graph, method: str, eager: bool) -> bool:
    """Whether the iteration may be accelerated: it is not ruled out, and all eigenvalues are real."""
    if method not in ("auto", "power", "accelerated"):
        raise UsageError(f"method is {method!r}", expected="'auto', 'power' or 'accelerated'")
    if method == "accelerated" and (graph.directed or eager):
        raise UsageError(
            "method is 'accelerated'" + (", and the graph is directed" if graph.directed else ", and eager is set"),
            expected="an undirected graph, without eager", remedy="method='auto' or 'power'",
        )  # fmt: skip
    return method != "power" and not (graph.directed or eager) and (graph.whole or method == "accelerated")


def _takes_long(start: Start | None, alpha: float, moved: float) -> bool:
    """Whether acceleration pays if the residual declines as slowly as possible, by the damping per superstep.

    It needs a few supersteps for its estimates; then each does as much as several of the power iteration, and costs up
    to twice as much on a mesh. Ranks with a known `start` may be nearly right at once: on a mesh, or a ring.
    """
    if start is None or not alpha:
        return bool(alpha)
    power = math.log(max(1.0, start.residual / moved)) / -math.log(alpha)
    faster = math.log(alpha) / math.log(alpha / (1.0 + math.sqrt(1.0 - alpha * alpha)))
    return power > 2.0 * (_LEARNING + faster * power)


def _damping(alpha: float, damping: float | None) -> float:
    """The damping, which has two names."""
    if damping is not None and alpha not in (_DAMPING, damping):
        raise UsageError(f"alpha is {alpha} and damping is {damping}", expected="one of them: they mean the same")
    alpha = alpha if damping is None else damping
    if not 0 <= alpha < 1:
        raise UsageError(f"the damping is {alpha}", expected="a number from 0 to below 1, such as 0.85")
    return alpha

"""PageRank: the chance that a random surfer stands on a vertex (Page, Brin, Motwani, Winograd 1999)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import arcflux as af
from arcflux.errors import UsageError
from arcflux.graph import Graph
from arcflux.validate import arguments

__all__ = ["PageRank", "PersonalPageRank", "PushPageRank", "WeightedPageRank", "pagerank", "pagerank_delta"]

_DAMPING = 0.85
# Ranks that one more superstep moves by more than so much in all are not ranks yet.
_MOST_MOVED = 1e-4


@af.program
class PageRank:
    """Lux, figure 4 and equation 1: pull, until the ranks move by less than the tolerance in all."""

    damping: float = 0.85
    tolerance: float = 1e-6
    rank: af.f64

    def start(v, g):
        v.rank = 1.0 / g.vertices
        return True

    def init(v):
        v.rank = 0.0

    def compute(v, u):
        v.rank += u.rank / u.out_degree

    def update(v, old, g, p):
        v.rank = (1.0 - p.damping) / g.vertices + p.damping * v.rank
        return v.rank != old.rank

    def residual(v, old):
        return abs(v.rank - old.rank)


@af.program
class PersonalPageRank:
    """The surfer starts at, and jumps to, vertices in proportion to `home`, which is given and sums to 1."""

    damping: float = 0.85
    tolerance: float = 1e-6
    rank: af.f64
    home: af.f64

    def start(v):
        return True

    def init(v):
        v.rank = 0.0

    def compute(v, u):
        v.rank += u.rank / u.out_degree

    def update(v, old, p):
        v.rank = (1.0 - p.damping) * v.home + p.damping * v.rank
        return v.rank != old.rank

    def residual(v, old):
        return abs(v.rank - old.rank)


@af.program
class WeightedPageRank:
    """The surfer takes an edge in proportion to its weight; `share`, 1 over the sum of a vertex's weights, is given."""

    damping: float = 0.85
    tolerance: float = 1e-6
    rank: af.f64
    home: af.f64
    share: af.f64

    def start(v):
        return True

    def init(v):
        v.rank = 0.0

    def compute(v, u, edge):
        v.rank += u.rank * u.share * edge.weight

    def update(v, old, p):
        v.rank = (1.0 - p.damping) * v.home + p.damping * v.rank
        return v.rank != old.rank

    def residual(v, old):
        return abs(v.rank - old.rank)


@af.program
class PushPageRank:
    """By delta push: a vertex passes on what its rank has gained, once that is more than the tolerance.

    What is less is `held`, and goes along with a later gain; `sent` says that what is held has been passed on.
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
        First ranks, like `personalization`; they only matter for how long it takes.
    weight
        The edge column by which the surfer chooses; None for all edges alike. Without a column of the default name all
        edges are alike.
    dangling
        What happens at vertices without out-edges, or with weights of 0 alone: "redistribute" lets the surfer jump as
        from anywhere, and ranks sum to 1, as in NetworkX; "drop" loses him, as in Lux's equation 1 and the GAP suite.
    damping
        Another name for `alpha`.
    dtype
        "f64", or "f32" for half the memory traffic and seven digits.
    eager
        Let a vertex take ranks that are of this superstep already (as Gauss and Seidel do). On meshes half as many
        supersteps are needed, elsewhere a third less for a loose tolerance, such as 1e-4 in all, and up to twice as
        many for a tight one. How workers meet shows in the ranks, within the tolerance; with `deterministic`, and on
        parts of several nodes, it changes nothing.

    Parallel edges count as often as they appear, self-loops count, and edges are followed in their direction. With
    negative weights there is no surfer: they are refused.

    Examples
    --------
    >>> import arcflux as af
    >>> af.algorithms.pagerank(af.Graph.from_edges([0, 1], [2, 2]))["rank"].round(3).tolist()
    [0.213, 0.213, 0.574]
    """
    if dangling not in ("redistribute", "drop"):
        raise UsageError(f"dangling is {dangling!r}", expected="'redistribute' or 'drop'")
    if dtype not in ("f64", "f32"):
        raise UsageError(f"dtype is {dtype!r}", expected="'f64' or 'f32'")
    alpha = _damping(alpha, damping)
    if not tol >= 0:
        raise UsageError(f"tol is {tol!r}", expected="a number from 0 on, such as 1e-6")
    n = graph.vertices
    weighed = _weighed(graph, weight)
    program: Any = PageRank
    given: dict[str, Any] = {}
    if personalization is not None or nstart is not None or weighed is not None:
        program = PersonalPageRank
        given["home"] = _shares(graph, personalization, "personalization")
        given["rank"] = given["home"] if nstart is None else _shares(graph, nstart, "nstart")
    if weighed is not None:
        program, strength = WeightedPageRank, _strengths(weighed)
        given["share"] = np.divide(1.0, strength, out=np.zeros(n), where=strength != 0)
    # Jumping from dangling vertices as from anywhere only scales all ranks by one factor, so it is done at the end.
    # Dropped ranks sum to 1 - alpha or more; the tolerance allows for that factor where there is something to drop.
    lossy = dangling == "redistribute" and (_some_silent(graph) if weighed is None else bool((strength == 0).any()))
    if lossy and nstart is not None:  # by that factor, for ranks that are right already
        silent = (graph.out_degrees if weighed is None else strength) == 0
        given["rank"] = given["rank"] * (1.0 - alpha) / (1.0 - alpha + alpha * given["rank"][silent].sum())
    moved = min(n * tol, _MOST_MOVED)
    tolerance = moved * ((1.0 - alpha) if lossy else 1.0)
    chosen = program.retyped(**dict.fromkeys(program.fields, af.f32)) if dtype == "f32" else program
    chosen = chosen.promising("monotone") if eager else chosen
    options = {"max_supersteps": max_iter, **options}
    result = af.run(chosen, weighed or graph, given=given, damping=alpha, tolerance=tolerance, **options)
    rank = result.values["rank"]
    if dangling == "redistribute" and n and rank.sum():
        rank = rank / rank.sum()
    checked_weight = None if weighed is None else weight
    # Rounding alone moves ranks by about so much.
    reached = max(10 * moved, 100 * float(np.finfo(rank.dtype).eps))
    return replace(result, name="PageRank", graph=graph, values={"rank": rank}).checked_by(
        lambda r: af.validate.pagerank(graph, r["rank"], alpha, reached, dangling, checked_weight, given.get("home"))
    )


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
    if not tol > 0:
        raise UsageError(f"tol is {tol!r}", expected="a positive number, such as 1e-9")
    result = af.run(PushPageRank, graph, damping=alpha, tolerance=tol, **options)
    reached = min(10 * max(1, graph.vertices) * tol / (1.0 - alpha), 10 * _MOST_MOVED)
    return replace(result, values={"rank": result.values["rank"]}).checked_by(
        lambda r: af.validate.pagerank(graph, r["rank"], damping=alpha, tolerance=reached)
    )


def _some_silent(graph: Graph) -> bool:
    """Whether there are vertices without out-edges; the graph remembers."""
    offsets = graph.out.offsets
    if "silent" not in graph.kept:
        graph.kept["silent"] = bool((offsets[1:] == offsets[:-1]).any())
    return bool(graph.kept["silent"])


def _damping(alpha: float, damping: float | None) -> float:
    """The damping, which has two names."""
    if damping is not None and alpha not in (_DAMPING, damping):
        raise UsageError(f"alpha is {alpha} and damping is {damping}", expected="one of them: they mean the same")
    alpha = alpha if damping is None else damping
    if not 0 <= alpha < 1:
        raise UsageError(f"the damping is {alpha}", expected="a number from 0 to below 1, such as 0.85")
    return alpha


def _weighed(graph: Graph, name: str | None) -> Graph | None:
    """The graph with the column to choose edges by as `weight`, if there is one."""
    if name is None or (name == "weight" and not graph.weighted):
        return None
    column = arguments.weights(graph, name)
    return graph if name == "weight" else graph.with_columns({"weight": column})


def _strengths(graph: Graph) -> NDArray[Any]:
    """The sum of the weights of each vertex's out-edges."""
    sums = np.zeros(graph.vertices)
    some = graph.out_degrees > 0
    if some.any():
        starts = graph.out.offsets[:-1][some].astype(np.int64)
        sums[some] = np.add.reduceat(graph.columns["weight"].astype(np.float64), starts)
    return sums


def _shares(graph: Graph, given: Any, name: str) -> NDArray[Any]:
    """Weights of vertices, by id or in order, as shares that sum to 1; the same for all when none are given."""
    if given is None:
        return np.full(graph.vertices, 1.0 / max(1, graph.vertices))
    wrong = UsageError(f"{name} cannot be made into shares", expected="weights of vertices, not negative, not all 0")
    numbers = graph.ids.to_numbers(list(given)) if isinstance(given, Mapping) and given else None
    try:
        shares = np.array(list(given.values()) if isinstance(given, Mapping) else given, np.float64)
    except (TypeError, ValueError) as error:
        raise wrong from error
    if numbers is not None:
        values, shares = shares, np.zeros(graph.vertices)
        shares[numbers] = values
    if shares.shape != (graph.vertices,) or not np.isfinite(shares).all() or (shares < 0).any() or not shares.sum():
        raise wrong
    normalised: NDArray[Any] = shares / shares.sum()
    return normalised

"""PageRank with acceleration: each superstep extrapolates the power iteration, by a factor that it estimates.

With M(x) for a superstep of the power iteration, the next ranks are ``before + factor * (M(x) - before)``, where
`before` are the ranks before x: the second-order Richardson iteration (Golub, Varga 1961). On an undirected graph all
eigenvalues of M are real, and none but the first is larger than the damping: those within a `radius` then die away by
radius / (1 + sqrt(1 - radius ** 2)) a superstep (0.56 for 0.85) when the factor is 2 / (1 + sqrt(1 - radius ** 2)), and
for any radius below 1 the iteration converges.

Many graphs mix much faster than the damping guarantees, and a factor for a larger radius would slow these down. So the
radius is estimated (Hageman, Young 1981, chapter 5): the first supersteps are those of the power iteration, and give a
first estimate by the decline of the residual. If the residual then declines less than the radius predicts, there is a
larger eigenvalue, whose size follows from the difference. The estimates are passed from superstep to superstep as
totals, to which only the first vertex contributes.
"""

from __future__ import annotations

import math
from typing import Any

import arcflux as af

__all__ = ["AcceleratedPageRank", "AcceleratedPersonalPageRank", "AcceleratedWeightedPageRank", "accelerated"]


def learned(radius: float, moved: float, last: float, most: float) -> float:
    """The radius of the remaining eigenvalues, if the residual went from `last` to `moved`."""
    decline = moved / last if last > 0.0 else 0.0
    promised = radius / (1.0 + math.sqrt(1.0 - radius * radius))
    slower = max(1.0, decline / promised) if promised > 0.0 else 1.0
    return min(most, radius * (slower + 1.0 / slower) / 2.0 if radius > 0.0 else decline)


def factor_of(radius: float) -> float:
    """The extrapolation factor if all eigenvalues are within a radius."""
    return 2.0 / (1.0 + math.sqrt(1.0 - radius * radius))


@af.program
class AcceleratedPageRank:
    """PageRank (pagerank.py) with extrapolation: `rank` are the next ranks, `before` those whose residual is known."""

    damping: float = 0.85
    tolerance: float = 1e-6
    redistribute: bool = False
    even: float = 1.0
    by_degree: float = 0.0
    rank: af.f64
    before: af.f64
    lost: af.total(af.f64)
    moved: af.total(af.f64)
    last: af.total(af.f64)
    radius: af.total(af.f64)

    def start(v, g, p):
        v.rank = p.even / g.vertices + p.by_degree * v.out_degree
        v.before = v.rank
        if p.redistribute and v.out_degree == 0:
            g.lost += v.rank
        return True

    def init(v):
        v.rank = 0.0

    def compute(v, u):
        v.rank += u.rank / u.out_degree

    def update(v, old, g, p):
        power = (1.0 - p.damping + p.damping * g.lost) / g.vertices + p.damping * v.rank
        radius = learned(g.radius, g.moved, g.last, p.damping)
        v.rank = old.before + factor_of(radius) * (power - old.before)
        v.before = old.rank
        g.moved += abs(power - old.rank)
        if v.number == 0:
            g.last += g.moved
            g.radius += radius
        if p.redistribute and v.out_degree == 0:
            g.lost += v.rank
        return power != old.rank

    def residual(v, old, g, p):
        shortened = 1.0 / factor_of(learned(g.radius, g.moved, g.last, p.damping))
        return abs(old.before + shortened * (v.rank - old.before) - old.rank)


@af.program
class AcceleratedPersonalPageRank(AcceleratedPageRank):
    """The surfer starts at, and jumps to, vertices in proportion to `home`, which is given and sums to 1."""

    home: af.f64

    def start(v, g, p):
        v.before = v.rank
        if p.redistribute and v.out_degree == 0:
            g.lost += v.rank
        return True

    def update(v, old, g, p):
        power = (1.0 - p.damping + p.damping * g.lost) * v.home + p.damping * v.rank
        radius = learned(g.radius, g.moved, g.last, p.damping)
        v.rank = old.before + factor_of(radius) * (power - old.before)
        v.before = old.rank
        g.moved += abs(power - old.rank)
        if v.number == 0:
            g.last += g.moved
            g.radius += radius
        if p.redistribute and v.out_degree == 0:
            g.lost += v.rank
        return power != old.rank


@af.program
class AcceleratedWeightedPageRank(AcceleratedPersonalPageRank):
    """The surfer takes an edge in proportion to its weight; `share`, 1 over the sum of a vertex's weights, is given."""

    share: af.f64

    def start(v, g, p):
        v.before = v.rank
        if p.redistribute and v.share == 0.0:
            g.lost += v.rank
        return True

    def compute(v, u, edge):  # type: ignore[override]
        v.rank += u.rank * u.share * edge.weight

    def update(v, old, g, p):
        power = (1.0 - p.damping + p.damping * g.lost) * v.home + p.damping * v.rank
        radius = learned(g.radius, g.moved, g.last, p.damping)
        v.rank = old.before + factor_of(radius) * (power - old.before)
        v.before = old.rank
        g.moved += abs(power - old.rank)
        if v.number == 0:
            g.last += g.moved
            g.radius += radius
        if p.redistribute and v.share == 0.0:
            g.lost += v.rank
        return power != old.rank


def accelerated(program: Any) -> Any:
    """The accelerated form of a program of pagerank.py."""
    programs = (AcceleratedPageRank, AcceleratedPersonalPageRank, AcceleratedWeightedPageRank)
    return next(each for each in programs if each.name == f"Accelerated{program.name}")

"""PageRank's programs for graphs with dangling vertices, from which the surfer jumps as from anywhere.

In every superstep the ranks of all dangling vertices are added up (`aggregate`), and the next one gives them to all
vertices: LDBC Graphalytics, section 2.3.3, and NetworkX. The programs of pagerank.py, which lose them, come to the same
proportions in the end, but not after a fixed number of supersteps.
"""

from __future__ import annotations

import arcflux as af

__all__ = ["RedistributedPageRank", "RedistributedPersonalPageRank", "RedistributedWeightedPageRank"]


@af.program
class RedistributedPageRank:
    """The surfer jumps anywhere; `aggregated` is given as the share of vertices that are dangling."""

    damping: float = 0.85
    tolerance: float = 1e-6
    aggregated: float = 0.0
    rank: af.f64

    def start(v, g):
        v.rank = 1.0 / g.vertices
        return True

    def init(v):
        v.rank = 0.0

    def compute(v, u):
        v.rank += u.rank / u.out_degree

    def update(v, old, g, p):
        v.rank = (1.0 - p.damping + p.damping * p.aggregated) / g.vertices + p.damping * v.rank
        return v.rank != old.rank

    def residual(v, old):
        return abs(v.rank - old.rank)

    def aggregate(v):
        return v.rank if v.out_degree == 0 else 0.0


@af.program
class RedistributedPersonalPageRank:
    """The surfer jumps in proportion to `home`; that, first ranks, and what of them is dangling, are given."""

    damping: float = 0.85
    tolerance: float = 1e-6
    aggregated: float = 0.0
    rank: af.f64
    home: af.f64

    def start(v):
        return True

    def init(v):
        v.rank = 0.0

    def compute(v, u):
        v.rank += u.rank / u.out_degree

    def update(v, old, p):
        v.rank = (1.0 - p.damping + p.damping * p.aggregated) * v.home + p.damping * v.rank
        return v.rank != old.rank

    def residual(v, old):
        return abs(v.rank - old.rank)

    def aggregate(v):
        return v.rank if v.out_degree == 0 else 0.0


@af.program
class RedistributedWeightedPageRank:
    """By weights, too: vertices whose `share` is 0 have no edge to choose."""

    damping: float = 0.85
    tolerance: float = 1e-6
    aggregated: float = 0.0
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
        v.rank = (1.0 - p.damping + p.damping * p.aggregated) * v.home + p.damping * v.rank
        return v.rank != old.rank

    def residual(v, old):
        return abs(v.rank - old.rank)

    def aggregate(v):
        return v.rank if v.share == 0.0 else 0.0

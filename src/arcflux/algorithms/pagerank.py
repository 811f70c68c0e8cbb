"""PageRank: the chance that a random surfer stands on a vertex."""

from __future__ import annotations

from typing import Any

import arcflux as af
from arcflux.graph import Graph

__all__ = ["PageRank", "pagerank"]


@af.program
class PageRank:
    """Lux, figure 4 and equation 1: pull, until no rank moves by more than the tolerance. Dangling mass is dropped."""

    damping: float = 0.85
    tolerance: float = 1e-9
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
        return abs(v.rank - old.rank) > p.tolerance


def pagerank(graph: Graph, damping: float = 0.85, tolerance: float = 1e-9, **options: Any) -> af.Result:
    """The rank of every vertex, by equation 1 of the Lux paper: what vertices without out-edges hold is lost.

    It stops when no rank moves by more than `tolerance` in a superstep. Parallel edges count as often as they appear;
    self-loops count; weights are not used.

    Examples
    --------
    >>> import arcflux as af
    >>> af.algorithms.pagerank(af.load("cycle:4"))["rank"].round(3).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    return af.run(PageRank, graph, damping=damping, tolerance=tolerance, **options)

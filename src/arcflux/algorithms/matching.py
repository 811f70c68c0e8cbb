"""A maximal matching: edges without common ends, to which no edge can be added, by handshakes.

Every edge draws once. A vertex points to the neighbour along its lowest edge, and two that point to each other are
matched: the same matching as by taking edges one after the other in the order of their draws (Blelloch, Fineman, Shun
2012).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import arcflux as af
from arcflux.checks import seed as any_seed
from arcflux.checks import unwelcome
from arcflux.engine.call import graph_call
from arcflux.errors import GraphError
from arcflux.graph import Graph
from arcflux.graph.arcs import not_both_ways

__all__ = ["Matching", "maximal_matching"]


@af.program
class Matching:
    """`mate` is -1 while a vertex is free, and when it stays so."""

    seed: int = 0
    mate: af.ref
    low: af.f64
    choice: af.i64
    paired: af.flag

    def start(v):
        v.mate = -1
        v.choice = -1
        return True

    @af.phase
    class choose:
        """A free vertex points to the free neighbour along its lowest edge."""

        def init(v):
            v.low = 2.0
            v.choice = -1

        def compute(v, u, edge, p):
            if u.mate < 0 and u.number != v.number:
                v.low, v.choice = min((v.low, v.choice), (af.random(edge, 0, seed=p.seed), u.number))

        def update(v):
            if v.mate >= 0:
                v.choice = -1
            return v.choice >= 0

    @af.phase
    class shake:
        """Two vertices that point to each other are matched."""

        def init(v):
            v.paired = False

        def compute(v, u, old):
            v.paired |= old.choice == u.number and u.choice == old.number

        def update(v):
            if v.paired:
                v.mate = v.choice
            return v.paired

    def iteration(run, g, p):
        if run.choose() == 0:
            return False
        return run.shake() > 0


@graph_call(seed=any_seed, given=unwelcome)
def maximal_matching(graph: Graph, seed: int = 0, **options: Any) -> af.Result:
    """A maximal matching of an undirected graph: `mate`, the neighbour that each vertex is matched with.

    A vertex without a mate has -1 (None among text ids), and all its neighbours have one. The same seed gives the same
    matching on any number of threads, parts, ranks and devices. Self-loops are never matched; parallel edges and
    weights make no difference. It has at least half as many edges as the largest matching.

    Raises
    ------
    GraphError
        When the graph is directed.

    Examples
    --------
    >>> import arcflux as af
    >>> af.maximal_matching(af.load("path:2"))["mate"].tolist()
    [1, 0]
    """
    if graph.directed:
        raise GraphError("the graph is directed", expected="an undirected graph", remedy="graph.to_undirected()")
    made = af.run(Matching, graph, seed=seed, **options)
    # The lowest edge of all is the lowest of both its ends: at the end no vertex that still points to another is
    # pointed back at.
    if made.converged and (made.values["choice"] >= 0).any():
        raise not_both_ways()
    result = replace(made, name="maximal_matching", values={"mate": made.values["mate"]})
    return result.checked_by(lambda found: af.validate.matching(graph, np.asarray(found.numbers("mate"))))

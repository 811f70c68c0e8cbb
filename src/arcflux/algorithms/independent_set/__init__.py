"""A maximal independent set: no two vertices are neighbours, and every other one has a neighbour in it (Luby 1986).

Every vertex draws once, and joins when all neighbours with smaller draws are excluded. That gives the same set as
taking vertices one after the other in the order of their draws, in some log n rounds (Blelloch, Fineman, Shun 2012).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import arcflux as af
from arcflux.checks import array, unwelcome
from arcflux.checks import seed as any_seed
from arcflux.engine.call import graph_call
from arcflux.engine.launch import launch_shared
from arcflux.errors import GraphError, UsageError
from arcflux.graph import Graph

__all__ = ["IndependentSet", "maximal_independent_set"]

WAITING, INSIDE, OUTSIDE = 0, 1, 2


@af.program
class IndependentSet:
    """In turns: a vertex that drew less than all waiting neighbours joins; its neighbours are excluded."""

    seed: int = 0
    state: af.i8
    low: af.f64
    low_number: af.i64
    beside: af.flag

    @af.phase
    class enter:
        """Waiting vertices with a smaller draw than all waiting neighbours join; equal draws are ordered by number."""

        def init(v):
            v.low = 2.0
            v.low_number = 0

        def compute(v, u, p):
            if u.state == WAITING and u.number != v.number:
                v.low, v.low_number = min((v.low, v.low_number), (af.random(u, 0, seed=p.seed), u.number))

        def update(v, p):
            if v.state != WAITING:
                return False
            own = af.random(v, 0, seed=p.seed)
            if own < v.low or (own == v.low and v.number < v.low_number):
                v.state = INSIDE
                return True
            return False

    @af.phase
    class leave:
        """Waiting vertices with a neighbour in the set are excluded."""

        def init(v):
            v.beside = False

        def compute(v, u):
            v.beside |= u.state == INSIDE

        def update(v):
            if v.state == WAITING and v.beside:
                v.state = OUTSIDE
                return True
            return False

    def iteration(run, g, p):
        run.leave()
        return run.enter() > 0


@graph_call(nodes=array, seed=any_seed, given=unwelcome)
def maximal_independent_set(
    graph: Graph, nodes: Sequence[Any] | None = None, seed: int = 0, **options: Any
) -> af.Result:  # fmt: skip
    """A maximal independent set of an undirected graph: the flag `inside`; NetworkX's arguments.

    `nodes` are ids that have to be in it, and must not be neighbours. The same seed gives the same set on any number of
    threads, parts, ranks and devices. Self-loops, parallel edges and weights make no difference. On cores that share
    memory a kernel does all rounds in one launch; elsewhere the program :class:`IndependentSet` runs.

    Raises
    ------
    GraphError
        When the graph is directed.

    Examples
    --------
    >>> import arcflux as af
    >>> af.maximal_independent_set(af.load("star:5"), nodes=[0])["inside"].tolist()
    [True, False, False, False, False]
    """
    if graph.directed:
        raise GraphError("the graph is directed", expected="an undirected graph", remedy="graph.to_undirected()")
    state, chosen = np.zeros(graph.vertices, np.int8), np.empty(0, np.int64)
    if nodes is not None and np.size(nodes):
        chosen = graph.ids.to_numbers(np.atleast_1d(np.asarray(nodes)))
        state[chosen] = INSIDE
        sources, targets, _ = graph.edge_numbers()
        clash = (state[sources] == INSIDE) & (state[targets] == INSIDE) & (sources != targets)
        if clash.any():
            pair = graph.ids.to_ids([int(sources[clash][0]), int(targets[clash][0])]).tolist()
            raise UsageError(f"nodes has {pair[0]!r} and {pair[1]!r}, which are neighbours",
                             expected="ids of which no two are neighbours")  # fmt: skip
    name = "maximal_independent_set"
    done = launch_shared(
        name, graph, options, lambda worker: worker.kernels(__name__).independent(worker, seed % (1 << 64), chosen)
    )
    if done is not None:
        times = done.seconds, done.compile_seconds
        result = done.finish(af.Result(name, graph, {"inside": done.answer}, [], True, *times))
    else:
        made = af.run(IndependentSet, graph, given={"state": state}, seed=seed, **options)
        result = replace(made, name=name, values={"inside": made.values["state"] == INSIDE})
    return result.checked_by(lambda found: af.validate.independent_set(graph, found["inside"]))

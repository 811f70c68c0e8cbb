"""Core numbers: the largest k for which a vertex is in the k-core, by peeling (Seidman 1983; Matula and Beck 1983)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import arcflux as af
from arcflux.checks import maybe, wholes
from arcflux.engine.call import graph_call
from arcflux.engine.launch import launch_shared
from arcflux.errors import GraphError
from arcflux.graph import Graph
from arcflux.graph.subgraphs import induced_subgraph

__all__ = ["CoreNumber", "core_number", "k_core"]


@af.program
class CoreNumber:
    """Vertices with at most k remaining neighbours are removed, and those that then have so few; then the next k.

    The next k is the smallest remaining degree, so that no k is tried in vain.
    """

    directed: bool = False
    core: af.i32  # k, while the vertex remains
    left: af.i32  # remaining neighbours
    gone: af.flag
    least: af.total(af.i64, "min")

    def start(v, p):
        v.left = v.out_degree + v.in_degree if p.directed else v.out_degree
        return True

    @af.phase(edges="both")
    class peel:
        """Vertices with no more than k remaining neighbours are removed, and notify their neighbours."""

        sparse = True

        def start(v, g):
            if v.gone:
                return False
            v.core = g.least
            v.gone = v.left <= g.least
            return v.gone

        def wants(v):
            return not v.gone

        def compute(v, u):
            v.left += -1

        def update(v):
            v.gone = v.left <= v.core
            return v.gone

    @af.phase(edges=None)
    class look:
        """The smallest remaining degree, and the number of remaining vertices."""

        def update(v, g):
            if not v.gone:
                g.least = min(g.least, v.left)
            return not v.gone

    def iteration(run, g, p):
        if run.look() == 0:
            return False
        run.peel(until="quiet")
        return True


@graph_call()
def core_number(graph: Graph, **options: Any) -> af.Result:
    """The core number of every vertex: the largest k for which it is in a part where everybody has k neighbours.

    As in NetworkX, edges of a directed graph count in both directions, and self-loops are refused. Parallel edges count
    as often as they are there; weights make no difference. On cores that share memory a kernel peels all levels in one
    launch; on GPUs, on several nodes, and with options of :func:`arcflux.run` that only programs have, the program
    :class:`CoreNumber` runs.

    Raises
    ------
    GraphError
        When there is a self-loop.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3], directed=False)
    >>> af.core_number(g)["core"].tolist()
    [2, 2, 2, 1]
    """
    if graph.directed or 2 * graph.edges != graph.arcs:  # undirected, a self-loop is one arc, other edges are two
        _refuse_loops(graph)
    done = launch_shared("core_number", graph, options, lambda worker: worker.kernels(__name__).core_numbers(worker))
    if done is not None:
        times = done.seconds, done.compile_seconds
        made = done.finish(af.Result("core_number", graph, {"core": done.answer}, [], True, *times))
    else:
        made = af.run(CoreNumber, graph, directed=graph.directed, **options)
        made = replace(made, values={"core": made.values["core"]})
    return made.checked_by(lambda found: af.validate.core_number(graph, found["core"]))


@graph_call(k=maybe(wholes(0)))
def k_core(graph: Graph, k: int | None = None, **options: Any) -> Graph:
    """The largest part of a graph in which every vertex has k neighbours; without k, of the largest that there is.

    Its vertices are those whose :func:`core_number` is at least k, and all edges among them stay. `options` are those
    of :func:`core_number`, which says how edges count.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3], directed=False)
    >>> list(af.k_core(g).ids), list(af.k_core(g, 1).ids)
    ([0, 1, 2], [0, 1, 2, 3])
    """
    core = core_number(graph, **options).values["core"]
    return induced_subgraph(graph, np.flatnonzero(core >= (core.max(initial=0) if k is None else k)))


def _refuse_loops(graph: Graph) -> None:
    sources, targets, _ = graph.edge_numbers()
    if (loops := sources[sources == targets]).size:
        raise GraphError(
            f"vertex {graph.ids.to_ids(loops[:1])[0]} has an edge to itself", expected="a graph without self-loops",
            remedy="load it with drop_self_loops=True",
        )  # fmt: skip

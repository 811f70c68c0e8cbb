"""Connected components: which vertices a path joins, each component named by its smallest vertex."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import arcflux as af
from arcflux.checks import text
from arcflux.devices import Device
from arcflux.distributed.gpus import components as gpu_components
from arcflux.distributed.gpus import on_gpus
from arcflux.engine.advice import chosen_threads, kept
from arcflux.engine.call import graph_call
from arcflux.engine.spread import asked, on_ranks
from arcflux.errors import GraphError, UsageError
from arcflux.graph import Graph
from arcflux.spmd.interrupt import within_time
from arcflux.spmd.memory import empty
from arcflux.spmd.pool import run

__all__ = ["Components", "connected_components", "weakly_connected_components"]

_COMPONENT = frozenset({"component"})
_SPREAD = {"parts": None, "partition": "ranges", "transport": None, "ranks_per_node": None, "devices": None}


@af.program
class Components:
    """Every vertex takes the smallest label among its neighbours' (Lux, section 3.4)."""

    component: af.u32

    def start(v):
        v.component = v.number
        return True

    def compute(v, u):
        v.component = min(v.component, u.component)

    def update(v, old):
        return v.component < old.component


@graph_call(method=text)
def connected_components(
    graph: Graph, method: str = "sampled", *, threads: int | None = None, **options: Any
) -> af.Result:
    """The component of every vertex of an undirected graph, named by the vertex of its smallest number.

    Isolated vertices are components of their own. Weights, self-loops and parallel edges make no difference. The
    result is the same whatever the method and the threads.

    Parameters
    ----------
    method
        "sampled": union-find, which skips most edges of a large component (Sutton, Ben-Nun, Barak, IPDPS 2018).
        "min-label": the vertex program :class:`Components`, in as many supersteps as a component is wide.
    threads
        Workers; every core without it.
    **options
        `parts`, `partition`, `transport` and `ranks_per_node`, which run it on parts of the graph; `devices`, which
        names GPUs, or GPUs and cores, each with the whole graph and a share of its vertices; with "min-label", whatever
        :func:`arcflux.run` takes.

    Raises
    ------
    GraphError
        When the graph is directed: its components are weak or strong ones.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges(["a", "d"], ["b", "e"], vertices=list("abcde"), directed=False)
    >>> af.algorithms.connected_components(g).to_dict()
    {'a': 'a', 'b': 'a', 'c': 'c', 'd': 'd', 'e': 'd'}
    """
    if graph.directed:
        raise GraphError(
            "the graph is directed",
            expected="an undirected graph",
            remedy="weakly_connected_components(graph), which forgets the directions, or load it with directed=False",
        )
    if method == "min-label":
        result = replace(af.run(Components, graph, threads=threads, **options), references=_COMPONENT)
    elif method == "sampled":
        with within_time("connected_components", options.pop("timeout", None)):
            result = _sampled("connected_components", graph, threads, **_spread(options))
    else:
        raise UsageError(f"method is {method!r}", expected="'sampled' or 'min-label'")
    return _checked(result)


@graph_call()
def weakly_connected_components(
    graph: Graph, *, threads: int | None = None, parts: int | af.Parts | None = None, partition: str = "ranges",
    transport: str | None = None, ranks_per_node: int | None = None,
    devices: str | Sequence[Device] | None = None,
) -> af.Result:  # fmt: skip
    """The component of every vertex when directions are forgotten, named by the vertex of its smallest number.

    It is the sampled union-find of :func:`connected_components`, and gives the same on an undirected graph. Weights,
    self-loops and parallel edges make no difference. In-edges are neither needed nor built, except on parts.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges([2, 2], [0, 3], vertices=4)
    >>> af.algorithms.weakly_connected_components(g)["component"].tolist()
    [0, 1, 0, 0]
    """
    where = {"parts": parts, "partition": partition, "transport": transport, "ranks_per_node": ranks_per_node,
             "devices": devices}  # fmt: skip
    return _checked(_sampled("weakly_connected_components", graph, threads, **where))


def _spread(options: dict[str, Any]) -> dict[str, Any]:
    """The options that say where the sampled method runs; it takes no others."""
    unknown = options.keys() - _SPREAD.keys()
    if unknown:
        raise UsageError(
            f"method 'sampled' does not take {', '.join(sorted(unknown))}",
            expected=f"threads, {', '.join(_SPREAD)}, since it is no vertex program",
            remedy="method='min-label'",
        )
    return {**_SPREAD, **options}


def _sampled(
    name: str, graph: Graph, threads: int | None, parts: Any, partition: str, transport: Any, ranks_per_node: Any,
    devices: Any,
) -> af.Result:  # fmt: skip
    from arcflux.kernels.components import CHUNK, PHASES, SAMPLES, afforest

    if (gpus := on_gpus(devices, parts, partition, transport, ranks_per_node, threads)) is not None:
        above = gpu_components(gpus, graph)
        return af.Result(name, graph, {"component": above}, [], True, gpus.seconds, gpus.compiled, _COMPONENT)
    spread = asked(parts, partition, transport, ranks_per_node, threads)
    if spread is not None:
        from arcflux.distributed.components import components

        above, launch = on_ranks(spread, graph, components)
        return af.Result(name, graph, {"component": above}, [], True, launch.seconds, launch.compiled, _COMPONENT)
    begun = time.perf_counter()
    kind = graph.out.neighbours.dtype
    workers, plan = chosen_threads(name, graph, threads)
    above = empty(graph.vertices, kind)
    work = [np.zeros(16, np.int64), np.zeros(8 * PHASES, np.int64)]
    arguments = [*work, *graph.out, not graph.directed, above, np.zeros(SAMPLES, kind)]
    afforest.ready(0, workers, np.zeros(16, np.int64), *arguments)
    ready = time.perf_counter()
    if graph.vertices:
        run(afforest, -(-graph.vertices // CHUNK), *arguments, threads=workers)
    seconds = time.perf_counter() - ready
    result = af.Result(name, graph, {"component": above}, [], True, seconds, ready - begun, _COMPONENT)
    return kept(plan, graph, result)


def _checked(result: af.Result) -> af.Result:
    return result.checked_by(lambda made: af.validate.components(made.graph, made.numbers("component")))

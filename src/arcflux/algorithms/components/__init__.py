"""Connected components: which vertices a path joins, each component named by its smallest vertex."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import arcflux as af
from arcflux.checks import text
from arcflux.engine.call import graph_call
from arcflux.engine.launch import Launched, Where, launch, launch_on_parts
from arcflux.engine.spread import WHERE
from arcflux.engine.worker import Worker
from arcflux.errors import GraphError, UsageError
from arcflux.graph import Graph
from arcflux.partition.parts import Parts
from arcflux.spmd.interrupt import within_time

__all__ = ["ASKED", "Components", "connected_components", "largest_root", "weakly_connected_components", "work"]

Array = NDArray[Any]
_COMPONENT = frozenset({"component"})
# Vertices in the sample that determines the largest component.
ASKED = 1024


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
def connected_components(graph: Graph, method: str = "sampled", **options: Any) -> af.Result:
    """The component of every vertex of an undirected graph, named by the vertex of its smallest number.

    Isolated vertices are components of their own. Weights, self-loops and parallel edges make no difference. The
    result is the same whatever the method and the threads.

    Parameters
    ----------
    method
        "sampled": union-find, which skips most edges of a large component (Sutton, Ben-Nun, Barak, IPDPS 2018).
        "min-label": the vertex program :class:`Components`, in as many supersteps as a component is wide.
    **options
        Where to run, as for :func:`arcflux.run`: `threads`, or `parts`, `partition`, `transport`, `ranks_per_node`, or
        `devices`. Every worker sees the whole graph and takes a share of its vertices. With "min-label", whatever
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
        result = replace(af.run(Components, graph, **options), references=_COMPONENT)
    elif method == "sampled":
        with within_time("connected_components", options.pop("timeout", None)):
            result = _sampled("connected_components", graph, options)
    else:
        raise UsageError(f"method is {method!r}", expected="'sampled' or 'min-label'")
    return _checked(result)


@graph_call()
def weakly_connected_components(graph: Graph, **where: Any) -> af.Result:
    """The component of every vertex when directions are forgotten, named by the vertex of its smallest number.

    It is the sampled union-find of :func:`connected_components`, and gives the same on an undirected graph. Weights,
    self-loops and parallel edges make no difference. In-edges are neither needed nor built. `where` are the options of
    :func:`arcflux.run` that say where it runs: `threads`, `parts`, `partition`, `transport`, `ranks_per_node`,
    `devices`.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges([2, 2], [0, 3], vertices=4)
    >>> af.algorithms.weakly_connected_components(g)["component"].tolist()
    [0, 1, 0, 0]
    """
    return _checked(_sampled("weakly_connected_components", graph, where))


def _sampled(name: str, graph: Graph, where: dict[str, Any]) -> af.Result:
    unknown = where.keys() - set(WHERE)
    if unknown:
        raise UsageError(
            f"method 'sampled' does not take {', '.join(sorted(unknown))}",
            expected=f"{', '.join(WHERE)}, since it is no vertex program",
            remedy="method='min-label'",
        )
    done = launch(graph, where, work, advised=name) if graph.whole else _on_parts(graph, where)
    values = {"component": done.answer}
    result = af.Result(name, graph, values, [], True, done.seconds, done.compile_seconds, _COMPONENT)
    return done.finish(result)


def work(worker: Worker) -> Array:
    """The smallest vertex of each vertex's weakly connected component.

    Each worker joins the edges of its own vertices in a forest, whose roots are the smallest vertices of its trees.
    Forests are merged after a sample of the edges, so that all agree which component is the largest, and in the end.
    """
    graph = worker.graph
    if not graph.vertices:
        return np.empty(0, graph.out.neighbours.dtype)
    forest = worker.kernels(__name__).Forest(worker)
    if worker.size == 1:
        forest.join_all()
    else:
        forest.sample()
        forest.adopt(worker.merge(forest.roots, forest.absorb))
        forest.rest(None if graph.directed else largest_root(forest))  # both ends have an edge, so one may skip it
        forest.adopt(worker.merge(forest.roots, forest.absorb))
    found: Array = forest.result()
    return found


def _on_parts(graph: Graph, where: dict[str, Any]) -> Launched[Array]:
    """For a graph that was built in parts: each rank joins the edges of its own part, and then forests are merged."""

    def joined(worker: Worker, parts: Parts) -> Array:
        alone = Worker(parts.part(worker.rank).to_graph(), worker.device)
        forest = worker.kernels(__name__).Forest(alone)
        forest.join_all()
        forest.adopt(worker.merge(forest.roots, forest.absorb))
        found: Array = forest.result()
        return found

    if not graph.vertices:
        return Launched(np.empty(0, graph.number_type), 0.0, 0.0)
    begun, spread = time.perf_counter(), Where.of(graph, where).spread
    answer = launch_on_parts(spread, graph, joined)
    return Launched(answer, time.perf_counter() - begun, 0.0)


def largest_root(forest: Any) -> int:
    """The root that most vertices of a sample point to; workers with the same forest find the same."""
    asked = np.random.default_rng(0).integers(forest.size, size=ASKED)
    roots, often = np.unique(forest.at(asked), return_counts=True)
    return int(roots[np.argmax(often)])


def _checked(result: af.Result) -> af.Result:
    return result.checked_by(lambda made: af.validate.components(made.graph, made.numbers("component")))

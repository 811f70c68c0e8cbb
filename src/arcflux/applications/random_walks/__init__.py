"""Random walks: uniform, by weight, node2vec, along a metapath, with restarts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import arcflux as af
from arcflux.applications.random_walks.method import Method, number_type
from arcflux.applications.random_walks.spread import walk_apart
from arcflux.applications.random_walks.walks import Visits, Walks
from arcflux.applications.traffic import Traffic
from arcflux.applications.vertex_lists import listed
from arcflux.applications.weights import summable_weights
from arcflux.checks import array, flag, maybe, real, text, wholes
from arcflux.checks import seed as any_seed
from arcflux.engine.call import graph_call
from arcflux.engine.launch import launch
from arcflux.engine.worker import Worker
from arcflux.errors import UsageError
from arcflux.graph import Graph
from arcflux.spmd.space import afford
from arcflux.validate import arguments
from arcflux.validate.walks import checked_rules

__all__ = ["Method", "Walks", "random_walks", "united", "work"]

Array = NDArray[Any]

# The most walks that a worker processes at a time.
_CHUNK = 1024


@graph_call(
    starts=array, walk_length=wholes(1), walks_per_vertex=wholes(1), p=real, q=real, weight=maybe(text),
    metapath=array, types=array, restart=real, seed=any_seed, distributed=flag,
)  # fmt: skip
def random_walks(
    graph: Graph,
    starts: Any = None,
    walk_length: int = 80,
    *,
    walks_per_vertex: int = 1,
    p: float = 1.0,
    q: float = 1.0,
    weight: str | None = "weight",
    metapath: list[int] | None = None,
    types: list[int] | None = None,
    restart: float = 0.0,
    seed: int = 0,
    distributed: bool = False,
    **where: Any,
) -> Walks:
    """Random walks along edges, in their direction, from some vertices or from all.

    Parameters
    ----------
    starts
        The ids of the vertices to start from, one of them as often as it is named; all vertices without it.
    walk_length
        How many vertices a walk has, its start included: one more than steps.
    walks_per_vertex
        How many walks begin at each start. Walk ``k * len(starts) + i`` is the k-th from ``starts[i]``.
    p, q
        node2vec's return and in-out parameters (Grover, Leskovec 2016): of the neighbours x of v, to which the walk
        came from t, x = t counts 1/p, an x that an edge from t leads to counts 1, any other 1/q.
    weight
        The edge column by which the next edge is drawn; every edge counts 1 without such a column, or with None.
    metapath, types
        A walk's k-th vertex has type ``metapath[k % len(metapath)]``, where `types` has the type of each vertex, a
        whole number, in the order of the graph's ids. Of the neighbours of the right type one is drawn by weight.
    restart
        With what probability a step leads back to the start instead.
    seed
        Every draw is a function of seed, walk and step: the same seed gives the same walks on any number of workers.
    distributed
        Let each worker read the rows of its own vertices only, and send walkers to the worker that has the next one.
        Else every worker sees the whole graph, and takes a share of the walks.
    **where
        The options of :func:`arcflux.run` that say where it runs: `threads`, `parts`, `transport`, `ranks_per_node`.

    A walk ends early at a vertex from which no edge leads on (none of weight, none of the right type). Parallel edges
    count each. Memory: the walks, and 8 bytes an arc if there are weights.

    Returns
    -------
    Walks
        ``.walks``: a row of ids for each walk, -1 (text ids: None) behind its end; ``.numbers_of_walks`` the same as
        vertex numbers; the field `visits`: how often walks are at each vertex.

    Examples
    --------
    >>> import arcflux as af
    >>> found = af.random_walks(af.load("path:3"), [0, 2], 3, seed=1)
    >>> found.walks[:, :2].tolist()
    [[0, 1], [2, 1]]
    """
    roots = np.arange(graph.vertices) if starts is None else listed(graph, "starts", starts)
    kinds, path = checked_rules(graph, p, q, restart, types, metapath)
    if path is not None:
        roots = _of_first_type(graph, roots, kinds, path, starts is None)
    method = Method(
        roots, walk_length, len(roots) * walks_per_vertex, seed % 2**64, summable_weights(graph, weight), 1 / p, 1 / q,
        path, kinds, restart,
    )  # fmt: skip
    afford(
        method.walks * walk_length * 4, f"{method.walks:,} walks of {walk_length:,} vertices",
        "fewer starts, or shorter walks, at a time",
    )  # fmt: skip
    done = launch(graph, where, lambda worker: work(worker, method, distributed))
    rows, traffic = done.answer
    result = Walks(
        "random walks", graph, Visits(rows, graph.vertices), [], True, done.seconds, done.compile_seconds,
        numbers_of_walks=rows, traffic=traffic,
    )  # fmt: skip
    rules = {"p": p, "q": q, "weight": weight, "metapath": metapath, "types": types, "restart": restart}
    return replace(done.finish(result), validator=lambda made: af.validate.walks(graph, made.numbers_of_walks, **rules))


def _of_first_type(graph: Graph, roots: Array, kinds: Any, metapath: Array, every: bool) -> Array:
    fitting = kinds[roots] == metapath[0]
    if not every and not fitting.all():
        wrong = arguments.user_id(graph, roots[np.argmin(fitting)])
        raise UsageError(
            f"walks start at vertex {wrong}, of type {kinds[roots[np.argmin(fitting)]]}",
            expected=f"starts of type {metapath[0]}, where the metapath begins",
        )
    chosen: Array = roots[fitting]
    return chosen


def work(worker: Worker, method: Method, distributed: bool) -> tuple[Array, Mapping[str, int]]:
    """All walks as numbers of vertices, -1 behind an end; and the bytes that were sent, by phases."""
    traffic = Traffic(worker)
    if distributed and worker.size > 1:
        own = walk_apart(worker, method, traffic)
    else:
        own = _walk_here(worker, method)
    return united(worker, own, method.walks, traffic)


def united(worker: Worker, own: Array, count: int, traffic: Traffic) -> tuple[Array, Mapping[str, int]]:
    """All rows of walks, from the shares of all workers, and what they sent."""
    if worker.size == 1:
        return worker.cores.result(own), {}
    with traffic.phase("result"):
        rows = worker.gather(own.reshape(-1)).reshape(count, own.shape[1])
    return rows, traffic.total()


def _walk_here(worker: Worker, method: Method) -> Array:
    """The walks of a worker that sees the whole graph."""
    kernels, cores = worker.kernels(__name__), worker.cores
    first, last = worker.share(method.walks)
    count = last - first
    out = cores.kept(count * method.length, number_type(worker.graph), zero=False).reshape(count, method.length)
    state = cores.host(cores.workers * kernels.SLOTS * kernels.FIELDS, np.uint64)
    rests = cores.host(cores.workers * kernels.SLOTS, np.float64)
    width = max(1, min(_CHUNK, count // (4 * cores.workers)))
    with worker.task("walks", count, "walks") as task:
        cores.launch(
            kernels.walk, -(-count // width), method.starts, np.uint64(first), np.uint64(last), np.uint64(width),
            np.uint64(method.seed), *worker.graph.out, method.table(worker, 0, worker.graph.vertices), method.weights,
            *method.near(worker), method.back, method.out, method.metapath, method.types, method.restart,
            state.reshape(cores.workers, kernels.SLOTS, kernels.FIELDS), rests.reshape(cores.workers, -1), out,
            task=task, visits=out.size,
        )  # fmt: skip
    return out

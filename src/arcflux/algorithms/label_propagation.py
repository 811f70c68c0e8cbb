"""Communities by label propagation: every vertex takes the label that is most frequent around it."""

from __future__ import annotations

import operator
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

import arcflux as af
from arcflux import trace
from arcflux.checks import whole
from arcflux.devices import Device
from arcflux.distributed.gpus import label_propagation as on_gpu
from arcflux.distributed.gpus import on_gpus
from arcflux.engine.advice import chosen_threads, kept
from arcflux.engine.call import graph_call
from arcflux.engine.spread import Spread, asked, on_ranks
from arcflux.errors import UsageError
from arcflux.graph import Graph
from arcflux.result import Superstep
from arcflux.spmd.memory import empty, zeros
from arcflux.spmd.pool import run

__all__ = ["label_propagation"]

_MOST_ROUNDS = 100_000


@graph_call(max_iter=whole)
def label_propagation(
    graph: Graph, max_iter: int = 10, *, threads: int | None = None, parts: int | af.Parts | None = None,
    partition: str = "ranges", transport: str | None = None, ranks_per_node: int | None = None,
    devices: str | Sequence[Device] | None = None,
) -> af.Result:  # fmt: skip
    """The community of every vertex, `label`: the id that its members agreed on, by the CDLP rule of LDBC Graphalytics.

    Every vertex starts with its own id. In each of `max_iter` rounds all vertices at once take the label that is most
    frequent among their neighbours, of several the smallest; a vertex without neighbours keeps its own. It ends early
    when a round changes nothing, and the result has then converged; labels may also swap for ever.

    Labels are compared as ids are: integers by value, text by its UTF-8 bytes. In a directed graph in- and
    out-neighbours both count, and one that is both counts twice. Parallel edges count once, self-loops and edge columns
    not at all. The result does not depend on the number of threads, nor on the parts: `parts`, `partition`,
    `transport`, `ranks_per_node` and `devices` are those of :func:`arcflux.run`. Of devices, each has the whole graph
    and a range of its vertices.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges([1, 2, 3, 4, 5, 6, 3], [2, 3, 1, 5, 6, 4, 4], directed=False)
    >>> af.algorithms.label_propagation(g).to_dict()
    {1: 1, 2: 1, 3: 1, 4: 3, 5: 3, 6: 3}
    """
    begun = time.perf_counter()
    try:
        rounds = operator.index(max_iter)
    except TypeError:
        rounds = 0
    if not 1 <= rounds <= _MOST_ROUNDS:
        raise UsageError(f"max_iter is {max_iter!r}", expected=f"a whole number of rounds from 1 to {_MOST_ROUNDS:,}")
    where = parts, partition, transport, ranks_per_node, threads
    if (gpus := on_gpus(devices, *where)) is not None:
        label, steps = on_gpu(gpus, graph, rounds)
        return _result(graph, label, steps, gpus.seconds, gpus.compiled)
    spread = asked(*where)
    if spread is not None:
        return _spread(spread, graph, rounds)
    workers, plan = chosen_threads("label_propagation", graph, threads)
    label = np.arange(graph.vertices, dtype=graph.out.neighbours.dtype)
    history = np.zeros((rounds, 3), np.int64)
    kernel, arguments = _prepare(graph, label, history, workers)
    kernel.ready(0, workers, np.zeros(16, np.int64), *arguments)
    ready = time.perf_counter()
    with trace.task("label propagation", total=rounds, unit="rounds") as task:
        run(kernel, workers, *arguments, threads=workers, glance=lambda control: task.at(int(control[2])))
    seconds = time.perf_counter() - ready
    done = history[: np.count_nonzero(history[:, 2])]
    tick = seconds / max(1, done[:, 2].sum())
    steps = [
        Superstep(turn, "pull", counted, 0.0, ticks * tick, changed)
        for turn, (counted, changed, ticks) in enumerate(done.tolist())
    ]
    return kept(plan, graph, _result(graph, label, steps, seconds, ready - begun))


def _spread(spread: Spread, graph: Graph, rounds: int) -> af.Result:
    """The same on parts of the graph."""
    from arcflux.distributed import label_propagation as distributed

    def work(transport: Any, parts: af.Parts) -> tuple[Any, list[Superstep], Any]:
        return distributed.label_propagation(transport, parts, rounds)

    label, steps, launch = on_ranks(spread, graph, work)
    return _result(graph, label, steps, launch.seconds, launch.compiled)


def _result(graph: Graph, label: Any, steps: list[Superstep], seconds: float, compiled: float) -> af.Result:
    converged = steps[-1].changed == 0
    references = frozenset({"label"})
    return af.Result("label propagation", graph, {"label": label}, steps, converged, seconds, compiled, references)


def _prepare(graph: Graph, label: Any, history: Any, workers: int) -> tuple[Any, list[Any]]:
    """The kernel and its arguments."""
    from arcflux.kernels import label_propagation as kernels
    from arcflux.kernels.ordered import sorted_rows
    from arcflux.spmd.barrier import WORDS

    n, kind = graph.vertices, label.dtype
    out, into = sorted_rows(graph, workers)
    voters = np.diff(out.offsets) + np.diff(into.offsets) if graph.directed else np.diff(out.offsets)
    slots = kernels.slots(min(int(voters.max(initial=0)), n))
    arguments = [
        *out,
        *(into if graph.directed else (None, None)),
        len(history),
        np.zeros(WORDS, np.int64),
        np.zeros(kernels.BOARD, np.int64),
        label,
        empty(n, kind),
        zeros(n, np.bool_),
        empty(n, kind),
        np.empty((workers, kernels.BUFFER), kind),
        zeros(workers * slots * 2, kind).reshape(workers, slots, 2),
        empty(workers * slots, kind).reshape(workers, slots),
        history,
    ]
    return kernels.propagate, arguments

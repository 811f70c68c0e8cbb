"""Communities by label propagation: every vertex takes the label that is most frequent around it."""

from __future__ import annotations

import operator
import time
from typing import Any

import numpy as np

import arcflux as af
from arcflux import config, trace
from arcflux.errors import UsageError
from arcflux.graph import Graph
from arcflux.result import Superstep
from arcflux.spmd.memory import empty, zeros
from arcflux.spmd.pool import run

__all__ = ["label_propagation"]

_MOST_ROUNDS = 100_000


def label_propagation(graph: Graph, max_iter: int = 10, *, threads: int | None = None) -> af.Result:
    """The community of every vertex, `label`: the id that its members agreed on, by the CDLP rule of LDBC Graphalytics.

    Every vertex starts with its own id. In each of `max_iter` rounds all vertices at once take the label that is most
    frequent among their neighbours, of several the smallest; a vertex without neighbours keeps its own. It ends early
    when a round changes nothing, and the result has then converged; labels may also swap for ever.

    Labels are compared as ids are: integers by value, text by its UTF-8 bytes. In a directed graph in- and
    out-neighbours both count, and one that is both counts twice. Parallel edges count once, self-loops and edge columns
    not at all. The result does not depend on the number of threads.

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
    workers = config.threads(threads)
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
    converged = steps[-1].changed == 0
    return af.Result(
        "label propagation", graph, {"label": label}, steps, converged, seconds, ready - begun, frozenset({"label"})
    )


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

"""Communities by label propagation: every vertex takes the label that is most frequent around it."""

from __future__ import annotations

import operator
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

import arcflux as af
from arcflux.checks import whole
from arcflux.engine.call import graph_call
from arcflux.engine.launch import launch
from arcflux.engine.worker import Worker
from arcflux.errors import UsageError
from arcflux.graph import Graph
from arcflux.result import Superstep

__all__ = ["label_propagation", "propagate", "work"]

Array = NDArray[Any]
_MOST_ROUNDS = 100_000


@graph_call(max_iter=whole)
def label_propagation(graph: Graph, max_iter: int = 10, **where: Any) -> af.Result:
    """The community of every vertex, `label`: the id that its members agreed on, by the CDLP rule of LDBC Graphalytics.

    Every vertex starts with its own id. In each of `max_iter` rounds all vertices at once take the label that is most
    frequent among their neighbours, of several the smallest; a vertex without neighbours keeps its own. It ends early
    when a round changes nothing, and the result has then converged; labels may also swap for ever.

    Labels are compared as ids are: integers by value, text by its UTF-8 bytes. In a directed graph in- and
    out-neighbours both count, and one that is both counts twice. Parallel edges count once, self-loops and edge columns
    not at all. `where` are the options of :func:`arcflux.run` that say where it runs (`threads`, `parts`, `partition`,
    `transport`, `ranks_per_node`, `devices`); the result does not depend on them. Every worker sees the whole graph,
    and a range of its vertices votes.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges([1, 2, 3, 4, 5, 6, 3], [2, 3, 1, 5, 6, 4, 4], directed=False)
    >>> af.algorithms.label_propagation(g).to_dict()
    {1: 1, 2: 1, 3: 1, 4: 3, 5: 3, 6: 3}
    """
    try:
        rounds = operator.index(max_iter)
    except TypeError:
        rounds = 0
    if not 1 <= rounds <= _MOST_ROUNDS:
        raise UsageError(f"max_iter is {max_iter!r}", expected=f"a whole number of rounds from 1 to {_MOST_ROUNDS:,}")
    done = launch(graph, where, lambda worker: work(worker, rounds), advised="label_propagation")
    label, steps = done.answer
    times, references = (done.seconds, done.compile_seconds), frozenset({"label"})
    converged = steps[-1].changed == 0
    result = af.Result("label propagation", graph, {"label": label}, steps, converged, *times, references)
    return done.finish(result).checked_by(
        lambda found: af.validate.label_propagation(graph, found["label"], len(found.history))
    )


def work(worker: Worker, rounds: int) -> tuple[Array, list[Superstep]]:
    """The label of every vertex after at most this many rounds, and how the rounds went."""
    labels = worker.kernels(__name__).Labels(worker)
    history = labels.propagate(rounds) if worker.size == 1 else propagate(worker, labels, rounds)
    return labels.result(), history


def propagate(worker: Worker, labels: Any, rounds: int) -> list[Superstep]:
    """Round by round: own vertices vote, workers exchange their changes, and all adopt them."""
    history: list[Superstep] = []
    everywhere = True
    with worker.task("label propagation", rounds, "rounds") as task:
        for turn in range(rounds if worker.graph.vertices else 1):
            worker.superstep(turn)
            begun = time.perf_counter()
            tally, changes, values, more = labels.vote(everywhere), None, 0, 0
            if worker.size > 1:
                mine, before = labels.changes(), worker.sent
                changes = worker.gather(mine.reshape(-1)).reshape(-1, 2)
                values = len(mine) * mine.itemsize * (worker.nodes - 1)
                more = worker.sent - before - values
            changed, busy, counted, values, more = worker.sum(np.array([*tally, values, more])).tolist()
            # If many change, nearly every vertex has a neighbour that did.
            everywhere = 4 * busy > labels.arcs
            labels.adopt(changes, mark=not everywhere)
            seconds = time.perf_counter() - begun
            history.append(Superstep(turn, "pull", counted, 0.0, seconds, changed, bytes=values, more_bytes=more))
            task.at(turn + 1)
            if changed == 0:
                break
    return history

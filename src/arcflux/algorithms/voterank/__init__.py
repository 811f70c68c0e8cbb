"""VoteRank: spreaders that are far from each other, elected one after the other (Zhang, Chen, Dong, Zhao 2016)."""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.algorithms.one_core import walk
from arcflux.checks import maybe, wholes
from arcflux.engine.call import graph_call
from arcflux.engine.launch import launch
from arcflux.engine.worker import Worker
from arcflux.graph import Graph

__all__ = ["voterank"]


@graph_call(number_of_nodes=maybe(wholes(0)))
def voterank(graph: Graph, number_of_nodes: int | None = None, **where: Any) -> list[Any]:
    """The ids of the vertices that are elected, in their order; NetworkX's arguments.

    In each turn vertices vote for those that lead to them, and the one with most votes is elected; of equal ones the
    first. Then it votes no more, and the votes of its out-neighbours lose one over the mean degree. It ends after
    `number_of_nodes` turns, or when nobody has a vote. Parallel edges count as often as they are there; weights make no
    difference. The work of one core, which after each turn counts anew only where votes have changed.

    Examples
    --------
    >>> import arcflux as af
    >>> af.voterank("star:5", 1)
    [0]
    """
    most = graph.vertices if number_of_nodes is None else min(number_of_nodes, graph.vertices)
    found = launch(graph, where, lambda worker: _elect(worker, most)).answer
    elected: list[Any] = graph.ids.to_ids(found).tolist()
    return elected


def _elect(worker: Worker, most: int) -> Any:
    from arcflux.algorithms.voterank.cpu import elect

    graph, n = worker.graph, worker.graph.vertices
    mean = graph.edges * (1 if graph.directed else 2) / max(1, n)
    elected, size = np.empty(most, np.int64), np.zeros(1, np.int64)
    heap = np.empty(n), np.empty(n, np.int64)
    arguments = np.ones(n), np.zeros(n), np.zeros(n, np.bool_), *heap, 1.0 / mean if mean else 0.0, elected, size
    walk(worker, elect, *graph.out, *graph.into, *arguments)
    return elected[: size[0]]

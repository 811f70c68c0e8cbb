"""Colours for vertices so that no two neighbours have the same, by a greedy algorithm in parallel.

Every vertex waits for the neighbours that come before it, and takes the smallest colour that none of them has (Jones,
Plassmann 1993). So the colours are those of the greedy algorithm that takes vertices one after the other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import arcflux as af
from arcflux.checks import seed as any_seed
from arcflux.checks import text, unwelcome
from arcflux.engine.call import graph_call
from arcflux.engine.launch import launch_shared
from arcflux.errors import UsageError
from arcflux.graph import Graph

__all__ = ["Coloring", "greedy_color"]

Array = NDArray[Any]


@af.program
class Coloring:
    """`rank` is the order of vertices; one pass over the neighbours considers 62 colours."""

    rank: af.i64
    color: af.i64  # -1 while it waits

    def start(v):
        v.color = -1
        return True

    def around(v, edges, old):
        if old.color >= 0:
            v.color = old.color
        else:
            ready = True
            for u in edges:
                if u.color < 0 and u.rank < old.rank:
                    ready = False
                    break
            if ready:
                base = 0
                free = False
                while not free:
                    taken = 0
                    for u in edges:
                        if u.color >= base and u.color < base + 62:
                            taken = taken | (1 << (u.color - base))
                    for k in range(62):
                        if (taken >> k) & 1 == 0:
                            v.color = base + k
                            free = True
                            break
                    base += 62

    def update(v, old):
        return v.color < 0 or v.color != old.color


@graph_call(strategy=text, seed=any_seed, given=unwelcome)
def greedy_color(graph: Graph, strategy: str = "largest_first", seed: int = 0, **options: Any) -> af.Result:
    """A colour for every vertex of an undirected graph, from 0 on: `color`, other than all neighbours'.

    `strategy` says in which order vertices take the smallest colour that is free: "largest_first" by degree, the
    largest first and equal ones by number, which is NetworkX's default and gives its colours; "random_sequential" at
    random, by `seed`. There are at most as many colours as the largest degree and one. Parallel edges count for the
    degree; self-loops do not keep a vertex from a colour, and count twice for its degree. Weights make no difference.
    Edges of a directed graph count in both directions. On cores that share memory a kernel does it in one launch;
    elsewhere the program :class:`Coloring` runs.

    Examples
    --------
    >>> import arcflux as af
    >>> af.greedy_color(af.load("cycle:5"))["color"].tolist()
    [0, 1, 0, 1, 2]
    """
    if strategy == "largest_first":
        key = -_degrees(graph)
    elif strategy == "random_sequential":
        key = _ranks(np.random.Generator(np.random.Philox(seed % (1 << 64))).permutation(graph.vertices))
    else:
        raise UsageError(f"strategy is {strategy!r}", expected="'largest_first' or 'random_sequential'")
    both = graph.both_ways()
    done = launch_shared("greedy_color", both, options, lambda worker: worker.kernels(__name__).colors(worker, key))
    if done is not None:
        values, times = {"color": done.answer}, (done.seconds, done.compile_seconds)
        result = done.finish(af.Result("greedy_color", graph, values, [], True, *times))
    else:
        made = af.run(Coloring, both, given={"rank": _ranks(np.argsort(key, kind="stable"))}, **options)
        result = replace(made, name="greedy_color", graph=graph, values={"color": made.values["color"]})
    return result.checked_by(lambda found: af.validate.coloring(graph, found["color"]))


def _ranks(order: Array) -> Array:
    """The position of each vertex in an order."""
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank


def _degrees(graph: Graph) -> Array:
    """Ends of edges at each vertex: a self-loop has two."""
    if not graph.directed and 2 * graph.edges == graph.arcs:  # without loops, which are one arc each
        return graph.out_degrees.astype(np.int64)
    sources, targets, _ = graph.edge_numbers()
    return np.bincount(sources, minlength=graph.vertices) + np.bincount(targets, minlength=graph.vertices)

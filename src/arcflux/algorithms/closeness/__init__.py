"""Distances of all vertices: closeness, harmonic centrality, eccentricity, by searches of many sources at once.

A search needs a bit per vertex, so that as many searches as a word has bits go along the edges together (Then and
others, "The more the merrier: efficient multi-source graph traversal", VLDB 2014). A vertex adds up the distances of
the sources whose bits are new to it: distances *to* a vertex, which closeness needs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import arcflux as af
from arcflux.checks import flag
from arcflux.engine.call import graph_call
from arcflux.engine.launch import launch_shared
from arcflux.graph import Graph

__all__ = ["AllDistances", "all_distances", "closeness_centrality", "eccentricity", "harmonic_centrality"]

# Bits of a signed word without its sign.
WIDTH = 62


def ones(word: Any) -> Any:
    """How many bits of a word are set."""
    count = 0
    while word != 0:
        word = word & (word - 1)
        count += 1
    return count


@af.program
class AllDistances:
    """Searches from all vertices, `WIDTH` of them in each iteration; `unit` is the value of 1 in `harmonic`."""

    unit: int = 1
    batch: af.i64
    seen: af.i64  # searches that have visited this vertex
    fresh: af.i64  # searches that arrived last, and continue from here
    arrived: af.i64  # searches that arrive in this superstep
    hops: af.i64
    reached: af.i64  # how many vertices lead here
    total: af.i64  # the sum of their distances
    harmonic: af.i64
    farthest: af.i64

    @af.phase
    class search:
        """One search for each vertex of the batch."""

        sparse = True

        def start(v):
            v.fresh = 1 << (v.number % 62) if v.number // 62 == v.batch else 0
            v.seen = v.fresh
            v.hops = 0
            v.batch = v.batch + 1
            return v.fresh != 0

        def compute(v, u):
            v.arrived |= u.fresh
            v.hops = max(v.hops, u.hops + 1)

        def update(v, p):
            fresh = v.arrived & ~v.seen
            v.arrived = 0
            if fresh == 0:
                return False
            v.fresh = fresh
            v.seen = v.seen | fresh
            count = ones(fresh)
            v.reached = v.reached + count
            v.total = v.total + count * v.hops
            v.harmonic = v.harmonic + count * ((p.unit + v.hops // 2) // v.hops)
            v.farthest = max(v.farthest, v.hops)
            return True

    def iteration(run, g, p):
        run.search(until="quiet")
        return run.iterations * 62 < g.vertices


def all_distances(graph: Graph, **options: Any) -> af.Result:
    """For every vertex how many others lead to it (`reached`), and the sum (`total`) and maximum of their distances.

    `harmonic` is the sum of one over each of these distances.
    """
    names = ("reached", "total", "harmonic", "farthest")
    done = launch_shared(
        "all_distances", graph, options, lambda worker: worker.kernels(__name__).distances(worker), spreads=True
    )
    if done is not None:
        values, times = dict(zip(names, done.answer, strict=True)), (done.seconds, done.compile_seconds)
        return done.finish(af.Result("all_distances", graph, values, [], True, *times))
    unit = harmonic_unit(graph.vertices)
    result = af.run(AllDistances, graph, unit=unit, **options)
    values = {name: result.values[name] for name in names}
    return replace(result, values=values | {"harmonic": values["harmonic"].astype(np.float64) / unit})


def harmonic_unit(vertices: int) -> int:
    """The value of 1 in a sum of fractions over this many vertices: integers, whose order of adding is irrelevant.

    Examples
    --------
    >>> harmonic_unit(1000) == 1 << 52
    True
    """
    return 1 << (62 - max(1, vertices.bit_length()))


@graph_call(wf_improved=flag)
def closeness_centrality(graph: Graph, wf_improved: bool = True, **options: Any) -> af.Result:
    """One over the mean distance from the vertices that lead to each one: `centrality`, as in NetworkX.

    `wf_improved` (Wasserman and Faust) multiplies it by the share of all other vertices that lead there, so that small
    components do not look close. Edges are followed in their direction and count 1; self-loops, parallel edges and
    weights make no difference. A vertex without in-edges has 0. Exact, by a search from every vertex, many
    of them at once: a kernel on cores, where each worker takes a share of the searches; on GPUs, and with options that
    only programs have, the program :class:`AllDistances`.

    Examples
    --------
    >>> import arcflux as af
    >>> af.closeness_centrality(af.load("path:3"))["centrality"].round(3).tolist()
    [0.667, 1.0, 0.667]
    """
    found = all_distances(graph, **options)
    reached, total = (found.values[name].astype(np.float64) for name in ("reached", "total"))
    share = np.divide(reached, total, out=np.zeros(len(total)), where=total > 0)
    if wf_improved and graph.vertices > 1:
        share = share * (reached / (graph.vertices - 1))
    result = replace(found, name="closeness", values={"centrality": share})
    return result.checked_by(lambda made: af.validate.closeness(graph, made["centrality"], wf_improved))


@graph_call()
def harmonic_centrality(graph: Graph, **options: Any) -> af.Result:
    """The sum of one over the distances of all vertices that lead to each one: `centrality`, as in NetworkX.

    Edges are followed in their direction and count 1; self-loops, parallel edges and weights make no difference.

    Examples
    --------
    >>> import arcflux as af
    >>> af.harmonic_centrality(af.load("path:3"))["centrality"].tolist()
    [1.5, 2.0, 1.5]
    """
    found = all_distances(graph, **options)
    result = replace(found, name="harmonic", values={"centrality": found.values["harmonic"]})
    return result.checked_by(lambda made: af.validate.harmonic(graph, made["centrality"]))


@graph_call()
def eccentricity(graph: Graph, **options: Any) -> af.Result:
    """The distance of the farthest vertex that can be reached from each one, in edges; inf if some cannot be.

    Its maximum is the diameter, its minimum the radius. Edges are followed in their direction; self-loops, parallel
    edges and weights make no difference.

    Examples
    --------
    >>> import arcflux as af
    >>> af.eccentricity(af.load("path:4"))["eccentricity"].tolist()
    [3.0, 2.0, 2.0, 3.0]
    """
    found = all_distances(graph.reverse(), **options)
    far = found.values["farthest"].astype(np.float64)
    far[found.values["reached"] < graph.vertices - 1] = np.inf
    result = replace(found, name="eccentricity", graph=graph, values={"eccentricity": far})
    return result.checked_by(lambda made: af.validate.eccentricity(graph, made["eccentricity"]))

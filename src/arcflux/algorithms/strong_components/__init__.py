"""Strongly connected components: trimming, then forward and backward colouring (Orzan 2004; Slota and others 2014)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import arcflux as af
from arcflux.engine.call import graph_call
from arcflux.engine.launch import launch_shared
from arcflux.graph import Graph

__all__ = ["StrongComponents", "strongly_connected_components"]


@af.program
class StrongComponents:
    """A vertex without remaining in-neighbours or out-neighbours is a component of its own, and is removed.

    Each other vertex takes the smallest number that reaches it as its colour. A vertex with its own number is the root
    of a colour; the vertices of this colour that reach the root are its component, and are removed, too.
    """

    component: af.ref  # -1 while the vertex remains
    colour: af.i64
    sources: af.i64  # arcs from remaining vertices
    targets: af.i64
    fresh: af.flag  # removed with the last components, and not announced yet

    def start(v):
        v.component = -1
        v.sources = v.in_degree
        v.targets = v.out_degree
        return True

    @af.phase
    class trim_sources:
        """Remove vertices without remaining in-neighbours, repeatedly."""

        sparse = True

        def start(v):
            if v.component < 0 and v.sources == 0:
                v.component = v.number
                return True
            return v.fresh

        def wants(v):
            return v.component < 0

        def compute(v, u):
            v.sources += -1

        def update(v):
            if v.sources == 0:
                v.component = v.number
            return v.sources == 0

    @af.phase(edges="against")
    class trim_targets:
        """The same for out-neighbours."""

        sparse = True

        def start(v):
            if v.component < 0 and v.targets == 0:
                v.component = v.number
                return True
            return v.fresh

        def wants(v):
            return v.component < 0

        def compute(v, u):
            v.targets += -1

        def update(v):
            if v.targets == 0:
                v.component = v.number
            return v.targets == 0

    @af.phase
    class paint:
        """The colour of a vertex is the smallest number that leads to it."""

        sparse = True

        def start(v):
            v.fresh = False
            v.colour = v.number
            return v.component < 0

        def wants(v):
            return v.component < 0

        def compute(v, u):
            v.colour = min(v.colour, u.colour)

        def update(v, old):
            return v.colour < old.colour

    @af.phase(edges="against")
    class collect:
        """Vertices of the colour of a root that lead to it are its component."""

        sparse = True

        def start(v):
            v.fresh = v.component < 0 and v.colour == v.number
            if v.fresh:
                v.component = v.number
            return v.fresh

        def wants(v):
            return v.component < 0

        def compute(v, u, old):
            v.fresh |= u.colour == old.colour

        def update(v):
            if v.fresh:
                v.component = v.colour
            return v.fresh

    @af.phase(edges=None)
    class left:
        """The number of remaining vertices."""

        def update(v):
            return v.component < 0

    def iteration(run, g, p):
        run.trim_sources(until="quiet")
        run.trim_targets(until="quiet")
        if run.left() > 0:
            run.paint(until="quiet")
            run.collect(until="quiet")
        return run.left() > 0


@graph_call()
def strongly_connected_components(graph: Graph, **options: Any) -> af.Result:
    """The strongly connected component of every vertex: the vertices that it reaches and that reach it.

    ``component`` is the id of that vertex of the component which comes first. In an undirected graph these are the
    connected components, which :func:`arcflux.connected_components` finds faster. Weights make no difference. On cores
    that share memory kernels trim, find the largest component by reach both ways, and search the rest depth first;
    elsewhere the program :class:`StrongComponents` runs.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges(["a", "b", "c", "c"], ["b", "c", "b", "d"])
    >>> af.strongly_connected_components(g)["component"].tolist()
    ['a', 'b', 'b', 'd']
    """
    name = "strongly_connected_components"
    done = launch_shared(name, graph, options, lambda worker: worker.kernels(__name__).strong_components(worker))
    if done is not None:
        values, times = {"component": done.answer}, (done.seconds, done.compile_seconds)
        made = done.finish(af.Result(name, graph, values, [], True, *times, frozenset({"component"})))
    else:
        made = af.run(StrongComponents, graph, **options)
        made = replace(made, values={"component": made.values["component"]})
    return made.checked_by(lambda found: af.validate.strong_components(graph, found.numbers("component")))

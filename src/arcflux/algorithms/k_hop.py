"""The neighbourhood of some vertices: distances in edges up to a limit, and the graph of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import arcflux as af
from arcflux.checks import array, flag, unwelcome, wholes
from arcflux.engine.call import graph_call
from arcflux.graph import Graph
from arcflux.graph.subgraphs import induced_subgraph

__all__ = ["Hops", "ego_graph", "k_hop"]

_FAR = 2**31 - 1


@af.program
class Hops:
    """The distance spreads by one edge in each superstep; a vertex at distance `most` sends nothing."""

    most: int = 1
    hops: af.i32

    def start(v, p):
        return v.hops == 0 and p.most > 0

    def compute(v, u):
        v.hops = min(v.hops, u.hops + 1)

    def update(v, old, p):
        return v.hops < old.hops and v.hops < p.most


@graph_call(k=wholes(0), given=unwelcome)
def k_hop(graph: Graph, sources: Any, k: int = 2, **options: Any) -> af.Result:
    """How many edges each vertex is away from the nearest source, from 0 to k: `hops`, -1 where that is more.

    `sources` is an id, or a list of them. Edges are followed in their direction; weights, self-loops and parallel edges
    make no difference. ``graph.subgraph(result.ids[result["hops"] >= 0])`` is the graph of what is near.

    Examples
    --------
    >>> import arcflux as af
    >>> af.k_hop("path:6", 1, k=2)["hops"].tolist()
    [1, 0, 1, 2, -1, -1]
    """
    hops = np.full(graph.vertices, _FAR, np.int32)
    hops[graph.ids.to_numbers(np.atleast_1d(np.asarray(array("sources", sources))))] = 0
    made = af.run(Hops, graph, given={"hops": hops}, most=min(k, _FAR - 1), **options)
    found = made.values["hops"]
    result = replace(made, name="k_hop", values={"hops": np.where(found == _FAR, -1, found).astype(np.int32)})
    return result.checked_by(lambda made: af.validate.k_hop(graph, sources, made["hops"], k))


@graph_call(n=None, radius=wholes(0), center=flag, undirected=flag)
def ego_graph(
    graph: Graph, n: Any, radius: int = 1, center: bool = True, undirected: bool = False, **options: Any
) -> Graph:  # fmt: skip
    """The graph of the vertices at most `radius` edges away from the vertex of id `n`; NetworkX's arguments.

    Without `center` that vertex itself is left out. `undirected`: edges of a directed graph are followed both ways.

    Examples
    --------
    >>> import arcflux as af
    >>> list(af.ego_graph("path:6", 2).ids)
    [1, 2, 3]
    """
    number = graph.ids.to_number(n)
    along = graph.both_ways() if undirected else graph
    near = k_hop(along, [n], radius, **options).values["hops"] >= 0
    near[number] = center
    return induced_subgraph(graph, np.flatnonzero(near))

"""Graphs and ways to run for tests of the library's algorithms, and what other libraries make of the same graphs."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

import arcflux as af

# Where native algorithms run: threads, parts on one node, several nodes of one or two.
NATIVE = [{"threads": 1}, {"parts": 3}, {"parts": 4, "ranks_per_node": 2}, {"parts": 3, "ranks_per_node": 1}]
# Programs have directions besides.
PROGRAM = [{"threads": 1}, {"direction": "push"}, {"parts": 3}, {"parts": 3, "ranks_per_node": 1}]
UNDIRECTED = ["kron:9,ef=4", "urand:n=300,m=420", "grid:12x15"]


def drawn(seed: int, directed: bool = False, n: int = 12, most: int = 3, **kind: Any) -> af.Graph:
    """A small multigraph with loops, parallel edges and small weights that tie; rows in no order in every third."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, n + 1))
    count = int(rng.integers(0, most * size + 1))
    source, target = rng.integers(0, size, (2, count))
    columns = {"weight": rng.integers(1, 5, count)}
    kind = {"vertices": size, "directed": directed, "columns": columns, "sort": seed % 3 > 0, **kind}
    return af.Graph.from_edges(source, target, **kind)


def simple(graph: af.Graph, directed: bool = False) -> Any:
    """A graph of NetworkX's without loops and parallel edges, its nodes the vertex numbers in order."""
    made = nx.DiGraph() if directed else nx.Graph()
    made.add_nodes_from(range(graph.vertices))
    sources, targets, _ = graph.edge_numbers()
    made.add_edges_from((u, v) for u, v in zip(sources.tolist(), targets.tolist(), strict=True) if u != v)
    return made


def multi(graph: af.Graph) -> Any:
    """The same with everything that the graph has."""
    made = nx.MultiDiGraph() if graph.directed else nx.MultiGraph()
    made.add_nodes_from(range(graph.vertices))
    sources, targets, places = graph.edge_numbers()
    weights = graph.columns["weight"][places].tolist() if graph.weighted else [1] * len(places)
    made.add_weighted_edges_from(zip(sources.tolist(), targets.tolist(), weights, strict=True))
    return made


def same_everywhere(call: Any, graph: af.Graph, ways: list[dict[str, Any]], **given: Any) -> Any:
    """The result of a call, which has the same bits wherever it runs: fields of vertices and of edges."""
    known = call(graph, **given)
    for way in ways:
        found = call(graph, **given, **way)
        for name in known.values:
            np.testing.assert_array_equal(found.values[name], known.values[name], err_msg=f"{name} {way}")
        for name in known.edges:
            np.testing.assert_array_equal(found.edges[name], known.edges[name], err_msg=f"{name} {way}")
    return known

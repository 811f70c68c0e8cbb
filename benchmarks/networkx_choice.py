"""What each function of the NetworkX backend takes and gains: the table of integrations/networkx/gains.py.

python benchmarks/networkx_choice.py [--only pagerank triangles]

A line says what a call takes here on a graph of a few nodes, in microseconds, and how much longer NetworkX takes than
Arcflux on one that is converted, in nanoseconds for each arc and node; times all nodes where a function begins a search
at each of them; seconds are those of one processor. The last lines are conversion, an arc or node.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import networkx as nx

from _arcflux_networkx import FUNCTIONS
from arcflux.integrations.networkx.gains import size_of
from arcflux.integrations.networkx.interface import backend
from networkx_backend import make

DIRECTED = {
    "weakly_connected_components", "number_weakly_connected_components", "is_weakly_connected",
    "strongly_connected_components", "number_strongly_connected_components", "is_strongly_connected", "condensation",
    "attracting_components", "number_attracting_components", "is_attracting_component", "in_degree_centrality",
    "out_degree_centrality", "triadic_census", "reciprocity", "overall_reciprocity", "hits",
}  # fmt: skip
ARGUMENTS: dict[str, dict[str, Any]] = {
    "katz_centrality": {"alpha": 0.01}, "k_truss": {"k": 3}, "k_corona": {"k": 2},
    "node_connected_component": {"n": 0}, "has_path": {"source": 0, "target": 1},
    "shortest_path_length": {"source": 0}, "bfs_layers": {"sources": 0}, "eigenvector_centrality": {"max_iter": 1000},
    "descendants_at_distance": {"source": 0, "distance": 3},
    "dijkstra_path": {"source": 0, "target": 1}, "dijkstra_path_length": {"source": 0, "target": 1},
    **{f"multi_source_dijkstra{end}": {"sources": [0]} for end in ("", "_path", "_path_length")},
    **{f"single_target_shortest_path{end}": {"target": 0} for end in ("", "_length")},
    **{name: {"source": 0} for name in (
        "single_source_shortest_path_length", "single_source_shortest_path", "single_source_dijkstra",
        "single_source_dijkstra_path", "single_source_dijkstra_path_length", "bfs_edges", "bfs_tree",
        "bfs_predecessors", "bfs_successors", "descendants", "ancestors",
    )},
}  # fmt: skip
WEIGHTED = ("pagerank", "minimum_spanning", "maximum_spanning", "dijkstra", "dag_longest")


def graph_of(name: str, vertices: int, edges: int) -> Any:
    """A random graph of the kind that the function takes, on which it has to look at everything."""
    if FUNCTIONS[name] == "dags":
        graph = make(nx.DiGraph, vertices, edges)
        return nx.DiGraph((u, v, data) for u, v, data in graph.edges(data=True) if u < v)
    if name in ("is_tree", "is_forest", "is_bipartite"):
        return nx.random_labeled_tree(edges, seed=1)
    graph = make(nx.DiGraph if name in DIRECTED else nx.Graph, vertices, edges)
    graph.add_edges_from(zip(range(vertices), [*range(1, vertices), 0], strict=True), weight=1)  # connected
    return graph


def row(name: str, repeats: int) -> tuple[float, float]:
    """Microseconds of a call on a few nodes, and nanoseconds that each unit of size gains."""
    each = FUNCTIONS[name] == "distances" or name in ("betweenness_centrality", "edge_betweenness_centrality")
    large = (300, 1_500) if each or name.startswith("all_pairs") else (2_000, 10_000)
    _, call, _ = measured(name, repeats, 8, 16)
    size, here, there = measured(name, repeats, *large)
    return call * 1e6, (there - (here - call)) / size * 1e9


def measured(name: str, repeats: int, vertices: int, edges: int) -> tuple[int, float, float]:
    """The size of a graph, and the seconds that a call takes on it, here and with NetworkX."""
    graph, arguments = graph_of(name, vertices, edges), dict(ARGUMENTS.get(name, {}))
    weighted = {"weight": 1} if any(word in name for word in WEIGHTED) else None
    for *_, data in graph.edges(data=True):
        if weighted is None:
            data.clear()
    if FUNCTIONS[name] == "links":
        arguments["ebunch"] = list(graph.edges)
    converted, own, peer = backend.convert_from_nx(graph, weighted), getattr(backend, name), getattr(nx, name)
    seconds(lambda: own(converted, **arguments))  # compiles, if need be
    here = min(seconds(lambda: own(converted, **arguments)) for _ in range(repeats))
    there = min(seconds(lambda: peer(graph, **arguments)) for _ in range(max(1, repeats // 2)))
    return size_of(name, {"G": graph, **arguments}), here, there


def seconds(call: Callable[[], Any]) -> float:
    """Of the processor, so that other work on the machine does not count."""
    begun = time.process_time()
    result = call()
    if isinstance(result, Iterator):
        for _ in result:
            pass
    return time.process_time() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=list(FUNCTIONS))
    parser.add_argument("--repeats", type=int, default=5)
    chosen = parser.parse_args()
    nx.config.backends.arcflux.threads = 1
    for name in chosen.only:
        call, gain = row(name, chosen.repeats)
        print(f'    "{name}": ({call:.0f}, {gain:.3g}),', flush=True)
    graph = make(nx.Graph, 20_000, 200_000)
    arcs = 2 * graph.number_of_edges() + len(graph)
    for said, attributes in (("conversion", None), ("with weights", {"weight": 1})):
        taken = [seconds(partial(backend.convert_from_nx, graph, attributes)) for _ in range(chosen.repeats)]
        print(f"{said}: {min(taken) / arcs * 1e9:.0f} ns")


if __name__ == "__main__":
    main()

"""The NetworkX backend beside NetworkX itself, on one graph: with conversion, without, and converting alone.

python benchmarks/networkx_backend.py --edges 1000000 --json networkx_backend
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import networkx as nx
import numpy as np

from arcflux.integrations.networkx.interface import backend
from measure import save

CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "pagerank": ("graph", {}),
    "betweenness_centrality": ("graph", {"k": 10, "seed": 1}),
    "connected_components": ("graph", {}),
    "triangles": ("graph", {}),
    "core_number": ("graph", {}),
    "single_source_dijkstra_path_length": ("graph", {"source": 0}),
    "strongly_connected_components": ("directed", {}),
    "k_truss": ("graph", {"k": 3}),
    "minimum_spanning_edges": ("graph", {}),
    "biconnected_components": ("graph", {}),
    "bridges": ("graph", {}),
    "greedy_color": ("graph", {}),
    "is_bipartite": ("graph", {}),
}
WEIGHTED = ("pagerank", "single_source_dijkstra_path_length", "minimum_spanning_edges")


def make(kind: Any, vertices: int, edges: int) -> Any:
    rng = np.random.default_rng(1)
    ends = rng.integers(0, vertices, (2, edges))
    keep = ends[0] != ends[1]
    weights = rng.integers(1, 100, edges)
    graph = kind()
    graph.add_nodes_from(range(vertices))
    graph.add_weighted_edges_from(zip(*ends[:, keep].tolist(), weights[keep].tolist(), strict=True))
    return graph


def walked(graph: Any) -> tuple[list[int], list[int], list[int]]:
    """What conversion takes without chains of iterators: every edge in a loop of Python's."""
    index = {node: number for number, node in enumerate(graph)}
    sources, targets, weights = [], [], []
    for u, row in graph.adjacency():
        for v, data in row.items():
            sources.append(index[u])
            targets.append(index[v])
            weights.append(data.get("weight", 1))
    return np.array(sources), np.array(targets), np.array(weights)  # type: ignore[return-value]


def seconds(call: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    result = call()
    if isinstance(result, Iterator):
        for _ in result:
            pass
    return time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--vertices", type=int, default=100_000)
    parser.add_argument("--only", nargs="*", default=list(CALLS))
    parser.add_argument("--json", default="", help="also write results/NAME.json, or a file that ends in .json")
    parser.add_argument("--no-networkx", action="store_true", help="measure the backend alone")
    chosen = parser.parse_args()
    graphs = {"graph": make(nx.Graph, chosen.vertices, chosen.edges)}
    if any(CALLS[name][0] == "directed" for name in chosen.only):
        graphs["directed"] = make(nx.DiGraph, chosen.vertices, chosen.edges)
    attributes = {"edge_attrs": {"weight": 1}}
    plain = min(seconds(lambda: walked(graphs["graph"])) for _ in range(3))
    own = min(seconds(lambda: backend.convert_from_nx(graphs["graph"], **attributes)) for _ in range(3))
    print(f"converting {own:.3f} s, by a plain loop {plain:.3f} s: {plain / own:.1f}x")
    print(f"{'function':<36} {'NetworkX':>9} {'with':>8} {'without':>8}   times faster: with, without conversion")
    rows = {}
    for name in chosen.only:
        which, arguments = CALLS[name]
        peer = None if chosen.no_networkx else getattr(nx, name)
        rows[name] = measure(name, graphs[which], arguments, peer)
    if chosen.json:
        size = {"vertices": chosen.vertices, "edges": chosen.edges, "convert": own, "plain_loop": plain}
        save(chosen.json, {**size, "functions": rows})


def measure(
    name: str, graph: Any, arguments: dict[str, Any], peer: Callable[..., Any] | None
) -> dict[str, float]:  # fmt: skip
    """Print a row, and return it: best of three, after a call that compiles if need be; NetworkX once."""
    call, edge_attrs = getattr(backend, name), {"weight": 1} if name in WEIGHTED else None
    converted = backend.convert_from_nx(graph, edge_attrs)
    seconds(lambda: call(converted, **arguments))
    whole = min(seconds(lambda: call(backend.convert_from_nx(graph, edge_attrs), **arguments)) for _ in range(3))
    alone = min(seconds(lambda: call(converted, **arguments)) for _ in range(3))
    theirs = float("nan") if peer is None else seconds(lambda: peer(graph, **arguments))
    print(
        f"{name:<36} {theirs:9.3f} {whole:8.3f} {alone:8.3f}   {theirs / whole:7.1f} {theirs / alone:7.1f}", flush=True
    )
    return {"networkx": theirs, "with_conversion": whole, "without_conversion": alone}


if __name__ == "__main__":
    main()

"""What calls take and gain, by one table that was measured, and the rule that says which are worth it.

``GAINS[name]`` is what a call takes here on a graph of a few nodes, in microseconds, and how much longer NetworkX takes
than Arcflux on a converted graph, in nanoseconds a unit of size: arcs and nodes, times the nodes where a function
begins a search at each, or the pairs that it is asked for. A call is worth it where its size times the gain, less what
conversion takes if the graph is not converted yet, is more than the call itself. benchmarks/networkx_choice.py prints
the table: random graphs of 10 arcs a node, and the time of one processor on both sides, as if more gained nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from _arcflux_networkx import FUNCTIONS

__all__ = ["BEGINNING", "CONVERSION", "GAINS", "WEIGHTS", "size_of", "worth_it"]

# Nanoseconds that converting a graph of a million edges takes, an arc or node, and its weights besides; microseconds
# that it takes at least.
CONVERSION, WEIGHTS, BEGINNING = 20, 50, 20
_EACH = frozenset((
    "betweenness_centrality", "edge_betweenness_centrality", "all_pairs_shortest_path_length",
    "all_pairs_shortest_path", "all_pairs_dijkstra", "all_pairs_dijkstra_path", "all_pairs_dijkstra_path_length",
    *(name for name, module in FUNCTIONS.items() if module == "distances"),
))  # fmt: skip
GAINS: Mapping[str, tuple[float, float]] = {
    "pagerank": (360, 410), "hits": (3500, 970), "degree_centrality": (5, 5.8), "in_degree_centrality": (4, 6.4),
    "out_degree_centrality": (4, 6.5), "betweenness_centrality": (1200, 94),
    "edge_betweenness_centrality": (68, 130), "katz_centrality": (260, 2400),
    "eigenvector_centrality": (1200, 1100), "connected_components": (69, 24),
    "number_connected_components": (56, 24), "is_connected": (54, 24), "node_connected_component": (54, 21),
    "weakly_connected_components": (61, 46), "number_weakly_connected_components": (54, 47),
    "is_weakly_connected": (52, 44), "strongly_connected_components": (7, 250),
    "number_strongly_connected_components": (6, 240), "is_strongly_connected": (6, 240), "condensation": (23, 320),
    "attracting_components": (16, 320), "number_attracting_components": (16, 340),
    "is_attracting_component": (16, 320), "articulation_points": (19, 180), "biconnected_components": (32, 280),
    "is_biconnected": (20, 320), "bridges": (34, 1600), "has_bridges": (30, 1700), "core_number": (52, 160),
    "k_core": (120, 200), "k_shell": (130, 160), "k_crust": (75, 210), "k_corona": (81, 180),
    "k_truss": (120, 1300), "triangles": (100, 340), "clustering": (110, 1300), "average_clustering": (100, 1300),
    "transitivity": (110, 1400), "triadic_census": (150, 36000), "closeness_centrality": (77, 16),
    "harmonic_centrality": (73, 21), "eccentricity": (75, 18), "diameter": (77, 18), "radius": (78, 17),
    "periphery": (77, 18), "average_shortest_path_length": (63, 17), "wiener_index": (61, 17),
    "topological_generations": (6, 130), "topological_sort": (6, 130), "is_directed_acyclic_graph": (5, 140),
    "dag_longest_path_length": (1100, 700), "minimum_spanning_edges": (93, 510),
    "maximum_spanning_edges": (81, 540), "minimum_spanning_tree": (100, 610), "maximum_spanning_tree": (99, 670),
    "jaccard_coefficient": (48, 2800), "adamic_adar_index": (45, 1200), "resource_allocation_index": (44, 1100),
    "preferential_attachment": (11, 180), "greedy_color": (72, 79), "is_bipartite": (7, 110), "is_tree": (56, 74),
    "is_forest": (52, 710), "isolates": (4, 5.5), "number_of_isolates": (3, 5.7), "reciprocity": (14, 1400),
    "overall_reciprocity": (13, 1200), "degree_assortativity_coefficient": (35, 620),
    "single_source_shortest_path_length": (9, 23), "single_target_shortest_path_length": (8, 25),
    "single_source_shortest_path": (9, 23), "single_target_shortest_path": (9, 23),
    "all_pairs_shortest_path_length": (46, 11), "all_pairs_shortest_path": (48, 9.1), "has_path": (7, 0.12),
    "shortest_path_length": (8, 24), "single_source_dijkstra": (320, 320),
    "single_source_dijkstra_path": (330, 300), "single_source_dijkstra_path_length": (320, 260),
    "multi_source_dijkstra": (320, 380), "multi_source_dijkstra_path": (300, 320),
    "multi_source_dijkstra_path_length": (340, 320), "dijkstra_path": (320, -10),
    "dijkstra_path_length": (250, -5.7), "all_pairs_dijkstra": (2400, 82), "all_pairs_dijkstra_path": (2500, 83),
    "all_pairs_dijkstra_path_length": (2400, 74), "bfs_edges": (8, 30), "bfs_tree": (17, 43),
    "bfs_predecessors": (8, 35), "bfs_successors": (16, 37), "bfs_layers": (9, 40),
    "descendants_at_distance": (8, 2.9), "descendants": (7, 40), "ancestors": (8, 39),
}  # fmt: skip


def size_of(name: str, given: Mapping[str, Any]) -> int:
    """Arcs and nodes, times the nodes from which a function searches; pairs, of links."""
    graph = given["G"]
    if FUNCTIONS[name] == "links":
        return len(given["ebunch"]) if hasattr(given["ebunch"], "__len__") else 0
    size = _arcs_and_nodes(graph)
    if name not in _EACH:
        return size
    sources = given.get("k")
    return size * (len(graph) if sources is None else min(sources, len(graph)))


def worth_it(name: str, given: Mapping[str, Any], converted: bool) -> bool | str:
    """True, or why a call is sooner done by NetworkX.

    Examples
    --------
    >>> import networkx as nx
    >>> path = nx.path_graph(20)
    >>> worth_it("core_number", {"G": path}, True), worth_it("dijkstra_path", {"G": path}, True)
    ('the graph is too small to be worth it', 'it looks at less than conversion would')
    """
    call, gain = GAINS[name]
    gained = max(gain, 0.0) * size_of(name, given)
    if not converted:
        gained -= (CONVERSION + (WEIGHTS if given.get("weight") is not None else 0)) * _arcs_and_nodes(given["G"])
        call += BEGINNING
    if gained > 1000 * call:
        return True
    return "the graph is too small to be worth it" if gained > 0 else "it looks at less than conversion would"


def _arcs_and_nodes(graph: Any) -> int:
    found: int = len(graph) + graph.number_of_edges() * (1 if graph.is_directed() else 2)
    return found

"""What NetworkX reads of Arcflux when it is imported: names alone, so that ``import networkx`` stays as fast as it was.

It stands outside of the package because importing any module of a package imports the package itself.
"""

from __future__ import annotations

from typing import Any

__all__ = ["FUNCTIONS", "SETTINGS", "get_info"]

# The functions that the backend has, by the module of arcflux.integrations.networkx.functions that they are in.
_MODULES = {
    "centrality": (
        "pagerank hits degree_centrality in_degree_centrality out_degree_centrality betweenness_centrality "
        "edge_betweenness_centrality katz_centrality eigenvector_centrality"
    ),
    "components": (
        "connected_components number_connected_components is_connected node_connected_component "
        "weakly_connected_components number_weakly_connected_components is_weakly_connected "
        "strongly_connected_components number_strongly_connected_components is_strongly_connected "
        "condensation attracting_components number_attracting_components is_attracting_component"
    ),
    "cuts": "articulation_points biconnected_components is_biconnected bridges has_bridges",
    "cores": "core_number k_core k_shell k_crust k_corona k_truss",
    "clusters": "triangles clustering average_clustering transitivity triadic_census",
    "distances": (
        "closeness_centrality harmonic_centrality eccentricity diameter radius periphery average_shortest_path_length "
        "wiener_index"
    ),
    "dags": "topological_generations topological_sort is_directed_acyclic_graph dag_longest_path_length",
    "trees": "minimum_spanning_edges maximum_spanning_edges minimum_spanning_tree maximum_spanning_tree",
    "links": "jaccard_coefficient adamic_adar_index resource_allocation_index preferential_attachment",
    "shapes": "greedy_color is_bipartite is_tree is_forest",
    "degrees": "isolates number_of_isolates reciprocity overall_reciprocity degree_assortativity_coefficient",
    "paths": (
        "single_source_shortest_path_length single_target_shortest_path_length single_source_shortest_path "
        "single_target_shortest_path all_pairs_shortest_path_length all_pairs_shortest_path has_path "
        "shortest_path_length"
    ),
    "weighted_paths": (
        "single_source_dijkstra single_source_dijkstra_path single_source_dijkstra_path_length multi_source_dijkstra "
        "multi_source_dijkstra_path multi_source_dijkstra_path_length dijkstra_path dijkstra_path_length "
        "all_pairs_dijkstra all_pairs_dijkstra_path all_pairs_dijkstra_path_length"
    ),
    "traversal": (
        "bfs_edges bfs_tree bfs_predecessors bfs_successors bfs_layers descendants_at_distance descendants ancestors"
    ),
}
FUNCTIONS: dict[str, str] = {name: module for module, names in _MODULES.items() for name in names.split()}

# nx.config.backends.arcflux: options of af.run that say where it runs, and how small a graph is too small (choice.py).
SETTINGS: dict[str, Any] = {"threads": None, "parts": None, "partition": None, "devices": None, "always": False}


def get_info() -> dict[str, Any]:
    """What NetworkX shows of the backend, and its settings as they are at first."""
    said = (
        "Runs on all cores (or parts, or GPUs, by nx.config.backends.arcflux); values, order and errors are NetworkX's."
    )
    return {
        "backend_name": "arcflux",
        "project": "arcflux",
        "package": "arcflux",
        "url": "",
        "short_summary": "Parallel graph algorithms on cores, GPUs and clusters.",
        "description": "A graph is converted once, kept in its cache, and given to compiled programs.",
        "functions": {name: {"additional_docs": said} for name in sorted(FUNCTIONS)},
        "default_config": dict(SETTINGS),
    }

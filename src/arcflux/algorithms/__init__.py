"""The algorithms users know: one file each, or one folder with kernels for cores and GPUs beside the algorithm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arcflux.lazy import import_lazily

if TYPE_CHECKING:
    from arcflux.algorithms.betweenness import betweenness_centrality
    from arcflux.algorithms.bfs import BFS, bfs
    from arcflux.algorithms.biconnected import articulation_points, biconnected_components, bridges
    from arcflux.algorithms.bipartite_matching import maximum_bipartite_matching
    from arcflux.algorithms.closeness import AllDistances, closeness_centrality, eccentricity, harmonic_centrality
    from arcflux.algorithms.clustering import clustering
    from arcflux.algorithms.collaborative_filtering import (
        CollaborativeFiltering,
        collaborative_filtering,
        predict,
        recommend,
    )
    from arcflux.algorithms.coloring import Coloring, greedy_color
    from arcflux.algorithms.components import Components, connected_components, weakly_connected_components
    from arcflux.algorithms.condensation import condensation
    from arcflux.algorithms.core_number import CoreNumber, core_number, k_core
    from arcflux.algorithms.degrees import degree_assortativity_coefficient, degree_centrality, density, reciprocity
    from arcflux.algorithms.edge_betweenness import edge_betweenness_centrality
    from arcflux.algorithms.edge_subset import EdgeSubset
    from arcflux.algorithms.eigenvector import Eigenvector, WeightedEigenvector, eigenvector_centrality
    from arcflux.algorithms.extent import average_shortest_path_length, center, diameter, periphery, radius
    from arcflux.algorithms.fast_random_projection import FastRP, fast_random_projection
    from arcflux.algorithms.hits import HITS, hits
    from arcflux.algorithms.hyperball import HyperBall, approximate_closeness
    from arcflux.algorithms.independent_set import IndependentSet, maximal_independent_set
    from arcflux.algorithms.k_hop import Hops, ego_graph, k_hop
    from arcflux.algorithms.k_truss import edge_support, k_truss, truss_number
    from arcflux.algorithms.katz import Katz, WeightedKatz, katz_centrality
    from arcflux.algorithms.label_propagation import label_propagation
    from arcflux.algorithms.matching import Matching, maximal_matching
    from arcflux.algorithms.pagerank import (
        PageRank,
        PersonalPageRank,
        PushPageRank,
        WeightedPageRank,
        pagerank,
        pagerank_delta,
    )
    from arcflux.algorithms.paths import (
        all_pairs_distances,
        astar_path,
        distance_matrix,
        has_path,
        k_shortest_paths,
        shortest_path,
        shortest_path_length,
    )
    from arcflux.algorithms.similarity import (
        adamic_adar_index,
        cosine_similarity,
        jaccard_coefficient,
        most_similar,
        overlap_coefficient,
        resource_allocation_index,
    )
    from arcflux.algorithms.spanning_forest import maximum_spanning_tree, minimum_spanning_tree
    from arcflux.algorithms.sssp import SSSP, multi_source_sssp, sssp
    from arcflux.algorithms.strong_components import StrongComponents, strongly_connected_components
    from arcflux.algorithms.topological import (
        Generations,
        LongestPaths,
        dag_longest_path,
        dag_longest_path_length,
        topological_sort,
    )
    from arcflux.algorithms.transitivity import average_clustering, transitivity
    from arcflux.algorithms.triad_census import triad_census
    from arcflux.algorithms.triangles import triangle_count, triangles
    from arcflux.algorithms.two_hop_friends import TwoHopFriends, two_hop_friends
    from arcflux.algorithms.voterank import voterank

__all__ = [
    "BFS",
    "HITS",
    "SSSP",
    "AllDistances",
    "CollaborativeFiltering",
    "Coloring",
    "Components",
    "CoreNumber",
    "EdgeSubset",
    "Eigenvector",
    "FastRP",
    "Generations",
    "Hops",
    "HyperBall",
    "IndependentSet",
    "Katz",
    "LongestPaths",
    "Matching",
    "PageRank",
    "PersonalPageRank",
    "PushPageRank",
    "StrongComponents",
    "TwoHopFriends",
    "WeightedEigenvector",
    "WeightedKatz",
    "WeightedPageRank",
    "adamic_adar_index",
    "all_pairs_distances",
    "approximate_closeness",
    "articulation_points",
    "astar_path",
    "average_clustering",
    "average_shortest_path_length",
    "betweenness_centrality",
    "bfs",
    "biconnected_components",
    "bridges",
    "center",
    "closeness_centrality",
    "clustering",
    "collaborative_filtering",
    "condensation",
    "connected_components",
    "core_number",
    "cosine_similarity",
    "dag_longest_path",
    "dag_longest_path_length",
    "degree_assortativity_coefficient",
    "degree_centrality",
    "density",
    "diameter",
    "distance_matrix",
    "eccentricity",
    "edge_betweenness_centrality",
    "edge_support",
    "ego_graph",
    "eigenvector_centrality",
    "fast_random_projection",
    "greedy_color",
    "harmonic_centrality",
    "has_path",
    "hits",
    "jaccard_coefficient",
    "k_core",
    "k_hop",
    "k_shortest_paths",
    "k_truss",
    "katz_centrality",
    "label_propagation",
    "maximal_independent_set",
    "maximal_matching",
    "maximum_bipartite_matching",
    "maximum_spanning_tree",
    "minimum_spanning_tree",
    "most_similar",
    "multi_source_sssp",
    "overlap_coefficient",
    "pagerank",
    "pagerank_delta",
    "periphery",
    "predict",
    "radius",
    "reciprocity",
    "recommend",
    "resource_allocation_index",
    "shortest_path",
    "shortest_path_length",
    "sssp",
    "strongly_connected_components",
    "topological_sort",
    "transitivity",
    "triad_census",
    "triangle_count",
    "triangles",
    "truss_number",
    "two_hop_friends",
    "voterank",
    "weakly_connected_components",
]

import_lazily(
    __name__,
    {
        "betweenness": "betweenness_centrality",
        "bfs": "BFS bfs",
        "biconnected": "articulation_points biconnected_components bridges",
        "bipartite_matching": "maximum_bipartite_matching",
        "closeness": "AllDistances closeness_centrality eccentricity harmonic_centrality",
        "clustering": "clustering",
        "collaborative_filtering": "CollaborativeFiltering collaborative_filtering predict recommend",
        "coloring": "Coloring greedy_color",
        "components": "Components connected_components weakly_connected_components",
        "condensation": "condensation",
        "core_number": "CoreNumber core_number k_core",
        "degrees": "degree_assortativity_coefficient degree_centrality density reciprocity",
        "edge_betweenness": "edge_betweenness_centrality",
        "edge_subset": "EdgeSubset",
        "eigenvector": "Eigenvector WeightedEigenvector eigenvector_centrality",
        "extent": "average_shortest_path_length center diameter periphery radius",
        "fast_random_projection": "FastRP fast_random_projection",
        "hits": "HITS hits",
        "hyperball": "HyperBall approximate_closeness",
        "independent_set": "IndependentSet maximal_independent_set",
        "k_hop": "Hops ego_graph k_hop",
        "k_truss": "edge_support k_truss truss_number",
        "katz": "Katz WeightedKatz katz_centrality",
        "label_propagation": "label_propagation",
        "matching": "Matching maximal_matching",
        "pagerank": "PageRank PersonalPageRank PushPageRank WeightedPageRank pagerank pagerank_delta",
        "paths": "all_pairs_distances astar_path distance_matrix"
        " has_path k_shortest_paths shortest_path shortest_path_length",
        "similarity": "adamic_adar_index cosine_similarity jaccard_coefficient"
        " most_similar overlap_coefficient resource_allocation_index",
        "spanning_forest": "maximum_spanning_tree minimum_spanning_tree",
        "sssp": "SSSP multi_source_sssp sssp",
        "strong_components": "StrongComponents strongly_connected_components",
        "topological": "Generations LongestPaths dag_longest_path dag_longest_path_length topological_sort",
        "transitivity": "average_clustering transitivity",
        "triad_census": "triad_census",
        "triangles": "triangle_count triangles",
        "two_hop_friends": "TwoHopFriends two_hop_friends",
        "voterank": "voterank",
    },
)

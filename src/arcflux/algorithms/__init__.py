"""The algorithms users know: one file each, or one folder with kernels for cores and GPUs beside the algorithm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arcflux.lazy import import_lazily

if TYPE_CHECKING:
    from arcflux.algorithms.betweenness import betweenness_centrality
    from arcflux.algorithms.bfs import BFS, bfs
    from arcflux.algorithms.biconnected import articulation_points, biconnected_components, bridges
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
    from arcflux.algorithms.core_number import CoreNumber, core_number
    from arcflux.algorithms.edge_subset import EdgeSubset
    from arcflux.algorithms.eigenvector import Eigenvector, WeightedEigenvector, eigenvector_centrality
    from arcflux.algorithms.hits import HITS, hits
    from arcflux.algorithms.independent_set import IndependentSet, maximal_independent_set
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
    from arcflux.algorithms.triangles import triangle_count, triangles
    from arcflux.algorithms.two_hop_friends import TwoHopFriends, two_hop_friends

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
    "Generations",
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
    "articulation_points",
    "betweenness_centrality",
    "bfs",
    "biconnected_components",
    "bridges",
    "closeness_centrality",
    "clustering",
    "collaborative_filtering",
    "condensation",
    "connected_components",
    "core_number",
    "dag_longest_path",
    "dag_longest_path_length",
    "eccentricity",
    "edge_support",
    "eigenvector_centrality",
    "greedy_color",
    "harmonic_centrality",
    "hits",
    "k_truss",
    "katz_centrality",
    "label_propagation",
    "maximal_independent_set",
    "maximal_matching",
    "maximum_spanning_tree",
    "minimum_spanning_tree",
    "multi_source_sssp",
    "pagerank",
    "pagerank_delta",
    "predict",
    "recommend",
    "sssp",
    "strongly_connected_components",
    "topological_sort",
    "triangle_count",
    "triangles",
    "truss_number",
    "two_hop_friends",
    "weakly_connected_components",
]

import_lazily(
    __name__,
    {
        "betweenness": "betweenness_centrality",
        "bfs": "BFS bfs",
        "biconnected": "articulation_points biconnected_components bridges",
        "closeness": "AllDistances closeness_centrality eccentricity harmonic_centrality",
        "clustering": "clustering",
        "collaborative_filtering": "CollaborativeFiltering collaborative_filtering predict recommend",
        "coloring": "Coloring greedy_color",
        "components": "Components connected_components weakly_connected_components",
        "condensation": "condensation",
        "core_number": "CoreNumber core_number",
        "edge_subset": "EdgeSubset",
        "eigenvector": "Eigenvector WeightedEigenvector eigenvector_centrality",
        "hits": "HITS hits",
        "independent_set": "IndependentSet maximal_independent_set",
        "k_truss": "edge_support k_truss truss_number",
        "katz": "Katz WeightedKatz katz_centrality",
        "label_propagation": "label_propagation",
        "matching": "Matching maximal_matching",
        "pagerank": "PageRank PersonalPageRank PushPageRank WeightedPageRank pagerank pagerank_delta",
        "spanning_forest": "maximum_spanning_tree minimum_spanning_tree",
        "sssp": "SSSP multi_source_sssp sssp",
        "strong_components": "StrongComponents strongly_connected_components",
        "topological": "Generations LongestPaths dag_longest_path dag_longest_path_length topological_sort",
        "triangles": "triangle_count triangles",
        "two_hop_friends": "TwoHopFriends two_hop_friends",
    },
)

"""The algorithms users know: one file each, or one folder with kernels for cores and GPUs beside the algorithm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arcflux.lazy import import_lazily

if TYPE_CHECKING:
    from arcflux.algorithms.betweenness import betweenness_centrality
    from arcflux.algorithms.bfs import BFS, bfs
    from arcflux.algorithms.closeness import AllDistances, closeness_centrality, eccentricity, harmonic_centrality
    from arcflux.algorithms.clustering import clustering
    from arcflux.algorithms.collaborative_filtering import (
        CollaborativeFiltering,
        collaborative_filtering,
        predict,
        recommend,
    )
    from arcflux.algorithms.components import Components, connected_components, weakly_connected_components
    from arcflux.algorithms.core_number import CoreNumber, core_number
    from arcflux.algorithms.eigenvector import Eigenvector, WeightedEigenvector, eigenvector_centrality
    from arcflux.algorithms.hits import HITS, hits
    from arcflux.algorithms.katz import Katz, WeightedKatz, katz_centrality
    from arcflux.algorithms.label_propagation import label_propagation
    from arcflux.algorithms.pagerank import (
        PageRank,
        PersonalPageRank,
        PushPageRank,
        WeightedPageRank,
        pagerank,
        pagerank_delta,
    )
    from arcflux.algorithms.sssp import SSSP, multi_source_sssp, sssp
    from arcflux.algorithms.strong_components import StrongComponents, strongly_connected_components
    from arcflux.algorithms.triangles import triangle_count, triangles
    from arcflux.algorithms.two_hop_friends import TwoHopFriends, two_hop_friends

__all__ = [
    "BFS",
    "HITS",
    "SSSP",
    "AllDistances",
    "CollaborativeFiltering",
    "Components",
    "CoreNumber",
    "Eigenvector",
    "Katz",
    "PageRank",
    "PersonalPageRank",
    "PushPageRank",
    "StrongComponents",
    "TwoHopFriends",
    "WeightedEigenvector",
    "WeightedKatz",
    "WeightedPageRank",
    "betweenness_centrality",
    "bfs",
    "closeness_centrality",
    "clustering",
    "collaborative_filtering",
    "connected_components",
    "core_number",
    "eccentricity",
    "eigenvector_centrality",
    "harmonic_centrality",
    "hits",
    "katz_centrality",
    "label_propagation",
    "multi_source_sssp",
    "pagerank",
    "pagerank_delta",
    "predict",
    "recommend",
    "sssp",
    "strongly_connected_components",
    "triangle_count",
    "triangles",
    "two_hop_friends",
    "weakly_connected_components",
]

import_lazily(
    __name__,
    {
        "betweenness": "betweenness_centrality",
        "bfs": "BFS bfs",
        "closeness": "AllDistances closeness_centrality eccentricity harmonic_centrality",
        "clustering": "clustering",
        "collaborative_filtering": "CollaborativeFiltering collaborative_filtering predict recommend",
        "components": "Components connected_components weakly_connected_components",
        "core_number": "CoreNumber core_number",
        "eigenvector": "Eigenvector WeightedEigenvector eigenvector_centrality",
        "hits": "HITS hits",
        "katz": "Katz WeightedKatz katz_centrality",
        "label_propagation": "label_propagation",
        "pagerank": "PageRank PersonalPageRank PushPageRank WeightedPageRank pagerank pagerank_delta",
        "sssp": "SSSP multi_source_sssp sssp",
        "strong_components": "StrongComponents strongly_connected_components",
        "triangles": "triangle_count triangles",
        "two_hop_friends": "TwoHopFriends two_hop_friends",
    },
)

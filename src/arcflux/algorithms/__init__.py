"""The algorithms users know: one file each, or one folder with kernels for cores and GPUs beside the algorithm."""

from arcflux.algorithms.betweenness import betweenness_centrality
from arcflux.algorithms.bfs import BFS, bfs
from arcflux.algorithms.clustering import clustering
from arcflux.algorithms.collaborative_filtering import (
    CollaborativeFiltering,
    collaborative_filtering,
    predict,
    recommend,
)
from arcflux.algorithms.components import Components, connected_components, weakly_connected_components
from arcflux.algorithms.core_number import CoreNumber, core_number
from arcflux.algorithms.hits import HITS, hits
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
    "CollaborativeFiltering",
    "Components",
    "CoreNumber",
    "PageRank",
    "PersonalPageRank",
    "PushPageRank",
    "StrongComponents",
    "TwoHopFriends",
    "WeightedPageRank",
    "betweenness_centrality",
    "bfs",
    "clustering",
    "collaborative_filtering",
    "connected_components",
    "core_number",
    "hits",
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

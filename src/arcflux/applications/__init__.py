"""The applications of the HIVE study: one file each, or one folder with kernels beside the application."""

from typing import TYPE_CHECKING

from arcflux.lazy import import_lazily

if TYPE_CHECKING:
    from arcflux.applications.classify import Classification, classify
    from arcflux.applications.fused_lasso import FusedLasso, fused_lasso
    from arcflux.applications.geolocate import Located, geolocate, spatial_median
    from arcflux.applications.graph_search import graph_search
    from arcflux.applications.graphsage import Embedding, graphsage, random_weights
    from arcflux.applications.local_clustering import LocalClusters, local_clustering
    from arcflux.applications.louvain import Communities, leiden, louvain
    from arcflux.applications.match_graphs import Matching, match_graphs
    from arcflux.applications.maximum_flow import Flow, maximum_flow, minimum_cut
    from arcflux.applications.modularity import modularity
    from arcflux.applications.node2vec import deepwalk, node2vec
    from arcflux.applications.partition_quality import (
        adjusted_rand_index,
        conductance,
        coverage,
        normalized_mutual_information,
    )
    from arcflux.applications.project import Projection, project
    from arcflux.applications.random_walks import Walks, random_walks
    from arcflux.applications.scan_statistics import ScanStatistics, scan_statistics
    from arcflux.applications.vertex_nomination import Nominations, vertex_nomination

__all__ = [
    "Classification",
    "Communities",
    "Embedding",
    "Flow",
    "FusedLasso",
    "LocalClusters",
    "Located",
    "Matching",
    "Nominations",
    "Projection",
    "ScanStatistics",
    "Walks",
    "adjusted_rand_index",
    "classify",
    "conductance",
    "coverage",
    "deepwalk",
    "fused_lasso",
    "geolocate",
    "graph_search",
    "graphsage",
    "leiden",
    "local_clustering",
    "louvain",
    "match_graphs",
    "maximum_flow",
    "minimum_cut",
    "modularity",
    "node2vec",
    "normalized_mutual_information",
    "project",
    "random_walks",
    "random_weights",
    "scan_statistics",
    "spatial_median",
    "vertex_nomination",
]

import_lazily(
    __name__,
    {
        "classify": "Classification classify",
        "fused_lasso": "FusedLasso fused_lasso",
        "geolocate": "Located geolocate spatial_median",
        "graph_search": "graph_search",
        "graphsage": "Embedding graphsage random_weights",
        "local_clustering": "LocalClusters local_clustering",
        "louvain": "Communities leiden louvain",
        "match_graphs": "Matching match_graphs",
        "maximum_flow": "Flow maximum_flow minimum_cut",
        "modularity": "modularity",
        "node2vec": "deepwalk node2vec",
        "partition_quality": "adjusted_rand_index conductance coverage normalized_mutual_information",
        "project": "Projection project",
        "random_walks": "Walks random_walks",
        "scan_statistics": "ScanStatistics scan_statistics",
        "vertex_nomination": "Nominations vertex_nomination",
    },
)

"""The applications of the HIVE study: one file each, or one folder with kernels beside the application."""

from typing import TYPE_CHECKING

from arcflux.lazy import import_lazily

if TYPE_CHECKING:
    from arcflux.applications.graph_search import graph_search
    from arcflux.applications.louvain import Communities, leiden, louvain
    from arcflux.applications.maximum_flow import Flow, maximum_flow, minimum_cut
    from arcflux.applications.modularity import modularity
    from arcflux.applications.partition_quality import (
        adjusted_rand_index,
        conductance,
        coverage,
        normalized_mutual_information,
    )
    from arcflux.applications.project import Projection, project
    from arcflux.applications.random_walks import Walks, random_walks

__all__ = [
    "Communities",
    "Flow",
    "Projection",
    "Walks",
    "adjusted_rand_index",
    "conductance",
    "coverage",
    "graph_search",
    "leiden",
    "louvain",
    "maximum_flow",
    "minimum_cut",
    "modularity",
    "normalized_mutual_information",
    "project",
    "random_walks",
]

import_lazily(
    __name__,
    {
        "graph_search": "graph_search",
        "louvain": "Communities leiden louvain",
        "maximum_flow": "Flow maximum_flow minimum_cut",
        "modularity": "modularity",
        "partition_quality": "adjusted_rand_index conductance coverage normalized_mutual_information",
        "project": "Projection project",
        "random_walks": "Walks random_walks",
    },
)

"""The applications of the HIVE study: one file each, or one folder with kernels beside the application."""

from typing import TYPE_CHECKING

from arcflux.lazy import import_lazily

if TYPE_CHECKING:
    from arcflux.applications.graph_search import graph_search
    from arcflux.applications.louvain import Communities, leiden, louvain
    from arcflux.applications.modularity import modularity
    from arcflux.applications.random_walks import Walks, random_walks

__all__ = ["Communities", "Walks", "graph_search", "leiden", "louvain", "modularity", "random_walks"]

import_lazily(
    __name__,
    {
        "louvain": "Communities leiden louvain",
        "modularity": "modularity",
        "random_walks": "Walks random_walks",
        "graph_search": "graph_search",
    },
)

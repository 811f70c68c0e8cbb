"""The applications that the command line can name, in the manner of ``algorithms/registry.py``: one line each."""

from __future__ import annotations

from collections.abc import Mapping

from arcflux.algorithms.registry import ALGORITHMS, Algorithm
from arcflux.algorithms.registry import find as find_among
from arcflux.applications.classify import classify
from arcflux.applications.fused_lasso import fused_lasso
from arcflux.applications.geolocate import geolocate
from arcflux.applications.graph_search import graph_search
from arcflux.applications.graphsage import graphsage
from arcflux.applications.local_clustering import local_clustering
from arcflux.applications.louvain import leiden, louvain
from arcflux.applications.match_graphs import match_graphs
from arcflux.applications.maximum_flow import maximum_flow, minimum_cut
from arcflux.applications.node2vec import deepwalk, node2vec
from arcflux.applications.project import project
from arcflux.applications.random_walks import random_walks
from arcflux.applications.scan_statistics import scan_statistics
from arcflux.applications.vertex_nomination import vertex_nomination

__all__ = ["APPLICATIONS", "KNOWN", "find"]

_ENTRIES = (
    Algorithm(random_walks, ("visits",), also=("walks",)),
    Algorithm(graph_search, ("visits",), also=("search",)),
    Algorithm(louvain, ("community",), groups=True),
    Algorithm(leiden, ("community",), groups=True),
    Algorithm(maximum_flow, ("side",), also=("maxflow",), groups=True),
    Algorithm(minimum_cut, ("side",), also=("mincut",), groups=True),
    Algorithm(fused_lasso, ("signal", "region"), also=("gtf",)),
    Algorithm(classify, ("log_probability",), unordered=("log_probability",)),
    Algorithm(match_graphs, ("match",), also=("sgm",), unordered=("match",)),
    Algorithm(project, ("degree",), also=("projection",)),
    Algorithm(scan_statistics, ("statistic", "triangles", "degree"), also=("scan",)),
    Algorithm(
        vertex_nomination,
        ("distance", "rank", "predecessor", "nearest"),
        counts="reached",
        unordered=("predecessor", "nearest"),
    ),
    Algorithm(graphsage, ("embedding",), also=("sage",), unordered=("embedding",)),
    Algorithm(node2vec, ("embedding",), unordered=("embedding",)),
    Algorithm(deepwalk, ("embedding",), unordered=("embedding",)),
    Algorithm(geolocate, ("latitude", "longitude", "round")),
    Algorithm(local_clustering, ("score", "clusters"), also=("lgc",)),
)

APPLICATIONS: Mapping[str, Algorithm] = {entry.name: entry for entry in _ENTRIES}
KNOWN: Mapping[str, Algorithm] = {**ALGORITHMS, **APPLICATIONS}


def find(name: str) -> Algorithm:
    """The algorithm or application of a name, or of one of its other names.

    Examples
    --------
    >>> find("louvain").fields
    ('community',)
    """
    return find_among(name, tuple(KNOWN.values()))

"""The applications of the command line, like ``algorithms/registry.py``: one line each."""

from __future__ import annotations

from collections.abc import Mapping

from arcflux.algorithms.registry import ALGORITHMS, Algorithm
from arcflux.algorithms.registry import find as find_among

__all__ = ["APPLICATIONS", "KNOWN", "find"]

_ENTRIES = (
    Algorithm("random_walks", ("visits",), also=("walks",), cost="O(steps), O(E) for weights"),
    Algorithm("graph_search", ("visits",), also=("search",), cost="O(E + steps)"),
    Algorithm("louvain", ("community",), groups=True, cost="O(V + E) a round"),
    Algorithm("leiden", ("community",), groups=True, cost="O(V + E) a round"),
    Algorithm("maximum_flow", ("side",), also=("maxflow",), groups=True, cost="O(V^2 E^0.5) at worst"),
    Algorithm("minimum_cut", ("side",), also=("mincut",), groups=True, cost="O(V^2 E^0.5) at worst"),
    Algorithm("fused_lasso", ("signal", "region"), also=("gtf",), cost="a maximum flow a round"),
    Algorithm("classify", ("log_probability",), unordered=("log_probability",), cost="O(E pattern's edges) a round"),
    Algorithm(
        "match_graphs",
        ("match",),
        also=("sgm",),
        unordered=("match",),
        cost="O(sum of degrees squared) an iteration, and an assignment",
    ),
    Algorithm("project", ("degree",), also=("projection",), cost="O(sum of degrees squared)"),
    Algorithm("scan_statistics", ("statistic", "triangles", "degree"), also=("scan",), cost="O(E^1.5)"),
    Algorithm(
        "vertex_nomination",
        ("distance", "rank", "predecessor", "nearest"),
        counts="reached",
        unordered=("predecessor", "nearest"),
        cost="O(V + E) a bucket's round",
    ),
    Algorithm(
        "graphsage",
        ("embedding",),
        also=("sage",),
        unordered=("embedding",),
        cost="O(V children hidden), and products of V features",
    ),
    Algorithm("node2vec", ("embedding",), unordered=("embedding",), cost="O(steps window dimensions)"),
    Algorithm("deepwalk", ("embedding",), unordered=("embedding",), cost="O(steps window dimensions)"),
    Algorithm("geolocate", ("latitude", "longitude", "round"), cost="O(V + E) a round"),
    Algorithm("local_clustering", ("score", "clusters"), also=("lgc",), cost="O(1 / (alpha rho)) a seed"),
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

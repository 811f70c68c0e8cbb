"""Is this result right? Checks that name the rule a result breaks, and the vertices that break it.

traversal.py: :func:`bfs` and :func:`sssp`, by the rules of Graph500 (paths.py). grid.py: :func:`grid_bfs`, by those of
MapGraph as well, on parts. gap.py and recount.py: the other checks of the GAP suite, :func:`pagerank` and
:func:`components`, :func:`betweenness` and :func:`triangles`. ldbc.py: :func:`ldbc`, by the match rules of LDBC
Graphalytics. structure.py and chains.py: results defined by a property, such as colours and forests. partitions.py,
peeling.py, fixed_points.py, distances.py, replays.py: the library's other algorithms. walks.py: :func:`walks` and
:func:`search`, by chi-square. flows.py: flows against cuts. Each returns a :class:`Report` (report.py).

Results are arrays in the order of vertex numbers; a report names vertices by the user's ids.

>>> import arcflux as af
>>> g = af.Graph.from_edges([10, 20], [20, 30], directed=False)
>>> bool(af.validate.bfs(g, 10, level=[0, 1, 2]))
True
>>> af.validate.bfs(g, 10, level=[0, 1, 1]).failures[0].offences[0].vertex
30
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from arcflux.lazy import import_lazily

if TYPE_CHECKING:
    from arcflux.validate.chains import articulation_points, bridges
    from arcflux.validate.classifications import classification
    from arcflux.validate.clusters import local_clusters
    from arcflux.validate.communities import communities
    from arcflux.validate.distances import closeness, eccentricity, harmonic, k_hop
    from arcflux.validate.fixed_points import eigenvector, hits, katz
    from arcflux.validate.flows import maximum_flow
    from arcflux.validate.gap import components, pagerank
    from arcflux.validate.grid import grid_bfs
    from arcflux.validate.lassos import fused_lasso
    from arcflux.validate.ldbc import ldbc, read_ldbc_output
    from arcflux.validate.matchings import graph_matching
    from arcflux.validate.partitions import biconnected_components, strong_components
    from arcflux.validate.peeling import core_number, edge_support, k_truss, truss_number
    from arcflux.validate.places import geolocation
    from arcflux.validate.projections import projection
    from arcflux.validate.recount import (
        betweenness,
        clustering,
        edge_betweenness,
        scan_statistics,
        triangles,
        two_hop_friends,
    )
    from arcflux.validate.replays import collaborative_filtering, fast_random_projection, label_propagation
    from arcflux.validate.report import Offence, Report, Rule
    from arcflux.validate.structure import (
        coloring,
        independent_set,
        matching,
        maximum_matching,
        spanning_forest,
        topological_order,
    )
    from arcflux.validate.traversal import bfs, sssp
    from arcflux.validate.vectors import embedding
    from arcflux.validate.walks import search, walks

__all__ = [
    "Offence",
    "Report",
    "Rule",
    "articulation_points",
    "betweenness",
    "bfs",
    "biconnected_components",
    "bridges",
    "classification",
    "closeness",
    "clustering",
    "collaborative_filtering",
    "coloring",
    "communities",
    "components",
    "core_number",
    "eccentricity",
    "edge_betweenness",
    "edge_support",
    "eigenvector",
    "embedding",
    "fast_random_projection",
    "fused_lasso",
    "geolocation",
    "graph_matching",
    "grid_bfs",
    "harmonic",
    "hits",
    "independent_set",
    "k_hop",
    "k_truss",
    "katz",
    "label_propagation",
    "ldbc",
    "local_clusters",
    "matching",
    "maximum_flow",
    "maximum_matching",
    "pagerank",
    "projection",
    "read_ldbc_output",
    "scan_statistics",
    "search",
    "spanning_forest",
    "sssp",
    "strong_components",
    "topological_order",
    "triangles",
    "truss_number",
    "two_hop_friends",
    "walks",
]

import_lazily(
    __name__,
    {
        "chains": "articulation_points bridges",
        "classifications": "classification",
        "clusters": "local_clusters",
        "communities": "communities",
        "flows": "maximum_flow",
        "gap": "components pagerank",
        "grid": "grid_bfs",
        "lassos": "fused_lasso",
        "ldbc": "ldbc read_ldbc_output",
        "matchings": "graph_matching",
        "places": "geolocation",
        "projections": "projection",
        "report": "Offence Report Rule",
        "structure": "coloring independent_set matching maximum_matching spanning_forest topological_order",
        "traversal": "bfs sssp",
        "vectors": "embedding",
        "walks": "search walks",
        "distances": "closeness eccentricity harmonic k_hop",
        "fixed_points": "eigenvector hits katz",
        "partitions": "biconnected_components strong_components",
        "peeling": "core_number edge_support k_truss truss_number",
        "replays": "collaborative_filtering fast_random_projection label_propagation",
        "recount": "betweenness clustering edge_betweenness scan_statistics triangles two_hop_friends",
    },
)

"""Arcflux: graph programs in plain Python, at the speed of hand-written native code.

>>> import arcflux as af
>>> g = af.load("kron:10")
>>> g.vertices
1024
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

# The words of programs are imported at once, everything else when it is first used.
from arcflux.built_ins import intersect, median, mode, topk
from arcflux.field_type import f32, f64, flag, i8, i16, i32, i64, ref, u8, u16, u32, u64
from arcflux.lazy import import_lazily
from arcflux.mail import mail, neighbour, out_edge, send
from arcflux.program import any, dot, edge, first, last, phase, program, random, total, vertex, vertices

__all__ = [
    "CancelToken",
    "Graph",
    "Jobs",
    "Medusa",
    "Parts",
    "Result",
    "__version__",
    "algorithms",
    "any",
    "applications",
    "articulation_points",
    "betweenness_centrality",
    "bfs",
    "biconnected_components",
    "bridges",
    "calibrate",
    "closeness_centrality",
    "clustering",
    "collaborative_filtering",
    "condensation",
    "connected_components",
    "core_number",
    "dag_longest_path",
    "dag_longest_path_length",
    "devices",
    "dot",
    "eccentricity",
    "edge",
    "edge_support",
    "eigenvector_centrality",
    "emv",
    "errors",
    "estimate",
    "f32",
    "f64",
    "first",
    "flag",
    "gas",
    "generate",
    "graph_search",
    "greedy_color",
    "harmonic_centrality",
    "hits",
    "i8",
    "i16",
    "i32",
    "i64",
    "intersect",
    "k_truss",
    "katz_centrality",
    "label_propagation",
    "last",
    "leiden",
    "load",
    "load_parts",
    "louvain",
    "mail",
    "maximal_independent_set",
    "maximal_matching",
    "maximum_flow",
    "maximum_spanning_tree",
    "median",
    "minimum_cut",
    "minimum_spanning_tree",
    "mode",
    "modularity",
    "msg",
    "multi_source_sssp",
    "neighbour",
    "out_edge",
    "pagerank",
    "pagerank_delta",
    "partition",
    "phase",
    "plan",
    "program",
    "project",
    "random",
    "random_walks",
    "ref",
    "run",
    "save",
    "send",
    "sssp",
    "strongly_connected_components",
    "topk",
    "topological_sort",
    "total",
    "triangle_count",
    "triangles",
    "truss_number",
    "two_hop_friends",
    "u8",
    "u16",
    "u32",
    "u64",
    "validate",
    "vertex",
    "vertices",
    "weakly_connected_components",
]

if TYPE_CHECKING:
    from arcflux import algorithms, applications, devices, errors, generate, validate
    from arcflux.algorithms.betweenness import betweenness_centrality
    from arcflux.algorithms.bfs import bfs
    from arcflux.algorithms.biconnected import articulation_points, biconnected_components, bridges
    from arcflux.algorithms.closeness import closeness_centrality, eccentricity, harmonic_centrality
    from arcflux.algorithms.clustering import clustering
    from arcflux.algorithms.collaborative_filtering import collaborative_filtering
    from arcflux.algorithms.coloring import greedy_color
    from arcflux.algorithms.components import connected_components, weakly_connected_components
    from arcflux.algorithms.condensation import condensation
    from arcflux.algorithms.core_number import core_number
    from arcflux.algorithms.eigenvector import eigenvector_centrality
    from arcflux.algorithms.hits import hits
    from arcflux.algorithms.independent_set import maximal_independent_set
    from arcflux.algorithms.k_truss import edge_support, k_truss, truss_number
    from arcflux.algorithms.katz import katz_centrality
    from arcflux.algorithms.label_propagation import label_propagation
    from arcflux.algorithms.matching import maximal_matching
    from arcflux.algorithms.pagerank import pagerank, pagerank_delta
    from arcflux.algorithms.spanning_forest import maximum_spanning_tree, minimum_spanning_tree
    from arcflux.algorithms.sssp import multi_source_sssp, sssp
    from arcflux.algorithms.strong_components import strongly_connected_components
    from arcflux.algorithms.topological import dag_longest_path, dag_longest_path_length, topological_sort
    from arcflux.algorithms.triangles import triangle_count, triangles
    from arcflux.algorithms.two_hop_friends import two_hop_friends
    from arcflux.applications.graph_search import graph_search
    from arcflux.applications.louvain import leiden, louvain
    from arcflux.applications.maximum_flow import maximum_flow, minimum_cut
    from arcflux.applications.modularity import modularity
    from arcflux.applications.project import project
    from arcflux.applications.random_walks import random_walks
    from arcflux.dialects.emv import emv
    from arcflux.dialects.gas import gas
    from arcflux.dialects.medusa import Medusa
    from arcflux.dialects.msg import msg
    from arcflux.engine import run
    from arcflux.graph import Graph
    from arcflux.io import load, save
    from arcflux.jobs.runtime import Jobs
    from arcflux.partition import partition
    from arcflux.partition.folder import load_parts
    from arcflux.partition.parts import Parts
    from arcflux.plan import estimate, plan
    from arcflux.plan.calibrate import calibrate
    from arcflux.result import Result
    from arcflux.spmd.interrupt import CancelToken

import_lazily(
    __name__,
    {
        "algorithms": "articulation_points betweenness_centrality bfs biconnected_components bridges"
        " closeness_centrality clustering collaborative_filtering condensation connected_components"
        " core_number dag_longest_path dag_longest_path_length eccentricity edge_support"
        " eigenvector_centrality greedy_color harmonic_centrality hits k_truss katz_centrality"
        " label_propagation maximal_independent_set maximal_matching maximum_spanning_tree"
        " minimum_spanning_tree multi_source_sssp pagerank pagerank_delta sssp"
        " strongly_connected_components topological_sort triangle_count triangles truss_number"
        " two_hop_friends weakly_connected_components",
        "applications": "deepwalk geolocate graph_search graphsage leiden local_clustering louvain maximum_flow"
        " minimum_cut modularity node2vec project random_walks scan_statistics vertex_nomination",
        "dialects": "Medusa emv gas msg",
        "engine": "run",
        "graph": "Graph",
        "io": "load save",
        "jobs.runtime": "Jobs",
        "partition": "partition",
        "partition.folder": "load_parts",
        "partition.parts": "Parts",
        "plan": "estimate plan",
        "plan.calibrate": "calibrate",
        "result": "Result",
        "spmd.interrupt": "CancelToken",
        "arcflux.algorithms": "algorithms",
        "arcflux.applications": "applications",
        "arcflux.devices": "devices",
        "arcflux.errors": "errors",
        "arcflux.generate": "generate",
        "arcflux.validate": "validate",
    },
)

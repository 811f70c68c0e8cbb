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
    "Checkpoint",
    "Client",
    "Graph",
    "Jobs",
    "Medusa",
    "Parts",
    "Result",
    "__version__",
    "adamic_adar_index",
    "adjusted_rand_index",
    "algorithms",
    "all_pairs_distances",
    "any",
    "applications",
    "approximate_closeness",
    "articulation_points",
    "astar_path",
    "average_clustering",
    "average_shortest_path_length",
    "betweenness_centrality",
    "bfs",
    "biconnected_components",
    "bridges",
    "calibrate",
    "center",
    "classify",
    "closeness_centrality",
    "clustering",
    "collaborative_filtering",
    "condensation",
    "conductance",
    "connected_components",
    "core_number",
    "cosine_similarity",
    "coverage",
    "dag_longest_path",
    "dag_longest_path_length",
    "deepwalk",
    "degree_assortativity_coefficient",
    "degree_centrality",
    "density",
    "devices",
    "diameter",
    "distance_matrix",
    "dot",
    "eccentricity",
    "edge",
    "edge_betweenness_centrality",
    "edge_support",
    "ego_graph",
    "eigenvector_centrality",
    "emv",
    "errors",
    "estimate",
    "f32",
    "f64",
    "fast_random_projection",
    "first",
    "flag",
    "fused_lasso",
    "gas",
    "generate",
    "geolocate",
    "graph_search",
    "graphsage",
    "greedy_color",
    "harmonic_centrality",
    "has_path",
    "hits",
    "i8",
    "i16",
    "i32",
    "i64",
    "intersect",
    "jaccard_coefficient",
    "k_core",
    "k_hop",
    "k_shortest_paths",
    "k_truss",
    "katz_centrality",
    "label_propagation",
    "last",
    "leiden",
    "load",
    "load_parts",
    "local_clustering",
    "louvain",
    "mail",
    "match_graphs",
    "maximal_independent_set",
    "maximal_matching",
    "maximum_bipartite_matching",
    "maximum_flow",
    "maximum_spanning_tree",
    "median",
    "minimum_cut",
    "minimum_spanning_tree",
    "mode",
    "modularity",
    "most_similar",
    "msg",
    "multi_source_sssp",
    "neighbour",
    "node2vec",
    "normalized_mutual_information",
    "out_edge",
    "overlap_coefficient",
    "pagerank",
    "pagerank_delta",
    "partition",
    "periphery",
    "phase",
    "plan",
    "program",
    "project",
    "radius",
    "random",
    "random_walks",
    "reciprocity",
    "ref",
    "resource_allocation_index",
    "run",
    "save",
    "scan_statistics",
    "send",
    "shortest_path",
    "shortest_path_length",
    "spatial_median",
    "sssp",
    "strongly_connected_components",
    "topk",
    "topological_sort",
    "total",
    "transitivity",
    "triad_census",
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
    "vertex_nomination",
    "vertices",
    "voterank",
    "weakly_connected_components",
]

if TYPE_CHECKING:
    from arcflux import algorithms, applications, devices, errors, generate, validate
    from arcflux.algorithms.betweenness import betweenness_centrality
    from arcflux.algorithms.bfs import bfs
    from arcflux.algorithms.biconnected import articulation_points, biconnected_components, bridges
    from arcflux.algorithms.bipartite_matching import maximum_bipartite_matching
    from arcflux.algorithms.closeness import closeness_centrality, eccentricity, harmonic_centrality
    from arcflux.algorithms.clustering import clustering
    from arcflux.algorithms.collaborative_filtering import collaborative_filtering
    from arcflux.algorithms.coloring import greedy_color
    from arcflux.algorithms.components import connected_components, weakly_connected_components
    from arcflux.algorithms.condensation import condensation
    from arcflux.algorithms.core_number import core_number, k_core
    from arcflux.algorithms.degrees import degree_assortativity_coefficient, degree_centrality, density, reciprocity
    from arcflux.algorithms.edge_betweenness import edge_betweenness_centrality
    from arcflux.algorithms.eigenvector import eigenvector_centrality
    from arcflux.algorithms.extent import average_shortest_path_length, center, diameter, periphery, radius
    from arcflux.algorithms.fast_random_projection import fast_random_projection
    from arcflux.algorithms.hits import hits
    from arcflux.algorithms.hyperball import approximate_closeness
    from arcflux.algorithms.independent_set import maximal_independent_set
    from arcflux.algorithms.k_hop import ego_graph, k_hop
    from arcflux.algorithms.k_truss import edge_support, k_truss, truss_number
    from arcflux.algorithms.katz import katz_centrality
    from arcflux.algorithms.label_propagation import label_propagation
    from arcflux.algorithms.matching import maximal_matching
    from arcflux.algorithms.pagerank import pagerank, pagerank_delta
    from arcflux.algorithms.paths import (
        all_pairs_distances,
        astar_path,
        distance_matrix,
        has_path,
        k_shortest_paths,
        shortest_path,
        shortest_path_length,
    )
    from arcflux.algorithms.similarity import (
        adamic_adar_index,
        cosine_similarity,
        jaccard_coefficient,
        most_similar,
        overlap_coefficient,
        resource_allocation_index,
    )
    from arcflux.algorithms.spanning_forest import maximum_spanning_tree, minimum_spanning_tree
    from arcflux.algorithms.sssp import multi_source_sssp, sssp
    from arcflux.algorithms.strong_components import strongly_connected_components
    from arcflux.algorithms.topological import dag_longest_path, dag_longest_path_length, topological_sort
    from arcflux.algorithms.transitivity import average_clustering, transitivity
    from arcflux.algorithms.triad_census import triad_census
    from arcflux.algorithms.triangles import triangle_count, triangles
    from arcflux.algorithms.two_hop_friends import two_hop_friends
    from arcflux.algorithms.voterank import voterank
    from arcflux.applications.classify import classify
    from arcflux.applications.fused_lasso import fused_lasso
    from arcflux.applications.geolocate import geolocate, spatial_median
    from arcflux.applications.graph_search import graph_search
    from arcflux.applications.graphsage import graphsage
    from arcflux.applications.local_clustering import local_clustering
    from arcflux.applications.louvain import leiden, louvain
    from arcflux.applications.match_graphs import match_graphs
    from arcflux.applications.maximum_flow import maximum_flow, minimum_cut
    from arcflux.applications.modularity import modularity
    from arcflux.applications.node2vec import deepwalk, node2vec
    from arcflux.applications.partition_quality import (
        adjusted_rand_index,
        conductance,
        coverage,
        normalized_mutual_information,
    )
    from arcflux.applications.project import project
    from arcflux.applications.random_walks import random_walks
    from arcflux.applications.scan_statistics import scan_statistics
    from arcflux.applications.vertex_nomination import vertex_nomination
    from arcflux.dialects.emv import emv
    from arcflux.dialects.gas import gas
    from arcflux.dialects.medusa import Medusa
    from arcflux.dialects.msg import msg
    from arcflux.engine import run
    from arcflux.engine.checkpoint import Checkpoint
    from arcflux.graph import Graph
    from arcflux.io import load, save
    from arcflux.jobs.client import Client
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
        "algorithms": "adamic_adar_index all_pairs_distances approximate_closeness articulation_points"
        " astar_path average_clustering average_shortest_path_length betweenness_centrality bfs"
        " biconnected_components bridges center closeness_centrality clustering"
        " collaborative_filtering condensation connected_components core_number cosine_similarity"
        " dag_longest_path dag_longest_path_length degree_assortativity_coefficient"
        " degree_centrality density diameter distance_matrix eccentricity"
        " edge_betweenness_centrality edge_support ego_graph eigenvector_centrality"
        " fast_random_projection greedy_color harmonic_centrality has_path hits"
        " jaccard_coefficient k_core k_hop k_shortest_paths k_truss katz_centrality label_propagation"
        " maximal_independent_set maximal_matching maximum_bipartite_matching"
        " maximum_spanning_tree minimum_spanning_tree most_similar multi_source_sssp"
        " overlap_coefficient pagerank pagerank_delta periphery radius reciprocity"
        " resource_allocation_index shortest_path shortest_path_length sssp"
        " strongly_connected_components topological_sort transitivity triad_census triangle_count"
        " triangles truss_number two_hop_friends voterank weakly_connected_components",
        "applications": "adjusted_rand_index classify conductance coverage deepwalk fused_lasso geolocate"
        " graph_search graphsage leiden local_clustering louvain match_graphs maximum_flow"
        " minimum_cut modularity node2vec normalized_mutual_information project random_walks"
        " scan_statistics spatial_median vertex_nomination",
        "arcflux.algorithms": "algorithms",
        "arcflux.applications": "applications",
        "arcflux.devices": "devices",
        "arcflux.errors": "errors",
        "arcflux.generate": "generate",
        "arcflux.validate": "validate",
        "dialects": "Medusa emv gas msg",
        "engine": "run",
        "engine.checkpoint": "Checkpoint",
        "graph": "Graph",
        "io": "load save",
        "jobs.client": "Client",
        "jobs.runtime": "Jobs",
        "partition": "partition",
        "partition.folder": "load_parts",
        "partition.parts": "Parts",
        "plan": "estimate plan",
        "plan.calibrate": "calibrate",
        "result": "Result",
        "spmd.interrupt": "CancelToken",
    },
)

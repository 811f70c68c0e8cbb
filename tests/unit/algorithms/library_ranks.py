"""What ranks of MPI do in test_library_ranks.py: the algorithms of the library give what one process gives."""

from __future__ import annotations

import sys

import numpy as np

import arcflux as af
from arcflux.transports import current


def same(call, *given, **options):
    """A call of one process and of all ranks."""
    return call(*given, transport="local", parts=1), call(*given, **options)


def main() -> None:
    per_node = int(sys.argv[1]) or None
    ranks = current(ranks_per_node=per_node)
    assert ranks is not None
    spread = {"ranks_per_node": per_node}
    graph, directed = af.load("urand:n=200,m=600,weights=1-9"), af.load("urand:n=80,m=300,directed")
    for call in (
        af.minimum_spanning_tree, af.maximum_spanning_tree, af.k_truss, af.truss_number, af.edge_support,
        af.articulation_points, af.bridges, af.biconnected_components, af.maximal_independent_set, af.greedy_color,
        af.maximal_matching,
    ):  # fmt: skip
        alone, split = same(call, graph, **spread)
        for name, values in alone.values.items():
            np.testing.assert_array_equal(split.values[name], values, err_msg=alone.name)
        for name in alone.edges:
            np.testing.assert_array_equal(split.edges[name], alone.edges[name], err_msg=alone.name)
    for call, given in (
        (af.closeness_centrality, graph), (af.harmonic_centrality, directed), (af.eccentricity, graph),
        (af.core_number, af.load("grid:40x50")), (af.core_number, af.load("ws:3000,k=6,p=0.2")),
        (af.strongly_connected_components, directed),
    ):  # fmt: skip
        alone, split = same(call, given, **spread)
        for name, values in alone.values.items():
            np.testing.assert_array_equal(split.values[name], values, err_msg=alone.name)
    for call, given in (
        (af.shortest_path, (graph, 0, 99, "weight")), (af.k_shortest_paths, (graph, 0, 99, 3, "weight")),
        (af.triad_census, (directed,)), (af.transitivity, (graph,)), (af.diameter, (graph,)),
    ):  # fmt: skip
        alone, split = same(call, *given, **spread)
        assert alone == split, call.__name__
    for call, given in (
        (af.jaccard_coefficient, (graph,)), (af.distance_matrix, (graph, [0, 5, 7], "weight")),
        (lambda *a, **k: np.concatenate(af.most_similar(*a, **k)), (graph, 3)),
    ):  # fmt: skip
        np.testing.assert_array_equal(*same(call, *given, **spread))
    alone, split = same(af.edge_betweenness_centrality, graph, **spread)
    np.testing.assert_allclose(split.edges["centrality"], alone.edges["centrality"], rtol=1e-9)
    alone, split = same(af.maximum_bipartite_matching, af.load("grid:7x9"), **spread)
    np.testing.assert_array_equal(split.numbers("mate"), alone.numbers("mate"))
    print(f"rank {ranks.rank} of {ranks.size}: the same")


if __name__ == "__main__":
    main()

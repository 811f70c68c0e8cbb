"""Clustering coefficients against the oracle (LDBC's definition), NetworkX and igraph, whatever the threads."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from wedge_samples import Sample, patient, sample, samples

import arcflux as af
import oracles
from arcflux.algorithms import clustering


@patient
@given(case=samples())
def test_small_multigraphs_equal_the_oracle(case: Sample) -> None:
    expected = oracles.local_clustering(case.n, case.edges, case.graph.directed)
    result = clustering(case.graph)
    assert result["clustering"].tolist() == expected
    assert result.to_dict() == dict(zip(case.ids, expected, strict=True))


@patient
@given(case=samples(directed=False))
def test_undirected_graphs_equal_networkx(case: Sample) -> None:
    simple = nx.Graph(case.graph.to_networkx())
    simple.remove_edges_from(list(nx.selfloop_edges(simple)))
    assert clustering(case.graph).to_dict() == pytest.approx(nx.clustering(simple))


@pytest.mark.parametrize("spec", ["kron:12", "urand:11", "complete:90", "star:3000", "ws:3000,k=12,p=0.1"])
def test_larger_undirected_graphs_equal_igraph_on_any_threads(spec: str) -> None:
    graph = af.load(spec)
    expected = graph.to_igraph().transitivity_local_undirected(mode="zero")
    first = clustering(graph, threads=1)["clustering"]
    np.testing.assert_allclose(first, expected, rtol=1e-12)
    for threads in (2, 3):
        np.testing.assert_array_equal(clustering(graph, threads=threads)["clustering"], first)


@pytest.mark.parametrize("skewed", [True, False])
@pytest.mark.parametrize("sort", [True, False])
def test_larger_directed_graphs_equal_the_oracle_on_any_threads(skewed: bool, sort: bool) -> None:
    random = np.random.default_rng(7)
    n = 400
    ends = random.zipf(1.6, (2, 9000)) % n if skewed else random.integers(0, n, (2, 9000))
    edges = list(zip(*ends.tolist(), strict=True))
    graph = af.Graph.from_edges(*ends, vertices=n, sort=sort)
    expected = oracles.local_clustering(n, edges, directed=True)
    assert max(expected) > 0.05
    for threads in (1, 2, 3):
        assert clustering(graph, threads=threads)["clustering"].tolist() == expected


def test_directions_among_the_neighbours_count() -> None:
    one_way = sample(3, [(0, 1), (2, 0), (1, 2)], True)
    assert clustering(one_way.graph)["clustering"].tolist() == [0.5, 0.5, 0.5]
    both_ways = sample(3, [(0, 1), (2, 0), (1, 2), (2, 1)], True)
    assert clustering(both_ways.graph)["clustering"].tolist() == [1.0, 0.5, 0.5]


@pytest.mark.parametrize("directed", [True, False])
def test_no_vertices_and_one(directed: bool) -> None:
    assert clustering(af.Graph.from_edges([], [], directed=directed))["clustering"].size == 0
    assert clustering(sample(1, [(0, 0)], directed).graph)["clustering"].tolist() == [0.0]

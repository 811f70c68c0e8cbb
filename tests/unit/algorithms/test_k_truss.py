"""Trusses and supports against NetworkX, igraph and the definition."""

import igraph
import networkx as nx
import numpy as np
import pytest
from library_samples import NATIVE, UNDIRECTED, drawn, same_everywhere, simple

import arcflux as af
from arcflux.errors import GraphError, UsageError


def pairs_of(graph, flags):
    sources, targets, places = graph.edge_numbers()
    picked = flags[places]
    return set(zip(sources[picked].tolist(), targets[picked].tolist(), strict=True))


@pytest.mark.parametrize("seed", range(25))
def test_small_multigraphs(seed):
    graph = drawn(seed, n=9, most=5)
    there = simple(graph)
    for k in (0, 2, 3, 4, 5):
        found = af.k_truss(graph, k)
        assert pairs_of(graph, found.edges["chosen"]) == {tuple(sorted(edge)) for edge in nx.k_truss(there, k).edges}
        found.validate().raise_for_failure()
        assert set(np.flatnonzero(found["inside"])) == {v for edge in nx.k_truss(there, k).edges for v in edge}
    support = af.edge_support(graph).edges["support"]
    sources, targets, places = graph.edge_numbers()
    for u, v, place in zip(sources.tolist(), targets.tolist(), places.tolist(), strict=True):
        assert support[place] == (len(set(there[u]) & set(there[v])) if u != v else 0)


@pytest.mark.parametrize("spec", UNDIRECTED)
def test_larger_graphs_everywhere(spec):
    graph = af.load(spec)
    found = same_everywhere(af.truss_number, graph, NATIVE)
    same_everywhere(af.edge_support, graph, NATIVE[-1:])
    four = same_everywhere(af.k_truss, graph, NATIVE, k=4)
    there = simple(graph)
    assert pairs_of(graph, four.edges["chosen"]) == {tuple(sorted(edge)) for edge in nx.k_truss(there, 4).edges}
    peer = igraph.Graph(n=graph.vertices, edges=list(there.edges))
    sources, targets, places = graph.edge_numbers()
    known = dict(zip(zip(sources.tolist(), targets.tolist(), strict=True), found.edges["truss"][places], strict=True))
    assert found.edges["truss"].max() == max(k for k in range(2, 20) if nx.k_truss(there, k).size() > 0)
    support = dict(zip(known, af.edge_support(graph).edges["support"][places], strict=True))
    triangles = np.zeros(graph.vertices, int)
    for corners in peer.list_triangles():
        triangles[list(corners)] += 1
    assert sum(value for (u, v), value in support.items() if u != v) == triangles.sum()


@pytest.mark.parametrize("spec", ["kron:8,ef=6", "ws:120,k=8,p=0.1", "worlds:5x12"])
def test_every_truss_of_a_graph(spec):
    """Few edges leave, most do, all do; what is left is counted anew or loses its triangles one by one."""
    graph = af.load(spec)
    there = simple(graph)
    numbers = af.truss_number(graph).edges["truss"]
    for k in range(2, int(numbers.max()) + 2):
        expected = {tuple(sorted(edge)) for edge in nx.k_truss(there, k).edges}
        assert pairs_of(graph, numbers >= k) == expected
        for way in NATIVE:
            assert pairs_of(graph, af.k_truss(graph, k, **way).edges["chosen"]) == expected


def test_refusals_and_nothing():
    with pytest.raises(GraphError, match="directed"):
        af.k_truss(af.Graph.from_edges([0], [1]), 3)
    with pytest.raises(UsageError, match=r"k is 2\.5"):
        af.k_truss("path:3", 2.5)
    assert not af.k_truss(af.Graph.from_edges([], [], vertices=2, directed=False), 3)["inside"].any()
    assert af.k_truss("complete:5", 5)["inside"].all()
    assert not af.k_truss("complete:5", 6)["inside"].any()
    assert not af.validate.k_truss("complete:4", [True] * 12, 5)

"""Articulation points, bridges and biconnected components against NetworkX and igraph."""

import igraph
import networkx as nx
import numpy as np
import pytest
from library_samples import NATIVE, UNDIRECTED, drawn, multi, same_everywhere, simple

import arcflux as af
from arcflux.errors import GraphError


def compare(graph):
    there = simple(graph)
    points = af.articulation_points(graph)
    assert set(np.flatnonzero(points["articulation"])) == set(nx.articulation_points(there))
    points.validate().raise_for_failure()
    bridges = af.bridges(graph)
    ids = bridges.pairs()
    expected = {tuple(sorted(edge[:2])) for edge in nx.bridges(multi(graph))}
    assert set(zip(*(end.tolist() for end in ids), strict=True)) == expected
    bridges.validate().raise_for_failure()
    found = af.biconnected_components(graph)
    sources, targets, places = graph.edge_numbers()
    groups = {}
    for u, v, label in zip(sources.tolist(), targets.tolist(), found.edges["component"][places].tolist(), strict=True):
        assert (label < 0) == (u == v)
        if u != v:
            groups.setdefault(label, set()).update((u, v))
    assert sorted(map(sorted, groups.values())) == sorted(map(sorted, nx.biconnected_components(there)))
    assert found.totals["components"] == len(groups)
    for v in range(graph.vertices):
        assert found["components"][v] == sum(v in group for group in groups.values())


@pytest.mark.parametrize("seed", range(60))
def test_small_multigraphs(seed):
    compare(drawn(seed, most=2))


@pytest.mark.parametrize("spec", [*UNDIRECTED, "path:50", "cycle:20", "star:30"])
def test_larger_graphs_everywhere(spec):
    graph = af.load(spec)
    compare(graph)
    for call in (af.articulation_points, af.bridges, af.biconnected_components):
        same_everywhere(call, graph, NATIVE)
    there = igraph.Graph(n=graph.vertices, edges=list(simple(graph).edges))
    assert set(np.flatnonzero(af.articulation_points(graph)["articulation"])) == set(there.articulation_points())
    assert af.biconnected_components(graph).totals["components"] == len(there.biconnected_components())


def test_refusals_and_nothing():
    for call in (af.articulation_points, af.bridges, af.biconnected_components):
        with pytest.raises(GraphError, match="directed"):
            call(af.Graph.from_edges([0], [1]))
        call(af.Graph.from_edges([], [], vertices=0, directed=False))
    assert not af.validate.articulation_points("path:3", [True, True, False])
    assert not af.validate.bridges("cycle:3", [True] * 6)

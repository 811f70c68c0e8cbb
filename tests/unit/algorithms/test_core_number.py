"""Core numbers against NetworkX, igraph and peeling one vertex at a time, in every way to run."""

from __future__ import annotations

import igraph
import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from wedge_samples import Sample, patient, samples

import arcflux as af
from arcflux.errors import GraphError

WAYS = [
    {"threads": 1}, {"direction": "push"}, {"direction": "pull"}, {"deterministic": True}, {"parts": 3},
    {"parts": 4, "ranks_per_node": 2}, {"parts": 3, "ranks_per_node": 1, "exchange": "owners"},
]  # fmt: skip


def one_at_a_time(n: int, edges: list[tuple[int, int]]) -> list[int]:
    """Take a vertex of the smallest degree away, again and again: the largest such degree so far is its core."""
    neighbours: list[list[int]] = [[] for _ in range(n)]
    for a, b in edges:
        neighbours[a].append(b)
        neighbours[b].append(a)
    left, core, k = set(range(n)), [0] * n, 0
    while left:
        v = min(left, key=lambda v: sum(u in left for u in neighbours[v]))
        k = max(k, sum(u in left for u in neighbours[v]))
        core[v] = k
        left.discard(v)
    return core


@patient
@given(case=samples())
def test_it_equals_peeling_one_at_a_time(case: Sample) -> None:
    if any(a == b for a, b in case.edges):
        with pytest.raises(GraphError, match="to itself"):
            af.core_number(case.graph)
        return
    result = af.core_number(case.graph)
    assert result["core"].tolist() == one_at_a_time(case.n, case.edges)
    assert result.converged


@pytest.mark.parametrize("directed", [False, True])
def test_the_k_core_is_that_of_networkx(directed: bool) -> None:
    graph = af.load("urand:n=200,m=700,directed" if directed else "urand:n=200,m=700")
    sources, targets, _ = graph.edge_list()
    apart = sources != targets
    kind = {"vertices": graph.ids.to_ids(), "directed": directed, "deduplicate": "first"}
    graph = af.Graph.from_edges(sources[apart], targets[apart], **kind)
    there = graph.to_networkx()
    for k in (None, 0, 3, 5, 99):
        expected, found = nx.k_core(there, k), af.k_core(graph, k)
        assert set(found.ids) == set(expected)
        assert found.edges == expected.number_of_edges()


@pytest.mark.parametrize("spec", ["kron:11,ef=8", "urand:n=3000,m=9000", "urand:n=300,m=900,directed", "grid:30x40"])
def test_it_equals_networkx_and_igraph_in_every_way_to_run(spec: str) -> None:
    graph = af.load(spec)
    sources, targets, _ = graph.edge_list()
    apart = sources != targets
    kind = {"vertices": graph.ids.to_ids(), "directed": graph.directed, "deduplicate": "first"}
    graph = af.Graph.from_edges(sources[apart], targets[apart], **kind)
    found = af.core_number(graph)
    assert found.to_dict("core") == nx.core_number(graph.to_networkx())
    sources, targets, _ = graph.edge_numbers()
    there = igraph.Graph(n=graph.vertices, edges=np.stack([sources, targets], 1).tolist(), directed=graph.directed)
    assert found["core"].tolist() == there.coreness(mode="all")
    for way in WAYS:
        np.testing.assert_array_equal(af.core_number(graph, **way)["core"], found["core"])


def test_plain_python_no_edges_and_no_vertices() -> None:
    graph = af.load("urand:n=40,m=120")
    np.testing.assert_array_equal(af.core_number(graph, debug=True)["core"], af.core_number(graph)["core"])
    assert af.core_number(af.Graph.from_edges([], [], vertices=3, directed=False))["core"].tolist() == [0, 0, 0]
    assert af.core_number(af.Graph.from_edges([], [], vertices=0))["core"].size == 0

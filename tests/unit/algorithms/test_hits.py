"""Hubs and authorities against NetworkX, igraph and the singular vectors of the matrix, in every way to run."""

from __future__ import annotations

import igraph
import networkx as nx
import numpy as np
import pytest

import arcflux as af
from arcflux.errors import UsageError

WAYS = [
    {"threads": 1}, {"direction": "push"}, {"deterministic": True}, {"parts": 3}, {"parts": 4, "ranks_per_node": 2},
    {"parts": 3, "ranks_per_node": 1, "exchange": "owners"},
]  # fmt: skip


def dense(graph: af.Graph) -> np.ndarray:
    sources, targets, _ = graph.edge_numbers()
    matrix = np.zeros((graph.vertices, graph.vertices))
    np.add.at(matrix, (sources, targets), 1.0)
    if not graph.directed:
        np.add.at(matrix, (targets, sources), 1.0)
    return matrix


@pytest.mark.filterwarnings("ignore:More than 30%")  # igraph's, of vertices without in- or out-edges
@pytest.mark.parametrize("spec", ["kron:7,ef=4,directed", "urand:n=60,m=400,directed"])
def test_it_equals_networkx_igraph_and_singular_vectors(spec: str) -> None:
    graph = af.load(spec)
    result = af.hits(graph, tol=1e-12, max_iter=1000)
    matrix = dense(graph)
    left, _, right = np.linalg.svd(matrix)
    for name, vector in (("hub", np.abs(left[:, 0])), ("authority", np.abs(right[0]))):
        np.testing.assert_allclose(result[name], vector / vector.sum(), atol=1e-8)
    hubs, authorities = nx.hits(nx.from_numpy_array(matrix, create_using=nx.DiGraph), max_iter=1000, tol=1e-12)
    np.testing.assert_allclose(result["hub"], list(hubs.values()), atol=1e-6)
    np.testing.assert_allclose(result["authority"], list(authorities.values()), atol=1e-6)
    there = igraph.Graph.Adjacency(matrix.tolist())
    scores = np.array(there.hub_score(scale=True))
    np.testing.assert_allclose(af.hits(graph, tol=1e-12, max_iter=1000, normalized=False)["hub"], scores, atol=1e-6)


def test_every_way_to_run_gives_the_same() -> None:
    graph = af.load("kron:8,ef=4,directed")
    plain = af.hits(graph, tol=1e-6, debug=True)
    for way in [{}, *WAYS]:
        result = af.hits(graph, tol=1e-6, **way)
        assert result.iterations == plain.iterations
        for name in ("hub", "authority"):
            np.testing.assert_allclose(result[name], plain[name], rtol=1e-9, atol=1e-12)
    exact = [af.hits(graph, deterministic=True, **way)["hub"] for way in ({"threads": 1}, {"threads": 2}, WAYS[4])]
    assert all(np.array_equal(exact[0], other) for other in exact[1:])


def test_where_it_begins_and_ends() -> None:
    graph = af.load("kron:7,ef=4,directed")
    with pytest.warns(UserWarning, match="before it converged"):
        short = af.hits(graph, max_iter=2)
    assert not short.converged
    matrix = dense(graph)
    hub = np.full(graph.vertices, 1 / graph.vertices)
    for _ in range(2):
        hub = matrix @ (matrix.T @ hub)
    np.testing.assert_allclose(short["hub"], hub / hub.sum(), rtol=1e-12)
    best = int(np.argmax(af.hits(graph)["hub"]))
    again = af.hits(graph, nstart={best: 1.0}, max_iter=1000)
    np.testing.assert_allclose(again["hub"], af.hits(graph)["hub"], atol=1e-6)
    assert af.hits(graph).totals["moved"] < 1e-8
    for wrong in ({best: -1.0}, {best: 0.0}, [1.0]):
        with pytest.raises(UsageError, match="nstart"):
            af.hits(graph, nstart=wrong)


def test_without_edges_and_without_vertices() -> None:
    assert af.hits(af.Graph.from_edges([], [], vertices=2))["hub"].tolist() == [0.0, 0.0]
    assert af.hits(af.Graph.from_edges([], [], vertices=0))["hub"].size == 0


@pytest.mark.parametrize("scale", [5e-324, 1e-310, 1e308])
def test_only_the_shares_of_nstart_count(scale):
    """One divided by a number that small is infinite, and so are sums of numbers that large."""
    graph = af.load("kron:5,directed=true")
    found = af.hits(graph, nstart=dict.fromkeys(range(graph.vertices), scale))
    assert found.converged
    np.testing.assert_allclose(found["hub"], af.hits(graph)["hub"], atol=1e-7)

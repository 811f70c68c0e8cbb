"""Katz and eigenvector centrality against linear algebra, NetworkX, and themselves on parts and in plain Python."""

import networkx as nx
import numpy as np
import pytest

import arcflux as af
from arcflux.errors import UsageError


def sample(seed, directed=True, vertices=60):
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, vertices, (2, 4 * vertices))
    return af.Graph.from_edges(
        *ends, vertices=vertices, directed=directed, columns={"weight": rng.integers(1, 5, 4 * vertices)}
    )


def matrix(graph, weighted):
    found = np.zeros((graph.vertices, graph.vertices))
    sources = np.repeat(np.arange(graph.vertices), graph.out_degrees.astype(int))
    np.add.at(found, (sources, graph.out.neighbours), graph.columns["weight"] if weighted else 1.0)
    return found


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("options", [{}, {"parts": 3}])
def test_katz_solves_its_equation(directed, weight, options):
    graph = sample(1, directed)
    edges = matrix(graph, weight is not None)
    alpha = 0.5 / np.abs(np.linalg.eigvals(edges)).max()
    expected = np.linalg.solve(np.eye(graph.vertices) - alpha * edges.T, np.full(graph.vertices, 2.0))
    found = af.katz_centrality(graph, alpha, 2.0, tol=1e-12, normalized=False, weight=weight, **options)
    assert found.converged
    assert np.allclose(found["centrality"], expected)
    scaled = af.katz_centrality(graph, alpha, 2.0, tol=1e-12, weight=weight, **options)["centrality"]
    assert np.allclose(scaled, expected / np.linalg.norm(expected))


def test_katz_takes_a_number_for_each_vertex():
    graph = af.Graph.from_edges(["a", "b"], ["b", "c"])
    found = af.katz_centrality(graph, 0.5, {"a": 4.0}, normalized=False, nstart={"c": 9.0})
    assert np.allclose(found["centrality"], [4, 2, 1])
    assert np.array_equal(
        af.katz_centrality(graph, 0.5, debug=True)["centrality"], af.katz_centrality(graph, 0.5)["centrality"]
    )


def test_katz_that_grows_for_ever_has_not_converged():
    with pytest.warns(UserWarning, match="converge"):
        result = af.katz_centrality("complete:5", 1.0, max_iter=10)
    assert not result.converged


@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("options", [{}, {"parts": 3}])
def test_the_eigenvector_is_one(weight, options):
    graph = sample(2, directed=False)
    edges = matrix(graph, weight is not None)
    leading = np.abs(np.linalg.eigh(edges)[1][:, -1])
    found = af.eigenvector_centrality(graph, 1000, 1e-12, weight=weight, **options)
    assert found.converged
    assert np.allclose(found["centrality"], leading, atol=1e-6)


def test_the_eigenvector_is_that_of_networkx():
    graph = nx.gnm_random_graph(50, 300, seed=4, directed=True)
    found = af.eigenvector_centrality(graph, 500, 1e-10).to_dict("centrality")
    assert found == pytest.approx(nx.eigenvector_centrality(graph, 500, 1e-10), abs=1e-7)


def test_a_first_vector_without_a_sum_is_refused_and_too_few_iterations_are_noticed():
    with pytest.raises(UsageError, match="nstart"):
        af.eigenvector_centrality("path:3", nstart=[1.0, 0.0, -1.0])
    with pytest.warns(UserWarning, match="converge"):
        assert not af.eigenvector_centrality("path:9", max_iter=2).converged

"""Components, by both methods, against the oracle, NetworkX, the validator and one another."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from wedge_samples import Sample, patient, sample, samples

import arcflux as af
import oracles
from arcflux.algorithms import connected_components, weakly_connected_components
from arcflux.errors import GraphError, UsageError


def by_networkx(graph: af.Graph) -> set[frozenset[object]]:
    made = graph.to_networkx()
    find = nx.weakly_connected_components if graph.directed else nx.connected_components
    return {frozenset(part) for part in find(made)}


def parts(result: af.Result) -> set[frozenset[object]]:
    found: dict[object, set[object]] = {}
    for vertex, name in result.to_dict("component").items():
        found.setdefault(name, set()).add(vertex)
    return {frozenset(part) for part in found.values()}


@patient
@given(case=samples(directed=False))
def test_both_methods_equal_the_oracle(case: Sample) -> None:
    expected = [case.ids[v] for v in oracles.components(case.n, case.edges)]
    for method in ("sampled", "min-label"):
        result = connected_components(case.graph, method)
        assert result["component"].tolist() == expected
        assert parts(result) == by_networkx(case.graph)
        assert result.converged


@patient
@given(case=samples())
def test_directions_are_forgotten_by_weak_components(case: Sample) -> None:
    result = weakly_connected_components(case.graph)
    assert result.numbers("component").tolist() == oracles.components(case.n, case.edges)
    assert parts(result) == by_networkx(case.graph)


# Graphs of several chunks, so that workers really meet: a giant among dust, a long path, nothing but small components.
@pytest.mark.parametrize(
    "spec", ["kron:15", "urand:15,ef=1", "grid:200x300", "path:40000", "ws:30000,k=4,p=0.01", "star:40000"]
)
def test_the_threads_make_no_difference(spec: str) -> None:
    graph = af.load(spec)
    first = connected_components(graph, threads=1)
    first.validate().raise_for_failure()
    for threads in (2, 3):
        np.testing.assert_array_equal(connected_components(graph, threads=threads)["component"], first["component"])
    roots = np.unique(first["component"])
    np.testing.assert_array_equal(first["component"][roots], roots)
    assert (first["component"] <= np.arange(graph.vertices)).all()


def test_large_directed_graphs() -> None:
    """Every vertex but few has no more than two out-edges, so that the rest joins nothing by chance."""
    random = np.random.default_rng(5)
    n = 60_000
    for edges in (n // 2, n, 4 * n):
        graph = af.Graph.from_edges(random.integers(0, n, edges), random.integers(0, n, edges), vertices=n)
        results = [weakly_connected_components(graph, threads=threads) for threads in (1, 2, 3)]
        results[0].validate().raise_for_failure()
        for other in results[1:]:
            np.testing.assert_array_equal(other["component"], results[0]["component"])


def test_a_giant_that_hides_in_later_edges() -> None:
    """Two cliques joined by the last neighbours only: the sample sees two trees, the skipped one has to be found."""
    half = 5000
    ring = np.arange(half)
    source = np.concatenate([ring, ring, half + ring, half + ring, [0]])
    target = np.concatenate([(ring + 1) % half, (ring + 2) % half, half + (ring + 1) % half, half + (ring + 2) % half])
    graph = af.Graph.from_edges(source, np.append(target, 2 * half - 1), directed=False)
    assert connected_components(graph)["component"].max() == 0
    apart = af.Graph.from_edges(source[:-1], target, directed=False)
    assert np.unique(connected_components(apart)["component"]).tolist() == [0, half]


def test_no_vertices_and_one() -> None:
    assert connected_components(af.Graph.from_edges([], [], directed=False))["component"].size == 0
    assert weakly_connected_components(af.Graph.from_edges([], []))["component"].size == 0
    assert connected_components(sample(1, [(0, 0)], False).graph)["component"].tolist() == [-5]


def test_what_is_refused() -> None:
    directed = af.Graph.from_edges([0], [1])
    with pytest.raises(GraphError, match=r"directed[\s\S]*weakly_connected_components"):
        connected_components(directed)
    graph = af.load("path:3")
    with pytest.raises(UsageError, match=r"does not take direction[\s\S]*min-label"):
        connected_components(graph, direction="push")
    with pytest.raises(UsageError, match="method is 'fast'"):
        connected_components(graph, "fast")
    with pytest.raises(UsageError, match="threads is 0"):
        weakly_connected_components(graph, threads=0)


def test_a_wrong_component_is_found_by_validate() -> None:
    result = connected_components(af.load("path:5"))
    assert result.validate()
    result.values["component"][3] = 3
    assert not result.validate()

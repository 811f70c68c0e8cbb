"""Shortest paths: what is right passes, and every way to be wrong is caught, by its rule, at its vertex."""

from math import inf, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from validate_samples import Sample, blamed, broken, patient, sample, samples

import arcflux as af
import oracles
from arcflux.errors import GraphError, IdError, UsageError, WeightError
from arcflux.validate import sssp

# 0 -2- 1 -3- 2 -0- 3, a costly chord 0 -9- 2, two parallel edges 3 -4- 4 and 3 -1- 4, and 5 -1- 6 elsewhere.
EDGES = [(0, 1, 2), (1, 2, 3), (2, 3, 0), (0, 2, 9), (3, 4, 4), (3, 4, 1), (5, 6, 1)]
DISTANCE = [0, 2, 5, 5, 6, inf, inf]
PARENT = [0, 0, 1, 2, 3, -1, -1]


@pytest.fixture
def pond() -> Sample:
    return sample(7, EDGES)


def check(s: Sample, distance: Any, parent: Any = None, source: int = 0, **options: Any) -> af.validate.Report:
    return sssp(s.graph, s.ids[source], distance, parent, numbers=True, **options)


def dijkstra_parents(s: Sample, distance: list[float], source: int) -> list[int]:
    """Some shortest-path tree, grown from the source along tight edges."""
    parent = [-1] * s.n
    parent[source] = source
    grown = True
    while grown:
        grown = False
        for u, v, w in s.arcs:
            if parent[u] >= 0 and parent[v] < 0 and distance[u] + w == distance[v]:
                parent[v] = u
                grown = True
    return parent


def tree_is_right(s: Sample, parent: list[int], source: int) -> bool:
    """By definition: every reached vertex hangs from a tight edge, and its ancestors end at the source."""
    distance = oracles.sssp(s.n, s.arcs, source)
    tight = {(u, v) for u, v, w in s.arcs if distance[u] + w == distance[v] < inf}
    for v in range(s.n):
        if v == source or distance[v] == inf:
            if parent[v] != (source if v == source else -1):
                return False
            continue
        steps, at = 0, v
        while at != source:
            if (parent[at], at) not in tight or steps > s.n:
                return False
            steps, at = steps + 1, parent[at]
    return True


whole_weights = samples(weights=st.integers(0, 2))


@patient
@given(whole_weights, st.data())
def test_right_results_pass(s: Sample, data: Any) -> None:
    source = data.draw(st.integers(0, s.n - 1))
    distance = oracles.sssp(s.n, s.arcs, source)
    parent = dijkstra_parents(s, distance, source)
    for given_parent in (None, parent):
        report = check(s, distance, given_parent, source)
        assert report.ok, str(report)


@patient
@given(samples(weights=st.floats(0, 10)))
def test_right_results_of_real_weights_pass(s: Sample) -> None:
    report = check(s, oracles.sssp(s.n, s.arcs, 0))
    assert report.ok, str(report)


@patient
@given(samples(weights=st.integers(0, 2), most=5), st.data())
def test_any_distances_are_judged_as_the_oracle_judges(s: Sample, data: Any) -> None:
    right = oracles.sssp(s.n, s.arcs, 0)
    distance = data.draw(st.lists(st.sampled_from([0, 1, 2, 3, inf]), min_size=s.n, max_size=s.n) | st.just(right))
    v = data.draw(st.integers(0, s.n - 1))
    distance = [*distance[:v], data.draw(st.sampled_from([0, 0.5, 1, 2, inf, -1, nan])), *distance[v + 1 :]]
    assert check(s, distance).ok == (distance == right)


@patient
@given(whole_weights, st.data())
def test_any_mutation_of_parents_is_judged_by_definition(s: Sample, data: Any) -> None:
    source, v = (data.draw(st.integers(0, s.n - 1)) for _ in range(2))
    distance = oracles.sssp(s.n, s.arcs, source)
    parent = dijkstra_parents(s, distance, source)
    parent[v] = data.draw(st.integers(-1, s.n))
    assert check(s, distance, parent, source).ok == tree_is_right(s, parent, source)


@patient
@given(whole_weights, st.data())
def test_several_sources(s: Sample, data: Any) -> None:
    sources = data.draw(st.lists(st.integers(0, s.n - 1), max_size=3))
    distance = oracles.multi_source_sssp(s.n, s.arcs, sources)
    named = np.array([s.ids[v] for v in sources], object if isinstance(s.ids[0], str) else np.int64)
    assert sssp(s.graph, None, distance, sources=named).ok
    v = data.draw(st.integers(0, s.n - 1))
    distance[v] = 0.5 if distance[v] == inf else distance[v] + 1
    assert not sssp(s.graph, None, distance, sources=named).ok


@pytest.mark.parametrize(
    ("changes", "rules", "rule", "vertex"),
    [
        ({0: 1}, {"source", "in-edge"}, "source", 0),
        ({0: inf}, {"source", "span", "in-edge"}, "source", 0),
        ({1: 1}, {"in-edge", "path", "edges"}, "in-edge", 1),
        ({1: 3}, {"in-edge", "path", "edges"}, "edges", 1),
        ({4: 9}, {"edges"}, "edges", 4),
        ({4: 5.5}, {"in-edge"}, "in-edge", 4),
        ({2: 9, 3: 9, 4: 10}, {"edges"}, "edges", 2),
        ({2: 4, 3: 4, 4: 5}, {"path"}, "path", 2),
        ({2: 4, 3: 4, 4: 5}, {"path"}, "path", 3),
        ({4: inf}, {"span"}, "span", 4),
        ({5: 3}, {"in-edge", "span"}, "in-edge", 5),
        ({5: 3, 6: 4}, {"in-edge"}, "in-edge", 5),
        ({4: nan}, {"range", "span"}, "range", 4),
        ({4: -1}, {"range", "span"}, "range", 4),
        ({4: -inf}, {"range", "span"}, "range", 4),
    ],
)
def test_wrong_distances(pond: Sample, changes: dict[int, float], rules: set[str], rule: str, vertex: int) -> None:
    report = check(pond, [changes.get(v, value) for v, value in enumerate(DISTANCE)])
    assert broken(report) == rules, str(report)
    assert pond.ids[vertex] in blamed(report, rule)


@pytest.mark.parametrize(
    ("changes", "rules", "rule", "vertex"),
    [
        ({0: 1}, {"source"}, "source", 0),
        ({0: -1}, {"source", "agreement"}, "source", 0),
        ({4: -1}, {"agreement"}, "agreement", 4),
        ({5: 6}, {"agreement", "tree"}, "agreement", 5),
        ({2: 0}, {"tree-edge"}, "tree-edge", 2),
        ({4: 0}, {"parent-edge"}, "parent-edge", 4),
        ({4: 99}, {"parent-edge", "tree"}, "parent-edge", 4),
        ({2: 3}, {"tree"}, "tree", 2),
        ({2: 3}, {"tree"}, "tree", 4),
        ({3: 3}, {"tree", "parent-edge"}, "tree", 3),
    ],
)
def test_wrong_parents(pond: Sample, changes: dict[int, int], rules: set[str], rule: str, vertex: int) -> None:
    report = check(pond, DISTANCE, [changes.get(v, value) for v, value in enumerate(PARENT)])
    assert broken(report) == rules, str(report)
    assert pond.ids[vertex] in blamed(report, rule)


def test_a_distance_that_its_parent_does_not_explain(pond: Sample) -> None:
    report = check(pond, [0, 2, 5, 5, 5.5, inf, inf], PARENT)
    assert broken(report) == {"tree-edge"}
    offence = report["tree-edge"].offences[0]
    assert (offence.vertex, offence.found) == (45, "distance 5.5")
    assert offence.expected == "distance 5 of its parent 35 plus the weight of an edge from there"


def test_offences_name_the_edge_and_its_weight(pond: Sample) -> None:
    offence = check(pond, [0, 2, 5, 5, 7, inf, inf])["edges"].offences[0]
    assert (offence.vertex, offence.found) == (45, "distance 7")
    assert offence.expected == "at most 6: edge 35 -> 45 leaves distance 5 with weight 1"


def test_a_loop_of_weight_0_explains_nothing() -> None:
    s = sample(2, [(0, 1, 5), (1, 1, 0)], directed=True)
    assert check(s, [0, 5]).ok
    assert broken(check(s, [0, 4])) == {"in-edge"}
    assert broken(check(s, [0, 5], [0, 1])) == {"tree", "tree-edge"}


def test_the_tolerance_is_relative_and_for_real_weights_only() -> None:
    real, whole = (sample(2, [(0, 1, w)], directed=True) for w in (1000.0, 1000))
    assert check(real, [0, 1000 * (1 + 5e-10)]).ok
    assert broken(check(real, [0, 1000 * (1 + 5e-9)])) == {"edges", "in-edge"}
    assert broken(check(real, [0, 1000 * (1 - 5e-9)])) == {"in-edge"}
    assert broken(check(whole, [0, 1000 * (1 + 5e-10)])) == {"edges", "in-edge"}
    assert check(real, np.array([0, 1000 * (1 + 5e-7)], np.float32)).ok
    assert not check(real, np.array([0, 1000 * (1 + 5e-6)], np.float32)).ok
    assert check(real, [0, 1001], tolerance=0.01).ok
    assert not check(real, [0, 1001], tolerance=1e-4).ok


def test_vertices_within_the_tolerance_do_not_explain_each_other() -> None:
    s = sample(3, [(0, 1, 100.0), (1, 2, 1e-9)])
    assert check(s, [0, 100, 100 + 1e-9]).ok
    assert broken(check(s, [0, 50, 50])) == {"path"}


def test_without_weights_every_edge_counts_1() -> None:
    s = sample(3, [(0, 1, 5), (1, 2, 5)])
    assert check(s, [0, 1, 2], weight=None).ok
    assert check(s, [0, 1, 2], [0, 0, 1], weight=None).ok
    assert not check(s, [0, 5, 10], weight=None).ok


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint64, np.int64, np.float32, np.float64, np.bool_])
def test_any_numbers_are_weights(dtype: type) -> None:
    graph = af.Graph.from_edges([0, 1], [1, 2], columns={"cost": np.array([1, 1], dtype)})
    assert sssp(graph, 0, [0, 1, 2], weight="cost").ok
    assert not sssp(graph, 0, [0, 1, 3], weight="cost").ok


@pytest.mark.parametrize("weight", [-1, -0.5, nan, inf, -inf])
def test_weights_that_no_path_can_have(weight: float) -> None:
    graph = af.Graph.from_edges(["a", "a", "c"], ["b", "c", "d"], columns={"weight": [1, 1, weight]})
    with pytest.raises(WeightError, match=f"edge c -> d is {weight}") as caught:
        sssp(graph, "a", [0, 1, 1, 1])
    assert caught.value.remedy


def test_a_column_that_is_not_there() -> None:
    graph = af.Graph.from_edges([0], [1], columns={"cost": [1]})
    with pytest.raises(WeightError, match="'weight'") as caught:
        sssp(graph, 0, [0, 1])
    assert isinstance(caught.value, GraphError)
    assert "cost" in caught.value.expected
    assert "weight=None" in caught.value.remedy


def test_arguments_that_make_no_sense() -> None:
    graph = af.Graph.from_edges([0], [1], columns={"weight": [1]})
    for distance in ([0], ["0", "1"], [[0, 1]], [0, None], [0, 2**60]):
        with pytest.raises(UsageError, match="distance"):
            sssp(graph, 0, distance)
    with pytest.raises(UsageError, match="both"):
        sssp(graph, 0, [0, 1], sources=[0])
    for sources in (0, [[0]]):
        with pytest.raises(UsageError, match="sources"):
            sssp(graph, None, [0, 1], sources=sources)
    with pytest.raises(UsageError, match="source"):
        sssp(graph, None, [0, 1])
    with pytest.raises(IdError, match="9"):
        sssp(graph, None, [0, 1], sources=[0, 9])
    for tolerance in (-1, nan, inf):
        with pytest.raises(UsageError, match="tolerance"):
            sssp(graph, 0, [0, 1], tolerance=tolerance)


def test_integers_are_distances_while_they_are_exact() -> None:
    graph = af.Graph.from_edges([0], [1], columns={"weight": [2**53]})
    assert sssp(graph, 0, np.array([0, 2**53])).ok
    for beyond in (2**53 + 1, -(2**53) - 1):
        with pytest.raises(UsageError, match="beyond 2"):
            sssp(graph, 0, np.array([0, beyond]))
    assert broken(sssp(graph, 0, np.array([0, -(2**53)]))) == {"range", "span"}
    for tolerance in (0, 0.5):
        assert sssp(graph, 0, [0, 2**53], tolerance=tolerance).ok
    for tolerance in (-1e-9, inf, nan):
        with pytest.raises(UsageError, match="tolerance"):
            sssp(graph, 0, [0, 2**53], tolerance=tolerance)

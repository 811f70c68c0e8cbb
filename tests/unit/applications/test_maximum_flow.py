"""Maximum flow against NetworkX, its own certificate, and properties that hold for any network."""

from __future__ import annotations

import sys

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

import arcflux as af
from arcflux.errors import GraphError, UsageError, WeightError


def reference(source, target, capacity, vertices: int, directed: bool) -> nx.DiGraph:
    made = nx.DiGraph()
    made.add_nodes_from(range(vertices))
    for u, v, c in zip(source, target, capacity, strict=True):
        for a, b in ((u, v),) if directed else ((u, v), (v, u)):
            if a != b:
                before = made.get_edge_data(a, b, {"capacity": 0})["capacity"]
                made.add_edge(a, b, capacity=before + c)
    return made


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_it_is_networkx_s_with_a_certificate(data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 12))
    ends = st.integers(0, n - 1)
    number = data.draw(st.sampled_from([st.integers(0, 9), st.floats(0, 5), st.integers(2**58, 2**59)]))
    edges = data.draw(st.lists(st.tuples(ends, ends, number), min_size=1, max_size=8 if n > 11 else 40))
    directed = data.draw(st.booleans())
    source, target, capacity = map(list, zip(*edges, strict=True))
    if sum(capacity) >= 2**61:
        capacity = [c % 1000 for c in capacity]
    graph = af.Graph.from_edges(source, target, vertices=n, directed=directed, columns={"capacity": capacity})
    found = af.maximum_flow(graph, 0, n - 1)
    expected = nx.maximum_flow_value(reference(source, target, capacity, n, directed), 0, n - 1)
    assert found.value == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert found.validate().ok, found.validate()
    assert af.minimum_cut(graph, 0, n - 1).value == found.value


def test_it_is_scipy_s_on_grids() -> None:
    """Where labels rise far: what a vertex wakes before it is cut off itself has to be discharged as well."""
    for seed in range(150):
        draw = np.random.default_rng(seed)
        numbers = np.arange(np.prod(shape := draw.integers(5, 20, 2))).reshape(shape)
        source = np.concatenate([numbers[:, :-1].ravel(), numbers[:-1].ravel()])
        target = np.concatenate([numbers[:, 1:].ravel(), numbers[1:].ravel()])
        capacity, n = draw.integers(1, 40, len(source)).astype(np.int32), numbers.size
        ends = draw.choice(n, 2, replace=False).tolist()
        graph = af.Graph.from_edges(source, target, vertices=n, directed=False, columns={"capacity": capacity})
        rows, columns = np.concatenate([source, target]), np.concatenate([target, source])
        matrix = csr_array((np.concatenate([capacity, capacity]), (rows, columns)), shape=(n, n))
        assert af.maximum_flow(graph, *ends, threads=1).value == maximum_flow(matrix, *ends).flow_value, seed


@pytest.mark.parametrize("method", ["highest", "rounds"])
@pytest.mark.parametrize(
    "spec", ["genrmf:6x9", "grid:20x30,weights=1-9", "kron:8,weights=1-99", "planted:3x60,weights"]
)
def test_the_same_on_any_number_of_workers(spec: str, method: str) -> None:
    graph = af.load(spec)
    ends, capacity = (0, graph.vertices - 1), next(iter(graph.columns))
    alone = af.maximum_flow(graph, *ends, capacity, method=method, threads=1)
    assert alone.validate()
    for where in ({"threads": 2}, {"threads": 3}, {"parts": 3}, {"parts": 3, "ranks_per_node": 1}):
        other = af.maximum_flow(graph, *ends, capacity, method=method, **where)
        assert (other.value, other.rounds) == (alone.value, alone.rounds), where
        assert (other["side"] == alone["side"]).all()
        assert (other.flow == alone.flow).all()
    assert (other.sent.get("labels", 0) > 0) == (method == "rounds")


def test_both_methods_find_the_same_cut() -> None:
    graph = af.load("genrmf:5x8")
    one, other = (af.maximum_flow(graph, 0, graph.vertices - 1, method=method) for method in ("highest", "rounds"))
    assert one.validate()
    assert other.validate()
    assert one.value == other.value
    assert (one["side"] == other["side"]).all()
    with pytest.raises(af.errors.UsageError, match="method"):
        af.maximum_flow(graph, 0, 1, method="lowest")


def test_numbering_and_scale_make_no_difference() -> None:
    graph = af.load("genrmf:4x6,seed=3")
    value = af.minimum_cut(graph, 0, 95).value
    order = np.random.default_rng(1).permutation(96)
    source, target, places = graph.edge_numbers()
    capacity = graph.columns["capacity"][places]
    other = af.Graph.from_edges(order[source], order[target], columns={"capacity": capacity * 7})
    assert af.minimum_cut(other, order[0], order[95]).value == 7 * value
    thirds = graph.with_columns({"capacity": graph.columns["capacity"] / 3})
    assert af.maximum_flow(thirds, 0, 95).value == pytest.approx(value / 3)
    assert (af.minimum_cut(thirds, 0, 95)["side"] == af.minimum_cut(graph, 0, 95)["side"]).all()


def test_a_matching_is_a_flow() -> None:
    pairs = nx.bipartite.random_graph(30, 25, 0.08, seed=4)
    size = len(nx.bipartite.hopcroft_karp_matching(pairs, range(30))) // 2
    source = [u for u, _ in pairs.edges] + [55] * 30 + list(range(30, 55))
    target = [v for _, v in pairs.edges] + list(range(30)) + [56] * 25
    assert af.maximum_flow(af.Graph.from_edges(source, target), 55, 56, capacity=None).value == size


def test_the_cut_has_the_fewest_vertices_on_the_sink_s_side() -> None:
    chain = af.Graph.from_edges([0, 1, 2], [1, 2, 3], columns={"capacity": [2, 2, 2]})
    assert af.minimum_cut(chain, 0, 3)["side"].tolist() == [1, 1, 1, 0]


def test_infinite_capacities_are_no_limit_and_infinite_flows_an_error() -> None:
    chain = af.Graph.from_edges([0, 1, 0], [1, 2, 2], columns={"capacity": [np.inf, 2.5, 0.5]})
    assert af.maximum_flow(chain, 0, 2).value == 3.0
    free = af.Graph.from_edges([0, 1], [1, 2], columns={"capacity": [np.inf, np.inf]})
    with pytest.raises(GraphError, match="infinite"):
        af.maximum_flow(free, 0, 2)


@pytest.mark.parametrize("method", ["highest", "rounds"])
@pytest.mark.parametrize(("wide", "narrow"), [(2**60, 2**60), (2**61 - 1, 5), (np.inf, 1.0), (1e300, 0.25)])
def test_capacities_that_overflow_together_hold_nothing_up(wide: float, narrow: float, method: str) -> None:
    """One vertex, through which all has to go, would get 16 of the wide capacities."""
    middle = np.arange(1, 17)
    source = np.concatenate([np.zeros(16, int), middle, [17]])
    target = np.concatenate([middle, np.full(16, 17), [18]])
    graph = af.Graph.from_edges(source, target, columns={"capacity": [wide] * 32 + [narrow]})
    for where in ({}, {"parts": 3, "ranks_per_node": 1}):
        found = af.maximum_flow(graph, 0, 18, method=method, **where)
        assert found.value == narrow
        assert found.validate().ok, found.validate()
        assert found["side"].tolist() == [1] * 18 + [0]
    free = af.Graph.from_edges(source, target, columns={"capacity": [np.inf] * 33})
    with pytest.raises(GraphError, match="infinite"):
        af.maximum_flow(free, 0, 18, method=method)


@pytest.mark.parametrize("method", ["highest", "rounds"])
@pytest.mark.parametrize("spec", ["genrmf:6x9", "grid:12x20,weights=1-9", "kron:8,weights=1-99", "urand:8,directed"])
def test_a_source_that_pushes_as_others_do_gives_the_same_cut(monkeypatch, spec: str, method: str) -> None:
    graph = af.load(spec)
    column = next(iter(graph.columns), None)
    asked = 0, graph.vertices - 1, column
    usual = af.maximum_flow(graph, *asked, method=method)
    monkeypatch.setattr(sys.modules["arcflux.applications.maximum_flow.solver"], "_FULL", -1)
    for where in ({}, {"parts": 2, "ranks_per_node": 1}):
        found = af.maximum_flow(graph, *asked, method=method, **where)
        assert found.value == usual.value
        assert (found["side"] == usual["side"]).all()
        assert found.validate().ok, found.validate()


def test_nothing_flows_where_there_is_no_way() -> None:
    apart = af.Graph.from_edges([0, 2], [1, 3], columns={"capacity": [5, 5]})
    found = af.maximum_flow(apart, 0, 3)
    assert found.value == 0
    assert found.flow.tolist() == [0, 0]
    assert found.validate()


@pytest.mark.parametrize(
    ("capacity", "ends", "error", "match"),
    [
        ([1, -1], (0, 2), WeightError, "edge 1 -> 2 is -1"),
        ([1.0, np.nan], (0, 2), WeightError, "is nan"),
        ([2**62, 2**62], (0, 2), GraphError, "2\\^61"),
        ([1, 1], (0, 0), UsageError, "both 0"),
        ([1, 1], (0, 7), Exception, "7"),
        ([1, 1], (None, 1), UsageError, "source is None"),
    ],
)
def test_bad_input_is_refused(capacity, ends, error, match) -> None:
    graph = af.Graph.from_edges([0, 1], [1, 2], columns={"capacity": capacity})
    with pytest.raises(error, match=match):
        af.maximum_flow(graph, *ends)
    with pytest.raises(WeightError, match="no edge column"):
        af.maximum_flow(graph, 0, 2, "length")


def test_the_validator_notices() -> None:
    graph = af.load("genrmf:3x3")
    found = af.maximum_flow(graph, 0, 26)
    given_flow, side = found.flow.copy(), found["side"].copy()
    used = int(np.argmax(given_flow))

    def broken(value, sides, flow):
        report = af.validate.maximum_flow(graph, 0, 26, "capacity", value, sides, flow)
        return {rule.name for rule in report.failures}

    assert broken(found.value, side, given_flow) == set()
    assert broken(found.value + 1, side, given_flow) == {"cut", "value"}
    less = given_flow.copy()
    less[used] -= 1
    assert "conservation" in broken(found.value, side, less)
    more = given_flow.copy()
    more[used] += 10**6
    assert "capacity" in broken(found.value, side, more)
    assert "sides" in broken(found.value, 1 - side, given_flow)

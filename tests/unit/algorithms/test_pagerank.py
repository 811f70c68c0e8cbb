"""Ranks against the oracle, NetworkX, the validator and one another, on graphs of every kind."""

import math
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from wedge_samples import Sample, patient, sample, samples

import arcflux as af
import oracles
from arcflux.algorithms import pagerank, pagerank_delta
from arcflux.errors import IdError, UsageError, WeightError

EXACT: dict[str, Any] = {"tol": 1e-14, "max_iter": 2000}


def weighed(case: Sample, weights: list[float]) -> Sample:
    """The same graph with weights."""
    source, target = ([case.ids[edge[k]] for edge in case.edges] for k in (0, 1))
    made = af.Graph.from_edges(source, target, columns={"weight": np.array(weights, np.float64)}, vertices=case.ids,
                               directed=case.graph.directed)  # fmt: skip
    edges = [(*edge, weight) for edge, weight in zip(case.edges, weights, strict=True)]
    return case._replace(graph=made, edges=edges)


def by_networkx(graph: af.Graph, **options: Any) -> list[float]:
    """NetworkX's ranks, in the order of the vertex numbers; parallel edges are many edges there too."""
    source, target, columns = graph.edge_list()
    made = nx.MultiDiGraph() if graph.directed else nx.MultiGraph()
    made.add_nodes_from(graph.ids.to_ids().tolist())
    weight = columns["weight"].tolist() if graph.weighted else [1.0] * graph.edges
    made.add_weighted_edges_from(zip(source.tolist(), target.tolist(), weight, strict=True))
    found = nx.pagerank(made, tol=1e-14, max_iter=5000, **options)
    return [found[vertex] for vertex in graph.ids.to_ids().tolist()]


@patient
@given(case=samples(), damping=st.sampled_from([0.0, 0.5, 0.85, 0.95]), threads=st.integers(1, 3))
def test_plain_ranks_equal_the_oracle_and_networkx(case: Sample, damping: float, threads: int) -> None:
    for dangling in ("redistribute", "drop"):
        found = pagerank(case.graph, damping, dangling=dangling, threads=threads, **EXACT)
        expected = oracles.pagerank(case.n, case.arcs, damping, dangling=dangling)
        np.testing.assert_allclose(found["rank"], expected, rtol=0, atol=1e-11)
        assert found.converged
        found.validate().raise_for_failure()
    np.testing.assert_allclose(pagerank(case.graph, damping, **EXACT)["rank"], by_networkx(case.graph, alpha=damping),
                               rtol=0, atol=1e-11)  # fmt: skip


@patient
@given(case=samples(), data=st.data())
def test_weights_and_personalization_equal_the_oracle_and_networkx(case: Sample, data: st.DataObject) -> None:
    kinds = st.one_of(st.just(0.0), st.floats(0.01, 100))
    case = weighed(case, data.draw(st.lists(kinds, min_size=len(case.edges), max_size=len(case.edges))))
    homes = data.draw(st.dictionaries(st.integers(0, case.n - 1), st.floats(0.1, 9), min_size=1))
    nstart = data.draw(st.sampled_from([None, {case.ids[0]: 2.0}]))
    named = {case.ids[v]: share for v, share in homes.items()}
    for dangling in ("redistribute", "drop"):
        found = pagerank(case.graph, personalization=named, nstart=nstart, dangling=dangling, **EXACT)
        expected = oracles.pagerank(case.n, case.arcs, dangling=dangling, personalization=homes, weighted=True)
        np.testing.assert_allclose(found["rank"], expected, rtol=0, atol=1e-11)
        found.validate().raise_for_failure()
        if dangling == "redistribute":
            np.testing.assert_allclose(found["rank"], by_networkx(case.graph, personalization=named), atol=1e-11)
    in_order = [homes.get(v, 0.0) for v in range(case.n)]
    np.testing.assert_array_equal(
        pagerank(case.graph, personalization=in_order)["rank"], pagerank(case.graph, personalization=named)["rank"]
    )


@patient
@given(case=samples(), threads=st.integers(1, 3))
def test_delta_push_gives_the_same_ranks(case: Sample, threads: int) -> None:
    found = pagerank_delta(case.graph, tol=1e-13, threads=threads)
    wanted = pagerank(case.graph, dangling="drop", weight=None, **EXACT)["rank"]
    np.testing.assert_allclose(found["rank"], wanted, rtol=0, atol=1e-10)
    assert list(found.values) == ["rank"]
    found.validate().raise_for_failure()


def test_small_gains_are_held_until_they_are_worth_sending() -> None:
    """0 and 1 hand rank to and fro, and a hundredth of it to 2 each time: less than the tolerance, and more in all."""
    graph = af.Graph.from_edges([0] * 101 + [1, 2], [1] * 100 + [2, 0, 3])
    base = 0.15 / 4
    found = pagerank_delta(graph, tol=base / 100)["rank"]
    missing = pagerank(graph, dangling="drop", **EXACT)["rank"] - found
    assert (missing >= 0).all()
    assert missing[3] < 0.015 * base


@pytest.mark.parametrize("spec", ["kron:13", "kron:13,weights=1-9", "star:20000", "rmat:12"])
@pytest.mark.parametrize("dtype", ["f64", "f32"])
def test_threads_give_the_same_bits(spec: str, dtype: str) -> None:
    graph = af.load(spec)
    first = pagerank(graph, threads=1, dtype=dtype)
    assert first["rank"].dtype == {"f64": np.float64, "f32": np.float32}[dtype]
    first.validate().raise_for_failure()
    for threads in (2, 3):
        other = pagerank(graph, threads=threads, dtype=dtype)
        assert other["rank"].tobytes() == first["rank"].tobytes()
        assert other.supersteps == first.supersteps


@pytest.mark.parametrize("options", [{}, {"dangling": "drop"}, {"weight": None}, {"personalization": range(2048)}])
def test_half_the_bits_are_close(options: dict[str, Any]) -> None:
    graph = af.load("rmat:11,weights=1-9")
    full = pagerank(graph, tol=1e-12, **options)["rank"]
    half = pagerank(graph, tol=1e-9, dtype="f32", **options)["rank"]
    assert 0 < np.abs(full - half).sum() < 1e-5


def test_ranks_of_large_graphs_have_settled() -> None:
    """NetworkX's rule alone, vertices * tol, would stop here when ranks move by 0.13 together."""
    graph = af.load("rmat:17,ef=4")
    found = pagerank(graph)
    assert found.residual < 1e-4
    exact = pagerank(graph, tol=1e-13, max_iter=500)["rank"]
    assert np.abs(found["rank"] - exact).sum() < 1e-3
    assert pagerank(graph, tol=1.0).supersteps == found.supersteps


def test_names_and_arguments_of_networkx() -> None:
    graph = af.load("rmat:8")
    ranks = pagerank(graph, 0.5)["rank"]
    assert np.array_equal(pagerank(graph, damping=0.5)["rank"], ranks)
    assert np.array_equal(pagerank(graph, alpha=0.5)["rank"], ranks)
    assert not np.array_equal(pagerank(graph)["rank"], ranks)
    named = af.Graph.from_edges([0, 0, 1, 2], [1, 2, 0, 0], columns={"heat": [1.0, 9.0, 1.0, 1.0]})
    hot = pagerank(named, weight="heat")
    assert hot["rank"][2] > hot["rank"][1]
    assert hot.graph is named
    assert hot.validate()
    assert pagerank(named)["rank"][2] == pagerank(named)["rank"][1]  # no column of the default name
    near = pagerank(graph, nstart=ranks, damping=0.5)
    assert near.supersteps < pagerank(graph, damping=0.5).supersteps
    with pytest.warns(UserWarning, match="stopped after 3 supersteps"):
        short = pagerank(graph, max_iter=3)
    assert not short.converged
    assert short.supersteps == 3


def test_tiny_graphs() -> None:
    for directed in (True, False):
        assert pagerank(af.Graph.from_edges([], [], directed=directed))["rank"].size == 0
        assert pagerank_delta(af.Graph.from_edges([], [], directed=directed))["rank"].size == 0
        assert pagerank(sample(1, [], directed).graph)["rank"].tolist() == [1.0]
        assert pagerank(sample(1, [(0, 0)], directed, "text").graph)["rank"] == pytest.approx([1.0])
    nobody = sample(3, [], True).graph
    np.testing.assert_allclose(pagerank(nobody)["rank"], 1 / 3)
    np.testing.assert_allclose(pagerank(nobody, dangling="drop")["rank"], 0.05)
    np.testing.assert_allclose(pagerank_delta(nobody)["rank"], 0.05)


@pytest.mark.parametrize("change", [1.01, -1.0, math.nan])
@pytest.mark.parametrize("options", [{}, {"dangling": "drop"}, {"weight": None}, {"personalization": {0: 1, 5: 2}}])
def test_a_wrong_rank_is_found_by_validate(change: float, options: dict[str, Any]) -> None:
    graph = af.load("rmat:7,weights=1-9")
    result = pagerank(graph, tol=1e-9, **options)
    result.validate().raise_for_failure()
    result.values["rank"][int(np.argmax(result["rank"]))] *= change
    assert not result.validate()


def test_wrong_delta_ranks_are_found_by_validate() -> None:
    result = pagerank_delta(af.load("kron:7"))
    assert result.validate()
    result.values["rank"][3] += 1e-3
    assert not result.validate()


@pytest.mark.parametrize("weight", [-1.0, math.nan, math.inf])
def test_weights_without_a_surfer_are_refused(weight: float) -> None:
    graph = af.Graph.from_edges(["a", "b"], ["b", "c"], columns={"weight": [1.0, weight]})
    with pytest.raises(WeightError, match="the weight of edge b -> c is"):
        pagerank(graph)
    assert pagerank(graph, weight=None).converged
    with pytest.raises(WeightError, match="no edge column 'heat'"):
        pagerank(graph, weight="heat")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"damping": 1.0}, "the damping is 1.0"),
        ({"alpha": -0.1}, "the damping is -0.1"),
        ({"alpha": math.nan}, "the damping is nan"),
        ({"alpha": 0.5, "damping": 0.6}, "alpha is 0.5 and damping is 0.6"),
        ({"tol": -1e-6}, "tol is -1e-06"),
        ({"tol": math.nan}, "tol is nan"),
        ({"dangling": "keep"}, "dangling is 'keep'"),
        ({"dtype": "f16"}, "dtype is 'f16'"),
        ({"personalization": {}}, "personalization cannot be"),
        ({"personalization": {0: 0.0}}, "personalization cannot be"),
        ({"personalization": {0: -1.0, 1: 2.0}}, "personalization cannot be"),
        ({"personalization": {0: "much"}}, "personalization cannot be"),
        ({"personalization": [1.0]}, "personalization cannot be"),
        ({"personalization": 7}, "personalization cannot be"),
        ({"nstart": [math.inf] * 4}, "nstart cannot be"),
    ],
)
def test_bad_arguments_are_named(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        pagerank(af.load("path:4"), **options)


def test_bad_ids_and_deltas_are_named() -> None:
    graph = af.load("path:4")
    with pytest.raises(IdError, match="9 is not in the graph"):
        pagerank(graph, personalization={9: 1.0})
    for wrong in ({"alpha": 1.0}, {"tol": 0.0}, {"tol": math.nan}):
        with pytest.raises(UsageError):
            pagerank_delta(graph, **wrong)


def test_eager_ends_within_the_tolerance():
    graph = af.load("grid:40x40")
    slow = pagerank(graph, tol=1e-12, method="power")
    fast = pagerank(graph, tol=1e-12, eager=True)
    assert fast.supersteps < slow.supersteps
    np.testing.assert_allclose(fast["rank"], slow["rank"], rtol=1e-6)
    assert fast.validate().ok
    settled = pagerank(graph, eager=True, deterministic=True)["rank"]
    assert settled.tolist() == pagerank(graph, method="power")["rank"].tolist()

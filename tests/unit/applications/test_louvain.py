"""Louvain and Leiden against NetworkX's modularity, known optima, and properties that hold for any graph."""

from __future__ import annotations

import importlib

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import arcflux as af
from arcflux.errors import UsageError

BOTH = pytest.mark.parametrize("find", [af.louvain, af.leiden])


def undirected(edges: list[tuple[int, int]], vertices: int, **columns: list[float]) -> af.Graph:
    source, target = np.array(edges, np.int64).reshape(-1, 2).T
    return af.Graph.from_edges(source, target, vertices=vertices, directed=False, columns=columns or None)


def networkx_modularity(graph: nx.Graph, community: np.ndarray, resolution: float = 1.0) -> float:
    sets = [set(np.flatnonzero(community == k).tolist()) for k in np.unique(community)]
    return nx.community.modularity(graph, sets, resolution=resolution)


def random_multigraph(data: st.DataObject) -> tuple[nx.MultiGraph, af.Graph]:
    n = data.draw(st.integers(2, 24), label="vertices")
    ends = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1))
    edges = data.draw(st.lists(ends, min_size=1, max_size=60), label="edges")
    weights = data.draw(st.lists(st.integers(0, 9), min_size=len(edges), max_size=len(edges)), label="weights")
    reference = nx.MultiGraph()
    reference.add_nodes_from(range(n))
    reference.add_weighted_edges_from((*ends, weight) for ends, weight in zip(edges, weights, strict=True))
    return reference, undirected(edges, n, weight=weights)


@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_modularity_is_networkx_s(data: st.DataObject) -> None:
    reference, graph = random_multigraph(data)
    labels = np.array(data.draw(st.lists(st.integers(0, 4), min_size=graph.vertices, max_size=graph.vertices)))
    if reference.size("weight") == 0:
        assert af.modularity(graph, labels) == 0.0
        return
    resolution = data.draw(st.sampled_from([0.5, 1.0, 2.0]))
    expected = networkx_modularity(reference, labels, resolution)
    assert af.modularity(graph, labels, resolution) == pytest.approx(expected, abs=1e-12)


@BOTH
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_what_is_reported_is_true_and_no_worse_than_lone_vertices(find, data: st.DataObject) -> None:
    reference, graph = random_multigraph(data)
    found = find(graph, seed=data.draw(st.integers(0, 3)))
    assert found.modularity == af.modularity(graph, found["community"])
    assert found.modularity >= af.modularity(graph, np.arange(graph.vertices)) - 1e-12
    assert found.sizes.sum() == graph.vertices
    assert (np.diff(found.sizes) <= 0).all()
    if find is af.leiden:
        for members in found.sets():
            assert nx.is_connected(reference.subgraph(members)) or weightless(reference, members)


def weightless(graph: nx.MultiGraph, members: set[int]) -> bool:
    """Whether it takes edges of weight 0 to connect them."""
    heavy = nx.Graph((u, v) for u, v, w in graph.subgraph(members).edges(data="weight") if w > 0)
    heavy.add_nodes_from(members)
    return not nx.is_connected(heavy)


@BOTH
@pytest.mark.parametrize("weight", ["weight", None])
def test_karate_comes_to_its_known_optimum(find, weight: str | None) -> None:
    best = {"weight": 0.44490, None: 0.41979}[weight]
    found = [find(nx.karate_club_graph(), weight=weight, seed=seed).modularity for seed in range(8)]
    assert max(found) == pytest.approx(best, abs=1e-5)
    assert min(found) > best - 0.03


@BOTH
def test_a_ring_of_ten_cliques_falls_into_its_cliques(find) -> None:
    found = find(nx.ring_of_cliques(10, 5))
    assert found.modularity == pytest.approx(1 - 2 / 22 - 1 / 10)
    assert sorted(map(min, found.sets())) == list(range(0, 50, 5))


@BOTH
def test_planted_communities_are_found(find) -> None:
    planted = nx.planted_partition_graph(6, 40, 0.5, 0.01, seed=3)
    found = find(planted).sets()
    assert {frozenset(some) for some in found} == {frozenset(some) for some in planted.graph["partition"]}


@BOTH
@pytest.mark.parametrize("spec", ["kron:11", "grid:40x50", "worlds:5x100", "urand:10,ef=4"])
def test_the_same_on_any_number_of_workers(find, spec: str) -> None:
    graph = af.load(spec)
    alone = find(graph, threads=1, seed=5)
    for where in ({"threads": 2}, {"threads": 3}, {"parts": 3}, {"parts": 3, "ranks_per_node": 1}):
        other = find(graph, seed=5, **where)
        assert (other["community"] == alone["community"]).all(), where
        assert len(other.levels) == len(alone.levels)
    assert other.traffic["contraction"] > 0  # each on a node of its own
    assert "moves" not in other.traffic


@BOTH
@pytest.mark.parametrize("spec", ["kron:10", "grid:30x40", "urand:9,ef=4,weights=1-9"])
def test_classes_that_take_turns_give_the_same_on_any_number_of_workers(monkeypatch, find, spec: str) -> None:
    monkeypatch.setattr(importlib.import_module("arcflux.applications.louvain.moves"), "_IN_ORDER", 0)
    graph = af.load(spec)
    alone = find(graph, threads=1, seed=5)
    assert alone.validate()
    for where in ({"threads": 3}, {"parts": 3}, {"parts": 3, "ranks_per_node": 1}):
        assert (find(graph, seed=5, **where)["community"] == alone["community"]).all(), where


def test_the_seed_matters() -> None:
    graph = af.load("kron:9")
    assert len({af.louvain(graph, seed=seed).modularity for seed in range(6)}) > 1


@BOTH
def test_weights_times_a_power_of_two_change_nothing(find) -> None:
    graph = af.load("kron:9,weights=1-20")
    light = graph.with_columns({"weight": graph.columns["weight"] * 2.0**-40})
    assert (find(light)["community"] == find(graph)["community"]).all()
    assert find(light).modularity == pytest.approx(find(graph).modularity)


def test_modularity_never_falls_from_level_to_level() -> None:
    graph = af.load("kron:12")
    values = [af.modularity(graph, level) for level in af.louvain(graph).levels]
    assert len(values) > 2
    assert values == sorted(values)


@pytest.mark.parametrize("spec", ["kron:10", "grid:30x30", "worlds:4x60"])
def test_hardly_a_single_move_would_gain(spec: str) -> None:
    graph = af.load(spec)
    found = af.louvain(graph)
    random = np.random.default_rng(1)
    for v in random.integers(graph.vertices, size=60):
        row = graph.neighbours(int(v))
        for goal in np.unique(found["community"][row.astype(int)]):
            moved = found["community"].copy()
            moved[v] = goal
            assert af.modularity(graph, moved) <= found.modularity + 2e-5


@pytest.mark.parametrize("find", [af.louvain, af.leiden])
def test_no_single_move_gains_not_even_to_be_alone(find) -> None:
    for seed in range(60):
        draw = np.random.default_rng(seed)
        n = int(draw.integers(20, 300))
        source, target = (n * draw.random((2, 4 * n)) ** np.array([[3], [2]])).astype(np.int64)
        columns = {"weight": draw.integers(1, 50, 4 * n)}
        graph = af.Graph.from_edges(source, target, vertices=n, directed=False, columns=columns)
        found = find(graph, float(draw.choice([0.5, 1, 2])), threads=1)
        assert found.validate().ok, (seed, found.validate())


def test_communities_of_the_potts_model_are_no_lighter_than_the_resolution() -> None:
    graph = nx.planted_partition_graph(5, 30, 0.6, 0.02, seed=1)
    found = af.leiden(graph, 0.2, objective="cpm").sets()
    assert {frozenset(some) for some in found} == {frozenset(some) for some in graph.graph["partition"]}
    for members in found:
        inside = graph.subgraph(members).size()
        assert inside >= 0.2 * len(members) * (len(members) - 1) / 2
    assert len(af.leiden(graph, 1.1, objective="cpm").sets()) == 150


def test_a_high_resolution_makes_small_communities() -> None:
    graph = af.load("worlds:5x100")
    counts = [len(af.louvain(graph, resolution).sizes) for resolution in (0.1, 1.0, 20.0)]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]


@BOTH
def test_directed_edges_count_both_ways(find) -> None:
    source, target = [0, 1, 2, 3, 4, 5, 2], [1, 2, 0, 4, 5, 3, 3]
    directed = find(af.Graph.from_edges(source, target))
    assert directed.sets() == find(af.Graph.from_edges(source, target, directed=False)).sets()


@BOTH
def test_graphs_with_nothing_to_join(find) -> None:
    empty = af.Graph.from_edges([], [], vertices=3, directed=False)
    assert find(empty)["community"].tolist() == [0, 1, 2]
    assert find(empty).modularity == 0.0
    assert find(af.Graph.from_edges([], [], directed=False)).sets() == []
    loop = undirected([(0, 0)], 2)
    assert find(loop)["community"].tolist() == [0, 1]


@BOTH
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"resolution": -1.0}, "resolution is -1.0"),
        ({"resolution": float("nan")}, "resolution is nan"),
        ({"resolution": "x"}, "resolution is 'x'"),
        ({"max_level": 0}, "max_level is 0"),
        ({"weight": "toll"}, "no edge column 'toll'"),
        ({"seed": 0.5}, "seed is 0.5"),
    ],
)
def test_bad_arguments_are_refused(find, options: dict[str, object], expected: str) -> None:
    with pytest.raises(af.errors.ArcfluxError, match=expected):
        find("path:4", **options)


@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf")])
def test_bad_weights_are_refused(weight: float) -> None:
    with pytest.raises(af.errors.WeightError, match="weight of edge"):
        af.louvain(undirected([(0, 1), (1, 2)], 3, weight=[1.0, weight]))


def test_an_unknown_objective_is_refused() -> None:
    with pytest.raises(af.errors.UsageError, match="objective is 'surprise'"):
        af.leiden("path:4", objective="surprise")


TRIANGLES = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (2, 3)]


@BOTH
@pytest.mark.parametrize("weight", [1e308, 1e-309, 5e-324, 2.0**62])
@pytest.mark.parametrize("directed", [False, True])
def test_weights_may_have_any_size(find, weight: float, directed: bool) -> None:
    source, target = np.array(TRIANGLES).T
    g = af.Graph.from_edges(source, target, directed=directed, columns={"weight": [weight] * 7})
    found = find(g)
    assert found["community"].tolist() == [0, 0, 0, 1, 1, 1]
    assert found.modularity == af.modularity(g, [0, 0, 0, 1, 1, 1]) == pytest.approx(5 / 14)


@pytest.mark.parametrize(("weight", "communities"), [(1e308, 1), (1.0, 2), (1e-309, 6)])
def test_the_potts_model_holds_weights_of_any_size_against_its_resolution(weight: float, communities: int) -> None:
    g = undirected(TRIANGLES, 6, weight=[weight] * 7)
    assert len(af.leiden(g, 0.5, objective="cpm").sizes) == communities
    assert len(af.leiden(g, 1e308, objective="cpm").sizes) == 6


def test_whole_weights_of_one_bit_to_64_are_their_own_units() -> None:
    for dtype in (bool, np.int8, np.uint64, np.float32):
        g = af.Graph.from_edges(*np.array(TRIANGLES).T, directed=False, columns={"weight": np.ones(7, dtype)})
        assert af.louvain(g).modularity == pytest.approx(5 / 14)


def test_a_threshold_that_is_no_number_is_refused() -> None:
    with pytest.raises(UsageError, match="threshold is nan"):
        af.louvain(undirected(TRIANGLES, 6), threshold=float("nan"))

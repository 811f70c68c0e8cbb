"""Centrality on parts is that of the whole to rounding: exact, sampled, from one source, and with very many paths."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spread_samples import SPREADS, graphs, named, spreads

import arcflux as af
from arcflux import algorithms
from arcflux.algorithms import betweenness
from arcflux.algorithms.betweenness import work
from arcflux.engine.launch import launch
from arcflux.engine.worker import Worker
from arcflux.errors import UsageError


def same(graph: af.Graph, spread: dict[str, object], **which: Any) -> None:
    whole = algorithms.betweenness_centrality(graph, **which)["centrality"]
    found = algorithms.betweenness_centrality(graph, **which, **spread)["centrality"]
    np.testing.assert_allclose(found, whole, rtol=1e-9, atol=1e-12)


@settings(max_examples=120, deadline=None)
@given(graph=graphs(), spread=spreads(), data=st.data())
def test_parts_have_the_centrality_of_the_whole(
    graph: af.Graph, spread: dict[str, object], data: st.DataObject
) -> None:
    vertex = st.integers(0, graph.vertices - 1)
    which = data.draw(
        st.fixed_dictionaries({"endpoints": st.booleans(), "normalized": st.booleans()})
        | st.fixed_dictionaries({"sources": st.lists(vertex, max_size=4), "endpoints": st.booleans()})
        | st.fixed_dictionaries({"k": st.integers(1, graph.vertices), "seed": st.just(3)})
    )
    same(graph, spread, **which)


@pytest.mark.parametrize("spread", SPREADS, ids=named)
def test_larger_graphs(spread: dict[str, object]) -> None:
    graph = af.load("kron:10")
    same(graph, spread, k=40, seed=1)
    same(graph, spread, sources=[int(np.argmax(graph.out_degrees))])
    ends = np.random.default_rng(9).integers(0, 300, (2, 900))
    same(af.Graph.from_edges(ends[0], ends[1], vertices=300), spread, endpoints=True)


@pytest.mark.parametrize("how", ["ranges", "random", "grid", "duplicate"])
def test_exact_centrality_passes_the_rules(how: str) -> None:
    graph = af.load("kron:8")
    found = algorithms.betweenness_centrality(graph, parts=3, partition=how, ranks_per_node=1)
    found.validate().raise_for_failure()


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("nodes", [None, 1, 2])
@pytest.mark.parametrize("how", ["ranges", "random", "duplicate"])
def test_more_paths_than_a_float_can_count(how: str, nodes: int | None, directed: bool) -> None:
    """Through 280 layers of 16 vertices, and beside them along a chain, where there is one path."""
    layers = 1 + np.arange(280 * 16).reshape(280, 16)
    chain = np.concatenate([[0], layers.max() + 1 + np.arange(280)])
    end = chain[-1] + 1
    between = [np.repeat(layers[:-1], 16, axis=1).reshape(-1), np.tile(layers[1:], (1, 16)).reshape(-1)]
    sides = [(np.zeros(16, int), layers[0]), between, (layers[-1], np.full(16, end)), (chain, [*chain[1:], end])]
    number = np.random.default_rng(1).permutation(end + 1)
    source, target = (number[np.concatenate([side[k] for side in sides])] for k in (0, 1))
    graph = af.Graph.from_edges(source, target, vertices=end + 1, directed=directed)
    spread = {"parts": 4, "partition": how, "ranks_per_node": nodes}
    same(graph, spread, sources=[int(number[0]), int(number[end])])


def test_sums_of_one_source_have_the_bits_of_the_whole() -> None:
    """Every row is summed by its owner, in its order."""
    graph = af.load("kron:9")
    whole = algorithms.betweenness_centrality(graph, sources=[5])["centrality"]
    for how in ("ranges", "random", "grid"):
        found = algorithms.betweenness_centrality(graph, sources=[5], parts=4, partition=how, ranks_per_node=2)
        assert found["centrality"].tobytes() == whole.tobytes()


@pytest.mark.parametrize("sources", [5, 30])
@pytest.mark.parametrize("nodes", [2, 3])
def test_nodes_tell_each_other_their_sums(nodes: int, sources: int) -> None:
    """Sums of all vertices for each lane: of few sources each is one. Nodes agree on the sources before."""
    graph = af.load("kron:8")
    chosen = np.arange(sources)

    def counted(worker: Worker) -> np.ndarray:
        work(worker, chosen, False)
        return worker.gather(np.array([worker.sent]))

    sent = launch(graph, {"parts": 2 * nodes, "ranks_per_node": 2}, counted).answer
    assert sent.sum() == (nodes - 1) * (8 * graph.vertices * sources + 8 * nodes + 8 * sources)


def test_few_sources_are_shared_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = af.load("kron:9")
    which = {"sources": [5, 3, 77, 3, 200, 9, 1]}
    whole = algorithms.betweenness_centrality(graph, **which)["centrality"]
    for at_once in (2, 3, 64):
        monkeypatch.setattr(betweenness, "_SOURCES", at_once)
        found = algorithms.betweenness_centrality(graph, **which, parts=3, ranks_per_node=1)["centrality"]
        assert found.tobytes() == whole.tobytes()


def test_no_sources_and_no_vertices() -> None:
    empty = af.Graph.from_edges([], [], vertices=0)
    assert algorithms.betweenness_centrality(empty, parts=2)["centrality"].tolist() == []
    assert not algorithms.betweenness_centrality(af.load("path:4"), sources=[], parts=2)["centrality"].any()


def test_options_that_make_no_sense() -> None:
    graph = af.load("path:5")
    with pytest.raises(UsageError, match="each is the work of one thread"):
        algorithms.betweenness_centrality(graph, parts=2, threads=3)
    with pytest.raises(UsageError, match="both k and sources"):
        algorithms.betweenness_centrality(graph, 2, sources=[1], parts=2)
    with pytest.raises(UsageError, match="partition is given, and parts is not"):
        algorithms.betweenness_centrality(graph, partition="random")

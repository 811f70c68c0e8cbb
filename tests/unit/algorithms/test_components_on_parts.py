"""Components on parts are those of the whole, and cost a few values a vertex."""

import numpy as np
import pytest
from hypothesis import given, settings
from spread_samples import SPREADS, graphs, named, spreads

import arcflux as af
from arcflux import algorithms
from arcflux.algorithms.components import work
from arcflux.engine.launch import launch
from arcflux.engine.worker import Worker
from arcflux.errors import UsageError


@settings(max_examples=150, deadline=None)
@given(graph=graphs(), spread=spreads())
def test_parts_have_the_components_of_the_whole(graph: af.Graph, spread: dict[str, object]) -> None:
    whole = algorithms.weakly_connected_components(graph)["component"]
    found = algorithms.weakly_connected_components(graph, **spread)
    np.testing.assert_array_equal(found["component"], whole)
    assert found.values["component"].dtype == graph.out.neighbours.dtype


@pytest.mark.parametrize("spread", SPREADS, ids=named)
def test_larger_graphs(spread: dict[str, object]) -> None:
    for spec in ("kron:11,ef=2", "grid:30x40"):
        graph = af.load(spec)
        whole = algorithms.connected_components(graph)["component"]
        found = algorithms.connected_components(graph, **spread)
        np.testing.assert_array_equal(found["component"], whole)
        found.validate().raise_for_failure()


@pytest.mark.parametrize("how", ["ranges", "grid", "random"])
@pytest.mark.parametrize("directed", [False, True])
def test_a_long_path_in_a_random_order_crosses_nodes_at_every_step(how: str, directed: bool) -> None:
    order = np.random.default_rng(3).permutation(500)
    graph = af.Graph.from_edges(order[:-1], order[1:], vertices=500, directed=directed)
    found = algorithms.weakly_connected_components(graph, parts=7, partition=how, ranks_per_node=1)
    assert not found["component"].any()


@pytest.mark.parametrize("nodes", [2, 3, 4, 8])
def test_nodes_send_a_few_values_a_vertex_however_many_edges_there_are(nodes: int) -> None:
    """Twice a forest goes up a tree of nodes, and down again: one root of every vertex for each edge of the tree."""
    graph = af.load("kron:11,ef=32")

    def counted(worker: Worker) -> tuple[np.ndarray, np.ndarray]:
        work(worker)
        sent = worker.sent
        return worker.gather(np.array([sent])), worker.gather(work(worker))

    parts = {"parts": 2 * nodes, "ranks_per_node": 2}
    sent, found = launch(graph, parts, counted).answer
    assert sent.sum() == 2 * 2 * (nodes - 1) * 4 * graph.vertices < 4 * graph.arcs
    for one in found.reshape(nodes, -1):
        np.testing.assert_array_equal(one, algorithms.connected_components(graph)["component"])
    sent, _ = launch(graph, {"parts": 2 * nodes}, counted).answer
    assert sent.tolist() == [0]


def test_no_vertices() -> None:
    graph = af.Graph.from_edges([], [], vertices=0, directed=False)
    assert algorithms.connected_components(graph, parts=3, ranks_per_node=1)["component"].tolist() == []


def test_both_methods_take_parts() -> None:
    graph = af.load("kron:8,ef=1")
    ways = [algorithms.connected_components(graph, how, parts=3, ranks_per_node=1) for how in ("sampled", "min-label")]
    np.testing.assert_array_equal(ways[0]["component"], ways[1]["component"])


@pytest.mark.parametrize(
    ("given_options", "said"),
    [
        ({"parts": 2, "threads": 2}, "each is the work of one thread"),
        ({"ranks_per_node": 2}, "ranks_per_node is given, and parts is not"),
        ({"partition": "grid"}, "partition is given, and parts is not"),
        ({"parts": 2, "partition": "stripes"}, "no partitioner 'stripes'"),
        ({"parts": 0}, "k is 0"),
        ({"parts": 2, "ranks_per_node": 0}, "ranks_per_node is 0"),
        ({"parts": 2, "transport": "pigeon"}, "transport is 'pigeon'"),
        ({"parts": 2, "exchange": "owners"}, "does not take exchange"),
        ({"parts": 2, "direction": "push"}, "does not take direction"),
    ],
)
def test_options_that_make_no_sense(given_options: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        algorithms.connected_components(af.load("path:5"), **given_options)


def test_parts_of_another_graph_and_parts_split_twice() -> None:
    graph = af.load("path:6")
    with pytest.raises(UsageError, match="parts are those of another graph"):
        algorithms.connected_components(graph, parts=af.partition("path:7", 2))
    with pytest.raises(UsageError, match="the parts are made already"):
        algorithms.connected_components(graph, parts=af.partition(graph, 2), partition="grid")
    assert not algorithms.connected_components(graph, parts=af.partition(graph, 2, "random"))["component"].any()

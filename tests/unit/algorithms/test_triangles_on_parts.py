"""Triangles and clustering on parts are those of the whole; nodes send counts alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from spread_samples import SPREADS, graphs, named, spreads

import arcflux as af
from arcflux import algorithms
from arcflux.algorithms.triangles import corners
from arcflux.algorithms.triangles.cpu import Rows
from arcflux.engine.launch import launch
from arcflux.engine.worker import Worker
from arcflux.errors import GraphError, UsageError


@settings(max_examples=120, deadline=None)
@given(graph=graphs(directed=False), spread=spreads())
def test_parts_have_the_triangles_of_the_whole(graph: af.Graph, spread: dict[str, object]) -> None:
    whole = algorithms.triangles(graph)["triangles"]
    found = algorithms.triangles(graph, **spread)["triangles"]
    assert found.dtype == whole.dtype
    np.testing.assert_array_equal(found, whole)
    assert algorithms.triangle_count(graph, **spread) == whole.sum() // 3


@settings(max_examples=120, deadline=None)
@given(graph=graphs(), spread=spreads())
def test_parts_have_the_clustering_of_the_whole(graph: af.Graph, spread: dict[str, object]) -> None:
    whole = algorithms.clustering(graph)["clustering"]
    np.testing.assert_array_equal(algorithms.clustering(graph, **spread)["clustering"], whole)


@pytest.mark.parametrize("spread", SPREADS, ids=named)
def test_larger_graphs(spread: dict[str, object]) -> None:
    graph = af.load("kron:10")
    algorithms.triangles(graph, **spread).validate().raise_for_failure()
    assert algorithms.triangle_count(graph, **spread) == algorithms.triangle_count(graph)
    ends = np.random.default_rng(7).integers(0, 200, (2, 4000))
    directed = af.Graph.from_edges(ends[0], ends[1], vertices=200)
    for one in (graph, directed):
        whole = algorithms.clustering(one)["clustering"]
        np.testing.assert_array_equal(algorithms.clustering(one, **spread)["clustering"], whole)


@pytest.mark.parametrize("size", [3, 4, 9])
def test_equal_degrees_are_counted_once(size: int) -> None:
    """By degree alone, as HIVE prints it, the triangle has 6 at each corner."""
    graph = af.load(f"complete:{size}")
    for nodes in (None, 1):
        found = algorithms.triangles(graph, parts=size, ranks_per_node=nodes)["triangles"]
        assert found.tolist() == [(size - 1) * (size - 2) // 2] * size


@pytest.mark.parametrize("nodes", [2, 4])
def test_nodes_send_counts_alone(nodes: int) -> None:
    """An all-reduce of one number a vertex: each node has its part of that from all others, and gives it to them."""
    graph = af.load("kron:12")

    def counted(worker: Worker) -> np.ndarray:
        corners(worker)
        return worker.gather(np.array([worker.sent]))

    found = launch(graph, {"parts": 2 * nodes, "ranks_per_node": 2}, counted)
    assert found.answer.sum() == 2 * (nodes - 1) * 8 * graph.vertices
    assert launch(graph, {"parts": 4}, counted).answer.tolist() == [0]


def test_unequal_nodes_share_all_rows() -> None:
    """Of 5 ranks, 3 on the first node: its share is larger, and every chunk of rows is somebody's."""
    graph = af.load("kron:12")
    found = algorithms.triangles(graph, parts=5, ranks_per_node=3)
    np.testing.assert_array_equal(found["triangles"], algorithms.triangles(graph)["triangles"])

    def rows(worker: Worker) -> np.ndarray:
        taken = Rows(worker).turn(worker)
        return worker.gather(taken.astype(np.int64)).reshape(worker.size, -1)

    taken = launch(graph, {"parts": 5, "ranks_per_node": 3}, rows).answer
    assert (taken.sum(axis=0) == 1).all()
    assert taken[0].sum() > taken[1].sum() > 0


def test_what_is_refused() -> None:
    directed = af.Graph.from_edges([0, 1], [1, 2])
    with pytest.raises(GraphError, match="directed"):
        algorithms.triangles(directed, parts=2)
    for call in (algorithms.triangles, algorithms.triangle_count, algorithms.clustering):
        with pytest.raises(UsageError, match="each is the work of one thread"):
            call(af.load("path:5"), parts=2, threads=2)
        with pytest.raises(UsageError, match="partition is given, and parts is not"):
            call(af.load("path:5"), partition="duplicate")

"""Triangles and clustering on parts are those of the whole: by wedges, and by intersection on a duplicated graph."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spread_samples import SPREADS, graphs, named, spreads

import arcflux as af
from arcflux import algorithms
from arcflux.distributed import wedges
from arcflux.distributed.triangles import corners
from arcflux.errors import GraphError, UsageError
from arcflux.transports.local import LocalTransport, run_local


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


@settings(max_examples=30, deadline=None)
@given(batch=st.integers(1, 40), k=st.sampled_from([2, 3, 5]), how=st.sampled_from(["ranges", "random"]))
def test_batches_of_any_size_give_the_same(batch: int, k: int, how: str) -> None:
    graph = af.load("kron:6")
    parts = af.partition(graph, k, how)
    found = run_local(k, lambda transport: corners(transport, parts, batch=batch)[0])
    for one in found:
        np.testing.assert_array_equal(one, algorithms.triangles(graph)["triangles"])


def test_wedges_cost_three_numbers_and_batches_bound_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against the definition: pairs ahead of each vertex whose lower one another rank owns, 12 bytes each."""
    graph = af.load("kron:8")
    parts = af.partition(graph, 4, "random")
    sizes: list[int] = []
    post = LocalTransport.post

    def counted(self: LocalTransport, peer: int, arrays: list[np.ndarray], tag: int = 0) -> None:
        if tag == wedges.WEDGES:
            sizes.append(sum(array.nbytes for array in arrays))
        post(self, peer, arrays, tag)

    monkeypatch.setattr(LocalTransport, "post", counted)
    run_local(4, lambda transport: corners(transport, parts, batch=400), ranks_per_node=1)
    degree = graph.out_degrees.tolist()
    expected = 0
    for v in range(graph.vertices):
        near = [w for w in set(graph.neighbours(v).tolist()) if (degree[w], w) > (degree[v], v)]
        for pair in combinations(near, 2):
            u = min(pair, key=lambda w: (degree[w], w))
            expected += parts.owner[u] != parts.owner[v]
    assert sum(sizes) == 12 * expected
    assert max(sizes) <= 12 * 400 // 4


def test_a_duplicated_graph_sends_counts_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = af.load("kron:12")
    parts = af.partition(graph, 4, "duplicate")

    def work(transport: LocalTransport) -> int:
        corners(transport, parts)
        return transport.sent.bytes

    # An all-reduce of one number a vertex: each node has a fourth from three others, and gives it to them.
    assert sum(run_local(4, work, ranks_per_node=1)) == 2 * 3 * 8 * graph.vertices


def test_what_is_refused() -> None:
    directed = af.Graph.from_edges([0, 1], [1, 2])
    with pytest.raises(GraphError, match="directed"):
        algorithms.triangles(directed, parts=2)
    for call in (algorithms.triangles, algorithms.triangle_count, algorithms.clustering):
        with pytest.raises(UsageError, match="each is the work of one thread"):
            call(af.load("path:5"), parts=2, threads=2)
        with pytest.raises(UsageError, match="partition is given, and parts is not"):
            call(af.load("path:5"), partition="duplicate")

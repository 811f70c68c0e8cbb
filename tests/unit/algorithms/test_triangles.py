"""Triangles against the oracle, NetworkX, igraph and the validator, whatever the threads."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given
from wedge_samples import Sample, patient, sample, samples

import arcflux as af
import oracles
from arcflux.algorithms import triangle_count, triangles
from arcflux.algorithms.triangles import merged
from arcflux.algorithms.triangles.cpu import Rows
from arcflux.engine.worker import Cores, Worker
from arcflux.errors import GraphError, UsageError
from arcflux.spmd.team import Team


@patient
@given(case=samples(directed=False))
def test_small_multigraphs_equal_the_oracle(case: Sample) -> None:
    expected = oracles.triangles(case.n, case.edges)
    result = triangles(case.graph)
    assert result["triangles"].tolist() == expected
    assert result.to_dict() == dict(zip(case.ids, expected, strict=True))
    assert triangle_count(case.graph) == sum(expected) // 3
    assert result.validate()


@patient
@given(case=samples(directed=False, most=9))
def test_small_graphs_equal_networkx(case: Sample) -> None:
    simple = nx.Graph(case.graph.to_networkx())
    assert triangles(case.graph).to_dict() == nx.triangles(simple)


# Skewed graphs are ranked by degree and have dense rows, the others are not ranked and have few of them.
@pytest.mark.parametrize(
    "spec", ["kron:13", "urand:11", "complete:150", "star:3000", "grid:30x40", "ws:3000,k=12,p=0.1"]
)
def test_larger_graphs_equal_igraph_on_any_threads(spec: str) -> None:
    graph = af.load(spec)
    made = graph.to_igraph()
    corners = np.zeros(graph.vertices, np.int64)
    for corner in np.array(made.list_triangles(), np.int64).reshape(-1, 3).T:
        corners += np.bincount(corner, minlength=graph.vertices)
    for threads in (1, 2, 3):
        np.testing.assert_array_equal(triangles(graph, threads=threads)["triangles"], corners)
        assert triangle_count(graph, threads=threads) == corners.sum() // 3


def alone(graph: af.Graph, threads: int | None = None) -> Worker:
    return Worker(graph, Cores(Team(threads)))


def test_which_graphs_are_ranked_and_dense() -> None:
    """So that the test above means what it says."""
    skewed, even = Rows(alone(af.load("kron:13"))), Rows(alone(af.load("urand:13")))
    assert skewed.rank is not None
    assert even.rank is None
    dense = [int((rows.span[::2] & np.uint64(1)).sum()) for rows in (skewed, even)]
    assert dense[0] > 2000
    assert dense[0] < 2**13
    degrees = skewed.graph.out_degrees[skewed.order]
    assert (np.diff(degrees.astype(np.int64)) <= 0).all()


def test_a_row_longer_than_a_slab() -> None:
    """The last vertex has neighbours in thousands of words, and the graph is even enough not to be ranked."""
    n, spokes = 200_000, 2500
    ring = np.arange(n - 1)
    far = np.linspace(0, n - 2, spokes).astype(np.int64)
    source = [ring[:-1], ring[:-2], ring[:-3], ring[:-4], np.full(spokes, n - 1)]
    target = [ring[1:], ring[2:], ring[3:], ring[4:], far]
    graph = af.Graph.from_edges(np.concatenate(source), np.concatenate(target), directed=False)
    rows = Rows(alone(graph, 2))
    assert rows.rank is None
    assert int((rows.span[1::2] - (rows.span[::2] >> np.uint64(1))).max()) > 2048
    af.validate.triangles(graph, total=rows.count(), per_vertex=rows.corners()[0]).raise_for_failure()


def test_unsorted_rows_and_parallel_edges_of_a_larger_graph() -> None:
    random = np.random.default_rng(3)
    ends = random.zipf(1.7, (2, 20_000)) % 700
    plain = af.Graph.from_edges(*ends, directed=False, deduplicate="first", drop_self_loops=True)
    wild = af.Graph.from_edges(*ends, directed=False, sort=False)
    assert wild.edges > plain.edges
    assert triangle_count(wild) == triangle_count(plain) > 1000
    np.testing.assert_array_equal(triangles(wild)["triangles"], triangles(plain)["triangles"])


def test_no_vertices_and_one() -> None:
    empty = af.Graph.from_edges([], [], directed=False)
    assert triangles(empty)["triangles"].size == 0
    assert triangle_count(empty) == 0
    assert triangles(sample(1, [(0, 0), (0, 0)], False).graph)["triangles"].tolist() == [0]


def test_what_is_refused() -> None:
    directed = af.Graph.from_edges([0], [1])
    for refusing in (triangles, triangle_count):
        with pytest.raises(GraphError, match=r"directed[\s\S]*directed=False"):
            refusing(directed)
    with pytest.raises(UsageError, match="threads is 0"):
        triangles(af.load("path:3"), threads=0)


def test_a_wrong_count_is_found_by_validate() -> None:
    result = triangles(af.load("complete:5"))
    assert result.validate()
    result.values["triangles"][3] += 1
    assert not result.validate()


@patient
@given(case=samples(directed=False))
def test_rows_are_merged_or_packed_with_the_same_result(case: Sample) -> None:
    assume(case.graph.sorted)
    expected, worker = oracles.triangles(case.n, case.edges), alone(case.graph, 2)
    corners, totals = np.zeros(case.n, np.int64), np.zeros((2, 8), np.uint64)
    worker.cores.launch(merged.merge_corners, 1, *case.graph.out, corners)
    worker.cores.launch(merged.merge_count, 1, *case.graph.out, totals)
    assert corners.tolist() == expected
    assert int(totals.sum()) == sum(expected) // 3
    packed = Rows(alone(case.graph, 1))
    assert packed.corners()[0].tolist() == expected
    assert packed.count() == sum(expected) // 3


def merging_pays(graph: af.Graph) -> bool:
    return merged.merging_pays(graph, alone(graph, 2).cores)


def test_merging_pays_where_it_walks_few_entries_for_an_edge() -> None:
    assert merging_pays(af.load("grid:5x5"))
    assert merging_pays(af.load("star:3000"))  # the hub is walked once for each leaf, whatever its degree
    assert not merging_pays(af.load("complete:150"))
    assert not merging_pays(af.load("kron:13"))
    assert not merging_pays(af.Graph.from_edges([0, 1], [1, 2]))
    assert not merging_pays(af.Graph.from_edges([0, 0], [2, 1], directed=False, sort=False))


@patient
@given(case=samples(directed=False))
def test_entries_are_those_that_merging_could_walk(case: Sample) -> None:
    assume(case.graph.sorted)
    graph = case.graph
    rows = [graph.out.neighbours[a:b].tolist() for a, b in pairwise(graph.out.offsets.tolist())]
    low = [sum(w < v for w in row) for v, row in enumerate(rows)]
    merging_pays(graph)
    counted = {key[0]: value for key, value in graph.kept.items() if isinstance(key, tuple)}
    assert counted["merged entries"] == sum(a * a // 2 + a * (len(row) - a) for a, row in zip(low, rows, strict=True))

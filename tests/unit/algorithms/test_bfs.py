"""Levels and parents against the oracle, NetworkX, scipy and the validator, in every direction."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import shortest_path
from wedge_samples import Sample, patient, sample, samples

import arcflux as af
import oracles
from arcflux.algorithms import bfs
from arcflux.errors import IdError


@patient
@given(
    case=samples(), source=st.integers(0, 11), direction=st.sampled_from(["auto", "push", "pull"]),
    threads=st.integers(1, 3),
)  # fmt: skip
def test_levels_equal_the_oracle_and_networkx(case: Sample, source: int, direction: str, threads: int) -> None:
    source %= case.n
    found = bfs(case.graph, case.ids[source], direction=direction, threads=threads)
    assert found["level"].tolist() == oracles.bfs_levels(case.n, case.arcs, source)
    lengths = nx.single_source_shortest_path_length(case.graph.to_networkx(), case.ids[source])
    assert found.to_dict("level") == dict.fromkeys(case.ids, -1) | dict(lengths)
    found.validate().raise_for_failure()
    assert found.converged
    settled = bfs(case.graph, case.ids[source], direction=direction, threads=threads, deterministic=True)
    assert settled.numbers("parent").tolist() == oracles.bfs_parents(case.n, case.arcs, source)


# Grids of these sides have frontiers that grow past what one worker takes alone and shrink again, or never do.
@pytest.mark.parametrize(
    "spec", ["kron:11", "rmat:11", "grid:60x50", "grid:4x900", "grid:150x40", "urand:10,ef=2", "ws:2000,k=4,p=0.1"]
)
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_larger_graphs_equal_scipy(spec: str, threads: int) -> None:
    graph = af.load(spec)
    source = int(np.argmax(graph.out_degrees))
    expected = shortest_path(graph.to_scipy(), indices=source, unweighted=True)
    for direction in ("auto", "push", "pull"):
        found = bfs(graph, source, threads=threads, direction=direction)
        np.testing.assert_array_equal(found["level"], np.where(np.isinf(expected), -1, expected))
        found.validate().raise_for_failure()


@pytest.mark.parametrize("threads", [1, 2])
def test_a_pull_finds_the_one_neighbour_that_is_in_the_frontier(threads: int) -> None:
    """Wherever it stands in a row of whatever length: rows are looked up some neighbours at a time."""
    rows = [(length, place) for length in range(1, 14) for place in [*range(length), None]]
    width = 16
    source, target, expected = [], [], {}
    for k, (length, place) in enumerate(rows, 1):
        asking = width * k
        source += range(asking + 1, asking + 1 + length)
        target += [asking] * length
        if place is not None:
            source.append(0)
            target.append(asking + 1 + place)
        expected[asking] = -1 if place is None else asking + 1 + place
    graph = af.Graph.from_edges(source, target, vertices=width * (len(rows) + 1))
    found = bfs(graph, 0, direction="pull", threads=threads)
    assert {asking: int(found["parent"][asking]) for asking in expected} == expected
    assert {int(found["level"][asking]) for asking, parent in expected.items() if parent >= 0} == {2}


def test_tiny_graphs() -> None:
    for directed in (True, False):
        alone = bfs(sample(1, [(0, 0)], directed, "text").graph, "v00")
        assert alone.to_dict("level") == {"v00": 0}
        assert alone.to_dict("parent") == {"v00": "v00"}
    with pytest.raises(IdError):
        bfs(af.Graph.from_edges([], []), 0)


def test_a_wrong_tree_is_found_by_validate() -> None:
    for field, vertex, value in (("level", 3, 2), ("parent", 4, 1), ("parent", 2, 4)):
        result = bfs(af.load("path:6"), 0)
        assert result.validate()
        result.values[field][vertex] = value
        assert not result.validate()

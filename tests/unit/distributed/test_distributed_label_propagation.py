"""Labels on parts are those of the whole, round by round; nodes are told what changed and they read, and no more."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spread_samples import SPREADS, graphs, named, spreads

import arcflux as af
from arcflux import algorithms
from arcflux.errors import UsageError


def same(graph: af.Graph, rounds: int, spread: dict[str, object]) -> None:
    whole = algorithms.label_propagation(graph, rounds)
    found = algorithms.label_propagation(graph, rounds, **spread)
    np.testing.assert_array_equal(found["label"], whole["label"])
    assert found.converged == whole.converged
    rounds_of = [[(step.frontier, step.changed) for step in result.history] for result in (whole, found)]
    assert rounds_of[0] == rounds_of[1]


@settings(max_examples=150, deadline=None)
@given(graph=graphs(), rounds=st.integers(1, 8), spread=spreads())
def test_parts_have_the_labels_of_the_whole(graph: af.Graph, rounds: int, spread: dict[str, object]) -> None:
    same(graph, rounds, spread)


@pytest.mark.parametrize("spread", SPREADS, ids=named)
def test_larger_graphs(spread: dict[str, object]) -> None:
    same(af.load("kron:10"), 10, spread)
    same(af.load("grid:30x30"), 40, spread)


@pytest.mark.parametrize("spread", SPREADS[::3], ids=named)
def test_directed_graphs(spread: dict[str, object]) -> None:
    ends = np.random.default_rng(5).integers(0, 300, (2, 1500))
    same(af.Graph.from_edges(ends[0], ends[1], vertices=300), 10, spread)


def test_nodes_are_told_what_changed_and_they_read() -> None:
    graph = af.load("kron:9")
    parts = af.partition(graph, 4, "random")
    found = algorithms.label_propagation(graph, 6, parts=parts, ranks_per_node=2)
    labels = [np.arange(graph.vertices)]
    labels += [algorithms.label_propagation(graph, k)["label"] for k in range(1, found.supersteps + 1)]
    node = parts.owner // 2
    expected = np.zeros(found.supersteps, np.int64)
    for there in (0, 1):
        rows = [graph.neighbours(int(v)) for v in np.flatnonzero(node == there)]
        read = np.setdiff1d(np.concatenate(rows), np.flatnonzero(node == there))
        for k in range(found.supersteps):
            expected[k] += 4 * np.count_nonzero(labels[k + 1][read] != labels[k][read])
    assert [step.bytes for step in found.history] == expected.tolist()
    one_node = algorithms.label_propagation(graph, 6, parts=parts)
    assert sum(step.bytes + step.more_bytes for step in one_node.history) == 0


def test_options_that_make_no_sense() -> None:
    graph = af.load("path:5")
    with pytest.raises(UsageError, match="each is the work of one thread"):
        algorithms.label_propagation(graph, parts=2, threads=3)
    with pytest.raises(UsageError, match="ranks_per_node is given, and parts is not"):
        algorithms.label_propagation(graph, ranks_per_node=2)
    with pytest.raises(UsageError, match="max_iter is 0"):
        algorithms.label_propagation(graph, 0, parts=2)

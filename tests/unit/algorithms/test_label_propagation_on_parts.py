"""Labels on parts are those of the whole, round by round; nodes are told what changed, and no more."""

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


@pytest.mark.parametrize("nodes", [2, 3])
def test_nodes_tell_each_other_what_changed(nodes: int) -> None:
    """A label, and whose it is, to every other node; and eight bytes of how many there are."""
    graph = af.load("kron:9")
    found = algorithms.label_propagation(graph, 6, parts=2 * nodes, ranks_per_node=2)
    changed = np.array([step.changed for step in found.history])
    assert changed.sum() > 100
    assert [step.bytes for step in found.history] == (4 * changed * (nodes - 1)).tolist()
    assert [step.more_bytes for step in found.history] == ((4 * changed + 8 * nodes) * (nodes - 1)).tolist()
    one_node = algorithms.label_propagation(graph, 6, parts=4)
    assert sum(step.bytes + step.more_bytes for step in one_node.history) == 0


def test_options_that_make_no_sense() -> None:
    graph = af.load("path:5")
    with pytest.raises(UsageError, match="each is the work of one thread"):
        algorithms.label_propagation(graph, parts=2, threads=3)
    with pytest.raises(UsageError, match="ranks_per_node is given, and parts is not"):
        algorithms.label_propagation(graph, ranks_per_node=2)
    with pytest.raises(UsageError, match="max_iter is 0"):
        algorithms.label_propagation(graph, 0, parts=2)

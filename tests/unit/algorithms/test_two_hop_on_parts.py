"""Two-hop friends on parts are those of the whole; nodes tell each other what they found, and no more."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spread_samples import SPREADS, graphs, named, spreads

import arcflux as af
from arcflux import algorithms
from arcflux.algorithms.two_hop_friends import work
from arcflux.engine.launch import launch
from arcflux.engine.worker import Worker
from arcflux.errors import SpaceError, UsageError


def same(graph: af.Graph, spread: dict[str, object], **which: Any) -> None:
    whole = algorithms.two_hop_friends(graph, **which)
    found = algorithms.two_hop_friends(graph, **which, **spread)
    np.testing.assert_array_equal(found["count"], whole["count"])
    for one, other in zip(found.lists(), whole.lists(), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    counted = algorithms.two_hop_friends(graph, lists=False, **which, **spread)
    np.testing.assert_array_equal(counted["count"], whole["count"])


@settings(max_examples=100, deadline=None)
@given(graph=graphs(), spread=spreads(), data=st.data())
def test_parts_have_the_friends_of_the_whole(graph: af.Graph, spread: dict[str, object], data: st.DataObject) -> None:
    some = st.lists(st.integers(0, graph.vertices - 1), max_size=5)
    same(graph, spread, vertices=data.draw(st.none() | some))


@pytest.mark.parametrize("spread", SPREADS, ids=named)
def test_larger_graphs(spread: dict[str, object]) -> None:
    same(af.load("kron:10"), spread, fraction=0.1)
    same(af.load("grid:20x20"), spread)


@pytest.mark.parametrize("nodes", [2, 4])
def test_nodes_tell_each_other_their_counts_and_lists(nodes: int) -> None:
    """Eight bytes for each selected vertex and four for each friend, to every other node; and how many these are."""
    graph = af.load("kron:8")
    chosen = np.arange(0, graph.vertices, 3)

    def counted(worker: Worker, lists: bool) -> np.ndarray:
        work(worker, chosen, lists)
        return worker.gather(np.array([worker.sent]))

    friends = len(algorithms.two_hop_friends(graph, chosen).neighbours)
    where = {"parts": 2 * nodes, "ranks_per_node": 2}
    counts = launch(graph, where, lambda worker: counted(worker, False)).answer
    assert counts.sum() == (nodes - 1) * (8 * len(chosen) + 8 * nodes)
    both = launch(graph, where, lambda worker: counted(worker, True)).answer
    assert both.sum() == counts.sum() + (nodes - 1) * (4 * friends + 8 * nodes)


def test_lists_that_do_not_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arcflux.spmd.space.available", lambda: 1000)
    with pytest.raises(SpaceError, match="lists=False to count only"):
        algorithms.two_hop_friends(af.load("star:1000"), parts=3)
    assert algorithms.two_hop_friends(af.load("star:1000"), parts=3, lists=False)["count"].sum() > 1000


def test_options_that_make_no_sense() -> None:
    graph = af.load("path:5")
    with pytest.raises(UsageError, match="each is the work of one thread"):
        algorithms.two_hop_friends(graph, parts=2, threads=3)
    with pytest.raises(UsageError, match="both vertices and fraction"):
        algorithms.two_hop_friends(graph, [1], fraction=0.5, parts=2)
    with pytest.raises(UsageError, match="partition is given, and parts is not"):
        algorithms.two_hop_friends(graph, partition="random")

"""Two-hop friends on parts are those of the whole, in batches of any size; rows are asked for once a batch."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spread_samples import SPREADS, graphs, named, spreads

import arcflux as af
from arcflux import algorithms
from arcflux.distributed.two_hop import two_hop_friends
from arcflux.errors import SpaceError, UsageError
from arcflux.transports.local import LocalTransport, run_local


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


@pytest.mark.parametrize("batch", [1, 50, 1000])
@pytest.mark.parametrize("how", ["ranges", "random"])
def test_batches_of_any_size_give_the_same(batch: int, how: str) -> None:
    graph = af.load("kron:7")
    whole = algorithms.two_hop_friends(graph)
    parts, chosen = af.partition(graph, 3, how), np.arange(graph.vertices)

    def room(size: int) -> np.ndarray:
        return np.empty(size, np.uint32)

    for count, offsets, friends, _ in run_local(3, lambda t: two_hop_friends(t, parts, chosen, room, batch)):
        np.testing.assert_array_equal(count, whole["count"])
        np.testing.assert_array_equal(offsets, whole.offsets)
        np.testing.assert_array_equal(friends, whole.neighbours)


def test_each_row_crosses_once_to_a_rank_that_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = af.load("kron:8")
    parts, chosen = af.partition(graph, 4, "random"), np.arange(0, graph.vertices, 3)
    asked, rows = 0, 0
    post = LocalTransport.post

    def counted(self: LocalTransport, peer: int, arrays: list[np.ndarray], tag: int = 0) -> None:
        nonlocal asked, rows
        asked += sum(array.nbytes for array in arrays) * (tag == 0)
        rows += sum(array.nbytes for array in arrays) * (tag == 1)
        post(self, peer, arrays, tag)

    monkeypatch.setattr(LocalTransport, "post", counted)
    run_local(4, lambda transport: two_hop_friends(transport, parts, chosen, None), ranks_per_node=1)
    needed = [
        w
        for rank in range(4)
        for w in set().union(*(graph.neighbours(v).tolist() for v in chosen.tolist() if parts.owner[v] == rank))
        if parts.owner[w] != rank
    ]
    assert asked == 4 * len(needed)
    assert rows == 4 * int(graph.out_degrees[needed].sum())
    asked, rows, parts = 0, 0, af.partition(graph, 4, "duplicate")
    run_local(4, lambda transport: two_hop_friends(transport, parts, chosen, None), ranks_per_node=1)
    assert asked == rows == 0


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

"""Ranks as threads: what every transport does, and how a run ends when one of them fails."""

import threading
import time
import traceback

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transports_conformance import CASES

from arcflux.errors import ArcfluxError, ProgramError, RankError, UsageError
from arcflux.transports import Counts, run_local
from arcflux.transports.base import nodes_by_size
from arcflux.transports.board import DIED, THREW, Board


@pytest.mark.parametrize(("size", "ranks_per_node"), [(1, None), (2, None), (3, 1), (4, 2), (7, 3), (16, 5)])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_conformance(case, size, ranks_per_node):
    run_local(size, case, ranks_per_node=ranks_per_node)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.integers(-5, 5), max_size=9), min_size=1, max_size=6), st.integers(1, 6), st.data())
def test_gather_and_broadcast_on_any_grouping(rows, ranks_per_node, data):
    root = data.draw(st.integers(0, len(rows) - 1))

    def work(t):
        found = t.gather(np.array(rows[t.rank], np.int16))
        word = t.broadcast(np.array([t.rank * 3]), root)
        return [each.tolist() for each in found], word.tolist()

    for found, word in run_local(len(rows), work, ranks_per_node=ranks_per_node):
        assert found == rows
        assert word == [3 * root]


def test_what_ranks_return_comes_in_their_order():
    assert run_local(5, lambda t: (t.rank, t.node), ranks_per_node=2) == [(0, 0), (1, 0), (2, 1), (3, 1), (4, 2)]


def others_wait(t, how):
    if how == "node barrier":
        t.node_barrier()
    elif how == "barrier":
        t.barrier()
    elif how == "collect":
        t.collect(2)
    elif how == "reduce":
        t.reduce(np.zeros(2), "sum")
    elif how == "group":
        t.group.barrier()
    elif how == "pending":
        t.start_reduce(np.zeros(2), "sum").wait()


@pytest.mark.parametrize("ranks_per_node", [None, 2, 1])
@pytest.mark.parametrize("how", ["barrier", "collect", "reduce", "group", "pending"])
def test_a_rank_that_throws_ends_all_and_its_own_error_arrives(how, ranks_per_node):
    seen = []

    def work(t):
        try:
            t.group = t.split(0, t.rank)  # where a rank of a busy machine may still be when another throws
            t.superstep = 5
            if t.rank == 2:
                time.sleep(0.02)
                raise ProgramError("no such field", remedy="another")
            others_wait(t, how)
        except RankError as error:
            seen.append(error)
            raise

    before = threading.active_count()
    with pytest.raises(ProgramError) as caught:
        run_local(4, work, ranks_per_node=ranks_per_node)
    assert caught.value.__notes__ == ["on rank 2, in superstep 5"]
    assert "raise ProgramError" in "".join(traceback.format_tb(caught.tb))
    assert [(error.rank, error.superstep) for error in seen] == [(2, 5)] * 3
    assert threading.active_count() == before


def test_fail_tells_the_others_the_traceback():
    def work(t):
        t.superstep = 3
        if t.rank == 1:
            try:
                raise ZeroDivisionError("of mine")
            except ZeroDivisionError as error:
                t.fail(error)
                raise
        with pytest.raises(RankError) as caught:
            t.node_barrier()
        assert (caught.value.rank, caught.value.superstep) == (1, 3)
        assert "ZeroDivisionError: of mine" in caught.value.trace
        assert "rank 1 failed in superstep 3" in str(caught.value)
        with pytest.raises(RankError):
            t.check()

    with pytest.raises(ZeroDivisionError):
        run_local(3, work)


@pytest.mark.parametrize("how", ["node barrier", "barrier", "collect", "reduce", "pending"])
def test_waiting_for_a_rank_that_has_ended_is_an_error(how):
    def work(t):
        t.superstep = 1
        if t.rank != 2:
            others_wait(t, how)

    with pytest.raises(RankError, match=r"rank [013] waits for rank 2, which has ended its work, in superstep 1"):
        run_local(4, work)


def test_a_message_of_a_rank_that_has_ended_still_arrives():
    def work(t):
        if t.rank:
            t.post(0, [np.arange(3)])
            return []
        time.sleep(0.1)
        return t.collect(1).view(np.int64).tolist()

    assert run_local(2, work)[0] == [0, 1, 2]


def test_one_reduction_at_a_time():
    def work(t):
        t.start_reduce(np.zeros(1), "sum")
        t.start_reduce(np.zeros(1), "sum")

    with pytest.raises(UsageError, match="another is under way"):
        run_local(1, work)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: run_local(0, lambda t: None), "size is 0"),
        (lambda: run_local(2.5, lambda t: None), "size is 2.5"),
        (lambda: run_local(2, lambda t: None, ranks_per_node=0), "ranks_per_node is 0"),
        (lambda: run_local(2, lambda t: None, ranks_per_node="two"), "ranks_per_node is 'two'"),
        (lambda: run_local(2, lambda t: t.reduce(np.zeros(1), "mean")), "no reduction is named 'mean'"),
        (lambda: run_local(2, lambda t: t.broadcast(np.zeros(1), 2)), "root is 2"),
        (lambda: run_local(2, lambda t: t.post(2, [])), "peer is 2"),
        (lambda: run_local(2, lambda t: t.post(0, [np.zeros((4, 4))[:, 1]])), "not contiguous"),
        (lambda: run_local(2, lambda t: t.post(0, [], tag=-1)), "tag is -1"),
    ],
)
def test_senseless_arguments_are_refused(call, said):
    with pytest.raises(UsageError, match=said):
        call()


def test_nodes_by_size():
    assert nodes_by_size(4, None) == [0, 0, 0, 0]
    assert nodes_by_size(4, 3) == [0, 0, 0, 1]
    assert nodes_by_size(3, 9) == [0, 0, 0]


def test_counts_reset():
    counts = Counts(1, 2, 3, 4)
    counts.reset()
    assert counts == Counts()


def test_the_first_alarm_counts():
    board = Board(np.zeros(Board.bytes(3), np.uint8), 3)
    assert board.error() is None
    board.at_superstep(2, 8)
    assert (board.superstep(0), board.superstep(2)) == (-1, 8)
    assert board.raise_alarm(DIED, 2, 8)
    assert not board.raise_alarm(THREW, 1, 3, "late")
    assert str(board.error()) == "rank 2 was killed in superstep 8"


def test_a_long_traceback_keeps_its_end():
    board = Board(np.zeros(Board.bytes(1), np.uint8), 1)
    board.raise_alarm(THREW, 0, -1, "é" * 100_000 + "the end")
    error = board.error()
    assert isinstance(error, ArcfluxError)
    assert error.trace.endswith("ééthe end")
    assert "before the first superstep" in str(error)

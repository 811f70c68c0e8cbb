"""What ranks of a node know about each other, and what they tell other machines."""

import numpy as np

from arcflux.transports.board import Board


def a_board(ranks):
    return Board(np.zeros(Board.bytes(ranks), np.uint8), ranks)


def test_times_of_another_machine_are_told_as_ages():
    here, there = a_board(3), a_board(3)
    here.beat(1, 1_000, True)
    here.beat(2, 4_000, False)
    here.wait_since(2, 2_500)
    there.take_ages([1, 2], here.ages([1, 2], 5_000), 90_000)
    assert [there.silent(rank, 90_000) for rank in (1, 2)] == [4_000, 1_000]
    assert there.waits_since(2) == 87_500
    assert there.waits_since(1) == 0
    assert there.idle(1, 90_000) == 4_000


def test_a_beat_after_the_look_at_the_clock_is_no_silence():
    """The leader looks at the clock, then a mate writes that it lives, then the leader copies the row."""
    here, there = a_board(2), a_board(2)
    here.beat(1, 5_001, True)
    here.wait_since(1, 5_002)
    there.take_ages([1], here.ages([1], 5_000), 90_000)
    assert there.silent(1, 90_000) == 0
    assert there.idle(1, 90_000) == 0
    assert there.waits_since(1) == 90_000

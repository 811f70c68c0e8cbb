"""Arrays on memory maps: big and small, zeroed, given back, frozen."""

import gc
import mmap
import threading

import numpy as np
import pytest

from arcflux.errors import SpaceError
from arcflux.spmd import memory
from arcflux.spmd.memory import borrow, empty, frozen, give_back, recycled, release, zeros

BIG = 1 << 20


@pytest.mark.parametrize("kind", [np.bool_, np.uint16, np.float64])
@pytest.mark.parametrize("size", [0, 1, 1000, BIG - 1, BIG, BIG + 1])
def test_arrays_have_the_size_and_type_asked_for(size, kind):
    for make in (empty, zeros):
        array = make(size, kind)
        assert (array.shape, array.dtype) == ((size,), kind)
        assert array.flags.writeable
        assert array.flags.c_contiguous
    assert not zeros(size, kind).any()


def test_zeros_are_zero_in_memory_that_was_used_before():
    for _ in range(20):
        array = np.full(100, 7)
        del array
        assert not zeros(100, np.int64).any()


@pytest.mark.parametrize("size", [1 << 50, 1 << 62, 1 << 70])
def test_memory_that_nobody_has_is_a_space_error(size):
    with pytest.raises(SpaceError, match=f"{size:,} values of int64 needs {8 * size:,} bytes"):
        empty(size, np.int64)
    with pytest.raises(SpaceError):
        zeros(size, np.int64)


@pytest.mark.parametrize(("start", "stop"), [(0, 1), (100, 90_000), (1, 2 * BIG), (700, 701), (5000, 5000), (9, 5)])
def test_released_pages_read_as_zero_and_all_others_stay(start, stop):
    array = empty(2 * BIG, np.uint32)
    array[:] = np.arange(1, len(array) + 1)
    release(array, start, stop)
    gone = np.flatnonzero(array == 0)
    page = mmap.PAGESIZE // 4
    first, last = -(-start // page) * page, stop // page * page
    assert gone.tolist() == list(range(first, last))
    assert np.array_equal(array[array > 0], np.delete(np.arange(1, len(array) + 1), gone))


def test_only_our_own_memory_is_given_back(tmp_path):
    mine = np.full(BIG, 7)
    view = empty(BIG, np.int64)[1000:]
    file = np.memmap(tmp_path / "file", np.int64, "w+", shape=BIG)
    private = mmap.mmap(-1, 8 * BIG, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for array in (mine, view, file, np.frombuffer(private, np.int64), frozen(empty(BIG, np.int64))):
        if array.flags.writeable:
            array[:] = 7
        before = array.copy()
        release(array, 0, len(array))
        assert np.array_equal(array, before)


def test_frozen_is_a_view_that_cannot_be_written_to():
    array = np.arange(6)
    view = frozen(array)
    assert np.shares_memory(view, array)
    assert array.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1
    every_second = frozen(array[::2])
    assert every_second.flags.c_contiguous
    assert every_second.tolist() == [0, 2, 4]
    assert not every_second.flags.writeable


@pytest.fixture(scope="module", autouse=True)
def settled():
    """What other tests left is looked through once, and not again before each test: it may be millions of objects."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture
def spare(monkeypatch):
    """What is kept of memory that was given back: nothing at first."""
    gc.collect()  # results of other tests give theirs back when they die
    kept = []
    monkeypatch.setattr(memory, "_spare", kept)
    return kept


def place(array):
    return array.__array_interface__["data"][0]


def test_memory_that_was_given_back_is_borrowed_again(spare):
    first = borrow(BIG, np.float64)
    first[:] = 7.0
    where = place(first)
    give_back([first])
    del first
    again = borrow(BIG - 1000, np.uint64)
    assert (place(again), again.shape, again.dtype) == (where, (BIG - 1000,), np.uint64)
    assert again.flags.writeable
    assert not spare
    # The whole block comes back, also when the one who borrowed it last asked for less.
    give_back([again])
    assert spare[0].nbytes == 8 * BIG
    assert place(borrow(BIG, np.int64)) == where


def test_memory_that_does_not_fit_stays(spare):
    give_back([borrow(BIG, np.float64)])
    where = place(spare[0])
    others = [borrow(BIG + 1, np.float64), borrow(BIG // 2 - 1, np.float64)]
    assert [place(kept) for kept in spare] == [where]
    assert where not in map(place, others)
    assert place(borrow(BIG // 2, np.float64)) == where


def test_nobody_gets_what_another_has(spare):
    arrays = [borrow(BIG, np.uint8) for _ in range(4)]
    give_back(arrays)
    again = [borrow(BIG, np.uint8) for _ in range(6)]
    assert len({place(array) for array in again}) == 6
    assert {place(array) for array in arrays} <= {place(array) for array in again}


def test_several_threads_never_share_a_block(spare):
    held, lock, wrong = set(), threading.Lock(), []

    def work():
        for _ in range(50):
            array = borrow(BIG, np.uint8)
            with lock:
                if place(array) in held:
                    wrong.append(place(array))
                held.add(place(array))
            with lock:
                held.discard(place(array))
            give_back([array])

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong
    assert 1 <= len(spare) <= 4


def test_what_is_kept_is_bounded_and_the_longest_unused_goes_first(spare, monkeypatch):
    monkeypatch.setattr(memory, "_MOST_SPARE", 5 * BIG)
    arrays = [borrow(2 * BIG, np.uint8) for _ in range(3)]
    give_back(arrays)
    assert [place(array) for array in spare] == [place(array) for array in arrays[1:]]
    give_back([borrow(6 * BIG, np.uint8)])
    assert not spare


def test_views_stand_for_their_block_and_small_arrays_for_nothing(spare):
    array = borrow(BIG, np.float64)
    give_back([array.reshape(-1, 4)[:10]])
    assert [kept.nbytes for kept in spare] == [8 * BIG]
    give_back([borrow(10, np.float64), np.zeros(BIG), frozen(np.zeros(BIG))])
    assert len(spare) == 1


@pytest.mark.parametrize("zero", [True, False])
def test_recycled_memory_comes_back_when_the_last_view_of_it_dies(spare, zero):
    array = recycled(BIG, np.float64, zero=zero)
    assert not array.any()
    array[:] = 7.0
    where, view = place(array), array.reshape(-1, 2)[5:, 1]
    del array
    gc.collect()
    assert not spare
    assert (view == 7.0).all()
    del view
    gc.collect()
    assert [place(kept) for kept in spare] == [where]
    again = recycled(BIG, np.float64)
    assert place(again) == where
    assert not again.any()
    assert recycled(5, np.int8).tolist() == [0] * 5


def test_a_block_given_back_twice_at_once_is_lent_once():
    array = borrow(1 << 20, np.uint8)
    give_back([array, array[:5]])
    first, second = borrow(1 << 20, np.uint8), borrow(1 << 20, np.uint8)
    assert not np.shares_memory(first, second)

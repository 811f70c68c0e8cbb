"""Arrays on memory maps: big and small, zeroed, given back, frozen."""

import mmap

import numpy as np
import pytest

from arcflux.errors import SpaceError
from arcflux.spmd.memory import empty, frozen, release, zeros

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
    with pytest.raises(SpaceError, match=f"{size:,} values of int64 need {8 * size:,} bytes"):
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

"""Read-only arrays become what the driver can lock: the same memory, or a copy of a file's."""

import gc

import numpy as np
import pytest

import arcflux as af
from arcflux.gpu.pages import lockable


def test_arrays_of_a_graph_are_lent_as_they_are():
    graph = af.load("path:5")
    neighbours = graph.out.neighbours
    assert not neighbours.flags.writeable
    found = lockable(neighbours)
    assert found.flags.writeable
    assert np.shares_memory(found, neighbours)
    np.testing.assert_array_equal(found, neighbours)


def test_the_memory_lives_as_long_as_the_result():
    array = np.arange(100_000)
    array.flags.writeable = False
    found = lockable(array)
    del array
    gc.collect()
    again = np.full(100_000, -1)  # which would get the memory if it were free
    assert found.sum() == 99_999 * 50_000
    assert again[0] == -1


def test_pages_of_a_store_are_copied(tmp_path):
    af.load("path:5").save(tmp_path / "p.arcflux")
    neighbours = af.load(tmp_path / "p.arcflux").out.neighbours
    found = lockable(neighbours)
    assert found.flags.writeable
    assert not np.shares_memory(found, neighbours)
    np.testing.assert_array_equal(found, neighbours)


def test_what_may_be_written_to_and_what_is_empty_stay():
    for array in (np.arange(3), np.empty(0)):
        assert lockable(array) is array


def test_numba_takes_it():
    driver = pytest.importorskip("numba.cuda.cudadrv.driver")
    if not hasattr(driver, "host_pointer"):
        pytest.skip("the simulator locks nothing")
    neighbours = af.load("path:5").out.neighbours
    with pytest.raises(ValueError, match="read-only"):
        driver.host_pointer(neighbours)
    assert driver.host_pointer(lockable(neighbours)) == neighbours.ctypes.data

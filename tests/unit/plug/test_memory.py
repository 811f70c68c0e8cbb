"""Columns in sealed memory: they come back as they were, and nothing outside of the memory can be named."""

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arcflux.errors import UsageError
from arcflux.plug.memory import columns_of, map_shared, open_file, pack, shared_pages

numbers = st.sampled_from(["<i8", "<i4", "<u4", "<f8", "<f4", "|b1", "|u1"])


@given(st.lists(st.tuples(numbers, st.integers(0, 40)), max_size=4), st.lists(st.text(max_size=5), max_size=9))
def test_columns_come_back(kinds, words):
    given_columns = {f"c{i}": np.arange(n).astype(kind) for i, (kind, n) in enumerate(kinds)}
    said, descriptor = pack({**given_columns, "words": np.array([*words, ""], object)[: len(words)]})
    try:
        found = columns_of(said, [map_shared(descriptor)])
    finally:
        os.close(descriptor)
    for name, column in given_columns.items():
        assert found[name].dtype == column.dtype
        assert np.array_equal(found[name], column)
    assert list(found["words"].to_pylist() if words else found["words"]) == words


def test_vectors_come_back():
    said, descriptor = pack({"factors": np.arange(6.0).reshape(3, 2)})
    assert columns_of(said, [map_shared(descriptor)])["factors"].tolist() == [[0, 1], [2, 3], [4, 5]]
    os.close(descriptor)


def test_what_was_packed_cannot_be_written_nor_cut():
    _, descriptor = pack({"a": np.arange(9)})
    with pytest.raises(PermissionError):
        os.ftruncate(descriptor, 1)
    with pytest.raises(PermissionError):
        os.write(descriptor, b"x")
    with pytest.raises(PermissionError):
        map_shared(descriptor, write=True)
    os.close(descriptor)


def test_memory_that_can_shrink_is_refused():
    descriptor = os.memfd_create("loose")
    os.ftruncate(descriptor, 100)
    with pytest.raises(UsageError, match="can still shrink"):
        map_shared(descriptor)
    os.close(descriptor)


@pytest.mark.parametrize(
    "wrong",
    [{"offset": 8}, {"offset": -8}, {"count": 5}, {"count": -1}, {"fd": 1}, {"fd": "0"}, {"dtype": "|O"},
     {"dtype": "text", "data": 0}, {"dtype": "text", "offsets": "<f8", "data": 0}, {"length": 2}],
)  # fmt: skip
def test_a_column_outside_of_its_memory_is_refused(wrong):
    descriptor = shared_pages(32)
    memory = map_shared(descriptor, write=True)
    os.close(descriptor)
    memory.view(np.int64)[:] = [99, 1, 2, 3]
    with pytest.raises(UsageError):
        columns_of([{"name": "a", "dtype": "<i8", "count": 4, "fd": 0, "offset": 0, **wrong}], [memory])


def test_offsets_of_text_that_fall_and_bytes_that_are_no_text():
    memory = np.zeros(64, np.uint8)
    memory[:24].view(np.int64)[:] = [0, 9, 3]
    about = {"name": "t", "dtype": "text", "count": 2, "fd": 0, "offset": 0, "offsets": "<i8", "data": 32}
    with pytest.raises(UsageError, match="fall"):
        columns_of([about], [memory])
    memory[:24].view(np.int64)[:] = [0, 1, 2]
    memory[32:34] = 0xFF
    with pytest.raises(ValueError, match="UTF8"):
        columns_of([about], [memory])


def test_a_file_is_gone_when_it_is_open_and_none_is_opened_elsewhere(tmp_path):
    (tmp_path / "part").write_bytes(np.arange(4).tobytes())
    assert open_file(tmp_path, "part").view(np.int64).tolist() == [0, 1, 2, 3]
    assert not list(tmp_path.iterdir())
    (tmp_path / "link").symlink_to("/etc/hostname")
    for name in ("../part", "link", ".hidden", "/etc/hostname"):
        with pytest.raises((UsageError, OSError)):
            open_file(tmp_path, name)


def test_what_is_no_column():
    with pytest.raises(UsageError, match="complex"):
        pack({"a": np.array([1j])})
    with pytest.raises(UsageError, match="something else"):
        pack({"a": np.array(["x", 3], object)})
    with pytest.raises(UsageError, match="nulls"):
        pack({"a": np.array(["x", None], object)})

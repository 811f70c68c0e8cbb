"""NumPy's files: whatever numbers NumPy writes are read as it reads them; noise is a ValueError."""

import io
import os
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from arcflux.errors import FormatError, SpaceError, UsageError
from arcflux.io.npy import read_header, read_npy, read_npz

NUMBERS = arrays.arrays(
    st.sampled_from(["?", "u1", "<i2", ">i4", "<u8", "<f4", ">f8"]), arrays.array_shapes(min_dims=0, min_side=0)
)


@given(NUMBERS, st.sampled_from([(1, 0), (2, 0), (3, 0)]), st.booleans())
def test_what_numpy_writes_is_read_as_it_is(tmp_path_factory, array, version, by_columns):
    array = np.asfortranarray(array) if by_columns else array
    path = tmp_path_factory.getbasetemp() / "numbers.npy"
    with open(path, "wb") as file:
        np.lib.format.write_array(file, array, version)
    found, expected = read_npy(path), np.load(path)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    assert found.tobytes() == expected.tobytes()


def test_packed_files_have_their_arrays_in_order(tmp_path):
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "all.npz", np.arange(5), np.ones((2, 3)))
        first, second = read_npz(tmp_path / "all.npz")
        assert first.tolist() == [0, 1, 2, 3, 4]
        assert second.tolist() == [[1, 1, 1]] * 2


def start(header):
    return b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header


REFUSED = {
    "empty": b"",
    "text": b"1,2,3\n",
    "version": b"\x93NUMPY\4\0" + bytes(20),
    "object": start(b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n"),
    "names": start(b"{'descr': '<U3', 'fortran_order': False, 'shape': (1,), }\n") + bytes(12),
    "record": start(b"{'descr': [('a', '<u4')], 'fortran_order': False, 'shape': (1,), }\n") + bytes(4),
    "no type": start(b"{'descr': '<f3', 'fortran_order': False, 'shape': (1,), }\n") + bytes(3),
    "a number": start(b"{'descr': '<u4', 'fortran_order': False, 'shape': (1), }\n") + bytes(4),
    "negative": start(b"{'descr': '<u4', 'fortran_order': False, 'shape': (-1,), }\n"),
    "deep": start(b"{'descr': " + b"-" * 9000),
    "short": start(b"{'descr': '<u4', 'fortran_order': False, 'shape': (3,), }\n") + bytes(8),
    "long": start(b"{'descr': '<u4', 'fortran_order': False, 'shape': (3,), }\n") + bytes(16),
    "huge": start(b"{'descr': '<u8', 'fortran_order': False, 'shape': (999999999999999999, 999999999), }\n"),
    "code": start(b"{'descr': '<u4', 'fortran_order': False, 'shape': (print(1),), }\n"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_array_of_numbers_is_refused(tmp_path, name):
    (tmp_path / "x.npy").write_bytes(REFUSED[name])
    with pytest.raises(ValueError, match=r"its header|this is no|it promises|it holds"):
        read_npy(tmp_path / "x.npy")


@settings(max_examples=300)
@given(st.binary(max_size=80), st.integers(0, 80), st.integers(0, 255))
def test_noise_is_a_value_error(noise, place, byte):
    file = io.BytesIO()
    np.save(file, np.arange(4))
    changed = bytearray(file.getvalue())
    changed[place] = byte
    for raw in (noise, start(noise), bytes(changed)):
        try:
            shape, _, dtype = read_header(io.BytesIO(raw))
        except ValueError:
            continue
        assert dtype.kind in "biuf"
        assert all(size >= 0 for size in shape)


def test_noise_in_a_packed_file_is_an_error_of_the_file(tmp_path):
    np.savez_compressed(tmp_path / "x.npz", np.arange(100))
    whole = (tmp_path / "x.npz").read_bytes()
    for place in range(0, len(whole), 3):
        changed = bytearray(whole)
        changed[place] ^= 0x55
        (tmp_path / "x.npz").write_bytes(changed)
        try:
            found = read_npz(tmp_path / "x.npz")
        except (ValueError, OSError):
            continue
        assert all(array.dtype.kind in "biuf" for array in found)


def test_applications_say_which_file_it_was(tmp_path):
    import arcflux as af

    (tmp_path / "y.npy").write_bytes(REFUSED["deep"])
    with pytest.raises(FormatError, match=r"y\.npy"):
        af.fused_lasso("path:2", str(tmp_path / "y.npy"))
    np.save(tmp_path / "names.npy", np.array(["a", "b"]))
    with pytest.raises((FormatError, UsageError), match="array of numbers"):
        af.fused_lasso("path:2", str(tmp_path / "names.npy"))


def test_a_pipe_or_a_device_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe.npy")
    for path in (tmp_path / "pipe.npy", "/dev/zero"):
        with pytest.raises(ValueError, match="no plain file"):
            read_npy(path)


def test_more_than_memory_holds_is_refused_before_it_is_taken(tmp_path):
    """A file with holes, and a packed one, whose sizes are those that they promise."""
    promise = start(b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }")
    with open(tmp_path / "holes.npy", "wb") as file:
        file.write(promise)
        file.truncate(len(promise) + 8 * 10**12)
    with pytest.raises(SpaceError, match="the array of a file needs"):
        read_npy(tmp_path / "holes.npy")


def test_bytes_that_are_no_booleans_are_refused(tmp_path):
    np.save(tmp_path / "flags.npy", np.array([0, 1, 7], np.uint8).view(np.bool_))
    with pytest.raises(ValueError, match="a boolean is 0 or 1"):
        read_npy(tmp_path / "flags.npy")


@pytest.mark.parametrize("how", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_flipped_bits_of_packed_files_are_numbers_or_a_value_error(tmp_path, how):
    with zipfile.ZipFile(tmp_path / "right.npz", "w", how) as packed:
        for name in ("a.npy", "b.npy"):
            with packed.open(name, "w") as file:
                np.lib.format.write_array(file, np.arange(40))
    right = (tmp_path / "right.npz").read_bytes()
    refused = 0
    for at in range(0, len(right), 3):
        wrong = bytearray(right)
        wrong[at] ^= 1 << at % 8
        (tmp_path / "wrong.npz").write_bytes(wrong)
        try:
            read_npz(tmp_path / "wrong.npz")
        except (ValueError, SpaceError):
            refused += 1
    assert refused

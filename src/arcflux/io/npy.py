"""NumPy's files: what their headers say, read with suspicion, and arrays of numbers.

A header is a line of Python's text. NumPy hands it to Python's parser, which noise makes run out of memory, and which
two threads cannot use at once before CPython 3.12; the headers of plain arrays are read by one pattern here.
"""

from __future__ import annotations

import lzma
import math
import os
import re
import stat
import struct
import zipfile
import zlib
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from arcflux.errors import SpaceError
from arcflux.io.checks import are_booleans
from arcflux.spmd.space import afford

__all__ = ["read_header", "read_npy", "read_npz"]

_MAGIC = b"\x93NUMPY"
# Bytes of the length of a header, by the version of the format.
_LENGTH = {b"\1\0": 2, b"\2\0": 4, b"\3\0": 4}
_LONGEST = 4096
# Bytes that are read at once.
_PIECE = 1 << 24
# What zipfile raises of bytes that are no such file.
_NOT_PACKED = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, NotImplementedError, OSError, OverflowError,
    RuntimeError,
)  # fmt: skip
_HEADER = re.compile(
    rb"\s*\{\s*'descr':\s*'([<>|=][biuf]\d{1,2})',\s*'fortran_order':\s*(True|False),"
    rb"\s*'shape':\s*\(((?:\d{1,18},\s*)*(?:\d{1,18})?)\),?\s*\}\s*"
)


def read_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """The shape of an array of numbers, whether its columns come one after the other, and its type.

    The file is left where the numbers begin. What is no such header is a ValueError.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> np.save(file, np.arange(6, dtype=np.uint32).reshape(2, 3))
    >>> _ = file.seek(0)
    >>> read_header(file)
    ((2, 3), False, dtype('uint32'))
    """
    start = file.read(len(_MAGIC) + 2)
    width = _LENGTH.get(start[len(_MAGIC) :])
    if not start.startswith(_MAGIC) or width is None:
        raise ValueError("this is no .npy file of a version from 1 to 3")
    length = int.from_bytes(file.read(width), "little")
    if length > _LONGEST:
        raise ValueError(f"its header has {length:,} bytes, and an array of numbers needs a hundred")
    header = _HEADER.fullmatch(file.read(length))
    if header is None:
        raise ValueError("its header is not that of an array of numbers")
    kind, columns, shape = header.groups()
    try:
        dtype = np.dtype(kind.decode())
    except TypeError as error:
        raise ValueError(f"it holds {kind.decode()}, which is no type of numbers") from error
    sizes = tuple(int(part) for part in shape.split(b",") if part.strip())
    if len(sizes) == 1 and b"," not in shape:
        raise ValueError("its header is not that of an array of numbers")
    return sizes, columns == b"True", dtype


def read_npy(path: str | os.PathLike[str]) -> NDArray[Any]:
    """The numbers of a .npy file; a ValueError where it holds something else, or not as many as it promises.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/levels.npy", [0, 1, 1])
    ...     read_npy(f"{folder}/levels.npy")
    array([0, 1, 1])
    """
    with _open(path) as file:
        return _read(file, os.fstat(file.fileno()).st_size)


def read_npz(path: str | os.PathLike[str]) -> list[NDArray[Any]]:
    """The arrays of a .npz file, in its order; errors as of :func:`read_npy`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/pair.npz", [1, 2], [[3.5]])
    ...     read_npz(f"{folder}/pair.npz")
    [array([1, 2]), array([[3.5]])]
    """
    with _open(path) as opened:
        try:
            with zipfile.ZipFile(opened) as packed:
                arrays = []
                for member in packed.infolist():
                    with packed.open(member) as file:
                        arrays.append(_read(file, member.file_size))
                return arrays
        except SpaceError:
            raise
        except _NOT_PACKED as error:
            raise ValueError(f"this is no .npz file: {error}") from error


def _open(path: str | os.PathLike[str]) -> IO[bytes]:
    """A plain file; a pipe is refused without waiting for its other end."""
    file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))  # noqa: SIM115
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise ValueError("this is no plain file")


def _read(file: IO[bytes], size: int) -> NDArray[Any]:
    """The array of a file of so many bytes."""
    shape, columns, dtype = read_header(file)
    promised, held = math.prod(shape) * dtype.itemsize, size - file.tell()
    if promised != held:
        raise ValueError(f"it promises {promised:,} bytes of numbers, and holds {held:,}")
    afford(promised, "the array of a file")  # a packed one holds a thousand times its size
    raw, at = np.empty(promised, np.uint8), 0
    while at < promised and (piece := file.read(min(_PIECE, promised - at))):
        raw[at : at + len(piece)] = np.frombuffer(piece, np.uint8)
        at += len(piece)
    if at != promised:
        raise ValueError(f"it ends after {at:,} of {promised:,} bytes of numbers")
    if dtype == np.bool_ and (fault := are_booleans(raw)(0, promised)):
        raise ValueError(fault)
    return raw.view(dtype).reshape(shape, order="F" if columns else "C")

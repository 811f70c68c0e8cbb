"""What is in the arrays of a store, looked at once before compiled code reads them: checksums, offsets, ranges, order.

Opening a store checks sizes and types. That offsets rise, that neighbours are vertices and that rows are sorted is what
compiled code relies on to stay inside of its arrays; that the bytes are those that were written is what makes results
right. All of it is one sweep over memory in pieces that fit a cache, on all cores, in plain NumPy: nothing has to be
compiled before a graph can be looked at.

The checksum ``sum64`` takes each piece as a table of 64-bit words, and puts the sums of its rows and of its columns
(modulo 2**64) through SHA-256. A word that changed changes a sum of each kind; words that changed places change the
sums of their rows or of their columns. It finds damage, at a fifth of the cost of SHA-256 over the bytes themselves,
and is no protection against deliberate changes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux import config, trace

__all__ = ["Look", "are_below", "are_booleans", "byte_pieces", "digest", "examine", "rise", "rows_rise"]

Array = NDArray[Any]
Look = Callable[[int, int], str]  # what is wrong with the places from begin to end, "" when nothing is

_COLUMNS = 512
_PIECE = 1 << 20
_PIECES = 16  # that one thread takes at a time
_DIGESTED = 1 << 24


def examine(array: Array, looks: Iterable[Look] = ()) -> tuple[str, str]:
    """The checksum of an array, and what the first look that finds something says about it ("" when none does).

    Examples
    --------
    >>> numbers = np.arange(5, dtype=np.uint64)
    >>> examine(numbers, [are_below(numbers, 5)])[1]
    ''
    >>> examine(numbers, [are_below(numbers, 4)])[1]
    'place 4 has 4, and 3 is the largest that can be'
    """
    wanted = list(looks)
    array = np.ascontiguousarray(array)
    step = _PIECE // array.itemsize
    starts = range(0, len(array), step)

    def examine_pieces(first: int) -> list[tuple[bytes, str]]:
        return [_examine_piece(array, k, min(k + step, len(array)), wanted) for k in starts[first : first + _PIECES]]

    tasks = range(0, len(starts), _PIECES)
    if len(tasks) < 2 or config.rank_and_size() is not None:  # ranks have their cores full of each other
        found = [piece for first in tasks for piece in examine_pieces(first)]
    else:
        with ThreadPoolExecutor(min(config.threads(), len(tasks))) as pool:
            found = [piece for pieces in pool.map(examine_pieces, tasks) for piece in pieces]
    digest = hashlib.sha256(b"".join(sums for sums, _ in found)).hexdigest()
    return digest, next((fault for _, fault in found if fault), "")


def _examine_piece(array: Array, begin: int, end: int, looks: list[Look]) -> tuple[bytes, str]:
    return _sums(array[begin:end]), next((fault for look in looks if (fault := look(begin, end))), "")


def _sums(piece: Array) -> bytes:
    """The sums of the rows and of the columns of a piece as a table of words; what is left over makes a last row."""
    raw = piece.view(np.uint8)
    whole = len(raw) // (8 * _COLUMNS) * 8 * _COLUMNS
    table = raw[:whole].view(np.uint64).reshape(-1, _COLUMNS)
    sums: Array = np.concatenate([table.sum(axis=0), table.sum(axis=1)])
    return sums.tobytes() + hashlib.sha256(raw[whole:].data).digest()


def rise(values: Array, *, strictly: bool = False) -> Look:
    """Each value is at least the one before it, or more than it."""

    def look(begin: int, end: int) -> str:
        some = values[max(begin - 1, 0) : end]
        falls = some[1:] <= some[:-1] if strictly else some[1:] < some[:-1]
        if not falls.any():
            return ""
        at = max(begin, 1) + int(np.argmax(falls))
        return f"place {at:,} has {values[at]}, and the one before it {values[at - 1]}"

    return look


def are_below(values: Array, limit: int) -> Look:
    """Each value is below a limit."""

    def look(begin: int, end: int) -> str:
        some = values[begin:end]
        if int(some.max(initial=0)) < limit:
            return ""
        at = begin + int(np.argmax(some >= limit))
        return f"place {at:,} has {values[at]}, and {limit - 1} is the largest that can be"

    return look


def rows_rise(values: Array, offsets: Array, *, strictly: bool = False) -> Look:
    """In each row that `offsets`, which rise, cut out, each value is at least the one before it, or more than it."""

    def look(begin: int, end: int) -> str:
        first = max(begin, 1)
        some = values[first - 1 : end]
        falls = some[1:] <= some[:-1] if strictly else some[1:] < some[:-1]
        low, high = np.searchsorted(offsets, np.array([first, end], offsets.dtype))
        falls[offsets[low:high].astype(np.int64) - first] = False
        if not falls.any():
            return ""
        at = first + int(np.argmax(falls))
        return f"place {at:,} has {values[at]} in the row in which {values[at - 1]} comes before"

    return look


def are_booleans(values: Array) -> Look:
    """Each byte is 0 or 1; compiled code takes a byte for a boolean without asking."""
    raw = values.view(np.uint8)

    def look(begin: int, end: int) -> str:
        if int(raw[begin:end].max(initial=0)) <= 1:
            return ""
        at = begin + int(np.argmax(raw[begin:end] > 1))
        return f"place {at:,} has the byte {raw[at]}, and a boolean is 0 or 1"

    return look


def byte_pieces(array: Array) -> list[memoryview]:
    """The bytes of an array in pieces of 16 MiB."""
    raw = np.ascontiguousarray(array).view(np.uint8).data if len(array) else memoryview(b"")
    return [raw[at : at + _DIGESTED] for at in range(0, len(raw), _DIGESTED)]


def digest(array: Array, task: trace.Task | None = None) -> str:
    """The sha256 of the sha256s of each 16 MiB, so that all cores can share the work."""
    whole, pieces = hashlib.sha256(), byte_pieces(array)
    with ThreadPoolExecutor(config.threads()) as pool:
        for piece, part in zip(pieces, pool.map(lambda p: hashlib.sha256(p).digest(), pieces), strict=True):
            whole.update(part)
            if task is not None:
                task.advance(len(piece))
    return whole.hexdigest()

"""Big arrays: anonymous memory maps on huge pages, whose pages can be given back before the array dies.

Huge pages are worth 10-20 % on random access from 8 MB up; explicit maps make peak memory predictable, because they
return to the system at once, while a heap keeps what it was given.
"""

from __future__ import annotations

import mmap
import threading
import weakref
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from arcflux.errors import SpaceError

__all__ = ["borrow", "empty", "frozen", "give_back", "recycled", "release", "zeros"]

Array = NDArray[Any]

_BIG = 1 << 20


# Big arrays that were given back, the longest unused first, and how many bytes of them are kept at most.
_spare: list[Array] = []
_spare_lock = threading.RLock()  # a dying array may be noticed while it is held
_MOST_SPARE = 1 << 30


class _Block(mmap.mmap):
    """A memory map that is ours: pages of others, such as those of a file, are never given back."""


def empty(size: int, dtype: DTypeLike, *, huge: bool = True) -> Array:
    """A new one-dimensional array, its contents undefined (zero when it is big).

    `huge` asks for huge pages. An array that is written and read from front to back gains nothing by them, and on a
    virtual machine they are the pages that the host has to find first.

    Examples
    --------
    >>> empty(3, np.uint32).shape
    (3,)
    """
    kind = np.dtype(dtype)
    count = size * kind.itemsize
    try:
        if count < _BIG or not hasattr(mmap, "MAP_ANONYMOUS"):
            return np.empty(size, kind)
        block = _Block(-1, count, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, MemoryError, OverflowError, ValueError) as error:
        raise SpaceError(
            f"{size:,} values of {kind} need {count:,} bytes of memory, which the system does not give",
            remedy="a smaller graph, fewer columns, or a machine with more memory",
        ) from error
    if huge and hasattr(mmap, "MADV_HUGEPAGE"):
        block.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(block, kind, size)


def zeros(size: int, dtype: DTypeLike) -> Array:
    """A new one-dimensional array of zeros."""
    fresh = empty(size, dtype)
    if _block(fresh) is None:
        fresh.fill(0)
    return fresh


def borrow(size: int, dtype: DTypeLike) -> Array:
    """Like :func:`empty`, with contents undefined at any size: memory that was given back, if there is some that fits.

    The system hands out new memory page by page, which costs a short run as much as its work.
    """
    kind = np.dtype(dtype)
    count = size * kind.itemsize
    if count >= _BIG:
        with _spare_lock:
            fitting = [k for k, array in enumerate(_spare) if count <= array.nbytes <= 2 * count]
            if fitting:
                # A dying array may have moved the list since: whatever is at the place now has to fit.
                found = _spare.pop(min(fitting[-1], len(_spare) - 1))
                if found.nbytes >= count:
                    return found[:count].view(kind)
    return empty(size, kind)


def give_back(arrays: list[Array]) -> None:
    """Lend these arrays, which :func:`borrow` gave and nobody uses any more, to whoever borrows next."""
    blocks = {id(block): block for block in map(_block_below, arrays) if block is not None}
    for block in blocks.values():
        _keep_spare(block)


def _keep_spare(block: _Block) -> None:
    """Keep a block that nobody uses, and let the longest unused go when they are too many."""
    with _spare_lock:
        _spare.append(np.frombuffer(block, np.uint8))
        while _spare and sum(array.nbytes for array in _spare) > _MOST_SPARE:
            _spare.pop(0)


def recycled(size: int, dtype: DTypeLike, *, zero: bool = True) -> Array:
    """Zeros, or anything, for somebody who keeps them as long as he likes; given back when the array dies.

    Examples
    --------
    >>> recycled(3, np.float32).tolist()
    [0.0, 0.0, 0.0]
    """
    lent = borrow(size, dtype)
    if zero:
        lent.fill(0)
    block = _block_below(lent)
    if block is None:
        return lent
    fresh = np.frombuffer(block, lent.dtype, size)
    weakref.finalize(fresh, _keep_spare, block).atexit = False
    return fresh


def release(array: Array, start: int, stop: int) -> None:
    """Give the pages of ``array[start:stop]`` back to the system, if they are ours to give: they read as zero after.

    Only whole pages strictly inside the range go. Arrays that :func:`empty` did not make are left alone.
    """
    block = _block(array)
    if block is None or not hasattr(mmap, "MADV_DONTNEED"):
        return
    page = mmap.PAGESIZE
    first = -(-start * array.itemsize // page) * page
    last = stop * array.itemsize // page * page
    if last > first:
        block.madvise(mmap.MADV_DONTNEED, first, last - first)


def _block(array: Array) -> _Block | None:
    """The memory map that a whole array of :func:`empty` stands on; None for any other array."""
    block = _block_below(array)
    return block if block is not None and len(block) == array.nbytes else None


def _block_below(array: Array) -> _Block | None:
    """The memory map that an array of ours, or a view of one, stands on."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, memoryview):
        base = base.obj
    return base if isinstance(base, _Block) else None


def frozen(array: Array) -> Array:
    """A read-only, contiguous view of `array`. Kernels take their inputs frozen, so that one compilation serves all.

    Examples
    --------
    >>> frozen(np.arange(3)).flags.writeable
    False
    """
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view

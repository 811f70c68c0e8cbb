"""Large arrays: anonymous memory maps on huge pages, whose pages can be released before the array is deleted.

Huge pages gain 10-20 % on random access from 8 MB up; explicit maps make peak memory predictable, because they return
to the system at once, while a heap keeps what it was given.
"""

from __future__ import annotations

import mmap
import threading
import weakref
from contextlib import ContextDecorator, suppress
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from arcflux.errors import ArcfluxError, SpaceError
from arcflux.spmd.space import afford

__all__ = ["borrow", "empty", "free_reserve", "frozen", "give_back", "hold_reserve", "leave_pages", "mapped_file",
           "recycled", "release", "require", "within_memory", "zeros"]  # fmt: skip

Array = NDArray[Any]

_BIG = 1 << 20
_HUGE = 1 << 28
_REMEDY = "a smaller graph, fewer columns, or a machine with more memory"

# Released large arrays, the longest unused first, and the most bytes of them to retain.
_spare: list[Array] = []
_spare_lock = threading.RLock()  # a finalizer may run while it is held
_MOST_SPARE = 1 << 30


class _Block(mmap.mmap):
    """A memory map made here: pages of others, such as those of a file, are never released."""


def empty(size: int, dtype: DTypeLike, *, huge: bool = True) -> Array:
    """A new one-dimensional array, contents undefined (zero if it is large).

    `huge` asks for huge pages. An array that is written and read sequentially gains nothing by them, and on a virtual
    machine they are the pages that the host has to find first.

    Examples
    --------
    >>> empty(3, np.uint32).shape
    (3,)
    """
    kind = np.dtype(dtype)
    count = size * kind.itemsize
    if count >= _HUGE:  # the system overcommits, and kills the process that uses the memory
        afford(count, f"an array of {size:,} values of {kind}", _REMEDY)
    try:
        if count < _BIG or not hasattr(mmap, "MAP_ANONYMOUS"):
            return np.empty(size, kind)
        block = _mapped(count)
    except (OSError, MemoryError, OverflowError, ValueError) as error:
        raise SpaceError(
            f"{size:,} values of {kind} need {count:,} bytes of memory, which the system does not give",
            remedy=_REMEDY,
        ) from error
    if huge and hasattr(mmap, "MADV_HUGEPAGE"):
        block.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(block, kind, size)


def _mapped(count: int) -> _Block:
    """A new memory map; if the system has no memory left, spare arrays are freed first."""
    try:
        return _Block(-1, count, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError:
        if not _drop_spare():
            raise
        return _Block(-1, count, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def _drop_spare() -> bool:
    """Free all spare arrays; returns whether there were any."""
    with _spare_lock:
        had_spare = bool(_spare)
        _spare.clear()
    return had_spare


def zeros(size: int, dtype: DTypeLike) -> Array:
    """A new one-dimensional array of zeros."""
    fresh = empty(size, dtype)
    if _block(fresh) is None:
        fresh.fill(0)
    return fresh


def borrow(size: int, dtype: DTypeLike) -> Array:
    """Like :func:`empty`, contents undefined at any size: a spare array if one fits.

    The system provides new memory page by page, which costs a short run as much as its work.
    """
    kind = np.dtype(dtype)
    count = size * kind.itemsize
    if count >= _BIG:
        with _spare_lock:
            fitting = [k for k, array in enumerate(_spare) if count <= array.nbytes <= 2 * count]
            if fitting:
                # A finalizer may have changed the list since: whatever is at this position now has to fit.
                block = _spare.pop(min(fitting[-1], len(_spare) - 1))
                if block.nbytes >= count:
                    return block[:count].view(kind)
    return empty(size, kind)


def give_back(arrays: list[Array]) -> None:
    """Return these arrays of :func:`borrow`, which nothing uses any more, for later borrowing."""
    blocks = {id(block): block for block in map(_block_below, arrays) if block is not None}
    for block in blocks.values():
        _keep_spare(block)


def _keep_spare(block: _Block) -> None:
    """Retain an unused block, and free the longest unused ones beyond the limit."""
    with _spare_lock:
        _spare.append(np.frombuffer(block, np.uint8))
        while _spare and sum(array.nbytes for array in _spare) > _MOST_SPARE:
            _spare.pop(0)


def recycled(size: int, dtype: DTypeLike, *, zero: bool = True) -> Array:
    """An array of zeros (or undefined) without a time limit; its memory is reused after the array is deleted.

    Examples
    --------
    >>> recycled(3, np.float32).tolist()
    [0.0, 0.0, 0.0]
    """
    borrowed = borrow(size, dtype)
    if zero:
        borrowed.fill(0)
    block = _block_below(borrowed) if borrowed.nbytes >= _BIG else None
    if block is None:
        return borrowed
    fresh = np.frombuffer(block, borrowed.dtype, size)
    weakref.finalize(fresh, _keep_spare, block).atexit = False
    return fresh


def release(array: Array, start: int, stop: int) -> None:
    """Return the pages of ``array[start:stop]`` to the system, if this module made them; they read as zero afterwards.

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
    """The memory map of a whole array made by :func:`empty`; None for any other array."""
    block = _block_below(array)
    return block if block is not None and len(block) == array.nbytes else None


def _block_below(array: Array) -> _Block | None:
    """The memory map beneath an array of this module, or a view of one."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, memoryview):
        base = base.obj
    return base if isinstance(base, _Block) else None


def mapped_file(array: Array) -> mmap.mmap | None:
    """The memory map of the file beneath an array, or a view of one; None for arrays in memory.

    Examples
    --------
    >>> mapped_file(np.zeros(3)) is None
    True
    """
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return base if isinstance(base, mmap.mmap) and not isinstance(base, _Block) else None


def leave_pages(array: Array, start: int, stop: int) -> None:
    """Drop the pages of ``array[start:stop]`` from this process, if the array is a mapped file: they are read again
    when they are needed. Only whole pages inside the range are dropped.
    """
    block = mapped_file(array)
    if block is None or not hasattr(mmap, "MADV_DONTNEED"):
        return
    before = array.ctypes.data - np.frombuffer(block, np.uint8).ctypes.data
    page = mmap.PAGESIZE
    first, last = -(-(before + start * array.itemsize) // page) * page, (before + stop * array.itemsize) // page * page
    if last > first:
        block.madvise(mmap.MADV_DONTNEED, first, last - first)


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


# --- when memory runs out

# Address space that is reserved while kernels run: a worker that cannot allocate a few bytes frees it. A worker that
# could not even enter a kernel would leave the others waiting for it there.
_RESERVE = 8 << 20
_reserve: mmap.mmap | None = None


def hold_reserve() -> None:
    """Allocate the reserve, before work that must not fail for want of a few bytes."""
    global _reserve
    if _reserve is None:
        require(_RESERVE, "work on several threads")
        _reserve = _mapped(_RESERVE)


def free_reserve() -> bool:
    """Free the reserve and the spare arrays; returns whether there were any."""
    global _reserve
    reserve, _reserve = _reserve, None
    return _drop_spare() or reserve is not None


def require(count: int, purpose: str) -> None:
    """Refuse work that needs so many bytes if the system does not provide them now.

    For work that cannot be refused midway: the compiler ends the process, and a new thread may fail to start.
    """
    try:
        with suppress(BufferError):
            _mapped(count).close()
    except OSError as error:
        raise _short_of_memory(purpose) from error


class within_memory(ContextDecorator):
    """Raise a :class:`~arcflux.errors.SpaceError` that names the work, if memory runs out in the block.

    Examples
    --------
    >>> with within_memory("counting"):
    ...     raise MemoryError
    Traceback (most recent call last):
    ...
    arcflux.errors.SpaceError: there is not enough memory for counting
      try: a smaller graph, fewer threads or parts, or a machine with more memory
    """

    def __init__(self, doing: str) -> None:
        self.doing = doing

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, Exception) and not isinstance(error, ArcfluxError) and _is_of_memory(error):
            _drop_spare()
            raise _short_of_memory(self.doing) from error


def _short_of_memory(doing: str) -> SpaceError:
    return SpaceError(
        f"there is not enough memory for {doing}",
        remedy="a smaller graph, fewer threads or parts, or a machine with more memory",
    )


# Messages of libraries that have no exception for it: threads, shared objects, LLVM.
_SAID = ("can't start new thread", "failed to map segment", "cannot allocate memory", "out of memory", "memoryerror",
         "unable to allocate", "returned null without setting an exception")  # fmt: skip


def _is_of_memory(error: BaseException | None) -> bool:
    """Whether an error, or one of its causes, means that memory ran out."""
    for _ in range(16):
        if error is None:
            return False
        if isinstance(error, MemoryError) or any(said in str(error).lower() for said in _SAID):
            return True
        error = error.__cause__ or error.__context__
    return False

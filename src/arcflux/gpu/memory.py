"""Arrays on one GPU: errors say what does not fit, in bytes, and nothing stays allocated when a kernel fails.

Numba frees an array with the last reference to it; the traceback of an error refers to all locals of its functions. So
work on a GPU runs within a :class:`Memory`, which tracks the arrays that are created meanwhile, by weak references, and
frees the remaining ones at its end, whatever happened.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from arcflux.errors import ArcfluxError, DeviceError, SpaceError
from arcflux.gpu import api
from arcflux.trace import readable

__all__ = ["Memory", "no_room", "told_well"]

_OUT_OF_MEMORY, _BUSY, _SAME_PROCESS = 2, 46, 216
# After one of these errors a context is unusable: illegal address, launch failures, traps, ECC errors.
_BROKEN = frozenset({214, 700, 702, 714, 715, 716, 717, 718, 719})
_LOOK = "look at what nvidia-smi says, and at the kernel's log"
_REMEDY = (
    "a smaller budget, so that edges stream (Cuda(0, memory=...), ARCFLUX_GPU_MEMORY); more GPUs, so that each has a"
    " smaller part; smaller values, such as float32 fields; or end what else runs on the GPU"
)


class Memory:
    """The arrays of one piece of work on a GPU.

    Parameters
    ----------
    name
        The GPU's name in messages.
    budget
        The most bytes that arrays may take together; by default, all that there are.

    Examples
    --------
    >>> with Memory("cuda:0", 1 << 20) as memory:  # doctest: +SKIP
    ...     rows = memory.copy(np.arange(10), "rows")
    ...     sums = memory.empty(10, np.float64, "sums")
    >>> memory.held  # doctest: +SKIP
    0
    """

    def __init__(self, name: str, budget: int | None = None) -> None:
        self.name, self.budget = name, budget
        self.held = 0
        self._arrays: dict[int, weakref.ref[Any]] = {}
        self._opened: list[Any] = []

    def empty(self, shape: int | tuple[int, ...], dtype: DTypeLike, what: str = "an array") -> Any:
        """A new array for `what`, contents undefined."""
        whole = tuple(shape) if isinstance(shape, tuple) else (operator.index(shape),)
        nbytes = int(np.prod(whole, dtype=np.int64)) * np.dtype(dtype).itemsize
        return self._made(nbytes, what, lambda: api.cuda().device_array(whole, dtype))

    def copy(self, array: NDArray[Any], what: str = "an array", on: Any = 0) -> Any:
        """A copy of an array of the node's memory; with a stream, the copy may still be in progress."""
        return self._made(array.nbytes, what, lambda: api.cuda().to_device(array, stream=on))

    def opened(self, mapping: Any) -> None:
        """Register a mapping of the node's memory, to be closed at the end."""
        self._opened.append(mapping)

    def close(self) -> None:
        """Free all arrays; also those of a GPU that no longer responds, where nothing is left to free."""
        for reference in list(self._arrays.values()):
            if (array := reference()) is not None:
                with suppress(Exception):
                    _free(array)
        for mapping in self._opened:
            with suppress(Exception):
                mapping.__exit__(None, None, None)
        self._arrays.clear()
        self._opened.clear()
        self.held = 0

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _made(self, nbytes: int, what: str, make: Callable[[], Any]) -> Any:
        if self.budget is not None and self.held + nbytes > self.budget:
            raise no_room(self.name, what, nbytes, self.budget - self.held, self.budget)
        with told_well(self.name, what, nbytes):
            array = make()
        key = id(array)

        def gone(found: weakref.ref[Any]) -> None:
            if self._arrays.get(key) is found:
                del self._arrays[key]
                self.held -= nbytes

        self._arrays[key] = weakref.ref(array, gone)
        self.held += nbytes
        return array


def no_room(name: str, what: str, nbytes: int, left: int, budget: int) -> SpaceError:
    """The error if a GPU has no room: bytes, and what helps."""
    return SpaceError(
        f"{name} has no room for {what}: {nbytes:,} bytes are needed ({readable(nbytes)}), and {left:,} of the"
        f" {budget:,} that it may use are left ({readable(left)})",
        remedy=_REMEDY,
    )


@contextmanager
def told_well(name: str, what: str, nbytes: int | None = None) -> Iterator[None]:
    """Convert the driver's errors in the block to Arcflux's: which GPU, for what, how many bytes, what to do.

    `what`: the purpose; `nbytes`: how many bytes of the GPU it needs, if known.
    """
    try:
        yield
    except ArcfluxError:
        raise
    except Exception as error:
        code = _code(error)
        if code is None:
            raise
        raise _explained(name, what, nbytes, code, error) from error


def _code(error: Exception) -> int | None:
    """The driver's error code, if this is an error of the driver."""
    code = getattr(error, "code", None)
    if type(error).__name__ != "CudaAPIError" or code is None:
        return None
    return int(code)


def _explained(name: str, what: str, nbytes: int | None, code: int, error: Exception) -> ArcfluxError:
    if code == _OUT_OF_MEMORY:
        left = _left()
        wanted = "" if nbytes is None else f" {nbytes:,} bytes are needed ({readable(nbytes)}), and"
        there = "others may hold it" if left is None else f"{left:,} are free ({readable(left)})"
        return SpaceError(f"{name} is out of memory for {what}:{wanted} {there}", remedy=_REMEDY)
    if code in (_BUSY, _SAME_PROCESS):
        return DeviceError(
            f"{name} is busy: another process has it for itself",
            expected="a GPU that is free, or one that processes may share",
            remedy="wait for the other process (nvidia-smi shows it), take another GPU (devices='cuda:1'),"
            " or let processes share it: nvidia-smi -c DEFAULT",
        )
    message = getattr(error, "msg", str(error))
    if code in _BROKEN:
        return DeviceError(
            f"{name} failed in {what}: {message}; it cannot be used again in this process",
            remedy="run again, with debug=True to see whether the program does it on one core, too; " + _LOOK,
        )
    return DeviceError(f"{name} failed in {what}: {message}", remedy=_LOOK)


def _left() -> int | None:
    """Free bytes of the current GPU; None if unknown."""
    try:
        return int(api.cuda().current_context().get_memory_info().free)
    except Exception:
        return None


def _free(array: Any) -> None:
    """Free the memory of an array now, even if it is still referenced; the simulator has none to free."""
    pointer = getattr(array, "gpu_data", None)
    if pointer is not None:
        pointer.free()
        api.cuda().current_context().deallocations.clear()

"""The only interface to numba.cuda: everything used of it is imported here, on demand.

Two more files belong to it: simulator.py, and pipeline.py with the compiler as our kernels need it.

With ``NUMBA_ENABLE_CUDASIM=1`` in the environment before Numba is loaded, everything here is the simulator: one device,
kernels run by Python, lane by lane (simulator.py), with the warp operations that Numba's own lacks.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.errors import MissingExtraError
from arcflux.gpu.pages import lockable

__all__ = [
    "architecture", "array_type", "cuda", "dispatching", "empty", "event", "extending", "kept", "launch", "mapped",
    "number_type", "pinned", "simulated", "stream", "synchronize", "to_device", "within",
]  # fmt: skip

Array = NDArray[Any]

# The simulator runs one kernel at a time, whichever of this process's ranks launches it.
_one_at_a_time = threading.Lock()


@lru_cache
def cuda() -> Any:
    """The module ``numba.cuda``; in the simulator, with the missing operations added."""
    import numba

    if not numba.config.ENABLE_CUDASIM and importlib.util.find_spec("numba_cuda") is None:
        raise MissingExtraError("numba-cuda", "cuda", "running on a GPU")
    from numba import cuda as module

    if numba.config.ENABLE_CUDASIM:
        from arcflux.gpu import simulator

        simulator.install()
    else:
        from arcflux.gpu import pipeline

        pipeline.install()
    return module


def simulated() -> bool:
    """Whether kernels run in the simulator: ``NUMBA_ENABLE_CUDASIM=1`` was set when Numba was, or will be, loaded."""
    numba = sys.modules.get("numba")
    if numba is None:
        return os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")
    return bool(numba.config.ENABLE_CUDASIM)


def architecture() -> int:
    """The architecture of the current device, such as 80; 0 where there is none, as when code is only compiled."""
    try:
        major, minor = cuda().get_current_device().compute_capability
    except Exception:  # whatever a missing driver raises
        return 0
    return 10 * int(major) + int(minor)


# --- memory

# For each thread: the Memory (gpu/memory.py) that tracks its new arrays, so that none stays when work fails.
_told = threading.local()


@contextmanager
def within(memory: Any) -> Iterator[None]:
    """Arrays that this thread allocates inside are tracked by `memory`, which frees the rest at its end."""
    before = getattr(_told, "memory", None)
    _told.memory = memory
    try:
        with memory:
            yield
    finally:
        _told.memory = before


def to_device(array: Array, on: Any = 0) -> Any:
    """A copy of an array in the device's memory."""
    memory, array = getattr(_told, "memory", None), np.ascontiguousarray(array)
    return cuda().to_device(array, stream=on) if memory is None else memory.copy(array, on=on)


def empty(shape: Any, dtype: Any) -> Any:
    """Device memory, contents undefined."""
    memory = getattr(_told, "memory", None)
    return cuda().device_array(shape, dtype) if memory is None else memory.empty(shape, dtype)


def mapped(array: Array) -> tuple[Any, Any]:
    """A host array as the device sees it, without a copy; and the mapping to close afterwards.

    Its pages are locked and mapped (zero-copy memory), so kernels of this device and other workers of the node read and
    write the same memory.
    """
    module = cuda()
    if simulated():
        from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray

        return FakeCUDAArray(array), None
    opened = module.mapped(lockable(array))
    found = opened.__enter__()
    if getattr(_told, "memory", None) is not None:
        _told.memory.opened(opened)
    return found, opened


def pinned(shape: Any, dtype: Any) -> Array:
    """Host memory that the device copies to and from at full speed."""
    array: Array = cuda().pinned_array(shape, dtype)
    return array


def stream() -> Any:
    """A stream of its own on the device."""
    return cuda().stream()


def event() -> Any:
    """An event in a stream, for others to wait for."""
    return cuda().event() if simulated() else cuda().event(timing=False)


# --- kernels


def launch(kernel: Any, blocks: int, threads: int, *arguments: Any, on: Any = 0) -> None:
    """Run a kernel on this many blocks of this many threads."""
    if not simulated():
        kernel[blocks, threads, on](*arguments)
        return
    with _one_at_a_time:
        kernel[blocks, threads](*arguments)


def kept(kernel: Any) -> Any:
    """The kernel, with its machine code cached like that for cores: owner-only, and stamped by its sources.

    As there, a note says when it has to be compiled, and an incomplete file counts as missing.
    """
    from numba.cuda.dispatcher import CUDACache, CUDACacheImpl

    from arcflux.spmd.jit import Careful, Locator

    class _Locator(Locator):
        borrows = ("gpu",)

    class _CacheImpl(CUDACacheImpl):  # type: ignore[misc]
        _locator_classes = [_Locator]  # noqa: RUF012 - Numba's own attribute

    class _Cache(Careful, CUDACache):  # type: ignore[misc]
        _impl_class = _CacheImpl

    kernel._cache = _Cache(kernel.py_func)
    return kernel


def synchronize() -> None:
    """Wait until all launched work is done; its errors are raised here."""
    cuda().synchronize()


def extending() -> SimpleNamespace:
    """What is needed to add an operation to the compiler for GPUs: types, models, templates, builders."""
    cuda()
    from numba.cuda import cgutils, types
    from numba.cuda.datamodel import models
    from numba.cuda.extending import _intrinsic, lower_builtin, register_model
    from numba.cuda.typing.templates import AbstractTemplate, infer_global, signature

    def intrinsic(function: Any = None, **options: Any) -> Any:
        made = _intrinsic(target="cuda", **options)
        return made if function is None else made(function)

    return SimpleNamespace(
        cgutils=cgutils, types=types, models=models, intrinsic=intrinsic, lower_builtin=lower_builtin,
        register_model=register_model, AbstractTemplate=AbstractTemplate, infer_global=infer_global,
        signature=signature,
    )  # fmt: skip


def array_type(dtype: np.dtype[Any], dimensions: int) -> Any:
    """The compiler's type of a device array."""
    from numba import from_dtype, types

    return types.Array(from_dtype(dtype), dimensions, "C")


def number_type(dtype: np.dtype[Any]) -> Any:
    """The compiler's type of a number."""
    from numba import from_dtype

    return from_dtype(dtype)


def dispatching() -> Any:
    """The module that queries the current device when it compiles."""
    cuda()
    from numba.cuda import dispatcher

    return dispatcher

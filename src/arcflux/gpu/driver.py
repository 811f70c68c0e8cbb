"""What the CUDA driver reports: its version and its GPUs; or, in one sentence, why there is none.

This calls the driver's library directly, without Numba and without creating a context: it works if the extra is not
installed, takes no memory of any GPU, and has its own words for errors. In Numba's simulator there are as many GPUs as
``ARCFLUX_SIMULATED_GPUS`` says, by default one.
"""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from arcflux.errors import DeviceError, UsageError
from arcflux.gpu.api import simulated

__all__ = ["Gpu", "driver_version", "found", "needed_version", "unavailable"]

_LIBRARIES = ("libcuda.so.1", "libcuda.so")
# Constants of the driver's interface (cuda.h), which never change.
_NAME_BYTES = 256
_MULTIPROCESSORS, _COMPUTE_MODE, _MAJOR, _MINOR = 16, 20, 75, 76
_MODES = {0: "shared", 2: "prohibited", 3: "exclusive"}
_NO_DEVICE, _STUB, _MISMATCH, _NOT_READY, _NOT_ON_DEVICE = 100, 34, 803, 802, 804
# The oldest GPUs that CUDA 13 compiles for.
_OLDEST = (7, 5)
_SIMULATED_BYTES = 1 << 30
_LOOK = "look at what nvidia-smi says, and at the kernel's log"


@dataclass(frozen=True)
class Gpu:
    """A GPU as its driver describes it; `mode` is "shared", "exclusive" or "prohibited": which processes may use it."""

    index: int
    name: str
    capability: tuple[int, int]
    memory: int
    multiprocessors: int
    mode: str = "shared"

    @property
    def architecture(self) -> str:
        """The compilers' name of its architecture.

        Examples
        --------
        >>> Gpu(0, "A100", (8, 0), 80 << 30, 108).architecture
        'sm_80'
        """
        return f"sm_{self.capability[0]}{self.capability[1]}"

    def facts(self) -> dict[str, Any]:
        """All fields, ready for JSON."""
        return {**asdict(self), "capability": list(self.capability), "architecture": self.architecture}


def found() -> list[Gpu]:
    """The GPUs of this machine; raises :class:`~arcflux.errors.DeviceError` if there is none that could be used."""
    if simulated():
        return [Gpu(index, "simulator", (5, 2), _SIMULATED_BYTES, 1) for index in range(_simulated_gpus())]
    library = _started(_library())
    there, needed = _version(library), needed_version()
    if there < needed:
        raise DeviceError(
            f"the CUDA driver is too old: it knows CUDA {_dotted(there)}",
            expected=f"a driver that knows CUDA {_dotted(needed)}, for which kernels are compiled",
            remedy="update the driver of the GPU (https://www.nvidia.com/drivers)",
        )
    count = ctypes.c_int()
    _check(library.cuDeviceGetCount(ctypes.byref(count)), "counting GPUs")
    if not count.value:
        raise _none_there()
    return [_described(library, index) for index in range(count.value)]


def unavailable() -> DeviceError | None:
    """Why no GPU can be used; None if one can."""
    try:
        found()
    except DeviceError as error:
        return error
    return None


def driver_version() -> tuple[int, int] | None:
    """The newest CUDA that the driver supports; None without a driver."""
    try:
        return _version(_library())
    except DeviceError:
        return None


def needed_version() -> tuple[int, int]:
    """The CUDA that kernels are compiled for: that of the installed compiler; 12.0 if only an older one is."""
    from importlib import metadata

    try:
        return int(metadata.version("nvidia-nvvm").partition(".")[0]), 0
    except metadata.PackageNotFoundError:
        return 12, 0


def _library() -> Any:
    """The library of the driver."""
    for name in _LIBRARIES:
        with suppress(OSError):
            return ctypes.CDLL(name)
    raise DeviceError(
        "there is no CUDA driver on this machine",
        expected="the library libcuda.so.1, which comes with the driver of an NVIDIA GPU",
        remedy="install the driver; in a container, start it with the GPU (docker run --gpus all);"
        " or run on cores: devices='auto' does when there is no GPU",
    )


def _started(library: Any) -> Any:
    code = library.cuInit(0)
    if code == _NO_DEVICE:
        raise _none_there()
    if code in (_STUB, _MISMATCH, _NOT_ON_DEVICE):
        raise DeviceError(
            f"the CUDA driver does not fit: {_named(code)}",
            expected="a library libcuda.so.1 that belongs to the driver in the kernel",
            remedy="restart the machine after an update of the driver; take stubs and compat folders out of"
            " LD_LIBRARY_PATH",
        )
    if code == _NOT_READY:
        raise DeviceError(
            f"the GPUs are not ready: {_named(code)}", remedy="start the fabric manager of the machine, or wait for it"
        )
    _check(code, "starting the driver")
    return library


def _none_there() -> DeviceError:
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES")
    return DeviceError(
        "there is a CUDA driver, and no GPU" + (f" (CUDA_VISIBLE_DEVICES is {hidden!r})" if hidden is not None else ""),
        expected="a GPU that this process may see",
        remedy="unset CUDA_VISIBLE_DEVICES" if hidden is not None else "look at what nvidia-smi says",
    )


def _version(library: Any) -> tuple[int, int]:
    number = ctypes.c_int()
    _check(library.cuDriverGetVersion(ctypes.byref(number)), "asking for the driver's version")
    return number.value // 1000, number.value % 1000 // 10


def _described(library: Any, index: int) -> Gpu:
    handle, name, memory = ctypes.c_int(), ctypes.create_string_buffer(_NAME_BYTES), ctypes.c_size_t()
    asking = f"asking GPU {index}"
    _check(library.cuDeviceGet(ctypes.byref(handle), index), asking)
    _check(library.cuDeviceGetName(name, _NAME_BYTES, handle), asking)
    _check(library.cuDeviceTotalMem_v2(ctypes.byref(memory), handle), asking)

    def attribute(number: int) -> int:
        value = ctypes.c_int()
        _check(library.cuDeviceGetAttribute(ctypes.byref(value), number, handle), asking)
        return value.value

    capability = attribute(_MAJOR), attribute(_MINOR)
    mode = _MODES.get(attribute(_COMPUTE_MODE), "shared")
    return Gpu(index, name.value.decode(), capability, memory.value, attribute(_MULTIPROCESSORS), mode)


def too_old(gpu: Gpu) -> DeviceError | None:
    """Why kernels cannot be compiled for a GPU; None if they can."""
    if simulated() or gpu.capability >= _OLDEST:
        return None
    return DeviceError(
        f"cuda:{gpu.index} ({gpu.name}) is too old: its compute capability is {_dotted(gpu.capability)}",
        expected=f"{_dotted(_OLDEST)} or newer, for which CUDA 13 compiles",
        remedy="another GPU, or run on cores",
    )


def _check(code: int, doing: str) -> None:
    if code:
        raise DeviceError(f"{doing} failed: {_named(code)}", remedy=_LOOK)


def _named(code: int) -> str:
    """A code of the driver with its name, if the driver is there to look it up."""
    text = ctypes.c_char_p()
    with suppress(DeviceError, AttributeError):
        _library().cuGetErrorName(code, ctypes.byref(text))
    return f"{text.value.decode()} ({code})" if text.value else f"code {code}"


def _simulated_gpus() -> int:
    count = os.environ.get("ARCFLUX_SIMULATED_GPUS") or "1"
    if not count.isdecimal() or not 1 <= int(count) <= 64:
        raise UsageError(f"ARCFLUX_SIMULATED_GPUS is {count!r}", expected="a whole number from 1 to 64")
    return int(count)


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"

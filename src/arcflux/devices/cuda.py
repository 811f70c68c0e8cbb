"""A GPU, by its number."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from arcflux import config
from arcflux.devices.base import Device
from arcflux.errors import DeviceError, UsageError
from arcflux.gpu import api, driver
from arcflux.gpu.launch import Shapes, way
from arcflux.gpu.memory import Memory, told_well

__all__ = ["Cuda"]

# The share of free memory to use: launches, compiled code and the driver need some, too.
_SHARE = 0.9
# PCIe 4 with 16 lanes, by published measurements; the placement assumes it until the link is measured.
_BANDWIDTH = 24e9


class Cuda(Device):
    """The GPU with this number, as nvidia-smi counts those that the process may see.

    Parameters
    ----------
    index
        Its number, from 0 on.
    memory
        The most bytes of its memory that a run may take; by default ``ARCFLUX_GPU_MEMORY``, else nine tenths of what
        is free. Edges that do not fit stream through it.
    shapes
        How many threads and blocks kernels get, and which vertices a thread, a warp or a block processes; by default
        chosen by the degrees of the part and the size of the GPU.
    load
        If other workers take part, how their messages are loaded to the GPU: "kernel", fetched by a kernel; "cores",
        gathered by cores and sent in pieces; "auto", the first to pull and the second to push. By default
        ``ARCFLUX_GPU_LOAD``, else "auto".

    Any obstacle (no driver, no such GPU, a driver that is too old, the extra not installed, a GPU that another process
    uses exclusively) is an error that says what to do. Creating a `Cuda` opens the GPU: it takes some of its memory,
    and half a second if it is the first of the process.

    Examples
    --------
    >>> import arcflux as af
    >>> gpu = af.devices.Cuda(0, memory=4 << 30)  # doctest: +SKIP
    >>> gpu.capability  # doctest: +SKIP
    (8, 0)
    """

    def __init__(
        self, index: int = 0, memory: int | None = None, shapes: Shapes | None = None, load: str | None = None
    ) -> None:
        if isinstance(index, bool) or not isinstance(index, int) or index < 0:
            raise UsageError(f"index of a GPU is {index!r}", expected="a whole number from 0 on")
        if shapes is not None and not isinstance(shapes, Shapes):
            raise UsageError(f"shapes of a GPU is {shapes!r}", expected="af.devices.Shapes(threads=256, ...)")
        self.shapes, self.load = shapes, way(load)
        api.cuda()  # first check that the extra is installed
        there = driver.found()
        if index >= len(there):
            raise DeviceError(
                f"there is no GPU {index}",
                expected=f"a number from 0 to {len(there) - 1}" if len(there) > 1 else "0, the only one here",
                remedy="arcflux doctor --gpu lists them",
            )
        self.gpu = there[index]
        if (error := driver.too_old(self.gpu)) is not None:
            raise error
        if self.gpu.mode == "prohibited":
            raise DeviceError(
                f"cuda:{index} ({self.gpu.name}) is closed: its compute mode lets no process use it",
                remedy="another GPU (devices='cuda:1'), or nvidia-smi -c DEFAULT",
            )
        self.index, self.name, self.capability = index, f"cuda:{index}", self.gpu.capability
        self.total = self.gpu.memory
        super().__init__(self.name, 1, self._budget(memory), bandwidth=_BANDWIDTH)
        self.kind = "cuda"

    def _budget(self, asked: int | None) -> int:
        """The most bytes that a run may take."""
        limit = config.gpu_memory() if asked is None else asked
        with told_well(self.name, "its work"), self._selected():
            free = self.free()
        budget = int(_SHARE * free) if limit is None else limit
        if isinstance(budget, bool) or not isinstance(budget, int) or budget <= 0:
            raise UsageError(f"memory of cuda:{self.index} is {budget!r}", expected="a number of bytes above 0")
        if budget > free:
            raise DeviceError(
                f"cuda:{self.index} cannot give {budget:,} bytes: {free:,} of its {self.total:,} are free",
                remedy="a smaller memory=, or end what else runs on it (nvidia-smi shows it)",
            )
        return budget

    @contextmanager
    def active(self) -> Iterator[None]:
        """Everything this thread does inside runs on this GPU; errors are converted, and no array stays."""
        with super().active(), told_well(self.name, "its work"), self._selected(), api.within(Memory(self.name)):
            yield

    @contextmanager
    def _selected(self) -> Iterator[None]:
        if api.simulated():
            yield
        else:
            with api.cuda().gpus[self.index]:
                yield

    def free(self) -> int:
        """Free bytes of its memory; the device must be active."""
        if api.simulated():
            return self.total
        return int(api.cuda().current_context().get_memory_info().free)

    def calls(self, state: Any, cores: Any, linked: bool) -> Any:
        """Runs the kernels of a part on this GPU; a few without a GPU version run on `cores`."""
        from arcflux.gpu.executor import OnGpu

        return OnGpu(state, self, cores, linked)

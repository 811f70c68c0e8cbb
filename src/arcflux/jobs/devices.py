"""Devices that jobs share: each job has its share of their memory, and takes turns on their engine and their link.

A job has devices of its own, with the memory that it was assigned. The engine of a virtual device runs one kernel at a
time, and so does its link, but both work at once: while one job's bytes are transferred, another's kernel runs. On a
GPU every run has its own stream, and the GPU decides which kernels and copies run at once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from arcflux.devices.base import Device, Timing
from arcflux.devices.virtual import Virtual
from arcflux.errors import UsageError
from arcflux.graph import Graph
from arcflux.jobs.memory import Buffer
from arcflux.plan.work import Work

__all__ = ["SharedDevice", "SharedGpu", "shared_devices", "state_of"]

_ROOM = 1 << 16
# Copies of vertex values that a run has: from before and after a superstep.
_TWICE = 2


class _Turn:
    """A fair lock: granted in the order of requests; it also counts the seconds it was held."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._next = self._now = 0
        self.busy = 0.0

    @contextmanager
    def held(self) -> Iterator[None]:
        with self._condition:
            mine, self._next = self._next, self._next + 1
            while self._now != mine:
                self._condition.wait()
        begun = time.perf_counter()
        try:
            yield
        finally:
            with self._condition:
                self.busy += time.perf_counter() - begun
                self._now += 1
                self._condition.notify_all()


class SharedDevice:
    """A virtual device that jobs share: its engine and its link."""

    def __init__(self, device: Virtual) -> None:
        self.device, self.engine, self.link = device, _Turn(), _Turn()

    def share(self, memory: int | None) -> Device:
        """A device for one job, with this many bytes of this one."""
        return _Share(self, memory)


class SharedGpu:
    """A GPU that jobs share: its memory is divided; the GPU schedules their streams itself."""

    def __init__(self, device: Any) -> None:
        self.device = device

    def share(self, memory: int | None) -> Device:
        """The same GPU for one job, with this many bytes of it."""
        device: Device = type(self.device)(self.device.index, memory, self.device.shapes, self.device.load)
        return device


class _Share(Virtual):
    """A shared device as one job sees it."""

    def __init__(self, shared: SharedDevice, memory: int | None) -> None:
        whole = shared.device
        super().__init__(whole.slowdown, memory, whole.bandwidth, whole.name, whole.clock)
        self._shared = shared

    @contextmanager
    def timed(self) -> Iterator[Timing]:
        """Compute while no other job does."""
        with self._shared.engine.held(), super().timed() as took:
            yield took

    def transfer(self, nbytes: int) -> float:
        """Cross the link while no other job does."""
        with self._shared.link.held():
            self._shared.device.transferred += nbytes
            return super().transfer(nbytes)


def shared_devices(devices: Sequence[Device]) -> list[SharedDevice | SharedGpu]:
    """The devices of :class:`arcflux.Jobs`, if jobs can share them."""
    shared: list[SharedDevice | SharedGpu] = []
    for device in devices:
        if isinstance(device, Virtual):
            shared.append(SharedDevice(device))
        elif getattr(device, "kind", "") == "cuda":
            shared.append(SharedGpu(device))
        else:
            raise UsageError(
                f"jobs on {getattr(device, 'name', device)}",
                expected="GPUs, or virtual devices: af.devices.Cuda(0), af.devices.Virtual(...)",
                remedy="leave devices= out for cores",
            )
    return shared


def state_of(graph: Graph, work: Work, device: Device, count: int) -> Buffer:
    """The memory that a job needs on one of `count` devices: a part's edges and all vertices twice; or all."""
    edges = int(graph.arcs * (work.arc_bytes + 4) / count * 1.25)
    needed = edges + int(_TWICE * (work.state + work.value + 8) * graph.vertices) + _ROOM
    return Buffer("job", needed if device.memory is None else min(needed, device.memory), load=False)

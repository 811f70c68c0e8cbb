"""Devices that jobs share: each job has its share of their memory, and takes turns on what computes and on the link.

A job sees devices of its own, as large as the memory that was given to it. What computes does one kernel at a time,
and so does the link, but both work at once: while one job's bytes cross, another's kernel runs.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from arcflux.devices.base import Device, Timing
from arcflux.devices.virtual import Virtual
from arcflux.errors import UsageError
from arcflux.graph import Graph
from arcflux.jobs.memory import Buffer
from arcflux.plan.work import Work

__all__ = ["SharedDevice", "shared_devices", "state_of"]

_ROOM = 1 << 16
# Bytes of vertices that a run keeps twice: before and after a superstep.
_TWICE = 2


class _Turn:
    """A lock that is given in the order in which it is asked for, and counts the seconds it was held."""

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
    """A virtual device that jobs share: what computes, and its link."""

    def __init__(self, device: Virtual) -> None:
        self.device, self.engine, self.link = device, _Turn(), _Turn()

    def share(self, memory: int | None) -> Device:
        """A device of one job's own, with so many bytes of this one."""
        return _Share(self, memory)


class _Share(Virtual):
    """What a job sees of a shared device."""

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


def shared_devices(devices: Sequence[Device]) -> list[SharedDevice]:
    """The devices of :class:`arcflux.Jobs`, if jobs can share them."""
    found = []
    for device in devices:
        if not isinstance(device, Virtual):
            raise UsageError(
                f"jobs on {getattr(device, 'name', device)}", expected="virtual devices: af.devices.Virtual(...)",
                remedy="leave devices= out for cores; GPUs take one job at a time, by af.run(..., devices='cuda')",
            )  # fmt: skip
        found.append(SharedDevice(device))
    return found


def state_of(graph: Graph, work: Work, device: Device, count: int) -> Buffer:
    """The memory a job wants of one of `count` devices: a part's edges, and all vertices twice; or all there is."""
    edges = int(graph.arcs * (work.arc_bytes + 4) / count * 1.25)
    wanted = edges + int(_TWICE * (work.state + work.value + 8) * graph.vertices) + _ROOM
    return Buffer("job", wanted if device.memory is None else min(wanted, device.memory), load=False)

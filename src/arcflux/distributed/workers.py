"""The devices that share a piece of work, each a rank with the whole graph: who they are, and what each may ask.

Devices of this process are ranks that are threads, those of an MPI job its ranks. How large their shares are says
shares.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from arcflux import trace
from arcflux.devices import Device, Virtual
from arcflux.distributed.cores import Cores
from arcflux.engine.shares import Shares, weight
from arcflux.engine.spread import USUAL, Spread
from arcflux.errors import UsageError
from arcflux.gpu.room import Room, working
from arcflux.partition.parts import Parts
from arcflux.transports.base import Transport
from arcflux.transports.local import run_local

__all__ = ["Gpus", "Worker", "on_gpus"]

Array = NDArray[Any]
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Worker:
    """A rank, where it works, its share, and which of the ranks is the first with a GPU."""

    transport: Transport
    room: Room | Cores
    shares: Shares
    first_gpu: int
    mixed: bool

    @property
    def size(self) -> int:
        """How many ranks there are."""
        return self.transport.size

    def mine(self, total: int) -> tuple[int, int]:
        """From where to before where of so much work this rank takes."""
        return self.shares.mine(total)

    def summed(self, values: Array) -> Array:
        """The sum of what all ranks have."""
        return values if self.size == 1 else self.transport.reduce(values, "sum")

    def gathered(self, values: Array) -> Array:
        """What all ranks have, one after the other."""
        return values if self.size == 1 else np.concatenate(self.transport.gather(values))

    @contextmanager
    def task(self, name: str, total: int, unit: str) -> Iterator[Callable[[int], None]]:
        """Tell whoever listens how far the work is; the first rank speaks for all."""
        if self.transport.rank:
            yield lambda done: None
            return
        with trace.task(name, total, unit) as task:
            yield task.at


@dataclass
class Gpus:
    """The devices of a run; `seconds` and `compiled` are what the last piece of work took, without and of compiling."""

    spread: Spread
    devices: Sequence[Device]
    seconds: float = 0.0
    compiled: float = 0.0

    def run(self, work: Callable[[Worker], Answer]) -> Answer:
        """What ``work(worker)`` gives on every device, each in its own room."""

        def rank(transport: Transport) -> tuple[Answer, float]:
            device = self.devices[transport.rank]
            told = np.concatenate(transport.gather(np.array([weight(device), device.buckets]))).reshape(-1, 2)
            shares, on_cores = Shares(told[:, 0].tolist(), transport.rank), told[:, 1] > 0
            shown = shares, int(np.argmin(on_cores)), bool(on_cores.any())
            if device.buckets:
                with device.active():
                    beside = Cores(device.threads, transport.check)
                    return work(Worker(transport, beside, *shown)), beside.compiled
            with working(device, transport.check) as room:
                return work(Worker(transport, room, *shown)), room.compiled

        begun = time.perf_counter()
        ranks = self.spread.ranks()
        found = rank(ranks) if ranks is not None else run_local(len(self.devices), rank)[0]
        self.compiled = found[1]
        self.seconds = time.perf_counter() - begun - self.compiled
        return found[0]


def on_gpus(
    devices: str | Sequence[Device] | None, parts: int | Parts | None, partition: str, transport: str | None,
    ranks_per_node: int | None, threads: int | None,
) -> Gpus | None:  # fmt: skip
    """The GPUs, with cores beside them or not, that an algorithm which is no vertex program is to run on.

    None when cores do it alone. Names are those of :func:`arcflux.run`.
    """
    if devices is None:
        return None
    spread = Spread(parts, partition, "auto", transport, ranks_per_node).checked().on(devices, threads)
    if spread.devices is None:
        return None
    if any(isinstance(device, Virtual) for device in spread.devices) or all(d.buckets for d in spread.devices):
        raise UsageError(
            f"devices are {', '.join(device.name for device in spread.devices)}, and this is no vertex program",
            expected="GPUs, or GPUs and cores, or cores alone",
            remedy="devices='cuda' or 'cpu+cuda', or leave devices= away",
        )
    if (ranks := spread.ranks()) is not None and ranks.size != len(spread.devices):
        said = f"there are {ranks.size} ranks and {len(spread.devices)} devices"
        raise UsageError(said, expected="one for each rank", remedy="devices='cuda'")
    k = parts.k if isinstance(parts, Parts) else parts
    if k not in (None, len(spread.devices)):
        raise UsageError(f"there are {k} parts and {len(spread.devices)} devices", expected="one for each part")
    how = parts.how if isinstance(parts, Parts) else partition
    if how not in (*USUAL, "duplicate"):
        raise UsageError(
            f"partition is {how!r}, and each device has the whole graph", expected="'duplicate'", remedy="leave it away"
        )
    return Gpus(spread, spread.devices)

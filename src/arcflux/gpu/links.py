"""Transfers from the memory of one rank's GPU to that of another's: the best way that all ranks have.

- ``mpi``: MPI accepts device memory (it was built with CUDA), over NVLink or by the network card; - ``nccl``: NVIDIA's
library, through the package nccl4py; - ``staged``: through pinned memory of the host, by any transport. It takes a copy
on each side, and always works.

The ranks choose once, together, in this order, or as ``ARCFLUX_GPU_LINK`` says; `arcflux doctor --gpu` shows the
choice. Both sides know the layout of each message, and make their calls in the same order.
"""

from __future__ import annotations

import ctypes
import os
import sys
from abc import ABC, abstractmethod
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from arcflux.errors import UsageError
from arcflux.gpu import api

__all__ = ["LINKS", "Link", "MpiLink", "NcclLink", "StagedLink", "chosen", "examine", "possible"]

Array = NDArray[Any]

LINKS = ("mpi", "nccl", "staged")
_TAG = 252
_NCCL_ID_BYTES = 128


class Ranks(Protocol):
    """What links need of a transport (transports/base.py, in a room above this one)."""

    rank: int
    size: int

    def post(self, peer: int, parts: list[Array], tag: int = 0) -> None:
        """Send without waiting."""

    def collect(self, peer: int, tag: int = 0) -> Array:
        """Wait for a message."""

    def finish(self) -> None:
        """Wait until sent arrays may change."""

    def check(self) -> None:
        """Raise when a rank has failed."""

    def reduce(self, values: Array, operation: str) -> Array:
        """Combine the values of all ranks."""

    def broadcast(self, values: Array, root: int) -> Array:
        """The values of `root`, for all."""


class Link(ABC):
    """The connection between the GPUs of ranks: sends and receives complete at :meth:`finish`."""

    name: str

    @abstractmethod
    def send(self, values: Any, peer: int) -> None:
        """Send an array of this rank's GPU; it may change again after finish."""

    @abstractmethod
    def receive(self, values: Any, peer: int) -> None:
        """Receive into an array of this rank's GPU; the data is there after finish."""

    @abstractmethod
    def finish(self) -> None:
        """Wait until everything is sent and received."""


class StagedLink(Link):
    """Through pinned memory of the host: a copy from the device, the transport's message, a copy to the device."""

    name = "staged"

    def __init__(self, ranks: Ranks) -> None:
        self.ranks = ranks
        self._free: list[Array] = []
        self._used: list[Array] = []
        self._expected: list[tuple[Any, int]] = []

    def send(self, values: Any, peer: int) -> None:
        """Copy it to the host, and post it."""
        room = self._room(values)
        if room.size:
            values.copy_to_host(room)
        self.ranks.post(peer, [room], _TAG)

    def receive(self, values: Any, peer: int) -> None:
        """Record it; finish waits for it."""
        self._expected.append((values, peer))

    def finish(self) -> None:
        """Collect what is expected, and copy it to the device."""
        for values, peer in self._expected:
            room, came = self._room(values), self.ranks.collect(peer, _TAG)
            if len(came) != room.nbytes:
                raise UsageError(f"rank {peer} sent {len(came):,} bytes", expected=f"{room.nbytes:,}, as here")
            if room.size:
                room.reshape(-1).view(np.uint8)[:] = came
                values.copy_to_device(room)
        api.synchronize()
        self.ranks.finish()
        self._free, self._used, self._expected = self._free + self._used, [], []

    def _room(self, values: Any) -> Array:
        """Pinned memory of this array's size: a free buffer that is large enough, or a new one."""
        size = int(np.prod(values.shape, dtype=np.int64)) * values.dtype.itemsize
        place = next((k for k, room in enumerate(self._free) if room.nbytes >= size), None)
        whole = api.pinned(max(size, 1), np.uint8) if place is None else self._free.pop(place)
        self._used.append(whole)
        room: Array = whole[:size].view(values.dtype).reshape(values.shape)
        return room


class MpiLink(Link):
    """MPI reads and writes device memory itself; arrays tell it their address (``__cuda_array_interface__``)."""

    name = "mpi"

    def __init__(self, ranks: Ranks, mpi: Any, comm: Any) -> None:
        self.ranks, self.mpi, self.comm = ranks, mpi, comm
        self._requests: list[Any] = []

    def send(self, values: Any, peer: int) -> None:
        """Send it from the device, after the kernels that write it."""
        api.synchronize()
        self._requests.append(self.comm.Isend([values, self.mpi.BYTE], peer, _TAG))

    def receive(self, values: Any, peer: int) -> None:
        """Receive it in place."""
        self._requests.append(self.comm.Irecv([values, self.mpi.BYTE], peer, _TAG))

    def finish(self) -> None:
        """Wait for all, and check meanwhile whether another rank has failed."""
        while not self.mpi.Request.Testall(self._requests):
            self.ranks.check()
            os.sched_yield()
        self._requests.clear()


class NcclLink(Link):
    """NCCL sends on the GPU's default stream; all sends and receives of a superstep are one group."""

    name = "nccl"

    def __init__(self, ranks: Ranks, nccl: Any) -> None:
        """Create the communicator; collective. The first rank's id is broadcast as bytes."""
        self.nccl = nccl
        key = np.zeros(_NCCL_ID_BYTES, np.uint8)
        if ranks.rank == 0:
            key[:] = np.frombuffer(bytes(nccl.get_unique_id()), np.uint8)
        key = ranks.broadcast(key, 0)
        self.comm = nccl.Communicator.init(ranks.size, ranks.rank, nccl.UniqueId.from_bytes(key.tobytes()))
        self._calls: list[tuple[Any, Any, int]] = []

    def send(self, values: Any, peer: int) -> None:
        """Send it with the others."""
        self._calls.append((self.comm.send, values, peer))

    def receive(self, values: Any, peer: int) -> None:
        """Receive it with the others."""
        self._calls.append((self.comm.recv, values, peer))

    def finish(self) -> None:
        """Execute the group, and wait."""
        with self.nccl.group():
            for call, values, peer in self._calls:
                call(values, peer)
        self._calls.clear()
        api.synchronize()


def possible() -> dict[str, str]:
    """For every link, why this process cannot use it; "" if it can."""
    device = "" if not api.simulated() else "the simulator has no device memory"
    nccl = "" if find_spec("nccl") else "nccl4py is not installed (pip install 'arcflux[nccl]')"
    return {"mpi": device or _lacks_cuda(sys.modules.get("mpi4py.MPI")), "nccl": device or nccl, "staged": ""}


def _lacks_cuda(mpi: Any) -> str:
    """Why MPI cannot use device memory; "" if it reports that it can. Without mpiexec there is no MPI."""
    if mpi is None:
        return "this process is no rank of MPI"
    library = ctypes.CDLL(mpi.__file__)
    said = ctypes.c_int(0)
    if hasattr(library, "MPIX_Query_cuda_support"):  # Open MPI, MVAPICH, Cray
        said.value = library.MPIX_Query_cuda_support()
    elif hasattr(library, "MPIX_GPU_query_support"):  # MPICH
        library.MPIX_GPU_query_support(0, ctypes.byref(said))
    return "" if said.value else "this MPI was built without CUDA"


def _asked() -> str | None:
    choice = os.environ.get("ARCFLUX_GPU_LINK") or None
    if choice not in (None, *LINKS):
        raise UsageError(f"ARCFLUX_GPU_LINK is {choice!r}", expected=" or ".join(LINKS))
    return choice


def examine() -> dict[str, Any]:
    """What this process would choose on its own, and why not the links before it."""
    lacks = possible()
    best = _asked() or next(name for name in LINKS if not lacks[name])
    before = [f"not {name}, since {lacks[name]}" for name in LINKS[: LINKS.index(best)] if lacks[name]]
    return {"chosen": best, "reason": "; ".join(before) or "it is the shortest way", "lacks": lacks}


def chosen(ranks: Ranks, mpi: Any = None, comm: Any = None) -> Link:
    """The link of these ranks: the first that all of them have. Collective. `mpi` and `comm` are mpi4py's."""
    lacks = possible() | ({} if comm is not None else {"mpi": "these ranks have no MPI"})
    requested = _asked()
    candidates = [name for name in LINKS if requested in (None, name)]
    mine = np.array([not lacks[name] for name in candidates], np.int64)
    there = ranks.reduce(mine, "min")
    if not there.any():
        raise UsageError(
            f"ARCFLUX_GPU_LINK is {requested!r}, and not all ranks have it", expected="a link that all ranks have",
            remedy="; ".join(f"{name}: {lacks[name]}" for name in candidates if lacks[name])
            or "look at the other ranks",
        )  # fmt: skip
    name = candidates[int(np.argmax(there > 0))]
    if name == "mpi":
        return MpiLink(ranks, mpi, comm)
    if name == "nccl":
        import nccl.core as module

        return NcclLink(ranks, module)
    return StagedLink(ranks)

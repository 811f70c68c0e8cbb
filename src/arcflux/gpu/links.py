"""How values in the memory of one rank's GPU come into that of another's: the best way that all ranks have.

- ``mpi``: MPI takes device memory as it is (it was built with CUDA), over NVLink or by the network card;
- ``nccl``: NVIDIA's library does, through the package nccl4py;
- ``staged``: through pinned memory of the host, which any transport sends. A copy each way, and always there.

The ranks choose once, together, in this order, or as ``ARCFLUX_GPU_LINK`` says; `arcflux doctor --gpu` tells which it
would be. Both sides know what a message is, and make their calls in the same order.
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
    """What links need of a transport (transports/base.py, a room above this one)."""

    rank: int
    size: int

    def post(self, peer: int, parts: list[Array], tag: int = 0) -> None:
        """Send without waiting."""

    def collect(self, peer: int, tag: int = 0) -> Array:
        """Wait for a message."""

    def finish(self) -> None:
        """Wait until what was sent may change."""

    def check(self) -> None:
        """Raise when a rank has failed."""

    def reduce(self, values: Array, operation: str) -> Array:
        """Combine the values of all ranks."""

    def broadcast(self, values: Array, root: int) -> Array:
        """What `root` gives, for all."""


class Link(ABC):
    """The way between the GPUs of ranks: what is sent and received is under way until :meth:`finish`."""

    name: str

    @abstractmethod
    def send(self, values: Any, peer: int) -> None:
        """Send an array of this rank's GPU; it may change again after finish."""

    @abstractmethod
    def receive(self, values: Any, peer: int) -> None:
        """Have an array of this rank's GPU filled with what `peer` sends; it is there after finish."""

    @abstractmethod
    def finish(self) -> None:
        """Wait until all of it has gone and come."""


class StagedLink(Link):
    """Through pinned memory of the host: a copy down, the transport's message, a copy up."""

    name = "staged"

    def __init__(self, ranks: Ranks) -> None:
        self.ranks = ranks
        self._free: list[Array] = []
        self._used: list[Array] = []
        self._expected: list[tuple[Any, int]] = []

    def send(self, values: Any, peer: int) -> None:
        """Copy it down, and post it."""
        room = self._room(values)
        if room.size:
            values.copy_to_host(room)
        self.ranks.post(peer, [room], _TAG)

    def receive(self, values: Any, peer: int) -> None:
        """Expect it; it is waited for when all has been sent."""
        self._expected.append((values, peer))

    def finish(self) -> None:
        """Take what is expected, and copy it up."""
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
        """Pinned memory like this array: what was pinned before and is large enough, or new."""
        size = int(np.prod(values.shape, dtype=np.int64)) * values.dtype.itemsize
        place = next((k for k, room in enumerate(self._free) if room.nbytes >= size), None)
        whole = api.pinned(max(size, 1), np.uint8) if place is None else self._free.pop(place)
        self._used.append(whole)
        room: Array = whole[:size].view(values.dtype).reshape(values.shape)
        return room


class MpiLink(Link):
    """MPI reads and writes device memory itself; arrays tell it where they are (``__cuda_array_interface__``)."""

    name = "mpi"

    def __init__(self, ranks: Ranks, mpi: Any, comm: Any) -> None:
        self.ranks, self.mpi, self.comm = ranks, mpi, comm
        self._requests: list[Any] = []

    def send(self, values: Any, peer: int) -> None:
        """Send it from where it is, when the kernels that write it are done."""
        api.synchronize()
        self._requests.append(self.comm.Isend([values, self.mpi.BYTE], peer, _TAG))

    def receive(self, values: Any, peer: int) -> None:
        """Receive it to where it belongs."""
        self._requests.append(self.comm.Irecv([values, self.mpi.BYTE], peer, _TAG))

    def finish(self) -> None:
        """Wait for all, and see meanwhile whether another rank has failed."""
        while not self.mpi.Request.Testall(self._requests):
            self.ranks.check()
            os.sched_yield()
        self._requests.clear()


class NcclLink(Link):
    """NCCL sends on the GPU's default stream, all that a superstep sends and receives as one group."""

    name = "nccl"

    def __init__(self, ranks: Ranks, nccl: Any) -> None:
        """Make the communicator; collective. The first rank's id goes to all as bytes."""
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
        """Do all of it, and wait."""
        with self.nccl.group():
            for call, values, peer in self._calls:
                call(values, peer)
        self._calls.clear()
        api.synchronize()


def possible() -> dict[str, str]:
    """For every link, why this process cannot take it; empty text when it can."""
    device = "" if not api.simulated() else "the simulator has no device memory"
    nccl = "" if find_spec("nccl") else "nccl4py is not installed (pip install 'arcflux[nccl]')"
    return {"mpi": device or _lacks_cuda(sys.modules.get("mpi4py.MPI")), "nccl": device or nccl, "staged": ""}


def _lacks_cuda(mpi: Any) -> str:
    """Why MPI cannot take device memory; empty text when it says that it can. Without mpiexec there is no MPI."""
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
    given = os.environ.get("ARCFLUX_GPU_LINK") or None
    if given not in (None, *LINKS):
        raise UsageError(f"ARCFLUX_GPU_LINK is {given!r}", expected=" or ".join(LINKS))
    return given


def examine() -> dict[str, Any]:
    """What this process would choose, were it the only one to be asked, and why not what comes before it."""
    lacks = possible()
    best = _asked() or next(name for name in LINKS if not lacks[name])
    before = [f"not {name}, since {lacks[name]}" for name in LINKS[: LINKS.index(best)] if lacks[name]]
    return {"chosen": best, "reason": "; ".join(before) or "it is the shortest way", "lacks": lacks}


def chosen(ranks: Ranks, mpi: Any = None, comm: Any = None) -> Link:
    """The link of these ranks: the first that all of them have. Collective. `mpi` and `comm` are mpi4py's."""
    lacks = possible() | ({} if comm is not None else {"mpi": "these ranks have no MPI"})
    asked = _asked()
    wanted = [name for name in LINKS if asked in (None, name)]
    mine = np.array([not lacks[name] for name in wanted], np.int64)
    there = ranks.reduce(mine, "min")
    if not there.any():
        raise UsageError(
            f"ARCFLUX_GPU_LINK is {asked!r}, and not all ranks have it", expected="a link that all ranks have",
            remedy="; ".join(f"{name}: {lacks[name]}" for name in wanted if lacks[name]) or "look at the other ranks",
        )  # fmt: skip
    name = wanted[int(np.argmax(there > 0))]
    if name == "mpi":
        return MpiLink(ranks, mpi, comm)
    if name == "nccl":
        import nccl.core as module

        return NcclLink(ranks, module)
    return StagedLink(ranks)

"""Ranks as MPI processes: buffers only, nothing is pickled, and no MPI call blocks.

processes.py describes how a rank waits, and receives messages meanwhile. All groups use one communicator, and MPI
creates none of them: it would send messages of its own over the same communicator, which a waiting rank would receive
as well.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from arcflux import config
from arcflux.spmd.memory import Array
from arcflux.transports.board import Board
from arcflux.transports.processes import TAG_BITS, Office, ProcessTransport
from arcflux.transports.ring import Ring

__all__ = ["MpiTransport"]

# Bytes a second of a message that is still arriving, and not stuck.
_SLOWEST_LINK = 4e6
# A call in which MPI itself waits may take this many times as long as a rank may hang.
_CALLS = 3


class _Office(Office):
    """The communicator, and what the transports of an MPI process share."""

    def __init__(self, mpi: Any, comm: Any) -> None:
        super().__init__(int(mpi.COMM_WORLD.Get_attr(mpi.TAG_UB)) >> TAG_BITS)
        self.mpi, self.comm = mpi, comm
        self.status = mpi.Status()


class MpiTransport(ProcessTransport):
    """A rank that is an MPI process."""

    kind = "mpi"
    office: _Office

    def __init__(self, mpi: Any, comm: Any, node_of: Sequence[int], crowded: bool = False) -> None:
        """The transport over all ranks; :meth:`split` creates those of groups."""
        size = len(node_of)
        alone = Board(np.zeros(Board.bytes(size), np.uint8), size)
        super().__init__(comm.Get_rank(), node_of, alone, crowded=crowded)
        self._settle(_Office(mpi, comm))

    def _join(self, office: Any, group: int) -> None:
        self._mpi, self._comm = office.mpi, office.comm
        self._apart: Any = None
        self._sends: list[Any] = []
        self._kept: list[Array] = []
        self.ring: Ring | None = None
        super()._join(office, group)

    def _at(self, superstep: int) -> None:
        super()._at(superstep)
        if (ring := self.office.members[0].ring) is not None:
            ring.at(superstep)

    def _give(self, peer: int, raw: list[Array], tag: int) -> None:
        message = raw[0] if len(raw) == 1 else np.concatenate(raw) if raw else np.empty(0, np.uint8)
        self._sends.append(self._comm.Isend([message, self._mpi.BYTE], self.names[peer], self._first_tag + tag))
        self._kept.append(message)

    def _take(self, peer: int, tag: int) -> Array:
        inbox, key = self.office.inbox, (self.names[peer], self._first_tag + tag)
        found: Any = None

        def arrived() -> bool:
            nonlocal found
            if inbox.get(key):
                return True
            found = self._comm.Improbe(*key, self.office.status)
            return found is not None

        self._until(arrived, peer)
        return inbox[key].popleft() if found is None else self._received(found)

    def _received(self, found: Any) -> Array:
        """Receive the probed message. Its sender may have to contribute, and may have been stopped."""
        message = np.empty(self.office.status.Get_elements(self._mpi.BYTE), np.uint8)
        arriving = found.Irecv([message, self._mpi.BYTE])
        self._until(arriving.Test, None, transfer=len(message) / _SLOWEST_LINK)
        return message

    def finish(self) -> None:
        """Wait until the arrays of all messages that were posted may change again."""
        if self._sends:
            self._until(lambda: not self._sends or bool(self._mpi.Request.Testall(self._sends)), None)
            self._sends.clear()
            self._kept.clear()

    def _advance(self) -> None:
        """Let messages of all groups progress, while this rank waits for something else.

        Large messages are only transferred when the other side receives them. So a waiting rank receives what has
        arrived into the inbox: two ranks that both finish their sends, and then collect, do not wait for each other.
        """
        for each in self.office.members:
            if each._sends and self._mpi.Request.Testall(each._sends):
                each._sends.clear()
                each._kept.clear()
        status = self.office.status
        while (found := self._comm.Improbe(self._mpi.ANY_SOURCE, self._mpi.ANY_TAG, status)) is not None:
            key = status.Get_source(), status.Get_tag()
            self.office.inbox.setdefault(key, deque()).append(self._received(found))

    def apart(self) -> tuple[Any, Any]:
        """MPI, and a communicator of these ranks that nothing else receives from, created once."""
        if self._apart is None:
            world = self._mpi.COMM_WORLD
            members = world.group.Incl(self.names)
            # MPI itself waits there, using next to nothing of a core: a rank in it has not stopped.
            with self._waiting(_CALLS * config.hang_seconds()):
                self._apart = world.Create_group(members, tag=self._first_tag)
            members.Free()
        return self._mpi, self._apart

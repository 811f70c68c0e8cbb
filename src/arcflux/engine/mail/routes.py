"""Mail between ranks: all records of one rank for another go in bulk, once a superstep.

Every rank sorts what it sends by the rank that owns the receiver, and announces how many records it has for each. Ranks
of a node read each other's records from shared memory; to another node a rank sends one message, first the receivers
and then the parts of the records, whose lengths the other side knows. Ranks come in order, and so do senders, if parts
are ranges of vertices; otherwise each record carries the number of its sender, by which they are sorted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.engine.exchange.base import Meter
from arcflux.engine.mail.boxes import Box
from arcflux.engine.mail.sorting import sort_by
from arcflux.engine.part_worker import PartWorker
from arcflux.engine.team import Ranks

__all__ = ["Routes"]

Array = NDArray[Any]

_TAG = 5
# Shared arrays are allocated with this many times the size that is needed.
_SLACK = 2


class Routes:
    """Routes the mail of one rank to all others. Collective."""

    def __init__(self, worker: PartWorker, meter: Meter) -> None:
        self.worker, self.meter, self.transport = worker, meter, worker.transport
        self.parts = worker.own.parts
        self.in_order = self.parts.bounds is not None
        self._shared: dict[str, list[Array]] = {}

    def bring(self, box: Box) -> tuple[Array, list[Array], int]:
        """The receivers of the records that others have for this rank, ordered by sender, and their parts.

        The last value is how many records all ranks have sent.
        """
        transport = self.transport
        to = box.to[: box.sent]
        sending = [to, *(array[: box.sent] for array in box.out)]
        if not self.in_order:
            counts = np.diff(box.cursor).astype(np.int64)
            sending.append(np.repeat(self.worker.own.mine.astype(np.int64), counts))
        begins = np.zeros(transport.size + 1, np.uint64)
        owner = self.parts.owner[to].astype(np.int64)
        counts = np.bincount(owner, minlength=transport.size)
        with self.meter:
            matrix = np.stack(transport.gather(counts.astype(np.int64)))
        shared = self._room(box.name, int(matrix[transport.mates].sum()), sending)
        before = transport.mates[: transport.place]
        begin = int(matrix[before].sum())
        mine = [array[begin : begin + box.sent] for array in shared]
        sort_by(owner, 0, begins, list(zip(sending, mine, strict=True)), self.worker.threads)
        self._post(mine, begins.astype(np.int64))
        transport.node_barrier()
        came = self._collect(shared, matrix)
        transport.finish()
        transport.node_barrier()
        if not self.in_order:
            *came, senders = came
            order = np.argsort(senders, kind="stable")
            came = [array[order] for array in came]
        return came[0], came[1:], int(matrix.sum())

    def _room(self, name: str, count: int, like: list[Array]) -> list[Array]:
        """Arrays that the node shares, with room for this many records; all ranks of the node ask for the same."""
        arrays = self._shared.get(name)
        if arrays is None or len(arrays[0]) < count:
            team = Ranks.of(self.transport)
            arrays = self._shared[name] = [team.lent(_SLACK * count + 64, array.dtype) for array in like]
        return arrays

    def _post(self, mine: list[Array], begins: Array) -> None:
        """Send other nodes their records."""
        transport = self.transport
        with self.meter:
            for peer in range(transport.size):
                some = [array[begins[peer] : begins[peer + 1]] for array in mine]
                if transport.node_of[peer] == transport.node or not len(some[0]):
                    continue
                transport.post(peer, some, tag=_TAG)
                self.meter.traffic.values += sum(array.nbytes for array in some[1:])

    def _collect(self, shared: list[Array], matrix: Array) -> list[Array]:
        """The records of each rank for this one, in rank order."""
        transport, pieces = self.transport, []
        for peer in range(transport.size):
            count = int(matrix[peer, transport.rank])
            if not count:
                continue
            if transport.node_of[peer] == transport.node:
                mates = [mate for mate in transport.mates if mate < peer]
                begin = int(matrix[mates].sum()) + int(matrix[peer, : transport.rank].sum())
                pieces.append([array[begin : begin + count] for array in shared])
            else:
                pieces.append(_unpacked(transport.collect(peer, tag=_TAG), count, shared))
        if not pieces:
            return [array[:0] for array in shared]
        return [np.concatenate(arrays) for arrays in zip(*pieces, strict=True)]


def _unpacked(message: Array, count: int, like: list[Array]) -> list[Array]:
    """The arrays of a message that has this many records."""
    place, arrays = 0, []
    for array in like:
        arrays.append(np.frombuffer(message, array.dtype, count, place))
        place += arrays[-1].nbytes
    return arrays

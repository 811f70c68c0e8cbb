"""Collective calls, built from a transport's three operations: shared memory on a node, sending, receiving.

Within a node, ranks write into memory that all of them share, and meet at a barrier; between nodes, the leader of each
sends one message to the leader of each other node. Two buffers alternate: a rank that writes into one has passed the
barrier that every rank reaches after reading its earlier contents.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from arcflux.errors import UsageError
from arcflux.spmd.memory import Array

__all__ = ["LAST_TAG", "SMALL", "Pending", "Rooms", "broadcast", "gather", "gather_bytes", "reduce"]

OPERATIONS = {
    "sum": np.add,
    "product": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "or": np.bitwise_or,
    "and": np.bitwise_and,
}
# Up to this many bytes over all ranks, each rank gets all values and combines them itself.
SMALL = 64 << 10
# The last two tags are for collectives. Every MPI has 32768 tags: enough for 128 groups, each with these.
LAST_TAG = 255
_TAG = LAST_TAG - 1
_PENDING_TAG = LAST_TAG
# Blocks are aligned for any dtype.
_ALIGN = 16


class Member(Protocol):
    """What collective calls need of a transport (described in :class:`~arcflux.transports.base.Transport`)."""

    rank: int
    size: int
    node: int
    nodes: int
    node_of: Array
    members: list[list[int]]
    leaders: list[int]
    mates: list[int]
    place: int
    _rooms: Rooms
    _pending: Pending | None
    _barriers: tuple[Array, Array]

    def shared(self, shape: int | tuple[int, ...], dtype: Any) -> Array: ...
    def post(self, peer: int, parts: Sequence[Array], tag: int = 0) -> None: ...
    def collect(self, peer: int, tag: int = 0) -> Array: ...
    def finish(self) -> None: ...
    def node_barrier(self) -> None: ...
    def _arrive(self, barrier: Array) -> int: ...
    def _pass(self, barrier: Array, token: int) -> None: ...


class Rooms:
    """The buffers of a node's ranks for collectives: two for calls that wait, two for those that do not."""

    def __init__(self, memory: Array) -> None:
        small = memory.reshape(4, SMALL)
        self._turn = [0, 0]
        self._small: list[list[Array]] = [[small[0], small[1]], [small[2], small[3]]]
        self._large: list[Array] = []

    @staticmethod
    def bytes() -> int:
        """The bytes of the small buffers."""
        return 4 * SMALL

    def next(self, transport: Member, size: int) -> Array:
        """The next buffer, of at least `size` bytes; all ranks of the node ask for the same size."""
        turn = self._turn[0] = 1 - self._turn[0]
        if size <= SMALL:
            return self._small[0][turn][:size]
        if not self._large or len(self._large[0]) < size:
            both = transport.shared((2, -(-size // _ALIGN) * _ALIGN), np.uint8)
            self._large = [both[0], both[1]]
        return self._large[turn][:size]

    def next_pending(self) -> Array:
        """The buffer for the next reduction that does not wait."""
        turn = self._turn[1] = 1 - self._turn[1]
        return self._small[1][turn]


def _starts(sizes: Sequence[int]) -> list[int]:
    starts = [0]
    for size in sizes:
        starts.append(starts[-1] + -(-size // _ALIGN) * _ALIGN)
    return starts


def _bytes(values: Array) -> Array:
    return np.ascontiguousarray(values).reshape(-1).view(np.uint8)


def _blocks(transport: Member, room: Array, starts: Sequence[int], sizes: Sequence[int], node: int) -> list[Array]:
    return [room[starts[rank] : starts[rank] + sizes[rank]] for rank in transport.members[node]]


def _tell_nodes(transport: Member, room: Array, starts: Sequence[int], sizes: Sequence[int], tag: int) -> None:
    """The leader sends its node's blocks to every other node."""
    mine = _blocks(transport, room, starts, sizes, transport.node)
    for step in range(1, transport.nodes):
        transport.post(transport.leaders[(transport.node + step) % transport.nodes], mine, tag)


def _hear_nodes(transport: Member, room: Array, starts: Sequence[int], sizes: Sequence[int], tag: int) -> None:
    """The leader stores the blocks of every other node."""
    for step in range(1, transport.nodes):
        node = (transport.node - step) % transport.nodes
        message, at = transport.collect(transport.leaders[node], tag), 0
        for block in _blocks(transport, room, starts, sizes, node):
            block[:] = message[at : at + len(block)]
            at += len(block)
    transport.finish()


def gather_bytes(transport: Member, mine: Array, sizes: Sequence[int]) -> tuple[Array, list[int]]:
    """Every rank's bytes, whose sizes all know: a buffer to be read before the next collective, and the offsets."""
    starts = _starts(sizes)
    room = transport._rooms.next(transport, starts[-1])
    room[starts[transport.rank] : starts[transport.rank] + len(mine)] = mine
    transport.node_barrier()
    if transport.nodes > 1:
        if transport.place == 0:
            _tell_nodes(transport, room, starts, sizes, _TAG)
            _hear_nodes(transport, room, starts, sizes, _TAG)
        transport.node_barrier()
    return room, starts


def gather(transport: Member, values: Array) -> list[Array]:
    """See :meth:`Transport.gather`."""
    mine = _bytes(values)
    room, starts = gather_bytes(transport, _bytes(np.array([len(mine)], np.int64)), [8] * transport.size)
    sizes = [int(room[start : start + 8].view(np.int64)[0]) for start in starts[:-1]]
    room, starts = gather_bytes(transport, mine, sizes)
    rows = [room[start : start + size].view(values.dtype) for start, size in zip(starts[:-1], sizes, strict=True)]
    width = math.prod(values.shape[1:])
    return [each.reshape(each.size // max(1, width), *values.shape[1:]).copy() for each in rows]


def broadcast(transport: Member, values: Array, root: int) -> Array:
    """See :meth:`Transport.broadcast`. Between nodes it goes down a binomial tree."""
    if not 0 <= root < transport.size:
        raise UsageError(f"root is {root}", expected=f"a rank from 0 to {transport.size - 1}")
    mine = _bytes(values)
    room = transport._rooms.next(transport, len(mine))
    first = int(transport.node_of[root])
    if transport.rank == (root if transport.node == first else transport.leaders[transport.node]):
        place = (transport.node - first) % transport.nodes
        reach = 1
        while reach < transport.nodes and not place & reach:
            reach *= 2
        if transport.rank == root:
            room[:] = mine
        else:
            above = (first + place - reach) % transport.nodes
            room[:] = transport.collect(root if above == first else transport.leaders[above], _TAG)
        while reach > 1:
            reach //= 2
            if place + reach < transport.nodes:
                transport.post(transport.leaders[(first + place + reach) % transport.nodes], [room], _TAG)
        transport.finish()
    transport.node_barrier()
    return values if transport.rank == root else _like(room, values).copy()


def _like(raw: Array, values: Array) -> Array:
    return raw.view(values.dtype).reshape(values.shape)


def _operation(operation: str) -> np.ufunc:
    if operation not in OPERATIONS:
        raise UsageError(f"no reduction is named {operation!r}", expected="one of: " + ", ".join(OPERATIONS))
    return OPERATIONS[operation]


def _fold(combine: np.ufunc, room: Array, starts: Sequence[int], values: Array) -> Array:
    """Combine the blocks of a buffer, in order."""
    total = _like(room[: values.nbytes], values).copy()
    for start in starts[1:-1]:
        combine(total, _like(room[start : start + values.nbytes], values), out=total)
    return total


def reduce(transport: Member, values: Array, operation: str) -> Array:
    """See :meth:`Transport.reduce`."""
    combine = _operation(operation)
    sizes = [values.nbytes] * transport.size
    if _starts(sizes)[-1] <= SMALL:
        room, starts = gather_bytes(transport, _bytes(values), sizes)
        return _fold(combine, room, starts, values)
    return _reduce_large(transport, values, combine)


def _reduce_large(transport: Member, values: Array, combine: np.ufunc) -> Array:
    """Each rank combines a slice of its node's values; then each leader a slice of the nodes' totals."""
    flat = np.ascontiguousarray(values).reshape(-1)
    mates, place, count = len(transport.mates), transport.place, len(flat)
    width = -(-flat.nbytes // _ALIGN) * _ALIGN
    room = transport._rooms.next(transport, (mates + 1) * width)
    rows = [room[row * width : row * width + flat.nbytes].view(flat.dtype) for row in range(mates + 1)]
    rows[place][:] = flat
    transport.node_barrier()
    mine = slice(count * place // mates, count * (place + 1) // mates)
    total = rows[mates]
    total[mine] = rows[0][mine]
    for row in rows[1:mates]:
        combine(total[mine], row[mine], out=total[mine])
    transport.node_barrier()
    if transport.nodes > 1:
        if place == 0:
            _reduce_nodes(transport, total, combine)
        transport.node_barrier()
    return total.copy().reshape(values.shape)


def _reduce_nodes(transport: Member, total: Array, combine: np.ufunc) -> None:
    """Each leader combines one slice of all nodes' totals, in node order, and sends it to the others."""
    nodes, here = transport.nodes, transport.node
    cuts = [len(total) * node // nodes for node in range(nodes + 1)]
    for step in range(1, nodes):
        node = (here + step) % nodes
        transport.post(transport.leaders[node], [total[cuts[node] : cuts[node + 1]]], _TAG)
    slices = [
        total[cuts[here] : cuts[here + 1]]
        if node == here
        else transport.collect(transport.leaders[node], _TAG).view(total.dtype)
        for node in range(nodes)
    ]
    mine = slices[0].copy()
    for each in slices[1:]:
        combine(mine, each, out=mine)
    transport.finish()
    total[cuts[here] : cuts[here + 1]] = mine
    for step in range(1, nodes):
        transport.post(transport.leaders[(here + step) % nodes], [mine], _TAG)
    for step in range(1, nodes):
        node = (here - step) % nodes
        total[cuts[node] : cuts[node + 1]] = transport.collect(transport.leaders[node], _TAG).view(total.dtype)
    transport.finish()


class Pending:
    """A reduction in progress. Arrays too large for a buffer are only reduced when a rank waits for them."""

    def __init__(self, transport: Member, values: Array, operation: str) -> None:
        if transport._pending is not None:
            raise UsageError("a reduction is started while another is under way", remedy="wait for the first")
        self._combine, self._operation = _operation(operation), operation
        self._transport, self._values = transport, values.copy()
        self._sizes = [values.nbytes] * transport.size
        self._starts = _starts(self._sizes)
        self._told = False
        self._result: Array | None = None
        transport._pending = self
        if self._starts[-1] <= SMALL:
            self._room = transport._rooms.next_pending()
            self._room[self._starts[transport.rank] :][: values.nbytes] = _bytes(values)
            self._token = transport._arrive(transport._barriers[1])
            if transport.nodes > 1 and transport.place == 0 and self._token < 0:  # the last of its node
                self._tell()

    def _tell(self) -> None:
        self._told = True
        _tell_nodes(self._transport, self._room, self._starts, self._sizes, _PENDING_TAG)

    def wait(self) -> Array:
        """The combined values."""
        if self._result is not None:
            return self._result
        transport = self._transport
        transport._pending = None
        if self._starts[-1] > SMALL:
            self._result = reduce(transport, self._values, self._operation)
            return self._result
        transport._pass(transport._barriers[1], self._token)
        if transport.nodes > 1:
            if transport.place == 0:
                if not self._told:
                    self._tell()
                _hear_nodes(transport, self._room, self._starts, self._sizes, _PENDING_TAG)
            transport._pass(transport._barriers[1], transport._arrive(transport._barriers[1]))
        self._result = _fold(self._combine, self._room, self._starts, self._values)
        return self._result

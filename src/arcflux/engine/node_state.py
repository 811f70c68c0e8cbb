"""The arrays of a node in a run on parts, which all its ranks share, and the counters of one rank.

Every array is indexed by the vertex numbers of the whole graph, so nothing is translated, and a vertex that moves to
another part keeps its place. The first half of messages is what vertices send in this superstep, the second what they
will send in the next; the frontier has two halves, too, for alternating supersteps.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.compile.cpu.parts import PART_TALLY, in_one_order
from arcflux.compile.lower import Lowered
from arcflux.engine.edge_state import EdgeArrays
from arcflux.engine.scratch import worker_scratch
from arcflux.engine.state import afford_fields, parameter_values, rows
from arcflux.engine.team import Ranks
from arcflux.engine.totals import Totals, identity
from arcflux.graph import Graph
from arcflux.transports.base import Transport

__all__ = ["NodeState"]

Array = NDArray[Any]


class NodeState:
    """What the ranks of a node share; V vertices, T threads of this rank. A vector has one more axis.

    Memory of earlier runs is reused, since new pages cost a short run more than its work. Fields are not copied: they
    are the result.

    Attributes
    ----------
    fields: name -> its dtype[V]
        The values of vertices.
    messages: list of dtype[2V]
        What each vertex sends now, and (second half) in the next superstep.
    accumulators: name -> dtype[V]
        What has been reduced for each vertex so far; between supersteps, the identity of the reduction.
    moves, pending: bool[V]
        Which vertices changed in this superstep; which wait for their bucket.
    stamp: uint8[V]
        The mark of the last superstep in which a vertex received something.
    residuals: float64[V] or float64[1], each: name -> its dtype[V]
        The residual of each vertex and its contributions to totals, where these must be added up in one order.
    bits: uint64[2 * ceil(V / 64)], queues: dtype of vertices[2V], heads: int64[16]
        The frontier as a bitmap and as a queue, and the lengths of both halves of the queue, at 0 and 8.
    tally: float64[T, 8], counts: int64[16]
        Counts by thread of this rank; lengths of its lists of vertices: receivers at 0, senders at 1, those senders
        that another node counts at 2.
    totals: Totals
        The values of totals, and the partial reductions by each thread of this rank.
    edges: EdgeArrays
        The fields of edges.
    mirrors: id of a field's array -> the device's copy of it
        The phases of a run share it, so that fields stay on the device from one to the next.
    """

    def __init__(
        self, lowered: Lowered, graph: Graph, values: Mapping[str, Array], threads: int, transport: Transport,
        like: NodeState | None = None,
    ) -> None:  # fmt: skip
        """`like`: the state of another phase of the same run, whose fields and constants this one shares."""
        self.lowered, self.graph, self.transport = lowered, graph, transport
        self.team = team = Ranks.of(transport)
        n, kind = graph.vertices, graph.number_type
        written = lowered.functions["start"].always_writes - set(values)
        zeros = team.small
        self.fields: dict[str, Array] = {} if like is None else like.fields
        if like is None and team.leads:
            afford_fields(lowered, graph)
        for name, kind_of in lowered.fields.items() if like is None else ():
            self.fields[name] = rows(partial(team.kept, zero=name not in written), n, *kind_of)
        self.messages: list[Array] = [rows(zeros, 2 * n, each.dtype, each.length) for each in lowered.messages]
        self.accumulators: dict[str, Array] = {
            name: rows(team.lent, n, *lowered.fields[name]) for name in sorted(lowered.reductions)
        }
        for name in self.accumulators:
            self.empty(name, self._share(n))
        self.moves: Array = zeros(n, np.bool_)
        self.pending: Array = zeros(n, np.bool_)
        by_vertex = [each for each in lowered.measures if in_one_order(lowered, each)]
        self.residuals: Array = zeros(n if any(not each.is_total for each in by_vertex) else 1, np.float64)
        self.each: dict[str, Array] = {
            name: rows(zeros, n, measure.dtype, measure.length)
            for name, measure in lowered.totals.items() if in_one_order(lowered, measure)
        }  # fmt: skip
        self.totals: Totals = Totals(lowered, threads, 0, np.zeros) if like is None else like.totals
        self.bits: Array = zeros(2 * (-(-n // 64)), np.uint64)
        self.queues: Array = team.lent(2 * n, kind)
        self.stamp: Array = zeros(n, np.uint8)
        self.heads: Array = zeros(16, np.int64)
        if team.leads and like is None:
            for name in values.keys() & self.fields.keys():
                self.fields[name][:] = values[name]
        self.tally: Array = np.zeros((threads, PART_TALLY))
        self.counts: Array = np.zeros(16, np.int64)
        numbers = [n, graph.edges, graph.arcs, *self.totals.constants, *parameter_values(lowered.program, graph)]
        self.edges: EdgeArrays = (
            EdgeArrays(lowered.program, graph, values, team.kept, team.leads) if like is None else like.edges
        )
        fixed = [*self.fields.values(), *numbers, *self.edges.constants]
        self.constants: list[Any] = fixed if like is None else like.constants
        self.mirrors: dict[int, Any] = {} if like is None else like.mirrors
        self.held: list[Array] = [graph.in_offsets, graph.out_offsets, self.moves, self.pending, self.residuals]
        self.held += [self.tally, *self.each.values(), *self.messages, *self.accumulators.values()]
        if lowered.around is not None:
            self.held += [graph.into.neighbours] if lowered.around.intersects else []
            self.held += worker_scratch(lowered, graph, threads)
        self.held += [graph.out.neighbours] if lowered.picks else []
        self.held += [graph.columns[column] for column in lowered.out_columns]
        transport.node_barrier()

    def _share(self, size: int) -> slice:
        """This rank's slice of an array that the ranks of the node process together."""
        share = -(-size // len(self.transport.mates))
        return slice(self.transport.place * share, (self.transport.place + 1) * share)

    def own_share(self, array: Array) -> Array:
        """The slice of an array that this rank clears, where the ranks of the node clear it together."""
        return array[self._share(len(array))]

    def empty(self, name: str, which: Any) -> None:
        """Reset accumulators to the identity of their reduction."""
        array = self.accumulators[name]
        array[which] = identity(self.lowered.reductions[name].operation, array.dtype)

    @property
    def brought(self) -> list[Array]:
        """Per-vertex contributions to measures that are added up in one order, without residuals that nothing needs."""
        needed = len(self.residuals) == self.graph.vertices
        return [*([self.residuals] if needed else []), *self.each.values()]

    @property
    def nbytes(self) -> int:
        """Bytes that the node has once for all its parts."""
        arrays = [*self.fields.values(), *self.messages, *self.accumulators.values(), self.moves, self.pending]
        arrays += [
            self.residuals,
            *self.each.values(),
            self.bits,
            self.queues,
            self.stamp,
            self.heads,
            *self.edges.arrays.values(),
        ]
        return sum(array.nbytes for array in arrays)

    # --- halves

    def sent(self, later: bool = False) -> list[Array]:
        """The messages of the current superstep, or of the next: an array[V] for each message."""
        n = self.graph.vertices
        return [message[n:] if later else message[:n] for message in self.messages]

    def bits_at(self, step: int) -> Array:
        """The frontier of a superstep as a bitmap."""
        half = len(self.bits) // 2
        return self.bits[half:] if step & 1 else self.bits[:half]

    def queue_at(self, step: int) -> Array:
        """The frontier of a superstep as a queue."""
        half = self.graph.vertices
        return self.queues[half:] if step & 1 else self.queues[:half]

    def heads_at(self, step: int) -> Array:
        """The length of that queue, in its first element."""
        return self.heads[8 * (step & 1) :]

    def mark(self, step: int) -> np.uint8:
        """The stamp of vertices that receive in a superstep."""
        return np.uint8(step % 255 + 1)

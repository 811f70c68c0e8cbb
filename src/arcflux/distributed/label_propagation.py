"""Label propagation on parts: owners count the labels around their vertices, and tell the readers what changed.

Labels stand once in each node. A round reads them all, then all owners write at once. Once few vertices change, only
those next to one that did count again; who that is shows the own row, so nobody has to be told.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.distributed.launch import Launch
from arcflux.distributed.readers import Readers, whole
from arcflux.distributed.rows import own_rows
from arcflux.engine.exchange import Traffic
from arcflux.kernels.label_propagation import count, distinct, leading, slots, table_bits
from arcflux.partition.parts import Parts
from arcflux.result import Superstep
from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import fetch_add, take
from arcflux.spmd.memory import frozen
from arcflux.transports.base import Transport

__all__ = ["label_propagation", "vote"]

Array = NDArray[Any]

_CHUNK = np.uint64(256)


@inner
def _any(neighbours: Any, begin: Any, end: Any, flags: Any) -> Any:
    """Whether a flag of the row is set."""
    while begin < end and not flags[neighbours[begin]]:
        begin += np.uint64(1)
    return begin < end


@kernel
def vote(
    worker: Any, workers: Any, control: Any, vertices: Any, begins: Any, ends: Any, neighbours: Any, in_begins: Any,
    in_ends: Any, in_neighbours: Any, first: Any, everywhere: Any, label: Any, moved: Any, tables: Any, places: Any,
    changed: Any, after: Any, tally: Any,
) -> None:  # fmt: skip
    """List own vertices that change, with their labels; tally, zero before: how many, how many counted, and their arcs.

    The second rows are None in an undirected graph. Unless `everywhere`, only vertices next to one that `moved` count.
    tables: uint[workers, slots, 2], zero before and after; places: uint[workers, slots].
    """
    n = np.uint64(label.size)
    table, used = tables[worker], places[worker]
    seen, arcs = 0, np.uint64(0)
    while True:
        some, rest = take(control, np.uint64(vertices.size), _CHUNK)
        if some == rest:
            break
        for r in range(some, rest):
            v = np.uint64(vertices[r])
            begin, end = begins[r], ends[r]
            in_begin, in_end = begin, begin
            if in_begins is not None:
                in_begin, in_end = in_begins[r], in_ends[r]
            voters = end - begin + (in_end - in_begin)
            if voters == 0:
                continue
            near = everywhere or _any(neighbours, begin, end, moved)
            if in_neighbours is not None:
                near = near or _any(in_neighbours, in_begin, in_end, moved)
            if not near:
                continue
            seen += 1
            if first:
                best = distinct(neighbours, begin, end, in_neighbours, in_begin, in_end, v, n)
            else:
                shift = np.uint64(64) - table_bits(min(voters, n))
                found = count(neighbours, begin, end, v, label, table, used, shift, np.uint64(0))
                if in_neighbours is not None:
                    found = count(in_neighbours, in_begin, in_end, v, label, table, used, shift, found)
                best = leading(table, used, found, n)
            if best != n and best != label[v]:
                at = np.uint64(fetch_add(tally, 0, 1))
                changed[at] = v
                after[at] = best
                arcs += voters
    fetch_add(tally, 1, seen)
    fetch_add(tally, 2, np.int64(arcs))


def label_propagation(transport: Transport, parts: Parts, rounds: int) -> tuple[Array, list[Superstep], Launch]:
    """The label of every vertex after at most so many rounds, and how the rounds went."""
    graph, launch = parts.graph, Launch(transport)
    n, kind = graph.vertices, graph.out.neighbours.dtype
    out = own_rows(parts, transport.rank, out=True)
    into = own_rows(parts, transport.rank, out=False) if graph.directed else None
    readers = Readers.of(transport, parts, launch, out=[True, False] if graph.directed else [True])
    label, moved = transport.shared(n, kind), transport.shared(n, np.bool_)
    if transport.place == 0:
        label[:] = np.arange(n, dtype=kind)
    transport.node_barrier()
    voters = out.lengths + (0 if into is None else into.lengths)
    size = slots(min(int(voters.max(initial=0)), n))
    scratch = [np.zeros((1, size, 2), kind), np.empty((1, size), kind)]
    scratch += [np.empty(len(out.vertices), kind), np.empty(len(out.vertices), kind), np.zeros(3, np.int64)]
    rows = *out, *(into[1:] if into is not None else (None, None, None))
    arcs = graph.arcs * (2 if graph.directed else 1)
    history: list[Superstep] = []
    flagged, everywhere = np.empty(0, kind), True
    with launch.task("label propagation", rounds, "rounds") as at:
        for turn in range(rounds):
            transport.superstep, begun = turn, time.perf_counter()
            changed, after, tally = scratch[2:]
            tally[:] = 0
            launch(vote, *rows, turn == 0, everywhere, label, moved, *scratch)
            mine = frozen(changed[: int(tally[0])])
            transport.node_barrier()
            moved[flagged] = False
            label[mine] = after[: len(mine)]
            readers.traffic = Traffic()
            flagged = np.concatenate([mine, readers.exchange(transport, mine, [label])])
            moved[flagged] = True
            traffic = readers.traffic.values, readers.traffic.places + readers.traffic.headers
            total, counted, busy, values, more = transport.reduce(np.array([*tally, *traffic]), "sum").tolist()
            # When many change, hardly anybody is left with nobody near who did.
            everywhere = 4 * busy > arcs
            seconds = time.perf_counter() - begun
            history.append(Superstep(turn, "pull", counted, 0.0, seconds, total, bytes=values, more_bytes=more))
            at(turn + 1)
            if total == 0:
                break
    return whole(transport, parts, label[out.vertices]), history, launch

"""The same on GPUs: each has the whole graph and takes its share of the work, and every rank gets the whole result.

Kernels and how they are launched are in gpu/algorithms/; here is who does what: GPUs of this process are ranks that are
threads, those of an MPI job its ranks. Shares are rows, edges, sources or listed vertices. Counts add up, the rest is
gathered, so that integers are those of cores whatever the shares.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from arcflux import trace
from arcflux.devices import Device
from arcflux.engine.spread import Spread
from arcflux.errors import UsageError
from arcflux.gpu.algorithms.room import Room, working
from arcflux.graph import Graph
from arcflux.kernels.ordered import sorted_rows
from arcflux.partition.parts import Parts
from arcflux.result import Superstep
from arcflux.transports.base import Transport
from arcflux.transports.local import run_local

__all__ = ["Gpus", "components", "corners", "count", "dependencies", "label_propagation", "on_gpus", "predecessors",
           "two_hop"]  # fmt: skip

Array = NDArray[Any]
Answer = TypeVar("Answer")
Rows = tuple[Array, Array]


@dataclass
class Gpus:
    """The GPUs of a run; `seconds` and `compiled` are what the last piece of work took, without and of compiling."""

    spread: Spread
    devices: Sequence[Device]
    seconds: float = 0.0
    compiled: float = 0.0

    def run(self, work: Callable[[Transport, Room], Answer]) -> Answer:
        """What ``work(transport, room)`` gives on every GPU, each in its own room."""

        def rank(transport: Transport) -> tuple[Answer, float]:
            with working(self.devices[transport.rank]) as room:
                return work(transport, room), room.compiled

        begun = time.perf_counter()
        ranks = self.spread.ranks()
        found = rank(ranks) if ranks is not None else run_local(len(self.devices), rank)[0]
        self.compiled = found[1]
        self.seconds = time.perf_counter() - begun - self.compiled
        return found[0]


def on_gpus(
    devices: str | Sequence[Device] | None, parts: int | Parts | None, partition: str, transport: str | None,
    ranks_per_node: int | None, threads: int | None, *, mixed: bool = False,
) -> Gpus | None:  # fmt: skip
    """The GPUs that an algorithm which is no vertex program is to run on; None when cores do it.

    Names are those of :func:`arcflux.run`. GPUs and cores together are refused; with `mixed`, cores then do it alone.
    """
    if devices is None:
        return None
    spread = Spread(parts, partition, "auto", transport, ranks_per_node).checked().on(devices, threads)
    if spread.devices is None:
        return None
    if any(device.buckets for device in spread.devices):  # cores, or what pretends to be another device
        if mixed:
            return None
        raise UsageError(
            f"devices are {', '.join(device.name for device in spread.devices)}, and this is no vertex program",
            expected="GPUs alone, or cores alone",
            remedy="devices='cuda', or leave devices= away",
        )
    if (ranks := spread.ranks()) is not None and ranks.size != len(spread.devices):
        said = f"there are {ranks.size} ranks and {len(spread.devices)} devices"
        raise UsageError(said, expected="one for each rank", remedy="devices='cuda'")
    k = parts.k if isinstance(parts, Parts) else parts
    if k not in (None, len(spread.devices)):
        raise UsageError(f"there are {k} parts and {len(spread.devices)} devices", expected="one for each part")
    how = parts.how if isinstance(parts, Parts) else partition
    if how not in ("ranges", "duplicate"):
        raise UsageError(
            f"partition is {how!r}, and each GPU has the whole graph", expected="'duplicate'", remedy="leave it away"
        )
    return Gpus(spread, spread.devices)


def _rows(graph: Graph) -> tuple[Rows, Rows | None]:
    """Out-edges in order, and in-edges of a directed graph."""
    out, into = sorted_rows(graph)
    return (out.offsets, out.neighbours), (into.offsets, into.neighbours) if graph.directed else None


def _summed(transport: Transport, values: Array) -> Array:
    return values if transport.size == 1 else transport.reduce(values, "sum")


# --- algorithms


def corners(gpus: Gpus, graph: Graph) -> tuple[Array, Array]:
    """Triangles through each vertex, or edges among its neighbours if directed; and how many neighbours it has."""
    from arcflux.gpu.algorithms.triangles import Triangles

    def work(transport: Transport, room: Room) -> tuple[Array, Array]:
        made = Triangles(room, *_rows(graph))
        found = _summed(transport, made.corners(transport.rank, transport.size))
        return found, np.asarray(made.several.copy_to_host())[: graph.vertices]

    return gpus.run(work)


def count(gpus: Gpus, graph: Graph) -> int:
    """How many triangles an undirected graph has."""
    from arcflux.gpu.algorithms.triangles import Triangles

    def work(transport: Transport, room: Room) -> int:
        made = Triangles(room, *_rows(graph))
        return int(_summed(transport, np.array([made.count(transport.rank, transport.size)]))[0])

    return gpus.run(work)


def components(gpus: Gpus, graph: Graph) -> Array:
    """The smallest vertex of each vertex's weakly connected component."""
    from arcflux.gpu.algorithms.components import Forest

    def work(transport: Transport, room: Room) -> Array:
        if not graph.vertices:
            return np.empty(0, graph.out.neighbours.dtype)
        forest = Forest(room, graph.out.offsets, graph.out.neighbours, transport.rank, transport.size)
        forest.sample()
        _merge(transport, forest)
        forest.rest(mirrored=not graph.directed)
        _merge(transport, forest)
        return forest.roots()

    return gpus.run(work)


def _merge(transport: Transport, forest: Any) -> None:
    """Join what vertices point to anywhere."""
    if transport.size > 1:
        every = transport.gather(forest.roots())
        forest.merge([roots for rank, roots in enumerate(every) if rank != transport.rank])


def label_propagation(gpus: Gpus, graph: Graph, rounds: int) -> tuple[Array, list[Superstep]]:
    """The label of every vertex after at most so many rounds, and how the rounds went."""
    from arcflux.gpu.algorithms.label_propagation import Labels

    def work(transport: Transport, room: Room) -> tuple[Array, list[Superstep]]:
        labels = Labels(room, *_rows(graph), transport.rank, transport.size)
        history: list[Superstep] = []
        everywhere = True
        with trace.task("label propagation", total=rounds, unit="rounds") as task:
            for turn in range(rounds if graph.vertices else 1):
                begun = time.perf_counter()
                changed, busy, counted = _summed(transport, labels.vote(everywhere)).tolist()
                if transport.size > 1:
                    labels.tell(np.concatenate(transport.gather(labels.voted())))
                # When many change, hardly anybody is left with nobody near who did.
                everywhere = 4 * busy > labels.arcs
                labels.adopt(mark=not everywhere)
                history.append(Superstep(turn, "pull", counted, 0.0, time.perf_counter() - begun, changed))
                task.at(turn + 1)
                if changed == 0:
                    break
        return labels.labels(), history

    return gpus.run(work)


def dependencies(gpus: Gpus, graph: Graph, sources: Array, endpoints: bool, lanes: int) -> tuple[Array, Array]:
    """What the paths from all sources give to each vertex, and the sources: those of the first rank.

    Sums have the bits of cores that have as many lanes; several GPUs have at least one each.
    """
    from arcflux.gpu.algorithms.betweenness import Dependencies
    from arcflux.kernels.betweenness import MANY

    def work(transport: Transport, room: Room) -> tuple[Array, Array]:
        size, n = transport.size, graph.vertices
        agreed = sources.astype(np.int64) if size == 1 else transport.broadcast(sources.astype(np.int64), 0)
        every = max(lanes, min(size, len(agreed)))
        mine = range(every * transport.rank // size, every * (transport.rank + 1) // size)
        with trace.task("betweenness", total=len(agreed), unit="sources") as task:
            made = Dependencies(room, *_rows(graph), len(mine))
            scores = made.run(agreed, every, mine, float(endpoints), MANY, task.advance)
        if size > 1:
            scores = np.concatenate(transport.gather(scores.reshape(-1))).reshape(-1, n)
        return np.asarray(scores.sum(axis=0)), agreed

    return gpus.run(work)


def two_hop(
    gpus: Gpus, graph: Graph, chosen: Array, room_for: Callable[[int], Array] | None
) -> tuple[Array, Array | None, Array | None]:
    """How many friends each chosen vertex has; with `room_for`, which makes an array for them, also their lists."""
    from arcflux.gpu.algorithms.two_hop import TwoHop

    def work(transport: Transport, room: Room) -> tuple[Array, Array | None, Array | None]:
        size = len(chosen)
        mine = slice(size * transport.rank // transport.size, size * (transport.rank + 1) // transport.size)
        made = TwoHop(room, *_rows(graph)[0], chosen[mine])
        counts = made.counts()
        if room_for is None:
            return _gathered(transport, counts), None, None
        every = _gathered(transport, counts)
        offsets = np.concatenate([[0], np.cumsum(every)]).astype(np.int64)
        own = offsets[mine.start : mine.stop + 1]
        friends = room_for(int(own[-1] - own[0]) if transport.size > 1 else int(offsets[-1]))
        made.lists(own - own[0], friends)
        return every, offsets, _gathered(transport, friends)

    return gpus.run(work)


def _gathered(transport: Transport, values: Array) -> Array:
    return values if transport.size == 1 else np.concatenate(transport.gather(values))


def predecessors(gpus: Gpus, graph: Graph, distance: Array, far: float, predecessor: Array) -> tuple[Array, int]:
    """From whom each vertex has its distance, and how many do not have it from one at a smaller distance."""
    from arcflux.gpu.algorithms import predecessors as on_gpu

    def work(transport: Transport, room: Room) -> tuple[Array, int]:
        into, share = graph.into, (transport.rank, transport.size)
        rows = into.offsets, into.neighbours, graph.in_columns["weight"]
        found, lacking = on_gpu.predecessors(room, *rows, distance, far, predecessor, *share)
        return _gathered(transport, found), int(_summed(transport, np.array([lacking]))[0])

    return gpus.run(work)

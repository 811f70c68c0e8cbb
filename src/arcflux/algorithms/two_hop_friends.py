"""Two-hop friends: who can be reached by way of one other, and is no friend yet."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import arcflux as af
from arcflux import trace
from arcflux.checks import array, flag, maybe, real
from arcflux.checks import seed as any_seed
from arcflux.devices import Device
from arcflux.distributed.gpus import on_gpus
from arcflux.distributed.gpus import two_hop as on_gpu
from arcflux.engine.call import graph_call
from arcflux.engine.spread import Spread, asked, on_ranks
from arcflux.errors import UsageError
from arcflux.graph import Graph
from arcflux.kernels.friends import Friends
from arcflux.spmd.memory import empty
from arcflux.spmd.space import afford

__all__ = ["TwoHopFriends", "two_hop_friends"]

Array = NDArray[Any]


@dataclass(frozen=True, repr=False)
class TwoHopFriends(af.Result):
    """The result of :func:`two_hop_friends`: the field `count`, and the lists.

    The lists are kept as vertex numbers: those of ``chosen[k]`` are ``neighbours[offsets[k]:offsets[k + 1]]``, sorted.
    """

    chosen: Array = field(default_factory=lambda: np.empty(0, np.int64))
    offsets: Array | None = None
    neighbours: Array | None = None

    def friends(self, vertex: Any) -> Array:
        """The two-hop friends of one vertex, given by its id, as ids in their order.

        Examples
        --------
        >>> import arcflux as af
        >>> af.algorithms.two_hop_friends(af.load("path:5")).friends(2).tolist()
        [0, 4]
        """
        offsets, neighbours = self._kept()
        number = int(self.graph.ids.to_numbers([vertex])[0])
        k = int(np.searchsorted(self.chosen, number))
        if k == len(self.chosen) or self.chosen[k] != number:
            raise UsageError(f"vertex {vertex!r} was not selected", remedy="name it in vertices=")
        return self.graph.ids.to_ids(neighbours[int(offsets[k]) : int(offsets[k + 1])])

    def lists(self) -> tuple[Array, Array, Array]:
        """All lists in ids: the selected vertices, where the list of each begins and ends, and the friends.

        Examples
        --------
        >>> import arcflux as af
        >>> [part.tolist() for part in af.algorithms.two_hop_friends(af.load("path:4"), [0, 3]).lists()]
        [[0, 3], [0, 1, 2], [2, 1]]
        """
        offsets, neighbours = self._kept()
        return self.graph.ids.to_ids(self.chosen), offsets, self.graph.ids.to_ids(neighbours)

    def _kept(self) -> tuple[Array, Array]:
        if self.offsets is None or self.neighbours is None:
            raise UsageError("the friends were counted, not listed", remedy="leave lists=False away")
        return self.offsets, self.neighbours


@graph_call(vertices=array, fraction=maybe(real), seed=any_seed, lists=flag)
def two_hop_friends(
    graph: Graph,
    vertices: Any = None,
    *,
    fraction: float | None = None,
    seed: int = 0,
    lists: bool = True,
    threads: int | None = None,
    parts: int | af.Parts | None = None,
    partition: str = "ranges",
    transport: str | None = None,
    ranks_per_node: int | None = None,
    devices: str | Sequence[Device] | None = None,
) -> TwoHopFriends:
    """The vertices at distance two from each selected vertex: TFL of the G2 paper (Zhong, He 2013, section V).

    The paper says no more than "two-hop friends"; here they are the vertices that two edges lead to and one does not,
    without the vertex itself. Edges are followed in their direction. Parallel edges, self-loops and edge columns make
    no difference. `count` is the number of friends, -1 of a vertex that was not selected; the lists are sorted by id.
    The result does not depend on the number of threads.

    Parameters
    ----------
    vertices
        The ids of the selected vertices; all without it. A repeated one counts once.
    fraction
        Instead of `vertices`: so many of all, chosen at random by `seed`. The paper takes 0.1.
    lists
        False to count only. All lists together can be much larger than the graph; they are counted first, and a
        :class:`~arcflux.errors.SpaceError` says so when they do not fit the memory.
    threads
        Workers; every core without it.
    parts, partition, transport, ranks_per_node
        Those of :func:`arcflux.run`: run on parts of the graph.
    devices
        That of :func:`arcflux.run`: run on GPUs, and on cores beside them, each with the whole graph and some of the
        selected vertices.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges(["ada", "bob", "bob"], ["bob", "eve", "dan"], directed=False)
    >>> found = af.algorithms.two_hop_friends(g)
    >>> found.friends("ada").tolist(), found["count"].tolist()
    (['dan', 'eve'], [2, 0, 2, 2])
    """
    begun = time.perf_counter()
    chosen = _chosen(graph, vertices, fraction, seed)
    where = parts, partition, transport, ranks_per_node, threads

    def room(friends: int) -> Array:
        return _room(friends, graph.out.neighbours.dtype, len(chosen))

    if (gpus := on_gpus(devices, *where)) is not None:
        found = on_gpu(gpus, graph, chosen, room if lists else None)
        return _result(graph, chosen, *found, gpus.seconds, gpus.compiled)
    spread = asked(*where)
    if spread is not None:
        return _spread(spread, graph, chosen, room if lists else None)
    made = Friends(graph, chosen, threads)
    offsets = friends = None
    with trace.task("count two-hop friends", total=len(chosen), unit="vertices") as task:
        counts = made.counts(task=task)
    if lists:
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        with trace.task("list two-hop friends", total=len(chosen), unit="vertices") as task:
            friends = made.lists(offsets, room, task=task)
    seconds = time.perf_counter() - begun - made.compile_seconds
    return _result(graph, chosen, counts, offsets, friends, seconds, made.compile_seconds)


def _spread(
    spread: Spread, graph: Graph, chosen: Array, room: Callable[[int], Array] | None
) -> TwoHopFriends:  # fmt: skip
    """The same on parts of the graph."""
    from arcflux.distributed import two_hop as distributed

    def work(transport: Any, parts: af.Parts) -> tuple[Array, Array | None, Array | None, Any]:
        return distributed.two_hop_friends(transport, parts, chosen, room)

    counts, offsets, friends, launch = on_ranks(spread, graph, work)
    return _result(graph, chosen, counts, offsets, friends, launch.seconds, launch.compiled)


def _result(
    graph: Graph,
    chosen: Array,
    counts: Array,
    offsets: Array | None,
    friends: Array | None,
    seconds: float,
    compiled: float,
) -> TwoHopFriends:
    count = np.full(graph.vertices, -1, np.int64)
    count[chosen] = counts
    return TwoHopFriends(
        "two-hop friends", graph, {"count": count}, [], True, seconds, compiled,
        chosen=chosen, offsets=offsets, neighbours=friends,
    )  # fmt: skip


def _chosen(graph: Graph, vertices: Any, fraction: float | None, seed: int) -> Array:
    """The numbers of the selected vertices, each once, in order."""
    if vertices is not None and fraction is not None:
        raise UsageError("both vertices and fraction are given", expected="one of them")
    if fraction is not None:
        if not (isinstance(fraction, (int, float)) and 0 <= fraction <= 1):
            raise UsageError(f"fraction is {fraction!r}", expected="a number from 0 to 1")
        size = round(fraction * graph.vertices)
        return np.sort(np.random.default_rng(seed).choice(graph.vertices, size, replace=False)).astype(np.int64)
    if vertices is None:
        return np.arange(graph.vertices)
    if np.ndim(vertices) != 1:
        raise UsageError(f"vertices is {vertices!r}", expected="a list of ids")
    return np.unique(graph.ids.to_numbers(vertices)) if len(vertices) else np.empty(0, np.int64)


def _room(friends: int, kind: Any, vertices: int) -> Array:
    """An array for all lists, if there is memory for it."""
    afford(
        friends * np.dtype(kind).itemsize, f"the lists of {vertices:,} vertices hold {friends:,} friends; keeping them",
        "lists=False to count only, or fewer vertices at a time: vertices= or fraction=",
    )  # fmt: skip
    return empty(friends, kind)

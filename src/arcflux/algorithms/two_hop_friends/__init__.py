"""Two-hop friends: the vertices at distance two."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import arcflux as af
from arcflux.checks import array, flag, maybe, real
from arcflux.checks import seed as any_seed
from arcflux.engine.call import graph_call
from arcflux.engine.launch import launch
from arcflux.engine.worker import Worker
from arcflux.errors import UsageError
from arcflux.graph import Graph
from arcflux.spmd.space import afford

__all__ = ["TwoHopFriends", "two_hop_friends", "work"]

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
            raise UsageError("the friends were counted, not listed", remedy="leave lists=False out")
        return self.offsets, self.neighbours


@graph_call(vertices=array, fraction=maybe(real), seed=any_seed, lists=flag)
def two_hop_friends(
    graph: Graph,
    vertices: Any = None,
    *,
    fraction: float | None = None,
    seed: int = 0,
    lists: bool = True,
    **where: Any,
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
        Instead of `vertices`: this share of all, chosen at random by `seed`. The paper takes 0.1.
    lists
        False to count only. All lists together can be much larger than the graph; they are counted first, and a
        :class:`~arcflux.errors.SpaceError` says so when they do not fit the memory.
    **where
        The options of :func:`arcflux.run` that say where it runs: `threads`, `parts`, `partition`, `transport`,
        `ranks_per_node`, `devices`. Every worker sees the whole graph and takes some of the selected vertices.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.Graph.from_edges(["ada", "bob", "bob"], ["bob", "eve", "dan"], directed=False)
    >>> found = af.algorithms.two_hop_friends(g)
    >>> found.friends("ada").tolist(), found["count"].tolist()
    (['dan', 'eve'], [2, 0, 2, 2])
    """
    chosen = _chosen(graph, vertices, fraction, seed)
    done = launch(graph, where, lambda worker: work(worker, chosen, lists))
    counts, offsets, friends = done.answer
    count = np.full(graph.vertices, -1, np.int64)
    count[chosen] = counts
    result = TwoHopFriends(
        "two-hop friends", graph, {"count": count}, [], True, done.seconds, done.compile_seconds,
        chosen=chosen, offsets=offsets, neighbours=friends,
    )  # fmt: skip
    made = done.finish(result).checked_by(_checked)
    assert isinstance(made, TwoHopFriends)
    return made


def _checked(result: af.Result) -> Any:
    assert isinstance(result, TwoHopFriends)
    lists = None if result.offsets is None else (result.offsets, result.neighbours)
    chosen = result.graph.ids.to_ids(result.chosen)
    return af.validate.two_hop_friends(result.graph, chosen, result["count"], lists)


def work(worker: Worker, chosen: Array, lists: bool) -> tuple[Array, Array | None, Array | None]:
    """The number of friends of each chosen vertex; the offsets of their lists, and the lists, if asked."""
    first, last = worker.share(len(chosen))
    own = worker.kernels(__name__).TwoHop(worker, chosen[first:last])
    counts = worker.gather(own.counts())
    if not lists:
        return counts, None, None
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    total, item = int(offsets[-1]), worker.graph.out.neighbours.dtype.itemsize
    afford(
        total * item, f"the lists of {len(chosen):,} vertices hold {total:,} friends; keeping them",
        "lists=False to count only, or fewer vertices at a time: vertices= or fraction=",
    )  # fmt: skip
    friends = own.lists(offsets[first : last + 1] - offsets[first])
    return counts, offsets, worker.gather(friends)


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

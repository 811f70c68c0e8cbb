"""What parts read of each other: the sets of Lux (equations 6 to 9), and from them what each part sends to each.

INS(P) are the sources and ONS(P) the targets of the arcs at a part. A node is some parts that share memory; UDS(N) are
the vertices that a node's parts read and others own, so their values have to come from elsewhere. (Equation 9 takes the
ONS off where this takes the owned vertices off. In Lux both are one range of vertices; but a vertex without in-arcs
is in no ONS, and on a grid the ONS are not the owned vertices.)

A sender finds its lists from the out-arcs of what it owns, a receiver from the in-arcs at its node: each looks at its
own slices of the graph alone, and both come to the same lists in the same order, so none has to be sent. Only where
the in-arcs at a node may be those of any vertex, a receiver goes over the graph, and finds all senders' lists at once.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arcflux.checks import whole
from arcflux.errors import UsageError
from arcflux.partition import kernels
from arcflux.partition.parts import Parts, candidates
from arcflux.spmd.memory import empty, frozen, recycled
from arcflux.spmd.pool import run

__all__ = ["Halo", "by_node", "ins", "ons", "uds"]

Array = NDArray[Any]

_WORD = 64
_ENDS = ("sources", "targets", "both")


def ins(parts: Parts, i: int) -> Array:
    """INS of part `i`: the vertices that are the source of an arc there, ascending (equation 7).

    Examples
    --------
    >>> import arcflux as af
    >>> ins(af.partition("path:6", 2), 1).tolist()
    [2, 3, 4, 5]
    """
    return _numbers(parts, _mark_ends(parts, [i], "sources"))


def ons(parts: Parts, i: int) -> Array:
    """ONS of part `i`: the vertices that are the target of an arc there, ascending (equation 8)."""
    return _numbers(parts, _mark_ends(parts, [i], "targets"))


def uds(parts: Parts, nodes: ArrayLike | None = None) -> list[Array]:
    """UDS of every node: what its parts read as sources and no part of it owns, ascending (equation 9).

    `nodes` gives the node of each part; without it, each is a node of its own.

    Examples
    --------
    >>> import arcflux as af
    >>> [u.tolist() for u in uds(af.partition("path:8", 4), [0, 0, 1, 1])]
    [[4], [3]]
    """
    halo = Halo(parts, nodes)
    return [halo.uds(node) for node in range(halo.count)]


def by_node(k: int, ranks_per_node: int) -> Array:
    """The node of each of `k` parts, when each node takes the next `ranks_per_node` of them."""
    return np.arange(k) // ranks_per_node


class Halo:
    """What each part sends to each: the lists of every part, each made when it is first asked for.

    Parameters
    ----------
    parts
        The parts; `nodes` is the node of each of them, 0, 1, ... (without it, each is a node of its own).
    ends
        Which vertices of its arcs a node has to do with: their "sources" (it reads them), their "targets" (it
        contributes to them, which matters where arcs are not at their target's owner), or "both".

    Examples
    --------
    >>> import arcflux as af
    >>> halo = Halo(af.partition("path:8", 4), [0, 0, 1, 1])
    >>> [vertices.tolist() for vertices in halo.sends(1)]
    [[], [3]]
    >>> {sender: vertices.tolist() for sender, vertices in halo.receives(2).items()}
    {0: [], 1: [3]}
    """

    def __init__(self, parts: Parts, nodes: ArrayLike | None = None, *, ends: str = "sources") -> None:
        self.parts, self.ends = parts, ends
        self.nodes = np.arange(parts.k) if nodes is None else np.asarray(nodes)
        if self.nodes.shape != (parts.k,) or self.nodes.dtype.kind not in "iu" or int(self.nodes.min()) < 0:
            raise UsageError(
                f"nodes is {nodes!r}", expected=f"{parts.k} numbers from 0 on: the node of each part",
            )  # fmt: skip
        if ends not in _ENDS:
            raise UsageError(f"ends is {ends!r}", expected=", ".join(_ENDS))
        self.nodes = frozen(self.nodes.astype(np.int64))
        self.count = int(self.nodes.max()) + 1
        self._sends: dict[int, list[Array]] = {}
        self._receives: dict[int, dict[int, Array]] = {}

    @cached_property
    def members(self) -> list[list[int]]:
        """The parts of each node."""
        return [np.flatnonzero(self.nodes == node).tolist() for node in range(self.count)]

    def receiver(self, sender: int, node: int) -> int:
        """Which part of `node` takes what `sender` sends there: they take turns, by the sender's number."""
        mates = self.members[node]
        return mates[sender % len(mates)]

    def sends(self, part: int) -> list[Array]:
        """For every node, the vertices that `part` owns and that node has to do with, ascending; none for its own."""
        if part not in self._sends:
            owned, made = self.parts.owned(part), []
            for base in range(0, self.count, _WORD):
                made += self._lists(owned, base, int(self.nodes[part]))
            self._sends[part] = made
        return self._sends[part]

    def receives(self, part: int) -> dict[int, Array]:
        """For every part on another node, the vertices it owns and the node of `part` has to do with, ascending."""
        node = int(self.nodes[part])
        if node not in self._receives:
            foreign = [i for i in range(self.parts.k) if self.nodes[i] != node]
            if self.parts.local_targets:
                self._receives[node] = self._by_owner(self.uds(node), foreign)
            else:
                self._receives[node] = {i: self.sends(i)[node] for i in foreign}
        return self._receives[node]

    def uds(self, node: int) -> Array:
        """What the parts of `node` have to do with and none of them owns, ascending."""
        if not 0 <= whole("node", node) < self.count:
            raise UsageError(f"there is no node {node}", expected=f"a number from 0 to {self.count - 1}")
        mine = self.members[node]
        seen = _mark_ends(self.parts, mine, self.ends)
        for i in mine:
            if self.parts.bounds is not None:
                seen[self.parts.bounds[i] : self.parts.bounds[i + 1]] = False
            else:
                seen[self.parts.owned(i)] = False
        return _numbers(self.parts, seen)

    def _lists(self, owned: Array, base: int, own: int) -> list[Array]:
        """The lists for up to 64 nodes from `base` on: a mask of nodes for each vertex, taken apart."""
        graph, parts = self.parts.graph, self.parts
        here = min(_WORD, self.count - base)
        inside = (self.nodes >= base) & (self.nodes < base + here) & (self.nodes != own)
        bits = np.where(inside, np.uint64(1) << np.where(inside, self.nodes - base, 0).astype(np.uint64), np.uint64(0))
        full = np.bitwise_or.reduce(bits) if f"{parts.placement}s" != self.ends else np.uint64(0)  # else all are owned
        found, chunks = recycled(len(owned), np.uint64), -(-len(owned) // kernels.CHUNK)
        rule = parts.rule.tables(parts.owner, graph)
        if full and self.ends != "targets":
            run(kernels.masks, chunks, graph.out, owned, True, frozen(bits), full, rule, found)
        if full and self.ends != "sources":
            run(kernels.masks, chunks, graph.into, owned, False, frozen(bits), full, rule, found)
        chunks = -(-len(owned) // kernels.LIST)
        counts = np.zeros((chunks, here), np.uint64)
        run(kernels.count_bits, chunks, found, counts)
        ends = np.cumsum(counts.sum(axis=0), dtype=np.uint64)
        begins = ends - counts.sum(axis=0)
        places = begins + np.cumsum(counts, axis=0, dtype=np.uint64) - counts
        lists = empty(int(ends[-1]), owned.dtype)
        run(kernels.list_bits, chunks, found, owned, places, lists)
        return [frozen(lists[int(begin) : int(end)]) for begin, end in zip(begins, ends, strict=True)]

    def _by_owner(self, vertices: Array, foreign: list[int]) -> dict[int, Array]:
        parts = self.parts
        if parts.bounds is not None:
            cuts = np.searchsorted(vertices, parts.bounds.astype(vertices.dtype))
        else:
            owner = parts.owner[vertices]
            vertices = vertices[np.argsort(owner, kind="stable")]
            cuts = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=parts.k))])
        return {i: frozen(vertices[cuts[i] : cuts[i + 1]]) for i in foreign}


def _mark_ends(parts: Parts, chosen: list[int], ends: str) -> Array:
    """Which vertices are an end of an arc at one of the chosen parts: a flag for each vertex of the graph."""
    graph = parts.graph
    wanted, seen = np.zeros(parts.k, np.bool_), recycled(graph.vertices, np.bool_)
    wanted[chosen] = True
    rule = parts.rule.tables(parts.owner, graph)
    for rows in (candidates(parts, i) for i in chosen) if parts.local_targets else [candidates(parts, chosen[0])]:
        given = -(-len(rows) // kernels.CHUNK), graph.into, frozen(rows), frozen(wanted), rule, seen
        if ends != "targets":
            run(kernels.mark_sources, *given)
        if ends != "sources":
            run(kernels.mark_targets, *given)
    return seen


def _numbers(parts: Parts, seen: Array) -> Array:
    return frozen(np.flatnonzero(seen).astype(parts.graph.out.neighbours.dtype))

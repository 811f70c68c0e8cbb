"""Connected components on parts: a forest a node, and between nodes only the trees of vertices that several nodes have.

The ranks of a node hang their own arcs into one forest that they share, as kernels/components.py does it. Then forests
are merged up a tree of nodes. Two forests are joined by the vertices that both nodes have, so of these alone a node
tells the root; the smallest root wins on the way up, and the roots of shared vertices come back down. A vertex of one
node only follows its own root there, and what it came to is told at the end, when everybody learns everything. So each
node sends a few values a vertex, however many arcs there are.

An undirected graph is sampled first, two arcs a row. Rows that point to the root of the largest component then skip
the rest: the other end of an edge has it as well, and looks at it unless it points there too. Forests are merged before
that, so that all nodes have that root, and hardly any row of the component is left.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.distributed.launch import Launch
from arcflux.engine.exchange import Traffic, packed, unpacked
from arcflux.kernels.components import CHUNK, SAMPLES, compress, link, most_frequent
from arcflux.partition.parts import Part, Parts
from arcflux.spmd.jit import kernel
from arcflux.spmd.machine import take
from arcflux.spmd.memory import frozen
from arcflux.transports.base import Transport

__all__ = ["components"]

Array = NDArray[Any]

_UP, _DOWN, _REST = range(3)
_SAMPLED = 2


@kernel
def join(
    worker: Any, workers: Any, control: Any, targets: Any, offsets: Any, neighbours: Any, first: Any, last: Any,
    giant: Any, above: Any,
) -> None:  # fmt: skip
    """Link the arcs from the `first` up to the `last` of each row; where a giant is given, not of those in it."""
    while True:
        some, rest = take(control, np.uint64(targets.size), np.uint64(CHUNK))
        if some == rest:
            break
        for r in range(some, rest):
            v = np.uint64(targets[r])
            if giant.size > 0 and above[v] == giant[0]:
                continue
            begin, end = offsets[r], offsets[r + np.uint64(1)]
            for i in range(begin + min(first, end - begin), begin + min(last, end - begin)):
                link(above, v, np.uint64(neighbours[i]))


@kernel
def join_pairs(worker: Any, workers: Any, control: Any, vertices: Any, roots: Any, above: Any) -> None:
    """Link each vertex with its root elsewhere."""
    while True:
        begin, end = take(control, np.uint64(vertices.size), np.uint64(CHUNK))
        if begin == end:
            break
        for k in range(begin, end):
            link(above, np.uint64(vertices[k]), np.uint64(roots[k]))


@kernel
def flatten(worker: Any, workers: Any, control: Any, begin: Any, end: Any, above: Any) -> None:
    """Point vertices straight to their roots."""
    while True:
        low, high = take(control, end - begin, np.uint64(CHUNK))
        if low == high:
            break
        compress(above, begin + low, begin + high)


@kernel
def largest(worker: Any, workers: Any, control: Any, above: Any, sample: Any) -> None:
    """``sample[0]``: a root to which many vertices point."""
    most_frequent(above, sample)


def components(transport: Transport, parts: Parts) -> tuple[Array, Launch]:
    """The smallest vertex of each vertex's weakly connected component."""
    graph, launch = parts.graph, Launch(transport)
    part = parts.part(transport.rank)
    forest = _Forest(transport, parts, part, launch)
    rows = frozen(part.targets), *part.into
    nobody = np.empty(0, forest.above.dtype)
    every, few = np.uint64(graph.arcs), np.uint64(_SAMPLED)
    if not graph.vertices:
        return forest.above.copy(), launch
    if graph.directed:
        launch(join, *rows, np.uint64(0), every, nobody, forest.above)
    else:
        launch(join, *rows, np.uint64(0), few, nobody, forest.above)
        forest.merge()
        launch(join, *rows, few, every, forest.giant(), forest.above)
    forest.merge()
    forest.share_rest()
    return forest.above.copy(), launch


class _Forest:
    """The forest of this rank's node: ``above[v]`` is a vertex of v's component, no larger than v; in the end the root.

    `above` is shared by the node. The leader of each node speaks for it: `touched[node]` are the vertices that are an
    end of some arc there, and `known` are the roots that all nodes have been told.
    """

    def __init__(self, transport: Transport, parts: Parts, part: Part, launch: Launch) -> None:
        self.transport, self.launch = transport, launch
        n, kind = parts.graph.vertices, parts.graph.out.neighbours.dtype
        mates = len(transport.mates)
        self.share = [np.uint64(n * place // mates) for place in (transport.place, transport.place + 1)]
        self.above = transport.shared(n, kind)
        begin, end = (int(cut) for cut in self.share)
        self.above[begin:end] = np.arange(begin, end, dtype=kind)
        self.touched: Array | None = None
        if transport.nodes > 1:
            self.touched = _touched(transport, part, n)
            several = np.count_nonzero(self.touched, axis=0) > 1
            self.common = np.flatnonzero(several).astype(kind)
            self.alone = [np.flatnonzero(there & ~several).astype(kind) for there in self.touched]
            self.known = self.common.copy()
            launch(join_pairs, frozen(self.common[:0]), frozen(self.common[:0]), self.above)
        transport.node_barrier()

    def merge(self) -> None:
        """Make one forest of all nodes': every vertex that a node has then points to its root. Collective."""
        self._flatten()
        if self.touched is not None:
            if self.transport.place == 0:
                self._merge_up(self.touched)
                self._spread_down()
            self.transport.node_barrier()
            self._flatten()

    def giant(self) -> Array:
        """A root to which many vertices point, the same on all ranks."""
        sample = np.zeros(SAMPLES, self.above.dtype)
        self.launch(largest, frozen(self.above), sample)
        self.transport.node_barrier()
        return self.transport.broadcast(sample[:1].copy(), 0)

    def share_rest(self) -> None:
        """Every node learns the roots of the vertices that it does not have. Collective."""
        transport = self.transport
        if self.touched is not None and transport.place == 0:
            mine = self.alone[transport.node]
            others = [node for node in range(transport.nodes) if node != transport.node]
            message = self._message(mine, self.above[mine], self.above[mine] != mine)
            for node in others:
                transport.post(transport.leaders[node], message, _REST)
            for node in others:
                some, roots = self._heard(transport.leaders[node], _REST, self.alone[node])
                self.above[some] = roots
            transport.finish()
        transport.barrier()

    def _flatten(self) -> None:
        self.transport.node_barrier()
        self.launch(flatten, *self.share, self.above)
        self.transport.node_barrier()

    def _merge_up(self, touched: Array) -> None:
        """Take the roots of the nodes below in a binomial tree, then tell those of common vertices to the one above."""
        transport, node = self.transport, self.transport.node
        reach = 1
        while reach < transport.nodes and not node & reach:
            if node + reach < transport.nodes:
                places = self._places(touched, node + reach, reach)
                some, roots = self._heard(transport.leaders[node + reach], _UP, self.common[places])
                self._link(some, roots)
            reach *= 2
        if node:
            places = self._places(touched, node, reach)
            vertices = self.common[places]
            roots = self.above[vertices]
            message = self._message(vertices, roots, roots != self.known[places])
            transport.post(transport.leaders[node - reach], message, _UP)
            transport.finish()

    def _places(self, touched: Array, node: int, reach: int) -> Array:
        """Which common vertices the nodes have that a node of the tree speaks for."""
        return np.flatnonzero(touched[node : node + reach, self.common].any(axis=0))

    def _spread_down(self) -> None:
        """The roots of common vertices, as far as they are new, go down the same tree."""
        transport, node = self.transport, self.transport.node
        reach = 1
        while reach < transport.nodes and not node & reach:
            reach *= 2
        if node:
            some, roots = self._heard(transport.leaders[node - reach], _DOWN, self.common)
            self._link(some, roots)
            now = self.known.copy()
            now[np.searchsorted(self.common, some)] = roots
        else:
            now = self.above[self.common]
        chosen = now != self.known
        self.known = now
        while reach > 1:
            reach //= 2
            if node + reach < transport.nodes:
                transport.post(transport.leaders[node + reach], self._message(self.common, now, chosen), _DOWN)
        transport.finish()

    def _link(self, vertices: Array, roots: Array) -> None:
        """Join vertices with roots, and point all to theirs: one rank alone, while its mates wait."""
        join_pairs(0, 1, np.zeros(16, np.int64), frozen(vertices), frozen(roots), self.above)
        flatten(0, 1, np.zeros(16, np.int64), np.uint64(0), np.uint64(len(self.above)), self.above)

    def _message(self, vertices: Array, roots: Array, chosen: Array) -> list[Array]:
        return packed(vertices, chosen, lambda some: [roots[chosen]], Traffic())[0]

    def _heard(self, peer: int, tag: int, vertices: Array) -> tuple[Array, Array]:
        some, (roots,) = unpacked(self.transport.collect(peer, tag), vertices, [self.above])
        return some, roots


def _touched(transport: Transport, part: Part, vertices: int) -> Array:
    """For each node, which vertices are an end of an arc at one of its parts: bool[nodes, vertices]."""
    flags = np.zeros(vertices, bool)
    offsets, neighbours = part.into
    flags[neighbours[int(offsets[0]) : int(offsets[-1])]] = True
    flags[part.targets[np.diff(offsets) > 0]] = True
    bits = np.zeros((transport.nodes, -(-vertices // 8)), np.uint8)
    bits[transport.node] = np.packbits(flags)
    whole = transport.reduce(bits, "or")
    return np.unpackbits(whole, axis=1, count=vertices).astype(bool)

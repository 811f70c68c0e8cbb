"""Two layers of GraphSAGE on a worker: its own vertices, in batches, or once for each vertex.

The study's form computes, for a batch of sources, their children and the leaves of each child: part 1 draws children,
part 2 processes children, part 3 sources. Since the mean of products is the product of the mean, each vertex's features
are multiplied by both weights once, and then only rows are gathered; so the three parts multiply V rows and not B (1 +
C) of them for every batch.

Workers own vertices. A worker has copies of others' features (`duplicated`), requests them for each batch (`direct`),
or receives as products, once, all that its rows can lead to (`streamed`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.applications.traffic import Traffic
from arcflux.engine.worker import Worker
from arcflux.spmd.space import afford

__all__ = ["Asked", "work"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Asked:
    """The parameters. weights: self and neighbours' of layer 1, then of layer 2; biases: of each layer, or None.

    children, leaves: how many are drawn, 0 for all neighbours.
    """

    features: Array
    weights: tuple[Array, Array, Array, Array]
    biases: tuple[Array | None, Array | None]
    add: bool
    children: int
    leaves: int
    share: bool
    batch: int
    relu: tuple[bool, bool]
    normalise: tuple[bool, bool]
    source: str
    seed: int


def work(worker: Worker, asked: Asked) -> tuple[Array, Mapping[str, int]]:
    """The embedding of all vertices, and the bytes that were sent."""
    layers = _Layers(worker, asked)
    first, last = worker.share_of_rows()
    if asked.children == 0 or asked.share:
        own = layers.once()
    else:
        out = np.empty((last - first, layers.width), np.float32)
        with worker.task("graphsage", last - first, "vertices") as task:
            rounds = int(worker.gather(np.array([-(-(last - first) // asked.batch)])).max(initial=0))
            for k in range(rounds):
                begin = min(first + k * asked.batch, last)
                end = min(begin + asked.batch, last)
                out[begin - first : end - first] = layers.batch(np.arange(begin, end))
                task.at(end - first)
        own = out
    with layers.traffic.phase("result"):
        whole = worker.gather(np.ascontiguousarray(own).reshape(-1)).reshape(-1, layers.width)
    return whole, layers.traffic.total()


class _Layers:
    """The weights, and the products of features that a worker has."""

    def __init__(self, worker: Worker, asked: Asked) -> None:
        self.worker, self.asked, self.traffic = worker, asked, Traffic(worker)
        self.kernels = worker.kernels(__package__ or "")
        self.cuts, (self.first, self.last) = worker.row_cuts, worker.share_of_rows()
        one, two = asked.weights[0].shape[1], asked.weights[2].shape[1]
        self.hidden = one if asked.add else one + asked.weights[1].shape[1]
        self.width = two if asked.add else two + asked.weights[3].shape[1]
        self.products: tuple[Array, Array] | None = None
        once = asked.children == 0 or asked.share
        self.narrow = once and asked.features.shape[1] <= asked.weights[1].shape[1]
        if not self.narrow and (asked.source != "direct" or worker.size == 1 or once):
            self.products = self._products()

    def _products(self) -> tuple[Array, Array]:
        """Features times both weights of layer 1: of all vertices, or of own ones and those that their rows reach."""
        asked, features = self.asked, self.asked.features
        if asked.source == "duplicated" or self.worker.size == 1:
            return features @ asked.weights[0], features @ asked.weights[1]
        own = features[self.first : self.last]
        with self.traffic.phase("features"):
            reach = 2 if not (asked.children == 0 or asked.share) else 1
            made = self._halo(np.concatenate([own @ asked.weights[0], own @ asked.weights[1]], 1), reach)
        wide = asked.weights[0].shape[1]
        return np.ascontiguousarray(made[:, :wide]), np.ascontiguousarray(made[:, wide:])

    def _halo(self, own: Array, hops: int) -> Array:
        """Rows of all vertices that own rows lead to within so many hops, sent by their owners, in an array of all."""
        whole = np.zeros((self.worker.graph.vertices, own.shape[1]), np.float32)
        whole[self.first : self.last] = own
        needed = np.arange(self.first, self.last)
        for _ in range(hops):
            needed = np.union1d(needed, self._heads(needed))
        needed = needed[(needed < self.first) | (needed >= self.last)]
        whole[needed] = self._rows_of(needed, own)
        return whole

    def _heads(self, vertices: Array) -> Array:
        offsets, neighbours = self.worker.graph.out
        begins = offsets[vertices].astype(np.int64)
        counts = offsets[vertices + 1].astype(np.int64) - begins
        arcs = np.repeat(begins - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        return np.unique(neighbours[arcs].astype(np.int64))

    def _rows_of(self, vertices: Array, own: Array) -> Array:
        """Rows of vertices in order, from their owners; collective."""
        word = self.worker.graph.out.neighbours.dtype
        ends = np.searchsorted(vertices, self.cuts[1:-1])
        asked = self.worker.swap(np.split(vertices.astype(word), ends))
        given = [own[some.astype(np.int64) - self.first].reshape(-1) for some in asked]
        return np.concatenate(self.worker.swap(given)).reshape(-1, own.shape[1])

    # --- once for each vertex

    def once(self) -> Array:
        """The embedding of own vertices, with one sample for each vertex and layer, or all neighbours."""
        asked, features = self.asked, self.asked.features
        if self.narrow:  # first the mean of rows, which is the narrower one, then the product
            rows = features
            if self.worker.size > 1 and asked.source != "duplicated":
                with self.traffic.phase("features"):
                    rows = self._halo(np.ascontiguousarray(features[self.first : self.last]), 1)
            mine = features[self.first : self.last] @ asked.weights[0]
            one = self._combined(mine, None, self._means(rows, 0) @ asked.weights[1], 0)
        else:
            assert self.products is not None
            own, theirs = self.products[0][self.first : self.last], self._means(self.products[1], 0)
            one = self._combined(own, None, theirs, 0)
        mine, theirs = one @ asked.weights[2], one @ asked.weights[3]
        if self.worker.size > 1:
            with self.traffic.phase("hidden"):
                theirs = self._halo(theirs, 1)
        return self._combined(mine, None, self._means(theirs, 1), 1)

    def _means(self, rows: Array, layer: int) -> Array:
        """The means of rows of the neighbours of own vertices: of all, or of a sample."""
        count, drawn = self.last - self.first, (self.asked.leaves, self.asked.children)[layer]
        mean = self._room(count, rows.shape[1])
        if drawn == 0:
            where = *self.worker.graph.out, np.uint64(self.first)
            self.worker.cores.launch(self.kernels.mean_of_neighbours, 1 + count // 64, *where, rows, mean)
            self.worker.cores.together()
        else:
            own = np.arange(self.first, self.last)
            self._mean(self._sampled(own, own, drawn, layer), rows, mean)
        return mean

    # --- in batches, by the study's three parts

    def batch(self, sources: Array) -> Array:
        """The embedding of some own vertices, each with a sample of its own; collective."""
        asked, count = self.asked, len(sources)
        children = self._sampled(sources, sources, asked.children, 1)
        pairs = (sources[:, None] * asked.children + np.arange(asked.children)).reshape(-1)
        flat = children.reshape(-1).astype(np.int64)
        leaves = self._drawn_elsewhere(flat, pairs)
        mine, theirs, number = self._products_of(sources, flat, leaves)
        kids, below = number(children), number(leaves).reshape(count, asked.children, asked.leaves)
        above, mean = self._room(count, theirs.shape[1]), self._room(count, self.hidden)
        self._mean(kids, theirs, above)
        source = self._combined(mine, number(sources), above, 0)
        cores, room = self.worker.cores, max(theirs.shape[1], self.hidden)
        scratch = cores.host(cores.workers * 2 * room, np.float32).reshape(cores.workers, 2, room)
        given = kids, below, mine, theirs, *self._shape(0), scratch, mean
        cores.launch(self.kernels.mean_of_children, 1 + count // 16, *given)
        cores.together()
        return self._combined(source @ asked.weights[2], None, mean @ asked.weights[3], 1)

    def _products_of(self, *vertices: Array) -> tuple[Array, Array, Any]:
        """Products for a batch, and the index of a vertex among them: all, or computed from requested features."""
        if self.products is not None:
            return *self.products, lambda some: some
        asked = self.asked
        needed = np.unique(np.concatenate([some.reshape(-1) for some in vertices]))
        with self.traffic.phase("features"):
            rows = self._rows_of(needed, np.ascontiguousarray(asked.features[self.first : self.last]))
        return rows @ asked.weights[0], rows @ asked.weights[1], lambda some: np.searchsorted(needed, some)

    def _drawn_elsewhere(self, vertices: Array, names: Array) -> Array:
        """The leaves of children, drawn by the owners of their rows; pairs <child, name> there, leaves back."""
        drawn, size = self.asked.leaves, self.worker.size
        if size == 1 or self.asked.source == "duplicated":
            return self._sampled(vertices, names, drawn, 0)
        owner = np.searchsorted(self.cuts, vertices, side="right") - 1
        order = np.argsort(owner, kind="stable")
        ends = np.cumsum(np.bincount(owner, minlength=size))[:-1]
        with self.traffic.phase("children"):
            asked = self.worker.swap([some.reshape(-1) for some in
                                      np.split(np.stack([vertices[order], names[order]], 1), ends)])  # fmt: skip
            pairs = np.concatenate(asked).reshape(-1, 2)
            found = self._sampled(pairs[:, 0].copy(), pairs[:, 1].copy(), drawn, 0)
            cuts = np.cumsum([len(some) // 2 for some in asked])[:-1]
            came = np.concatenate(self.worker.swap([some.reshape(-1) for some in np.split(found, cuts)]))
        leaves = np.empty((len(vertices), drawn), np.int64)
        leaves[order] = came.reshape(-1, drawn)
        return leaves

    # --- kernels

    def _sampled(self, vertices: Array, names: Array, drawn: int, layer: int) -> Array:
        found = self._room(len(vertices), drawn, self.worker.graph.out.neighbours.dtype)
        given = vertices, names, *self.worker.graph.out, np.uint64(self.asked.seed), np.uint64(layer)
        self.worker.cores.launch(self.kernels.sample, 1 + len(vertices) // 256, *given, found)
        self.worker.cores.together()
        return found

    def _mean(self, chosen: Array, rows: Array, out: Array) -> None:
        self.worker.cores.launch(self.kernels.mean_rows, 1 + len(out) // 64, chosen, rows, out)
        self.worker.cores.together()

    def _shape(self, layer: int) -> tuple[Any, ...]:
        """How both halves of a layer are combined, for kernels."""
        asked = self.asked
        return asked.biases[layer], asked.add, np.float32(0 if asked.relu[layer] else -np.inf), asked.normalise[layer]

    def _combined(self, mine: Array, chosen: Array | None, theirs: Array, layer: int) -> Array:
        """Both halves of a layer, of some rows of `mine` or of all; with its bias and its relu."""
        wide = theirs.shape[1] + (0 if self.asked.add else mine.shape[1])
        rows, cores = self._room(len(theirs), wide), self.worker.cores
        which = np.arange(len(theirs)) if chosen is None else chosen
        cores.launch(self.kernels.combine_rows, 1 + len(rows) // 256, mine, which, theirs, *self._shape(layer), rows)
        cores.together()
        return rows if cores.team.kind == "threads" else rows.copy()

    def _room(self, rows: int, width: int, dtype: Any = np.float32) -> Array:
        """Memory that the team shares."""
        team = self.worker.cores.team
        afford(rows * width * np.dtype(dtype).itemsize, "a layer of all rows", "fewer children, or a smaller batch")
        made = np.empty(rows * width, dtype) if team.kind == "threads" else self.worker.cores.host(rows * width, dtype)
        return made.reshape(rows, width)

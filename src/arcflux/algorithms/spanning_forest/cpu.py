"""Boruvka's rounds on a team of cores; edges are numbered by their rank, the lowest first."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.engine.worker import Worker
from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import compare_and_swap, take
from arcflux.spmd.memory import frozen

__all__ = ["Trees"]

Array = NDArray[Any]
_CHUNK = 1 << 12
_NONE = np.iinfo(np.int64).max


@inner
def _root(above: Any, v: Any) -> Any:
    """The root of v, with the path to it halved: others may do the same at once."""
    while above[v] != v:
        higher = above[above[v]]
        above[v] = higher
        v = higher
    return v


@inner
def _offer(best: Any, tree: Any, edge: Any) -> None:
    """Let a tree have the lower of two edges."""
    known = best[tree]
    while edge < known:
        found = compare_and_swap(best, tree, known, edge)
        if found == known:
            break
        known = found


@kernel
def find_lowest(
    worker: Any, workers: Any, control: Any, live: Any, sources: Any, targets: Any, above: Any, best: Any, inside: Any
) -> None:  # fmt: skip
    """``best[t]``: the lowest live edge out of tree t; ``inside[k]``: the k-th live one does not leave its tree."""
    while True:
        begin, end = take(control, np.uint64(live.size), np.uint64(_CHUNK))
        if begin == end:
            break
        for k in range(begin, end):
            edge = live[k]
            one, other = _root(above, np.int64(sources[edge])), _root(above, np.int64(targets[edge]))
            inside[k] = one == other
            if one != other:
                _offer(best, one, edge)
                _offer(best, other, edge)


@kernel
def join_trees(
    worker: Any, workers: Any, control: Any, roots: Any, sources: Any, targets: Any, root_of: Any, best: Any,
    above: Any, chosen: Any,
) -> None:  # fmt: skip
    """Hang every root under the tree at the other end of its lowest edge; of two that chose the same, the larger one.

    `root_of` is what `above` was before, every vertex straight under its root.
    """
    while True:
        begin, end = take(control, np.uint64(roots.size), np.uint64(_CHUNK))
        if begin == end:
            break
        for k in range(begin, end):
            tree = roots[k]
            edge = best[tree]
            if edge == _NONE:
                continue
            chosen[edge] = 1
            one, other = root_of[sources[edge]], root_of[targets[edge]]
            there = other if one == tree else one
            if best[there] != edge or there < tree:
                above[tree] = there


@kernel
def flatten(worker: Any, workers: Any, control: Any, above: Any, root_of: Any) -> None:
    """``root_of[v]``: the root of v."""
    while True:
        begin, end = take(control, np.uint64(above.size), np.uint64(_CHUNK))
        if begin == end:
            break
        for v in range(begin, end):
            root_of[v] = _root(above, np.int64(v))


class Trees:
    """The trees of a forest that grows; every worker looks for edges among its share of them."""

    def __init__(self, worker: Worker, sources: Array, targets: Array) -> None:
        self.worker, self.cores, n = worker, worker.cores, worker.graph.vertices
        self.ends = frozen(np.ascontiguousarray(sources)), frozen(np.ascontiguousarray(targets))
        self.above, self.root_of = self.cores.host(n, np.int64), self.cores.host(n, np.int64)
        self.best, self.chosen = self.cores.host(n, np.int64), self.cores.host(len(sources), np.uint8)
        first, last = worker.share(len(sources))
        self.live: Array = np.arange(first, last, dtype=np.int64)
        self.inside = self.cores.host(len(self.live), np.uint8)

    def grow(self) -> tuple[Array, Array]:
        """The edges of the forest by rank, and the root of every vertex."""
        n = len(self.above)
        for array, values in ((self.above, np.arange(n)), (self.root_of, np.arange(n)), (self.chosen, 0)):
            self.cores.publish(values, array)
        roots: Array = np.arange(n, dtype=np.int64)
        while self._find(roots):
            self._launch(join_trees, len(roots), frozen(roots), *self.ends, self.root_of, self.best, self.above,
                         self.chosen)  # fmt: skip
            self._launch(flatten, n, self.above, self.root_of)
            roots = roots[self.root_of[roots] == roots]
            self.cores.together()
        return np.flatnonzero(self.chosen), self.root_of.copy()

    def _find(self, roots: Array) -> bool:
        """Find the lowest edge of every tree, also among those of other workers; whether there is one."""
        self.cores.publish(_NONE, self.best)
        inside = self.inside[: len(self.live)]
        self._launch(find_lowest, len(self.live), frozen(self.live), *self.ends, self.above, self.best, inside)
        self.live = self.live[inside == 0]
        self.cores.together()
        if self.worker.size > 1:
            self.cores.publish(self.worker.least(self.best), self.best)
        return bool((self.best[roots] != _NONE).any())

    def _launch(self, kernel: Any, size: int, *arguments: Any) -> None:
        self.cores.launch(kernel, -(-size // _CHUNK), *arguments)
        self.cores.together()

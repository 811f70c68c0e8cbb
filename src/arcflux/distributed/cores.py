"""What cores do of the work that they share with GPUs: the same calls as in gpu/algorithms, for the same shares."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.graph import Graph
from arcflux.kernels.accumulation import Accumulation
from arcflux.kernels.friends import Friends
from arcflux.kernels.ordered import sorted_rows
from arcflux.kernels.rows import Rows
from arcflux.spmd.memory import frozen
from arcflux.spmd.pool import run

__all__ = ["Cores", "Dependencies", "Forest", "Labels", "Triangles", "TwoHop", "predecessors"]

Array = NDArray[Any]
Own = tuple[int, int]


class Cores:
    """So many cores, beside other devices; `compiled` are the seconds that compiling took.

    `check` is called while they work, and throws when the work is to end.
    """

    def __init__(self, threads: int, check: Callable[[], None]) -> None:
        self.threads, self.check, self.compiled = threads, check, 0.0

    def launch(self, kernel: Any, chunks: int, *arguments: Any) -> None:
        """Run a kernel whose workers take so many chunks."""
        workers = max(1, min(self.threads, chunks))
        begun = time.perf_counter()
        kernel.ready(0, workers, np.zeros(16, np.int64), *arguments)
        self.compiled += time.perf_counter() - begun
        run(kernel, max(2, chunks), *arguments, threads=workers, glance=self.glance)

    def glance(self, control: Any) -> None:
        """What :func:`arcflux.spmd.pool.run` calls now and then."""
        self.check()

    @contextmanager
    def compiling(self, made: Any) -> Iterator[None]:
        """Whatever something takes to compile inside counts as compiling."""
        before = made.compile_seconds
        yield
        self.compiled += made.compile_seconds - before


class Triangles:
    """The packed rows of a graph; a triangle is found from the row of its corner of highest rank."""

    def __init__(self, cores: Cores, graph: Graph) -> None:
        self.cores, self.rows = cores, Rows(graph, cores.threads)
        cores.compiled += self.rows.compile_seconds

    def corners(self, first: int, last: int) -> Array:
        """What is opposite to each vertex in the triangles of some vertices."""
        with self.cores.compiling(self.rows):
            return self.rows.corners(self.rows.between(first, last))[0]

    def count(self, first: int, last: int) -> int:
        """How many triangles some vertices have."""
        with self.cores.compiling(self.rows):
            return self.rows.count(self.rows.between(first, last))


class Forest:
    """The forest on cores, which join their own rows."""

    def __init__(self, cores: Cores, graph: Graph, own: Own) -> None:
        self.cores, self.size = cores, graph.vertices
        kind = graph.out.neighbours.dtype
        self.above, self.nobody = np.arange(self.size, dtype=kind), np.empty(0, kind)
        self.every = frozen(np.arange(self.size, dtype=kind))
        offsets = frozen(graph.out.offsets[own[0] : own[1] + 1])
        self.rows = frozen(self.every[own[0] : own[1]]), offsets, graph.out.neighbours
        self.arcs = np.uint64(graph.arcs)

    def sample(self) -> None:
        """Join two edges of each own vertex."""
        self._join(np.uint64(0), np.uint64(2), self.nobody)

    def rest(self, giant: int | None) -> None:
        """Join the other edges of own vertices, but of those that point to the giant, if there is one."""
        skipped = self.nobody if giant is None else np.array([giant], self.nobody.dtype)
        self._join(np.uint64(2), self.arcs, skipped)

    def merge(self, others: list[Array]) -> None:
        """Join every vertex with those that it points to on other devices."""
        from arcflux.distributed.components import join_pairs

        for roots in others:
            self.cores.launch(join_pairs, self._chunks(self.size), self.every, frozen(roots), self.above)
            self._flatten()

    def at(self, vertices: Array) -> Array:
        """Where some vertices point."""
        found: Array = self.above[vertices]
        return found

    def roots(self) -> Array:
        """Where each vertex points."""
        return self.above

    def _join(self, first: np.uint64, last: np.uint64, giant: Array) -> None:
        from arcflux.distributed.components import join

        self.cores.launch(join, self._chunks(len(self.rows[0])), *self.rows, first, last, giant, self.above)
        self._flatten()

    def _flatten(self) -> None:
        from arcflux.distributed.components import flatten

        n = self.size
        self.cores.launch(flatten, self._chunks(n), np.uint64(0), np.uint64(n), self.above)

    def _chunks(self, vertices: int) -> int:
        from arcflux.kernels.components import CHUNK

        return -(-vertices // CHUNK)


class Labels:
    """The labels on cores, whose own vertices vote."""

    def __init__(self, cores: Cores, graph: Graph, own: Own) -> None:
        from arcflux.kernels.label_propagation import slots

        self.cores, self.own = cores, slice(*own)
        n, kind = graph.vertices, graph.out.neighbours.dtype
        self.arcs = graph.arcs * (2 if graph.directed else 1)
        out, into = sorted_rows(graph, cores.threads)
        rows = [[frozen(offsets[own[0] : own[1]]), frozen(offsets[own[0] + 1 : own[1] + 1]), neighbours]
                for offsets, neighbours in (out, into)]  # fmt: skip
        voters = sum((ends - begins for begins, ends, _ in rows[: 2 if graph.directed else 1]), np.uint64(0))
        size = slots(min(int(np.max(voters, initial=0)), n))
        self.rows = *rows[0], *(rows[1] if graph.directed else (None, None, None))
        self.vertices = frozen(np.arange(*own, dtype=kind))
        self.label, self.after, self.moved = np.arange(n, dtype=kind), np.arange(n, dtype=kind), np.zeros(n, np.bool_)
        self.tables = np.zeros((cores.threads, size, 2), kind), np.empty((cores.threads, size), kind)
        mine = len(self.vertices)
        self.changed = np.empty(mine, kind), np.empty(mine, kind)
        self.first = True

    def vote(self, everywhere: bool) -> Array:
        """Let own vertices vote, all or those next to one that moved: how many change, arcs of these, and voters."""
        from arcflux.distributed.label_propagation import vote

        tally = np.zeros(3, np.int64)
        given = self.first, everywhere, self.label, self.moved, *self.tables, *self.changed, tally
        self.cores.launch(vote, -(-len(self.vertices) // 256), self.vertices, *self.rows, *given)
        self.first = False
        changed, voted, arcs = tally.tolist()
        which, labels = self.changed
        self.after[which[:changed]] = labels[:changed]
        return np.array([changed, arcs, voted])

    def voted(self) -> Array:
        """What own vertices voted for."""
        return self.after[self.own]

    def tell(self, voted: Array) -> None:
        """What all vertices voted for, when others voted, too."""
        self.after[:] = voted

    def adopt(self, mark: bool) -> None:
        """All take what they voted for; with `mark`, neighbours of those that change vote in the next round."""
        if mark:
            np.not_equal(self.after, self.label, out=self.moved)
        self.label[:] = self.after

    def labels(self) -> Array:
        """The label of every vertex."""
        return self.label


class Dependencies:
    """What shortest paths give to each vertex, on cores; `apart`: each works on sources of its own."""

    def __init__(self, cores: Cores, graph: Graph, apart: bool) -> None:
        self.cores, self.apart, self.size = cores, apart, graph.vertices
        self.made = Accumulation(graph, cores.threads)

    def run(self, sources: Array, lanes: int, mine: range, endpoints: float, done: Callable[[int], None]) -> Array:
        """The rows of the lanes in `mine`; lane l has the sources l, l + lanes, and so on. `done(k)` after k more."""
        found = np.zeros((len(mine), self.size))
        if self.apart and len(mine):
            own = np.concatenate([sources[first + mine.start : min(first + mine.stop, first + lanes)]
                                  for first in range(0, len(sources), lanes)])  # fmt: skip
            found[:] = self._run(own, len(mine), endpoints)
            done(len(own))
            return found
        for row, lane in zip(found, mine, strict=True):
            row[:] = self._run(sources[lane::lanes], 1, endpoints)[0]
            done(len(sources[lane::lanes]))
        return found

    def _run(self, sources: Array, lanes: int, endpoints: float) -> Array:
        with self.cores.compiling(self.made):
            return self.made.run(sources, lanes, self.apart, bool(endpoints), lambda done: self.cores.check())


class TwoHop:
    """The lists of some vertices, on cores."""

    def __init__(self, cores: Cores, graph: Graph, chosen: Array) -> None:
        self.cores, self.made = cores, Friends(graph, chosen, cores.threads)

    def counts(self) -> Array:
        """How many friends each chosen vertex has."""
        with self.cores.compiling(self.made):
            return self.made.counts(glance=self.cores.glance)

    def lists(self, offsets: Array, friends: Array) -> None:
        """Write the lists into an array."""
        with self.cores.compiling(self.made):
            self.made.lists(offsets, lambda size: friends, glance=self.cores.glance)


def predecessors(
    cores: Cores, offsets: Array, neighbours: Array, weights: Array, distance: Array, far: float, predecessor: Array,
    first: int, last: int,
) -> tuple[Array, int]:  # fmt: skip
    """The predecessors of the vertices from `first` to before `last`, and how many lack one."""
    from arcflux.kernels import predecessors as kernels

    lacking, found = np.zeros(1, np.int64), predecessor.copy()
    share = np.uint64(first), np.uint64(last)
    given = offsets, neighbours, weights, frozen(distance), distance.dtype.type(far), *share, found, lacking
    cores.launch(kernels.predecessors, -(-(last - first) // kernels.CHUNK), *given)
    return found[first:last], int(lacking[0])

"""The loops of dense programs: pull, by blocks on large graphs or by runs on meshes, or push."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.compile.cpu.dense import CHUNK, takes_any_order
from arcflux.compile.cpu.even import STRIP, added_later, evenly
from arcflux.compile.pieces.edges import any_flags, narrow_sums
from arcflux.compile.pieces.source import edge_reads
from arcflux.engine.loop import Loop
from arcflux.engine.state import State, rows
from arcflux.graph.blocks import Blocks, blocks, scattered, skewed
from arcflux.graph.degree_order import degree_order
from arcflux.graph.runs import Runs, runs
from arcflux.history import Superstep
from arcflux.spmd.memory import frozen

__all__ = ["Dense", "blocks_pay"]

# Blocks pay when messages do not fit the second-level cache, when arcs share the cache lines of a block's messages, and
# when building them (about as long as one and a half supersteps) serves more than a few supersteps. With a arcs for
# each line, an arc fetches (1 - exp(-a)) / a lines from memory instead of one: at half an arc a line, a fifth less, as
# much as blocks cost beside that. Where degrees are unequal, most arcs are in blocks that are fuller by far.
_CACHE = 2 << 20
_LINE = 64
_ARCS = 0.5
_SUPERSTEPS = 4
# How often the targets of a block are halved by a program that changes messages in place: the sooner others see them,
# the fewer supersteps it needs. It takes them by number, too: with most arcs first, PageRank needed one superstep more.
_HALVINGS = 3
# Runs pay when compiling a kernel for them does.
_MANY = 1 << 20
# A worker takes about so many arcs at once, in at most so many chunks, and comes back at least so many times.
_MANY_ARCS = 32_768
_MOST_CHUNKS = 8
_TURNS = 16
# Supersteps of each way before the faster one is known.
_TRIALS = 3


def blocks_pay(vertices: int, arcs: int, message: int, threads: int) -> bool:
    """Whether messages of so many bytes overflow the cache, and arcs fill blocks; the planner asks, too."""
    across = -(-vertices >> 16)
    lines = across**2 * (65_536 * message / _LINE)
    return vertices * message > _CACHE and arcs > _ARCS * lines and across >= 4 * threads


class Dense(Loop):
    """A dense program: every vertex is active in every superstep."""

    blocks: Blocks | None = None
    runs: Runs | None = None
    ranked: Sequence[Any] = ()

    @property
    def push(self) -> bool:
        """Whether to send along out-edges."""
        return self.options.direction == "push" and self.lowered.has_edges and not self.lowered.pull_only

    def prepare(self) -> None:
        """Have in-edges, and arcs by blocks or vertices by runs if they pay."""
        graph = self.graph
        graph.into  # noqa: B018 - built on first use
        if not self.lowered.has_edges or self.lowered.edge_state is not None:
            return
        if not self.push and self._large():
            ranked = self._any_order() and skewed(graph)
            self.blocks = blocks(graph, build=False, ranked=ranked, team=self.team)
            if self.blocks is None and self.options.limit >= _SUPERSTEPS and scattered(graph):
                self.blocks = blocks(graph, ranked=ranked, team=self.team)
            if self.blocks is not None:
                for name in self.lowered.columns:
                    self.blocks.column(name, graph.in_columns[name], self.team)
            if self.blocks is not None and self.blocks.places is not None:
                for message in self.lowered.messages:
                    self.blocks.ready(message.dtype, self.team)
        if not self.push and self.blocks is None and graph.arcs >= _MANY and evenly(self.lowered):
            self.runs = runs(graph, CHUNK)

    def _large(self) -> bool:
        """Whether messages overflow the cache, and arcs are enough to fill blocks.

        The smallest of several `af.any` is looked for vertex by vertex, which blocks are not; and they add up narrow
        floats in memory, so not to the same bits as in a register.
        """
        messages = self.lowered.messages
        if any_flags(self.lowered) or (self.lowered.deterministic and narrow_sums(self.lowered)):
            return False
        size = sum(message.dtype.itemsize for message in messages)
        plain = all(message.length is None for message in messages)
        return plain and blocks_pay(self.graph.vertices, self.graph.arcs, size, self.threads)

    def _any_order(self) -> bool:
        """Whether messages may come in any order, and do not name their sender."""
        return not self.lowered.deterministic and "u_number" not in edge_reads(self.lowered)

    def extra(self) -> list[Any]:
        """Messages, now and next, or fields that stay as they are; push computes them as it sends."""
        if self.lowered.direct and not self.push:
            self.messages: list[Any] = [self.fields[str(message.field)] for message in self.lowered.messages]
            return self.messages
        size = self.graph.vertices * (1 if self.lowered.in_place else 2)
        self.messages = [
            None if self.push else rows(self.borrowed, size, message.dtype, message.length)
            for message in self.lowered.messages
        ]
        return self.messages

    def started(self, step: int) -> list[Any]:
        """Messages, from the half on in which the superstep reads them."""
        return [None if each is None else each[self._half(step) :] for each in self.messages]

    def _half(self, step: int) -> int:
        return self.graph.vertices if step & 1 and not (self.lowered.in_place or self.lowered.direct) else 0

    def begin(self, state: State) -> None:
        """Prepare the kernels that may run; with blocks there are two, unless their sources are ranked."""
        graph, names = self.graph, self.lowered.columns
        self.board = self.team.small(72)
        self.choice = [self.tolerance]
        pieces = -(-graph.vertices // CHUNK)
        if self.push:
            columns = [graph.columns[name] for name in names]
            arguments = [graph.into.offsets, *graph.out, *columns, *self._accumulators(), *state.constants]
            self.ways = {"push": (self.made.dense_push, arguments)}
        else:
            columns = [graph.in_columns[name] for name in names]
            arrays = [*graph.into, graph.out.offsets, *columns, *self.messages]
            order = degree_order(graph, self.lowered.in_place) if takes_any_order(self.lowered) else None
            self.ways = {"plain": (self.made.dense, [self._span(), *arrays, *state.constants])}
            if order is not None:
                self.ways = {"plain": (self.made.dense_by_degree, [self._span(), order, *arrays, *state.constants])}
            if self.runs is not None:
                later = self._rows(np.float64, STRIP * len(added_later(self.lowered)))
                by_run = [self._span(), self.runs.starts, self.runs.first, later, *self._registers()]
                self.ways = {"even": (self.made.even, [*by_run, *arrays, *state.constants])}
        if self.blocks is not None:
            found, halvings = self.blocks, _HALVINGS if self.lowered.in_place else 0
            order = np.arange(found.across, dtype=np.uint32) if self.lowered.in_place else found.order
            arcs = [found.arcs, found.parts(halvings), frozen(order), found.places, halvings]
            columns = [found.columns[name] for name in names]
            if found.places is not None:
                self.ways = {}
                self.ranked = [self.borrowed(len(each), each.dtype) for each in self.messages]
            sent = self.messages if found.places is None else self.ranked
            arrays = [graph.into.offsets, graph.out.offsets, *columns, *sent, *self._accumulators()]
            self.ways["blocks"] = self.made.blocked, [*arcs, *arrays, *state.constants]
        self.sums = self.team.small(2 * pieces, np.float64)
        self.ticks: dict[str, list[float]] = graph.kept.setdefault(self._known, {})
        self._take(next(iter(self.ways)))

    def refill(self, state: State, step: int) -> None:
        """Put the first messages where blocks of ranked sources look for them."""
        half = self._half(step)
        for sent, there in zip(self.messages, self.ranked, strict=False):
            assert self.blocks is not None
            self.blocks.ranked(sent[half:], there[half:], self.team)
        self.finished = not self.graph.vertices

    def _span(self) -> int:
        """How many vertices a worker takes at once: whole chunks, of many arcs but not so many that others wait."""
        graph = self.graph
        most = min(_MOST_CHUNKS, graph.vertices // (_TURNS * CHUNK * self.threads))
        return CHUNK * max(1, min(most, _MANY_ARCS * graph.vertices // (CHUNK * max(1, graph.arcs))))

    def _take(self, way: str) -> None:
        self.way = way
        self.kernel, self.rest = self.ways[way]

    def compile(self, state: State) -> float:
        """Compile all that may run."""
        seconds = super().compile(state)
        for way in list(self.ways)[1:]:
            self._take(way)
            seconds += state.compile(self.kernel, lambda: self.arguments(0, 1))
        return seconds

    @property
    def _known(self) -> tuple[str, ...]:
        kinds = [message.dtype.name for message in self.lowered.messages]
        return ("pull", self.lowered.program.name, self.team.kind, str(self.threads), *kinds)

    def choose(self, steps: int) -> int:
        """The faster of two ways, by their best supersteps: which it is differs from machine to machine.

        They take turns until each had a few; what was found is kept with the graph.
        """
        if len(self.ways) == 1:
            return super().choose(steps)
        turns = {way: len(self.ticks.setdefault(way, [])) for way in self.ways}
        if min(turns.values()) < _TRIALS:
            self._take(min(turns, key=lambda way: turns[way]))
            return 1
        self._take(min(self.ways, key=lambda way: min(self.ticks[way])))
        return super().choose(steps)

    def launched(self, steps: int) -> None:
        """Remember how long a superstep of this way took."""
        if len(self.ways) > 1 and len(self.ticks[self.way]) < _TRIALS:
            self.ticks[self.way].append(float(self.history[0, 2]))

    def give_back(self) -> None:
        """The arguments are among what was borrowed."""
        self.ways, self.messages, self.ranked = {}, [], ()
        super().give_back()

    def _accumulators(self) -> list[Any]:
        fields = [self.lowered.fields[name] for name in sorted(self.lowered.reductions)]
        return [rows(self.borrowed, self.graph.vertices, *kind) for kind in fields]

    def _registers(self) -> list[Any]:
        """Accumulators for a chunk of each worker; narrow sums are wide, as they are in registers."""
        wide = narrow_sums(self.lowered)
        names = sorted(self.lowered.reductions)
        kinds = [np.dtype(np.float64) if name in wide else self.lowered.fields[name][0] for name in names]
        return [self._rows(kind) for kind in kinds]

    def _rows(self, kind: Any, least: int = 0) -> Any:
        """Numbers for a chunk of each worker, or at least so many, far from those of another."""
        size = max(2 * CHUNK, least)
        return self.borrowed(self.threads * size, np.dtype(kind)).reshape(self.threads, size)

    def superstep(self, k: int, row: list[float]) -> Superstep:
        """All vertices sent along all arcs."""
        changed, residual, seconds, way = row[:4]
        if not self.lowered.has_edges:
            return Superstep(k, "none", self.graph.vertices, residual, seconds, int(changed), 0, "no edges")
        reason = self.asked or "every vertex sends: pull needs no atomics"
        name = "pull" if way == 2 else "push"
        return Superstep(k, name, self.graph.vertices, residual, seconds, int(changed), self.graph.arcs, reason)

    def columns(self, rows: NDArray[Any]) -> Mapping[str, NDArray[Any] | float]:
        """All vertices sent; their edges were not counted."""
        return {**super().columns(rows), "frontier": float(self.graph.vertices), "changed": rows[:, 0]}

"""The loops of dense programs: pull (by blocks on large graphs, by runs on meshes) or push."""

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
# How often a program that changes messages in place halves the targets of a block: the sooner others see new messages,
# the fewer supersteps it needs. It also processes blocks by number: with the largest block first, PageRank needed one
# superstep more.
_HALVINGS = 3
# Runs pay when they repay the time to compile a kernel for them.
_MANY = 1 << 20
# A worker claims about this many arcs at once, in at most this many chunks, and claims at least this many times.
_MANY_ARCS = 32_768
_MOST_CHUNKS = 8
_TURNS = 16
# Supersteps to time each way before choosing the faster one.
_TRIALS = 3


def blocks_pay(vertices: int, arcs: int, message: int, threads: int) -> bool:
    """Whether messages of this many bytes overflow the cache, and arcs fill blocks; the planner uses this, too."""
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
        """Build in-edges, and the blocks of arcs or runs of vertices if they pay."""
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
        """Whether messages overflow the cache and there are enough arcs to fill blocks.

        The smallest of several `af.any` needs vertex order, which blocks do not keep; and blocks add narrow floats in
        memory, which gives other bits than adding them in a register.
        """
        messages = self.lowered.messages
        if any_flags(self.lowered) or (self.lowered.deterministic and narrow_sums(self.lowered)):
            return False
        size = sum(message.dtype.itemsize for message in messages)
        plain = all(message.length is None for message in messages)
        return plain and blocks_pay(self.graph.vertices, self.graph.arcs, size, self.threads)

    def _any_order(self) -> bool:
        """Whether messages may be reduced in any order, and do not depend on their sender's number."""
        return not self.lowered.deterministic and "u_number" not in edge_reads(self.lowered)

    def extra(self) -> list[Any]:
        """Messages, current and next, or fields that are sent unchanged; push computes them as it sends."""
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
        """Messages, from the half that this superstep reads."""
        return [None if each is None else each[self._half(step) :] for each in self.messages]

    def _half(self, step: int) -> int:
        return self.graph.vertices if step & 1 and not (self.lowered.in_place or self.lowered.direct) else 0

    def begin(self, state: State) -> None:
        """Prepare the kernels that may run: two with blocks, unless their sources are ranked."""
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
            layout, halvings = self.blocks, _HALVINGS if self.lowered.in_place else 0
            order = np.arange(layout.across, dtype=np.uint32) if self.lowered.in_place else layout.order
            arcs = [layout.arcs, layout.parts(halvings), frozen(order), layout.places, halvings]
            columns = [layout.columns[name] for name in names]
            if layout.places is not None:
                self.ways = {}
                self.ranked = [self.borrowed(len(each), each.dtype) for each in self.messages]
            sent = self.messages if layout.places is None else self.ranked
            arrays = [graph.into.offsets, graph.out.offsets, *columns, *sent, *self._accumulators()]
            self.ways["blocks"] = self.made.blocked, [*arcs, *arrays, *state.constants]
        self.sums = self.team.small(2 * pieces, np.float64)
        self.ticks: dict[str, list[float]] = graph.kept.setdefault(self._known, {})
        self._take(next(iter(self.ways)))

    def refill(self, state: State, step: int) -> None:
        """Copy the first messages to where blocks of ranked sources read them."""
        half = self._half(step)
        for sent, there in zip(self.messages, self.ranked, strict=False):
            assert self.blocks is not None
            self.blocks.ranked(sent[half:], there[half:], self.team)
        self.finished = not self.graph.vertices

    def _span(self) -> int:
        """How many vertices a worker claims at once: whole chunks with many arcs, but no other worker waits."""
        graph = self.graph
        most = min(_MOST_CHUNKS, graph.vertices // (_TURNS * CHUNK * self.threads))
        return CHUNK * max(1, min(most, _MANY_ARCS * graph.vertices // (CHUNK * max(1, graph.arcs))))

    def _take(self, way: str) -> None:
        self.way = way
        self.kernel, self.rest = self.ways[way]

    def compile(self, state: State) -> float:
        """Compile all kernels that may run."""
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
        """Choose the faster of two ways by its best superstep so far: which one it is depends on the machine.

        The two alternate until each has been timed a few times; the choice is cached with the graph.
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
        """Record how long a superstep of this way took."""
        if len(self.ways) > 1 and len(self.ticks[self.way]) < _TRIALS:
            self.ticks[self.way].append(float(self.history[0, 2]))

    def give_back(self) -> None:
        """Release the kernel arguments, which are borrowed memory."""
        self.ways, self.messages, self.ranked = {}, [], ()
        super().give_back()

    def _accumulators(self) -> list[Any]:
        fields = [self.lowered.fields[name] for name in sorted(self.lowered.reductions)]
        return [rows(self.borrowed, self.graph.vertices, *kind) for kind in fields]

    def _registers(self) -> list[Any]:
        """Accumulators for a chunk of each worker; narrow sums are accumulated in float64, as in registers."""
        wide = narrow_sums(self.lowered)
        names = sorted(self.lowered.reductions)
        kinds = [np.dtype(np.float64) if name in wide else self.lowered.fields[name][0] for name in names]
        return [self._rows(kind) for kind in kinds]

    def _rows(self, kind: Any, least: int = 0) -> Any:
        """A row of at least this many numbers for each worker, so long that workers share no cache lines."""
        size = max(2 * CHUNK, least)
        return self.borrowed(self.threads * size, np.dtype(kind)).reshape(self.threads, size)

    def superstep(self, k: int, row: list[float]) -> Superstep:
        """The history entry of a superstep: all vertices sent along all arcs."""
        changed, residual, seconds, way = row[:4]
        if not self.lowered.has_edges:
            return Superstep(k, "none", self.graph.vertices, residual, seconds, int(changed), 0, "no edges")
        reason = self.asked or "every vertex sends: pull needs no atomics"
        name = "pull" if way == 2 else "push"
        return Superstep(k, name, self.graph.vertices, residual, seconds, int(changed), self.graph.arcs, reason)

    def columns(self, rows: NDArray[Any]) -> Mapping[str, NDArray[Any] | float]:
        """The history columns: all vertices sent; their edges are not counted."""
        return {**super().columns(rows), "frontier": float(self.graph.vertices), "changed": rows[:, 0]}

"""Runs the kernels of a part on a GPU: launches what the engine calls by name, on the device's copies of the arrays.

Edges of the part are copied to the device once. Fields, accumulators and marks of own vertices are there, too, since
only this rank uses them. If the rank is alone on its node, so is everything else; otherwise what others read (messages
and the frontier) stays in the node's memory, locked and mapped, and what the part reads of it is loaded to the device
in each superstep (load.py).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.compile import cache
from arcflux.compile.cpu.mail_parts import mail_given
from arcflux.compile.cuda.module import cuda_source
from arcflux.compile.cuda.scan import scannable
from arcflux.compile.cuda.vectors import tile_threads
from arcflux.compile.lower import Lowered
from arcflux.compile.pieces.generators import scratch
from arcflux.gpu import api, footprint
from arcflux.gpu.arguments import Arguments
from arcflux.gpu.carry import Carrier, linked
from arcflux.gpu.edges import Edges
from arcflux.gpu.launch import Shapes, chosen
from arcflux.gpu.load import Loader
from arcflux.gpu.state import State
from arcflux.gpu.view import Cores, NodeView, PartView, PlacedView, Ranks, Target

__all__ = ["OnGpu"]

Array = NDArray[Any]

# Of the lists of a part, kernels write the first ones.
_WRITTEN = 2


class OnGpu:
    """The kernels of one rank on its GPU.

    node: the arrays of the rank's node; linked: whether messages go from device to device, without these; `compiled`:
    the seconds of first launches.
    """

    def __init__(self, node: NodeView, device: Target, cores: Cores, linked: bool) -> None:
        from arcflux.gpu import walk

        self.node, self.target, self.cores, self.walk, self.linked = node, device, cores, walk, linked
        self.lowered: Lowered = node.lowered
        self.transport: Ranks = node.transport
        self._launched = 0.0
        self._lists: list[Array] = []
        with cache.one_at_a_time:
            self.made = cache.module(cuda_source(self.lowered))
        self.state, self.ready = State(), set[str]()
        self.out: tuple[Any, list[Any]] | None = None
        self.out_bytes = 0
        self.carrier: Carrier | None = None
        self._into: Edges | None = None
        self.single = self.transport.size == 1
        self.mates = len(self.transport.mates) > 1
        # Kernels have a stream of their own, so that blocks of edges can arrive at the same time.
        self.queue = api.stream()
        self.shapes = self._shapes(np.zeros(0))
        self._take_arrays()

    # --- arrays on the device

    def _shapes(self, degrees: Array) -> Shapes:
        return chosen(degrees, self.target.gpu.multiprocessors, self.target.shapes, scannable(self.lowered))

    def _take_arrays(self) -> None:
        node, state = self.node, self.state
        shared = partial(state.mirror, shared=self.mates)
        for array in node.fields.values():
            state.adopt(array, node.mirrors, shared=self.mates)
        for array in (*node.accumulators.values(), node.moves, node.pending, node.stamp):
            shared(array)
        (shared if len(node.residuals) > 1 else state.mirror)(node.residuals)
        for array in node.each.values():
            shared(array)
        for array in (*node.totals.values.values(), *node.totals.sums.values()):
            state.adopt(array, node.mirrors)
        for array in node.edges.arrays.values():  # others read fields of cut edges: only a rank alone has a copy
            (state.adopt if self.single else state.adopt_mapped)(array, node.mirrors)
        for array in node.edges.constants[len(node.edges.arrays) : -1]:
            state.keep(array)
        state.mirror(node.tally)
        state.mirror(node.counts)
        for array in node.messages:
            (state.mirror if self.single or self.linked else state.map)(array)
        for array in (node.bits, node.queues, node.heads):
            (state.mirror if self.single else state.map)(array)
        self.read: list[Any] = []
        self.loader: Loader | None = None
        if self.linked:
            self.carrier = Carrier(linked(node.transport), state, node.messages, self.queue, self.shapes)
        if not self.single:
            n = node.graph.vertices
            there = [] if self.linked else [message[:n] for message in node.messages]
            self.read = [api.empty(message.shape, message.dtype) for message in there]
            mapped, how = list(map(state.device, there)), "kernel" if self.linked else self.target.load
            self.loader = Loader(there, self.read, mapped, self.queue, how, len(self.transport.mates))
        self.arguments = Arguments(node, state, self.read)
        for array in (node.graph.into.offsets, node.graph.out.offsets):
            state.keep(array)
        if self.lowered.around is not None and self.lowered.around.intersects:
            state.keep(node.graph.into.neighbours)
        for array in self._picked():
            state.keep(array)
        self.mail: dict[str, Array] = {}
        self.sums = api.empty(max(1, -(-node.graph.vertices // 32)), np.uint64)
        self.scan = api.empty(node.graph.vertices + 1, np.uint64)

    def _picked(self) -> list[Array]:
        """The whole graph's out-neighbours and columns of out-edges, if the program reads them by index."""
        graph = self.node.graph
        columns = [graph.columns[column] for column in self.lowered.out_columns]
        return [*([graph.out.neighbours] if self.lowered.picks else []), *columns]

    @property
    def compiled(self) -> float:
        """Seconds spent compiling, here and on cores."""
        return self._launched + self.cores.compiled

    def fixed(self, own: PartView) -> int:
        """Bytes of device memory for everything but edges."""
        arrays = [*self.read, self.sums, self.scan]
        run = footprint.of_run(self.state, arrays, self._lists)
        run += len(own.part.into.neighbours) * sum(one.dtype.itemsize for one in scratch(self.lowered))
        return run + footprint.of_part(self.node, own, self.loader, self.linked)

    def take(self, own: PartView, placed: PlacedView) -> None:
        """Change to another part: lists of its vertices, its edges, and the shapes of launches for them."""
        state = self.state
        assert own.whole or not self.mates, "atomics of a GPU are none for others of its node (exchange/own_nodes.py)"
        for before in self._lists:
            state.forget(before)
        self._lists = footprint.lists_of(own)
        for k, now in enumerate(self._lists):
            (state.mirror if k < _WRITTEN else state.keep)(now)
        state.own = own.updated if self.mates else None
        self.shapes = self._shapes(np.diff(own.part.into.offsets))
        self._forget_out()
        self._into = None  # first release the edges of the old part
        self._into = Edges(own.part, placed, self.lowered, state, self.shapes, self.queue)
        # With `around`, there is an element for each edge, for collected values.
        size = max(1, len(own.part.into.neighbours))
        self.collected = {f"{one.name}s": api.empty(size, one.dtype) for one in scratch(self.lowered)}

    @property
    def into(self) -> Edges:
        """The in-edges of the part."""
        assert self._into is not None, "no part was taken yet"
        return self._into

    def fetch(self, *arrays: Array) -> None:
        """The host will read these arrays."""
        self._finish()
        self.state.fetch(*arrays)

    def changed(self, *arrays: Array) -> None:
        """The host has written these arrays."""
        self.state.changed(*arrays)

    def zero(self, array: Array) -> None:
        """Set an array to zero, in place."""
        self.state.zero(array)

    def close(self) -> None:
        """Release the device's memory."""
        self._finish()
        self.state.close()
        self._forget_out()
        self.read.clear()

    def _finish(self) -> None:
        api.synchronize()

    # --- kernels

    def prepare(self, name: str, step: int, *given: Any) -> None:
        """Ranks on cores compile one after another, and wait for all of them."""
        if name not in self.ready:
            self.ready.add(name)
            self.transport.barrier()

    def run(self, name: str, step: int, *given: Any) -> None:
        """Launch the GPU's form of a kernel of the engine."""
        self.prepare(name, step)
        values = {"step": step, **self.arguments.named(name, given)}
        if self.lowered.mails:
            self._take_mail(values)
        getattr(self, f"_{name}")(values)

    def _take_mail(self, values: dict[str, Any]) -> None:
        """Copy the arrays of mail that have been replaced by larger ones."""
        for name in mail_given(self.lowered):
            array = values.get(name)
            if isinstance(array, np.ndarray) and self.mail.get(name) is not array:
                if name in self.mail:
                    self.state.forget(self.mail[name])
                self.state.mirror(array)
                self.mail[name] = array

    def alone(self, name: str, *arguments: Any) -> None:
        """Run a kernel with only these arguments; `receive` is the host's, since other ranks share the frontier.

        So do residuals, if other ranks of the node have those of other vertices.
        """
        if name == "residual" and not self.mates:
            self._residual(*arguments)
            return
        self._finish()
        self.cores.alone(name, *arguments)

    def _launch(self, name: str, shape: tuple[int, int], values: dict[str, Any]) -> None:
        """Launch a kernel of the program with the arrays that it names."""
        kernel = getattr(self.made, f"part_{name}")
        begun, first = time.perf_counter(), name not in self.ready
        self.ready.add(name)
        api.launch(kernel, *shape, *self.arguments.of(kernel, values), on=self.queue)
        if first:
            self._launched += time.perf_counter() - begun

    # --- the kernels

    def _start(self, values: dict[str, Any]) -> None:
        self._launch("start", self.shapes.launch(len(values["mine"])), values)

    def _start_count(self, values: dict[str, Any]) -> None:
        self._launch("start_count", self.shapes.launch(len(values["mine"])), values)

    def _apply(self, values: dict[str, Any]) -> None:
        self._launch("apply", self.shapes.launch(len(values["which"])), values)

    def _apply_count(self, values: dict[str, Any]) -> None:
        self._launch("apply_count", self.shapes.launch(len(values["which"])), values)

    def _empty(self, values: dict[str, Any]) -> None:
        self._launch("empty", self.shapes.launch(len(values["which"])), values)

    def _publish(self, values: dict[str, Any]) -> None:
        """Publish what changed; if others share the frontier, the host adds the senders to it."""
        counts, told = values["counts"], values["told"]
        values["queues_too"] = not self.mates
        if self.mates:
            self.fetch(counts)
            before = int(counts[1])
        self._launch("publish", self.shapes.launch(len(values["which"])), values)
        if self.mates and self.lowered.sparse:
            self.fetch(counts, told)
            some = told[before : int(counts[1])].copy()
            some.flags.writeable = False
            self.cores.alone("receive", some, values["bits"], values["queue"], values["heads"])

    def _pull_count(self, values: dict[str, Any]) -> None:
        self._pull(values, "_count")

    def _pull(self, values: dict[str, Any], what: str = "") -> None:
        first, last = int(values.pop("first")), int(values.pop("last"))
        if first == 0:
            self._load(values)
        elif self.loader is not None:
            values["bits"] = self.loader.near["bits"]
        for rows, edges in self.into.between(first, last):
            arguments = {**values, **edges, **self.collected, "which": None}
            for name, which in rows.items():
                arguments["which"] = which
                width = {"pull_warp": 32, "pull_block": self.shapes.block_threads}.get(name, 1)
                threads = self.shapes.block_threads if name == "pull_block" else None
                if tile := tile_threads(self.lowered):
                    threads = min(self.shapes.threads, tile)
                self._launch(f"{name}{what}", self.shapes.launch(int(which.size) * width, threads), arguments)

    def _push(self, values: dict[str, Any]) -> None:
        """Senders push as their messages arrive: all at once, or piece by piece."""
        values |= self._out(values)
        if not self.lowered.sparse:
            for first, last in self._brought(self.into.reads, self.into.sources, push=True):
                self._push_between(values, first, last)
            return
        senders = values["queue"][: int(values["size"])]
        queue = self.state.device(senders) if self.loader is None else self.loader.copied("queue", senders)
        for first, last in self._brought(senders, queue, push=True):
            self._push_queue(values, queue[first:last], last - first)

    def _push_between(self, values: dict[str, Any], first: int, last: int) -> None:
        """All senders from position `first` to before `last` of the vertices that the part reads push."""
        reads, rows = self.into.reads, values["rows"]
        low = int(reads[first]) if first else 0
        high = int(reads[last]) if last < len(reads) else self.node.graph.vertices
        arguments = {"rows": rows[low : high + 1], "lowest": np.uint64(low)}
        self._launch("push", self.shapes.walking(self.node.graph.arcs), values | arguments)

    def _push_queue(self, values: dict[str, Any], queue: Any, size: int) -> None:
        """Number the edges of these senders by a scan, then give each to a thread."""
        width = self.shapes.threads
        blocks = -(-size // width)
        rows, scan, sums = values["rows"], self.scan, self.sums
        api.launch(self.walk.degrees, blocks, width, queue, size, rows, scan, sums, on=self.queue)
        api.launch(self.walk.scan_sums, 1, width, sums, blocks, scan, size, on=self.queue)
        api.launch(self.walk.added, blocks, width, scan, size, sums, on=self.queue)
        arguments = {"queue": queue, "size": size, "scan": scan}
        self._launch("push", self.shapes.walking(self.node.graph.arcs), values | arguments)

    def _gather(self, values: dict[str, Any]) -> None:
        self._load(values)
        values |= self.into.whole()
        self._launch("gather", self.shapes.walking(self.node.graph.arcs), values)

    def _load(self, values: dict[str, Any]) -> None:
        """Before a pull: load all that the part reads of the node's messages, and the frontier, to the device."""
        if self.loader is not None:
            self.loader.whole(self.into.reads, self.into.sources, False, self.shapes)
            values["bits"] = self.loader.copied("bits", values["bits"].view(np.uint32))

    def _brought(self, places: Array, listed: Any, push: bool) -> Iterator[tuple[int, int]]:
        """Load messages by pieces, and yield each range that is ready; all at once if they are on the device."""
        if self.loader is not None:
            yield from self.loader.brought(places, listed, push, self.shapes)
        elif len(places):
            yield 0, len(places)

    def _residual(self, residuals: Array, chunk: int, total: Array) -> None:
        """Add up residuals in the order of one process: chunks in parallel, then their sums."""
        chunks = -(-len(residuals) // chunk)
        sums = api.empty(max(1, chunks), np.float64)
        api.launch(
            self.walk.chunk_sums, *self.shapes.walking(chunks), self.state.device(residuals), chunk, sums, on=self.queue
        )
        total[0] = 0.0
        for value in sums.copy_to_host()[:chunks]:
            total[0] += value

    def _out(self, values: dict[str, Any]) -> dict[str, Any]:
        """The part's out-edges, on first use: copied if the device has room for them, else mapped."""
        if self.out is None:
            offsets, arrays = values["rows"], [values[f"c_{column}"] for column in self.lowered.columns]
            arrays = [values["neighbours"], *arrays]
            nbytes = sum(array.itemsize for array in arrays) * (int(offsets[-1]) - int(offsets[0])) + 4 * len(offsets)
            if fits := self.target.memory is None or self.target.held + nbytes <= self.target.memory:
                self.target.hold(nbytes, "out-edges")
                self.out_bytes = nbytes
            self.out = self.into.out(offsets, arrays, fits)
        return self.into.named(*self.out, 0)

    def _forget_out(self) -> None:
        self.out = None
        self.target.release(self.out_bytes)
        self.out_bytes = 0

"""The edges of a part in a device's memory: all of them, or those that fit, and two buffers for blocks of the others.

Edges that do not fit stay in the node's memory and are streamed block by block whenever a superstep pulls
(devices/placement.py says which rows). Three things happen at once: the host copies block b + 2 into locked memory, the
link carries block b + 1 to the device on its own stream, and kernels process block b.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.compile.cuda.pull import in_order
from arcflux.compile.cuda.scan import scannable
from arcflux.compile.cuda.vectors import by_thread_alone, vectors
from arcflux.compile.lower import Lowered
from arcflux.gpu import api
from arcflux.gpu.launch import Shapes, shared_out
from arcflux.gpu.state import State
from arcflux.gpu.view import PlacedView
from arcflux.partition.part import Part

__all__ = ["Edges"]

Array = NDArray[Any]


class Edges:
    """In-edges of a part: `reads` are the vertices that it reads (Lux's INS), `sources` the same on the device."""

    def __init__(
        self, part: Part, placed: PlacedView, lowered: Lowered, state: State, shapes: Shapes, queue: Any
    ) -> None:
        self.lowered, self.shapes, self.state, self.queue = lowered, shapes, state, queue
        self.offsets, neighbours = part.into
        self.arrays = [neighbours, *(part.in_columns[name] for name in lowered.columns)]
        self.degrees = np.diff(self.offsets).astype(np.int64)
        begin, end = int(self.offsets[0]), int(self.offsets[-1])
        self.reads = np.unique(neighbours[begin:end])
        self.sources = api.to_device(self.reads)
        self.shared: dict[tuple[int, int], dict[str, Any]] = {}
        self.with_blocks, self.with_scans = not in_order(lowered) and not vectors(lowered), scannable(lowered)
        self.with_blocks = self.with_blocks and not lowered.by_rows
        self.by_thread = bool(lowered.edge_state or lowered.mails) or by_thread_alone(lowered)
        self.blocks: list[int] = placed.blocks.tolist() if placed.streams else []
        self.resident = placed.resident if self.blocks else len(self.degrees)
        self.rows, self.here = self._rows_of(self.offsets), self._copied(0, self.resident)
        self.mapped: list[Any] | None = None
        self.buffers = [_Buffer(self._most(), self.arrays) for _ in range(2)] if self.blocks else []
        self.link = api.stream() if self.blocks else None

    # --- whole

    def out(self, offsets: Array, arrays: list[Array], fits: bool) -> tuple[Any, list[Any]]:
        """Out-edges, whose rows are those of all vertices: on the device if they fit, else mapped."""
        begin, end = int(offsets[0]), int(offsets[-1])
        rows = self._rows_of(offsets)
        if fits:
            return rows, [api.to_device(array[begin:end]) for array in arrays]
        return rows, self._mapped([array[begin:end] for array in arrays])

    def whole(self) -> dict[str, Any]:
        """All in-edges, by their names in kernels: on the device, or mapped if they do not fit."""
        if not self.blocks:
            return self.named(self.rows, self.here, 0)
        if self.mapped is None:
            begin, end = int(self.offsets[0]), int(self.offsets[-1])
            self.mapped = self._mapped([array[begin:end] for array in self.arrays])
        return self.named(self.rows, self.mapped, 0)

    def _mapped(self, arrays: list[Array]) -> list[Any]:
        for array in arrays:
            self.state.map(array)
        return [twin.device for twin in self.state.twins[-len(arrays) :]]

    def named(self, rows: Any, arrays: list[Any], shift: int) -> dict[str, Any]:
        """Edges by their names in kernels; the first is at position `shift` of the rows."""
        names = ["neighbours", *(f"c_{name}" for name in self.lowered.columns)]
        return {"rows": rows, "shift": np.uint64(shift), **dict(zip(names, arrays, strict=True))}

    def _rows_of(self, offsets: Array) -> Any:
        """Offsets from 0 on, in 32 bits if they fit."""
        kind = np.uint32 if int(offsets[-1]) - int(offsets[0]) < 1 << 32 else np.uint64
        return api.to_device((offsets - offsets[0]).astype(kind))

    def _copied(self, first: int, last: int) -> list[Any]:
        begin, end = int(self.offsets[first]), int(self.offsets[last])
        return [api.to_device(array[begin:end]) for array in self.arrays]

    # --- by rows

    def between(self, first: int, last: int) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """The rows from `first` to before `last`, divided among kernels, with their edges."""
        if first == last:
            return
        if last <= self.resident:
            yield self._shared(first, last), self.named(self.rows, self.here, 0)
            return
        block = self.blocks.index(first)
        buffer = self.buffers[block % 2]
        self._bring(block)
        buffer.came.wait(self.queue)
        yield self._shared(first, last), self.named(self.rows, buffer.device, self._place(first))
        buffer.done.record(self.queue)
        self._bring((block + 1) % (len(self.blocks) - 1))

    def _bring(self, block: int) -> None:
        """Start the transfer of a block to its buffer, unless it is there already."""
        buffer = self.buffers[block % 2]
        if buffer.block == block:
            return
        first, last = self._place(self.blocks[block]), self._place(self.blocks[block + 1])
        begin = int(self.offsets[0])
        buffer.came.synchronize()
        for locked, array in zip(buffer.locked, self.arrays, strict=True):
            locked[: last - first] = array[begin + first : begin + last]
        buffer.done.wait(self.link)
        for device, locked in zip(buffer.device, buffer.locked, strict=True):
            device[: last - first].copy_to_device(locked[: last - first], stream=self.link)
        buffer.came.record(self.link)
        buffer.block = block

    def _place(self, row: int) -> int:
        return int(self.offsets[row]) - int(self.offsets[0])

    def _most(self) -> int:
        return max(self._place(b) - self._place(a) for a, b in zip(self.blocks, self.blocks[1:], strict=False))

    def _shared(self, first: int, last: int) -> dict[str, Any]:
        if (first, last) not in self.shared:
            if self.by_thread:
                rows = {"pull_thread": np.arange(first, last, dtype=np.uint32)}
            else:
                rows = shared_out(self.degrees[first:last], first, self.shapes, self.with_blocks, self.with_scans)
            self.shared[first, last] = {name: api.to_device(which) for name, which in rows.items()}
        return self.shared[first, last]


class _Buffer:
    """A buffer for one block on the device and, locked, on the host; with events for its arrival and last use."""

    def __init__(self, edges: int, arrays: list[Array]) -> None:
        self.device = [api.empty(edges, array.dtype) for array in arrays]
        self.locked = [api.pinned(edges, array.dtype) for array in arrays]
        self.came, self.done = api.event(), api.event()
        self.block = -1

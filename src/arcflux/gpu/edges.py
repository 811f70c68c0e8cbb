"""The edges of a part in a device's memory: all of them, or those that fit, and two blocks for the others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.compile.cuda_pull import in_order
from arcflux.compile.lower import Lowered
from arcflux.gpu import api
from arcflux.gpu.launch import Shapes, shared_out
from arcflux.gpu.state import State

__all__ = ["Edges"]

Array = NDArray[Any]


class Edges:
    """In-edges of a part: `sources` are the vertices that it reads of (Lux's INS), on the device."""

    def __init__(self, node: Any, lowered: Lowered, state: State, shapes: Shapes) -> None:
        self.node, self.lowered, self.shapes, self.state = node, lowered, shapes, state
        part = node.part
        self.offsets, self.neighbours = part.into
        self.columns = [part.in_columns[name] for name in lowered.columns]
        self.degrees = np.diff(self.offsets).astype(np.int64)
        begin, end = int(self.offsets[0]), int(self.offsets[-1])
        self.sources = api.to_device(np.unique(self.neighbours[begin:end]))
        self.shared: dict[tuple[int, int], dict[str, Any]] = {}
        self.resident: tuple[Any, Any, list[Any]] | None = None
        vectors = any(length is not None for _, length in lowered.fields.values())
        vectors = vectors or any(message.length is not None for message in lowered.messages)
        self.with_blocks = not in_order(lowered) and not vectors

    def copied(self, offsets: Array, neighbours: Array, columns: list[Array]) -> tuple[Any, Any, list[Any]]:
        """Rows as the device has them: offsets from 0 on, in 32 bits if they fit, and the edges between them."""
        begin, end = int(offsets[0]), int(offsets[-1])
        kind = np.uint32 if end - begin < 1 << 32 else np.uint64
        rows = api.to_device((offsets - offsets[0]).astype(kind))
        return rows, api.to_device(neighbours[begin:end]), [api.to_device(column[begin:end]) for column in columns]

    def whole(self) -> dict[str, Any]:
        """All in-edges, by the names that kernels have for them."""
        if self.resident is None:
            self.resident = self.copied(self.offsets, self.neighbours, self.columns)
        rows, neighbours, columns = self.resident
        return self._named(rows, neighbours, columns, 0)

    def _named(self, rows: Any, neighbours: Any, columns: list[Any], shift: int) -> dict[str, Any]:
        found = {"rows": rows, "neighbours": neighbours, "shift": np.uint64(shift)}
        return found | {f"c_{name}": column for name, column in zip(self.lowered.columns, columns, strict=True)}

    def between(self, first: int, last: int) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """The rows from `first` to before `last`, as each kernel takes them, with their edges."""
        if first == last:
            return
        yield self._rows(first, last), self.whole()

    def _rows(self, first: int, last: int) -> dict[str, Any]:
        if (first, last) not in self.shared:
            rows = shared_out(self.degrees[first:last], first, self.shapes, self.with_blocks)
            self.shared[first, last] = {name: api.to_device(which) for name, which in rows.items()}
        return self.shared[first, last]

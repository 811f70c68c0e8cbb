"""Walks as a result: rows of vertices, and how often each vertex is visited."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

import arcflux as af
from arcflux.applications.traffic import told
from arcflux.graph import Graph
from arcflux.result import checked_suffix

__all__ = ["Visits", "Walks", "as_ids"]

Array = NDArray[Any]


class Visits(Mapping[str, Array]):
    """The field `visits` of walks, counted on demand."""

    def __init__(self, rows: Array, vertices: int) -> None:
        self.rows, self.vertices = rows, vertices

    @cached_property
    def _counted(self) -> Array:
        there = self.rows.reshape(-1)
        return np.bincount(there[there >= 0], minlength=self.vertices)

    def __getitem__(self, name: str) -> Array:
        if name != "visits":
            raise KeyError(name)
        return self._counted

    def __iter__(self) -> Iterator[str]:
        return iter(("visits",))

    def __len__(self) -> int:
        return 1


@dataclass(frozen=True, repr=False)
class Walks(af.Result):
    """The result of :func:`random_walks` and :func:`graph_search`: the field `visits`, and the walks.

    numbers_of_walks: int[walks, length], vertices by number, -1 behind an end; traffic: bytes that workers sent each
    other, by phases.
    """

    numbers_of_walks: Array = field(default_factory=lambda: np.empty((0, 1), np.int32))
    traffic: Mapping[str, int] = field(default_factory=dict)

    @property
    def walks(self) -> Array:
        """The walks in the user's ids, a row each; -1 (text ids: None) behind the end of one.

        Examples
        --------
        >>> import arcflux as af
        >>> g = af.Graph.from_edges(["ada"], ["bob"])
        >>> af.random_walks(g, ["ada"], 3).walks.tolist()
        [['ada', 'bob', None]]
        """
        return as_ids(self.graph, self.numbers_of_walks)

    @property
    def lengths(self) -> Array:
        """How many vertices each walk has."""
        counted: Array = (self.numbers_of_walks >= 0).sum(axis=1)
        return counted

    def highlights(self) -> list[tuple[str, str]]:
        """How many walks and steps there are, how many ended early, how much of the graph they saw."""
        lengths, (count, length) = self.lengths, self.numbers_of_walks.shape
        steps = int(lengths.sum()) - count
        seen = int(np.count_nonzero(self.values["visits"]))
        rate = f", {steps / self.seconds / 1e6:,.1f} million a second" if self.seconds else ""
        return [
            ("walks", f"{count:,} of up to {length:,} vertices, {int((lengths < length).sum()):,} ended early"),
            ("steps", f"{steps:,}{rate}"),
            ("seen", f"{seen:,} of {self.graph.vertices:,} vertices"),
            *told(self.traffic),
        ]

    def save(self, path: str | os.PathLike[str], field: str | None = None) -> None:
        """Write the walks in ids, a row each: .npy, .csv or .parquet (columns step_0, step_1, ...).

        With `field`, "visits", that field as any result does.
        """
        target = checked_suffix(path)
        if field is not None or (target.suffix == ".npy" and self.graph.ids.kind == "text"):
            super().save(path, field)
            return
        from arcflux.io.loaded import replacing

        walks = self.walks
        with replacing(target) as work:
            if target.suffix == ".npy":
                with open(work, "wb") as file:
                    np.save(file, walks, allow_pickle=False)
                return
            import pyarrow as pa
            from pyarrow import csv, parquet

            table = pa.table({f"step_{k}": pa.array(column) for k, column in enumerate(walks.T)})
            (csv.write_csv if target.suffix == ".csv" else parquet.write_table)(table, work)


def as_ids(graph: Graph, numbers: Array) -> Array:
    """Vertices by id where they are given by number, in any shape; -1, or None among text, for a negative number."""
    flat = numbers.reshape(-1)
    known = flat >= 0
    found = graph.ids.to_ids(flat[known])
    shown = np.full(flat.size, None if found.dtype == object else -1, found.dtype)
    shown[known] = found
    return shown.reshape(numbers.shape)

"""Arcflux's stores as a data source of Spark: ``session.read.format("arcflux").load("graph.arcflux")``.

A row is an edge: source, target, and the columns of edges. Each task maps the store, and reads a slice of its arcs; one
that finds another store than the slices belong to, because it was replaced, raises an error: rows of two stores are no
graph. Options: ``slices``, the number of tasks; ``trust``, "true" to read without checking the bytes first.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from arcflux.errors import GraphError, StoreError, UsageError
from arcflux.graph import Graph
from arcflux.spark.frames import quoted
from arcflux.spark.results import TYPES, arrow_array

try:
    from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
except ImportError as error:  # PySpark 3.5 has none; frames.py reports a missing PySpark
    raise UsageError(
        "this PySpark has no data sources in Python",
        expected="PySpark 4.0 or newer",
        remedy="pip install 'arcflux[spark]'",
    ) from error

__all__ = ["ArcfluxSource"]

# Arcs of one batch, and the least of a task.
_ARCS = 1 << 20


class ArcfluxSource(DataSource):  # type: ignore[misc]
    """A store as a data source."""

    @classmethod
    def name(cls) -> str:
        """Its name in Spark."""
        return "arcflux"

    def schema(self) -> str:
        """The columns of a store: its ends, and its columns of edges."""
        return ", ".join(f"{quoted(name)} {kind}" for name, kind in _columns(_opened(self.options)[0]).items())

    def reader(self, schema: Any) -> DataSourceReader:
        """The reader of these columns."""
        wanted = dict.fromkeys(schema.names)
        known = _columns(_opened(self.options)[0])
        for name in wanted:
            if name not in known:
                raise UsageError(f"the store has no column {name!r}", expected=f"one of: {', '.join(known)}")
        return _Reader(dict(self.options), {name: known[name] for name in wanted})


class _Slice(InputPartition):  # type: ignore[misc]
    """A range of arcs: from, to before; and the mark of their store."""

    def __init__(self, first: int, last: int, mark: str) -> None:
        self.first, self.last, self.mark = first, last, mark


class _Reader(DataSourceReader):  # type: ignore[misc]
    """Reads slices of a store."""

    def __init__(self, options: dict[str, str], columns: dict[str, str]) -> None:
        self.options, self.columns = options, columns

    def partitions(self) -> list[_Slice]:
        """Slices of equal size."""
        graph, mark = _opened(self.options)
        arcs = graph.arcs
        given = self.options.get("slices", "")
        if given and not (given.isdecimal() and len(given) < 19 and int(given) > 0):
            raise UsageError(f"the option slices is {given!r}", expected="a whole number from 1 on")
        count = min(int(given), max(1, arcs)) if given else max(1, min(64, arcs // _ARCS))
        cuts = [arcs * k // count for k in range(count + 1)]
        return [_Slice(first, last, mark) for first, last in itertools.pairwise(cuts)]

    def read(self, partition: _Slice) -> Iterator[Any]:
        """The edges of a slice, as Arrow batches."""
        graph, mark = _opened(self.options)
        if mark != partition.mark:
            raise StoreError(
                "the store was replaced since Spark began to read it", path=self.options["path"],
                expected="the store of which the other tasks have rows", remedy="read it again: a new data frame",
            )  # fmt: skip
        for first in range(partition.first, partition.last, _ARCS):
            yield _batch(graph, self.columns, first, min(first + _ARCS, partition.last))


def _opened(options: Any) -> tuple[Graph, str]:
    """The store of these options, and its mark."""
    from arcflux.io.store import open_marked

    path = options.get("path")
    if not path:
        raise UsageError("no store is named", remedy='session.read.format("arcflux").load("graph.arcflux")')
    place = Path(str(path).removeprefix("file://"))
    if not place.is_absolute():
        raise UsageError(
            f"the path of the store is {path!r}", expected="a whole path: tasks run in folders of their own",
            remedy="str(Path(...).resolve())",
        )  # fmt: skip
    trust = str(options.get("trust", "false")).lower() == "true"
    return open_marked(place, trust=trust)


def _columns(graph: Graph) -> dict[str, str]:
    """The columns by name, with Spark's types."""
    if {"source", "target"} & set(graph.columns):
        raise GraphError("an edge column is named source or target, as the ends are", remedy="give it another name")
    ids = "string" if graph.ids.kind == "text" else "bigint"
    return {"source": ids, "target": ids, **{n: TYPES[column.dtype.str[1:]] for n, column in graph.columns.items()}}


def _batch(graph: Graph, columns: dict[str, str], first: int, last: int) -> Any:
    """Arcs as rows; of an undirected graph each edge once, from its lower vertex."""
    import pyarrow as pa

    offsets = graph.out.offsets
    low = int(np.searchsorted(offsets, first, "right")) - 1
    high = int(np.searchsorted(offsets, last, "left"))
    rows = np.clip(offsets[low : high + 1].astype(np.int64), first, last)
    source = np.repeat(np.arange(low, high), np.diff(rows))
    target = graph.out.neighbours[first:last].astype(np.int64)
    kept = slice(None) if graph.directed else source <= target
    arrays = []
    for name, kind in columns.items():
        if name in ("source", "target"):
            values = graph.ids.to_ids((source if name == "source" else target)[kept])
        else:
            values = graph.columns[name][first:last][kept]
        arrays.append(arrow_array(np.asarray(values), kind))
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))

"""Sending the edges of a frame to the daemon: three ways, of which the fastest possible one is used.

jvm: a job of Spark's own JVM writes columns into files of the daemon's folder (packager.py). arrow: Python tasks send
Arrow batches as sealed memory; also under Spark Connect. parquet: the driver reads the files itself, without Spark.

A task may be repeated. Each attempt writes its own files, or sends its slice again, and the last one counts.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from arcflux.errors import UsageError
from arcflux.plug.connection import Connection
from arcflux.spark import packager
from arcflux.spark.frames import Columns, is_connect, quoted
from arcflux.transports.ring import host_id

__all__ = ["PACKINGS", "arrow_columns", "pack_frame", "pack_parquet", "refuse_nulls", "sweep"]

PACKINGS = ("auto", "jvm", "arrow")
# Seconds after which an untaken file belongs to a driver that was killed.
_STALE = 3600.0


def pack_frame(
    frame: Any, columns: Columns, daemon: Connection, graph: str, packing: str
) -> tuple[int | None, str, str]:
    """Send the columns of a frame to the daemon; the number of slices, if known, the way, and its reason."""
    chosen = frame if frame.columns == columns.names else frame.select(*map(quoted, columns.names))
    why = ""
    if packing == "auto" and is_connect(frame):
        why = "Spark Connect has no JVM at hand"
    elif packing == "jvm" and is_connect(frame):
        raise UsageError("packing is 'jvm', and Spark Connect has no JVM at hand", remedy="packing='arrow'")
    elif packing != "arrow":
        try:
            return _by_jvm(chosen, columns, daemon, graph), "jvm", ""
        except packager.PackagerError as error:
            if packing == "jvm":
                raise
            why = str(error).partition("\n")[0]
    _by_arrow(chosen, columns, daemon, graph)
    return None, "arrow", why


def _by_jvm(frame: Any, columns: Columns, daemon: Connection, graph: str) -> int:
    session, folder = frame.sparkSession, daemon.place.folder
    made = packager.loaded(session)
    names = columns.names
    kinds = " ".join(columns.kinds[name] for name in names)
    try:
        said = str(made.pack(frame._jdf, str(folder), graph, kinds))
        parts = sorted((line.split(" ") for line in said.splitlines()), key=_number)
        for _, _, _, nulls, _ in parts:
            refuse_nulls(dict(zip(names, map(int, nulls.split(",")), strict=True)), columns)
        for number, file, rows, _, places in parts:
            if not (folder / file).exists():
                raise _elsewhere()
            daemon.put_files(graph, _said(columns, int(rows), places), [file], number=int(number))
    finally:
        for left in folder.glob(f"{graph}-*.columns"):  # of attempts that have failed, or all of them after an error
            left.unlink(missing_ok=True)
    return len(parts)


def _number(words: list[str]) -> int:
    return int(words[0])


def _said(columns: Columns, rows: int, places: str) -> list[dict[str, Any]]:
    """The position of each column in the file of a partition (plug/memory.py)."""
    starts = iter(map(int, places.split(",")))
    said: list[dict[str, Any]] = []
    for name in columns.names:
        one = {"name": name, "dtype": columns.kinds[name], "count": rows, "fd": 0, "offset": next(starts)}
        said.append({**one, "offsets": "<i8", "data": next(starts)} if one["dtype"] == "text" else one)
    return said


def refuse_nulls(nulls: dict[str, int], columns: Columns) -> None:
    """Refuse columns with nulls, given their counts by column."""
    for name, count in nulls.items():
        if count:
            what = "an id" if name in (columns.source, columns.target) else "a number"
            raise UsageError(
                f"column {name} has {count:,} nulls", expected=f"{what} in every row",
                remedy=f'frame.dropna(subset=["{name}"])',
            )  # fmt: skip


def _elsewhere() -> UsageError:
    return UsageError(
        "tasks of Spark have run on other hosts than the driver, where its daemon is",
        expected="for the attached way, executors on the driver's host", remedy="way='barrier'",
    )  # fmt: skip


class PutSlices:
    """The function of a Python task: it sends its Arrow batches as one slice."""

    def __init__(self, graph: str, columns: Columns, name: str, folder: str) -> None:
        self.graph, self.columns, self.name, self.folder = graph, columns, name, folder

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Send the batches of a partition; yields one row as a report."""
        import pyarrow as pa
        from pyspark import TaskContext

        held = [batch for batch in batches if batch.num_rows]
        context = TaskContext.get()
        part = context.partitionId() if context is not None else 0
        nulls = [sum(batch.column(name).null_count for batch in held) for name in self.columns.names]
        if held and not any(nulls):
            with Connection.open(self.name, self.folder, start=False) as daemon:
                daemon.put(self.graph, arrow_columns(held, self.columns), number=part)
        rows = sum(batch.num_rows for batch in held)
        yield pa.RecordBatch.from_pydict(
            {"part": pa.array([part], pa.int32()), "rows": pa.array([rows], pa.int64()), "host": [host_id()],
             "nulls": [",".join(map(str, nulls))]}
        )  # fmt: skip


def arrow_columns(batches: list[Any], columns: Columns) -> dict[str, Any]:
    """The columns of Arrow batches: arrays of numbers, or Arrow text; an error if one has a null."""
    import pyarrow as pa

    if not batches:
        kinds = {name: np.dtype(kind) if kind != "text" else object for name, kind in columns.kinds.items()}
        return {name: np.empty(0, kinds[name]) for name in columns.names}
    table = pa.Table.from_batches(batches)
    refuse_nulls({name: table.column(name).null_count for name in columns.names}, columns)
    return {name: _array(table.column(name), columns.kinds[name]) for name in columns.names}


def _array(column: Any, kind: str) -> Any:
    whole = column.combine_chunks()
    return whole if kind == "text" else whole.to_numpy(zero_copy_only=False)


def _by_arrow(frame: Any, columns: Columns, daemon: Connection, graph: str) -> None:
    put = PutSlices(graph, columns, daemon.place.name, str(daemon.place.folder))
    said = frame.mapInArrow(put, "part int, rows bigint, host string, nulls string").collect()
    for row in said:
        refuse_nulls(dict(zip(columns.names, map(int, row.nulls.split(",")), strict=True)), columns)
        if row.host != host_id():
            raise _elsewhere()


def pack_parquet(path: str | os.PathLike[str], choose: Callable[[Any], Columns], daemon: Connection, graph: str) -> Any:
    """Read Parquet files, or a folder of them, and send the columns that `choose` selects from their schema."""
    import pyarrow.dataset as ds

    place = Path(str(path).removeprefix("file://"))
    if not place.exists():
        raise UsageError(f"there is no {place}", expected="a Parquet file, or a folder of them")
    try:
        data = ds.dataset(place, format="parquet")
    except (OSError, ValueError) as error:
        raise UsageError(f"{place} cannot be read as Parquet: {error}") from error
    columns = choose(data.schema)
    slices = 0
    for fragment in data.get_fragments():
        table = fragment.to_table(columns=columns.names)
        refuse_nulls({name: table.column(name).null_count for name in columns.names}, columns)
        found = {name: _array(table.column(name), columns.kinds[name]) for name in columns.names}
        daemon.put(graph, found, number=slices)
        slices += 1
    return columns, slices


def sweep(folder: Path) -> None:
    """Remove column files of a driver that was killed."""
    for left in folder.glob("spark-*.columns"):
        with suppress(FileNotFoundError):
            if time.time() - left.stat().st_mtime > _STALE:
                left.unlink()

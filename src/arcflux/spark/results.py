"""The values of vertices on their way back: a DataFrame whose tasks read slices of the daemon's result.

Nothing is collected at the driver: the frame is lazy, and each task maps the daemon's memory and reads its rows.
Columns of numbers are read by the JVM itself (jvm/ResultReader.scala); text and lists by Python tasks, as Arrow.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from arcflux.errors import DeviceError
from arcflux.plug.connection import Connection
from arcflux.plug.wire import LostPeerError
from arcflux.spark import packager
from arcflux.spark.frames import is_connect, quoted

__all__ = ["TYPES", "Fields", "ReadSlices", "arrow_array", "arrow_type", "result_frame"]

# Rows of one batch: 8 MiB of a column of numbers.
_ROWS = 1 << 20
TYPES = {
    "b1": "boolean", "i1": "tinyint", "i2": "smallint", "i4": "int", "i8": "bigint", "u1": "smallint", "u2": "int",
    "u4": "bigint", "u8": "bigint", "f4": "float", "f8": "double",
}  # fmt: skip


class Fields(dict[str, str]):
    """The columns of a result by name, "vertex" first, with Spark's types."""

    @classmethod
    def of(cls, reply: Mapping[str, Any], id_type: str) -> Fields:
        """The columns in a daemon's reply to a run."""
        made = cls(vertex=id_type)
        for name, (kind, *shape) in reply["fields"].items():
            one = id_type if name in reply["references"] else TYPES[np.dtype(kind).str[1:]]
            made[name] = f"array<{one}>" if shape else one
        return made

    @property
    def schema(self) -> str:
        """The schema as text for Spark."""
        return ", ".join(f"{quoted(name)} {kind}" for name, kind in self.items())


class ReadSlices:
    """The function of a task: for each number in its input, it reads that slice of the result."""

    def __init__(self, result: str, fields: Fields, slices: int, name: str, folder: str, spent: Any = None) -> None:
        self.result, self.fields, self.slices = result, fields, slices
        self.name, self.folder, self.spent = name, folder, spent

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """The rows of the slices whose numbers come in, in batches."""
        # First read all input: Spark discards a worker that has not read its input to the end.
        numbers = [number for batch in batches for number in batch.column(0).to_pylist()]
        begun = time.perf_counter()
        columns = self._fetched() if numbers else {}
        for number in numbers:
            yield from self.batches(columns, number)
        if self.spent is not None:
            self.spent.add(time.perf_counter() - begun)

    def batches(self, columns: Mapping[str, Any], number: int) -> Iterator[Any]:
        """The rows of one slice."""
        total = len(columns["vertex"])
        first, last = total * number // self.slices, total * (number + 1) // self.slices
        for start in range(first, last, _ROWS):
            yield self._batch(columns, start, min(start + _ROWS, last))

    def _fetched(self) -> dict[str, Any]:
        try:
            with Connection.open(self.name, self.folder, start=False) as daemon:
                return daemon.fetch(self.result)
        except (LostPeerError, DeviceError) as error:
            raise DeviceError(
                f"the daemon that had the result {self.result} is gone: {error}",
                remedy="run it again; results that are to outlive their daemon are written, or cached and counted",
            ) from error

    def _batch(self, columns: Mapping[str, Any], start: int, stop: int) -> Any:
        import pyarrow as pa

        arrays = [arrow_array(columns[name][start:stop], kind) for name, kind in self.fields.items()]
        return pa.RecordBatch.from_arrays(arrays, names=list(self.fields))


def arrow_type(kind: str) -> Any:
    """Arrow's type for a type of Spark."""
    import pyarrow as pa

    plain = {"boolean": pa.bool_(), "tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(),
             "bigint": pa.int64(), "float": pa.float32(), "double": pa.float64(), "string": pa.string()}  # fmt: skip
    return pa.list_(arrow_type(kind[6:-1])) if kind.startswith("array<") else plain[kind]


def arrow_array(values: Any, kind: str) -> Any:
    """Values as an Arrow array of the type that Spark expects."""
    import pyarrow as pa

    if kind.startswith("array<"):
        inner = arrow_array(np.ascontiguousarray(values).reshape(-1), kind[6:-1])
        offsets = np.arange(0, values.size + 1, values.shape[1], dtype=np.int32)
        return pa.ListArray.from_arrays(offsets, inner)
    if not isinstance(values, np.ndarray):
        return values.cast(arrow_type(kind))
    wanted = arrow_type(kind)
    return pa.array(values.astype(wanted.to_pandas_dtype(), copy=False) if kind != "string" else values, wanted)


def result_frame(session: Any, read: ReadSlices, located: Mapping[str, Any] | None) -> Any:
    """The frame of a result; `located`: the location of its columns, unless Python tasks have to read it."""
    if not is_connect(session):
        text = "string" in read.fields.values()  # ids of a graph without edges are numbers, whatever Spark has
        if located is not None and not text and all("length" not in one for one in located["columns"]):
            with suppress(packager.PackagerError):
                return _by_jvm(session, read, located)
        read.spent = session.sparkContext.accumulator(0.0)
    return session.range(0, read.slices, 1, read.slices).mapInArrow(read, read.fields.schema)


def _by_jvm(session: Any, read: ReadSlices, located: Mapping[str, Any]) -> Any:
    from pyspark.sql import DataFrame

    reader = packager.loaded(session, "ResultReader")
    columns = located["columns"]
    made = reader.read(  # few calls of the JVM, and text instead of arrays: each element would be a call
        session._jsparkSession, located["place"], located["mark"], columns[0]["count"], read.slices,
        read.fields.schema, " ".join(one["dtype"] for one in columns), " ".join(str(one["offset"]) for one in columns),
    )  # fmt: skip
    read.spent = _Spent(made)
    return DataFrame(made.frame(), session)


class _Spent:
    """The seconds of a JVM frame, in the form of PySpark's accumulators."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    @property
    def value(self) -> float:
        return float(self._frame.seconds())

"""Results of jobs in files, one Arrow file each, served as JSON, CSV, Arrow or Parquet, in pages or as a stream.

A digest follows the Arrow data in the file, and is checked before the first page is read: Arrow itself checks neither
values nor that offsets of text stay inside of the file.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from arcflux.errors import StoreError, UsageError
from arcflux.result import Result

__all__ = ["FORMATS", "MEDIA", "Results"]

FORMATS = ("json", "csv", "arrow", "parquet")
MEDIA = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "arrow": "application/vnd.apache.arrow.stream",
    "parquet": "application/vnd.apache.parquet",
}
# Rows of a batch: large enough that a batch costs nothing, small enough that a page reads little more than itself.
_BATCH = 1 << 16
# Bytes of the digest at the end of a file, and bytes that are hashed at once.
_DIGEST, _PIECE = 32, 1 << 24
# How many verified files are remembered, as long as they do not change.
_MOST_KNOWN = 1000


class Results:
    """A folder of results that only its owner can access."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._whole: dict[tuple[int, ...], None] = {}
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def path(self, ident: str) -> Path:
        """The file of a job's result."""
        if not ident.replace("-", "").isalnum():
            raise UsageError(f"{ident!r} is no id of a job", expected="letters, digits and dashes")
        return self.folder / f"{ident}.arrow"

    def keep(self, ident: str, result: Result) -> int:
        """Write a result atomically; returns the number of its rows."""
        return self.keep_table(ident, result.to_arrow())

    def keep_table(self, ident: str, table: Any) -> int:
        """The same for a table."""
        import pyarrow as pa

        target = self.path(ident)
        work = target.with_suffix(".writing")
        with open(os.open(work, os.O_CREAT | os.O_TRUNC | os.O_RDWR, 0o600), "w+b") as file:
            with pa.ipc.new_file(file, table.schema) as writer:
                for batch in table.to_batches(max_chunksize=_BATCH):
                    writer.write_batch(batch)
            file.write(_digest(file, file.tell()))
            file.flush()
            os.fsync(file.fileno())
        os.replace(work, target)
        return int(table.num_rows)

    def drop(self, ident: str) -> None:
        """Delete a result."""
        self.path(ident).unlink(missing_ok=True)

    def tidy(self, known: set[str]) -> None:
        """Delete files without a job, such as those of a server that was killed."""
        for file in self.folder.iterdir():
            if file.suffix == ".writing" or (file.suffix == ".arrow" and file.stem not in known):
                file.unlink(missing_ok=True)

    def stream(self, ident: str, form: str, first: int = 0, limit: int | None = None) -> Iterator[bytes]:
        """Rows from `first` on, in a format, piece by piece; raises at once if the file is not as it was written."""
        return _WRITERS[form](self._batches(self.path(ident), self._checked(ident), first, limit))

    def _checked(self, ident: str) -> int:
        """The length of a result's Arrow data, after checking its digest; once, unless the file changes."""
        path = self.path(ident)
        try:
            with open(path, "rb") as file:
                about = os.fstat(file.fileno())
                length, stamp = about.st_size - _DIGEST, (about.st_ino, about.st_size, about.st_mtime_ns)
                if stamp not in self._whole:
                    if length <= 0 or _digest(file, length) != file.read():
                        raise StoreError("the result is not what was written", path=path, remedy="submit the job again")
                    self._whole[stamp] = None
        except OSError as error:
            raise StoreError(f"the result cannot be read: {error.strerror}", path=path) from error
        while len(self._whole) > _MOST_KNOWN:
            self._whole.pop(next(iter(self._whole)), None)
        return length

    @staticmethod
    def _batches(path: Path, length: int, first: int, limit: int | None) -> Iterator[Any]:
        """The schema, then batches of the requested rows; the file is mapped, and only those are read."""
        import pyarrow as pa

        with pa.memory_map(str(path)) as source:
            file = pa.ipc.open_file(source, footer_offset=length)
            yield file.schema
            left = file.num_record_batches * _BATCH if limit is None else limit
            for number in range(first // _BATCH, file.num_record_batches):
                if left <= 0:
                    return
                batch = file.get_batch(number)
                begin = max(0, first - number * _BATCH)
                some = batch.slice(begin, left)
                left -= some.num_rows
                if some.num_rows:
                    yield some


def _digest(file: Any, length: int) -> bytes:
    """The digest of the first bytes of a file; afterwards the file is positioned behind them."""
    digest = hashlib.blake2b(digest_size=_DIGEST)
    file.seek(0)
    for at in range(0, length, _PIECE):
        digest.update(file.read(min(_PIECE, length - at)))
    return digest.digest()


def _arrow(batches: Iterator[Any]) -> Iterator[bytes]:
    import pyarrow as pa

    sink = _Sink()
    with pa.ipc.new_stream(sink, next(batches)) as writer:
        for batch in batches:
            writer.write_batch(batch)
            yield sink.taken()
    yield sink.taken()


def _parquet(batches: Iterator[Any]) -> Iterator[bytes]:
    from pyarrow import parquet

    sink = _Sink()
    with parquet.ParquetWriter(sink, next(batches), compression="snappy") as writer:
        for batch in batches:
            writer.write_batch(batch)
            yield sink.taken()
    yield sink.taken()


def _csv(batches: Iterator[Any]) -> Iterator[bytes]:
    import pyarrow as pa
    from pyarrow import csv

    from arcflux.result import flat_table

    schema = next(batches)
    header = True
    for batch in batches:
        table = flat_table(pa.Table.from_batches([batch]))
        if header:
            yield (",".join(table.column_names) + "\n").encode()
            header = False
        sink = io.BytesIO()
        csv.write_csv(table, sink, csv.WriteOptions(include_header=False))
        yield sink.getvalue()
    if header:
        yield (",".join(schema.names) + "\n").encode()


def _json(batches: Iterator[Any]) -> Iterator[bytes]:
    """Columns by name; numbers that JSON cannot express are null."""
    import pyarrow as pa

    schema = next(batches)
    table = pa.Table.from_batches(list(batches), schema)
    yield b'{"columns": {'
    for number, name in enumerate(table.column_names):
        yield (", " if number else "").encode() + json.dumps(name).encode() + b": " + _listed(table.column(number))
    yield b"}, " + f'"rows": {table.num_rows}'.encode() + b"}"


def _listed(column: Any) -> bytes:
    """A column as a JSON list; Arrow formats numbers faster than Python does."""
    import pyarrow as pa
    import pyarrow.compute as pc

    whole, real = pa.types.is_integer(column.type), pa.types.is_floating(column.type)
    if not (whole or real):
        return json.dumps([_finite(value) for value in column.to_pylist()]).encode()
    words = pc.cast(column, pa.string())
    if real:
        words = pc.if_else(pc.is_finite(column), words, "null")
    return b"[" + ", ".join(pc.fill_null(words, "null").to_pylist()).encode() + b"]"


def _finite(value: Any) -> Any:
    if isinstance(value, list):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


_WRITERS = {"json": _json, "csv": _csv, "arrow": _arrow, "parquet": _parquet}


class _Sink(io.RawIOBase):
    """A file object for writing, from which the written bytes are taken piece by piece."""

    def __init__(self) -> None:
        super().__init__()
        self._pieces: list[bytes] = []
        self._at = 0

    def writable(self) -> bool:
        """Always."""
        return True

    def write(self, data: Any) -> int:
        """Take bytes."""
        piece = bytes(data)
        self._pieces.append(piece)
        self._at += len(piece)
        return len(piece)

    def tell(self) -> int:
        """The number of bytes written."""
        return self._at

    def taken(self) -> bytes:
        """The bytes written since the last call."""
        whole = b"".join(self._pieces)
        self._pieces.clear()
        return whole

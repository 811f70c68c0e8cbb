"""Small pieces that text formats share besides the parser: a list of vertices, and rows written with progress."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import arcflux.io.scan as scan
from arcflux import trace
from arcflux.errors import FormatError

__all__ = ["read_vertices", "write_table"]

Array = NDArray[Any]

_BATCH = 1 << 18


def read_vertices(path: Path, threads: int | None = None) -> Array:
    """The ids of a vertex file: one a line, integers or else text; lines that start with # or % are comments.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "all.v")
    ...     _ = path.write_text("# three\\n7\\n9\\n-1\\n")
    ...     read_vertices(path).tolist()
    [7, 9, -1]
    """
    data = scan.text(path)
    try:
        values, offsets = scan.numbers(data, path=path, comments=b"#%", threads=threads)
    except FormatError:
        return _names(data, path)
    each = np.diff(offsets)
    if each.max(initial=0) > 1:
        raise FormatError(f"a line has {int(each.max())} ids", path=path, expected="one id a line")
    return values


def _names(data: Array, path: Path) -> Array:
    try:
        lines = data.tobytes().decode().splitlines()
    except UnicodeDecodeError as error:
        raise FormatError("the file is not UTF-8 text", path=path, expected="one id a line") from error
    return np.array([line.strip() for line in lines if line.strip() and line[0] not in "#%"], object)


def write_table(table: Any, out: Any, options: Any, name: str) -> None:
    """Write a pyarrow table as delimited text, a piece at a time, so that there is progress to see."""
    from pyarrow import csv

    with (
        trace.task(f"write {name}", len(table), "rows") as task,
        csv.CSVWriter(out, table.schema, write_options=options) as writer,
    ):
        for begin in range(0, len(table), _BATCH):
            writer.write_table(table.slice(begin, _BATCH))
            task.advance(min(_BATCH, len(table) - begin))

"""What the formats with a header share: finding it, reading as many edges as it promises, writing rows behind it.

Matrix Market, METIS and DIMACS are such formats; LDBC, GAP and tables use the smaller pieces.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arcflux import trace
from arcflux.errors import FormatError
from arcflux.graph.edges import Edges, bytes_to_build
from arcflux.graph.ids import RangeIds
from arcflux.io import scan
from arcflux.io.loaded import replacing
from arcflux.io.rows import write_table
from arcflux.spmd.space import afford

if TYPE_CHECKING:
    from arcflux.graph import Graph

__all__ = [
    "Header",
    "counted_edges",
    "describe_weights",
    "note_numbering",
    "one_column",
    "vertex_range",
    "write_rows",
]

Array = NDArray[Any]


@dataclass(frozen=True)
class Header:
    """The line of a text that says how much follows: its words, its number, and the text behind it."""

    path: Path
    words: list[str]
    line: int
    body: Array
    comments: bytes

    @classmethod
    def find(cls, data: Array, comments: bytes, path: Path, expected: str) -> Header:
        """The first line that is neither blank nor a comment."""
        found = _content(comments).search(data.data)
        if found is None:
            raise FormatError("there is no header, only comments", path=path, expected=expected)
        newline = re.compile(rb"\n|\Z").search(data.data, found.start())
        assert newline is not None
        words = bytes(data[found.start() : newline.start()][:1000]).decode("latin-1").split()
        return cls(path, words, 1 + _newlines(data, found.start()), data[newline.end() :], comments)

    def counts(self, words: Sequence[str], expected: str) -> list[int]:
        """Words of this line as counts."""
        if any(re.fullmatch(r"[0-9]{1,18}", word) is None for word in words):
            raise self.error(f"the header is {' '.join(self.words)[:60]!r}", expected=expected)
        return [int(word) for word in words]

    def vertices(self, count: int) -> range:
        """The ids 1 .. count."""
        return vertex_range(1, count, f"{self.path}:{self.line}")

    def error(self, what: str, *, line: int = 0, expected: str = "", remedy: str = "") -> FormatError:
        """The error for something wrong in this file, in this line unless another is given."""
        return FormatError(what, path=self.path, line=line or self.line, expected=expected, remedy=remedy)

    def line_of(self, entry: int, pattern: re.Pattern[bytes] | None = None) -> int:
        """The number of the line of an entry: of all lines behind the header that match, the one at place `entry`."""
        matches = (pattern or _content(self.comments)).finditer(self.body.data)
        match = next(islice(matches, entry, None), None)
        return self.line + 1 + _newlines(self.body, match.start()) if match else 0


def vertex_range(first: int, count: int, place: str) -> range:
    """The ids first .. first + count - 1. A count is cheap to write, so one that does not fit is refused at once."""
    afford(
        bytes_to_build(count), f"{place}: a graph of {count:,} vertices",
        "check the count of vertices at the start of the file, or use a machine with more memory",
    )  # fmt: skip
    return range(first, first + count)


def _content(comments: bytes) -> re.Pattern[bytes]:
    """Finds the start of each line that is neither blank nor a comment."""
    return re.compile(rb"^(?=[ \t\r]*[^ \t\r\n" + re.escape(comments) + rb"])", re.MULTILINE)


def _newlines(data: Array, end: int) -> int:
    return int(np.count_nonzero(data[:end] == ord("\n")))


def counted_edges(
    header: Header, count: int, limits: tuple[int, int], columns: int, prefix: bytes = b"", threads: int | None = None
) -> Edges:
    """The edges behind a header that promises `count` of them, from 1 .. limits[0] to 1 .. limits[1]."""
    written = scan.Lines(columns, header.comments, prefix=prefix, first_line=header.line + 1)
    edges = scan.edges(header.body, header.path, written, threads)
    if len(edges) != count:
        raise header.error(
            f"the header promises {count:,} entries, and {len(edges):,} follow",
            remedy="the file may be cut short or joined with another; fetch it again",
        )
    for ends, limit in zip((edges.source, edges.target), limits, strict=True):
        before = 0
        for start, size in zip(edges.starts.tolist(), edges.counts.tolist(), strict=True):
            part = ends[start : start + size]
            if size and (part.min() < 1 or part.max() > limit):
                at = int(np.argmax((part < 1) | (part > limit)))
                raise header.error(
                    f"the index {part[at]} is out of range",
                    line=header.line_of(before + at),
                    expected=f"1 to {limit}, as the header says",
                )
            before += size
    return edges


def describe_weights(edges: Edges) -> str:
    """The sentence about weights for the assumptions."""
    return f"weighted: values are 'weight' ({edges.columns['weight'].dtype})" if edges.columns else "not weighted"


def one_column(graph: Graph) -> Array | None:
    """The column that a format with room for one value an edge keeps, in the order of the arcs: weight or the first."""
    if not graph.columns:
        return None
    kept = "weight" if graph.weighted else next(iter(graph.columns))
    left = [name for name in graph.columns if name != kept]
    if left:
        trace.note(f"the format keeps one value an edge: {kept} is written, {', '.join(left)} left out")
    elif kept != "weight":
        trace.note(f"the format does not name its values: {kept} will be read back as weight")
    column: Array = graph.columns[kept]
    return column.view(np.uint8) if column.dtype == np.bool_ else column


def note_numbering(graph: Graph, base: int) -> None:
    """Say that ids are not kept, when they are not the numbers from `base` that the format has for vertices."""
    if graph.vertices and not (isinstance(graph.ids, RangeIds) and graph.ids.base == base):
        first = graph.ids.to_ids([0])[0]
        trace.note(
            f"the format numbers vertices from {base}: ids are replaced by their place in order, {first!s} by {base}"
        )


def write_rows(path: Path, head: str, columns: Sequence[Any]) -> None:
    """Write `head` and then the rows of equally long columns, separated by blanks; the suffix may ask for packing."""
    import pyarrow as pa
    from pyarrow import csv

    table = pa.table(list(columns), names=[str(place) for place in range(len(columns))])
    options = csv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none")
    with replacing(path) as work, pa.output_stream(str(work), compression="detect") as out:
        out.write(head.encode())
        if len(table):
            write_table(table, out, options, path.name)

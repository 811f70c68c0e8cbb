"""The general case of text: names, quotes and many columns, through Arrow's CSV reader and writer."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arcflux.errors import FormatError
from arcflux.io.columns import MISSING
from arcflux.io.layout import DELIMITERS, Layout
from arcflux.io.loaded import Loaded
from arcflux.io.rows import write_table
from arcflux.io.scan import is_number

if TYPE_CHECKING:
    from arcflux.graph import Graph

__all__ = ["read_delimited", "write_delimited"]

Array = NDArray[Any]

_MOST_COLUMNS = 1000
# The column that algorithms take without being asked: without it they count edges, and say nothing of it.
_WEIGHT = "weight"
# Whether a column is meant to have numbers shows in so many rows.
_TOP = 100


def read_delimited(
    data: Array, path: Path, layout: Layout, weights: bool | None, comments: str, threads: int | None
) -> Loaded:
    """Edges from text that the parallel parser does not read."""
    import pyarrow as pa

    from arcflux.io.tables import read_table

    if len(layout.names) > _MOST_COLUMNS:
        what = f"a line has {len(layout.names):,} fields"
        raise FormatError(what, path=path, expected=f"source, target and a few columns, at most {_MOST_COLUMNS:,}")
    body = _tidy(data.tobytes(), layout, comments)
    source, target = (layout.names[k] for k in layout.ends)
    kinds = {name: pa.from_numpy_dtype(kind) for name, kind in layout.kinds.items()}
    kinds |= dict.fromkeys((source, target), pa.int64() if layout.integer else pa.large_string())
    table = _table(body, path, layout, kinds, threads)
    if weights is False:
        table = table.select([source, target])
    for name in table.column_names:
        kind = table[name].type
        number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
        if number and table[name].null_count:
            row = int(np.argmax(table[name].is_null().to_numpy()))
            raise _wrong(f"there is no value in column {name!r}", path, layout.line + _line_of(body, row))
        if name == _WEIGHT and not number and (stray := _among_numbers(table[name])) is not None:
            row, text = stray
            if row == 0 and not layout.headed:  # the user says that a line of names is an edge
                continue
            raise _wrong(f"{text!r} is not a number, in column {name!r}", path, layout.line + _line_of(body, row))
    return read_table(table, path=path, source=source, target=target)


def _among_numbers(texts: Any) -> tuple[int, str] | None:
    """The row of the first text that is no number, and the text, if numbers are near the top; None if none is."""
    if not any(is_number(text) for text in texts.slice(0, _TOP).to_pylist() if text):
        return None
    for row, text in enumerate(texts):
        if not is_number(text.as_py() or ""):
            return row, str(text.as_py() or "")
    return None


def _table(body: bytes, path: Path, layout: Layout, kinds: dict[str, Any], threads: int | None) -> Any:
    import pyarrow as pa
    import pyarrow.csv as csv

    try:
        return csv.read_csv(
            pa.BufferReader(body),
            csv.ReadOptions(column_names=layout.names, use_threads=threads != 1),
            csv.ParseOptions(delimiter=layout.delimiter or " "),
            csv.ConvertOptions(column_types=kinds, strings_can_be_null=False, null_values=list(MISSING)),
        )
    except pa.ArrowException as error:
        if threads != 1:
            return _table(body, path, layout, kinds, 1)  # on one core Arrow knows the row
        row = re.search(r"Row #(\d+): ", str(error))
        what = re.sub(r"^CSV parse error: |^In CSV |Row #\d+: ", "", str(error))
        raise _wrong(what, path, layout.line + _line_of(body, int(row[1]) - 1) if row else 0) from error


def _tidy(body: bytes, layout: Layout, comments: str) -> bytes:
    """The text as Arrow reads it: one delimiter between fields, comments and blank lines emptied, no line removed."""
    marks = re.escape(comments).encode()
    blank = rb" \r" if layout.delimiter == "\t" else rb" \t\r"
    if comments:
        body = re.sub(rb"(?m)^[" + blank + rb"]*[" + marks + rb"].*$", b"", body)
        if layout.integer:
            body = re.sub(rb"[" + blank + rb"][" + marks + rb"].*", b"", body)
    if layout.delimiter:
        return re.sub(rb"(?m)^[" + blank + rb"]+$", b"", body)
    if b'"' in body:
        body = re.sub(rb'("[^"\n]*")|[ \t\r]+', lambda found: found[1] or b" ", body)
    else:
        body = re.sub(rb"[ \t\r]+", b" ", body)
    return body.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")


def _line_of(body: bytes, row: int) -> int:
    """How many lines are before a row; Arrow counts no empty lines."""
    filled = [k for k, text in enumerate(body.split(b"\n")) if text.strip(b"\r")]
    return filled[row] if row < len(filled) else len(filled)


def _wrong(what: str, path: Path, line: int) -> FormatError:
    return FormatError(
        what,
        path=path,
        line=line,
        expected="the same number of fields on every line, ids of one kind, and UTF-8",
        remedy="correct or remove the line, or name the layout with ids, delimiter, header, comments or weights",
    )


def write_delimited(graph: Graph, path: Path, delimiter: str, header: bool) -> None:
    """Write every edge once, after a comment that says what a list of edges cannot."""
    import pyarrow as pa
    import pyarrow.csv as csv

    source, target, columns = graph.edge_list()
    text = graph.ids.kind == "text"
    if text:
        _refuse_names(graph, path, delimiter)
    table = pa.table({"source": pa.array(source), "target": pa.array(target), **columns})
    options = csv.WriteOptions(
        include_header=header, delimiter=delimiter, quoting_style="all_valid" if text and delimiter != " " else "needed"
    )
    packing = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}.get(path.suffix.lower())
    with pa.output_stream(str(path), compression=packing) as out:
        out.write("".join(f"# {line}\n" for line in _comments(graph, delimiter, header)).encode())
        write_table(table, out, options, path.name)


def _refuse_names(graph: Graph, path: Path, delimiter: str) -> None:
    """Line breaks cannot stand in a line; between blanks, nor can blanks, quotes, a comment sign, or nothing at all."""
    refused = r"[\s\"]|^[#%]|^$" if delimiter == " " else r"[\r\n]"
    for name in graph.ids.to_ids().tolist():
        if re.search(refused, name):
            raise FormatError(
                f"the vertex name {name!r} cannot stand in a file like this",
                path=path,
                remedy="write a .parquet or a store" + (", or a .csv" if delimiter == " " else ""),
            )


def _comments(graph: Graph, delimiter: str, header: bool) -> list[str]:
    from arcflux.graph.ids import RangeIds

    ids, alone = graph.ids.kind, []
    if isinstance(graph.ids, RangeIds):
        ids = f"{graph.ids.base}..{graph.ids.base + graph.vertices - 1}"
    else:
        touched = graph.out_degrees > 0
        touched[graph.out.neighbours] = True
        alone = graph.ids.to_ids(np.flatnonzero(~touched)).tolist()
    named = {mark or " ": name for name, mark in DELIMITERS.items()}
    words = ["arcflux", "directed" if graph.directed else "undirected", f"ids={ids}"]
    words += [f"delimiter={named.get(delimiter, delimiter)}", f"header={'yes' if header else 'no'}"]
    if graph.columns:
        words.append("columns=" + ",".join(f"{name}:{column.dtype}" for name, column in graph.columns.items()))
    isolated = [f"isolated: {json.dumps(alone[k : k + 100])}" for k in range(0, len(alone), 100)]
    return [" ".join(words), *isolated]

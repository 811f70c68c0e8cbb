"""Text edge lists: ``source target [weight ...]`` a line, comments, any delimiter, a header or none, plain or packed.

The first lines decide: integer ids with at most one number behind them go through the parallel parser (scan.py);
anything else, such as names, quotes or more columns, through Arrow's CSV reader (delimited.py). What was decided is
said in the assumptions. Where integers and words mix, integers are expected, so that a slip is an error with its line.
Ids that are all numbers, but not whole ones, are names only if that is said (``ids="text"``), and in a .wel file a word
is no weight.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arcflux.errors import FormatError, UsageError
from arcflux.graph.edges import Edges
from arcflux.io import scan
from arcflux.io.columns import end_columns, is_integer, names_columns
from arcflux.io.delimited import Said, leading, line_at
from arcflux.io.headed import vertex_range
from arcflux.io.loaded import Loaded, replacing

if TYPE_CHECKING:
    from arcflux.graph import Graph

__all__ = ["Layout", "read", "write"]

Array = NDArray[Any]

_SAMPLE = 1 << 16
_FRACTION = re.compile(r"[+-]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


@dataclass
class Layout:
    """How the lines of a file are laid out."""

    delimiter: str  # "" for blanks
    names: list[str]  # of the columns, made up where the file has none
    headed: bool  # the file has a line with them
    kinds: dict[str, np.dtype[Any]]  # of the columns, as far as the file says
    ends: tuple[int, int]  # which columns are the source and the target
    integer: bool  # ids are integers
    parallel: bool  # the parallel parser can read the first three columns
    start: int  # where the first edge is
    line: int  # and its line
    empty: bool  # there is none


def read(
    path: Path,
    *,
    threads: int | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    weights: bool | None = None,
    ids: str | None = None,
    comments: str = "#%",
) -> Loaded:
    """Read an edge list.

    Parameters
    ----------
    delimiter
        What separates fields; found from the first lines when None. ``" "`` stands for any run of blanks and tabs.
    header
        Whether the first line names the columns; found when None.
    weights
        False reads the ends alone; True insists on a third column.
    ids
        "integer" or "text"; found when None.
    comments
        A line that starts with one of these is skipped.
    """
    if ids not in (None, "integer", "text"):
        raise UsageError(f"ids is {ids!r}", expected="'integer' or 'text', or None to find out")
    if not comments.isascii() or re.search("[0-9]", comments):
        raise UsageError(f"comments is {comments!r}", expected="ASCII signs or letters such as '#%', no digits")
    data = scan.text(path)
    said, start, line = leading(data, comments.encode(), path)
    mark = said.delimiter if delimiter is None else _checked(delimiter)
    layout = _layout(data, start, line, path, said, mark, said.header if header is None else header, ids, comments)
    if layout.empty:
        loaded = Loaded(_no_edges(said))
    elif layout.parallel and (len(layout.names) <= 3 or weights is False):
        loaded = _read_numbers(data, path, layout, weights, comments, threads)
    else:
        from arcflux.io.delimited import read_delimited

        loaded = read_delimited(data[layout.start :], path, layout, weights, comments, threads)
        general = ("directed", "parallel", *(() if layout.headed else ("an edge goes",)))
        loaded.assumptions = [text for text in loaded.assumptions if not text.startswith(general)]
    if _promises_weights(path) and weights is not False and len(layout.names) > 2 and not loaded.edges.columns:
        raise _word_for_weight(data, path, layout, comments)
    if weights and not loaded.edges.columns:
        raise FormatError("weights=True, and no number follows the ends", path=path, line=layout.line)
    if layout.headed and header is None and said.header is None:
        loaded.assumptions.insert(0, f"line {layout.line - 1} names the columns (header=False reads it as an edge)")
    elif not layout.headed and not layout.integer and header is None and said.header is None and not layout.empty:
        loaded.assumptions.append(f"line {layout.line} is an edge (header=True reads it as names of the columns)")
    return _finished(loaded, said, layout, path)


def ends_of(path: Path, pieces: list[bytes]) -> tuple[Array, Array, bool] | None:
    """The ends of the edges in some pieces of a file, the first of which is its start, and whether edges go both ways.

    Names become numbers, equal ones alike. None if the lines have no two ends.
    """
    head = np.frombuffer(pieces[0], np.uint8)
    said, start, line = leading(head, b"#%", path)
    layout = _layout(head, start, line, path, said, said.delimiter, said.header, None, "#%")
    rows = [
        row
        for piece in (pieces[0][layout.start :], *pieces[1:])
        for row in piece.decode("utf-8", "replace").split("\n")
    ]
    fields = [_fields(row, layout.delimiter, "#%") for row in rows if row.strip() and row.lstrip()[0] not in "#%"]
    ends = [(row[layout.ends[0]], row[layout.ends[1]]) for row in fields if len(row) > max(layout.ends)]
    if not ends:
        return None
    if all(_are_integers([one, other], (0, 1)) for one, other in ends):
        source, target = np.array([(int(one), int(other)) for one, other in ends], np.float64).T
    else:
        numbers: dict[str, int] = {}
        both = [[numbers.setdefault(name, hash(name) & ((1 << 62) - 1)) for name in pair] for pair in ends]
        source, target = np.array(both, np.float64).T
    return source, target, said.directed is False


def _checked(delimiter: str) -> str:
    """A delimiter that the caller names, "" for blanks."""
    mark = delimiter if delimiter == "\t" else delimiter.strip(" \t")
    if len(mark) > 1 or not mark.isascii() or mark.isalnum() or mark in tuple('"+-.#%\r\n\0'):
        raise UsageError(
            f"delimiter is {delimiter!r}", expected="one sign such as ',' or ';', a tab, or ' ' for blanks"
        )
    return mark


def _read_numbers(
    data: Array, path: Path, layout: Layout, weights: bool | None, comments: str, threads: int | None
) -> Loaded:
    weighted = len(layout.names) > 2 and weights is not False
    edges = scan.edges(
        data[layout.start :],
        path=path,
        columns=3 if weighted else 2,
        comments=comments.encode(),
        delimiter=layout.delimiter.encode(),
        loose=weights is False,
        first_line=layout.line,
        threads=threads,
    )
    if layout.ends == (1, 0):
        edges.source, edges.target = edges.target, edges.source
    if not weighted:
        left_out = ": further columns are left out" if len(layout.names) > 2 else ""
        return Loaded(edges, assumptions=[f"not weighted{left_out}"])
    name = layout.names[2]
    edges.columns = {name: _typed(edges, layout.kinds.get(name), path)}
    return Loaded(edges, assumptions=[f"weighted: column 3 is {name!r} ({edges.columns[name].dtype})"])


def _typed(edges: Edges, kind: np.dtype[Any] | None, path: Path) -> Array:
    """The weights in the type that the first line promises, if it does."""
    values = edges.columns["weight"]
    if kind is None:
        return values
    if kind.kind in "iu":
        held, limits = values[edges.places()], np.iinfo(kind)
        if held.dtype.kind == "f" or (len(held) and not limits.min <= held.min() <= held.max() <= limits.max):
            raise FormatError(
                f"the first line promises values of {kind}, and others are here", path=path, remedy="remove the promise"
            )
    with np.errstate(all="ignore"):  # between the edges there is anything
        return values.astype(kind, copy=False)


def _no_edges(said: Said) -> Edges:
    ends = np.empty(0, object if said.ids == "text" else np.int64)
    return Edges(ends, ends, {name: np.empty(0, kind) for name, kind in said.columns.items()})


def _finished(loaded: Loaded, said: Said, layout: Layout, path: Path) -> Loaded:
    """Add what the file's own comments say, and assume the rest."""
    if said.directed is None:
        loaded.assumptions.insert(0, "directed: a line is one direction (directed=False reads both)")
    else:
        loaded.directed = said.directed
    loaded.assumptions.append("parallel edges are kept")
    if said.extent:
        loaded.vertices = _run_of_ids(*said.extent, path)
    elif said.isolated:
        place = loaded.edges.places()
        ends = [loaded.edges.source[place], loaded.edges.target[place]]
        text = ends[0].dtype == object  # then a number is a name, too: one edge between names makes all ids text
        alone = np.array([*map(str, said.isolated)], object) if text else np.array(said.isolated, np.int64)
        loaded.vertices = np.unique(np.concatenate([*ends, alone]).astype(alone.dtype))
    elif not len(loaded.edges):
        raise FormatError(
            "the file has a header and no edges" if layout.headed else "the file has no edges",
            path=path,
            expected="lines of `source target`",
            remedy="if the header is an edge, header=False; a graph without edges can be a .parquet or a store",
        )
    return loaded


def _run_of_ids(first: int, last: int, path: Path) -> Any:
    """The vertices that the first line promises, if there is memory for them."""
    count = last - first + 1
    if not -(1 << 63) <= first <= last + 1 <= 1 << 63:
        raise FormatError(f"the first line promises ids from {first} to {last}", path=path, expected="64-bit ids")
    return vertex_range(first, count, str(path))


def _layout(
    data: Array,
    start: int,
    line: int,
    path: Path,
    said: Said,
    mark: str | None,
    headed: bool | None,
    ids: str | None,
    comments: str,
) -> Layout:
    """Find out how the lines are laid out."""
    rows = _sample(data, start, comments)
    if mark is None:
        mark = _delimiter(rows[0], path) if rows else ""
    fields = [_fields(row, mark, comments) for row in rows]
    ids = ids or said.ids
    if headed is None:
        headed = bool(fields) and names_columns(fields[0], fields[1:], ids == "text")
    given: list[str] = []
    if headed and rows:
        given, fields, rows = fields[0], fields[1:], rows[1:]
        start, line = start + len(line_at(data, start)) + 1, line + 1
    columns = max([2, len(given), *map(len, fields)])
    kinds = said.columns if len(said.columns) == columns - 2 else {}
    ends = end_columns(given) or (0, 1)
    integer = ids == "integer" or (ids is None and any(_are_integers(row, ends) for row in fields))
    if ids is None and not integer:
        _refuse_fractions(data, start, line, path, [[row[k] for k in ends if k < len(row)] for row in fields])
    numeric = columns == 2 or any(scan.is_number(field) for row in fields for field in row[2:3])
    numeric = numeric or _promises_weights(path)
    plain = not any('"' in row for row in rows) and np.uint64 not in kinds.values()
    parallel = integer and numeric and plain and max(ends) == 1
    names = ["source", "target", *kinds] if kinds else _names(given, ends, columns)
    return Layout(mark, names, bool(given), kinds, ends, integer, parallel, start, line, not rows)


def _promises_weights(path: Path) -> bool:
    """Whether the suffix says that the third column is a weight."""
    return ".wel" in (suffix.lower() for suffix in path.suffixes)


def _word_for_weight(data: Array, path: Path, layout: Layout, comments: str) -> FormatError:
    """The error for a weight that is a word: the first one."""
    word, line, found = "", layout.line, ""
    for number, row in _numbered(data, layout.start, layout.line):
        fields = _fields(row, layout.delimiter, comments)
        if row.lstrip()[:1] not in comments and len(fields) > 2 and not scan.is_number(fields[2]):
            word, line, found = fields[2], number, row
            break
    return FormatError(
        f"{word!r} is not a number: {found.strip()[:60]!r}", path=path, line=line,
        expected="lines of `source target weight`",
        remedy="mend or remove the line; weights=False skips further columns",
    )  # fmt: skip


def _refuse_fractions(data: Array, start: int, line: int, path: Path, ends: list[list[str]]) -> None:
    """Refuse ids that are all numbers, and not all whole ones: whether 1.0 and 1 are the same vertex is not said."""
    words = [word for row in ends for word in row]
    found = next((word for word in words if _FRACTION.fullmatch(word)), None)
    if found is None or not all(is_integer(word) or _FRACTION.fullmatch(word) for word in words):
        return
    where = next((number for number, row in _numbered(data, start, line) if found in row), line)
    raise FormatError(
        f"{found!r} is a number and no integer id", path=path, line=where, expected="whole numbers, or names, as ids",
        remedy="ids='text' reads every id as a name; or write the ids as whole numbers",
    )  # fmt: skip


def _numbered(data: Array, start: int, line: int) -> Iterator[tuple[int, str]]:
    """The lines from a place on, which is at the beginning of this line, with their numbers."""
    while start < len(data):
        row = line_at(data, start)
        yield line, row.decode("utf-8", "replace")
        start, line = start + len(row) + 1, line + 1


def _sample(data: Array, start: int, comments: str) -> list[str]:
    """The first 200 lines or so with something in them; two at least, if there are."""
    size = _SAMPLE
    while True:
        sample = data[start : start + size].tobytes()
        whole = start + size >= len(data)
        lines = (sample if whole else sample.rpartition(b"\n")[0]).decode("utf-8", "replace").split("\n")
        rows = [row for row in lines if row.strip() and row.lstrip()[0] not in comments]
        if whole or len(rows) > 1:
            return rows[:200]
        size *= 4


def _delimiter(row: str, path: Path) -> str:
    """The delimiter of a line: one that it contains, the suffix's own first; "" for blanks, and for tabs in numbers."""
    wanted = {".csv": ",", ".tsv": "\t"}
    first = [wanted[s.lower()] for s in path.suffixes if s.lower() in wanted]
    tab = [] if _are_integers(row.split(), (0, 1)) else ["\t"]
    return next((mark for mark in [*first, ",", ";", "|", *tab] if mark in row), "")


def _fields(row: str, mark: str, comments: str) -> list[str]:
    """The fields of a line, without quotes, and without a comment behind integers."""
    cut = re.split(rf"[ \t][{re.escape(comments)}]", row, maxsplit=1)[0] if comments else row
    parts = cut.split(mark or None)
    if cut != row and not _are_integers([part.strip() for part in parts], (0, 1)):
        parts = row.split(mark or None)
    if '"' in row:
        with suppress(csv.Error):  # the reader will name the line
            parts = next(csv.reader([row if mark else " ".join(row.split())], delimiter=mark or " "))
    return [part.strip() for part in parts]


def _are_integers(row: list[str], places: tuple[int, ...]) -> bool:
    return all(k < len(row) and is_integer(row[k]) for k in places)


def _names(given: list[str], ends: tuple[int, int], columns: int) -> list[str]:
    """A name for each column: from the header, else source, target, weight, column4, ..."""
    usual = ["source", "target", "weight", *(f"column{k}" for k in range(4, columns + 1))][:columns]
    good = [k < len(given) and bool(given[k]) and (k in ends or given[k].isidentifier()) for k in range(columns)]
    names = [given[k] if good[k] else usual[k] for k in range(columns)]
    return names if len(set(names)) == columns else usual


def write(graph: Graph, path: Path, *, delimiter: str | None = None, header: bool | None = None) -> None:
    """Write an edge list; .csv gets commas and a header, .tsv tabs, everything else blanks."""
    from arcflux.io.delimited import write_delimited

    suffix = next((s for s in map(str.lower, reversed(path.suffixes)) if s not in (".gz", ".bz2", ".zst")), "")
    mark = {".csv": ",", ".tsv": "\t"}.get(suffix, "") if delimiter is None else _checked(delimiter)
    with replacing(path) as work:
        write_delimited(graph, work, mark or " ", header=suffix == ".csv" if header is None else header)

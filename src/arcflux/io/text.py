"""Text edge lists: ``source target [weight ...]`` a line, comments, any delimiter, a header or none, plain or packed.

The first lines decide: integer ids with at most one number behind them go through the parallel parser (scan.py);
anything else, such as names, quotes or more columns, through Arrow's CSV reader (delimited.py). What was decided is
said in the assumptions. Where integers and words mix, integers are expected, so that a slip is an error with its line.
Ids that are all numbers, but not whole ones, are names only if that is said (``ids="text"``), and in a .wel file a word
is no weight.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arcflux.errors import FormatError, UsageError
from arcflux.graph.edges import Edges
from arcflux.io import scan
from arcflux.io.headed import vertex_range
from arcflux.io.layout import (
    Layout,
    Said,
    are_integers,
    checked_delimiter,
    find_layout,
    numbered_lines,
    promises_weights,
    read_head,
    split_fields,
)
from arcflux.io.loaded import Loaded, replacing

if TYPE_CHECKING:
    from arcflux.graph import Graph

__all__ = ["ends_of", "read", "write"]

Array = NDArray[Any]


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
    head = read_head(data, path, comments)
    said = head.said
    layout = find_layout(head, None if delimiter is None else checked_delimiter(delimiter), header, ids)
    if layout.empty:
        loaded = Loaded(_no_edges(said))
    elif layout.parallel and (len(layout.names) <= 3 or weights is False):
        loaded = _read_numbers(data, path, layout, weights, comments, threads)
    else:
        from arcflux.io.delimited import read_delimited

        loaded = read_delimited(data[layout.start :], path, layout, weights, comments, threads)
        general = ("directed", "parallel", *(() if layout.headed else ("an edge goes",)))
        loaded.assumptions = [text for text in loaded.assumptions if not text.startswith(general)]
    if promises_weights(path) and weights is not False and len(layout.names) > 2 and not loaded.edges.columns:
        raise _word_for_weight(data, path, layout, comments)
    if weights and not loaded.edges.columns:
        raise FormatError("weights=True, and no number follows the ends", path=path, line=layout.line)
    if layout.headed and header is None and said.header is None:
        loaded.assumptions.insert(0, f"line {layout.line - 1} names the columns (header=False reads it as an edge)")
    elif not layout.headed and not layout.integer and header is None and said.header is None and not layout.empty:
        loaded.assumptions.append(f"line {layout.line} is an edge (header=True reads it as names of the columns)")
    loaded.assumptions += [
        f"column {old!r} is called {new}" for old, new in layout.renamed.items() if new in loaded.edges.columns
    ]
    return _add_comments(loaded, said, layout, path)


def ends_of(path: Path, pieces: list[bytes]) -> tuple[Array, Array, bool] | None:
    """The ends of the edges in some pieces of a file, the first of which is its start, and whether edges go both ways.

    Names become numbers, equal ones alike. None if the lines have no two ends.
    """
    head = np.frombuffer(pieces[0], np.uint8)
    top = read_head(head, path)
    layout = find_layout(top)
    rows = [
        row
        for piece in (pieces[0][layout.start :], *pieces[1:])
        for row in piece.decode("utf-8", "replace").split("\n")
    ]
    fields = [split_fields(row, layout.delimiter, "#%") for row in rows if row.strip() and row.lstrip()[0] not in "#%"]
    ends = [(row[layout.ends[0]], row[layout.ends[1]]) for row in fields if len(row) > max(layout.ends)]
    if not ends:
        return None
    if all(are_integers([one, other], (0, 1)) for one, other in ends):
        source, target = np.array([(int(one), int(other)) for one, other in ends], np.float64).T
    else:
        numbers: dict[str, int] = {}
        both = [[numbers.setdefault(name, hash(name) & ((1 << 62) - 1)) for name in pair] for pair in ends]
        source, target = np.array(both, np.float64).T
    return source, target, top.said.directed is False


def _read_numbers(
    data: Array, path: Path, layout: Layout, weights: bool | None, comments: str, threads: int | None
) -> Loaded:
    weighted = len(layout.names) > 2 and weights is not False
    written = scan.Lines(
        columns=3 if weighted else 2,
        comments=comments.encode(),
        delimiter=layout.delimiter.encode(),
        loose=weights is False,
        first_line=layout.line,
    )
    edges = scan.edges(data[layout.start :], path, written, threads)
    said = []
    if layout.ends == (1, 0):
        edges.source, edges.target = edges.target, edges.source
        said = [f"an edge goes from column {layout.names[1]!r} to column {layout.names[0]!r}"]
    if not weighted:
        left_out = ": further columns are left out" if len(layout.names) > 2 else ""
        return Loaded(edges, assumptions=[*said, f"not weighted{left_out}"])
    name = layout.names[2]
    edges.columns = {name: _convert_weights(edges, layout.kinds.get(name), path)}
    return Loaded(edges, assumptions=[*said, f"weighted: column 3 is {name!r} ({edges.columns[name].dtype})"])


def _convert_weights(edges: Edges, kind: np.dtype[Any] | None, path: Path) -> Array:
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


def _add_comments(loaded: Loaded, said: Said, layout: Layout, path: Path) -> Loaded:
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


def _word_for_weight(data: Array, path: Path, layout: Layout, comments: str) -> FormatError:
    """The error for a weight that is a word: the first one."""
    word, line, found = "", layout.line, ""
    for number, row in numbered_lines(data, layout.start, layout.line):
        fields = split_fields(row, layout.delimiter, comments)
        if row.lstrip()[:1] not in comments and len(fields) > 2 and not scan.is_number(fields[2]):
            word, line, found = fields[2], number, row
            break
    return FormatError(
        f"{word!r} is not a number: {found.strip()[:60]!r}", path=path, line=line,
        expected="lines of `source target weight`",
        remedy="correct or remove the line; weights=False skips further columns",
    )  # fmt: skip


def write(graph: Graph, path: Path, *, delimiter: str | None = None, header: bool | None = None) -> None:
    """Write an edge list; .csv gets commas and a header, .tsv tabs, everything else blanks."""
    from arcflux.io.delimited import write_delimited

    suffix = next((s for s in map(str.lower, reversed(path.suffixes)) if s not in (".gz", ".bz2", ".zst")), "")
    mark = {".csv": ",", ".tsv": "\t"}.get(suffix, "") if delimiter is None else checked_delimiter(delimiter)
    with replacing(path) as work:
        write_delimited(graph, work, mark or " ", header=suffix == ".csv" if header is None else header)

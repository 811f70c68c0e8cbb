"""How the lines of a text file are laid out: what its comments say, and what its first lines show.

Files that Arcflux writes begin with a comment that keeps what lines of edges cannot say, such as

    # arcflux undirected ids=text delimiter=comma header=yes columns=weight:int8
    # isolated: ["eve", "a name, with a comma"]
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.errors import FormatError, UsageError
from arcflux.io.columns import end_columns, is_integer, names_columns
from arcflux.io.scan import is_number

__all__ = [
    "DELIMITERS", "Head", "Layout", "Said", "are_integers", "checked_delimiter", "find_layout", "line_at",
    "numbered_lines", "promises_weights", "read_head", "split_fields",
]  # fmt: skip

Array = NDArray[Any]

DELIMITERS = {"blank": "", "comma": ",", "semicolon": ";", "bar": "|", "tab": "\t"}
_SAMPLE = 1 << 16
_FRACTION = re.compile(r"[+-]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


@dataclass
class Said:
    """What the comments at the top of a file written by Arcflux say; None or nothing where they do not."""

    ours: bool = False
    directed: bool | None = None
    delimiter: str | None = None
    header: bool | None = None
    ids: str | None = None  # "integer" or "text"
    extent: tuple[int, int] | None = None  # the first and the last of ids without gaps
    columns: dict[str, np.dtype[Any]] = field(default_factory=dict)
    isolated: list[Any] = field(default_factory=list)

    def hear(self, text: str, path: Path, line: int) -> None:
        """Take in one line of comment."""
        words = text.split()
        if words[:1] == ["arcflux"]:
            self.ours = True
            for word in words[1:]:
                self._hear_word(word)
        elif self.ours and words[:1] == ["isolated:"]:
            try:
                names = json.loads(text.partition(":")[2])
                if not isinstance(names, list) or not all(map(_is_name if self.ids == "text" else _is_int64, names)):
                    raise ValueError("not a list of ids")
                self.isolated += names
            except (ValueError, RecursionError) as error:
                raise FormatError(
                    "the list of isolated vertices is damaged", path=path, line=line, expected="a JSON list of ids"
                ) from error

    def _hear_word(self, word: str) -> None:
        key, _, value = word.partition("=")
        if word in ("directed", "undirected"):
            self.directed = word == "directed"
        elif key == "ids" and (match := re.fullmatch(r"(-?[0-9]{1,19})\.\.(-?[0-9]{1,19})", value)):
            self.ids, self.extent = "integer", (int(match[1]), int(match[2]))
        elif key == "ids" and value in ("integer", "text"):
            self.ids = value
        elif key == "delimiter" and (value in DELIMITERS or len(value) == 1):
            self.delimiter = DELIMITERS.get(value, value)
        elif key == "header" and value in ("yes", "no"):
            self.header = value == "yes"
        elif key == "columns" and (pairs := re.findall(r"(\w+):(bool|u?int(?:8|16|32|64)|float(?:32|64))", value)):
            self.columns = {name: np.dtype(kind) for name, kind in pairs}


def _is_name(value: Any) -> bool:
    return isinstance(value, str)


def _is_int64(value: Any) -> bool:
    return type(value) is int and -(1 << 63) <= value < 1 << 63


@dataclass(frozen=True)
class Head:
    """The text of a file, and its top: what its comments say, and where the first line that is none begins."""

    data: Array
    path: Path
    comments: str  # signs that begin a comment
    said: Said
    start: int
    line: int


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
    renamed: dict[str, str] = field(default_factory=dict)  # what the header calls columns that have another name here


def read_head(data: Array, path: Path, comments: str = "#%") -> Head:
    """Read the comments and empty lines at the top."""
    said, line, signs = Said(), 1, comments.encode()
    at = 3 if data[:3].tobytes() == b"\xef\xbb\xbf" else 0
    while at < len(data):
        text = line_at(data, at)
        if text.strip() and text.lstrip()[0] not in signs:
            break
        said.hear(text.decode("utf-8", "replace").strip().lstrip("#% "), path, line)
        at, line = at + len(text) + 1, line + 1
    return Head(data, path, comments, said, min(at, len(data)), line)


def line_at(data: Array, at: int) -> bytes:
    """The line at a position, without its end."""
    size = 1 << 10
    while b"\n" not in (text := data[at : at + size].tobytes()) and at + size < len(data):
        size *= 4
    return text.split(b"\n", 1)[0]


def checked_delimiter(delimiter: str) -> str:
    """A delimiter that the caller names, "" for blanks."""
    mark = delimiter if delimiter == "\t" else delimiter.strip(" \t")
    if len(mark) > 1 or not mark.isascii() or mark.isalnum() or mark in tuple('"+-.#%\r\n\0'):
        raise UsageError(
            f"delimiter is {delimiter!r}", expected="one sign such as ',' or ';', a tab, or ' ' for blanks"
        )
    return mark


def find_layout(head: Head, delimiter: str | None = None, headed: bool | None = None, ids: str | None = None) -> Layout:
    """How the lines are laid out; what is None is found from the first of them, and from what the file says itself."""
    said, start, line = head.said, head.start, head.line
    rows = _sample(head)
    delimiter = said.delimiter if delimiter is None else delimiter
    if delimiter is None:
        delimiter = _delimiter(rows[0], head.path) if rows else ""
    fields = [split_fields(row, delimiter, head.comments) for row in rows]
    ids = ids or said.ids
    headed = said.header if headed is None else headed
    if headed is None:
        headed = bool(fields) and names_columns(fields[0], fields[1:], ids == "text")
    given: list[str] = []
    if headed and rows:
        given, fields, rows = fields[0], fields[1:], rows[1:]
        start, line = start + len(line_at(head.data, start)) + 1, line + 1
    columns = max([2, len(given), *map(len, fields)])
    kinds = said.columns if len(said.columns) == columns - 2 else {}
    ends = end_columns(given) or ((1, 2) if len(given) > 2 and not given[0] else (0, 1))  # no name: numbers of rows
    integer = ids == "integer" or (ids is None and any(are_integers(row, ends) for row in fields))
    if ids is None and not integer:
        _refuse_fractions(
            replace(head, start=start, line=line), [[row[k] for k in ends if k < len(row)] for row in fields]
        )
    numeric = columns == 2 or any(is_number(field) for row in fields for field in row[2:3])
    numeric = numeric or promises_weights(head.path)
    plain = not any('"' in row for row in rows) and np.uint64 not in kinds.values()
    parallel = integer and numeric and plain and max(ends) == 1
    names = ["source", "target", *kinds] if kinds else _names(given, ends, columns)
    renamed = {old: new for old, new in zip(given, names, strict=False) if old not in ("", new)}
    return Layout(delimiter, names, bool(given), kinds, ends, integer, parallel, start, line, not rows, renamed)


def promises_weights(path: Path) -> bool:
    """Whether the suffix says that the third column is a weight."""
    return ".wel" in (suffix.lower() for suffix in path.suffixes)


def _refuse_fractions(head: Head, ends: list[list[str]]) -> None:
    """Refuse ids that are all numbers, and not all whole ones: whether 1.0 and 1 are the same vertex is not said."""
    words = [word for row in ends for word in row]
    found = next((word for word in words if _FRACTION.fullmatch(word)), None)
    if found is None or not all(is_integer(word) or _FRACTION.fullmatch(word) for word in words):
        return
    lines = numbered_lines(head.data, head.start, head.line)
    raise FormatError(
        f"{found!r} is a number and no integer id",
        path=head.path,
        line=next((number for number, row in lines if found in row), head.line),
        expected="whole numbers, or names, as ids",
        remedy="ids='text' reads every id as a name; or write the ids as whole numbers",
    )


def numbered_lines(data: Array, start: int, line: int) -> Iterator[tuple[int, str]]:
    """The lines from a place on, which is at the beginning of this line, with their numbers."""
    while start < len(data):
        row = line_at(data, start)
        yield line, row.decode("utf-8", "replace")
        start, line = start + len(row) + 1, line + 1


def _sample(head: Head) -> list[str]:
    """The first 200 lines or so with something in them; two at least, if there are."""
    data, start, size = head.data, head.start, _SAMPLE
    while True:
        sample = data[start : start + size].tobytes()
        whole = start + size >= len(data)
        lines = (sample if whole else sample.rpartition(b"\n")[0]).decode("utf-8", "replace").split("\n")
        rows = [row for row in lines if row.strip() and row.lstrip()[0] not in head.comments]
        if whole or len(rows) > 1:
            return rows[:200]
        size *= 4


def _delimiter(row: str, path: Path) -> str:
    """The delimiter of a line: one that it contains, the suffix's own first; "" for blanks, and for tabs in numbers."""
    wanted = {".csv": ",", ".tsv": "\t"}
    first = [wanted[s.lower()] for s in path.suffixes if s.lower() in wanted]
    tab = [] if are_integers(row.split(), (0, 1)) else ["\t"]
    return next((mark for mark in [*first, ",", ";", "|", *tab] if mark in row), "")


def split_fields(row: str, mark: str, comments: str) -> list[str]:
    """The fields of a line, without quotes, and without a comment behind integers."""
    cut = re.split(rf"[ \t][{re.escape(comments)}]", row, maxsplit=1)[0] if comments else row
    parts = cut.split(mark or None)
    if cut != row and not are_integers([part.strip() for part in parts], (0, 1)):
        parts = row.split(mark or None)
    if '"' in row:
        with suppress(csv.Error):  # the reader will name the line
            parts = next(csv.reader([row if mark else " ".join(row.split())], delimiter=mark or " "))
    return [part.strip() for part in parts]


def are_integers(row: list[str], places: tuple[int, ...]) -> bool:
    """Whether a line has integers at these places."""
    return all(k < len(row) and is_integer(row[k]) for k in places)


def _names(given: list[str], ends: tuple[int, int], columns: int) -> list[str]:
    """A name for each column, all different: from the header where it names one alone, else as usual, else column4."""
    usual = {ends[0]: "source", ends[1]: "target", 2: "weight"} if max(ends) == 1 else {}
    times = Counter(given)
    names: dict[str, None] = {}
    for k in range(columns):
        name = given[k] if k < len(given) else ""
        if not name or times[name] > 1 or not (k in ends or name.isidentifier()):
            name = usual.get(k, "")
            while not name or name in times or name in names:
                name = f"column{k + 1}" if name in ("", usual.get(k)) else f"{name}_"
        names[name] = None
    return list(names)

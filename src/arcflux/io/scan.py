"""Text into numbers on all cores: the parser behind every text format.

A plain file is memory-mapped; a packed one is unpacked into memory. Lines are counted first, so that every block knows
where its edges go and the result has no holes to copy together. Types start narrow (32 bits) and the file is read again
with wider ones in the rare case that something does not fit.
"""

from __future__ import annotations

import bz2
import ctypes
import gzip
import mmap
import re
import zlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from arcflux import trace
from arcflux.errors import FormatError, SpaceError
from arcflux.graph.edges import Edges
from arcflux.io.loaded import existing
from arcflux.spmd.memory import empty, frozen
from arcflux.spmd.pool import run
from arcflux.spmd.space import afford, available
from arcflux.trace import readable

__all__ = ["Lines", "edges", "is_number", "numbers", "text", "unpack"]

Array = NDArray[Any]

_BLOCK = 1 << 20
_MOST_BLOCKS = 1 << 12
_CHUNK = 1 << 24
_SAMPLE = 1 << 12


def text(path: Path) -> Array:
    """The bytes of a file, uint8[size]: mapped when it is plain, unpacked when its suffix is .gz, .bz2 or .zst."""
    existing(path)
    if path.suffix.lower() in (".gz", ".bz2", ".zst"):
        return _unpack(path)
    with open(path, "rb") as file:
        block = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    if hasattr(mmap, "MADV_SEQUENTIAL"):
        block.madvise(mmap.MADV_SEQUENTIAL)
    return np.frombuffer(block, np.uint8)


def unpack(path: Path, raw: IO[bytes]) -> IO[bytes]:
    """What is inside the packed file `path`, which is open as `raw`."""
    suffix = path.suffix.lower()
    if suffix == ".gz":
        return gzip.GzipFile(fileobj=raw)  # type: ignore[return-value]
    if suffix == ".bz2":
        return bz2.BZ2File(raw)
    import pyarrow as pa

    stream: IO[bytes] = pa.CompressedInputStream(pa.PythonFile(raw), "zstd")
    return stream


def _unpack(path: Path) -> Array:
    pieces, size, room = [], 0, available()
    try:
        with (
            trace.task(f"unpack {path.name}", path.stat().st_size, "bytes") as task,
            open(path, "rb") as raw,
            unpack(path, raw) as file,
        ):
            while piece := file.read(_CHUNK):
                pieces.append(piece)
                size += len(piece)
                if size > room:
                    raise SpaceError(
                        f"{path}: {size:,} bytes were unpacked so far ({readable(size)}, of {path.stat().st_size:,}"
                        f" that are packed), and there were {readable(room)} of memory for them",
                        remedy="unpack the file to a disk first (plain files are mapped), or use more memory",
                    )
                task.at(raw.tell())
    except SpaceError:
        raise
    except (EOFError, OSError, zlib.error) as error:
        raise FormatError(
            f"the archive is damaged or cut short: {error}",
            path=path,
            remedy="fetch the file again, or test it with gzip -t, bzip2 -t or zstd -t",
        ) from error
    whole = empty(size, np.uint8)
    at = 0
    for index, piece in enumerate(pieces):
        whole[at : at + len(piece)] = np.frombuffer(piece, np.uint8)
        at += len(piece)
        pieces[index] = b""
    if not at:
        raise FormatError("the archive is empty", path=path, expected="at least one edge")
    return whole


@dataclass(frozen=True)
class Lines:
    """How lines of ``source target [weight]`` are written.

    Blanks and tabs separate, or one `delimiter` between two fields when it is given. Lines that start with a byte of
    `comments` are skipped, and so is the end of a line from one that follows a blank; every other line starts with
    `prefix`, if given. `columns` is 2, or 3 with a weight; anything more on a line is an error unless `loose`.
    `first_line` is its number, for messages.
    """

    columns: int = 2
    comments: bytes = b"#%"
    delimiter: bytes = b""
    prefix: bytes = b""
    loose: bool = False
    first_line: int = 1


def edges(data: Array, path: Path, written: Lines, threads: int | None = None) -> Edges:
    """The edges of the lines of a file."""
    from arcflux.io import scan_kernels as kernels

    columns, delimiter, prefix = written.columns, written.delimiter, written.prefix
    parts = _parts(data, threads)
    if not parts:
        return Edges(empty(0, np.uint32), empty(0, np.uint32), {"weight": empty(0, np.int32)} if columns > 2 else {})
    lines = sum(int(part.lines.sum()) for part in parts)
    starts = _places([part.lines for part in parts])
    kinds = _kinds(written.comments, delimiter)
    locale = _c_locale()
    id_type: type[Any] = np.uint32
    weight_type: type[Any] | None = np.int32 if columns > 2 else None
    plain = _separator(data, delimiter) if columns == 2 and not prefix else 0
    while True:
        afford(lines * (2 * np.dtype(id_type).itemsize + 4 * bool(weight_type)), f"{path}: reading {lines:,} lines")
        source, target = (empty(lines, id_type, huge=False) for _ in range(2))
        weight = empty(lines, weight_type, huge=False) if weight_type else None
        outputs = source, target, *((None, weight) if weight_type is np.float64 else (weight, None))
        counts = [np.zeros(len(part.lines), np.uint64) for part in parts]
        status, where = kernels.FINE, (parts[0], 0)
        with trace.task(f"read {path.name}", len(data), "bytes") as task:
            for part, begin, count in zip(parts, starts, counts, strict=True):
                state, trouble = np.zeros(len(count), np.int64), np.zeros(len(count), np.uint64)
                reached = part.cuts[:-1].copy()
                if plain:
                    run(
                        kernels.plain_edges, -(-len(count) // 2), frozen(part.data), part.cuts, plain, begin, source,
                        target, count, reached, threads=threads, task=task,
                    )  # fmt: skip
                run(
                    kernels.edges, len(count), frozen(part.data), part.cuts, kinds, bool(delimiter),
                    ord(prefix or b"\0"), written.loose, locale, begin, *outputs, count, reached, state, trouble,
                    threads=threads, task=task,
                )  # fmt: skip
                if state.any():
                    first = int(np.argmax(state != kernels.FINE))
                    status, where = int(state[first]), (part, int(trouble[first]))
                    break
        if status == kernels.FINE:
            break
        line = where[0].line_at(where[1])
        if status == kernels.WIDER_ID:
            id_type = np.int64
        elif status == kernels.WIDER_WEIGHT and weight_type is not np.float64:
            weight_type = _wider(weight_type, line)
        else:
            raise explain(line, path, written.first_line + where[0].lines_before(where[1]), written)
    found = {"weight": weight} if weight is not None else {}
    return Edges(source, target, found, np.concatenate(starts), np.concatenate(counts), ours=True)


def numbers(
    data: Array, *, path: Path, comments: bytes = b"%", first_line: int = 1, threads: int | None = None
) -> tuple[Array, Array]:
    """Every integer of every line that is no comment: values int64[tokens], and line offsets uint64[lines + 1]."""
    from arcflux.io import scan_kernels as kernels

    parts = _parts(data, threads)
    kinds = _kinds(comments, b"")
    counts = [np.zeros(len(part.lines), np.uint64) for part in parts]
    line_counts = [np.zeros(len(part.lines), np.uint64) for part in parts]
    values, ends = np.empty(0, np.int64), np.empty(0, np.uint64)
    for writing in (False, True):
        starts, line_starts = _places(counts), _places(line_counts)
        if writing:
            tokens, lines = (sum(int(c.sum()) for c in each) for each in (counts, line_counts))
            afford(8 * (tokens + lines), f"{path}: reading {tokens:,} numbers in {lines:,} lines")
            values, ends = empty(tokens, np.int64), empty(lines, np.uint64)
        for k, part in enumerate(parts):
            trouble = np.full(len(part.lines), len(part.data), np.uint64)
            run(
                kernels.numbers, len(part.lines), frozen(part.data), part.cuts, kinds, writing, starts[k],
                line_starts[k], values, ends, counts[k], line_counts[k], trouble, threads=threads,
            )  # fmt: skip
            if trouble.min(initial=len(part.data)) < len(part.data):
                at = int(trouble.min())
                raise FormatError(
                    f"this line has something that is no integer: {_quote(part.line_at(at))}",
                    path=path,
                    line=first_line + part.lines_before(at),
                    expected="integers separated by blanks",
                )
    return values, np.concatenate([np.zeros(1, np.uint64), ends])


class _Part:
    """Text that ends with a line feed and readable padding, cut into blocks at line starts."""

    def __init__(self, data: Array, end: int, lines_above: int, threads: int | None) -> None:
        from arcflux.io.scan_kernels import count_lines

        self.data = data
        self.cuts = _cuts(data, end)
        self.lines = np.zeros(len(self.cuts) - 1, np.uint64)
        self.lines_above = lines_above
        run(count_lines, len(self.lines), frozen(data), self.cuts, self.lines, threads=threads)

    def line_at(self, position: int) -> bytes:
        """The line that starts at a position, or its first 500 bytes."""
        return bytes(self.data[position : position + 500]).split(b"\n", 1)[0]

    def lines_before(self, position: int) -> int:
        """How many lines of the whole text end before a position."""
        block = int(np.searchsorted(self.cuts, position, "right")) - 1
        inside = self.data[int(self.cuts[block]) : position]
        return self.lines_above + int(self.lines[:block].sum()) + int(np.count_nonzero(inside == 10))


def _parts(data: Array, threads: int | None) -> list[_Part]:
    """The text without its end, and its last lines copied to where padding follows."""
    from arcflux.io.scan_kernels import PADDING

    split = 0
    reach = max(0, len(data) - PADDING)
    step = 1 << 12
    while reach > 0:
        begin = max(0, reach - step)
        found = data[begin:reach].tobytes().rfind(b"\n")
        if found >= 0:
            split = begin + found + 1
            break
        reach, step = begin, step * 2
    parts = [_Part(data, split, 0, threads)] if split else []
    rest = data[split:].tobytes()
    if rest:
        padded = np.frombuffer(rest + (b"" if rest.endswith(b"\n") else b"\n") + bytes(PADDING), np.uint8)
        above = int(parts[0].lines.sum()) if parts else 0
        parts.append(_Part(padded, len(padded) - PADDING, above, threads))
    return parts


def _cuts(data: Array, end: int) -> Array:
    """Line starts that cut data[:end] into blocks of about the same size: uint64[blocks + 1]."""
    size = max(_BLOCK, -(-end // _MOST_BLOCKS))
    cuts = [0]
    while cuts[-1] + size < end:
        at, step = cuts[-1] + size - 1, 1 << 12
        while (found := data[at : min(at + step, end)].tobytes().find(b"\n")) < 0:
            at, step = at + step, step * 2
        cuts.append(at + found + 1)
    if cuts[-1] < end:
        cuts.append(end)
    return np.array(cuts, np.uint64)


def _places(counts: list[Array]) -> list[Array]:
    """Where each block's output starts, when all blocks of all parts stand one after another."""
    result, total = [], np.uint64(0)
    for count in counts:
        result.append(total + np.cumsum(count, dtype=np.uint64) - count)
        total += count.sum(dtype=np.uint64)
    return result


def _separator(data: Array, delimiter: bytes) -> int:
    """The byte between the first two numbers, if it can be the only one between any two; 0 when it cannot."""
    found = re.search(rb"\d([" + (re.escape(delimiter) or rb" \t") + rb"])\d", data[:_SAMPLE].tobytes())
    return found[1][0] if found else 0


def _kinds(comments: bytes, delimiter: bytes) -> Array:
    from arcflux.io import scan_kernels as kernels

    kinds = np.zeros(256, np.int64)
    kinds[list(b" \t\r")] = kernels.BLANK
    kinds[list(delimiter)] = kernels.DELIMITER
    kinds[list(comments)] = kernels.COMMENT
    kinds[10] = kernels.NEWLINE
    return kinds


def _wider(weight_type: type[Any] | None, line: bytes) -> type[Any]:
    decimal = any(letter in line.lower() for letter in (b".", b"e", b"n"))
    return np.float64 if weight_type is not np.int32 or decimal else np.int64


@lru_cache(maxsize=1)
def _c_locale() -> int:
    """A handle of the "C" locale, so that a decimal point is a point whatever the user's language."""
    library = ctypes.CDLL(None)
    library.newlocale.restype = ctypes.c_void_p
    library.newlocale.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
    return int(library.newlocale(0x1FBF, b"C", None) or 0)


def _quote(line: bytes) -> str:
    shown = line.decode("utf-8", "replace").strip()
    return repr(shown if len(shown) <= 60 else shown[:57] + "...")


def explain(line: bytes, path: Path, number: int, written: Lines) -> FormatError:
    """The error for a line that the kernel could not read, in words."""
    text = line.decode("utf-8", "replace").strip()
    columns, loose = written.columns, written.loose
    first, mark = text[:1], written.prefix.decode()
    words = [word.strip() for word in text[len(mark) :].split(written.delimiter.decode() or None)]
    wrong_start = mark and first != mark
    what = f"the line starts with {first!r}, not {mark!r}" if wrong_start else _describe_fault(words, columns, loose)
    expected = " ".join([*([mark] if mark else []), "source", "target", "weight"][: bool(mark) + columns])
    return FormatError(
        f"{what}: {_quote(line)}",
        path=path,
        line=number,
        expected=f"lines of `{expected}`",
        remedy="correct or remove the line; in edge lists ids='text' reads names, weights=False skips further columns",
    )


def _describe_fault(words: list[str], columns: int, loose: bool) -> str:
    if len(words) < columns:
        return f"{len(words)} field{'s' * (len(words) != 1)} where {columns} belong"
    for name, word in zip(("source", "target"), words, strict=False):
        if not re.fullmatch(r"[+-]?[0-9]+", word):
            return f"{word!r} is not an integer {name} id"
        if not -(1 << 63) <= int(word) < 1 << 63:
            return f"the {name} id {word} is not within 64 bits (-2^63 to 2^63 - 1)"
    if columns > 2 and not is_number(words[2]):
        return f"{words[2]!r} is not a number"
    if len(words) > columns and not loose:
        return f"{len(words)} fields where {columns} belong"
    return "the line cannot be read"


def is_number(word: str) -> bool:
    """Whether a word is a decimal number, inf or nan."""
    try:
        float(word)
    except ValueError:
        return False
    return word.isascii() and "_" not in word

"""Columns in memory that agent and daemon share: a memfd has no name, so nothing has to be cleaned up after a kill.

A memfd is *sealed* before it is sent: it cannot shrink under a reader, and once it has columns, no process can write to
it any more. The JVM cannot create one, so it writes files into the daemon's own folder instead, which the daemon
unlinks as it opens them.

The layout of columns is sent with the memory, as JSON: ``{"name": "source", "dtype": "<i8", "count": 3, "fd": 0,
"offset": 64}``. Text is two runs of bytes as Arrow has them, offsets (``<i4`` or ``<i8``, one more than there are
values) and UTF-8: ``{"name": ..., "dtype": "text", "count": 3, "fd": 0, "offset": 64, "offsets": "<i8", "data": 96}``,
where `data` is the byte of the same memory at which the text begins.
"""

from __future__ import annotations

import fcntl
import mmap
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.errors import SpaceError, UsageError
from arcflux.graph.ids import is_text

__all__ = ["columns_of", "map_shared", "open_file", "pack", "shared_pages"]

Array = NDArray[Any]

_ALIGNED = 64
_KEPT_SIZE = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW
_KINDS = "biuf"


def shared_pages(size: int, *, name: str = "arcflux") -> int:
    """New pages that both sides may write, of a size that neither can change; a descriptor."""
    try:
        made = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(made, max(size, 1))
    except OSError as error:
        raise SpaceError(f"{size:,} bytes of shared memory are not to be had: {error}") from error
    fcntl.fcntl(made, fcntl.F_ADD_SEALS, _KEPT_SIZE)
    return made


def map_shared(descriptor: int, *, write: bool = False) -> Array:
    """The bytes of a descriptor as an array, which keeps the mapping alive; the descriptor stays open.

    Only memory that cannot shrink is mapped: a read beyond its end would kill this process.
    """
    size = os.fstat(descriptor).st_size
    try:
        seals = fcntl.fcntl(descriptor, fcntl.F_GET_SEALS)
    except OSError:
        seals = 0
    if not seals & fcntl.F_SEAL_SHRINK:
        raise UsageError("memory was handed over that can still shrink", expected="a memfd with F_SEAL_SHRINK")
    if not size:
        return np.zeros(0, np.uint8)
    access = mmap.PROT_READ | (mmap.PROT_WRITE if write else 0)
    return np.frombuffer(mmap.mmap(descriptor, size, mmap.MAP_SHARED, access), np.uint8)


def open_file(folder: Path, name: str) -> Array:
    """The bytes of a file in a folder that only its owner can access; the file is unlinked."""
    if os.sep in name or name.startswith("."):
        raise UsageError(f"the file of a column is {name!r}", expected="a name in the daemon's folder, without a path")
    path = folder / name
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        about = os.fstat(descriptor)
        if about.st_uid != os.getuid():
            raise UsageError(f"the file {name} belongs to user {about.st_uid}", expected="a file of your own")
        os.unlink(path)
        mapped = mmap.mmap(descriptor, about.st_size, mmap.MAP_SHARED, mmap.PROT_READ) if about.st_size else b""
        return np.frombuffer(mapped, np.uint8)
    finally:
        os.close(descriptor)


def pack(columns: Mapping[str, Any], mark: str = "arcflux") -> tuple[list[dict[str, Any]], int]:
    """Columns in a new sealed memfd: their layout, and the descriptor. Text is copied in Arrow's format.

    `mark`: the name of the memory in /proc.

    Examples
    --------
    >>> said, descriptor = pack({"source": np.array([1, 2]), "name": np.array(["a", "bc"], object)})
    >>> found = columns_of(said, [map_shared(descriptor)])
    >>> found["source"].tolist(), found["name"].to_pylist()
    ([1, 2], ['a', 'bc'])
    >>> os.close(descriptor)
    """
    runs: list[Array] = []
    said: list[dict[str, Any]] = []
    for name, values in columns.items():
        if _is_arrow(values) or is_text(np.asarray(values)):
            offsets, data = _text_runs(values)
            runs += [offsets, data]
            said.append({"name": name, "dtype": "text", "count": len(offsets) - 1, "offsets": offsets.dtype.str})
        else:
            found = np.ascontiguousarray(values)
            if found.dtype.kind not in _KINDS:
                raise UsageError(f"column {name} is {found.dtype}", expected="numbers, or text")
            runs.append(found)
            one = {"name": name, "dtype": found.dtype.str, "count": len(found)}
            said.append(one if found.ndim == 1 else {**one, "length": found.shape[1]})
    starts = _starts([run.nbytes for run in runs])
    descriptor = _filled(runs, starts, mark)
    places = iter(starts[:-1])
    for one in said:
        one |= {"fd": 0, "offset": next(places)}
        if one["dtype"] == "text":
            one["data"] = next(places)
    return said, descriptor


def _starts(sizes: Sequence[int]) -> list[int]:
    """Where runs of this many bytes begin, aligned; and where the last one ends."""
    starts = [0]
    for size in sizes:
        starts.append(starts[-1] + -(-size // _ALIGNED) * _ALIGNED)
    return starts


def _filled(runs: list[Array], starts: list[int], mark: str) -> int:
    """A sealed memfd with these bytes: it cannot be written to any more."""
    made = shared_pages(starts[-1], name=mark)
    whole = mmap.mmap(made, max(starts[-1], 1))
    for run, start in zip(runs, starts, strict=False):
        if run.nbytes:
            np.frombuffer(whole, np.uint8, run.nbytes, start)[:] = run.reshape(-1).view(np.uint8)
    whole.close()
    fcntl.fcntl(made, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL)
    return made


def columns_of(said: Sequence[Mapping[str, Any]], memories: Sequence[Array]) -> dict[str, Any]:
    """Columns by their layout, in mapped memory: arrays, or Arrow text; nothing is copied."""
    return {str(one["name"]): _column(one, memories) for one in said}


def _column(one: Mapping[str, Any], memories: Sequence[Array]) -> Any:
    place = one.get("fd", 0)
    if not isinstance(place, int) or not 0 <= place < len(memories):
        raise UsageError(f"column {one.get('name')!r} is in memory {place!r}", expected=f"below {len(memories)}")
    memory, count = memories[place], int(one["count"])
    if one["dtype"] == "text":
        return _text(one, memory, count)
    kind = np.dtype(str(one["dtype"]))
    if kind.kind not in _KINDS:
        raise UsageError(f"column {one['name']!r} is {kind}", expected="numbers, or text")
    length = one.get("length")
    found = _run(memory, one["offset"], kind, count * (length or 1), str(one["name"]))
    return found if length is None else found.reshape(count, length)


def _run(memory: Array, offset: Any, kind: np.dtype[Any], count: int, name: str) -> Array:
    size = count * kind.itemsize
    if not isinstance(offset, int) or offset < 0 or count < 0 or offset + size > memory.nbytes:
        raise UsageError(
            f"column {name!r} says {count:,} values at byte {offset!r}", expected=f"within {memory.nbytes:,} bytes"
        )
    return memory[offset : offset + size].view(kind)


def _text(one: Mapping[str, Any], memory: Array, count: int) -> Any:
    """Text as an Arrow array whose offsets are checked to stay within the memory."""
    import pyarrow as pa

    name, kind = str(one["name"]), np.dtype(str(one.get("offsets", "<i8")))
    if kind.str not in ("<i4", "<i8"):
        raise UsageError(f"offsets of column {name!r} are {kind}", expected="<i4 or <i8")
    offsets = _run(memory, one["offset"], kind, count + 1, name)
    data = _run(memory, one["data"], np.dtype(np.uint8), int(offsets[-1]) if count else 0, name)
    if count and (int(offsets[0]) < 0 or bool((np.diff(offsets) < 0).any())):
        raise UsageError(f"offsets of column {name!r} fall", expected="offsets that rise")
    whole = pa.large_string() if kind.itemsize == 8 else pa.string()
    found = pa.Array.from_buffers(whole, count, [None, pa.py_buffer(offsets), pa.py_buffer(data)])
    found.validate(full=True)  # checks that it is UTF-8
    return found


def _is_arrow(values: Any) -> bool:
    return type(values).__module__.partition(".")[0] == "pyarrow"


def _text_runs(values: Any) -> tuple[Array, Array]:
    """The offsets and the bytes of text; None is refused, since it is no id."""
    import pyarrow as pa

    try:
        found = values if _is_arrow(values) else pa.array(list(np.asarray(values, object)), pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowTypeError, UnicodeEncodeError) as error:
        raise UsageError(f"a column of text has something else in it: {error}", expected="text in every row") from error
    if isinstance(found, pa.ChunkedArray):
        found = pa.concat_arrays(found.chunks) if found.num_chunks != 1 else found.chunk(0)
    found = found.cast(pa.large_string())
    if found.null_count:
        raise UsageError("a column of text has nulls", expected="text in every row")
    _, offsets, data = found.buffers()
    if not len(found):
        return np.zeros(1, np.int64), np.zeros(0, np.uint8)
    starts = np.frombuffer(offsets, np.int64)[found.offset : found.offset + len(found) + 1]
    text = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    return starts - starts[0], text[starts[0] : starts[-1]]

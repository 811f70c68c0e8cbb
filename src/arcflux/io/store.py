"""The store: a folder with one .npy file per array and a manifest.json with their types and checksums.

Opening maps the files into memory, so it takes milliseconds whatever their size, and processes of one machine share one
copy. A store is written under a temporary name and renamed when it is whole. Nothing in it is ever run: an array is its
header, which has to say what the manifest says, and numbers; and the manifest names no files outside the folder.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arcflux import config, trace
from arcflux.errors import ChecksumError, StoreError
from arcflux.graph.core import Adjacency, Changes, Graph
from arcflux.graph.ids import Ids, IntegerIds, RangeIds, TextIds
from arcflux.io.loaded import replacing
from arcflux.io.manifest import FORMAT, MANIFEST, VERSION, incomplete, open_array, open_arrays, read_manifest

if TYPE_CHECKING:
    from typing import IO

__all__ = [
    "VERSION",
    "check_array",
    "open_graph",
    "refuse_strangers",
    "verify",
    "write",
    "write_array",
    "write_manifest",
]

Array = NDArray[Any]

_PIECE = 1 << 24


def write(graph: Graph, path: Path, *, reverse: bool | None = None) -> None:
    """Write a graph as a store; with its in-edges when they are built, or when `reverse` is True."""
    arrays = dict(_arrays(graph, reverse))
    total = sum(array.nbytes for array in arrays.values())
    with replacing(path, folder=True) as folder, trace.task(f"write {path.name}", total, "bytes") as task:
        refuse_strangers(path, FORMAT)
        entries = {}
        for name, array in arrays.items():
            entries[name] = write_array(folder, name, array, task)
        manifest = {
            "format": FORMAT,
            "version": VERSION,
            "name": graph.name,
            "directed": graph.directed,
            "sorted": graph.sorted,
            "vertices": graph.vertices,
            "edges": graph.edges,
            "columns": list(graph.columns),
            "ids": {"kind": graph.ids.kind, "base": getattr(graph.ids, "base", None)},
            "changes": asdict(graph.changes),
            "assumptions": list(graph.assumptions),
            "arrays": entries,
        }
        write_manifest(folder, manifest)


def open_graph(path: Path) -> Graph:
    """Open a store: a graph whose arrays are mapped from the files."""
    manifest = read_manifest(path)
    held = open_arrays(path, manifest)
    try:
        out = Adjacency(held["offsets"], held["neighbours"])
        columns = {key: held[f"column.{key}"] for key in manifest["columns"]}
        ids = _ids(manifest, held)
        graph = Graph(
            out,
            directed=bool(manifest["directed"]),
            columns=columns,
            ids=ids,
            loops=0 if manifest["directed"] else 2 * int(manifest["edges"]) - len(out.neighbours),
            sorted=bool(manifest["sorted"]),
            name=str(manifest["name"]),
            changes=Changes(**manifest["changes"]),
            assumptions=tuple(map(str, manifest["assumptions"])),
        )
        if "in_offsets" in held:
            back = Adjacency(held["in_offsets"], held["in_neighbours"])
            graph._in = back, {key: held[f"in_column.{key}"] for key in manifest["columns"]}
    except (KeyError, TypeError, ValueError) as error:
        raise incomplete(path, f"the manifest and the arrays do not belong together: {error!r}") from error
    return graph


def verify(path: str | os.PathLike[str]) -> None:
    """Compute every checksum again, and check that the arrays make a graph; raises when anything is off."""
    folder = Path(path)
    manifest = read_manifest(folder)
    graph = open_graph(folder)
    total = sum(np.dtype(e["dtype"]).itemsize * e["length"] for e in manifest["arrays"].values())
    with trace.task(f"verify {folder.name}", total, "bytes") as task:
        for name, entry in manifest["arrays"].items():
            check_array(folder, name, entry, task)
    for adjacency in [graph.out, *([graph._in[0]] if graph._in else [])]:
        if not _goes_up(adjacency.offsets) or int(adjacency.neighbours.max(initial=0)) >= max(1, graph.vertices):
            raise incomplete(folder, "offsets go down, or a neighbour is no vertex")
    ids = graph.ids
    if isinstance(ids, IntegerIds) and not _goes_up(ids.values, strictly=True):
        raise incomplete(folder, "the ids are not in order, or not different")
    if isinstance(ids, TextIds) and not _are_names(ids):
        raise incomplete(folder, "the names are not UTF-8, not in order, or not different")


def check_array(folder: Path, name: str, entry: dict[str, Any], task: trace.Task) -> None:
    """Raise unless the bytes of an array have the checksum of its entry."""
    if _digest(open_array(folder, name, entry), task) != entry["sha256"]:
        raise ChecksumError(
            f"the bytes of {name}.npy are not those that were written",
            path=folder / f"{name}.npy",
            expected=f"sha256 {entry['sha256'][:16]}...",
            remedy="restore the file from a copy, or make the store again from its source",
        )


def _goes_up(values: Array, strictly: bool = False) -> bool:
    return bool(np.all(values[1:] > values[:-1] if strictly else values[1:] >= values[:-1]))


def _are_names(ids: TextIds) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    names = ids._arrow()
    try:
        names.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return pc.all(pc.greater(names[1:], names[:-1])).as_py() is not False


def refuse_strangers(path: Path, format: str, *, beside: str = "") -> None:
    """Writing replaces all of `path`: it has to be of this format, an empty folder, or nothing yet.

    `beside` is the name of one folder that the format has beside its arrays.
    """
    if not path.exists() or (path.is_dir() and not any(path.iterdir())):
        return
    try:
        ours = json.loads((path / MANIFEST).read_text(encoding="utf-8"))["format"] == format
        ours &= all(file.name in (MANIFEST, beside) or file.suffix == ".npy" for file in path.iterdir())
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        ours = False
    if not ours:
        raise StoreError(
            f"something else than {'a store' if format == FORMAT else format} is here, and would be lost",
            path=path,
            expected=f"{'a store' if format == FORMAT else format}, an empty folder, or a new name",
            remedy=f"write to {path}.arcflux" if format == FORMAT else "write to a new folder",
        )


def _arrays(graph: Graph, reverse: bool | None) -> Iterator[tuple[str, Array]]:
    yield "offsets", graph.out.offsets
    yield "neighbours", graph.out.neighbours
    for key, column in graph.columns.items():
        yield f"column.{key}", column
    for key, array in graph.ids.arrays.items():
        yield f"ids.{key}", array
    if graph.directed and (reverse or (reverse is None and graph._in is not None)):
        yield "in_offsets", graph.into.offsets
        yield "in_neighbours", graph.into.neighbours
        for key, column in graph.in_columns.items():
            yield f"in_column.{key}", column


def _pieces(array: Array) -> list[memoryview]:
    raw = np.ascontiguousarray(array).view(np.uint8).data if len(array) else memoryview(b"")
    return [raw[at : at + _PIECE] for at in range(0, len(raw), _PIECE)]


def _digest(array: Array, task: trace.Task) -> str:
    """The sha256 of the sha256s of each 16 MiB, so that all cores can share the work."""
    whole = hashlib.sha256()
    with ThreadPoolExecutor(config.threads()) as pool:
        for piece, digest in zip(
            (pieces := _pieces(array)), pool.map(lambda p: hashlib.sha256(p).digest(), pieces), strict=True
        ):
            whole.update(digest)
            task.advance(len(piece))
    return whole.hexdigest()


def write_array(folder: Path, name: str, array: Array, task: trace.Task) -> dict[str, Any]:
    """Write one array as .npy, to the disk itself; returns what the manifest says about it."""
    with open(folder / f"{name}.npy", "wb") as file:
        header = np.lib.format.header_data_from_array_1_0(np.ascontiguousarray(array))
        np.lib.format.write_array_header_1_0(file, header)
        for piece in _pieces(array):
            file.write(piece)
        _to_disk(file)
    return {"dtype": array.dtype.str, "length": len(array), "sha256": _digest(array, task)}


def write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    """Write what a folder says about itself, to the disk itself."""
    with open(folder / MANIFEST, "w", encoding="utf-8") as file:
        json.dump(manifest, file, indent=1)
        _to_disk(file)


def _to_disk(file: IO[Any]) -> None:
    file.flush()
    try:
        os.fsync(file.fileno())
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS):  # some file systems know no fsync
            raise


def _ids(manifest: dict[str, Any], held: dict[str, Array]) -> Ids:
    kind, base = manifest["ids"]["kind"], manifest["ids"]["base"]
    if kind == "text":
        return TextIds(held["ids.offsets"], held["ids.data"])
    return IntegerIds(held["ids.values"]) if base is None else RangeIds(manifest["vertices"], base)

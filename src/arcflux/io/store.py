"""The store: a folder with one .npy file per array and a manifest.json with their types and checksums.

Opening maps the files into memory, so it takes milliseconds whatever their size, and processes of one machine share one
copy. What is in an array is looked at when it is first used (inspect.py), unless the caller trusts it. A store is
written under a temporary name and exchanged for the old one when it is whole. Nothing in it is ever run: an array is
its header, which has to say what the manifest says, and numbers; and the manifest names no files outside the folder.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arcflux import trace
from arcflux.errors import StoreError
from arcflux.graph.core import Adjacency, Changes, Graph, Origin
from arcflux.graph.ids import Ids, IntegerIds, RangeIds, TextIds
from arcflux.io.checks import byte_pieces, digest, examine
from arcflux.io.directory import Directory, read_folder
from arcflux.io.inspect import bytes_differ, check_transposed, pending_checks
from arcflux.io.loaded import replacing
from arcflux.io.manifest import (
    FORMAT,
    HOW_TO_WRITE,
    MANIFEST,
    VERSION,
    incomplete,
    manifest_sum,
    open_arrays,
    read_manifest,
)
from arcflux.spmd.memory import within_memory

if TYPE_CHECKING:
    from typing import IO

__all__ = [
    "VERSION",
    "check_bytes",
    "graph_in",
    "open_graph",
    "open_marked",
    "refuse_strangers",
    "verify",
    "verify_in",
    "write",
    "write_array",
    "write_manifest",
]

Array = NDArray[Any]


def write(graph: Graph, path: Path, *, reverse: bool | None = None) -> None:
    """Write a graph as a store; with its in-edges when they are built, or when `reverse` is True."""
    arrays = dict(arrays_of(graph, reverse))
    total = sum(array.nbytes for array in arrays.values())
    with replacing(path, folder=True) as folder, trace.task(f"write {path.name}", total, "bytes") as task:
        refuse_strangers(path, FORMAT)
        entries = {}
        for name, array in arrays.items():
            entries[name] = write_array(folder, name, array, task)
        write_manifest(folder, {**describe(graph), "arrays": entries})


def describe(graph: Graph) -> dict[str, Any]:
    """What a manifest says of a graph besides its arrays."""
    return {
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
    }


def open_graph(path: Path, *, trust: bool = False) -> Graph:
    """Open a store: a graph whose arrays are mapped from the files, and looked at when they are first used.

    With `trust` they are not looked at: damage then shows as a crash or a wrong result.
    """
    return read_folder(path, "store", HOW_TO_WRITE, lambda directory: graph_in(directory, trust=trust))


def open_marked(path: Path, *, trust: bool = False) -> tuple[Graph, str]:
    """The same, and a mark that another store does not have: for processes that have to open the same one."""

    def read(directory: Directory) -> tuple[Graph, str]:
        graph, manifest, _ = _open(directory, trust)
        return graph, manifest_sum(manifest)

    return read_folder(path, "store", HOW_TO_WRITE, read)


def graph_in(directory: Directory, *, trust: bool = False) -> Graph:
    """The graph of the store in an open folder."""
    return _open(directory, trust)[0]


def _open(directory: Directory, trust: bool) -> tuple[Graph, dict[str, Any], dict[str, Array]]:
    """The graph, the manifest, and every array by its name."""
    manifest = read_manifest(directory)
    held = open_arrays(directory, manifest)
    try:
        graph = restore(manifest, held)
        if not trust:
            graph.check_first(pending_checks(directory.path, manifest, held, graph._ids))
    except (KeyError, TypeError, ValueError) as error:
        raise incomplete(directory.path, f"the manifest and the arrays do not belong together: {error!r}") from error
    return graph, manifest, held


def restore(manifest: dict[str, Any], held: dict[str, Array]) -> Graph:
    """The graph that :func:`describe` and :func:`arrays_of` were told of."""
    out = Adjacency(held["offsets"], held["neighbours"])
    graph = Graph(
        out,
        directed=bool(manifest["directed"]),
        columns={key: held[f"column.{key}"] for key in manifest["columns"]},
        ids=_ids(manifest, held),
        loops=0 if manifest["directed"] else 2 * int(manifest["edges"]) - len(out.neighbours),
        sorted=bool(manifest["sorted"]),
        origin=Origin(str(manifest["name"]), Changes(**manifest["changes"]), tuple(map(str, manifest["assumptions"]))),
    )
    if "in_offsets" in held:
        back = Adjacency(held["in_offsets"], held["in_neighbours"])
        graph._in = back, {key: held[f"in_column.{key}"] for key in manifest["columns"]}
    return graph


@within_memory("verifying a store")
def verify(path: str | os.PathLike[str]) -> None:
    """Compute every checksum again, and check that the arrays make a graph; raises when anything is off."""
    read_folder(Path(path), "store", HOW_TO_WRITE, verify_in)


def verify_in(directory: Directory) -> None:
    """As :func:`verify`, in an open folder."""
    graph, manifest, held = _open(directory, trust=False)
    check_bytes(directory.path, manifest["arrays"], held)
    graph.check()
    check_transposed(directory.path, graph)


def check_bytes(path: Path, entries: dict[str, Any], held: dict[str, Array]) -> None:
    """Raise unless the bytes of all arrays have the checksums of their entries."""
    with trace.task(f"verify {path.name}", sum(array.nbytes for array in held.values()), "bytes") as task:
        for name, array in held.items():
            if digest(array, task) != entries[name]["sha256"]:
                raise bytes_differ(path, name)


def refuse_strangers(path: Path, format: str, *, beside: str = "") -> None:
    """Writing replaces all of `path`: it has to be of this format, an empty folder, or nothing yet.

    `beside` is the name of one folder that the format has beside its arrays.
    """
    if not os.path.exists(path) or (os.path.isdir(path) and not any(path.iterdir())):
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


def arrays_of(graph: Graph, reverse: bool | None) -> Iterator[tuple[str, Array]]:
    """The arrays of a graph by the names that they have in a store."""
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


def write_array(folder: Path, name: str, array: Array, task: trace.Task) -> dict[str, Any]:
    """Write one array as .npy, to the disk itself; returns what the manifest says about it."""
    with open(folder / f"{name}.npy", "wb") as file:
        header = np.lib.format.header_data_from_array_1_0(np.ascontiguousarray(array))
        np.lib.format.write_array_header_1_0(file, header)
        for piece in byte_pieces(array):
            file.write(piece)
        _to_disk(file)
    sums = {"sha256": digest(array, task), "sum64": examine(array)[0]}
    return {"dtype": array.dtype.str, "length": len(array), **sums}


def write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    """Write what a folder says about itself, to the disk itself."""
    with open(folder / MANIFEST, "w", encoding="utf-8") as file:
        json.dump({**manifest, "checksum": manifest_sum(manifest)}, file, indent=1)
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

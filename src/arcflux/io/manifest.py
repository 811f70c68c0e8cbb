"""What a store says about itself, read with suspicion: the manifest, and arrays that have to be what it says.

Everything that can be checked without reading the arrays is checked here, so that a store that opens cannot make
compiled code read outside of an array's memory by its sizes alone; what is in the arrays, checks.py looks at before
they are first used.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.errors import ChecksumError, StoreError
from arcflux.io.directory import Directory
from arcflux.io.npy import read_header

__all__ = [
    "FORMAT",
    "HOW_TO_WRITE",
    "MANIFEST",
    "VERSION",
    "check_manifest_sum",
    "incomplete",
    "is_entry",
    "manifest_sum",
    "open_array",
    "open_arrays",
    "read_json",
    "read_manifest",
]

Array = NDArray[Any]

VERSION = 1
FORMAT = "arcflux-store"
HOW_TO_WRITE = "write one with `arcflux convert GRAPH FOLDER` or g.save(folder)"
MANIFEST = "manifest.json"
_LARGEST = 1 << 24
# What else Arcflux writes into folders, and what opens it.
_OPENED_BY = {
    "arcflux-parts": ("a folder of parts", "af.load_parts opens it, and arcflux run; the graph in it is graph.arcflux"),
    "arcflux-checkpoint": ("a checkpoint", "a run goes on from it: checkpoint= of af.run"),
}
_TYPES = {np.dtype(code).str for code in "?bBhHiIqQfd"}


def read_manifest(directory: Directory) -> dict[str, Any]:
    """The manifest of a store, every field of it there and of its type."""
    manifest = read_json(directory, FORMAT, VERSION, "store", HOW_TO_WRITE)
    _check_manifest(directory.path, manifest)
    check_manifest_sum(directory.path, manifest)
    return manifest


def _another(path: Path, what: str, format: str) -> StoreError:
    """The error for a folder that Arcflux wrote as something else."""
    wrote, how = _OPENED_BY[format]
    return StoreError(f"this is {wrote}, and not a {what}", path=path, expected=f"a {what}", remedy=how)


def read_json(directory: Directory, format: str, newest: int, what: str, remedy: str) -> dict[str, Any]:
    """A manifest of this format and of a version that is known; `what` and `remedy` are for the error if it is not."""
    file = directory.path / MANIFEST
    try:
        with directory.open(MANIFEST) as opened:
            text = opened.read(_LARGEST + 1)
        if len(text) > _LARGEST:
            raise ValueError("it is too large")
        manifest = json.loads(text.decode("utf-8"))
        if not isinstance(manifest, dict):
            raise ValueError(f"its format is not {format}")
        written = manifest.get("format")
        if written != format:
            if isinstance(written, str) and written in _OPENED_BY:
                raise _another(directory.path, what, written)
            raise ValueError(f"its format is not {format}")
        version = manifest.get("version")
        if not isinstance(version, int) or version < 1:
            raise ValueError(f"its version is {version!r}")
    except FileNotFoundError as error:
        raise StoreError(
            f"this is not a {what}", path=directory.path, expected=f"a folder with a {MANIFEST}", remedy=remedy
        ) from error
    except StoreError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        _raise_of_memory(error)
        raise StoreError(
            f"the manifest cannot be read: {error}", path=file, expected="JSON that arcflux wrote"
        ) from error
    if version > newest:
        raise StoreError(
            f"the {what} has format version {version}",
            path=file,
            expected=f"at most {newest}, which this version of Arcflux knows",
            remedy="pip install --upgrade arcflux",
        )
    return manifest


def manifest_sum(manifest: dict[str, Any]) -> str:
    """The checksum of what a manifest says, but for the checksum itself."""
    said = {key: value for key, value in manifest.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def check_manifest_sum(path: Path, manifest: dict[str, Any]) -> None:
    """Raise unless a manifest says what was written; one without a checksum is from before there were any."""
    if "checksum" in manifest and manifest["checksum"] != manifest_sum(manifest):
        raise ChecksumError(
            "the manifest does not say what was written",
            path=path / MANIFEST,
            expected="the text that its own checksum is of",
            remedy="restore the file from a copy, or rebuild the folder from its source",
        )


def _check_manifest(path: Path, manifest: dict[str, Any]) -> None:
    """Every field is there with its type, so that the rest can use them."""
    kinds = {"directed": bool, "sorted": bool, "vertices": int, "edges": int, "columns": list, "ids": dict, "name": str,
             "changes": dict, "assumptions": list, "arrays": dict}  # fmt: skip
    wrong = [key for key, kind in kinds.items() if not isinstance(manifest.get(key), kind)]
    if not wrong:
        base = manifest["ids"].get("base", 0)
        right = {
            "vertices": manifest["vertices"] >= 0,
            "columns": all(isinstance(name, str) and name.isidentifier() for name in manifest["columns"])
            and len(set(manifest["columns"])) == len(manifest["columns"]),
            "ids.kind": manifest["ids"].get("kind") in ("integer", "text"),
            "ids.base": base is None
            or (isinstance(base, int) and -(1 << 63) <= base <= (1 << 63) - manifest["vertices"]),
            "changes": all(isinstance(count, int) for count in manifest["changes"].values()),
            **{f"arrays.{name}": is_entry(name, entry) for name, entry in manifest["arrays"].items()},
        }
        wrong = [key for key, fine in right.items() if not fine]
    if wrong:
        raise incomplete(path, "the manifest lacks or mistypes " + ", ".join(wrong))


def is_entry(name: str, entry: Any) -> bool:
    """Whether this describes an array, in a file of this folder."""
    plain = re.fullmatch(r"\w[\w.]*", name) is not None
    kinds = {"dtype": str, "sha256": str, "length": int}
    return plain and isinstance(entry, dict) and all(isinstance(entry.get(key), kind) for key, kind in kinds.items())


def open_arrays(directory: Directory, manifest: dict[str, Any]) -> dict[str, Array]:
    """Every array by its name, mapped, of the size and type that a graph needs."""
    held = {name: open_array(directory, name, entry) for name, entry in manifest["arrays"].items()}
    _check_sizes(directory.path, manifest, held)
    return held


def open_array(directory: Directory, name: str, entry: dict[str, Any]) -> Array:
    """Map an array: its header says what the manifest says, and the file is as long as that."""
    length = entry["length"]
    try:
        with directory.open(f"{name}.npy") as file:
            shape, _, dtype = read_header(file)
            start, size = file.tell(), os.fstat(file.fileno()).st_size
            if dtype.str != entry["dtype"] or shape != (length,) or dtype.str not in _TYPES:
                raise ValueError(f"it holds {dtype.str}{shape}")
            if size != start + length * dtype.itemsize:
                raise ValueError(f"it has {size:,} bytes, not {start + length * dtype.itemsize:,}")
            if start % dtype.itemsize:
                raise ValueError(f"its values begin at byte {start}, where values of {dtype.itemsize} bytes do not")
            return np.asarray(np.memmap(file, dtype, "r", start, shape)) if length else np.empty(0, dtype)
    except FileNotFoundError as error:
        raise incomplete(directory.path, f"{name}.npy is missing") from error
    except StoreError:
        raise
    except (ValueError, OSError) as error:
        _raise_of_memory(error)
        raise StoreError(
            f"the array cannot be read: {error}", path=directory.path / f"{name}.npy",
            expected=f"{entry['dtype']}({length},)",
            remedy="restore the file from a copy, or rebuild the store from its source",
        ) from error  # fmt: skip


def _raise_of_memory(error: Exception) -> None:
    """Raise what says that memory is not enough: the store is well."""
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        raise error


def _check_sizes(path: Path, manifest: dict[str, Any], held: dict[str, Array]) -> None:
    """What can be checked without reading the arrays: types, sizes, and the ends of offsets."""

    def rows(offsets: str, items: str) -> bool:
        """Whether one array cuts another into a piece for each vertex."""
        cuts, length = held[offsets], len(held[items])
        return len(cuts) == manifest["vertices"] + 1 and int(cuts[0]) == 0 and int(cuts[-1]) == length

    def adjacency(prefix: str) -> bool:
        offsets, neighbours = held[f"{prefix}offsets"], held[f"{prefix}neighbours"]
        return (
            offsets.dtype == np.uint64
            and neighbours.dtype in (np.uint32, np.uint64)
            and rows(f"{prefix}offsets", f"{prefix}neighbours")
            and len(neighbours) == arcs
            and neighbours.dtype == held["neighbours"].dtype
            and all(len(held[f"{prefix}column.{name}"]) == arcs for name in manifest["columns"])
            and all(
                held[f"{prefix}column.{name}"].dtype == held[f"column.{name}"].dtype for name in manifest["columns"]
            )
        )

    try:
        arcs, edges = len(held["neighbours"]), manifest["edges"]
        fits = adjacency("") and ("in_offsets" not in held or (manifest["directed"] and adjacency("in_")))
        fits &= edges == arcs if manifest["directed"] else arcs <= 2 * edges <= 2 * arcs
        if manifest["ids"]["kind"] == "text":
            fits &= held["ids.offsets"].dtype == np.int64 and held["ids.data"].dtype == np.uint8
            fits &= rows("ids.offsets", "ids.data")
        elif manifest["ids"]["base"] is None:
            fits &= held["ids.values"].dtype in (np.uint32, np.int32, np.int64)
            fits &= len(held["ids.values"]) == manifest["vertices"]
    except KeyError as error:
        raise incomplete(path, f"the manifest does not name {error}") from error
    if not fits:
        raise incomplete(path, "the arrays' types and sizes contradict each other")


def incomplete(path: Path, what: str) -> StoreError:
    """The error for a store that lacks something."""
    return StoreError(
        what,
        path=path,
        expected="a complete store",
        remedy="restore it from a copy, or rebuild it from its source",
    )

"""What a store says about itself, read with suspicion: the manifest, and arrays that have to be what it says.

Everything that can be checked without reading the arrays is checked here, so that a store that opens cannot make
compiled code read outside of an array's memory by its sizes alone; what is in the arrays, ``arcflux verify`` checks.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.errors import StoreError

__all__ = [
    "FORMAT",
    "MANIFEST",
    "VERSION",
    "incomplete",
    "is_entry",
    "open_array",
    "open_arrays",
    "read_json",
    "read_manifest",
]

Array = NDArray[Any]

VERSION = 1
FORMAT = "arcflux-store"
MANIFEST = "manifest.json"
_LARGEST = 1 << 24
_TYPES = {np.dtype(code).str for code in "?bBhHiIqQfd"}


def read_manifest(path: Path) -> dict[str, Any]:
    """The manifest of a store, every field of it there and of its type."""
    remedy = "write one with `arcflux convert GRAPH FOLDER` or g.save(folder)"
    manifest = read_json(path, FORMAT, VERSION, "store", remedy)
    _check_manifest(path, manifest)
    return manifest


def read_json(path: Path, format: str, newest: int, what: str, remedy: str) -> dict[str, Any]:
    """A manifest of this format and of a version that is known; `what` and `remedy` are for the error if it is not."""
    file = path / MANIFEST
    if not path.is_dir() or not file.is_file():
        raise StoreError(
            f"this is not a {what}" if path.exists() else f"no such {what}",
            path=path,
            expected=f"a folder with a {MANIFEST}",
            remedy=remedy,
        )
    try:
        if file.stat().st_size > _LARGEST:
            raise ValueError("it is too large")
        manifest = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(manifest, dict) or manifest.get("format") != format:
            raise ValueError(f"its format is not {format}")
        version = manifest.get("version")
        if not isinstance(version, int) or version < 1:
            raise ValueError(f"its version is {version!r}")
    except (OSError, ValueError, RecursionError) as error:
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


def _check_manifest(path: Path, manifest: dict[str, Any]) -> None:
    """Every field is there with its type, so that the rest can use them."""
    kinds = {"directed": bool, "sorted": bool, "vertices": int, "edges": int, "columns": list, "ids": dict, "name": str,
             "changes": dict, "assumptions": list, "arrays": dict}  # fmt: skip
    wrong = [key for key, kind in kinds.items() if not isinstance(manifest.get(key), kind)]
    if not wrong:
        base = manifest["ids"].get("base", 0)
        right = {
            "vertices": manifest["vertices"] >= 0,
            "columns": all(isinstance(name, str) and name.isidentifier() for name in manifest["columns"]),
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


def open_arrays(path: Path, manifest: dict[str, Any]) -> dict[str, Array]:
    """Every array by its name, mapped, of the size and type that a graph needs."""
    held = {name: open_array(path, name, entry) for name, entry in manifest["arrays"].items()}
    _check_sizes(path, manifest, held)
    return held


def open_array(path: Path, name: str, entry: dict[str, Any]) -> Array:
    """Map an array: its header says what the manifest says, and the file is as long as that."""
    file, length = path / f"{name}.npy", entry["length"]
    try:
        with open(file, "rb") as opened:
            if np.lib.format.read_magic(opened) != (1, 0):
                raise ValueError("this is not version 1 of the .npy format")
            shape, _, dtype = np.lib.format.read_array_header_1_0(opened)
            start, size = opened.tell(), os.fstat(opened.fileno()).st_size
        if dtype.str != entry["dtype"] or shape != (length,) or dtype.str not in _TYPES:
            raise ValueError(f"it holds {dtype.str}{shape}")
        if size != start + length * dtype.itemsize:
            raise ValueError(f"it has {size:,} bytes, not {start + length * dtype.itemsize:,}")
        return np.asarray(np.memmap(file, dtype, "r", start, shape)) if length else np.empty(0, dtype)
    except FileNotFoundError as error:
        raise incomplete(path, f"{name}.npy is missing") from error
    except Exception as error:  # whatever NumPy and Python's parser make of a damaged header
        raise StoreError(
            f"the array cannot be read: {error}", path=file, expected=f"{entry['dtype']}({length},)",
            remedy="restore the file from a copy, or make the store again from its source",
        ) from error  # fmt: skip


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
            and all(len(held[f"{prefix}column.{name}"]) == arcs for name in manifest["columns"])
        )

    try:
        arcs, edges = len(held["neighbours"]), manifest["edges"]
        fits = adjacency("") and ("in_offsets" not in held or (manifest["directed"] and adjacency("in_")))
        fits &= edges == arcs if manifest["directed"] else arcs <= 2 * edges <= 2 * arcs
        if manifest["ids"]["kind"] == "text":
            fits &= held["ids.offsets"].dtype == np.int64 and held["ids.data"].dtype == np.uint8
            fits &= rows("ids.offsets", "ids.data")
        elif manifest["ids"]["base"] is None:
            fits &= held["ids.values"].dtype.kind in "iu" and len(held["ids.values"]) == manifest["vertices"]
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
        remedy="restore it from a copy, or make it again from its source",
    )

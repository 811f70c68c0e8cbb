"""Whether arrays that fit each other make a graph: what is looked at before their first use, and what `verify` adds.

Before the first use (:func:`pending_checks`): checksums, offsets that rise, neighbours that are vertices, sorted rows,
ids in order. Compiled code stays inside of its arrays by that. What costs more than a sweep over memory is left to
``verify`` (:func:`check_transposed`): that the in-edges are the out-edges the other way round, and that an undirected
graph has every edge in both directions.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux import config
from arcflux.errors import ChecksumError, StoreError
from arcflux.graph.core import Adjacency, Graph
from arcflux.graph.ids import Ids, TextIds
from arcflux.io.checks import Look, are_below, are_booleans, digest, examine, rise, rows_rise
from arcflux.io.manifest import incomplete
from arcflux.spmd.memory import frozen

__all__ = ["bytes_differ", "check_array", "check_transposed", "pending_checks", "sum_of_arcs"]

Array = NDArray[Any]

_SLICES = 128


def pending_checks(
    path: Path, manifest: dict[str, Any], held: dict[str, Array], ids: Ids
) -> dict[str, Callable[[], None]]:
    """What a graph has to ask before it uses its arrays the first time, by the names that it has for them."""
    entries, arrays = manifest["arrays"], dict(held)

    def check(name: str, *looks: Look) -> None:
        check_array(path, name, entries[name], arrays[name], looks)

    def check_rows(prefix: str) -> None:
        offsets, neighbours = arrays[f"{prefix}offsets"], arrays[f"{prefix}neighbours"]
        check(f"{prefix}offsets", rise(offsets))
        order = [rows_rise(neighbours, offsets)] if manifest["sorted"] or prefix else []
        check(f"{prefix}neighbours", are_below(neighbours, manifest["vertices"]), *order)

    def check_column(name: str) -> None:
        check(name, *([are_booleans(arrays[name])] if arrays[name].dtype == np.bool_ else []))

    def check_ids() -> None:
        for name in [name for name in arrays if name.startswith("ids.")]:
            check(name, *([] if name == "ids.data" else [rise(arrays[name], strictly=name == "ids.values")]))
        if isinstance(ids, TextIds) and not _are_names(ids):
            raise incomplete(path, "the names of the vertices are not UTF-8, not in order, or not different")

    checks: dict[str, Callable[[], None]] = {"out": partial(check_rows, ""), "ids": check_ids}
    checks |= {f"columns.{key}": partial(check_column, f"column.{key}") for key in manifest["columns"]}
    if "in_offsets" in held:
        checks["in"] = partial(check_rows, "in_")
        checks |= {f"in_columns.{key}": partial(check_column, f"in_column.{key}") for key in manifest["columns"]}
    return checks


def check_array(path: Path, name: str, entry: dict[str, Any], array: Array, looks: Any = ()) -> None:
    """Raise unless the bytes of an array are those that were written, and every look at it finds nothing."""
    found, fault = examine(array, looks)
    if config.rank_and_size() is not None:
        _leave(array)
    # What was written before there were such sums has SHA-256 alone.
    if found != entry["sum64"] if "sum64" in entry else digest(array) != entry["sha256"]:
        raise bytes_differ(path, name)
    if fault:
        raise StoreError(
            f"this is no array of a graph: {fault}", path=path / f"{name}.npy",
            remedy="rebuild the store from its source; its checksum is right, so this is what was written",
        )  # fmt: skip


def _leave(array: Array) -> None:
    """Take the pages of a mapped file out of this process: a rank has looked at all, and will read its own slice."""
    mapped: Any = array
    while isinstance(mapped, np.ndarray) and not isinstance(mapped, np.memmap):
        mapped = mapped.base
    block = getattr(mapped, "base", None)
    if isinstance(mapped, np.memmap) and isinstance(block, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        block.madvise(mmap.MADV_DONTNEED)
    with suppress(AttributeError):  # what the look allocated, piece by piece: glibc's heap keeps it otherwise
        ctypes.CDLL(None).malloc_trim(0)


def bytes_differ(path: Path, name: str) -> ChecksumError:
    """The error for an array that is not what its checksum is of."""
    return ChecksumError(
        f"the bytes of {name}.npy are not those that were written",
        path=path / f"{name}.npy",
        expected="the bytes that the checksum in the manifest is of",
        remedy="restore the file from a copy, or rebuild the store from its source",
    )


def _are_names(ids: TextIds) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    names = ids.to_arrow()
    try:
        names.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return pc.all(pc.greater(names[1:], names[:-1])).as_py() is not False


def check_transposed(path: Path, graph: Graph) -> None:
    """Raise unless in-edges are the out-edges the other way round, and undirected edges go in both directions."""
    columns = {"": None, **graph.columns}
    if not graph.directed:
        loops = 0
        for name, values in columns.items():
            balance, loops = sum_of_arcs(graph.out, values, both=True)
            if balance:
                raise incomplete(path, f"an undirected edge is there in one direction only{_with(name)}")
        if 2 * graph.edges - graph.arcs != loops:
            raise incomplete(path, f"there are {loops:,} self-loops, and the manifest counts {graph.edges:,} edges")
    elif graph.has_in_edges:
        in_columns = {"": None, **graph.in_columns}
        for name, values in columns.items():
            if sum_of_arcs(graph.out, values) != sum_of_arcs(graph.into, in_columns[name], transposed=True):
                raise incomplete(path, f"the in-edges are not the out-edges the other way round{_with(name)}")


def _with(column: str) -> str:
    return f", by the values of column {column}" if column else ""


def sum_of_arcs(
    rows: Adjacency, values: Array | None, *, both: bool = False, transposed: bool = False
) -> tuple[int, int]:
    """The sum of the hashes of all arcs with their values, and how many of the arcs are self-loops (arc_kernels.py)."""
    from arcflux.graph.build import row_bounds
    from arcflux.io.arc_kernels import sum_arcs
    from arcflux.spmd.pool import run

    words = None if values is None else frozen(values.view(f"u{values.itemsize}"))
    sums, loops = np.zeros(_SLICES, np.uint64), np.zeros(_SLICES, np.int64)
    bounds = row_bounds(rows.offsets, _SLICES)
    run(sum_arcs, _SLICES, *map(frozen, rows), words, both, transposed, bounds, sums, loops)
    return int(sums.sum()), int(loops.sum())

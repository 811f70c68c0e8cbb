"""Parts in a folder: the graph as a store, who owns what, and each part's arcs where they are not a stretch of it.

All of it is mapped into memory when it is needed, so that a worker reads its own slices alone and those of one machine
share one copy; parts by ranges add nothing to the graph. As in a store, every array has a checksum, nothing is ever
run, and the folder appears under its name when it is whole.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux import trace
from arcflux.errors import StoreError
from arcflux.graph.core import Adjacency, Graph
from arcflux.io import store
from arcflux.io.loaded import replacing
from arcflux.io.manifest import incomplete, is_entry, open_array, read_json
from arcflux.partition import PARTITIONERS
from arcflux.partition.part import Inward, Part
from arcflux.partition.parts import Parts, made, outward_of
from arcflux.partition.rule import Rule, smallest

__all__ = ["FORMAT", "is_parts", "load_parts", "verify", "write"]

Array = NDArray[Any]

FORMAT = "arcflux-parts"
VERSION = 1
_GRAPH = "graph.arcflux"
_TABLES = ("rows", "columns", "fold")


def write(parts: Parts, path: str | os.PathLike[str]) -> None:
    """Write parts as a folder, with their graph and its in-edges; one part's arcs are in memory at a time."""
    target = Path(path)
    entries = {}
    with replacing(target, folder=True) as folder:
        store.refuse_strangers(target, FORMAT, beside=_GRAPH)
        store.write(parts.graph, folder / _GRAPH, reverse=True)
        with trace.task(f"write {target.name}", unit="bytes") as task:
            for name, array in _arrays(parts):
                entries[name] = store.write_array(folder, name, array, task)
        manifest = {
            "format": FORMAT, "version": VERSION, "how": parts.how, "k": parts.k, "mode": parts.rule.mode,
            "limit": parts.rule.limit, "shape": parts.shape, "notes": parts.notes, "duplicated": parts.duplicated,
            "arrays": entries,
        }  # fmt: skip
        store.write_manifest(folder, manifest)


def _arrays(parts: Parts) -> Iterator[tuple[str, Array]]:
    yield ("owner", parts.owner) if parts.bounds is None else ("bounds", parts.bounds)
    for name in _TABLES:
        table = getattr(parts.rule, name)
        if table is not None:
            yield f"rule.{name}", table
    if not _is_stretch(parts):
        for i in range(parts.k):
            yield from _part_arrays(made(parts, i))


def _is_stretch(parts: Parts) -> bool:
    """Whether each part's arcs are a stretch of the graph's, so that there is nothing to add."""
    return parts.bounds is not None and parts.placement == "target"


def _part_arrays(part: Part) -> Iterator[tuple[str, Array]]:
    yield f"part{part.number}.targets", part.targets
    yield f"part{part.number}.offsets", part.into.offsets
    yield f"part{part.number}.sources", part.into.neighbours
    for name, column in part.in_columns.items():
        yield f"part{part.number}.column.{name}", column


def load_parts(path: str | os.PathLike[str]) -> Parts:
    """Open the parts in a folder that ``parts.save`` or ``arcflux partition`` wrote. Arrays are mapped, not read.

    Examples
    --------
    >>> import tempfile
    >>> import arcflux as af
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     af.partition("kron:8", 4).save(f"{folder}/parts")
    ...     parts = af.load_parts(f"{folder}/parts")
    >>> parts
    <Parts of kron:8: 4 by ranges, arcs at their target>
    """
    folder = Path(path)
    manifest = _manifest(folder)
    graph = store.open_graph(folder / _GRAPH)
    entries, shape = manifest["arrays"], manifest["shape"]
    held = {name: open_array(folder, name, entry) for name, entry in entries.items() if not name.startswith("part")}
    _check_sizes(folder, manifest, held, graph)
    rows, columns, fold = (held.get(f"rule.{name}") for name in _TABLES)
    rule = Rule(manifest["mode"], rows, columns, fold, manifest["limit"])

    def opened(parts: Parts, i: int) -> Part:
        return made(parts, i) if _is_stretch(parts) else _open_part(folder, entries, parts, i)

    return Parts(
        graph, manifest["k"], manifest["how"], owner=held.get("owner"), bounds=held.get("bounds"), rule=rule,
        shape=None if shape is None else (shape[0], shape[1]), notes=manifest["notes"],
        duplicated=manifest["duplicated"], make=opened,
    )  # fmt: skip


def is_parts(path: str | os.PathLike[str]) -> bool:
    """Whether this looks like a folder of parts."""
    return (Path(path) / _GRAPH).is_dir()


def _manifest(folder: Path) -> dict[str, Any]:
    """The manifest, every field of it there and of its type."""
    manifest = read_json(
        folder, FORMAT, VERSION, "folder of parts", "write one with `arcflux partition GRAPH --out DIR`"
    )
    kinds = {"how": str, "k": int, "mode": str, "limit": int, "notes": list, "duplicated": bool, "arrays": dict}
    wrong = [key for key, kind in kinds.items() if not isinstance(manifest.get(key), kind)]
    if not wrong:
        shape = manifest.get("shape")
        right = {
            "how": manifest["how"] in PARTITIONERS,
            "k": 1 <= manifest["k"] <= 1 << 31,
            "mode": manifest["mode"] in ("target", "source", "grid", "degree"),
            "limit": 0 <= manifest["limit"] < 1 << 64,
            "shape": shape is None if manifest["mode"] != "grid" else _is_shape(shape),
            "notes": all(isinstance(note, str) for note in manifest["notes"]),
            **{f"arrays.{name}": is_entry(name, entry) for name, entry in manifest["arrays"].items()},
        }
        wrong = [key for key, fine in right.items() if not fine]
    if wrong:
        raise incomplete(folder, "the manifest lacks or mistypes " + ", ".join(wrong))
    return manifest


def _is_shape(shape: Any) -> bool:
    return isinstance(shape, list) and len(shape) == 2 and all(isinstance(side, int) and side > 0 for side in shape)


def _check_sizes(folder: Path, manifest: dict[str, Any], held: dict[str, Array], graph: Graph) -> None:
    """What can be checked without reading the long arrays: types, sizes, and all of the short ones."""
    k, n = manifest["k"], graph.vertices
    if "bounds" in held:
        bounds = held["bounds"]
        fits = bounds.dtype == np.int64 and len(bounds) == k + 1 and int(bounds[0]) == 0 and int(bounds[-1]) == n
        fits = fits and bool(np.all(bounds[1:] >= bounds[:-1]))
    else:
        fits = "owner" in held and held["owner"].dtype == smallest(k) and len(held["owner"]) == n
    if fits and manifest["mode"] == "grid":
        cells = manifest["shape"][0] * manifest["shape"][1]
        lengths = {"rows": n, "columns": n, "fold": cells}
        tables = {name: held.get(f"rule.{name}") for name in _TABLES}
        fits = all(
            table is not None and table.dtype == smallest(cells) and len(table) == lengths[name]
            for name, table in tables.items()
        )
        fits = fits and cells >= k and np.array_equal(held["rule.fold"], np.arange(cells) * k // cells)
    if not fits:
        raise incomplete(folder, "the owners and rules of the parts do not fit each other or the graph")


def _open_part(folder: Path, entries: dict[str, Any], parts: Parts, i: int) -> Part:
    """Map the arrays of one part."""
    graph = parts.graph
    try:
        targets, offsets, sources, *columns = (
            open_array(folder, name, entries[name])
            for name in (f"part{i}.{what}" for what in ("targets", "offsets", "sources", *_columns(graph)))
        )
    except KeyError as error:
        raise incomplete(folder, f"the manifest does not name {error}") from error
    number = graph.out.neighbours.dtype
    fits = targets.dtype == sources.dtype == number and offsets.dtype == np.uint64
    fits = fits and len(offsets) == len(targets) + 1 and int(offsets[0]) == 0 and int(offsets[-1]) == len(sources)
    fits = fits and all(
        len(column) == len(sources) and column.dtype == graph.in_columns[name].dtype
        for name, column in zip(graph.columns, columns, strict=True)
    )
    if not fits:
        raise incomplete(folder, f"the arrays of part {i} contradict each other")
    named = dict(zip(graph.columns, columns, strict=True))
    arcs = Inward(targets, Adjacency(offsets, sources), named)
    return Part(i, graph, parts.owned(i), lambda: arcs, outward_of(parts, i), parts.duplicated)


def _columns(graph: Graph) -> list[str]:
    return [f"column.{name}" for name in graph.columns]


def verify(path: str | os.PathLike[str]) -> None:
    """Compute every checksum again, and check that each part has the arcs that it should; raises when it has not."""
    folder = Path(path)
    store.verify(folder / _GRAPH)
    parts, entries = load_parts(folder), _manifest(folder)["arrays"]
    total = sum(np.dtype(entry["dtype"]).itemsize * entry["length"] for entry in entries.values())
    with trace.task(f"verify {folder.name}", total, "bytes") as task:
        for name, entry in entries.items():
            store.check_array(folder, name, entry, task)
    inside = parts.bounds is not None or int(parts.owner.max(initial=0)) < parts.k
    tables = (parts.rule.rows, parts.rule.columns)
    inside = inside and (parts.shape is None or _in_cells(tables, parts.shape))
    if not inside:
        raise incomplete(folder, "a vertex has an owner, a row or a column that is not there")
    for i in range(parts.k):
        if not _same(parts.part(i), made(parts, i)):
            raise StoreError(
                f"part {i} does not have the arcs that the graph and its owners give it", path=folder,
                remedy="write the parts again with `arcflux partition`",
            )  # fmt: skip


def _in_cells(tables: tuple[Array | None, ...], shape: tuple[int, int]) -> bool:
    highest = [0 if table is None else int(table.max(initial=0)) for table in tables]
    return sum(highest) < shape[0] * shape[1]


def _same(one: Part, other: Part) -> bool:
    pairs = [(one.targets, other.targets), *zip(one.into, other.into, strict=True)]
    pairs += [(column, other.in_columns[name]) for name, column in one.in_columns.items()]
    return all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in pairs)

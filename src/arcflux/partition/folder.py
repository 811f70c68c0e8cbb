"""Parts in a folder: the graph as a store, the owners, and each part's arcs unless they are a contiguous range of it.

All of it is mapped into memory when it is needed, so that a worker reads its own slices alone and those of one machine
share one copy; parts by ranges add nothing to the graph. As in a store, every array has a checksum and is looked at
before its first use, nothing is ever run, and the folder appears under its name when it is whole.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux import trace
from arcflux.checks import checked, flag
from arcflux.checks import path as a_path
from arcflux.errors import StoreError
from arcflux.extensions import extension_names
from arcflux.graph.core import Adjacency, Graph
from arcflux.io import store
from arcflux.io.checks import Look, are_below, rise
from arcflux.io.directory import Directory, read_folder
from arcflux.io.inspect import check_array
from arcflux.io.loaded import replacing
from arcflux.io.manifest import check_manifest_sum, incomplete, is_entry, open_array, read_json
from arcflux.partition import MOST_PARTS, PARTITIONERS
from arcflux.partition.arcs import Inward
from arcflux.partition.grid import split as split_by_grid
from arcflux.partition.part import Part
from arcflux.partition.parts import Parts, candidates, make_part, outward_of
from arcflux.partition.rule import Rule, smallest
from arcflux.spmd.memory import within_memory

__all__ = ["FORMAT", "is_parts", "load_parts", "verify", "write"]

Array = NDArray[Any]

FORMAT = "arcflux-parts"
VERSION = 1
_GRAPH = "graph.arcflux"
_TABLES = ("rows", "columns", "fold")
_WHAT = "folder of parts"
# The name of parts with owners of the user's, whatever they were called.
_OWN = "assignment"
_HOW_TO_WRITE = "write one with `arcflux partition GRAPH --out DIR`"


@within_memory("saving parts")
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
        how = parts.how if _is_known(parts.how) else _OWN
        manifest = {
            "format": FORMAT, "version": VERSION, "how": how, "k": parts.k, "mode": parts.rule.mode,
            "limit": parts.rule.limit, "shape": parts.shape, "notes": parts.notes, "duplicated": parts.duplicated,
            "hierarchy": None if parts.hierarchy is None else list(parts.hierarchy),
            "arrays": entries,
        }  # fmt: skip
        store.write_manifest(folder, manifest)


def _is_known(how: str) -> bool:
    return how in (*PARTITIONERS, _OWN, *extension_names("arcflux.partitioners"))


def _arrays(parts: Parts) -> Iterator[tuple[str, Array]]:
    yield ("owner", parts.owner) if parts.bounds is None else ("bounds", parts.bounds)
    for name in _TABLES:
        table = getattr(parts.rule, name)
        if table is not None:
            yield f"rule.{name}", table
    if not _is_stretch(parts):
        for i in range(parts.k):
            yield from _part_arrays(make_part(parts, i))


def _is_stretch(parts: Parts) -> bool:
    """Whether each part's arcs are a stretch of the graph's, so that there is nothing to add."""
    return parts.bounds is not None and parts.placement == "target"


def _part_arrays(part: Part) -> Iterator[tuple[str, Array]]:
    yield f"part{part.number}.targets", part.targets
    yield f"part{part.number}.offsets", part.into.offsets
    yield f"part{part.number}.sources", part.into.neighbours
    for name, column in part.in_columns.items():
        yield f"part{part.number}.column.{name}", column


@checked(path=a_path, trust=flag)
@within_memory("loading parts")
def load_parts(path: str | os.PathLike[str], *, trust: bool = False) -> Parts:
    """Open the parts in a folder that ``parts.save`` or ``arcflux partition`` wrote. Arrays are mapped, not read.

    They are looked at before their first use: those of a part when it is asked for. With `trust` they are not.

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
    return read_folder(Path(path), _WHAT, _HOW_TO_WRITE, lambda folder: _parts_in(folder, trust)[0])


def _parts_in(folder: Directory, trust: bool) -> tuple[Parts, dict[str, Any], Directory]:
    """The parts in an open folder, the entries of their arrays, and the folder of their graph."""
    manifest = _manifest(folder)
    inner = _graph_folder(folder)
    graph = store.graph_in(inner, trust=trust)
    entries, shape = manifest["arrays"], manifest["shape"]
    held = {name: open_array(folder, name, entry) for name, entry in entries.items() if not name.startswith("part")}
    _check_sizes(folder.path, manifest, held, graph)
    if not trust:
        _check_tables(folder.path, manifest, held, graph)
    rows, columns, fold = (held.get(f"rule.{name}") for name in _TABLES)
    grid = None if shape is None else (shape[0], shape[1])
    rule = Rule(manifest["mode"], rows, columns, fold, manifest["limit"], grid, manifest["duplicated"])
    k, how, notes = manifest["k"], manifest["how"], manifest["notes"]
    parts = _Opened(graph, k, how, owner=held.get("owner"), bounds=held.get("bounds"), rule=rule, notes=notes)
    parts.hierarchy = None if manifest.get("hierarchy") is None else tuple(manifest["hierarchy"])
    parts.open_part = lambda i: _open_part(folder, entries, parts, i, trust)
    return parts, entries, inner


class _Opened(Parts):
    """Parts whose arcs are in a folder, unless they are a stretch of the graph's."""

    _looked_at = True  # by _check_tables, unless the folder is trusted
    open_part: Callable[[int], Part]

    def _make(self, i: int) -> Part:
        return make_part(self, i) if _is_stretch(self) else self.open_part(i)


def _graph_folder(folder: Directory) -> Directory:
    try:
        return Directory(Path(_GRAPH), inside=folder)
    except OSError as error:
        raise incomplete(folder.path, f"{_GRAPH} cannot be opened: {error.strerror}") from error


def _check_tables(path: Path, manifest: dict[str, Any], held: dict[str, Array], graph: Graph) -> None:
    """Owners are parts, and a grid is the one that its numbers of parts and vertices give."""
    for name, array in held.items():
        looks = [are_below(array, manifest["k"])] if name == "owner" else []
        check_array(path, name, manifest["arrays"][name], array, looks)
    if manifest["mode"] != "grid":
        return
    grid = split_by_grid(graph, manifest["k"])
    tables = {"bounds": grid.bounds, **{f"rule.{name}": getattr(grid.rule, name) for name in _TABLES}}
    fits = list(grid.shape or ()) == manifest["shape"]
    if not fits or not all(name in held and np.array_equal(table, held[name]) for name, table in tables.items()):
        raise incomplete(path, "the tables of the grid are not those of its parts and vertices")


def is_parts(path: str | os.PathLike[str]) -> bool:
    """Whether this looks like a folder of parts."""
    return os.path.isdir(os.path.join(path, _GRAPH))


def _manifest(folder: Directory) -> dict[str, Any]:
    """The manifest, every field of it there and of its type."""
    manifest = read_json(folder, FORMAT, VERSION, _WHAT, _HOW_TO_WRITE)
    kinds = {"how": str, "k": int, "mode": str, "limit": int, "notes": list, "duplicated": bool, "arrays": dict}
    wrong = [key for key, kind in kinds.items() if not isinstance(manifest.get(key), kind)]
    if not wrong:
        shape = manifest.get("shape")
        right = {
            "how": manifest["how"] in (*PARTITIONERS, "assignment", *extension_names("arcflux.partitioners")),
            "k": 1 <= manifest["k"] <= MOST_PARTS,
            "mode": manifest["mode"] in ("target", "source", "grid", "degree"),
            "limit": 0 <= manifest["limit"] < 1 << 64,
            "shape": shape is None if manifest["mode"] != "grid" else _is_shape(shape),
            "hierarchy": _is_hierarchy(manifest.get("hierarchy"), manifest["k"]),
            "notes": all(isinstance(note, str) for note in manifest["notes"]),
            **{f"arrays.{name}": is_entry(name, entry) for name, entry in manifest["arrays"].items()},
        }
        wrong = [key for key, fine in right.items() if not fine]
    if wrong:
        raise incomplete(folder.path, "the manifest lacks or mistypes " + ", ".join(wrong))
    check_manifest_sum(folder.path, manifest)
    return manifest


def _is_hierarchy(given: Any, k: int) -> bool:
    """Whether the tree that a manifest tells has `k` leaves; older folders tell of none."""
    if given is None:
        return True
    fits = isinstance(given, list) and len(given) == 2 and all(type(one) is int for one in given)
    return fits and given[0] >= 2 and 0 <= given[1] <= 31 and given[0] ** given[1] == k


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


def _open_part(folder: Directory, entries: dict[str, Any], parts: Parts, i: int, trust: bool) -> Part:
    """Map the arrays of one part."""
    graph = parts.graph
    names = [f"part{i}.{what}" for what in ("targets", "offsets", "sources", *_columns(graph))]
    try:
        arrays = [open_array(folder, name, entries[name]) for name in names]
    except KeyError as error:
        raise incomplete(folder.path, f"the manifest does not name {error}") from error
    except StoreError as error:
        if folder.is_replaced():
            raise StoreError(
                f"the folder was replaced since it was opened, and part {i} is gone", path=folder.path,
                remedy="load the parts again",
            ) from error  # fmt: skip
        raise
    targets, offsets, sources, *columns = arrays
    number = graph.out.neighbours.dtype
    fits = targets.dtype == sources.dtype == number and offsets.dtype == np.uint64
    fits = fits and len(offsets) == len(targets) + 1 and int(offsets[0]) == 0 and int(offsets[-1]) == len(sources)
    fits = fits and all(
        len(column) == len(sources) and column.dtype == graph.in_columns[name].dtype
        for name, column in zip(graph.columns, columns, strict=True)
    )
    if not fits:
        raise incomplete(folder.path, f"the arrays of part {i} contradict each other")
    if not trust:
        looks: list[list[Look]] = [
            [rise(targets, strictly=True), are_below(targets, graph.vertices)],
            [rise(offsets)],
            [are_below(sources, graph.vertices)],
            *([] for _ in columns),
        ]
        for name, array, wanted in zip(names, arrays, looks, strict=True):
            check_array(folder.path, name, entries[name], array, wanted)
        _check_targets(folder.path, parts, i, targets)
    named = dict(zip(graph.columns, columns, strict=True))
    arcs = Inward(targets, Adjacency(offsets, sources), named)
    return Part(i, graph, parts.owned(i), lambda: arcs, outward_of(parts, i), parts.duplicated)


def _check_targets(path: Path, parts: Parts, i: int, targets: Array) -> None:
    """The rows of a part are those of vertices that its arcs may end at."""
    if not parts.local_targets:
        return
    expected = candidates(parts, i)
    if parts.rule.mode == "target":
        fits = np.array_equal(targets, expected)
    else:
        fits = not len(targets) or (len(expected) > 0 and expected[0] <= targets[0] and targets[-1] <= expected[-1])
    if not fits:
        raise incomplete(path, f"part {i} has arcs to vertices to which it has none by its rule")


def _columns(graph: Graph) -> list[str]:
    return [f"column.{name}" for name in graph.columns]


@within_memory("verifying parts")
def verify(path: str | os.PathLike[str]) -> None:
    """Compute every checksum again, and check that each part has the arcs that it should; raises when it has not."""
    read_folder(Path(path), _WHAT, _HOW_TO_WRITE, _verify_in)


def _verify_in(folder: Directory) -> None:
    parts, entries, inner = _parts_in(folder, trust=False)
    store.verify_in(inner)
    store.check_bytes(folder.path, entries, {name: open_array(folder, name, entry) for name, entry in entries.items()})
    for i in range(parts.k):
        if not _same(parts.part(i), make_part(parts, i)):
            raise StoreError(
                f"part {i} does not have the arcs that the graph and its owners give it", path=folder.path,
                remedy="write the parts again with `arcflux partition`",
            )  # fmt: skip


def _same(one: Part, other: Part) -> bool:
    pairs = [(one.targets, other.targets), *zip(one.into, other.into, strict=True)]
    pairs += [(column, other.in_columns[name]) for name, column in one.in_columns.items()]
    return all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in pairs)

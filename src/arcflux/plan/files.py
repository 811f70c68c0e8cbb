"""The shape of a graph in a file, without loading it: from its header, its size, and a sample.

For a store and the GAP suite's files, the offsets are mapped and some of them read. Matrix Market, METIS and DIMACS
give the counts in their first line, Parquet in its last bytes. A text is sampled at several places: the length of lines
gives the number of edges, the ids that of vertices, repeated ids show hubs, and the distance of ends shows a mesh.
Packed text is unpacked for a few megabytes. The notes say what was guessed.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.plan.shape import Shape, from_description
from arcflux.plan.sketch import guessed_depth, sample_rows

__all__ = ["peek"]

Array = NDArray[Any]
_PIECES, _PIECE = 24, 1 << 15
_UNPACKED = 1 << 22
_PACKED = (".gz", ".bz2", ".zst")
_SKEWED, _NEAR = 16.0, 0.5
_ROWS = 2048
_HASH = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class _Sample:
    """Sampled edges of a file: their ends, the number of edges in all, and whether each is two arcs."""

    source: Array
    target: Array
    edges: float
    both_ways: bool
    vertices: int | None = None


def peek(path: Path) -> Shape | None:
    """The shape of the graph in a file, without loading it; None for formats that have to be loaded."""
    from arcflux.io import FORMATS
    from arcflux.io.loaded import existing

    if os.path.isdir(path):
        return _store(path)
    existing(path)
    suffixes = [suffix.lower() for suffix in path.suffixes]
    suffix = next((one for one in reversed(suffixes) if one not in _PACKED), "")
    readers: dict[str, Callable[[Path], Shape | None]] = {
        "text": _text, "gap": _gap, "matrix": _from_header, "metis": _from_header, "dimacs": _from_header
    }  # fmt: skip
    if suffix == ".parquet":
        return _parquet(path)
    reader = readers.get(FORMATS.get(suffix, ""))
    return reader(path) if reader is not None else None


def _store(path: Path) -> Shape:
    from arcflux.io.store import open_graph

    graph = open_graph(path, trust=True)  # safe on untrusted data: only NumPy reads it, with checked indices
    return _of_rows(graph.vertices, graph.arcs, graph.out.offsets, graph.out.neighbours, path.name)


def _gap(path: Path) -> Shape:
    from arcflux.io.gap import HEADER_BYTES, header_of

    wide = 2 if path.suffix.lower() == ".wsg" else 1
    with open(path, "rb") as file:
        _, arcs, vertices = header_of(file, path, wide == 2)
        offsets = np.memmap(file, np.int64, "r", HEADER_BYTES, (vertices + 1,))
        ends = np.memmap(file, np.int32, "r", HEADER_BYTES + offsets.nbytes, (arcs * wide,)) if arcs else np.zeros(1)
    return _of_rows(vertices, arcs, offsets, ends[::wide], path.name)


def _of_rows(vertices: int, arcs: int, offsets: Any, neighbours: Any, name: str) -> Shape:
    """The shape of a graph whose rows are available, from some rows: their length, and the span of an arc."""
    if not arcs:
        return Shape(name, vertices, 0, np.zeros(1), np.full(1, float(vertices)), 0.0)
    rows = np.arange(vertices) if vertices <= _ROWS else np.linspace(0, vertices - 1, _ROWS).astype(np.int64)
    degrees = np.asarray(offsets[rows + 1] - offsets[rows]).astype(np.float64).clip(0.0, arcs)
    with_arcs = degrees > 0
    if not with_arcs.any():
        degrees, with_arcs = np.full(len(rows), arcs / vertices), np.ones(len(rows), bool)
    first, lengths = offsets[rows[with_arcs]].astype(np.int64), degrees[with_arcs].astype(np.int64).clip(1)
    # An arc of the row chosen by a hash of the row: in a sorted row the middle ones are nearer than the others.
    chance = (rows[with_arcs].astype(np.uint64) * _HASH >> np.uint64(33)).astype(np.int64)
    ends = neighbours[(first + chance % lengths).clip(0, arcs - 1)].astype(np.int64)
    classes, counts = np.unique(degrees, return_counts=True)
    weights = counts.astype(np.float64) * (vertices / len(rows))
    sketch = sample_rows(vertices, arcs, offsets, neighbours)
    sums = _asking(classes, weights, np.abs(ends - rows[with_arcs]) / vertices)
    note = f"{name} was not loaded: this is from a sample of {len(rows):,} of its rows"
    return Shape(name, vertices, arcs, classes, weights, sketch.depth, asked=sums, notes=(note,), seen=sketch)


def _asking(degrees: Any, counts: Any, spans: Any) -> Callable[[int], tuple[int, int]]:
    """A function for the sums of INS and UDS of k ranges, from the spans of arcs as shares of all vertices.

    An arc of span s is cut by one of k - 1 cuts with a chance of (k - 1) s / (1 - s). With random ends that would be (k
    - 1) / k; the ratio is the share of a vertex's arcs taken to have random ends.
    """

    def asked(k: int) -> tuple[int, int]:
        if k == 1:
            return round(float(counts[degrees > 0].sum())), 0
        cut = float(np.minimum(1.0, (k - 1) * spans / np.maximum(1.0 - spans, 1e-9)).mean())
        far = min(1.0, cut * k / (k - 1))
        read = float((counts * -np.expm1(far * degrees * math.log1p(-1.0 / k))).sum())
        return round(float(counts[degrees > 0].sum()) + (k - 1) * read), round((k - 1) * read)

    return asked


def _from_header(path: Path) -> Shape | None:
    """Formats whose first line gives the counts; a sample of the following lines gives the kind of graph."""
    head, _ = _head(path)
    rows = head.decode("latin-1").split("\n")
    comment = {".gr": ("c",)}.get(_plain_suffix(path), ("%",))
    at = next((k for k, row in enumerate(rows) if row.strip() and not row.startswith(comment)), None)
    if at is None:
        return None
    words = rows[at].split()
    try:
        numbers = [int(word) for word in words if word.isdigit()]
    except ValueError:
        return None
    if len(numbers) < 2:
        return None
    kind = _plain_suffix(path)
    if kind == ".mtx":
        if len(numbers) < 3:
            return None
        vertices = numbers[0] if numbers[0] == numbers[1] else numbers[0] + numbers[1]
        both, edges = "symmetric" in rows[0].split() or "skew-symmetric" in rows[0].split(), numbers[2]
    else:
        vertices, edges = numbers[:2]
        both = kind != ".gr"
    if kind in (".graph", ".metis"):
        pairs = [(at + 1 + k, word) for k, row in enumerate(rows[at + 1 : -1]) for word in row.split()[:1]]
        ends = [(one - at, int(word)) for one, word in pairs if word.isdigit()]
    else:
        cut = [row.split()[1 if kind == ".gr" else 0 :][:2] for row in rows[at + 1 : -1]]
        ends = [(int(row[0]), int(row[1])) for row in cut if len(row) == 2 and row[0].isdigit() and row[1].isdigit()]
    source, target = np.array(ends or [(0, 0)], np.int64).T
    return _shape(path, _Sample(source, target, float(edges), both, vertices))


def _text(path: Path) -> Shape | None:
    """An edge list: lines from places all over the file, or from its start if it is packed."""
    from arcflux.io.text import ends_of

    head, whole = _head(path)
    pieces = [head]
    if path.suffix.lower() not in _PACKED and whole > len(head):
        with open(path, "rb") as file:
            for place in np.linspace(0, whole - _PIECE, _PIECES)[1:].astype(np.int64).tolist():
                file.seek(place)
                pieces.append(file.read(_PIECE).partition(b"\n")[2])
    complete = [head] if len(head) >= whole else [piece.rpartition(b"\n")[0] for piece in pieces]
    ends = ends_of(path, complete)
    if ends is None:
        return None
    source, target, both = ends
    size = sum(len(piece) + 1 for piece in complete)
    return _shape(path, _Sample(source, target, len(source) * whole / max(1, size), both))


def _parquet(path: Path) -> Shape | None:
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path)
    if file.metadata.num_columns < 2:
        return None
    batch = next(file.iter_batches(batch_size=_PIECE), None)
    if batch is None:
        return from_description(1, 0, "uniform", path.name)
    ends = [_codes(batch.column(k).to_numpy(zero_copy_only=False)) for k in (0, 1)]
    both = b'"directed": false' in (file.metadata.metadata or {}).get(b"arcflux", b"")
    return _shape(path, _Sample(ends[0], ends[1], float(file.metadata.num_rows), both))


def _codes(values: Array) -> Array:
    return values.astype(np.int64) if values.dtype.kind in "iu" else _hash(values)


def _hash(values: Array) -> Array:
    """Names hashed to numbers: equal names get equal numbers, in no order."""
    return np.array([hash(value) & ((1 << 62) - 1) for value in values.tolist()], np.int64)


def _head(path: Path) -> tuple[bytes, int]:
    """The first bytes of a text, and its estimated size; both unpacked."""
    from arcflux.io.scan import unpack

    size = os.path.getsize(path)
    with open(path, "rb") as raw:
        if path.suffix.lower() not in _PACKED:
            return raw.read(_PIECE if size > _PIECES * _PIECE else size), size
        with unpack(path, raw) as file:
            head = file.read(_UNPACKED)
            consumed = raw.tell()
    return head, len(head) if len(head) < _UNPACKED else round(size * len(head) / max(1, min(size, consumed)))


def _plain_suffix(path: Path) -> str:
    return next((one.lower() for one in reversed(path.suffixes) if one.lower() not in _PACKED), "")


def _shape(path: Path, sample: _Sample) -> Shape:
    """A shape that resembles the sample: a mesh, one with hubs, or neither."""
    notes = [f"{path.name} was not loaded: this is from a sample of {len(sample.source):,} of its edges"]
    both = np.concatenate([sample.source, sample.target])
    vertices = sample.vertices
    if vertices is None:
        vertices = _vertices(both, sample.edges)
        notes.append(f"about {vertices:,} vertices, by the ids that were seen")
    edges = round(sample.edges)
    arcs = 2 * edges if sample.both_ways else edges
    _, often = np.unique(both, return_counts=True)
    near = float((np.abs(sample.source - sample.target) <= vertices / 32).mean())
    mean = 2 * edges / max(1, vertices)
    share = len(both) / max(1, 2 * edges)  # the share of all ends that is in the sample
    top = float(often.max()) / max(share, 1e-9)
    if near > _NEAR and mean < 8 and top < _SKEWED * max(1.0, mean) * 4:
        shape, kind = from_description(vertices, arcs, "grid", path.name), "a mesh"
    elif often.max() > 4 and top > _SKEWED * max(1.0, mean):
        shape, kind = from_description(vertices, arcs, "powerlaw", path.name), "a graph with hubs"
    else:
        shape, kind = from_description(vertices, arcs, "uniform", path.name), "a graph without hubs"
    shape = replace(shape, vertices=vertices, arcs=arcs)
    if kind == "a mesh":
        shape = replace(shape, depth=guessed_depth(vertices, mean, 1.0, 1.0))
    return replace(shape, notes=(*notes, f"it is taken for {kind}"))


def _vertices(ends: Array, edges: float) -> int:
    """The number of vertices: up to the largest id if ids are dense; else estimated from how often ids repeat.

    A sample of n ends of which d are different fits V vertices when d = V (1 - exp(-n / V)).
    """
    largest = int(ends.max()) + 1
    if 0 < largest <= 4 * edges + 16:
        return max(1, largest)
    n, different = len(ends), len(np.unique(ends))
    if different >= n:
        return max(1, round(2 * edges))
    low, high = float(different), 1e15
    for _ in range(200):
        middle = math.sqrt(low * high)
        if middle * -math.expm1(-n / middle) < different:
            low = middle
        else:
            high = middle
    return max(1, min(round(low), round(2 * edges)))

"""The GAP Benchmark Suite's serialized graphs: .sg, and .wsg with weights. Adjacency, ready to use.

Little-endian, without padding::

    directed  bool                     1 byte
    arcs      int64                    of an undirected graph, each direction counts
    vertices  int64
    offsets   int64[vertices + 1]
    arc       int32 neighbour          .sg
              int32 neighbour, weight  .wsg
    offsets and arcs again, by target, when directed

The suite: https://github.com/sbeamer/gapbs (src/reader.h, src/writer.h). Arcs by target are not read: a graph makes
them from the others on first need, so they cannot contradict each other.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arcflux import trace
from arcflux.errors import FormatError, GraphError, WeightError
from arcflux.io.headed import note_numbering, one_column
from arcflux.io.loaded import existing, replacing
from arcflux.spmd.memory import empty

if TYPE_CHECKING:
    from arcflux.graph.core import Adjacency, Graph

__all__ = ["open_graph", "write"]

Array = NDArray[Any]

_HEADER = struct.Struct("<?qq")
HEADER_BYTES = _HEADER.size
_CHUNK = 1 << 22
_LIMIT = 1 << 31


def open_graph(path: Path) -> Graph:
    """The graph in a file, with ids 0 .. n-1.

    Examples
    --------
    >>> import tempfile
    >>> import arcflux as af
    >>> graph = af.Graph.from_edges([0, 1], [1, 2], directed=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(graph, Path(folder, "path.sg"))
    ...     open_graph(Path(folder, "path.sg")).equals(graph)
    True
    """
    from arcflux.graph.core import Adjacency, Graph, Origin

    existing(path)
    weighted = path.suffix.lower() == ".wsg"
    with open(path, "rb") as file, trace.task(f"read {path.name}", path.stat().st_size, "bytes") as task:
        directed, arcs, vertices = header_of(file, path, weighted)
        offsets = _offsets(file, path, vertices, arcs)
        neighbours, weight = _arcs(file, arcs, weighted, task)
    _check_range(path, neighbours, vertices)
    offsets, neighbours, columns = _sort_rows(offsets, neighbours, {"weight": weight} if weighted else {})
    loops = 0 if directed else _check_mirrored(path, offsets, neighbours, columns.get("weight"))
    return Graph(
        Adjacency(offsets, neighbours),
        directed=directed,
        columns=columns,
        loops=loops,
        origin=Origin(path.name, assumptions=("directed" if directed else "undirected", "parallel edges are kept")),
    )


def header_of(file: IO[bytes], path: Path, weighted: bool) -> tuple[bool, int, int]:
    """Whether directed, arcs, vertices; and the file is exactly as long as they say."""
    start = file.read(HEADER_BYTES)
    size = os.fstat(file.fileno()).st_size
    if len(start) < HEADER_BYTES or start[0] > 1:
        raise FormatError("this is no serialized GAP graph", path=path, expected="a header: directed, arcs, vertices")
    directed, arcs, vertices = _HEADER.unpack(start)
    if not 0 <= vertices < _LIMIT or arcs < 0:
        raise FormatError(
            f"the header says {vertices:,} vertices and {arcs:,} arcs", path=path, expected="up to 2^31 - 1 vertices"
        )
    wanted = HEADER_BYTES + (1 + directed) * (8 * (vertices + 1) + arcs * (8 if weighted else 4))
    if size != wanted:
        raise FormatError(
            f"the file has {size:,} bytes, and its header asks for {wanted:,}",
            path=path,
            expected=f"{vertices:,} vertices and {arcs:,} {'weighted ' * weighted}arcs",
            remedy="fetch it again: it is cut short, or a .wsg named .sg, or the other way round",
        )
    return directed, arcs, vertices


def _offsets(file: IO[bytes], path: Path, vertices: int, arcs: int) -> Array:
    offsets = empty(vertices + 1, np.int64)
    _fill(file, offsets)
    if offsets[0] != 0 or offsets[-1] != arcs or np.any(offsets[1:] < offsets[:-1]):
        raise FormatError(
            "the offsets do not cut the arcs into rows", path=path, expected=f"from 0 up to {arcs:,}, never down"
        )
    return offsets.view(np.uint64)


def _arcs(file: IO[bytes], arcs: int, weighted: bool, task: trace.Task) -> tuple[Array, Array]:
    """Neighbours and weights, in aligned memory: in the file they are not, behind a header of 17 bytes."""
    neighbours, weight = empty(arcs, np.int32), empty(arcs if weighted else 0, np.int32)
    for begin in range(0, arcs, _CHUNK):
        part = slice(begin, min(begin + _CHUNK, arcs))
        if weighted:
            pairs = np.empty((part.stop - begin, 2), np.int32)
            _fill(file, pairs)
            neighbours[part], weight[part] = pairs[:, 0], pairs[:, 1]
        else:
            _fill(file, neighbours[part])
        task.at(file.tell())
    return neighbours, weight


def _fill(file: IO[bytes], array: Array) -> None:
    """Read an array's bytes from where the file stands."""
    view = memoryview(array.view(np.uint8).data).cast("B") if array.size else memoryview(b"")
    done = 0
    while done < len(view):
        read = file.readinto(view[done:])  # type: ignore[attr-defined]
        if not read:
            raise FormatError("the file became shorter while it was read", path=file.name, remedy="load it again")
        done += read


def _check_range(path: Path, neighbours: Array, vertices: int) -> None:
    if len(neighbours) and not (neighbours.min() >= 0 and neighbours.max() < vertices):
        at = int(np.argmax((neighbours < 0) | (neighbours >= vertices)))
        raise FormatError(
            f"arc {at:,} ends at vertex {neighbours[at]:,}", path=path, expected=f"a vertex from 0 to {vertices - 1:,}"
        )


def _sort_rows(
    offsets: Array, neighbours: Array, columns: Mapping[str, Array]
) -> tuple[Array, Array, dict[str, Array]]:
    """The rows with their neighbours in order. Grouping by target and then by source again sorts them."""
    from arcflux.graph.build import gather, reverse

    neighbours = neighbours.view(np.uint32)
    falls = np.flatnonzero(neighbours[1:] < neighbours[:-1]) + 1
    starts = np.zeros(len(neighbours) + 1, np.bool_)
    starts[offsets] = True
    if starts[falls].all():
        return offsets, neighbours, dict(columns)
    carry = bool(columns)
    offsets, neighbours, there = reverse(offsets, neighbours, carry)
    offsets, neighbours, back = reverse(offsets, neighbours, carry)
    if there is not None and back is not None:
        columns = {name: gather(gather(column, there), back) for name, column in columns.items()}
    return offsets, neighbours, dict(columns)


def _check_mirrored(path: Path, offsets: Array, neighbours: Array, weight: Array | None) -> int:
    """Refuse an undirected graph that lacks one direction of an edge; returns its self-loops."""
    from arcflux.graph import Adjacency
    from arcflux.io.inspect import sum_of_arcs

    balance, loops = sum_of_arcs(Adjacency(offsets, neighbours), weight, both=True)
    if balance:
        raise FormatError(
            "the file says undirected, and some edge is there in one direction only",
            path=path,
            expected="both directions of every edge, with the same weight",
            remedy="convert the graph again, with gapbs' converter -s",
        )
    return loops


def write(graph: Graph, path: Path) -> None:
    """Write a graph; .wsg needs integer weights of 32 bits, .sg leaves columns out."""
    if graph.vertices >= _LIMIT:
        raise GraphError(f"{graph.vertices:,} vertices", expected="fewer than 2^31 for a .sg or .wsg file")
    note_numbering(graph, base=0)
    weighted = path.suffix.lower() == ".wsg"
    if weighted:
        _check_weights(one_column(graph))
    elif graph.columns:
        trace.note(f"a .sg file has no weights: {', '.join(graph.columns)} left out")
    with replacing(path) as work, open(work, "wb") as file:
        file.write(_HEADER.pack(graph.directed, graph.arcs, graph.vertices))
        _write_rows(file, graph.out, graph.columns if weighted else {})
        if graph.directed:
            _write_rows(file, graph.into, graph.in_columns if weighted else {})


def _check_weights(weight: Array | None) -> None:
    if weight is None:
        raise WeightError("the graph has no weights, and a .wsg file needs them", remedy="save it as .sg")
    fits = weight.dtype.kind != "f" and (not len(weight) or -_LIMIT <= int(weight.min()) <= int(weight.max()) < _LIMIT)
    if not fits:
        raise WeightError(
            f"the weights are {weight.dtype}",
            expected="integers of 32 bits, as .wsg has them",
            remedy="save it as .wel, .mtx or a store, or scale and round the weights first",
        )


def _write_rows(file: IO[bytes], rows: Adjacency, columns: Mapping[str, Array]) -> None:
    """Offsets and arcs; with columns, the weight behind each neighbour."""
    file.write(rows.offsets.astype("<i8").data)
    weight = columns.get("weight", next(iter(columns.values()), None))
    for begin in range(0, len(rows.neighbours), _CHUNK):
        part = slice(begin, begin + _CHUNK)
        arcs = rows.neighbours[part].astype("<i4")
        if weight is not None:
            arcs = np.stack([arcs, weight[part].astype("<i4")], axis=1)
        file.write(arcs.data)

"""METIS graph files (.graph, .metis): one line of neighbours for each vertex, every edge listed from both its ends.

A header ``vertices edges [format [weights]]``, then the line of vertex 1, of vertex 2, and so on::

    % three vertices, two edges with weights
    3 2 001
    2 7
    1 7 3 4
    2 4

The format has three digits: vertex sizes, vertex weights (the header's fourth number says how many), edge weights.
There are no self-loops. The manual: https://github.com/KarypisLab/METIS (manual/manual.pdf, section 4.1.1)
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arcflux.errors import FormatError, GraphError, WeightError
from arcflux.graph.edges import Edges
from arcflux.io import scan
from arcflux.io.headed import Header, describe_weights, note_numbering, one_column
from arcflux.io.loaded import Loaded, replacing
from arcflux.spmd.memory import empty, frozen
from arcflux.spmd.pool import run

if TYPE_CHECKING:
    from arcflux.graph import Graph

__all__ = ["read", "write"]

Array = NDArray[Any]

_HEADER = "vertices edges [format [weights]], such as `7 11` or `7 11 011 2`"
# Every line behind the header that is no comment belongs to a vertex, be it empty.
_VERTEX = re.compile(rb"^(?![ \t\r]*%)", re.MULTILINE)
_PARTS = 256
_PIECE = 1 << 22


def read(path: Path, *, threads: int | None = None) -> Loaded:
    """The undirected graph of a METIS file, its vertices 1 .. n.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "path.graph")
    ...     _ = path.write_text("3 2 1\\n2 7\\n1 7 3 4\\n2 4\\n")
    ...     loaded = read(path)
    >>> loaded.vertices, loaded.edges.columns["weight"][loaded.edges.places()].tolist()
    (range(1, 4), [7, 4])
    """
    header = Header.find(scan.text(path), b"%", path, _HEADER)
    vertices, count, skip, weighted = _sizes(header)
    values, offsets = scan.numbers(header.body, path=path, first_line=header.line + 1, threads=threads)
    offsets = _lines(header, offsets, vertices)
    edges, balance = _edges(header, values, offsets, skip, weighted, threads)
    arcs = (len(values) - skip * vertices) // (2 if weighted else 1)
    if balance:
        raise _one_sided(header, values, offsets, skip, weighted)
    if arcs != 2 * count:
        raise header.error(
            f"the header promises {count:,} edges, and the lines list {arcs:,} neighbours",
            expected=f"{2 * count:,} neighbours, since each edge is listed from both its ends",
        )
    said = ["undirected", describe_weights(edges), "parallel edges are kept"]
    if skip:
        said.append("vertex sizes and vertex weights are left out")
    return Loaded(edges, False, header.vertices(vertices), said)


def _sizes(header: Header) -> tuple[int, int, int, bool]:
    """Vertices, edges, numbers to skip at the start of each line, and whether edges have weights."""
    words = header.words
    if not 2 <= len(words) <= 4:
        raise header.error(f"the header has {len(words)} words", expected=_HEADER)
    vertices, count, *rest = header.counts(words, _HEADER)
    code = words[2] if rest else "0"
    if re.fullmatch("[01]{1,3}", code) is None:
        raise header.error(
            f"the weight format is {code!r}",
            expected="up to three digits, each 0 or 1: vertex sizes, vertex weights, edge weights",
        )
    sizes, weights, weighted = (digit == "1" for digit in code.zfill(3))
    several = rest[1] if len(rest) > 1 else 1
    if len(rest) > 1 and not (weights and several):
        raise header.error(
            f"the header says {several} weights a vertex, and the format {code!r} has {'some' if weights else 'none'}",
            expected="a fourth number from 1 on, and only with vertex weights",
        )
    return vertices, count, sizes + several * weights, weighted


def _lines(header: Header, offsets: Array, vertices: int) -> Array:
    """The offsets of the vertices' lines: exactly one each, but empty lines may follow."""
    lines = len(offsets) - 1
    if lines < vertices:
        raise header.error(
            f"the header promises {vertices:,} vertices, and {lines:,} lines follow",
            expected="a line for each vertex, an empty one where it has no neighbours",
        )
    if offsets[vertices] != offsets[-1]:
        extra = int(np.searchsorted(offsets, offsets[vertices], side="right")) - 1
        raise header.error(
            f"the header promises {vertices:,} vertices, and more lines follow",
            line=header.line_of(extra, _VERTEX),
            expected="a line for each vertex",
        )
    return offsets[: vertices + 1]


def _edges(
    header: Header, values: Array, offsets: Array, skip: int, weighted: bool, threads: int | None
) -> tuple[Edges, int]:
    """Each edge once, and the balance of the arcs (metis_kernels.py): 0 when each has its mirror image."""
    from arcflux.io import metis_kernels as kernels

    vertices = len(offsets) - 1
    kind = np.uint32 if vertices < 1 << 32 else np.int64
    places = len(values) // (2 if weighted else 1)
    source, target = empty(places, kind), empty(places, kind)
    weight = empty(places, np.int64) if weighted else None
    bounds = np.linspace(0, vertices, min(_PARTS, vertices) + 1).astype(np.uint64)
    parts = len(bounds) - 1
    counts, balance = np.zeros(parts, np.uint64), np.zeros(parts, np.uint64)
    wrong, where = np.zeros(parts, np.int64), np.zeros(parts, np.int64)
    run(
        kernels.edges, parts, frozen(values), frozen(offsets), bounds, np.uint64(skip), source, target, weight, counts,
        balance, wrong, where, threads=threads,
    )  # fmt: skip
    if wrong.any():
        part = int(np.argmax(wrong != kernels.FINE))
        line = int(where[part])
        what, expected = {
            kernels.SHORT: (f"vertex {line + 1} has too few numbers", f"{skip} sizes and weights, then its neighbours"),
            kernels.ODD: (f"vertex {line + 1} has a neighbour without a weight", "pairs of neighbour and weight"),
            kernels.RANGE: (f"a neighbour of vertex {line + 1} is out of range", f"1 to {vertices}"),
            kernels.LOOP: (f"vertex {line + 1} is its own neighbour", "no self-loops: METIS has none"),
        }[int(wrong[part])]
        raise header.error(what, line=header.line_of(line, _VERTEX), expected=expected)
    starts = offsets[bounds[:-1]] // np.uint64(2 if weighted else 1)
    columns = {"weight": weight} if weight is not None else {}
    return Edges(source, target, columns, starts, counts, ours=True), int(balance.sum())


def _one_sided(header: Header, values: Array, offsets: Array, skip: int, weighted: bool) -> FormatError:
    """The error for the first arc without its mirror image: found the slow way, since a file is rarely wrong."""
    vertex = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets).astype(np.int64))
    inside = np.arange(len(values)) - offsets[vertex].astype(np.int64) - skip
    heads = np.flatnonzero((inside >= 0) & (inside % (2 if weighted else 1) == 0))
    u, v = vertex[heads] + 1, values[heads]
    weight = values[heads + 1] if weighted else np.zeros_like(v)
    arcs = np.stack([np.minimum(u, v), np.maximum(u, v), weight], axis=1)
    _, pair = np.unique(arcs, axis=0, return_inverse=True)
    pair = pair.ravel()
    surplus = np.bincount(pair, np.where(u < v, 1, -1))[pair]
    first = int(np.argmax(surplus != 0))
    if surplus[first] * (v[first] - u[first]) < 0:  # it is the other direction that is there too often
        first = int(np.argmax((pair == pair[first]) & (u != u[first])))
    same = f" with the weight {weight[first]}" if weighted else ""
    return header.error(
        f"vertex {u[first]} lists {v[first]}{same}, and vertex {v[first]} does not list {u[first]}{same}",
        line=header.line_of(int(u[first]) - 1, _VERTEX),
        expected="every edge listed from both its ends",
    )


def write(graph: Graph, path: Path) -> None:
    """Write an undirected graph without self-loops and parallel edges; weights are integers."""
    _check_simple(graph)
    note_numbering(graph, base=1)
    weight = one_column(graph)
    if weight is not None and weight.dtype.kind == "f":
        raise WeightError(
            f"the weights are {weight.dtype}, and METIS has integer weights only",
            remedy="save as .mtx, which has real ones, or round them first",
        )
    with replacing(path) as work:
        _write_lines(graph, weight, work)


def _check_simple(graph: Graph) -> None:
    """Refuse what the format cannot say."""
    source, target, _ = graph.edge_numbers()
    if graph.directed:
        trouble, remedy = "the graph is directed", "load it with symmetrise=True"
    elif np.any(source == target):
        trouble, remedy = "the graph has self-loops", "load it with drop_self_loops=True"
    elif _has_repeats(source, target, graph.sorted):
        trouble, remedy = "the graph has parallel edges", "load it with deduplicate='sum'"
    else:
        return
    raise GraphError(f"{trouble}, which a METIS file cannot say", remedy=remedy + ", or save it as .mtx")


def _has_repeats(source: Array, target: Array, in_order: bool) -> bool:
    if not in_order:
        order = np.lexsort((target, source))
        source, target = source[order], target[order]
    return bool(np.any((source[1:] == source[:-1]) & (target[1:] == target[:-1])))


def _write_lines(graph: Graph, weight: Array | None, work: Path) -> None:
    """Some lines at a time: as many as have a few million numbers."""
    import pyarrow as pa

    offsets, neighbours = graph.out
    with pa.output_stream(str(work), compression="detect") as out:
        out.write(f"{graph.vertices} {graph.edges}{'' if weight is None else ' 001'}\n".encode())
        begin = 0
        while begin < graph.vertices:
            reach = int(np.searchsorted(offsets, offsets[begin] + np.uint64(_PIECE), side="right")) - 1
            end = min(max(begin + 1, reach), begin + _PIECE)
            rows = offsets[begin : end + 1].astype(np.int64)
            inside = slice(rows[0], rows[-1])
            numbers, ends = neighbours[inside].astype(np.int64) + 1, rows - rows[0]
            if weight is not None:
                numbers, ends = np.stack([numbers, weight[inside].astype(np.int64)], axis=1).ravel(), 2 * ends
            out.write(_lines_of(numbers, ends))
            begin = end


def _lines_of(numbers: Array, ends: Array) -> Any:
    """The text of lines, of which line k has the numbers ends[k] to ends[k + 1]."""
    import pyarrow as pa
    import pyarrow.compute as pc

    words = pa.array(numbers).cast(pa.string())
    lines = pc.binary_join(pa.ListArray.from_arrays(pa.array(ends, pa.int32()), words), " ")
    whole = pc.binary_join(pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines), "\n")
    return whole[0].as_py().encode() + b"\n"

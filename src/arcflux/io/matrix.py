"""Matrix Market coordinate files (.mtx): the entry (i, j) of a matrix is an edge from vertex i to vertex j.

A banner, comments, a size line, and one entry a line, counted from 1::

    %%MatrixMarket matrix coordinate real general
    % any comment
    3 3 2
    1 2 0.5
    3 1 1.5

A symmetric matrix is an undirected graph. A skew-symmetric one is directed, with the arc back and its negated value
written out. A rectangular one is bipartite: rows are the vertices 1 .. r, columns the vertices r+1 .. r+c.
The format: https://math.nist.gov/MatrixMarket/formats.html
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arcflux.errors import FormatError
from arcflux.graph.edges import Edges
from arcflux.io import scan
from arcflux.io.headed import Header, counted_edges, describe_weights, note_numbering, one_column, write_rows
from arcflux.io.loaded import Loaded

if TYPE_CHECKING:
    from arcflux.graph import Graph

__all__ = ["read", "write"]

Array = NDArray[Any]

_BANNER = "%%MatrixMarket matrix coordinate real|integer|pattern general|symmetric|skew-symmetric"
_FIELDS = ("real", "double", "integer", "pattern")
_SYMMETRIES = ("general", "symmetric", "skew-symmetric")


def read(path: Path, *, threads: int | None = None) -> Loaded:
    """The graph of a matrix.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "two.mtx")
    ...     _ = path.write_text("%%MatrixMarket matrix coordinate pattern symmetric\\n3 3 2\\n2 1\\n3 2\\n")
    ...     loaded = read(path)
    >>> loaded.directed, loaded.vertices, loaded.edges.source.tolist()
    (False, range(1, 4), [2, 3])
    """
    data = scan.text(path)
    field, symmetry = _banner(data, path)
    header = Header.find(data, b"%", path, "a line of `rows columns entries`")
    if len(header.words) != 3:
        raise header.error(f"the size line has {len(header.words)} words", expected="rows columns entries")
    rows, columns, entries = header.counts(header.words, "rows columns entries, as whole numbers")
    if rows != columns and symmetry != "general":
        raise header.error(f"a {symmetry} matrix of {rows} rows and {columns} columns", expected="as many of each")
    vertices = header.vertices(rows if rows == columns else rows + columns)
    edges = counted_edges(header, entries, (rows, columns), 2 if field == "pattern" else 3, threads=threads)
    if field != "pattern":
        _set_type(edges, field, header)
    said = ["directed: an entry (i, j) is an edge from i to j"]
    if symmetry == "symmetric":
        said = ["undirected: the matrix is symmetric"]
    elif symmetry == "skew-symmetric":
        edges = _both_ways(edges, header)
        said = ["directed: the matrix is skew-symmetric, each entry is also an edge back with the negated value"]
    elif rows != columns:
        edges.target = edges.target.astype(np.int64) + rows
        said.append(f"rectangular: rows are vertices 1 to {rows}, columns {rows + 1} to {rows + columns}")
    said += [describe_weights(edges), "parallel edges are kept"]
    return Loaded(edges, symmetry != "symmetric", vertices, said)


def _banner(data: Array, path: Path) -> tuple[str, str]:
    """Field and symmetry, as the first line says."""
    words = bytes(data[:200]).split(b"\n", 1)[0].decode("latin-1").lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        raise FormatError("the first line is no Matrix Market banner", path=path, line=1, expected=_BANNER)
    layout, field, symmetry = words[2:]
    signed = field != "pattern" or symmetry != "skew-symmetric"
    if layout == "coordinate" and field in _FIELDS and symmetry in _SYMMETRIES and signed:
        return field, symmetry
    raise FormatError(
        f"a matrix that is {layout} {field} {symmetry} is not read as a graph",
        path=path,
        line=1,
        expected=_BANNER,
        remedy="arcflux.load(scipy.sparse.coo_array(scipy.io.mmread(path)))" if layout == "array" else "",
    )


def _set_type(edges: Edges, field: str, header: Header) -> None:
    """Give the weights the type of the matrix, whatever the values happen to look like."""
    weight = edges.columns["weight"]
    if field != "integer":
        edges.columns["weight"] = weight.astype(np.float64)
    elif weight.dtype.kind == "f":
        fraction = re.compile(
            rb"^[ \t\r]*[^ \t\r\n%]\S*[ \t]+\S+[ \t]+(?![ \t]|[-+]?[0-9]{1,19}[ \t\r]*$)", re.MULTILINE
        )
        raise header.error(
            "a value of an integer matrix is no 64-bit integer",
            line=header.line_of(0, fraction),
            remedy="say real instead of integer in the first line",
        )


def _both_ways(edges: Edges, header: Header) -> Edges:
    """The entries of a skew-symmetric matrix, and those that they imply."""
    place = edges.places()
    source, target, weight = edges.source[place], edges.target[place], edges.columns["weight"][place]
    loops = source == target
    if loops.any():
        raise header.error(
            "a skew-symmetric matrix has an entry on its diagonal, where every value is zero",
            line=header.line_of(int(np.argmax(loops))),
        )
    if weight.dtype == np.int32:
        weight = weight.astype(np.int64)  # -(-2**31) needs more than 32 bits
    both = np.concatenate([source, target]), np.concatenate([target, source])
    return Edges(*both, {"weight": np.concatenate([weight, -weight])})


def write(graph: Graph, path: Path) -> None:
    """Write the matrix of a graph: general, or the lower triangle of a symmetric one when undirected."""
    weight = one_column(graph)
    note_numbering(graph, base=1)
    source, target, place = graph.edge_numbers()
    rows, columns = (source, target) if graph.directed else (target, source)
    entries = [rows.astype(np.int64) + 1, columns.astype(np.int64) + 1]
    field = "pattern"
    if weight is not None:
        field = "real" if weight.dtype.kind == "f" else "integer"
        entries.append(weight[place])
    symmetry = "general" if graph.directed else "symmetric"
    head = f"%%MatrixMarket matrix coordinate {field} {symmetry}\n{graph.vertices} {graph.vertices} {graph.edges}\n"
    write_rows(path, head, entries)

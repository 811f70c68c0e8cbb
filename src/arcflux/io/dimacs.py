"""DIMACS shortest-path files (.gr): comments ``c``, a problem line ``p sp vertices arcs``, arcs ``a from to weight``.

The format of the 9th DIMACS challenge: http://www.diag.uniroma1.it/challenge9/format.shtml
Vertices are 1 .. n and arcs are directed; road networks list both directions.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from arcflux import trace
from arcflux.errors import WeightError
from arcflux.io import scan
from arcflux.io.headed import Header, counted_edges, describe_weights, note_numbering, one_column, write_rows
from arcflux.io.loaded import Loaded

if TYPE_CHECKING:
    from arcflux.graph import Graph

__all__ = ["read", "write"]

_HEADER = "p sp vertices arcs"


def read(path: Path, *, threads: int | None = None) -> Loaded:
    """The directed graph of a DIMACS file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "road.gr")
    ...     _ = path.write_text("c two arcs\\np sp 3 2\\na 1 2 803\\na 2 3 158\\n")
    ...     loaded = read(path)
    >>> loaded.directed, loaded.vertices, loaded.edges.columns["weight"].tolist()
    (True, range(1, 4), [803, 158])
    """
    header = Header.find(scan.text(path), b"c", path, _HEADER)
    if len(header.words) != 4 or header.words[:2] != ["p", "sp"]:
        raise header.error(
            f"the problem line is {' '.join(header.words)[:60]!r}",
            expected=_HEADER,
            remedy="only shortest-path files are read; other DIMACS problems have other lines",
        )
    vertices, arcs = header.counts(header.words[2:], _HEADER)
    ids = header.vertices(vertices)
    edges = counted_edges(header, arcs, (vertices, vertices), 3, b"a", threads)
    return Loaded(edges, True, ids, ["directed: a line is one arc", describe_weights(edges), "parallel edges are kept"])


def write(graph: Graph, path: Path) -> None:
    """Write the arcs of a graph; an undirected edge is two. The format wants an integer weight on each."""
    import pyarrow as pa

    note_numbering(graph, base=1)
    weight = one_column(graph)
    if weight is None:
        trace.note("the graph has no weights, and the format needs them: every arc gets 1")
        weight = np.ones(graph.arcs, np.int32)
    if weight.dtype.kind == "f":
        raise WeightError(
            f"the weights are {weight.dtype}, and DIMACS arcs have integer lengths",
            remedy="save as .wel or .mtx, or scale and round the weights first",
        )
    if not graph.directed:
        trace.note("the format is directed: each edge is written as two arcs")
    source = np.repeat(np.arange(1, graph.vertices + 1), graph.out_degrees.astype(np.int64))
    target = graph.out.neighbours.astype(np.int64) + 1
    letter = pa.repeat(pa.scalar("a"), graph.arcs)
    write_rows(path, f"p sp {graph.vertices} {graph.arcs}\n", [letter, source, target, weight])

"""In and out: :func:`load` any graph, :func:`save` it in any format; the suffix decides, or the type of the object.

One file per format: text.py (edge lists), matrix.py (Matrix Market), metis.py, dimacs.py, ldbc.py (Graphalytics), gap.py
(the GAP suite's binaries), tables.py (Arrow, Parquet, data frames), objects.py (scipy, NetworkX, igraph), store.py
(Arcflux's own folder). scan.py holds the parallel parser that the text formats share.
"""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arcflux import trace
from arcflux.errors import FormatError, UsageError
from arcflux.graph.edges import Options

if TYPE_CHECKING:
    from arcflux.graph import Graph
    from arcflux.io.loaded import Loaded

__all__ = ["FORMATS", "load", "save"]

# suffix -> module of this folder; the longest suffix that fits wins.
FORMATS = {
    **dict.fromkeys((".el", ".wel", ".txt", ".tsv", ".csv", ".edges", ".edgelist"), "text"),
    ".mtx": "matrix",
    ".graph": "metis",
    ".metis": "metis",
    ".gr": "dimacs",
    **dict.fromkeys((".e", ".v", ".properties"), "ldbc"),
    **dict.fromkeys((".sg", ".wsg"), "gap"),
    **dict.fromkeys((".parquet", ".feather", ".arrow"), "tables"),
    ".arcflux": "store",
}
PACKED = (".gz", ".bz2", ".zst")


def load(
    source: Any,
    *,
    directed: bool | None = None,
    symmetrise: bool = False,
    deduplicate: str | None = None,
    drop_self_loops: bool = False,
    sort: bool = True,
    vertices: Any = None,
    threads: int | None = None,
    **reading: Any,
) -> Graph:
    """Load a graph from a file, a generator spec, or an object of another library.

    Parameters
    ----------
    source
        A path (the suffix names the format), a spec such as ``"kron:20"``, a Graph (returned as it is), or an object:
        scipy.sparse, NetworkX, igraph, pandas, polars, anything with ``__arrow_c_stream__``, an edge array of shape
        (edges, 2 or 3), or a pair of arrays.
    directed, symmetrise, deduplicate, drop_self_loops, sort, vertices, threads
        As in :meth:`arcflux.Graph.from_edges`; `directed` is what the source says when it is None.
    **reading
        Options of the format, such as ``delimiter=";"`` or ``weights=False`` for text; docs/reference/formats.md.

    What had to be assumed is in the graph's `assumptions`, and is told to whoever listens to :mod:`arcflux.trace`.

    Examples
    --------
    >>> import arcflux as af
    >>> import numpy as np
    >>> af.load(np.array([[0, 1], [1, 2]]), directed=False).edges
    2
    """
    from arcflux.graph import Graph

    if isinstance(source, Graph):
        return source
    if isinstance(source, (str, os.PathLike)):
        text = os.fspath(source)
        path = Path(text)
        if not path.exists():
            from arcflux import generate

            if generate.is_spec(text):
                return generate.from_spec(text, threads=threads)
        module = _format(path)
        if hasattr(module, "open_graph"):
            graph: Graph = module.open_graph(path, **reading)
            _refuse_build_options(directed, symmetrise, deduplicate, drop_self_loops, vertices)
            return graph
        loaded: Loaded = module.read(path, threads=threads, **reading)
        name = path.name
    else:
        from arcflux.io.objects import read_object

        loaded, name = read_object(source, **reading), type(source).__name__
    directed_source = loaded.directed if directed is None else directed
    options = Options(directed_source and not symmetrise, deduplicate, drop_self_loops, sort, threads)
    for said in loaded.assumptions:
        trace.note(f"{name}: {said}")
    return Graph.assemble(
        loaded.edges,
        options,
        vertices=loaded.vertices if vertices is None else vertices,
        symmetrised=symmetrise and directed_source,
        name=name,
        assumptions=tuple(loaded.assumptions),
    )


def save(graph: Graph, target: str | os.PathLike[str], **writing: Any) -> None:
    """Write `graph` in the format that the suffix of `target` names; a name without one is a store folder.

    The file appears under its name only when it is complete. A suffix .gz, .bz2 or .zst packs a text format.
    """
    path = Path(target)
    module = _format(path, writing=True)
    with trace.task(f"write {path.name}"):
        module.write(graph, path, **writing)


def _format(path: Path, writing: bool = False) -> Any:
    """The module for a path: by what is there, then by suffix."""
    if path.is_dir() or (writing and not path.suffix):
        return import_module("arcflux.io.store")
    suffixes = [s.lower() for s in path.suffixes]
    suffix = next((s for s in reversed(suffixes) if s not in PACKED), "")
    if suffix not in FORMATS:
        if not writing and not path.exists():
            raise FormatError(
                "no such file, folder or generator",
                path=path,
                expected="a path that exists, or a spec such as kron:20 or grid:1024x1024",
                remedy="arcflux generate --help lists the generators",
            )
        raise FormatError(
            f"the suffix {suffix or '(none)'} names no format",
            path=path,
            expected=", ".join(FORMATS),
            remedy="rename the file, or pass a .txt edge list",
        )
    module = import_module(f"arcflux.io.{FORMATS[suffix]}")
    if writing and not hasattr(module, "write"):
        raise FormatError(f"{suffix} can be read but not written", path=path, expected="another suffix")
    return module


def _refuse_build_options(*given: Any) -> None:
    if any(option not in (None, False) for option in given):
        raise UsageError(
            "a store is a finished graph; directed, symmetrise, deduplicate, drop_self_loops and vertices cannot change it",
            remedy="load the original source with these options, then save it",
        )

"""LDBC Graphalytics graphs: NAME.v lists the vertices, NAME.e the edges, NAME.properties says what they are.

One id a line in NAME.v; ``source target [weight]`` in NAME.e, separated by blanks or ``|``; any int64 is an id, and an
undirected edge is listed once. Any of the three names the graph; without NAME.properties the rest is assumed.
The format: https://ldbcouncil.org/benchmarks/graphalytics/ (section 2.2.1 of the specification)
"""

from __future__ import annotations

import os
import re
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arcflux.errors import FormatError
from arcflux.graph.edges import Edges
from arcflux.io import scan
from arcflux.io.headed import describe_weights, note_numbering, one_column, write_rows
from arcflux.io.loaded import Loaded, replacing

if TYPE_CHECKING:
    from arcflux.graph import Graph

__all__ = ["read", "write"]

Array = NDArray[Any]


@dataclass
class _Properties:
    """What NAME.properties says, or None where it says nothing."""

    path: Path
    vertex_file: Path
    edge_file: Path
    directed: bool | None = None
    weight_type: str | None = None
    vertices: int | None = None
    edges: int | None = None


def read(path: Path, *, threads: int | None = None) -> Loaded:
    """The graph of a .v and an .e file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "pair.v").write_text("10\\n20\\n30\\n")
    ...     _ = Path(folder, "pair.e").write_text("10 30 0.5\\n")
    ...     loaded = read(Path(folder, "pair.e"))
    >>> loaded.vertices.tolist(), loaded.edges.columns["weight"].tolist()
    ([10, 20, 30], [0.5])
    """
    _existing_file(path, "this name")
    beside = path.with_suffix(".properties")
    stated = path.suffix == ".properties" or os.path.exists(beside)
    said = _properties(beside) if stated else _Properties(beside, path.with_suffix(".v"), path.with_suffix(".e"))
    vertices = _vertices(said, threads)
    edges = _edges(said, stated, threads)
    for what, found, promised in (("vertices", len(vertices), said.vertices), ("edges", len(edges), said.edges)):
        if promised is not None and promised != found:
            raise FormatError(
                f"the properties promise {promised:,} {what}, and there are {found:,}",
                path=said.path,
                remedy="the files may be cut short, or belong to another graph",
            )
    kind = "undirected" if said.directed is False else "directed"
    if said.directed is None:
        kind = "directed: no .properties file says otherwise (directed=False reads both)"
    assumed = [kind, describe_weights(edges), "parallel edges are kept"]
    return Loaded(edges, said.directed is not False, vertices, assumed)


def _properties(path: Path) -> _Properties:
    """Read ``graph.NAME.key = value`` lines; keys that say nothing about reading are skipped."""
    found: dict[str, tuple[str, int]] = {}
    for number, line in enumerate(bytes(scan.text(path)).decode("utf-8", "replace").splitlines(), 1):
        match = re.fullmatch(
            r"\s*graph\.(?:.*\.)?(directed|vertex-file|edge-file|(?:meta|edge-properties)\.\w+)\s*[=:](.*)", line
        )
        if match:
            found[match[1]] = match[2].strip(), number
    said = _Properties(
        path, _beside(path, *found.get("vertex-file", (path.stem + ".v", 0))),
        _beside(path, *found.get("edge-file", (path.stem + ".e", 0))),
    )  # fmt: skip
    if "directed" in found:
        said.directed = _one_of(path, *found["directed"], ("true", "false")) == "true"
    for key in ("vertices", "edges"):
        if f"meta.{key}" in found:
            setattr(said, key, _count(path, *found[f"meta.{key}"]))
    names, line_number = found.get("edge-properties.names", ("", 0))
    if "," in names:
        raise FormatError(
            f"edges have the properties {names}", path=path, line=line_number, expected="at most one, the weight"
        )
    if names:
        types = found.get("edge-properties.types", ("real", 0))
        said.weight_type = _one_of(path, *types, ("real", "integer", "int"))
    return said


def _beside(path: Path, name: str, line: int) -> Path:
    """A file that the properties name. It lies beside them: a downloaded file must not reach into other folders."""
    if Path(name).name != name or "\0" in name:
        raise FormatError(f"the file is {name!r}", path=path, line=line, expected="a name in the same folder")
    return path.with_name(name)


def _one_of(path: Path, value: str, line: int, choices: tuple[str, ...]) -> str:
    if value.lower() not in choices:
        raise FormatError(f"the value is {value!r}", path=path, line=line, expected=" or ".join(choices))
    return value.lower()


def _count(path: Path, value: str, line: int) -> int:
    if re.fullmatch("[0-9]{1,18}", value) is None:
        raise FormatError(f"the value is {value!r}", path=path, line=line, expected="a whole number")
    return int(value)


def _existing_file(path: Path, what: str) -> Path:
    if not os.path.exists(path):
        raise FormatError(
            f"there is no file of {what}",
            path=path,
            expected="NAME.v, a vertex id a line, and NAME.e, an edge a line, side by side",
            remedy="fetch it from where the other file came from, or rename a lone list of edges to .txt and load that",
        )
    return path


def _vertices(said: _Properties, threads: int | None) -> Array:
    """The ids of NAME.v, sorted: one a line, each once."""
    path = _existing_file(said.vertex_file, "vertices")
    if not path.stat().st_size:
        return np.empty(0, np.int64)
    values, offsets = scan.numbers(scan.text(path), path=path, comments=b"", threads=threads)
    several = np.flatnonzero(np.diff(offsets) > 1)
    if len(several):
        line = int(several[0]) + 1
        raise FormatError("more than one number on a line", path=path, line=line, expected="one vertex id a line")
    ids: Array = np.sort(values)
    repeated = np.flatnonzero(ids[1:] == ids[:-1])
    if len(repeated):
        raise FormatError(
            f"vertex {ids[repeated[0]]} is listed twice", path=path, expected="each vertex once", remedy="sort -u"
        )
    return ids


def _edges(said: _Properties, stated: bool, threads: int | None) -> Edges:
    path = _existing_file(said.edge_file, "edges")
    if not path.stat().st_size:
        weights = {"weight": np.empty(0, np.float64)} if said.weight_type else {}
        return Edges(np.empty(0, np.int64), np.empty(0, np.int64), weights)
    data = scan.text(path)
    first = bytes(data[:1000]).lstrip().split(b"\n", 1)[0]
    delimiter = b"|" if b"|" in first else b""
    fields = len(first.replace(b"|", b" ").split())
    weighted = said.weight_type is not None if stated else fields > 2
    edges = scan.edges(data, path, scan.Lines(3 if weighted else 2, comments=b"", delimiter=delimiter), threads)
    if said.weight_type == "real":
        edges.columns["weight"] = edges.columns["weight"].astype(np.float64)
    return edges


def write(graph: Graph, path: Path) -> None:
    """Write NAME.v, NAME.e and NAME.properties; each appears complete, the properties last."""
    name = path.stem
    source, target, place = graph.edge_numbers()
    ids, ends = graph.ids.to_ids(), [graph.ids.to_ids(source), graph.ids.to_ids(target)]
    if graph.ids.kind == "text":
        note_numbering(graph, base=0)
        ids, ends = np.arange(graph.vertices), [source, target]
    weight = one_column(graph)
    lines = [
        f"graph.{name}.vertex-file = {name}.v",
        f"graph.{name}.edge-file = {name}.e",
        f"graph.{name}.meta.vertices = {graph.vertices}",
        f"graph.{name}.meta.edges = {graph.edges}",
        f"graph.{name}.directed = {str(graph.directed).lower()}",
    ]
    if weight is not None:
        ends.append(weight[place])
        lines.append(f"graph.{name}.edge-properties.names = weight")
        lines.append(f"graph.{name}.edge-properties.types = {'real' if weight.dtype.kind == 'f' else 'integer'}")
    with ExitStack() as files:  # closed from the last to the first
        properties = files.enter_context(replacing(path.with_suffix(".properties")))
        properties.write_text("\n".join(lines) + "\n")
        write_rows(files.enter_context(replacing(path.with_suffix(".e"))), "", ends)
        write_rows(files.enter_context(replacing(path.with_suffix(".v"))), "", [ids])

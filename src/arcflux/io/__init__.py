"""In and out: :func:`load` any graph, :func:`save` it in any format; the suffix decides, or the type of the object.

One file per format: text.py (edge lists), matrix.py (Matrix Market), metis.py, dimacs.py, ldbc.py (Graphalytics),
gap.py (the GAP suite's binaries), tables.py (Arrow, Parquet, data frames), objects.py (scipy, NetworkX, igraph),
store.py (Arcflux's own folder). scan.py holds the parallel parser that the text formats share.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from arcflux import progress, trace
from arcflux.checks import Rule, checked, flag, maybe, path, text
from arcflux.errors import FormatError, UsageError, did_you_mean
from arcflux.graph.edges import Options
from arcflux.spmd.memory import within_memory

if TYPE_CHECKING:
    from arcflux.graph import Graph
    from arcflux.io.loaded import Loaded

__all__ = ["FORMATS", "load", "save", "takes_graph"]

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")

# suffix -> module of this folder; the longest suffix that fits wins. Other packages add theirs by an entry point
# (extensions.py): the suffix without its dot, and a module with `read` and `write` as those here.
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
_GENERATORS = "arcflux generate --help lists the generators"
PACKED = (".gz", ".bz2", ".zst")


@within_memory("loading a graph")
@checked(source=None, directed=maybe(flag), symmetrise=flag, drop_self_loops=flag, sort=flag)
def load(
    source: Any,
    /,
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
        As in :meth:`arcflux.Graph.from_edges`; `directed` is what the source says when it is None, and `vertices` may
        also be the path of a file with one id a line.
    **reading
        Options of the format, such as ``delimiter=";"`` or ``weights=False`` for text, or ``trust=True`` for a store,
        whose arrays are then not looked at before their first use; docs/reference/formats.md.

    What had to be assumed is in the graph's `assumptions`, and goes to the listeners of :mod:`arcflux.trace`.

    Examples
    --------
    >>> import arcflux as af
    >>> import numpy as np
    >>> af.load(np.array([[0, 1], [1, 2]]), directed=False).edges
    2
    """
    from arcflux.graph import Graph

    changes = {"symmetrise": symmetrise, "deduplicate": deduplicate, "drop_self_loops": drop_self_loops}
    if isinstance(source, Graph):
        _refuse_options("this", directed=directed, vertices=vertices, **changes, **reading)
        return source
    with progress.watching():
        return _load(source, directed, vertices, changes, sort, threads, reading)


def takes_graph(
    function: Callable[Concatenate[Graph, Arguments], Answer],
) -> Callable[Concatenate[Any, Arguments], Answer]:
    """Let a function take whatever :func:`load` takes, such as a spec or a path, for the graph that comes first.

    Examples
    --------
    >>> takes_graph(lambda graph: graph.vertices)("path:3")
    3
    """

    @wraps(function)
    def taking(*given: Any, **options: Any) -> Answer:
        if given:
            given = (_as_graph(given[0]), *given[1:])
        elif "graph" in options:
            options["graph"] = _as_graph(options["graph"])
        return function(*given, **options)

    return taking


def _as_graph(given: Any) -> Graph:
    from arcflux.graph import Graph

    return given if isinstance(given, Graph) else load(given)


def _load(
    source: Any,
    directed: bool | None,
    vertices: Any,
    changes: dict[str, Any],
    sort: bool,
    threads: int | None,
    reading: dict[str, Any],
) -> Graph:
    from arcflux.graph import Graph
    from arcflux.graph.ids import RangeIds
    from arcflux.io.replace import recover

    if isinstance(source, (str, os.PathLike)):
        text = os.fspath(source)
        path = Path(text)
        recover(path)
        if not os.path.exists(path):
            from arcflux import generate

            if generate.is_spec(text):
                _refuse_options(text, directed=directed, vertices=vertices, **changes, **reading)
                return generate.from_spec(text, threads=threads)
        module = _format(path)
        if hasattr(module, "open_graph"):
            _check_options(module.open_graph, path, reading)
            _refuse_options(str(path), directed=directed, vertices=vertices, **changes)
            opened: Graph = module.open_graph(path, **reading)
            return opened
        _check_options(module.read, path, reading)
        loaded: Loaded = module.read(path, threads=threads, **reading)
        name = path.name
    else:
        from arcflux.io.objects import read_object

        loaded, name = read_object(source, **reading), type(source).__name__
    if isinstance(vertices, (str, os.PathLike)):
        from arcflux.io.rows import read_vertices

        vertices = read_vertices(Path(vertices), threads)
    if loaded.edges.columns and "weight" not in loaded.edges.columns:
        loaded.assumptions.append(_no_weight(list(loaded.edges.columns)))
    directed_source = loaded.directed if directed is None else directed
    symmetrise = changes["symmetrise"]
    options = Options(
        directed_source and not symmetrise, changes["deduplicate"], changes["drop_self_loops"], sort, threads
    )
    graph = Graph.assemble(
        loaded.edges,
        options,
        vertices=loaded.vertices if vertices is None else vertices,
        symmetrised=symmetrise and directed_source,
        name=name,
        assumptions=_assumed(loaded.assumptions, directed, changes["deduplicate"]),
    )
    said = list(graph.assumptions)
    if isinstance(graph.ids, RangeIds) and graph.vertices:
        said.append(f"ids {graph.ids.base} to {graph.ids.base + graph.vertices - 1}")
    trace.note(f"{name}: " + "; ".join([*said, *graph.changes.lines()]))
    return graph


def _assumed(said: list[str], directed: bool | None, deduplicate: str | None) -> tuple[str, ...]:
    """What is left to assume: nothing about directions and parallel edges where the call says what to do with them."""
    asked = ("directed", "undirected") if directed is not None else ()
    if deduplicate is not None:
        said = [text.removeprefix("parallel edges are kept").removeprefix(", ") for text in said]
    return tuple(text for text in said if text and not text.startswith(asked))


def _no_weight(columns: list[str]) -> str:
    """What algorithms assume of a graph with columns of which none is called weight."""
    likely = [name for name in columns if "weight" in name.lower()] or columns
    one = f"weight={likely[0]!r} is asked for" if len(likely) == 1 else "weight= names a column"
    return f"edges count alike unless {one}"


@within_memory("saving a graph")
@checked(target=path)
def save(graph: Graph, target: str | os.PathLike[str], **writing: Any) -> None:
    """Write `graph` in the format that the suffix of `target` names; a name without one is a store folder.

    The file appears under its name only when it is complete. A suffix .gz, .bz2 or .zst packs a text format.
    """
    place = Path(target)
    module = _format(place, writing=True)
    _check_options(module.write, place, writing)
    with progress.watching():
        module.write(graph, place, **writing)


def _format(path: Path, writing: bool = False) -> Any:
    """The module for a path: by what is there, then by suffix."""
    if os.path.isdir(path) or (writing and not path.suffix):
        return import_module("arcflux.io.store")
    suffixes = [s.lower() for s in path.suffixes]
    suffix = next((s for s in reversed(suffixes) if s not in PACKED), "")
    if suffix in FORMATS:
        module = import_module(f"arcflux.io.{FORMATS[suffix]}")
    else:
        module = _extra_format(path, suffix, writing)
    if writing and not hasattr(module, "write"):
        raise FormatError(f"{suffix} can be read but not written", path=path, expected="another suffix")
    return module


def _extra_format(path: Path, suffix: str, writing: bool) -> Any:
    """The module of a format that another package brings."""
    from arcflux.extensions import extension, extension_names

    module = extension("arcflux.formats", suffix[1:]) if suffix else None
    if module is not None:
        return module
    if not writing and not os.path.exists(path):
        raise FormatError(
            "no such file, folder or generator",
            path=path,
            expected="a path that exists, or a spec such as kron:20 or grid:1024x1024",
            remedy=_suggest(path),
        )
    known = [*FORMATS, *(f".{name}" for name in extension_names("arcflux.formats"))]
    raise FormatError(
        f"the suffix {suffix or '(none)'} names no format",
        path=path,
        expected=", ".join(known),
        remedy=did_you_mean(suffix, known, "rename the file, or pass a .txt edge list"),
    )


def _suggest(path: Path) -> str:
    """What was meant by a name that is neither a file nor a generator."""
    from arcflux.generate.registry import GENERATORS
    from arcflux.io.loaded import near_file

    name, colon, size = str(path).partition(":")
    if colon:
        return did_you_mean(name, GENERATORS, _GENERATORS, f"{{}}:{size}")
    return near_file(path, _GENERATORS)


# Of what type options of formats are that mean the same in all of them.
_RULES: dict[str, Rule] = {
    **dict.fromkeys(("delimiter", "ids"), maybe(text)), "comments": text, "trust": flag,
    **dict.fromkeys(("header", "weights", "reverse"), maybe(flag)),
}  # fmt: skip


def _check_options(function: Any, path: Path, given: dict[str, Any]) -> None:
    """Refuse an option that the reader or writer of a format does not have, or that is of another type."""
    for name in given.keys() & _RULES.keys():
        _RULES[name](name, given[name])
    known = [name for name in function.__kwdefaults__ or {} if name != "threads"]
    unknown = next((name for name in given if name not in known), None)
    if unknown is not None:
        raise UsageError(
            f"{unknown}= is no option for {path}",
            expected=", ".join(f"{name}=" for name in known) or "no options: this format has none",
            remedy=did_you_mean(unknown, known, "leave it out", "{}="),
        )


def _refuse_options(what: str, **given: Any) -> None:
    """A graph that is finished cannot be built another way."""
    absent = {"symmetrise": False, "drop_self_loops": False}
    named = [name for name, value in given.items() if value is not absent.get(name)]
    if named:
        raise UsageError(
            f"{what} is a finished graph, which {', '.join(named)} cannot change",
            remedy="leave that out, or load the original source with it",
        )

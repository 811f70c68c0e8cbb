"""Arcflux inside Spark: a DataFrame of edges in, a DataFrame of values out.

>>> from arcflux import spark
>>> ranks = spark.pagerank(edges, source="src", target="dst")  # doctest: +SKIP

Every algorithm and application is a function here: it takes the edges, then the algorithm's own arguments, and by name
`source`, `target`, `weight`, `vertices` and `directed`, which say how the frame is read (:meth:`Plug.graph`).
:func:`plug` keeps a graph loaded for several runs. How: docs/how-to/spark.md.
"""

from __future__ import annotations

import atexit
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from arcflux.program import Program
    from arcflux.spark.attached import Plug, PlugGraph

__all__ = ["Plug", "PlugGraph", "plug", "register", "run"]

_READING = (
    "source", "target", "weight", "columns", "vertices", "directed", "symmetrise", "deduplicate", "drop_self_loops",
)  # fmt: skip
_HOW = ("device", "packing", "slices")
_plugs: dict[tuple[Any, ...], Any] = {}


def plug(session: Any, *, way: str = "attached", **options: Any) -> Any:
    """A Spark session with Arcflux, for the duration of a ``with`` block.

    Parameters
    ----------
    session
        A running SparkSession, classic or Connect.
    way
        "attached": a daemon beside Spark builds and keeps graphs, and runs algorithms. "barrier": the engine runs in
        the tasks of one barrier stage, over sockets, on one host or several. "faithful": tasks are agents of GX-Plug,
        which send blocks of triplets to daemons, and communicate through the driver; for programs.
    device, packing, slices
        Options of "attached". The daemon's device: "cpu", "cuda:0", "virtual:2". How edges leave Spark: "jvm"
        (columns that Spark's JVM writes), "arrow" (Python tasks), or "auto". The number of partitions of results;
        by default as many as Spark has cores.
    workers, ranks_per_node, build
        Options of "barrier": the number of tasks, by default as many as Spark has cores; how many of them act as a
        node, to try several nodes on one host; and how several nodes build the graph: in "parts", one for each task,
        the "whole" graph on each node, or ("auto") in parts where these suffice.
    workers, daemons, cache, lazy, skip, blocks, partition
        Options of "faithful": the daemons of each task, and the paper's optimisations, one by one, as for
        :func:`arcflux.plug.upper.gas.run`.

    Examples
    --------
    >>> with spark.plug(session, way="faithful", skip=False) as plugged:  # doctest: +SKIP
    ...     hops = plugged.graph(edges).run(Hops, source="alice")
    """
    from arcflux.spark.ways import opened

    return opened(session, way, options)


def run(edges: Any, what: str | Program, *given: Any, way: str = "attached", **arguments: Any) -> Any:
    """Run an algorithm by its name, or a program, on the edges of a frame; returns its values as a frame.

    The graph is dropped after the run. The result is kept until the session, or this process, ends.

    Examples
    --------
    >>> run(edges, "pagerank", source="src", target="dst", max_iter=10)  # doctest: +SKIP
    """
    from arcflux.spark.frames import session_of
    from arcflux.spark.named import parameters

    reading = {name: arguments.pop(name) for name in _READING if name in arguments}
    if reading.get("weight") is not None and isinstance(what, str) and "weight" in parameters(what):
        arguments["weight"] = "weight"  # the name of the column in the graph
    how = {name: arguments.pop(name) for name in _HOW if name in arguments}
    key = id(session := session_of(edges)), way, *sorted(how.items())
    held = _plugs.get(key)
    if held is None or held.session is not session:
        if not _plugs:
            atexit.register(_close_all)
        held = _plugs[key] = plug(session, way=way, **how)
    graph = held.graph(edges, **reading)
    try:
        return graph.run(what, *given, **arguments)
    finally:
        graph.drop()


def register(session: Any) -> None:
    """Let a session read Arcflux's stores: ``session.read.format("arcflux").load("graph.arcflux")``."""
    from arcflux.spark.data_source import ArcfluxSource
    from arcflux.spark.frames import checked_session

    checked_session(session).dataSource.register(ArcfluxSource)


def _close_all() -> None:
    while _plugs:
        _plugs.popitem()[1].close()


def __getattr__(name: str) -> Callable[..., Any]:
    if name in ("Plug", "PlugGraph"):
        from arcflux.spark import attached

        found: Callable[..., Any] = getattr(attached, name)
        return found
    if not name.startswith("_"):
        from arcflux.spark.named import is_named, names

        if is_named(name):

            def call(edges: Any, *given: Any, **arguments: Any) -> Any:
                return run(edges, name, *given, **arguments)

            call.__name__ = call.__qualname__ = name
            call.__doc__ = inspect.getdoc(names()[name])
            globals()[name] = call
            return call
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    from arcflux.spark.named import names

    return sorted({*__all__, *names()})

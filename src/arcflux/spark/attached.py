"""Spark attached to a daemon: the frame is sent once, the daemon builds and keeps the graph, runs, and returns results.

There is no barrier stage, so that Spark may repeat tasks anywhere in a job. A killed daemon is noticed at the next
request, and its graph is built again in a new one, from the same frame.
"""

from __future__ import annotations

import inspect
import itertools
import os
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, TypeVar

from arcflux.errors import UsageError
from arcflux.plug.connection import Connection
from arcflux.plug.wire import LostPeerError
from arcflux.program import Program
from arcflux.spark.frames import Columns, checked_session, edge_columns, is_frame, one_edge, slots_of
from arcflux.spark.named import bound, is_named, names
from arcflux.spark.packing import PACKINGS, pack_frame, pack_parquet, sweep
from arcflux.spark.results import Fields, ReadSlices, result_frame
from arcflux.spark.told import Told

__all__ = ["Plug", "PlugGraph"]

Answer = TypeVar("Answer")
_numbers = itertools.count()


class Plug:
    """A Spark session with the daemon of a device; see :func:`arcflux.spark.plug`."""

    def __init__(self, session: Any, *, device: str = "cpu", packing: str = "auto", slices: int | None = None) -> None:
        self.session = checked_session(session)
        if packing not in PACKINGS:
            raise UsageError(f"packing is {packing!r}", expected=" or ".join(map(repr, PACKINGS)))
        self.device, self.packing = device, packing
        self.slices = slices or slots_of(session)
        self._lock = threading.RLock()
        self._daemon: Connection | None = Connection.open(device)
        self._results: set[str] = set()
        self._graphs: set[str] = set()
        sweep(self._daemon.place.folder)

    def __enter__(self) -> Plug:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def graph(
        self, edges: Any, source: str | None = None, target: str | None = None, *, weight: str | None = None,
        columns: Sequence[str] = (), vertices: Any = None, directed: bool = True, **options: Any,
    ) -> PlugGraph:  # fmt: skip
        """A graph of the edges in a DataFrame, or in Parquet files at a path, which the daemon keeps until dropped.

        source, target: the columns of the ends, whole numbers or text; by default found by their names. weight: the
        column that algorithms use as weight; columns: further columns of edges, for programs. vertices: a frame whose
        first column has further ids, which may have no edge. Other options are those of
        :meth:`arcflux.Graph.from_edges`: symmetrise, deduplicate, drop_self_loops.
        """
        wanted = {"directed": directed, **options}
        return PlugGraph(self, edges, (source, target, weight, columns), vertices, wanted)

    def close(self) -> None:
        """Drop the graphs and results of this plug, and disconnect: frames of results end with it."""
        with self._lock:
            daemon, self._daemon = self._daemon, None
            if daemon is None:
                return
            with suppress(LostPeerError, OSError):
                for name in self._graphs:
                    daemon.drop(graph=name)
                for name in self._results:
                    daemon.drop(result=name)
            daemon.close()

    def ask(self, what: Callable[[Connection], Answer]) -> Answer:
        """The reply to a request to the daemon; one request at a time."""
        with self._lock:
            if self._daemon is None:
                raise UsageError("the plug was closed", remedy="arcflux.spark.plug(session)")
            return what(self._daemon)

    def renew(self) -> None:
        """Connect to a new daemon: the old one is gone."""
        with self._lock:
            if self._daemon is not None:
                self._daemon.close()
                self._daemon = Connection.open(self.device)
                self._results.clear()
                self._graphs.clear()

    def new_name(self, kept: str) -> str:
        """A name that no other driver, and no other call, uses."""
        name = f"spark-{os.getpid()}-{uuid.uuid4().hex[:8]}-{next(_numbers)}"
        (self._graphs if kept == "graph" else self._results).add(name)
        return name

    def forget(self, graph: str) -> None:
        """Drop a graph in the daemon."""
        self._graphs.discard(graph)
        with suppress(LostPeerError, OSError, UsageError):
            self.ask(lambda daemon: daemon.drop(graph=graph))


class PlugGraph:
    """A graph that a daemon keeps for a Spark session. Every algorithm is a method of it.

    vertices, edges: how many it has; id_type: the type of its ids.
    """

    def __init__(self, plug: Plug, edges: Any, given: tuple[Any, ...], vertices: Any, options: dict[str, Any]) -> None:
        self._plug, self._edges, self._given, self._isolated, self._options = plug, edges, given, vertices, options
        self.told = Told()
        self._columns: Columns | None = edge_columns(edges, *given) if is_frame(edges) else None
        if self._columns is None and not isinstance(edges, (str, os.PathLike)):
            raise UsageError(
                f"edges are {type(edges).__name__}", expected="a DataFrame of Spark, or the path of Parquet files",
                remedy="session.createDataFrame(...), or arcflux.load for what is not in Spark",
            )  # fmt: skip
        if self._columns is not None:
            one_edge(self._columns, options)
        self._extra = self._checked_vertices()
        self._load()

    def _checked_vertices(self) -> Columns | None:
        if self._isolated is None:
            return None
        if not is_frame(self._isolated) or not self._isolated.columns:
            raise UsageError(f"vertices are {type(self._isolated).__name__}", expected="a DataFrame of ids")
        first = self._isolated.columns[0]
        return edge_columns(self._isolated, first, first, None, ())

    def _load(self) -> None:
        """Send the edges, and let the daemon build the graph; again in another daemon if this one is lost."""
        try:
            self._build()
        except LostPeerError:
            self._plug.renew()
            self._build()

    def _build(self) -> None:
        plug, begun = self._plug, time.perf_counter()
        self.name = plug.new_name("graph")
        columns, slices, how, why = plug.ask(self._packed)
        packed = time.perf_counter()
        options = dict(self._options)
        if self._extra is not None:
            extra, isolated = f"{self.name}-vertices", self._extra
            plug.ask(lambda daemon: pack_frame(self._isolated, isolated, daemon, extra, plug.packing))
            options |= {"vertices_of": [extra, isolated.source]}
        about = plug.ask(
            lambda daemon: daemon.build(
                self.name, slices=slices, source=columns.source, target=columns.target,
                columns=list(columns.values), names=dict(columns.values), **options,
            )
        )  # fmt: skip
        self.vertices, self.edges, self.id_type = about["vertices"], about["edges"], columns.id_type
        self.told.loaded(about, how, why, packed - begun, time.perf_counter() - packed)

    def _packed(self, daemon: Connection) -> tuple[Columns, int | None, str, str]:
        if self._columns is not None:
            slices, how, why = pack_frame(self._edges, self._columns, daemon, self.name, self._plug.packing)
            return self._columns, slices, how, why

        def choose(schema: Any) -> Columns:
            columns = _of_schema(schema, self._given)
            one_edge(columns, self._options)
            return columns

        columns, slices = pack_parquet(self._edges, choose, daemon, self.name)
        return columns, slices, "parquet", ""

    def run(self, what: str | Program, *given: Any, **arguments: Any) -> Any:
        """Run an algorithm by its name, an application, or a program; its values as a DataFrame of (vertex, ...).

        Arguments are those of the algorithm's own function, such as ``source="alice"``, and of :func:`arcflux.run`.
        """
        arguments = bound(what, given, arguments)
        result = self._plug.new_name("result")
        try:
            return self._run(what, result, arguments)
        except LostPeerError:
            self._plug.renew()
            self._build()
            return self._run(what, self._plug.new_name("result"), arguments)

    def _run(self, what: str | Program, result: str, arguments: dict[str, Any]) -> Any:
        plug, begun = self._plug, time.perf_counter()
        reply = plug.ask(lambda daemon: daemon.run(self.name, what, result=result, **arguments))
        for said in reply["warnings"]:
            warnings.warn(said, stacklevel=4)
        place = plug.ask(lambda daemon: daemon.place)
        fields = Fields.of(reply, self.id_type)
        read = ReadSlices(result, fields, plug.slices, place.name, str(place.folder))
        located = None if plug.packing == "arrow" else plug.ask(lambda daemon: daemon.locate(result))
        frame = result_frame(plug.session, read, located)
        self.told.ran(what if isinstance(what, str) else what.name, reply, time.perf_counter() - begun, read)
        return frame

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_") or not is_named(name):
            raise AttributeError(f"a graph of the plug has no {name!r}")

        def call(*given: Any, **arguments: Any) -> Any:
            return self.run(name, *given, **arguments)

        call.__name__, call.__doc__ = name, inspect.getdoc(names()[name])
        return call

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *names()})

    def explain(self) -> str:
        """Where the time went: out of Spark, build, supersteps, back."""
        return str(self.told)

    def drop(self) -> None:
        """Drop the graph in the daemon; frames of its results stay."""
        self._plug.forget(self.name)

    def __repr__(self) -> str:
        return f"<graph of {self.vertices:,} vertices and {self.edges:,} edges at the daemon {self._plug.device}>"


def _of_schema(schema: Any, given: tuple[Any, ...]) -> Columns:
    """The columns of Parquet files, checked like those of a frame."""

    types = [(field.name, _SPARK.get(str(field.type), str(field.type))) for field in schema]
    return edge_columns(SimpleNamespace(dtypes=types), *given)


# Spark's names of Arrow's types.
_SPARK = {
    "int64": "bigint", "int32": "int", "int16": "smallint", "int8": "tinyint", "float": "float", "double": "double",
    "bool": "boolean", "string": "string", "large_string": "string",
}  # fmt: skip

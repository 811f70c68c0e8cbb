"""The engine inside one barrier stage: each task is a rank, tasks of a host share memory, hosts talk over sockets.

Tasks meet at a rendezvous at the driver (transports/rendezvous.py): Spark's own allGather sleeps a second. The stage
ends with a shuffle: a barrier stage that is the last of its job is never tried again by Spark, one in front of a
shuffle is, all of its tasks together. The frame is kept in Spark's cache, so that reading it again runs nothing again.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from arcflux.errors import RankError, UsageError
from arcflux.graph import Graph
from arcflux.plug.memory import columns_of, map_shared, pack
from arcflux.plug.program_text import program_of, text_of
from arcflux.program import Program
from arcflux.spark.frames import Columns, checked_session, edge_columns, is_connect, is_frame
from arcflux.spark.named import bound, is_named, names
from arcflux.spark.packing import arrow_columns
from arcflux.spark.results import Fields, ReadSlices
from arcflux.spark.shared_graph import share_graph
from arcflux.spark.told import Told
from arcflux.transports.base import Transport
from arcflux.transports.rendezvous import Rendezvous

__all__ = ["BarrierGraph", "BarrierPlug"]

_SLICE_TAG = 11


class BarrierPlug:
    """A Spark session whose own tasks run the engine; see :func:`arcflux.spark.plug`."""

    agents: dict[str, Any] | None = None

    def __init__(self, session: Any, *, workers: int | None = None, ranks_per_node: int | None = None) -> None:
        self.session = checked_session(session)
        if is_connect(session):
            raise UsageError(
                "the session is one of Spark Connect, which has no driver here where tasks could meet",
                expected="a classic session for the barrier way", remedy="way='attached'",
            )  # fmt: skip
        slots = session.sparkContext.defaultParallelism
        self.workers, self.ranks_per_node = slots if workers is None else workers, ranks_per_node
        if not isinstance(self.workers, int) or not 1 <= self.workers <= slots:
            raise UsageError(
                f"workers is {self.workers!r}", expected=f"1 to {slots}: all tasks of a barrier stage run at once"
            )
        self._meetings: list[Rendezvous] = []
        self._frames: list[Any] = []

    def __enter__(self) -> BarrierPlug:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def graph(
        self, edges: Any, source: str | None = None, target: str | None = None, *, weight: str | None = None,
        columns: Sequence[str] = (), vertices: Any = None, directed: bool = True, **options: Any,
    ) -> BarrierGraph:  # fmt: skip
        """A graph of the edges in a DataFrame; arguments as in :meth:`arcflux.spark.Plug.graph`. Each run builds it."""
        if vertices is not None:
            raise UsageError("vertices are given, and the way is 'barrier'", remedy="way='attached'")
        if not is_frame(edges):
            raise UsageError(f"edges are {type(edges).__name__}", expected="a DataFrame of Spark")
        chosen = edge_columns(edges, source, target, weight, columns)
        return BarrierGraph(self, edges, chosen, {"directed": directed, **options})

    def relay(self, meeting: Rendezvous) -> Any:
        """What passes messages on, where tasks do not talk to each other: nothing here."""
        return None

    def checked(self, what: str | Program) -> str | Program:
        """What is to be run, if this way can."""
        return what

    def meeting(self) -> Rendezvous:
        """A new rendezvous, open as long as this plug: the stage may be run again when its frame is read."""
        context = self.session.sparkContext
        near = context.master.startswith("local")
        host = "127.0.0.1" if near else context.getConf().get("spark.driver.host", "127.0.0.1")
        self._meetings.append(Rendezvous(self.workers, host=host, ranks_per_node=self.ranks_per_node))
        return self._meetings[-1]

    def keep(self, frame: Any) -> Any:
        """A frame in Spark's cache, until the plug is closed."""
        self._frames.append(frame.persist())
        return self._frames[-1]

    def close(self) -> None:
        """Let go of the frames of results, and of the meetings of their tasks."""
        while self._frames:
            self._frames.pop().unpersist()
        while self._meetings:
            self._meetings.pop().close()


class BarrierGraph:
    """The edges of a frame, and how they make a graph. Every algorithm is a method of it."""

    def __init__(self, plug: BarrierPlug, edges: Any, columns: Columns, options: dict[str, Any]) -> None:
        self._plug, self._edges, self._columns, self._options = plug, edges, columns, options
        self.told = Told()

    def run(self, what: str | Program, *given: Any, **arguments: Any) -> Any:
        """Run an algorithm by its name, an application, or a program; its values as a DataFrame of (vertex, ...)."""
        plug, columns = self._plug, self._columns
        arguments = bound(plug.checked(what), given, arguments)
        named = {"program": [text_of(what), what.name]} if isinstance(what, Program) else {"algorithm": what}
        meeting, begun = plug.meeting(), time.perf_counter()
        fields = _fields(what, arguments, columns, self._options)
        relay = plug.relay(meeting)
        task = RunRank(meeting.address, meeting.token, named, arguments, columns, self._options, fields)
        task.agents = plug.agents
        task.relay = None if relay is None else relay.address
        heard = task.heard = plug.session.sparkContext.accumulator([], _Listed())
        chosen = self._edges.select(*(f"`{name}`" for name in columns.names)).repartition(plug.workers)
        frame = plug.keep(chosen.mapInArrow(task, fields.schema, barrier=True).repartition(plug.workers))
        try:
            frame.count()
        except Exception as error:
            if meeting.failure is not None:
                _, rank, superstep, _, trace = meeting.failure
                raise RankError("failed", rank=rank, superstep=superstep, trace=trace) from error
            raise
        self._note(what if isinstance(what, str) else what.name, heard.value, time.perf_counter() - begun)
        return frame

    def _note(self, name: str, heard: list[str], seconds: float) -> None:
        for said in map(json.loads, heard[-1:]):
            self.told.loaded(said["graph"], "barrier", "", said["came"], said["built"])
            self.told.ran(name, said["run"], seconds, None)
            for one in said["run"]["warnings"]:
                warnings.warn(one, stacklevel=3)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_") or not is_named(name):
            raise AttributeError(f"a graph of the plug has no {name!r}")
        return lambda *given, **arguments: self.run(name, *given, **arguments)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *names()})

    def explain(self) -> str:
        """Where the time went."""
        return str(self.told)

    def drop(self) -> None:
        """Nothing: the graph lives in the stage alone."""


def _Listed() -> Any:
    """An accumulator of what tasks say."""
    from pyspark.accumulators import AccumulatorParam

    class Listed(AccumulatorParam):  # type: ignore[misc]
        def zero(self, value: list[str]) -> list[str]:
            return []

        def addInPlace(self, value1: list[str], value2: list[str]) -> list[str]:
            return value1 + value2

    return Listed()


def _fields(what: str | Program, arguments: dict[str, Any], columns: Columns, options: dict[str, Any]) -> Fields:
    """The columns of the result, which Spark wants to know before the stage: a program says, others run on one edge."""
    if isinstance(what, Program):
        shown = {name: kind for name, kind in what.fields.items() if name not in what.hidden}
        said = {name: [kind.dtype.str, *([kind.length] if kind.length else [])] for name, kind in shown.items()}
        return Fields.of({"fields": said, "references": what.references}, columns.id_type)
    ids: Any = np.array(["a", "b"], object) if columns.id_type == "string" else np.array([0, 1])
    given = {name: np.ones(1) for name in columns.values.values()}
    some = Graph.from_edges(ids[:1], ids[1:], columns=given, directed=bool(options.get("directed", True)))
    tried = {name: _on_edge(name, value, ids) for name, value in arguments.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = _called(what, some, tried)
    return Fields.of(_reply(result), columns.id_type)


def _on_edge(name: str, value: Any, ids: Any) -> Any:
    """An argument as a graph of one edge can have it: vertices are the first."""
    if name in ("source", "target"):
        return ids[0]
    return list(ids[:1]) if name == "sources" else value


def _called(what: str | Program, graph: Graph, arguments: dict[str, Any]) -> Any:
    import arcflux as af

    return names()[what](graph, **arguments) if isinstance(what, str) else af.run(what, graph, **arguments)


def _reply(result: Any) -> dict[str, Any]:
    """What is told of a run, as a daemon tells it."""
    return {
        "fields": {name: [str(values.dtype), *values.shape[1:]] for name, values in result.values.items()},
        "references": sorted(result.references), "seconds": result.seconds, "compile_seconds": result.compile_seconds,
        "supersteps": result.supersteps, "converged": bool(result.converged), "warnings": [],
    }  # fmt: skip


class RunRank:
    """What a task does: it meets the others, brings its edges, runs as one of the ranks, and hands its rows back."""

    heard: Any = None
    agents: dict[str, Any] | None = None
    relay: tuple[str, int] | None = None

    def __init__(
        self, address: tuple[str, int], token: bytes, named: dict[str, Any], arguments: dict[str, Any],
        columns: Columns, options: dict[str, Any], fields: Fields,
    ) -> None:  # fmt: skip
        self.address, self.token, self.named, self.arguments = address, token, named, arguments
        self.columns, self.options, self.fields = columns, options, fields

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """The rows of this rank, in batches."""
        from pyspark import TaskContext

        from arcflux.transports.launch import joined
        from arcflux.transports.tcp import join

        held = list(batches)
        context: Any = TaskContext.get()
        transport = join(self.address, self.token, context.partitionId(), attempt=context.taskAttemptId(),
                         relay=self.relay)  # fmt: skip
        try:
            with joined(transport):
                columns = self._run(held, transport)
            transport.close()
        except BaseException as error:
            transport.fail(error)
            raise
        finally:
            transport.abandon()
        read = ReadSlices("", self.fields, transport.size, "", "")
        yield from read.batches(columns, transport.rank)

    def _run(self, held: list[Any], transport: Transport) -> dict[str, Any]:
        begun = time.perf_counter()
        slices = self._brought(held, transport)
        came = time.perf_counter()
        message = {
            "source": self.columns.source, "target": self.columns.target, "columns": list(self.columns.values),
            "names": self.columns.values, **self.options,
        }  # fmt: skip
        graph = share_graph(transport, lambda: _built(slices, message))
        built = time.perf_counter()
        what = program_of(*self.named["program"]) if "program" in self.named else self.named["algorithm"]
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            result = self._called(what, graph, transport.size)
        if transport.rank == 0 and self.heard is not None:
            about = {"vertices": graph.vertices, "edges": graph.edges}
            run = {**_reply(result), "warnings": [str(one.message) for one in said]}
            self.heard.add([json.dumps({"graph": about, "came": came - begun, "built": built - came, "run": run})])
        return {"vertex": result.ids, **{name: result[name] for name in result.values}}

    def _called(self, what: str | Program, graph: Graph, workers: int) -> Any:
        if self.agents is None:
            return _called(what, graph, self.arguments)
        from arcflux.plug.upper import gas

        return gas.run(graph, what, workers=workers, **self.agents, **self.arguments)

    def _brought(self, held: list[Any], transport: Transport) -> list[dict[str, Any]]:
        """The slices of all ranks, at the leader of each node; nothing elsewhere."""
        import os

        found = arrow_columns(held, self.columns)
        said, descriptor = pack(found)
        raw = map_shared(descriptor)
        os.close(descriptor)
        head = np.frombuffer(json.dumps(said).encode(), np.uint8)
        for leader in transport.leaders:
            transport.post(leader, [np.array([len(head)]), head, raw], _SLICE_TAG)
        slices = []
        for rank in range(transport.size) if transport.place == 0 else ():
            came = transport.collect(rank, _SLICE_TAG)
            length = int(came[:8].view(np.int64)[0])
            memory = came[8 + length :].copy()  # where any dtype may begin
            slices.append(columns_of(json.loads(came[8 : 8 + length].tobytes()), [memory]))
        transport.finish()
        return slices


def _built(slices: list[dict[str, Any]], message: dict[str, Any]) -> Graph:
    from arcflux.plug.service import assembled

    return assembled("spark", slices, message)

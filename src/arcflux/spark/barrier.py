"""The engine inside one barrier stage: each task is a rank, tasks of a host share memory, hosts use sockets.

Tasks meet at a rendezvous in the driver (transports/rendezvous.py): Spark's own allGather sleeps a second. Under Spark
Connect the client may be anywhere, so the rendezvous is in the first task, and allGather tells the others its address.

The stage ends with a shuffle: Spark never repeats a barrier stage that is the last of its job, but does repeat one
before a shuffle, all of its tasks together. The frame is kept in Spark's cache, so that reading it again runs nothing
again. The report of a run is in a row of its own, in a column that the frame of values does not show.
"""

from __future__ import annotations

import inspect
import json
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from arcflux.engine.front import run
from arcflux.engine.state import refuse_missing
from arcflux.errors import RankError, UsageError
from arcflux.plug.program_text import text_of
from arcflux.program import Program
from arcflux.spark.frames import (
    Columns,
    checked_session,
    edge_columns,
    is_connect,
    is_frame,
    one_edge,
    quoted,
    slots_of,
)
from arcflux.spark.named import bound, is_named, names
from arcflux.spark.packing import refuse_nulls
from arcflux.spark.rank import TOLD, RunRank, called, reply_of
from arcflux.spark.results import Fields
from arcflux.spark.told import Told
from arcflux.transports.rendezvous import Rendezvous

__all__ = ["BarrierGraph", "BarrierPlug", "refuse_parameters"]

BUILDS = ("auto", "parts", "whole")


class BarrierPlug:
    """A Spark session whose own tasks run the engine; see :func:`arcflux.spark.plug`."""

    way = "barrier"
    agents: dict[str, Any] | None = None

    def __init__(
        self, session: Any, *, workers: int | None = None, ranks_per_node: int | None = None, build: str = "auto"
    ) -> None:  # fmt: skip
        self.session = checked_session(session)
        if build not in BUILDS:
            raise UsageError(f"build is {build!r}", expected=" or ".join(map(repr, BUILDS)))
        self.build = build
        slots = slots_of(session)
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
        """A graph of the edges in a DataFrame; arguments as in :meth:`arcflux.spark.Plug.graph`.

        Spark keeps the edges in its cache until the plug is closed; each run builds the graph from them.
        """
        if vertices is not None:
            raise UsageError(f"vertices are given, and the way is {self.way!r}", remedy="way='attached'")
        if not is_frame(edges):
            raise UsageError(f"edges are {type(edges).__name__}", expected="a DataFrame of Spark")
        chosen = edge_columns(edges, source, target, weight, columns)
        options = {"directed": directed, **options}
        one_edge(chosen, options)
        kept = self.keep(edges.select(*map(quoted, chosen.names)).repartition(self.workers))
        maybe = [field.name for field in kept.schema.fields if field.nullable]
        if maybe:
            counted = kept.selectExpr(*(f"count_if({quoted(name)} is null)" for name in maybe)).first()
            refuse_nulls(dict(zip(maybe, counted, strict=True)), chosen)
        if any("`" in name for name in chosen.names):  # mapInArrow looks columns up by name, without quoting
            plain = {name: f"column{place}" for place, name in enumerate(chosen.names)}
            kept, chosen = kept.toDF(*plain.values()), chosen.renamed(plain)
        return BarrierGraph(self, kept, chosen, options)

    def relay(self, meeting: Rendezvous) -> Any:
        """The relay of messages, for tasks that do not connect to each other: none here."""
        return None

    def checked(self, what: str | Program, arguments: Mapping[str, Any]) -> None:
        """Refuse what this way cannot run, and unknown arguments of a program, before any stage."""
        if isinstance(what, Program):
            refuse_parameters(what, arguments, run)

    def meeting(self) -> Rendezvous | None:
        """A new rendezvous, open as long as this plug: the stage may run again when its frame is read.

        None under Spark Connect: there the tasks create one.
        """
        if is_connect(self.session):
            return None
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
        """Drop the frames of results, and close the rendezvous of their tasks."""
        while self._frames:
            self._frames.pop().unpersist()
        while self._meetings:
            self._meetings.pop().close()


class BarrierGraph:
    """The edges of a frame, and how to build a graph from them. Every algorithm is a method of it."""

    def __init__(self, plug: BarrierPlug, edges: Any, columns: Columns, options: dict[str, Any]) -> None:
        self._plug, self._edges, self._columns, self._options = plug, edges, columns, options
        self._whole: set[str] = set()
        self.told = Told()

    def run(self, what: str | Program, *given: Any, **arguments: Any) -> Any:
        """Run an algorithm by its name, an application, or a program; its values as a DataFrame of (vertex, ...)."""
        plug, columns = self._plug, self._columns
        arguments = bound(what, given, arguments)
        plug.checked(what, arguments)
        named = {"program": [text_of(what), what.name]} if isinstance(what, Program) else {"algorithm": what}
        name, begun = what if isinstance(what, str) else what.name, time.perf_counter()
        fields = _fields(what, arguments, columns, self._options)
        build = "whole" if plug.agents is not None or name in self._whole else plug.build
        frame, said = self._stage(named, arguments, fields, build)
        if "whole" in said:  # the algorithm reads edges of other parts
            self._whole.add(name)
            warnings.warn(
                f"{name}: {said['whole']}, so that every host has the whole graph; build='whole' builds it at once",
                stacklevel=2,
            )
            frame, said = self._stage(named, arguments, fields, "whole")
        if said:
            self._note(name, said, time.perf_counter() - begun)
        return frame

    def _stage(
        self, named: dict[str, Any], arguments: dict[str, Any], fields: Fields, build: str
    ) -> tuple[Any, dict[str, Any]]:
        """Run in a barrier stage: the frame of the values, and the report of the run."""
        plug, meeting = self._plug, self._plug.meeting()
        relay = None if meeting is None else plug.relay(meeting)
        task = RunRank(
            plug.workers, named, arguments, self._columns, self._options, fields, plug.ranks_per_node, plug.agents,
            build, None if meeting is None else (meeting.address, meeting.token),
            None if relay is None else relay.address,
        )  # fmt: skip
        schema = f"{fields.schema}, `{TOLD}` string"
        whole = plug.keep(self._edges.mapInArrow(task, schema, barrier=True).repartition(plug.workers))
        try:
            told = whole.where(f"`{TOLD}` is not null").select(TOLD).collect()
        except Exception as error:
            if meeting is not None and meeting.failure is not None:
                _, rank, superstep, _, trace = meeting.failure
                raise RankError("failed", rank=rank, superstep=superstep, trace=trace) from error
            raise
        # PySpark 3.5 runs no task for an empty frame.
        return whole.where(f"`{TOLD}` is null").drop(TOLD), json.loads(told[0][0]) if told else {}

    def _note(self, name: str, said: dict[str, Any], seconds: float) -> None:
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
        """Nothing to do: the graph exists only within the stage."""


def _fields(what: str | Program, arguments: dict[str, Any], columns: Columns, options: dict[str, Any]) -> Fields:
    """The columns of the result, needed before the stage: declared by a program, else from a run on one edge."""
    if isinstance(what, Program):
        shown = {name: kind for name, kind in what.fields.items() if name not in what.hidden}
        said = {name: [kind.dtype.str, *([kind.length] if kind.length else [])] for name, kind in shown.items()}
        return Fields.of({"fields": said, "references": what.references}, columns.id_type)
    some = one_edge(columns, options)
    tried = {name: _on_edge(name, value, some.ids.to_ids()) for name, value in arguments.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = called(what, some, tried)
    return Fields.of(reply_of(result), columns.id_type)


def refuse_parameters(program: Program, arguments: Mapping[str, Any], call: Callable[..., Any]) -> None:
    """Refuse arguments that are neither the program's nor options of the run; and values that do not fit."""
    options = inspect.signature(call).parameters
    refuse_missing(program(**{name: value for name, value in arguments.items() if name not in options}))


def _on_edge(name: str, value: Any, ids: Any) -> Any:
    """An argument for a graph of one edge: vertices become the first one."""
    if name in ("source", "target"):
        return ids[0]
    return list(ids[:1]) if name == "sources" else value

"""A task of the barrier way: it meets the others, loads its edges, runs as one of the ranks, and returns its rows."""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from arcflux.errors import WholeGraphError
from arcflux.graph import Graph
from arcflux.graph.split import SplitGraph
from arcflux.plug.memory import columns_of, map_shared, pack
from arcflux.plug.program_text import program_of
from arcflux.program import Program
from arcflux.spark.frames import Columns
from arcflux.spark.named import names
from arcflux.spark.packing import arrow_columns
from arcflux.spark.results import Fields, ReadSlices, arrow_type
from arcflux.spark.shared_graph import share_graph
from arcflux.spark.split_graph import split_graph
from arcflux.transports.base import Transport
from arcflux.transports.rendezvous import Rendezvous

__all__ = ["TOLD", "RunRank", "called", "reply_of"]

_SLICE_TAG = 11
# The traceback of a rank that asked for edges of others contains this.
_ASKED = f"{WholeGraphError.__name__}: "
# The column of the row with the report of the run. No field of a program can have this name.
TOLD = "told of the run"


def called(what: str | Program, graph: Graph, arguments: dict[str, Any]) -> Any:
    """The result of a run."""
    import arcflux as af

    return names()[what](graph, **arguments) if isinstance(what, str) else af.run(what, graph, **arguments)


def reply_of(result: Any) -> dict[str, Any]:
    """The report of a run, in the form of a daemon's reply."""
    return {
        "fields": {name: [str(values.dtype), *values.shape[1:]] for name, values in result.values.items()},
        "references": sorted(result.references), "seconds": result.seconds, "compile_seconds": result.compile_seconds,
        "supersteps": result.supersteps, "converged": bool(result.converged), "warnings": [],
    }  # fmt: skip


@dataclass
class RunRank:
    """The function of a task: it meets the others, loads its edges, runs as one of the ranks, and returns its rows.

    named: an algorithm, or a program's text and name; columns, options: how the frame is read; fields: the columns of
    the result; agents: the options of tasks that are agents (:func:`arcflux.plug.upper.gas.run`); build: "whole" for
    the whole graph on every host, else parts of it if there are several hosts, with "auto" followed by "whole" if parts
    do not suffice; meeting: address and token of the rendezvous, if it is in the driver; relay: the address of the
    relay of messages.
    """

    workers: int
    named: dict[str, Any]
    arguments: dict[str, Any]
    columns: Columns
    options: dict[str, Any]
    fields: Fields
    ranks_per_node: int | None
    agents: dict[str, Any] | None
    build: str
    meeting: tuple[tuple[str, int], bytes] | None
    relay: tuple[str, int] | None

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """The rows of this rank, in batches."""
        import pyarrow as pa
        from pyspark import BarrierTaskContext

        from arcflux.transports.launch import joined
        from arcflux.transports.tcp import join

        held = list(batches)
        context: Any = BarrierTaskContext.get()
        with self._rendezvous(context) as (address, token):
            transport = join(address, token, context.partitionId(), attempt=context.taskAttemptId(), relay=self.relay)
            try:
                with joined(transport):
                    columns, told = self._run(held, transport)
                transport.close()
            except BaseException as error:
                transport.fail(error)
                if not (why := self._needs_whole(error)):
                    raise
                if transport.rank == 0:
                    yield _row_that_tells(json.dumps({"whole": why}), self.fields)
                return
            finally:
                transport.abandon()
        read = ReadSlices("", self.fields, transport.size, "", "")
        for batch in read.batches(columns, transport.rank):
            nothing = pa.nulls(batch.num_rows, pa.string())
            yield pa.RecordBatch.from_arrays([*batch.columns, nothing], names=[*self.fields, TOLD])
        if transport.rank == 0:
            yield _row_that_tells(told, self.fields)

    def _needs_whole(self, error: BaseException) -> str:
        """What asked for edges of others, on this rank or another; "" if the run is not repeated."""
        if self.build != "auto":
            return ""
        if isinstance(error, WholeGraphError):
            return error.what.partition(",")[0]
        return "edges of other ranks are asked for" if _ASKED in getattr(error, "trace", "") else ""

    @contextmanager
    def _rendezvous(self, context: Any) -> Iterator[tuple[tuple[str, int], bytes]]:
        """The rendezvous: in the driver, or else in the first task, which stays until all have ended."""
        if self.meeting is not None:
            yield self.meeting
            return
        if context.partitionId():
            host, port, token = json.loads(context.allGather("")[0])
            yield (host, port), bytes.fromhex(token)
            return
        hosts = [info.address.rpartition(":")[0] for info in context.getTaskInfos()]
        host = "127.0.0.1" if len(set(hosts)) == 1 else hosts[0]
        with Rendezvous(self.workers, host=host, ranks_per_node=self.ranks_per_node) as one:
            context.allGather(json.dumps([*one.address, one.token.hex()]))
            yield one.address, one.token
            one.wait_for_end()

    def _run(self, held: list[Any], transport: Transport) -> tuple[dict[str, Any], str]:
        """The columns of the result, and the report of the run."""
        begun = time.perf_counter()
        own = arrow_columns(held, self.columns)
        del held[:]
        split = transport.nodes > 1 and self.build != "whole"
        slices = [own] if split else self._brought(own, transport)
        came = time.perf_counter()
        graph = self._split(own, transport) if split else self._whole(slices, transport)
        built = time.perf_counter()
        what = program_of(*self.named["program"]) if "program" in self.named else self.named["algorithm"]
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            result = self._ran(what, graph, transport.size)
        about = {"vertices": graph.vertices, "edges": graph.edges, "arcs": graph.arcs}
        if isinstance(graph, SplitGraph):
            own_part = graph.kept["parts", transport.size, "ranges"].part(transport.rank)
            about["most"] = int(transport.reduce(np.array([own_part.arcs]), "max")[0])
        run = {**reply_of(result), "warnings": [str(one.message) for one in said]}
        told = json.dumps({"graph": about, "came": came - begun, "built": built - came, "run": run})
        return {"vertex": result.ids, **{name: result[name] for name in result.values}}, told

    def _whole(self, slices: list[dict[str, Any]], transport: Transport) -> Graph:
        """The whole graph, which the ranks of a host share."""
        message = {
            "source": self.columns.source, "target": self.columns.target, "columns": list(self.columns.values),
            "names": self.columns.values, **self.options,
        }  # fmt: skip
        return share_graph(transport, lambda: _built(slices, message))

    def _split(self, own: dict[str, Any], transport: Transport) -> Graph:
        """The graph in parts, of which this rank has one."""
        columns, text = self.columns, self.columns.id_type == "string"
        values = {name: own[given] for given, name in columns.values.items()}
        return split_graph(
            transport, own[columns.source], own[columns.target], values, text=text, name="spark", **self.options
        )

    def _ran(self, what: str | Program, graph: Graph, workers: int) -> Any:
        if self.agents is None:
            return called(what, graph, self.arguments)
        from arcflux.plug.upper import gas

        return gas.run(graph, what, workers=workers, **self.agents, **self.arguments)

    def _brought(self, own: dict[str, Any], transport: Transport) -> list[dict[str, Any]]:
        """The slices of all ranks, at the leader of each node; nothing elsewhere."""
        said, descriptor = pack(own)
        raw = map_shared(descriptor)
        os.close(descriptor)
        head = np.frombuffer(json.dumps(said).encode(), np.uint8)
        for leader in transport.leaders:
            transport.post(leader, [np.array([len(head)]), head, raw], _SLICE_TAG)
        slices = []
        for rank in range(transport.size) if transport.place == 0 else ():
            came = transport.collect(rank, _SLICE_TAG)
            length = int(came[:8].view(np.int64)[0])
            memory = came[8 + length :].copy()  # aligned for any dtype
            slices.append(columns_of(json.loads(came[8 : 8 + length].tobytes()), [memory]))
        transport.finish()
        return slices


def _built(slices: list[dict[str, Any]], message: dict[str, Any]) -> Graph:
    from arcflux.plug.service import assembled

    return assembled("spark", slices, message)


def _row_that_tells(told: str, fields: Fields) -> Any:
    """A batch of one row without values, for the report."""
    import pyarrow as pa

    nulls = [pa.nulls(1, arrow_type(kind)) for kind in fields.values()]
    return pa.RecordBatch.from_arrays([*nulls, pa.array([told])], names=[*fields, TOLD])

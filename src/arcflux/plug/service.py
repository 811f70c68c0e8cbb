"""A daemon's requests for whole graphs: columns come in, a graph is built and kept, algorithms run, results go out.

A graph is assembled from *slices*: each is a set of columns that one task has sent, by its number. A repeated slice (of
a repeated task) replaces the earlier one.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import arcflux
from arcflux.algorithms.registry import find
from arcflux.errors import UsageError, did_you_mean
from arcflux.graph import Graph
from arcflux.plug.memory import columns_of, map_shared, open_file, pack
from arcflux.plug.program_text import program_of
from arcflux.result import Result

__all__ = ["Service", "assembled"]

Message = dict[str, Any]
Reply = tuple[Message, list[int]]


@dataclass
class _Kept:
    """A result, and its columns after the first request for them."""

    result: Result
    columns: list[Message] = field(default_factory=list)
    descriptor: int = -1
    mark: str = field(default_factory=lambda: f"arcflux-{secrets.token_hex(16)}")


class Service:
    """The graphs and results of one daemon, and the requests on them, by name."""

    def __init__(self, folder: Path, device: str) -> None:
        self.folder, self.device = folder, device
        self.slices: dict[str, dict[int, dict[str, Any]]] = {}
        self.graphs: dict[str, Graph] = {}
        self.results: dict[str, _Kept] = {}
        self.computing = threading.Lock()  # one device runs one thing at a time
        self.guard = threading.Lock()
        self.began, self.runs, self.builds, self.seconds = time.time(), 0, 0, 0.0
        self.requests: dict[str, Callable[[Message, list[int]], Reply]] = {
            "put": self._put, "build": self._build, "load": self._load, "run": self._run, "fetch": self._fetch,
            "drop": self._drop, "stats": self._stats, "locate": self._locate,
        }  # fmt: skip

    def _put(self, message: Message, descriptors: list[int]) -> Reply:
        """Keep a slice of a graph: columns in memory that was sent, or in files of the daemon's folder."""
        files = message.get("files", [])
        memories = [map_shared(one) for one in descriptors] + [open_file(self.folder, str(name)) for name in files]
        columns = columns_of(message["columns"], memories)
        sizes = {len(column) for column in columns.values()}
        if len(sizes) > 1:
            raise UsageError(f"the columns of a slice have {sorted(sizes)} rows", expected="as many in each")
        with self.guard:
            self.slices.setdefault(_text(message, "graph"), {})[_whole(message, "slice")] = columns
        return {"rows": sizes.pop() if sizes else 0}, []

    def _build(self, message: Message, descriptors: list[int]) -> Reply:
        """Build a graph of its slices; all must be there, if their number is given."""
        name = _text(message, "graph")
        with self.guard:
            slices = dict(self.slices.get(name, {}))
        wanted = message.get("slices")
        missing = [number for number in range(wanted or 0) if number not in slices]
        if missing:
            raise UsageError(
                f"slice {missing[0]} of graph {name!r} has not come", expected=f"{wanted} slices, from 0 on"
            )
        ordered = [slices[number] for number in sorted(slices)]
        begun = time.perf_counter()
        more = message.get("vertices_of")
        with self.guard:
            others = [] if more is None else list(self.slices.pop(_text({"graph": more[0]}, "graph"), {}).values())
        with self.computing:
            graph = assembled(name, ordered, message, [one[more[1]] for one in others] if more else None)
        self._keep(name, graph)
        with self.guard:
            self.slices.pop(name, None)
            self.builds += 1
        return {**_about(graph), "seconds": time.perf_counter() - begun}, []

    def _load(self, message: Message, descriptors: list[int]) -> Reply:
        """Load a graph from a file that the daemon can read, or a generator's spec."""
        begun = time.perf_counter()
        with self.computing:
            graph = arcflux.load(_text(message, "source"), **message.get("options", {}))
        self._keep(_text(message, "graph"), graph)
        return {**_about(graph), "seconds": time.perf_counter() - begun}, []

    def _keep(self, name: str, graph: Graph) -> None:
        with self.guard:
            self.graphs[name] = graph

    def graph(self, name: str) -> Graph:
        """A stored graph."""
        with self.guard:
            found = self.graphs.get(name)
        if found is None:
            raise UsageError(
                f"the daemon has no graph {name!r}",
                expected=f"one of: {', '.join(self.graphs) or 'none yet'}",
                remedy=did_you_mean(name, self.graphs, "build it first"),
            )
        return found

    def _run(self, message: Message, descriptors: list[int]) -> Reply:
        """Run an algorithm by its name, or a program by its text, and keep the result."""
        graph, arguments = self.graph(_text(message, "graph")), dict(message.get("arguments", {}))
        if self.device != "cpu":
            arguments.setdefault("devices", self.device)
        call = _called(message)
        with self.computing, warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            result = call(graph, **arguments)
        with self.guard:
            self._forget(_text(message, "result"))
            self.results[_text(message, "result")] = _Kept(result)
            self.runs, self.seconds = self.runs + 1, self.seconds + result.seconds
        return {
            "fields": {name: [str(values.dtype), *values.shape[1:]] for name, values in result.values.items()},
            "references": sorted(result.references), "vertices": result.graph.vertices, "seconds": result.seconds,
            "compile_seconds": result.compile_seconds, "supersteps": result.supersteps, "converged": result.converged,
            "totals": {name: np.asarray(value).tolist() for name, value in result.totals.items()},
            "warnings": [str(one.message) for one in said],
        }, []  # fmt: skip

    def _fetch(self, message: Message, descriptors: list[int]) -> Reply:
        """The ids and fields of a result, in memory that is packed once and sent to every agent that asks."""
        with self.guard:
            kept = self._packed(_text(message, "result"))
            return {"columns": kept.columns}, [os.dup(kept.descriptor)]

    def _locate(self, message: Message, descriptors: list[int]) -> Reply:
        """The same for processes that cannot receive a descriptor, such as a JVM: the path of the memory in /proc."""
        with self.guard:
            kept = self._packed(_text(message, "result"))
            place = f"/proc/{os.getpid()}/fd/{kept.descriptor}"
            return {"columns": kept.columns, "place": place, "mark": kept.mark}, []

    def _packed(self, name: str) -> _Kept:
        kept = self.results.get(name)
        if kept is None:
            raise UsageError(f"the daemon has no result {name!r}", remedy="run it again")
        if kept.descriptor < 0:
            fields = {name: kept.result[name] for name in kept.result.values}
            columns = {"vertex": kept.result.ids, **_without_none(fields)}
            kept.columns, kept.descriptor = pack(columns, kept.mark)
        return kept

    def _drop(self, message: Message, descriptors: list[int]) -> Reply:
        """Drop a graph, its slices, or a result; missing ones are no error."""
        with self.guard:
            if "graph" in message:
                self.graphs.pop(message["graph"], None)
                self.slices.pop(message["graph"], None)
            if "result" in message:
                self._forget(message["result"])
        return {}, []

    def _forget(self, name: str) -> None:
        kept = self.results.pop(name, None)
        if kept is not None and kept.descriptor >= 0:
            os.close(kept.descriptor)

    def _stats(self, message: Message, descriptors: list[int]) -> Reply:
        with self.guard:
            graphs = {name: {**_about(graph), "bytes": graph.memory} for name, graph in self.graphs.items()}
            return {
                "process": os.getpid(), "device": self.device, "up_seconds": time.time() - self.began,
                "graphs": graphs, "results": sorted(self.results), "runs": self.runs, "builds": self.builds,
                "run_seconds": self.seconds, "slices": {name: len(found) for name, found in self.slices.items()},
            }, []  # fmt: skip


def _called(message: Message) -> Callable[..., Result]:
    program = message.get("program")
    if program is None:
        name = _text(message, "algorithm")
        application = getattr(arcflux.applications, name, None) if name in arcflux.applications.__all__ else None
        return application if callable(application) else find(name).call
    found = program_of(_text(program, "text"), _text(program, "name"))
    return lambda graph, **arguments: arcflux.run(found, graph, **arguments)


def assembled(
    name: str, slices: list[dict[str, Any]], message: Message, others: list[Any] | None = None
) -> Graph:  # fmt: skip
    """The graph of these slices; `others` are ids of vertices that may have no edge."""
    source, target = message.get("source", "source"), message.get("target", "target")
    columns = message.get("columns", [])
    for wanted in (source, target, *columns):
        if any(wanted not in one for one in slices):
            known = ", ".join(slices[0])
            raise UsageError(f"a slice of graph {name!r} has no column {wanted!r}", expected=f"one of: {known}")
    given = {option: message[option] for option in _OPTIONS if option in message}
    vertices = message.get("vertices")
    if isinstance(vertices, str):
        vertices = _joined([one[vertices] for one in slices])
    names = message.get("names", {})  # of columns with another name in the graph than in the slices
    ends = _joined([one[source] for one in slices]), _joined([one[target] for one in slices])
    if others is not None:
        vertices = np.unique(_joined([*others, *ends]))
    return Graph.from_edges(
        *ends,
        columns={names.get(column, column): _joined([one[column] for one in slices]) for column in columns},
        vertices=vertices, name=name, **given,
    )  # fmt: skip


_OPTIONS = ("directed", "symmetrise", "deduplicate", "drop_self_loops")


def _joined(parts: list[Any]) -> Any:
    """One array of the slices of a column."""
    arrays = [part if isinstance(part, np.ndarray) else part.to_numpy(zero_copy_only=False) for part in parts]
    arrays = [array for array in arrays if len(array)] or arrays[:1]
    kinds = {array.dtype.kind == "O" for array in arrays}
    if len(kinds) > 1:
        raise UsageError("some slices have text where others have numbers", expected="one type of ids in all of them")
    if not arrays:
        return np.zeros(0, np.int64)
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _without_none(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Replace None, a missing reference among text ids, by ""."""
    return {
        name: np.array(["" if one is None else one for one in values], object) if values.dtype == object else values
        for name, values in fields.items()
    }


def _about(graph: Graph) -> Message:
    return {"vertices": graph.vertices, "edges": graph.edges, "arcs": graph.arcs, "directed": graph.directed}


def _text(message: Mapping[str, Any], name: str) -> str:
    value = message.get(name)
    if not isinstance(value, str) or not value:
        raise UsageError(f"{name} of a request is {value!r}", expected="text")
    return value


def _whole(message: Mapping[str, Any], name: str) -> int:
    value = message.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise UsageError(f"{name} of a request is {value!r}", expected="a whole number from 0 on")
    return value

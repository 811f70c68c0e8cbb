"""The agent of a node: sends blocks of its tables to daemons, and merges the results (GX-Plug, II, IV).

The upper system calls ``connect() transfer() update() requestGen() requestMerge() requestApply() disconnect()`` in the
order of its computation model, and does everything else itself: its own copy of the vertices, communication between
nodes, termination. An agent has one or more daemons, possibly of different devices, and gives each its share
(balance.py).
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.engine.totals import identity
from arcflux.errors import UsageError
from arcflux.plug.balance import shares
from arcflux.plug.block_size import best_blocks
from arcflux.plug.connection import Connection
from arcflux.plug.control import RuntimeControl
from arcflux.plug.fill import ApplyBatch, Batch, GenBatch, MergeBatch, Records, joined, taken
from arcflux.plug.kernels import count_edges
from arcflux.plug.pipeline import Pipeline
from arcflux.plug.tables import Tables
from arcflux.plug.template import Template

__all__ = ["Agent", "Blocks", "Records"]

Array = NDArray[Any]
# The size of blocks before any measurement: about a mebibyte of triplets.
_FIRST = 1 << 16
# The share of a first iteration that is divided equally among daemons of unknown cost; the rest is divided by cost.
_PROBE = 16


@dataclass(frozen=True)
class Blocks:
    """How triplets go to daemons.

    capacity: the most triplets of a block; size: the triplets of a block, a number, "best" (by measurements, with
    equation 1 and the cost of every cycle) or "lemma" (by measurements, with Lemma 1); pipelined: three chunks at once,
    or one after another.
    """

    capacity: int = 1 << 17
    size: int | str = "best"
    pipelined: bool = True

    def __post_init__(self) -> None:
        if self.size not in ("best", "lemma") and not (isinstance(self.size, int) and self.size > 0):
            raise UsageError(f"size of blocks is {self.size!r}", expected="'best', 'lemma', or how many triplets")
        if not isinstance(self.capacity, int) or self.capacity < 1:
            raise UsageError(f"capacity of blocks is {self.capacity!r}", expected="how many triplets, from 1 on")


@dataclass
class _Daemon:
    """A daemon of this node: a connection, its pipeline, and its measured seconds per triplet (c_j)."""

    name: str
    connection: Connection
    pipeline: Pipeline | None = None
    seconds: float = 0.0
    triplets: int = 0

    @property
    def cost(self) -> float:
        """c_j, measured seconds per triplet; 1 before any measurement."""
        return self.seconds / self.triplets if self.triplets else 1.0


class Agent:
    """The agent of one node.

    Parameters
    ----------
    daemons
        Names of daemons, such as ``["cpu"]`` or ``["cpu", "virtual:2"]``.
    order
        The computation model: "bsp", "gas" or "async".
    blocks
        How triplets go to daemons.
    """

    def __init__(
        self,
        daemons: Sequence[str] = ("cpu",),
        *,
        order: str = "bsp",
        blocks: Blocks | None = None,
        folder: str | os.PathLike[str] | None = None,
        lease: float | None = None,
        threads: int | None = None,
    ) -> None:
        if not daemons:
            raise UsageError("an agent has no daemon", expected="one or more, such as ['cpu']")
        self.names, self.folder, self.lease, self.threads = list(daemons), folder, lease, threads
        self.blocks = blocks or Blocks()
        self.control = RuntimeControl(order)
        self.daemons: list[_Daemon] = []
        self.step, self.residual = 0, 0.0
        self.totals: dict[str, Any] = {}
        self.brought: dict[str, Any] = {}
        self.seconds = {"gen": 0.0, "merge": 0.0, "apply": 0.0, "start": 0.0}

    # --- life -----------------------------------------------------------------------------------------------------

    def connect(self) -> Agent:
        """Connect to the daemons; those that do not run are started."""
        self.control.call("connect")
        self.daemons = [_Daemon(name, Connection.open(name, self.folder, lease=self.lease)) for name in self.names]
        return self

    def transfer(self, template: Template, tables: Tables) -> None:
        """Send the program and the graph's properties: daemons compile the program, and allocate memory for blocks."""
        self.control.call("transfer")
        self.template, self.tables = template, tables
        capacity = self._capacity()
        for daemon in self.daemons:
            if daemon.pipeline is not None:
                daemon.pipeline.close()
            daemon.pipeline = Pipeline(daemon.connection, template, capacity, self.threads)
        size = len(tables)
        for name, (dtype, length) in template.lowered.fields.items():
            shape = (size,) if length is None else (size, length)
            tables.values.setdefault(name, np.zeros(shape, dtype))
        self.hit = np.zeros(size, np.uint8)
        self.accumulators: dict[str, Array] = {}
        for name in template.reduced:
            made = np.empty_like(tables.values[name])
            made[:] = self._nothing(name)
            self.accumulators[name] = made
        self.locks = {name: np.zeros(size, np.uint8) for name in template.lowered.fields if name.startswith("0")}
        self.messages: list[Records] = []
        self.slots = [np.full(size, -1, np.int64) for _ in self.daemons]
        self._warm()

    def _warm(self) -> None:
        """Compile the agent's own kernels before anything is measured."""
        none, control = np.zeros(0, np.int64), np.zeros(16, np.int64)
        count_edges(0, 1, control, none, self.tables.offsets, np.zeros(1, np.int64))
        if self.template.reduced:
            self.reduce(none, {name: self.accumulators[name][:0] for name in self.template.reduced}, self.hit[:0])

    def _capacity(self) -> int:
        """Triplets of a block; if vertices see lists, a block has to hold the longest."""
        longest = int(self.tables.in_degrees.max(initial=1)) if self.template.lists else 1
        return max(self.blocks.capacity, longest)

    def update(self, values: Mapping[str, Array], which: Array | None = None) -> None:
        """Take over values of vertices from the upper system: by field, of all local vertices or of these."""
        self.control.call("update")
        for name, given in values.items():
            if name not in self.tables.values:
                raise UsageError(f"{self.template.program.name} has no field {name!r}",
                                 expected=f"one of: {', '.join(self.tables.values)}")  # fmt: skip
            self.tables.values[name][slice(None) if which is None else which] = given

    @property
    def cost(self) -> float:
        """c_j of this node: measured seconds per triplet with all of its daemons; NaN before any measurement."""
        known = [1.0 / one.cost for one in self.daemons if one.triplets]
        return 1.0 / sum(known) if known else math.nan

    def disconnect(self) -> None:
        """Disconnect from the daemons, which keep running."""
        self.control.call("disconnect")
        for daemon in self.daemons:
            if daemon.pipeline is not None:
                daemon.pipeline.close()
            daemon.connection.close()
        self.daemons = []

    def __enter__(self) -> Agent:
        return self.connect()

    def __exit__(self, *_: object) -> None:
        if self.control.connected:
            self.disconnect()

    # --- the operations -------------------------------------------------------------------------------------------

    def begin(self, which: Array) -> Array:
        """Run `start` on these vertices; returns those that send at first. Contributions to totals are in `brought`."""
        return self._apply("start", which)

    def requestGen(self, senders: Array) -> int:
        """MSGGen on the out-edges of these vertices, whose messages wait for receivers; the number of triplets.

        :meth:`outgoing` returns those for vertices of other nodes.
        """
        self.control.call("gen")
        begun = time.perf_counter()
        senders = self.tables.senders(senders)
        starts = np.zeros(len(senders) + 1, np.int64)
        count_edges(0, 1, np.zeros(16, np.int64), senders, self.tables.offsets, starts)
        total = int(starts[-1])
        self._on_all("gen", total, lambda number, first, last: GenBatch(self, number, first, last, senders, starts))
        self.seconds["gen"] += time.perf_counter() - begun
        return total

    def requestMerge(self, records: Records) -> None:
        """MSGMerge: reduce messages that other nodes sent for vertices of this one."""
        self.control.call("merge")
        begun = time.perf_counter()
        if self.template.lists:
            self.messages.append(records)
        elif len(records):
            order = np.argsort(records.targets, kind="stable")
            values = {name: column[order] for name, column in records.values.items()}
            ordered = Records(records.targets[order], values)
            self._on_all("merge", len(ordered), lambda number, first, last: MergeBatch(self, first, last, ordered))
        self.seconds["merge"] += time.perf_counter() - begun

    def requestApply(self, which: Array) -> Array:
        """MSGApply on these vertices, in a sparse program those with messages; returns those that send next."""
        self.control.call("apply")
        return self._apply("apply", which)

    def _apply(self, operation: str, which: Array) -> Array:
        begun = time.perf_counter()
        if self.template.lists and operation == "apply":
            self._sort_messages(which)
        moved = np.zeros(len(which), np.bool_)
        brought = self._on_all(
            operation, len(which), lambda number, first, last: ApplyBatch(self, operation, first, last, which, moved)
        )
        self.brought = self.template.combined(brought) if brought else self.template.combined([])
        self.residual = sum(one["residual"] for one in brought)
        for name, array in self.accumulators.items():
            array[which] = self._nothing(name)
        self.hit[which] = 0
        self.messages = []
        self.seconds[operation] += time.perf_counter() - begun
        return which[moved]

    # --- blocks ---------------------------------------------------------------------------------------------------

    def _on_all(self, operation: str, total: int, work: Callable[[int, int, int], Batch]) -> list[Any]:
        """Divide the work among the daemons, and wait for all; returns what each contributed."""
        unknown = operation == "gen" and len(self.daemons) > 1 and not all(one.triplets for one in self.daemons)
        probed = total // _PROBE if unknown and total >= _FIRST else 0
        return self._shared(operation, 0, probed, work) + self._shared(operation, probed, total, work)

    def _shared(self, operation: str, start: int, stop: int, work: Callable[[int, int, int], Batch]) -> list[Any]:
        """The same for a range of the work."""
        bounds = start + shares([daemon.cost for daemon in self.daemons], stop - start)
        ranges = [(k, int(bounds[k]), int(bounds[k + 1])) for k in range(len(self.daemons))]
        ranges = [one for one in ranges if one[2] > one[1]]
        if len(ranges) <= 1:
            return [self._on_one(operation, self.daemons[k], work(k, first, last)) for k, first, last in ranges]
        answers: list[Any] = [None] * len(ranges)

        def serve(place: int, k: int, first: int, last: int) -> None:
            try:
                answers[place] = self._on_one(operation, self.daemons[k], work(k, first, last))
            except BaseException as error:
                answers[place] = error

        threads = [threading.Thread(target=serve, args=(place, *one)) for place, one in enumerate(ranges)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
        return answers

    def _on_one(self, operation: str, daemon: _Daemon, work: Batch) -> Any:
        assert daemon.pipeline is not None
        work.size = self._block_size(operation, daemon.pipeline, work.last - work.first)
        begun = time.perf_counter()
        totals = {name: np.asarray(value).tolist() for name, value in self.totals.items()}
        brought = daemon.pipeline.run(
            operation, work.fill, work.take, step=self.step, totals=totals, pipelined=self.blocks.pipelined,
            single=work.last - work.first <= work.size,
        )  # fmt: skip
        if operation == "gen":
            daemon.seconds += time.perf_counter() - begun
            daemon.triplets += work.last - work.first
        return brought

    def _block_size(self, operation: str, pipeline: Pipeline, total: int) -> int:
        """The triplets of a block: as asked for, or by the measurements so far."""
        if isinstance(self.blocks.size, int):
            return min(self.blocks.size, pipeline.capacity)
        seen = pipeline.estimate(operation)
        if not seen.known:
            return min(_FIRST, pipeline.capacity)
        count = best_blocks(total, seen.rates(), lemma=self.blocks.size == "lemma")
        return min(-(-total // count), pipeline.capacity)

    # --- tables ---------------------------------------------------------------------------------------------------

    def _nothing(self, name: str) -> Any:
        dtype, _ = self.template.lowered.fields[name]
        return identity(self.template.lowered.reductions[name].operation, dtype)

    def reduce(self, targets: Array, values: Mapping[str, Array], came: Array) -> None:
        """Reduce values into the accumulators of vertices; several threads may do so at once."""
        given: dict[str, Any] = {"targets": targets, "came": came, "hit": self.hit}
        given |= {f"x_{name}": column for name, column in values.items()}
        given |= {f"a_{name}": column for name, column in self.accumulators.items()}
        given |= {f"f_{name}": column for name, column in self.locks.items()}
        self.template.run("merge", len(targets), self.step, given)

    def outgoing(self) -> Records:
        """Remove and return the messages for vertices of other owners; those for own vertices stay."""
        if self.template.lists:
            return self._listed()
        away = np.flatnonzero((self.hit != 0) & ~self.tables.owned)
        made = Records(away, {name: array[away].copy() for name, array in self.accumulators.items()})
        for name, array in self.accumulators.items():
            array[away] = self._nothing(name)
        self.hit[away] = 0
        return made

    def _listed(self) -> Records:
        """Remove and return listed messages for vertices of other owners; those for own ones stay."""
        made = joined(self.messages)
        if made is None:
            return Records(np.zeros(0, np.int64), {})
        own = self.tables.owned[made.targets]
        self.messages = [taken(made, np.flatnonzero(own))]
        return taken(made, np.flatnonzero(~own))

    def _sort_messages(self, which: Array) -> None:
        """Sort messages by receiver, and store where those of each begin."""
        messages = joined(self.messages)
        targets = np.zeros(0, np.int64) if messages is None else messages.targets
        order = np.argsort(targets, kind="stable")
        self.sorted = taken(messages, order) if messages is not None else Records(targets, {})
        self.row_starts = np.searchsorted(targets[order], which, side="left")
        self.row_ends = np.searchsorted(targets[order], which, side="right")
        self.hit[targets] = 1

    def reached(self) -> Array:
        """Own vertices with messages since the last requestApply."""
        received = self.hit != 0
        for records in self.messages:
            received[records.targets] = True
        return np.flatnonzero(received & self.tables.owned)

"""The contents of the blocks of an operation, and their results: triplets, records, vertices.

Each is a pair of functions that the threads of a pipeline call: `fill` downloads a block into a chunk, `take` uploads
the daemon's results. Blocks of one daemon go from `first` to before `last`, `size` at a time.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from arcflux.plug.kernels import join_block
from arcflux.plug.tables import Tables
from arcflux.plug.template import BLOCK, COUNT, VERTICES, Template, Views

__all__ = ["ApplyBatch", "Batch", "GenBatch", "Holder", "MergeBatch", "Records", "joined", "taken"]

Array = NDArray[Any]


@dataclass
class Records:
    """What was reduced, or listed, for vertices: their local numbers, and the values by field (or message)."""

    targets: Array
    values: dict[str, Array]

    def __len__(self) -> int:
        return len(self.targets)


def joined(records: Sequence[Records]) -> Records | None:
    """All of these as one; None if there are none."""
    given = [one for one in records if len(one)]
    if not given:
        return None
    names = given[0].values
    return Records(
        np.concatenate([one.targets for one in given]),
        {name: np.concatenate([one.values[name] for one in given]) for name in names},
    )


def taken(records: Records, which: Array) -> Records:
    """Some of these."""
    return Records(records.targets[which], {name: column[which] for name, column in records.values.items()})


class Holder(Protocol):
    """What a batch uses of its agent: the tables, the accumulators, and the rows of listed messages."""

    tables: Tables
    template: Template
    hit: Array
    accumulators: dict[str, Array]
    messages: list[Records]
    slots: list[Array]
    sorted: Records
    row_starts: Array
    row_ends: Array

    def reduce(self, targets: Array, values: Mapping[str, Array], came: Array) -> None:
        """Reduce values into the accumulators of vertices."""


@dataclass
class Batch:
    """Blocks of one operation for one daemon: from `first` to before `last`, `size` at a time."""

    agent: Holder
    first: int
    last: int
    size: int = field(default=1, init=False)

    def span(self, number: int) -> tuple[int, int]:
        """Where a block begins and ends."""
        begin = self.first + number * self.size
        return begin, min(begin + self.size, self.last)

    def fill(self, number: int, views: Views) -> bool:
        """Fill a block into a chunk; False if none is left."""
        raise NotImplementedError

    def take(self, views: Views) -> None:
        """Upload the results of a chunk."""
        raise NotImplementedError


def _vertices_into(agent: Holder, views: Views, which: Array, rows: int) -> None:
    """The vertices of a block: the fields that the program reads, from the table."""
    tables = agent.tables
    known = {"numbers": tables.numbers, "in_degrees": tables.in_degrees, "out_degrees": tables.out_degrees}
    for name, array in views.items():
        source = known.get(name) if name in known else tables.values.get(name[2:]) if name[:2] == "f_" else None
        if source is not None:
            np.take(source, which, axis=0, out=array[:rows], mode="clip")


class GenBatch(Batch):
    """Triplets: out-edges of senders, with both ends."""

    def __init__(self, agent: Holder, number: int, first: int, last: int, senders: Array, starts: Array) -> None:
        super().__init__(agent, first, last)
        self.senders, self.starts, self.slots = senders, starts, agent.slots[number]
        self.block_of: dict[int, Array] = {}
        self.guard = threading.Lock()

    def fill(self, number: int, views: Views) -> bool:
        """Fill a block into a chunk; False if none is left."""
        begin, end = self.span(number)
        if begin >= end:
            return False
        agent, count = self.agent, end - begin
        places, block = np.empty(count, np.int64), np.empty(2 * count, np.int64)
        control = np.zeros(16, np.int64)
        join_block(
            0, 1, control, begin, end, self.senders, self.starts, agent.tables.offsets, agent.tables.targets,
            self.slots, views["sources"], views["targets"], places, block,
        )  # fmt: skip
        block = block[: control[8]]
        for name in agent.template.lowered.columns:
            np.take(agent.tables.columns[name], places, out=views[f"c_{name}"][:count], mode="clip")
        _vertices_into(agent, views, block, len(block))
        views["header"][COUNT], views["header"][VERTICES] = count, len(block)
        self.block_of[number] = block
        return True

    def take(self, views: Views) -> None:
        """Upload the results of a chunk."""
        agent, header = self.agent, views["header"]
        block = self.block_of.pop(int(header[BLOCK]))
        if agent.template.lists:
            count = int(header[COUNT])
            columns = {name: array[:count].copy() for name, array in views.items() if name[:2] in ("x_", "c_")}
            with self.guard:
                agent.messages.append(Records(block[views["targets"][:count]], columns))
            return
        rows = len(block)
        values = {name: views[f"a_{name}"][:rows] for name in agent.template.reduced}
        agent.reduce(block, values, views["hit"][:rows])


class MergeBatch(Batch):
    """Records for vertices, sorted by vertex, so that those for one vertex are mostly in one block."""

    def __init__(self, agent: Holder, first: int, last: int, records: Records) -> None:
        super().__init__(agent, first, last)
        self.records = records
        self.block_of: dict[int, Array] = {}

    def fill(self, number: int, views: Views) -> bool:
        """Fill a block into a chunk; False if none is left."""
        begin, end = self.span(number)
        if begin >= end:
            return False
        block, places = np.unique(self.records.targets[begin:end], return_inverse=True)
        count = end - begin
        views["targets"][:count] = places
        views["came"][:count] = 1
        for name, column in self.records.values.items():
            views[f"x_{name}"][:count] = column[begin:end]
        views["header"][COUNT], views["header"][VERTICES] = count, len(block)
        self.block_of[number] = block
        return True

    def take(self, views: Views) -> None:
        """Upload the results of a chunk."""
        block = self.block_of.pop(int(views["header"][BLOCK]))
        values = {name: views[f"a_{name}"][: len(block)] for name in self.agent.template.reduced}
        self.agent.reduce(block, values, views["hit"][: len(block)])


class ApplyBatch(Batch):
    """Vertices with what was reduced for them; if they see lists, as many as have room for theirs."""

    def __init__(self, agent: Holder, operation: str, first: int, last: int, which: Array, moved: Array) -> None:
        super().__init__(agent, first, last)
        self.operation, self.which, self.moved = operation, which, moved
        self.spans: dict[int, tuple[int, int]] = {}
        self.next = first

    def fill(self, number: int, views: Views) -> bool:
        """Fill a block into a chunk; False if none is left."""
        begin = self.next
        end = min(begin + self.size, self.last)
        agent = self.agent
        lists = agent.template.lists and self.operation == "apply"
        if lists and begin < end:  # the lists of a block have to fit, too
            room = agent.row_starts[begin] + len(views["rows"]) - 1
            end = max(begin + 1, min(end, int(np.searchsorted(agent.row_ends, room, side="right"))))
        if begin >= end:
            return False
        which, count = self.which[begin:end], end - begin
        _vertices_into(agent, views, which, count)
        if self.operation == "apply":
            views["hit"][:count] = agent.hit[which]
            for name, array in agent.accumulators.items():
                views[f"a_{name}"][:count] = array[which]
        if lists:
            self._fill_lists(views, begin, end)
        views["header"][COUNT] = views["header"][VERTICES] = count
        self.spans[number], self.next = (begin, end), end
        return True

    def _fill_lists(self, views: Views, begin: int, end: int) -> None:
        agent = self.agent
        lengths = agent.row_ends[begin:end] - agent.row_starts[begin:end]
        rows = np.concatenate([[0], np.cumsum(lengths)])
        views["rows"][: len(rows)] = rows
        for name, column in agent.sorted.values.items():
            into = f"s_{name[2:]}" if name[:2] == "x_" else name
            if into in views:  # receivers are sorted, so lists are contiguous except for skipped ones
                places = np.repeat(agent.row_starts[begin:end] - rows[:-1], lengths) + np.arange(rows[-1])
                views[into][: rows[-1]] = column[places]

    def take(self, views: Views) -> None:
        """Upload the results of a chunk."""
        agent = self.agent
        begin, end = self.spans.pop(int(views["header"][BLOCK]))
        which, count = self.which[begin:end], end - begin
        for name in agent.template.applied:
            agent.tables.values[name][which] = views[f"f_{name}"][:count]
        self.moved[begin:end] = views["moved"][:count]

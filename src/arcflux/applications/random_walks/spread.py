"""Walks on a distributed graph: a worker has the rows of its own vertices, and walkers move between workers.

In every superstep all walkers take one step. A *visit* message (walk, vertex) brings a walker to the owner of its next
vertex; since all are at the same step, its number is not sent. A *record* (walk, vertex) stays where the visit was and
is sent at the end, in bulk and ordered by step, to the worker of the walk: 16 bytes a step in all, where the HIVE study
sends 24. node2vec's walkers carry the vertex before, whose owner is asked whether it is adjacent to the next: one
request and one byte of reply, unless the draw decides it already.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.applications.random_walks.method import Method, number_type
from arcflux.applications.traffic import Traffic
from arcflux.engine.worker import Worker

__all__ = ["Travellers", "travel", "walk_apart"]

Array = NDArray[Any]
_NONE = np.uint64(0xFFFFFFFFFFFFFFFF)


def walk_apart(worker: Worker, method: Method, traffic: Traffic) -> Array:
    """The walks of a worker's share, executed by all workers together."""
    return travel(_Walkers(worker, method, traffic))


class Travellers:
    """The walkers at a worker's own vertices: walks, at, before are uint64[n]."""

    carries_before = False

    def __init__(self, worker: Worker, starts: Array, walks: int, length: int, traffic: Traffic) -> None:
        self.worker, self.traffic, self.count, self.length = worker, traffic, walks, length
        self.cuts, (first, last) = worker.row_cuts, worker.share_of_rows()
        self.word = np.uint32 if max(worker.graph.vertices + 1, walks) < 1 << 32 else np.uint64
        self.rooms: dict[str, Array] = {}
        every = np.arange(walks, dtype=np.uint64)
        begins = starts.astype(np.uint64)[every % np.uint64(max(1, len(starts)))]
        mine = (begins >= first) & (begins < last)
        self.walks, self.at = every[mine], begins[mine]
        self.before = np.full(len(self.at), _NONE)

    def choose(self, step: int) -> tuple[Array, Array, Array]:
        """The next vertex of each walker, the one before that (_NONE: forgotten), and whether it goes on."""
        raise NotImplementedError

    def step(self, step: int) -> None:
        """Let every walker choose its next vertex, and move there."""
        goals, before, going = self.choose(step)
        with self.traffic.phase("visits"):
            self._move(self.walks[going], goals[going], before[going])

    def _move(self, walks: Array, goals: Array, before: Array) -> None:
        """Send walkers to their next owners, and receive those that arrive."""
        owner = np.searchsorted(self.cuts, goals, side="right") - 1
        order = np.argsort(owner, kind="stable")
        columns = [walks[order], goals[order], *([before[order]] if self.carries_before else [])]
        sent = np.stack(columns, 1).astype(self.word)
        ends = np.cumsum(np.bincount(owner, minlength=self.worker.size))[:-1]
        came = np.concatenate(self.worker.swap([piece.reshape(-1) for piece in np.split(sent, ends)]))
        rows = came.reshape(-1, len(columns)).astype(np.uint64)
        self.walks, self.at = rows[:, 0].copy(), rows[:, 1].copy()
        self.before = np.full(len(rows), _NONE)
        if self.carries_before:
            none = np.uint64(np.iinfo(self.word).max)
            self.before = np.where(rows[:, 2] == none, _NONE, rows[:, 2])

    def room(self, name: str, values: Array) -> Array:
        """Values in memory that the team shares, reused in every step."""
        room = self.rooms.get(name)
        if room is None or len(room) < len(values):
            room = self.rooms[name] = self.worker.cores.host(2 * len(values) + 64, values.dtype)
        self.worker.cores.publish(values, room[: len(values)])
        return room[: len(values)]


def travel(walkers: Travellers) -> Array:
    """The walks of a worker's share: all walkers go step by step, and leave records."""
    worker, records = walkers.worker, [(walkers.walks, walkers.at)]
    with worker.task("walks", walkers.length - 1, "steps") as task:
        for step in range(walkers.length - 1):
            worker.superstep(step)
            walkers.step(step)
            records.append((walkers.walks, walkers.at))
            task.at(step + 1)
    with walkers.traffic.phase("records"):
        return _collected(walkers, records)


class _Walkers(Travellers):
    """Those of random walks."""

    def __init__(self, worker: Worker, method: Method, traffic: Traffic) -> None:
        super().__init__(worker, method.starts, method.walks, method.length, traffic)
        self.kernels, self.method = worker.kernels("arcflux.applications.random_walks"), method
        self.table, self.near = method.table(worker, *worker.share_of_rows()), method.near(worker)
        self.carries_before = method.second

    def choose(self, step: int) -> tuple[Array, Array, Array]:
        """By the rule of the walks."""
        goals, states = self._choose(step)
        before = np.where(states == self.kernels.RESTARTED, _NONE, self.at)
        return goals, before, states != self.kernels.ENDED

    def _choose(self, step: int) -> tuple[Array, Array]:
        method, count, kernels = self.method, len(self.at), self.kernels
        given = {"walks": self.walks, "at": self.at, "before": self.before}
        shared = [self.room(name, values) for name, values in given.items()]
        trials = self.room("trials", np.zeros(count, np.uint64))
        goals, states = self.room("goals", np.zeros(count, np.uint64)), self.room("states", np.zeros(count, np.uint8))
        answers = np.full(count, kernels.UNASKED)
        while True:
            self.worker.cores.launch(
                kernels.go_on, 1 + count // 256, np.uint64(count), np.uint64(step), np.uint64(method.seed), *shared,
                trials, answers, method.starts, *self.worker.graph.out, self.table, method.weights, method.second,
                method.back, method.out, method.metapath, method.types, method.restart, goals, states,
            )  # fmt: skip
            self.worker.cores.together()
            if not method.second:
                break
            asking = np.flatnonzero(states == kernels.ASKS)
            answers = np.full(count, kernels.SETTLED)
            with self.traffic.phase("questions"):
                if not int(self.worker.sum(np.array([len(asking)]))[0]):
                    break
                answers[asking] = self._adjacent(self.before[asking], goals[asking])
            self.worker.cores.together()
        if method.second:
            self._read_rows(step, shared, goals, states)
        return goals.copy(), states.copy()

    def _read_rows(self, step: int, shared: list[Array], goals: Array, states: Array) -> None:
        """Walkers whose proposals were all refused request the adjacency of their whole row."""
        chosen = np.flatnonzero(states == self.kernels.SCANS)
        offsets, neighbours = self.worker.graph.out
        begins = offsets[self.at[chosen].astype(np.int64)].astype(np.int64)
        counts = offsets[self.at[chosen].astype(np.int64) + 1].astype(np.int64) - begins
        places = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        arcs = np.repeat(begins - places[:-1], counts) + np.arange(places[-1])
        with self.traffic.phase("questions"):
            known = self._adjacent(np.repeat(self.before[chosen], counts), neighbours[arcs].astype(np.uint64))
        method = self.method
        self.worker.cores.launch(
            self.kernels.scan_by_answers, 1 + len(chosen) // 16, chosen.astype(np.uint64), places.astype(np.uint64),
            known, np.uint64(step), np.uint64(method.seed), *shared, *self.worker.graph.out, method.weights,
            method.back, method.out, goals, states,
        )  # fmt: skip
        self.worker.cores.together()

    def _adjacent(self, tails: Array, heads: Array) -> Array:
        """Whether there is an edge from each tail to its head, looked up by the tails' owners; collective."""
        owner = np.searchsorted(self.cuts, tails, side="right") - 1
        order = np.argsort(owner, kind="stable")
        counts = np.bincount(owner, minlength=self.worker.size)
        asked = np.stack([tails[order], heads[order]], 1).astype(self.word)
        came = self.worker.swap([piece.reshape(-1) for piece in np.split(asked, np.cumsum(counts)[:-1])])
        pairs = np.concatenate(came).reshape(-1, 2)
        found = self.room("found", np.zeros(len(pairs), np.uint8))
        columns = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
        self.worker.cores.launch(self.kernels.adjacent, 1 + len(pairs) // 1024, *columns, *self.near, found)
        self.worker.cores.together()
        back = self.worker.swap(np.split(found.copy(), np.cumsum([len(piece) // 2 for piece in came])[:-1]))
        answers = np.empty(len(tails), np.uint8)
        answers[order] = np.concatenate(back)
        return answers


def _collected(walkers: Travellers, records: list[tuple[Array, Array]]) -> Array:
    """The walks of a worker's share, from the records of all workers, step by step."""
    worker, word = walkers.worker, walkers.word
    cuts = np.array(worker.shares.cuts(walkers.count))
    pieces: list[list[Array]] = [[] for _ in range(worker.size)]
    lengths = np.zeros((worker.size, len(records)), np.int64)
    for step, (walks, at) in enumerate(records):
        owner = np.searchsorted(cuts, walks, side="right") - 1
        order = np.argsort(owner, kind="stable")
        counts = np.bincount(owner, minlength=worker.size)
        lengths[:, step] = counts
        both = np.stack([walks[order], at[order]], 1).astype(word)
        for peer, piece in enumerate(np.split(both, np.cumsum(counts)[:-1])):
            pieces[peer].append(piece.reshape(-1))
    told = worker.swap(list(lengths))
    came = worker.swap([np.concatenate(some) for some in pieces])
    first, last = worker.share(walkers.count)
    out = np.full((last - first, walkers.length), -1, number_type(worker.graph))
    for counts, values in zip(told, came, strict=True):
        pairs = values.reshape(-1, 2)
        out[pairs[:, 0].astype(np.int64) - first, np.repeat(np.arange(len(counts)), counts)] = pairs[:, 1]
    return out

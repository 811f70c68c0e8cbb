"""One worker of the gas engine: the vertices it owns, mirrors of others, its agent, and what it tells others.

The upper system's own copy of a worker's vertices is `store`; the agent's table is a cache of it and of mirrors. What
workers tell each other goes through three queues, each a gathering of what all of them say: who has changed, the global
query queue of what is wanted, and the global data queue of what was asked for (algorithm 3).
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.engine.loop import tolerance_of
from arcflux.history import Superstep
from arcflux.partition.parts import Parts
from arcflux.plug.agent import Agent, Blocks, Records
from arcflux.plug.cache import Counts, VertexCache
from arcflux.plug.tables import Tables
from arcflux.plug.template import Template
from arcflux.transports.base import Transport

__all__ = ["Knobs", "Outcome", "Worker"]

Array = NDArray[Any]
_NOBODY = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Knobs:
    """What a run can be told; see gas.run."""

    asynchronous: bool
    cache: int | None
    lazy: bool
    skip: bool
    max_supersteps: int | None
    blocks: Blocks
    folder: str | os.PathLike[str] | None
    lease: float | None
    threads: int | None


@dataclass
class Outcome:
    """What a worker knows when all have ended: the values of all vertices, and how it went."""

    values: dict[str, Array]
    history: list[Superstep]
    converged: bool
    seconds: float
    prepared: float
    totals: dict[str, Any]
    counts: Counts
    seconds_by: dict[str, float]
    where: str


@dataclass
class _Iteration:
    """Where a worker is: which vertices send next, what has come for its own, whether all may go on by themselves."""

    number: int = -1
    moved: Array = field(default_factory=lambda: _NOBODY)
    mirrors: Array = field(default_factory=lambda: _NOBODY)
    incoming: Records = field(default_factory=lambda: Records(_NOBODY, {}))
    skipping: bool = False


class Worker:
    """A rank with its agent."""

    def __init__(
        self, ranks: Transport, parts: Parts, template: Template, values: Mapping[str, Array], daemons: Sequence[str],
        knobs: Knobs,
    ) -> None:  # fmt: skip
        begun = time.perf_counter()
        self.ranks, self.parts, self.template, self.knobs = ranks, parts, template, knobs
        self.tables = Tables.of_part(parts, ranks.rank, template.lowered.columns)
        order = "async" if knobs.asynchronous else "gas"
        self.agent = Agent(daemons, order=order, blocks=knobs.blocks, folder=knobs.folder, lease=knobs.lease,
                           threads=knobs.threads)  # fmt: skip
        self.own = np.flatnonzero(self.tables.owned)
        self.cache = VertexCache(len(self.tables), knobs.cache)
        self.counts = self.cache.counts
        self._look_around()
        self.agent.connect()
        try:
            self.agent.transfer(template, self.tables)
            self.agent.update({name: column[self.tables.numbers] for name, column in values.items()})
        except BaseException:
            self.agent.disconnect()
            raise
        self.store = {name: column.copy() for name, column in self.tables.values.items()}
        self.prepared = time.perf_counter() - begun
        self.seconds_by = {"exchange": 0.0, "synchronise": 0.0}

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        if self.agent.control.connected:
            self.agent.disconnect()

    def _look_around(self) -> None:
        """Which vertices of others this worker needs, which of its own others need, and which concern nobody else."""
        tables = self.tables
        sends = np.diff(tables.offsets) > 0
        wide = self.template.looks_at_targets
        self.borrowed = np.flatnonzero(~tables.owned & (sends | wide))
        wanted = [
            one for rank, one in enumerate(self._gather(tables.numbers[self.borrowed])) if rank != self.ranks.rank
        ]
        self.lent = np.zeros(len(tables), np.bool_)
        for numbers in wanted:
            here = numbers[tables.here(numbers)]
            self.lent[tables.local(here)] = True
        outward = np.bincount(
            np.repeat(np.arange(len(tables)), np.diff(tables.offsets)), weights=~tables.owned[tables.targets],
            minlength=len(tables),
        )  # fmt: skip
        self.inner = tables.owned & ~self.lent & (outward == 0)

    # --- the loop ---------------------------------------------------------------------------------------------------

    def run(self) -> Outcome:
        """Start, then iterate until nothing changes anywhere."""
        begun = time.perf_counter()
        history: list[Superstep] = []
        at, converged = _Iteration(), False
        at.moved = self._started()
        most = self.knobs.max_supersteps if self.knobs.max_supersteps is not None else 1_000_000
        self.touched = self.own
        self._synchronise(at)
        while at.number + 1 < most:
            began = time.perf_counter()
            at.number += 1
            self.agent.step = at.number
            sent = self._generate(at)
            moved = self._applied(at)
            extra = 0
            if self.template.any_order and (self.knobs.skip or self.knobs.asynchronous):
                moved, extra = self._go_on(at, moved)
            at.moved = moved
            changed, over, residual = self._agree(at, moved, extra)
            history.append(Superstep(at.number, "push", sent, residual, time.perf_counter() - began, changed,
                                     totals=self._shown_totals()))  # fmt: skip
            self._evicted(self.cache.age())
            if over or changed == 0:
                converged = True
                break
            if not at.skipping:
                self._synchronise(at)
            else:
                at.mirrors = _NOBODY
        return self._outcome(history, converged, time.perf_counter() - begun)

    def _started(self) -> Array:
        """The first state of own vertices; who sends at first. Gather and apply come first in turn: of nothing."""
        self.agent.requestMerge(Records(_NOBODY, {}))
        self.agent.requestApply(_NOBODY)
        moved = self.agent.begin(self.own)
        self._uploaded(self.own)
        self._evicted(self.cache.admit(self.own))
        self.agent.totals = self._totals()
        return self.own if self.template.dense else moved

    def _generate(self, at: _Iteration) -> int:
        """Gen of whoever sends; messages for others go to them, unless it is known that there are none."""
        senders = np.concatenate([at.moved, at.mirrors])
        if self.template.dense:
            senders = np.concatenate([self.own, self.borrowed])
        self._need(senders[self.tables.owned[senders]])
        sent = self.agent.requestGen(senders)
        at.incoming = Records(_NOBODY, {})
        if not at.skipping and self.ranks.size > 1:
            at.incoming = self._exchanged(self.agent.outgoing())
        return sent

    def _applied(self, at: _Iteration) -> Array:
        """Merge what has come, and apply it; who sends next."""
        self.agent.requestMerge(at.incoming)
        which = self.own if self.template.dense else self.agent.reached()
        self._need(which)
        moved = self.agent.requestApply(which)
        self.touched = which
        self._evicted(self.cache.change(which))
        self.counts.iterations += 1
        return moved

    def _go_on(self, at: _Iteration, moved: Array) -> tuple[Array, int]:
        """Iterate alone while what changed concerns nobody else; asynchronously, while anything changes here.

        Returns who still has to be told of, or sends next, and how many changed meanwhile.
        """
        alone = _Iteration(at.number, skipping=True)
        waiting, changed = np.zeros(len(self.tables), np.bool_), 0
        while len(moved):
            quiet = bool(self.inner[moved].all())
            if not quiet and not self.knobs.asynchronous:
                break
            waiting[moved[~self.inner[moved]]] = True
            alone.moved = moved
            self._generate(alone)
            moved = self._applied(alone)
            changed += len(moved)
            self.counts.skipped += 1
        waiting[moved] = True
        # Asynchronously, those that wait have sent along their edges here already; only mirrors elsewhere have not.
        return np.flatnonzero(waiting), changed

    def _agree(self, at: _Iteration, moved: Array, extra: int) -> tuple[int, bool, float]:
        """What all add up: how many changed, whether to stop, the residual; and whether any has to tell others."""
        dense = self.template.dense
        waiting = bool((self.agent.hit != 0).any()) if self.knobs.asynchronous else False
        told_of = dense or self.template.looks_at_targets
        quiet = self.knobs.skip and not told_of and not waiting and bool(self.inner[moved].all())
        told = np.array([len(moved) + waiting, extra, not quiet, self.agent.residual], np.float64)
        changed, _, loud, residual = self.ranks.reduce(told, "sum").tolist()
        at.skipping = not loud and self.ranks.size > 1
        if at.skipping:
            self.counts.skipped += 1
        over = "residual" in self.template.lowered.functions and residual < tolerance_of(self.template.lowered)
        self.agent.totals = self._totals()
        stop = self.template.program.functions.get("stop")
        if stop is not None:
            over = over or self._stops(at.number)
        return int(changed), over, residual

    def _stops(self, step: int) -> bool:
        from types import SimpleNamespace

        function, program = self.template.program.functions["stop"], self.template.program
        counts = dict(zip(("vertices", "edges", "arcs"), self.template.counts, strict=True))
        known = {
            "g": SimpleNamespace(**counts, **{name: _shown(value) for name, value in self.agent.totals.items()}),
            "p": SimpleNamespace(**{name: one.value for name, one in program.parameters.items()}),
            "step": step,
        }  # fmt: skip
        return bool(function.call(*(known[name] for name in function.arguments)))

    def _totals(self) -> dict[str, Any]:
        """Totals of all workers, in the order of these, so that all have the same bits."""
        names = list(self.template.lowered.totals)
        if not names:
            return {}
        columns = {name: self._gather(np.atleast_1d(self.agent.brought[name])) for name in names}
        each = [{name: columns[name][rank] if self.template.lowered.totals[name].length else columns[name][rank][0]
                 for name in names} for rank in range(self.ranks.size)]  # fmt: skip
        return self.template.combined(each)

    def _shown_totals(self) -> dict[str, Any]:
        return {name: _shown(value) for name, value in self.agent.totals.items()}

    # --- what workers tell each other -------------------------------------------------------------------------------

    def _named(self, local: Array) -> list[Array]:
        """Vertices that every worker names, by their numbers in the graph, as narrow as these are."""
        kind = np.uint32 if self.template.counts[0] < 1 << 32 else np.int64
        return [one.astype(np.int64) for one in self._gather(self.tables.numbers[local].astype(kind))]

    def _gather(self, values: Array) -> list[Array]:
        """What every worker says; bytes are counted where they leave."""
        if self.ranks.size == 1:
            return [values]
        self.counts.bytes += values.nbytes
        return [one.reshape(-1, *values.shape[1:]) for one in self.ranks.gather(np.ascontiguousarray(values))]

    def _exchanged(self, records: Records) -> Records:
        """Send what was generated for vertices of others to their owners; what has come for own ones."""
        begun = time.perf_counter()
        numbers = self._named(records.targets)
        values = self._gathered_columns(records)
        parts = []
        for rank, given in enumerate(numbers):
            if rank == self.ranks.rank or not len(given):
                continue
            here = np.flatnonzero(self.tables.here(given))
            local = self.tables.local(given[here])
            mine = self.tables.owned[local]
            parts.append(Records(local[mine], {name: column[rank][here[mine]] for name, column in values.items()}))
        self.seconds_by["exchange"] += time.perf_counter() - begun
        if not parts:
            return Records(_NOBODY, {})
        joined = {name: np.concatenate([one.values[name] for one in parts]) for name in parts[0].values}
        return Records(np.concatenate([one.targets for one in parts]), joined)

    def _gathered_columns(self, records: Records) -> dict[str, list[Array]]:
        """The values of records of all workers; a worker without records has columns of no rows."""
        template = self.template
        kinds = {name: template.lowered.fields[name] for name in template.reduced}
        if template.lists:
            kinds = {f"x_{one.name}": (one.dtype, one.length) for one in template.lowered.messages}
            kinds |= {f"c_{name}": (template.columns[name], None) for name in template.lowered.columns}
        empty = {
            name: np.zeros((0,) if length is None else (0, length), kind) for name, (kind, length) in kinds.items()
        }
        return {name: self._gather(records.values.get(name, none)) for name, none in empty.items()}

    def _synchronise(self, at: _Iteration) -> None:
        """Let mirrors know what has become of vertices: who has changed, what is wanted, and its values.

        Where messages are made of what receivers were, too, all that were applied to are told of; then who sends.
        """
        begun, wide = time.perf_counter(), self.template.looks_at_targets
        changed = self.touched if wide else at.moved
        self.counts.synchronisations += 1
        if self.ranks.size == 1:
            self._upload_all(changed)
            at.mirrors = _NOBODY
            return
        told = changed[self.lent[changed]] if self.knobs.lazy else changed
        notices = self._named(told)
        self._upload_all(changed)
        active = self._borrowed_of(notices)
        self.cache.forget(active)
        if wide:
            active = self._borrowed_of(self._named(at.moved[self.lent[at.moved]]))
        at.mirrors = active[np.diff(self.tables.offsets)[active] > 0]
        needed = self.borrowed if self.template.dense or wide else active
        missing = self.cache.miss(needed)
        if self.knobs.lazy:
            queue = np.unique(np.concatenate(self._named(missing)))
            own, owner = self._queried(queue), self.parts.owner[queue]
            self._fetch(missing, own, [queue[owner == rank] for rank in range(self.ranks.size)])
        else:
            self._fetch(missing, told, notices)
        self.seconds_by["synchronise"] += time.perf_counter() - begun

    def _upload_all(self, changed: Array) -> None:
        """Without laziness, everything that changed goes to the upper system at once."""
        if not self.knobs.lazy:
            self._uploaded(changed[self.cache.dirty[changed]])
        if self.knobs.cache == 0:  # nothing stays
            self._uploaded(np.flatnonzero(self.cache.dirty))

    def _queried(self, queue: Array) -> Array:
        """Own vertices that somebody has asked for; those that changed are uploaded for it."""
        here = self.tables.local(queue[self.tables.here(queue)])
        own = here[self.tables.owned[here]]
        self._uploaded(own[self.cache.dirty[own]])
        return own

    def _fetch(self, missing: Array, answered: Array, numbers: list[Array]) -> None:
        """The global data queue: owners put values in, whoever misses them takes them out.

        `numbers` are whose values each worker puts in: all know that from the queues before, so it is not said again.
        """
        names = self.template.sent
        columns = {name: self._gather(self.store[name][answered]) for name in names}
        every = np.concatenate(numbers)
        order = np.argsort(every, kind="stable")
        wanted = self.tables.numbers[missing]
        places = np.minimum(np.searchsorted(every[order], wanted), max(len(every) - 1, 0))
        found = every[order][places] == wanted if len(every) else np.zeros(len(missing), np.bool_)
        taken = missing[found]
        for name in names:
            self.tables.values[name][taken] = np.concatenate(columns[name])[order][places[found]]
        self.counts.downloaded += len(missing)  # what nobody has changed is as it was: it is downloaded, too
        self._evicted(self.cache.admit(missing))

    def _borrowed_of(self, notices: list[Array]) -> Array:
        """The mirrors here of vertices that others say have changed."""
        others = [one for rank, one in enumerate(notices) if rank != self.ranks.rank]
        numbers = np.concatenate(others) if others else _NOBODY
        local = self.tables.local(numbers[self.tables.here(numbers)])
        needed = np.zeros(len(self.tables), np.bool_)
        needed[self.borrowed] = True
        return np.unique(local[needed[local]])

    # --- between table and store ------------------------------------------------------------------------------------

    def _need(self, own: Array) -> None:
        """Own vertices that are about to be used are downloaded where they are not in the cache."""
        missing = self.cache.miss(own)
        for name, column in self.store.items():
            self.tables.values[name][missing] = column[missing]
        self.counts.downloaded += len(missing)
        self._evicted(self.cache.admit(missing))

    def _uploaded(self, which: Array) -> None:
        """Values of own vertices go to the upper system."""
        for name, column in self.store.items():
            column[which] = self.tables.values[name][which]
        self.counts.uploaded += len(which)
        self.cache.clean(which)

    def _evicted(self, dirty: Array) -> None:
        """Vertices that had to leave the cache with news."""
        self._uploaded(dirty)

    # --- the end ----------------------------------------------------------------------------------------------------

    def _outcome(self, history: list[Superstep], converged: bool, seconds: float) -> Outcome:
        """Every worker has all values: those of own vertices are uploaded, and gathered."""
        self._uploaded(self.own[self.cache.dirty[self.own]])
        counted = self.counts.as_array()
        numbers = self.ranks.gather(self.tables.numbers[self.own])
        values = {}
        for name in self.template.program.fields:
            parts = self.ranks.gather(np.ascontiguousarray(self.store[name][self.own]))
            whole = np.zeros((self.template.counts[0], *self.store[name].shape[1:]), self.store[name].dtype)
            for given, part in zip(numbers, parts, strict=True):
                whole[given] = part.reshape(len(given), *whole.shape[1:])
            values[name] = whole
        every = Counts.of_array(self.ranks.reduce(counted, "sum"))
        every.synchronisations //= self.ranks.size
        spent = {**self.agent.seconds, **self.seconds_by}
        totals = self._shown_totals()
        where = f"{self.ranks.size} workers, daemons {', '.join(self.agent.names)}, parts by {self.parts.how}"
        return Outcome(values, history, converged, seconds, self.prepared, totals, every, spent, where)


def _shown(value: Any) -> Any:
    return value.item() if np.ndim(value) == 0 and hasattr(value, "item") else value

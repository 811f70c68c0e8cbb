"""Vertices of a worker that others mirror, and its mirrors of theirs: the communication between workers.

`store` is the upper system's own copy of a worker's vertices; the agent's table is a cache of it and of mirrors.
Workers communicate through three queues, each a gather over all workers: which vertices changed, the global query queue
of requested vertices, and the global data queue of their values (GX-Plug, algorithm 3).
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.partition.parts import Parts
from arcflux.plug.cache import VertexCache
from arcflux.plug.fill import Records
from arcflux.plug.tables import Tables
from arcflux.plug.template import Template
from arcflux.transports.base import Transport

__all__ = ["Mirrors"]

Array = NDArray[Any]
_NOBODY = np.zeros(0, np.int64)


class Mirrors:
    """The mirrors of other workers' vertices here, and of this worker's vertices elsewhere.

    Attributes
    ----------
    borrowed: int64
        Local numbers of other workers' vertices that send along edges here.
    lent, inner: bool[L]
        Own vertices that others have borrowed; own vertices whose edges are all here, and lead to own vertices.
    """

    def __init__(
        self, ranks: Transport, parts: Parts, template: Template, tables: Tables, cache: int | None, lazy: bool
    ) -> None:
        self.ranks, self.parts, self.template, self.tables, self.lazy = ranks, parts, template, tables, lazy
        self.keeps_none = cache == 0
        self.cache = VertexCache(len(tables), cache)
        self.counts = self.cache.counts
        self.store: dict[str, Array] = {}
        self.seconds_by = {"exchange": 0.0, "synchronise": 0.0}
        self._look_around()

    def take_over(self) -> None:
        """Initialise the upper system's copy from the table."""
        self.store = {name: column.copy() for name, column in self.tables.values.items()}

    def _look_around(self) -> None:
        """Determine the vertices of others that are needed here, own ones needed elsewhere, and those that are not."""
        tables = self.tables
        sends = np.diff(tables.offsets) > 0
        wide = self.template.looks_at_targets
        self.borrowed = np.flatnonzero(~tables.owned & (sends | wide))
        wanted = [one for rank, one in enumerate(self.gather(tables.numbers[self.borrowed])) if rank != self.ranks.rank]
        self.lent = np.zeros(len(tables), np.bool_)
        for numbers in wanted:
            here = numbers[tables.here(numbers)]
            self.lent[tables.local(here)] = True
        outward = np.bincount(
            np.repeat(np.arange(len(tables)), np.diff(tables.offsets)), weights=~tables.owned[tables.targets],
            minlength=len(tables),
        )  # fmt: skip
        self.inner = tables.owned & ~self.lent & (outward == 0)

    def named(self, local: Array) -> list[Array]:
        """The vertices that each worker names, by their numbers in the graph, in the narrowest type."""
        kind = np.uint32 if self.template.counts[0] < 1 << 32 else np.int64
        return [one.astype(np.int64) for one in self.gather(self.tables.numbers[local].astype(kind))]

    def gather(self, values: Array) -> list[Array]:
        """The values of every worker; bytes are counted where they are sent."""
        if self.ranks.size == 1:
            return [values]
        self.counts.bytes += values.nbytes
        return [one.reshape(-1, *values.shape[1:]) for one in self.ranks.gather(np.ascontiguousarray(values))]

    def exchange(self, records: Records) -> Records:
        """Send messages for other workers' vertices to their owners; returns those received for own vertices."""
        begun = time.perf_counter()
        numbers = self.named(records.targets)
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
        """The values of records of all workers; a worker without records has empty columns."""
        template = self.template
        kinds = {name: template.lowered.fields[name] for name in template.reduced}
        if template.lists:
            kinds = {f"x_{one.name}": (one.dtype, one.length) for one in template.lowered.messages}
            kinds |= {f"c_{name}": (template.columns[name], None) for name in template.lowered.columns}
        empty = {
            name: np.zeros((0,) if length is None else (0, length), kind) for name, (kind, length) in kinds.items()
        }
        return {name: self.gather(records.values.get(name, none)) for name, none in empty.items()}

    def synchronise(self, moved: Array, touched: Array) -> Array:
        """Synchronise mirrors: which vertices changed, which are queried, and their values.

        moved: own vertices that send next; touched: those that were applied to. If messages also depend on their
        receivers, all touched vertices are announced. Returns the mirrors here that send next.
        """
        begun, wide = time.perf_counter(), self.template.looks_at_targets
        changed = touched if wide else moved
        self.counts.synchronisations += 1
        if self.ranks.size == 1:
            self._upload_all(changed)
            return _NOBODY
        told = changed[self.lent[changed]] if self.lazy else changed
        notices = self.named(told)
        self._upload_all(changed)
        active = self._borrowed_of(notices)
        self.cache.forget(active)
        if wide:
            active = self._borrowed_of(self.named(moved[self.lent[moved]]))
        senders = self.tables.senders(active)
        needed = self.borrowed if self.template.dense or wide else active
        missing = self.cache.miss(needed)
        if self.lazy:
            queue = np.unique(np.concatenate(self.named(missing)))
            own, owner = self._queried(queue), self.parts.owner[queue]
            self._fetch(missing, own, [queue[owner == rank] for rank in range(self.ranks.size)])
        else:
            self._fetch(missing, told, notices)
        self.seconds_by["synchronise"] += time.perf_counter() - begun
        return senders

    def _upload_all(self, changed: Array) -> None:
        """Without laziness, all changes go to the upper system at once."""
        if not self.lazy:
            self.upload(changed[self.cache.dirty[changed]])
        if self.keeps_none:  # nothing stays
            self.upload(np.flatnonzero(self.cache.dirty))

    def _queried(self, queue: Array) -> Array:
        """Own vertices that were queried, after uploading those that changed."""
        here = self.tables.local(queue[self.tables.here(queue)])
        own = here[self.tables.owned[here]]
        self.upload(own[self.cache.dirty[own]])
        return own

    def _fetch(self, missing: Array, answered: Array, numbers: list[Array]) -> None:
        """The global data queue: owners write values, workers that need them read them.

        `numbers`: whose values each worker writes: all know that from the earlier queues, so it is not sent again.
        """
        names = self.template.sent
        columns = {name: self.gather(self.store[name][answered]) for name in names}
        every = np.concatenate(numbers)
        order = np.argsort(every, kind="stable")
        wanted = self.tables.numbers[missing]
        places = np.minimum(np.searchsorted(every[order], wanted), max(len(every) - 1, 0))
        found = every[order][places] == wanted if len(every) else np.zeros(len(missing), np.bool_)
        taken = missing[found]
        for name in names:
            self.tables.values[name][taken] = np.concatenate(columns[name])[order][places[found]]
        self.counts.downloaded += len(missing)  # unchanged vertices are downloaded, too
        self.upload(self.cache.admit(missing))

    def _borrowed_of(self, notices: list[Array]) -> Array:
        """The mirrors here of vertices that others announce as changed."""
        others = [one for rank, one in enumerate(notices) if rank != self.ranks.rank]
        numbers = np.concatenate(others) if others else _NOBODY
        local = self.tables.local(numbers[self.tables.here(numbers)])
        needed = np.zeros(len(self.tables), np.bool_)
        needed[self.borrowed] = True
        return np.unique(local[needed[local]])

    # --- between table and store ------------------------------------------------------------------------------------

    def need(self, own: Array) -> None:
        """Before own vertices are used: download those that are not in the cache."""
        missing = self.cache.miss(own)
        for name, column in self.store.items():
            self.tables.values[name][missing] = column[missing]
        self.counts.downloaded += len(missing)
        self.upload(self.cache.admit(missing))

    def upload(self, which: Array) -> None:
        """Upload values of own vertices to the upper system."""
        for name, column in self.store.items():
            column[which] = self.tables.values[name][which]
        self.counts.uploaded += len(which)
        self.cache.clean(which)

"""One worker of the gas engine: its vertices, its agent, and the loop of iterations.

mirrors.py has the communication; here are the loop, and how workers agree on what comes next.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.engine.loop import tolerance_of
from arcflux.history import Superstep
from arcflux.partition.parts import Parts
from arcflux.plug.agent import Agent, Blocks
from arcflux.plug.cache import Counts
from arcflux.plug.fill import Records
from arcflux.plug.tables import Tables
from arcflux.plug.template import Template
from arcflux.plug.upper.mirrors import Mirrors
from arcflux.transports.base import Transport

__all__ = ["Knobs", "Outcome", "Worker"]

Array = NDArray[Any]
_NOBODY = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Knobs:
    """The options of a run; see gas.run."""

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
    """A worker's result when all have ended: the values of all vertices, and the history."""

    values: dict[str, Array]
    history: list[Superstep]
    converged: bool
    seconds: float
    prepared: float
    totals: dict[str, Any]
    counts: Counts
    seconds_by: dict[str, float]
    costs: list[float]
    where: str


@dataclass
class _Iteration:
    """The state of an iteration: which vertices send next, received messages, whether all may continue alone."""

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
        self.mirrors = Mirrors(ranks, parts, template, self.tables, knobs.cache, knobs.lazy)
        self.cache, self.counts, self.inner = self.mirrors.cache, self.mirrors.counts, self.mirrors.inner
        self.agent.connect()
        try:
            self.agent.transfer(template, self.tables)
            self.agent.update({name: column[self.tables.numbers] for name, column in values.items()})
        except BaseException:
            self.agent.disconnect()
            raise
        self.mirrors.take_over()
        self.touched = self.own
        self.prepared = time.perf_counter() - begun

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        if self.agent.control.connected:
            self.agent.disconnect()

    # --- the loop ---------------------------------------------------------------------------------------------------

    def run(self) -> Outcome:
        """Start, then iterate until nothing changes anywhere."""
        begun = time.perf_counter()
        history: list[Superstep] = []
        at, converged = _Iteration(), False
        at.moved = self._started()
        most = self.knobs.max_supersteps if self.knobs.max_supersteps is not None else 1_000_000
        at.mirrors = self.mirrors.synchronise(at.moved, self.own)
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
            self.mirrors.upload(self.cache.age())
            if over or changed == 0:
                converged = True
                break
            if not at.skipping:
                at.mirrors = self.mirrors.synchronise(moved, self.touched)
            else:
                at.mirrors = _NOBODY
        return self._outcome(history, converged, time.perf_counter() - begun)

    def _started(self) -> Array:
        """The initial state of own vertices; returns which send at first. Gather and apply come first, on nothing."""
        self.agent.requestMerge(Records(_NOBODY, {}))
        self.agent.requestApply(_NOBODY)
        moved = self.agent.begin(self.own)
        self.mirrors.upload(self.own)
        self.mirrors.upload(self.cache.admit(self.own))
        self.agent.totals = self._totals()
        return self.own if self.template.dense else moved

    def _generate(self, at: _Iteration) -> int:
        """Run gen on the senders; messages for other workers are sent, unless there cannot be any."""
        senders = np.concatenate([at.moved, at.mirrors])
        if self.template.dense:
            senders = np.concatenate([self.own, self.mirrors.borrowed])
        self.mirrors.need(senders[self.tables.owned[senders]])
        sent = self.agent.requestGen(senders)
        at.incoming = Records(_NOBODY, {})
        if not at.skipping and self.ranks.size > 1:
            at.incoming = self.mirrors.exchange(self.agent.outgoing())
        return sent

    def _applied(self, at: _Iteration) -> Array:
        """Merge incoming messages, and apply them; returns which vertices send next."""
        self.agent.requestMerge(at.incoming)
        which = self.own if self.template.dense else self.agent.reached()
        self.mirrors.need(which)
        moved = self.agent.requestApply(which)
        self.touched = which
        self.mirrors.upload(self.cache.change(which))
        self.counts.iterations += 1
        return moved

    def _go_on(self, at: _Iteration, moved: Array) -> tuple[Array, int]:
        """Iterate alone while changes concern no other worker; asynchronously, while anything changes here.

        Returns which vertices are still to be announced, or send next, and how many changed meanwhile.
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
        # Asynchronously, the waiting ones have sent along their edges here already, but their mirrors elsewhere have
        # not.
        return np.flatnonzero(waiting), changed

    def _agree(self, at: _Iteration, moved: Array, extra: int) -> tuple[int, bool, float]:
        """Reduce over all workers: how many changed, whether to stop, the residual; and whether any must announce."""
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
        """Call the program's stop, in plain Python, with the totals of this iteration."""
        function, program = self.template.program.functions["stop"], self.template.program
        counts = dict(zip(("vertices", "edges", "arcs"), self.template.counts, strict=True))
        known = {
            "g": SimpleNamespace(**counts, **{name: _shown(value) for name, value in self.agent.totals.items()}),
            "p": SimpleNamespace(**{name: one.value for name, one in program.parameters.items()}),
            "step": step,
        }  # fmt: skip
        return bool(function.call(*(known[name] for name in function.arguments)))

    def _totals(self) -> dict[str, Any]:
        """Totals of all workers, reduced in worker order, so that all have the same bits."""
        names = list(self.template.lowered.totals)
        if not names:
            return {}
        columns = {name: self.mirrors.gather(np.atleast_1d(self.agent.brought[name])) for name in names}
        each = [{name: columns[name][rank] if self.template.lowered.totals[name].length else columns[name][rank][0]
                 for name in names} for rank in range(self.ranks.size)]  # fmt: skip
        return self.template.combined(each)

    def _shown_totals(self) -> dict[str, Any]:
        return {name: _shown(value) for name, value in self.agent.totals.items()}

    # --- the end ----------------------------------------------------------------------------------------------------

    def _outcome(self, history: list[Superstep], converged: bool, seconds: float) -> Outcome:
        """Every worker gets all values: those of own vertices are uploaded, and gathered."""
        self.mirrors.upload(self.own[self.cache.dirty[self.own]])
        counted = self.counts.as_array()
        numbers, store = self.ranks.gather(self.tables.numbers[self.own]), self.mirrors.store
        values = {}
        for name in self.template.program.fields:
            parts = self.ranks.gather(np.ascontiguousarray(store[name][self.own]))
            whole = np.zeros((self.template.counts[0], *store[name].shape[1:]), store[name].dtype)
            for given, part in zip(numbers, parts, strict=True):
                whole[given] = part.reshape(len(given), *whole.shape[1:])
            values[name] = whole
        every = Counts.of_array(self.ranks.reduce(counted, "sum"))
        every.synchronisations //= self.ranks.size
        spent = {**self.agent.seconds, **self.mirrors.seconds_by}
        costs = [float(one[0]) for one in self.mirrors.gather(np.array([self.agent.cost]))]
        totals = self._shown_totals()
        where = f"{self.ranks.size} workers, daemons {', '.join(self.agent.names)}, parts by {self.parts.how}"
        return Outcome(values, history, converged, seconds, self.prepared, totals, every, spent, costs, where)


def _shown(value: Any) -> Any:
    return value.item() if np.ndim(value) == 0 and hasattr(value, "item") else value

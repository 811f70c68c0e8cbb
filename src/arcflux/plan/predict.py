"""One run on one machine: every way to do it, each with its predicted seconds, bytes and memory, the fastest first."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from arcflux.plan import grid, hive
from arcflux.plan.exchange import Exchange, between_peers, volumes
from arcflux.plan.lux import Gammas, Phases, gammas, superstep
from arcflux.plan.memory import fit, spill_seconds
from arcflux.plan.profile import Profile
from arcflux.plan.shape import Shape
from arcflux.plan.work import Work

__all__ = ["Candidate", "application", "candidates"]

_KERNELS = 3
# How far off a prediction may be: what Lux reports of its model (section 8.5), and the grid's worst row of MapGraph.
_DOUBT = {"pull": 0.2, "push": 0.5, "grid": 0.15, "bound": 1.0}


@dataclass(frozen=True)
class Candidate:
    """A way to run: where values are exchanged, in which direction, and what is predicted of it.

    `exchange`: "node" (Lux: values lie once in a node's memory, from which devices load), one of the four models
    between peers, "bitmaps" on a grid, or "none". `phases`, `seconds` and `bytes` are of the whole run.
    """

    direction: str
    partition: str
    exchange: str
    phases: Phases
    bytes: float
    memory: float
    fits: bool
    spilled: float
    doubt: float

    @property
    def seconds(self) -> float:
        """Predicted seconds of the run."""
        return self.phases.seconds

    @property
    def range(self) -> tuple[float, float]:
        """Between which the seconds are expected."""
        return self.seconds / (1 + self.doubt), self.seconds * (1 + self.doubt)

    @property
    def name(self) -> str:
        """The way in three words."""
        return f"{self.direction}, {self.partition}, {self.exchange}"

    def to_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        low, high = self.range
        return {
            "direction": self.direction,
            "partition": self.partition,
            "exchange": self.exchange,
            "predicted_seconds": self.seconds,
            "predicted_range": [low, high],
            "predicted_phases": {
                name: getattr(self.phases, name) for name in ("load", "compute", "transfer", "overhead")
            },
            "predicted_bytes": self.bytes,
            "predicted_memory": self.memory,
            "fits": self.fits,
            "spilled_bytes": self.spilled,
        }


def candidates(
    profile: Profile, work: Work, shape: Shape, nodes: int, parts: int, found: Gammas | None = None
) -> list[Candidate]:
    """Every way to run on `parts` devices of `nodes`, those that fit before those that do not, the fastest first.

    Where a search on a grid was measured, other searches, of which nothing was, stand behind it.
    """
    found = gammas(profile, work, shape) if found is None else found
    made = [one for way in ("pull", "push") for one in _by_ranges(profile, work, shape, nodes, parts, way, found)]
    if work.name == "bfs":
        made += _by_grid(profile, work, shape, parts, found)
    known = profile.traversal is not None
    return sorted(made, key=lambda one: (not one.fits, known and one.partition != "grid", one.seconds))


def _by_ranges(
    profile: Profile, work: Work, shape: Shape, nodes: int, parts: int, direction: str, found: Gammas
) -> list[Candidate]:
    devices = -(-parts // nodes)
    room = fit(profile, work, shape, nodes, parts)
    steps = work.steps(shape)
    visits = steps if direction == "pull" else work.visits(shape)
    once = superstep(profile, work, shape, nodes, parts, direction, found)
    spill = spill_seconds(profile, room.spilled, devices) * visits
    agree = (nodes - 1) * (profile.network_latency + profile.launch)
    wait = steps * (_KERNELS * profile.launch + agree) + spill
    crossing = work.value * shape.uds(nodes) * visits if nodes > 1 else 0.0
    doubt = _DOUBT["bound" if work.bound else direction]

    def made(exchange: str, phases: Phases, moved: float) -> Candidate:
        whole = phases.times(visits)
        whole = Phases(whole.load, whole.compute, whole.transfer, wait)
        memory, fits, spilled = room.device, room.fits, room.spilled
        return Candidate(direction, "ranges", exchange, whole, moved + crossing, memory, fits, spilled, doubt)

    loaded = work.value * shape.ins(parts) * visits if once.load else 0.0
    ways = [made("node" if parts > 1 else "none", once, loaded)]
    if devices > 1 and profile.peer:
        for one in volumes(shape, parts, work.value):
            here = Exchange(one.name, one.bytes * devices / parts, one.messages)
            phases = Phases(0.0, once.compute, between_peers(profile, devices, here) + once.transfer)
            ways.append(made(one.name, phases, one.bytes * visits))
    return ways


def _by_grid(profile: Profile, work: Work, shape: Shape, parts: int, found: Gammas) -> list[Candidate]:
    """MapGraph's search; a rate that was measured is better than one that was derived."""
    cost = grid.search(profile, shape, parts, profile.traversal or 1.0 / found.push)
    if cost is None:
        return []
    phases, moved = cost
    sides = math.sqrt(parts)
    memory = shape.arcs * 8 / parts + shape.vertices / sides * (2 * 8 + 2 * 4 + 4 / 8)
    return [Candidate("push", "grid", "bitmaps", phases, moved, memory, memory <= profile.memory, 0.0, _DOUBT["grid"])]


def application(profile: Profile, app: hive.Application, shape: Shape, nodes: int, parts: int) -> Candidate:
    """An application of the HIVE study, by its operations and bytes: one superstep, as the study counts.

    An operation is an element that a kernel reads, as its memory gives them; a byte crosses by the slowest link.
    """
    given = hive.given_by(shape, parts)
    scaling = hive.judge(app, given)
    each = gammas(profile, Work(app.name, 4, 8), shape).pull
    link = profile.peer or profile.host / profile.host_sharers
    if nodes > 1 and profile.network:
        link = min(link, profile.network * nodes / parts)
    moved = scaling.bytes if parts > 1 else 0.0
    memory = app.memory(given) if app.memory else 8 * shape.arcs / parts + 16 * shape.vertices
    if app.variant == "duplicated graph":
        memory = 8.0 * shape.arcs + 16 * shape.vertices
    phases = Phases(0.0, scaling.operations * each, moved / link, _KERNELS * profile.launch)
    exchange = app.variant or "the study's"
    fits = memory <= profile.memory
    return Candidate("pull", "ranges", exchange, phases, moved * parts, memory, fits, 0.0, _DOUBT["push"])

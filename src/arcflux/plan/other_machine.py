"""Another machine: every way to run on a number of its devices, by the papers' models and its profile."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from arcflux.errors import UsageError
from arcflux.plan.calibration import Calibration, cache_of, load_calibration
from arcflux.plan.exchange import Exchange, between_peers, volumes
from arcflux.plan.grid import search
from arcflux.plan.hive import Application, given_by, judge
from arcflux.plan.lux import Gammas, Phases, gammas, superstep
from arcflux.plan.memory import fit, spill_seconds
from arcflux.plan.plans import Candidate, Placement
from arcflux.plan.profile import Profile, read
from arcflux.plan.shape import Shape, kronecker
from arcflux.plan.work import WORKS, Work

__all__ = ["Absent", "absent", "profile_of"]

_KERNELS, _LINE = 3, 64
# The error of a prediction: what Lux reports of its model (section 8.5), and the worst row of MapGraph for the grid.
_DOUBT = {"pull": 0.2, "push": 0.5, "grid": 0.15, "bound": 1.0}


@dataclass(frozen=True)
class Absent:
    """A machine by its profile."""

    profile: Profile

    @property
    def name(self) -> str:
        """The name of its profile."""
        return self.profile.name

    def candidates(
        self,
        work: Work,
        graph: Any,
        placement: Placement,
        directions: Sequence[str] = (),
        supersteps: float | None = None,
    ) -> list[Candidate]:
        """Every way to run on the devices, those that fit before those that do not, the fastest first.

        Where a search on a grid was measured, searches that were not measured come after it.
        """
        work = replace(work, supersteps=round(supersteps)) if supersteps else work
        constants = gammas(self.profile, work, graph)
        every = [
            one
            for way in directions or ("pull", "push")
            for one in self._by_ranges(work, graph, placement.nodes, placement.parts, way, constants)
        ]
        if work.grid:
            every += self._by_grid(graph, placement, constants)
        measured = self.profile.traversal is not None
        return sorted(every, key=lambda one: (not one.fits, measured and one.partition != "grid", one.seconds))

    def _by_ranges(
        self, work: Work, shape: Shape, nodes: int, parts: int, direction: str, found: Gammas
    ) -> list[Candidate]:
        profile, devices = self.profile, -(-parts // nodes)
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
            whole = replace(phases.times(visits), overhead=wait)
            where = Placement(0, parts, nodes, exchange=exchange)
            return Candidate(
                direction, vars(whole), doubt, where, steps, moved + crossing, room.device, room.fits, room.spilled
            )

        loaded = work.value * shape.ins(parts) * visits if once.load else 0.0
        ways = [made("node" if parts > 1 else "none", once, loaded)]
        if devices > 1 and profile.peer:
            for one in volumes(shape, parts, work.value):
                per_node = Exchange(one.name, one.bytes * devices / parts, one.messages)
                phases = Phases(0.0, once.compute, between_peers(profile, devices, per_node) + once.transfer)
                ways.append(made(one.name, phases, one.bytes * visits))
        return ways

    def _by_grid(self, shape: Shape, placement: Placement, found: Gammas) -> list[Candidate]:
        """MapGraph's search; a measured rate takes precedence over a derived one."""
        profile, parts = self.profile, placement.parts
        cost = search(profile, shape, parts, profile.traversal or 1.0 / found.push)
        if cost is None:
            return []
        phases, moved = cost
        memory = shape.arcs * 8 / parts + shape.vertices / math.sqrt(parts) * (2 * 8 + 2 * 4 + 4 / 8)
        where = Placement(0, parts, placement.nodes, partition="grid", exchange="bitmaps")
        fits = memory <= profile.memory
        return [Candidate("push", vars(phases), _DOUBT["grid"], where, shape.depth, moved, memory, fits)]

    def application(
        self, app: Application, shape: Shape, placement: Placement, parameters: Mapping[str, float]
    ) -> Candidate:
        """An application of the HIVE study, by its operations and bytes: one superstep, as the study counts.

        An operation is an element that a kernel reads, at its memory's speed; bytes cross the slowest link.
        """
        profile, parts = self.profile, placement.parts
        inputs = given_by(shape, parts, **parameters)
        scaling = judge(app, inputs)
        each = gammas(profile, Work(app.name, 4, 8), shape).pull
        moved = scaling.bytes if parts > 1 else 0.0
        apart = min(moved, app.apart(inputs) if app.apart else moved)
        network = math.inf
        if placement.nodes > 1 and profile.network:
            network = profile.network * placement.nodes / parts
        sending, reading = (min(network, _rate(profile, moves, app.scattered)) for moves in ("explicit", app.moves))
        memory = app.memory(inputs) if app.memory else 8 * shape.arcs / parts + 16 * shape.vertices
        if app.variant.startswith("duplicated graph"):
            memory = 8.0 * shape.arcs + 16 * shape.vertices
        transfer = (moved - apart) / sending + apart / reading
        phases = Phases(0.0, scaling.operations * each, transfer, _KERNELS * profile.launch)
        where = replace(placement, exchange=app.variant or "the study's")
        fits = memory <= profile.memory
        return Candidate("pull", vars(phases), _DOUBT["push"], where, 1.0, moved * parts, memory, fits)


def _rate(profile: Profile, moves: str, scattered: bool) -> float:
    """Bytes per second into a device, by how data moves (HIVE, communication methods).

    Messages are dense. Other devices' memory is read at the micro-benchmark's rates, value by value where they are
    `scattered`. Pages of unified memory come over the link to the node's memory, no faster than they are read.
    """
    host = profile.host / profile.host_sharers
    table = profile.throughput
    if moves == "unified":
        return min(host, table["random_read"]["host"]) if table and scattered else host
    if moves == "peer" and table:
        return table["random_read" if scattered else "regular_read"]["all"]
    return profile.peer or host


def absent(on: Any) -> Absent:
    """The machine of a name, a file or a profile; "here" is this one, an error if it was not measured."""
    if not isinstance(on, str) or on != "here":
        return Absent(read(on))
    measured = load_calibration()
    if measured is None:
        raise UsageError("this machine has not been measured", remedy="arcflux calibrate")
    return Absent(profile_of(measured))


def profile_of(found: Calibration) -> Profile:
    """A calibration as a profile, so that a plan can cover several machines like this one.

    All cores are one device, whose memory is the node's. The network has the measured speed of messages between
    processes. The used share of the bandwidth is the one that reproduces PageRank's measured time.
    """
    between = found.exchange.get("mpi") or found.exchange["local"]
    memory = float(found.machine["memory_gb"]) * 1e9
    bandwidth = found.throughput["regular_read"]["host"]
    bare = Profile(
        name="here", title=f"{found.machine['model']}, {found.machine['threads']} threads", kind="cores", nodes=1,
        devices=1, node_memory=memory, memory=memory, bandwidth=bandwidth, cache=cache_of(found.hierarchy),
        sector=_LINE, launch=found.launch, efficiency=1.0, host=bandwidth, host_sharers=1, host_latency=found.barrier,
        network=between["bandwidth"], network_latency=between["latency"],
    )  # fmt: skip
    shape, work, steps = kronecker(18), WORKS["pagerank"], 10
    ideal = gammas(bare, work, shape).pull * shape.arcs
    rates = found.fits["pagerank/pull", int(found.machine["threads"])]
    taken = rates.seconds(shape.sketch(), steps) / steps
    figures = {name: f"measured {found.date}" for name, value in vars(bare).items() if isinstance(value, int | float)}
    return replace(bare, efficiency=min(1.0, ideal / taken), sources=figures)

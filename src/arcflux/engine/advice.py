"""The interface from a run to the planner: it decides the options that were left open and records what was measured.

The planner is a layer above the engine; the first run that asks it imports it. ``ARCFLUX_PLAN=0`` turns it off.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from arcflux import config
from arcflux.compile.lower import Lowered
from arcflux.doorways import enter
from arcflux.engine.loop import Options
from arcflux.engine.spread import SHARED, Spread
from arcflux.graph import Graph
from arcflux.result import Result
from arcflux.spmd.turns import current_turns

if TYPE_CHECKING:
    from arcflux.transports.base import Transport

__all__ = ["advised", "chosen_threads", "divided", "kept", "network_bandwidth"]

# Partitioners that split the in-edges of a vertex over parts: their exchange is "owners"; that of all others is
# "readers".
_SPLIT_ROWS = ("grid", "degree")


def advised(lowered: Lowered, graph: Graph, options: Options, threads: int | None) -> tuple[Options, Any]:
    """The options of a run with open choices decided, and the plan; the plan is None without a planner."""
    if not config.uses_planner():
        return options, None
    planner = enter("planner")
    # `lowered.facts` is the same object in all runs of a program, so its plan for this graph is cached with the graph.
    machine, name = planner.current(), ("advised", id(lowered.facts), options.direction, options.threads, threads)
    before = graph.kept.get(name)
    if before is None or before[0] is not machine or before[1] is not lowered.facts:
        work, directions = _work(lowered, options.direction)
        placement = planner.Placement(config.threads(threads) if threads is not None else 0)
        plan = planner.choose(work, graph, placement, directions)
        before = graph.kept[name] = machine, lowered.facts, plan
    plan = before[2]
    direction = options.direction if lowered.ordered or not lowered.sparse else plan.direction
    return replace(options, direction=direction, threads=plan.threads, push_over_pull=plan.push_over_pull), plan


def divided(lowered: Lowered, graph: Graph, options: Options, spread: Spread) -> tuple[Options, Any]:
    """The options of a run on parts, and its plan: ranges and the default exchange, unless the caller asks for another.

    Runs on devices and graphs that were built in parts get no plan: the planner has no measurements of them.
    """
    if not config.uses_planner() or spread.devices is not None or not graph.whole:
        return options, None
    ranks = spread.ranks()
    placement = _placement(lowered, spread, ranks)
    if placement is None:
        return options, None
    work, directions = _work(lowered, options.direction)
    plan = enter("planner").choose(work, graph, placement, directions[:1])
    if ranks is not None:
        # All parts must choose the same direction in a superstep, so all use the ratio of rank 0.
        ratio = ranks.broadcast(np.array([plan.push_over_pull], np.float64), 0)
        plan = replace(plan, push_over_pull=float(ratio[0]))
    return replace(options, push_over_pull=plan.push_over_pull), plan


def _placement(lowered: Lowered, spread: Spread, ranks: Transport | None) -> Any:
    """Where the parts are, as the planner describes it; None for a split by owners that the user gave."""
    from arcflux.engine.exchange.model import at_targets_alone
    from arcflux.partition import PARTITIONERS
    from arcflux.partition.parts import Parts

    given_parts = spread.parts if isinstance(spread.parts, Parts) else None
    if given_parts is not None and given_parts.how not in PARTITIONERS:
        return None
    count = ranks.size if ranks is not None else given_parts.k if given_parts is not None else spread.parts or 1
    if not isinstance(count, int) or count < 1:
        return None  # splitting the graph refuses this later
    nodes = ranks.nodes if ranks is not None else -(-count // (spread.ranks_per_node or count))
    partition = given_parts.how if given_parts is not None else spread.partition
    partitioner = "ranges" if partition == "auto" else partition
    exchange = "owners" if partitioner in _SPLIT_ROWS else "readers"
    if spread.exchange not in ("auto", SHARED):
        exchange = spread.exchange
    elif nodes == 1 and partitioner not in _SPLIT_ROWS:
        exchange = SHARED
    if exchange != SHARED and at_targets_alone(lowered):
        exchange = "readers"
    return enter("planner").Placement(0, count, nodes, "local" if ranks is None else "mpi", partitioner, exchange)


def _work(lowered: Lowered, asked: str) -> tuple[Any, tuple[str, ...]]:
    """The work of a run as the planner describes it, and the directions it may choose from, the default first.

    Dense programs pull. Sparse ones choose in each superstep by the frontier, which no prediction before the run can.
    """
    dense = not (lowered.sparse or lowered.ordered)
    value = float(sum(one.dtype.itemsize * (one.length or 1) for one in lowered.messages))
    work = enter("planner").program_work(lowered.program.name, dense, value)
    if lowered.pull_only or lowered.around is not None:
        return work, ("pull",)
    if asked != "auto":
        return work, (asked,)
    if lowered.ordered:
        return work, ("auto",)
    return work, ("pull",) if dense else ("auto",)


def kept(plan: Any, graph: Graph, result: Result, ranks: Transport | None = None) -> Result:
    """The result with its plan; the measurement is recorded for later plans (of several ranks, by rank 0)."""
    if plan is None:
        return result
    alone = current_turns() is None  # times measured on a share of the cores do not predict a run that has all of them
    recorded: Result = enter("planner").record(plan, graph, result, keep=alone and (ranks is None or ranks.rank == 0))
    return recorded


def network_bandwidth(spread: Spread) -> float | None:
    """Bytes a second between the nodes of a run, as measured by `arcflux calibrate`; None if it has not been run.

    Rebalancing weighs its migration cost with it; it is None where nothing migrates or nothing crosses between nodes.
    """
    ranks = spread.ranks()
    several = spread.ranks_per_node is not None if ranks is None else ranks.nodes > 1
    if not config.uses_planner() or spread.rebalance == "off" or not several:
        return None
    calibration = enter("planner.calibration")()
    measured = {} if calibration is None else calibration.exchange.get("local" if ranks is None else "mpi", {})
    return float(measured["bandwidth"]) if "bandwidth" in measured else None


def chosen_threads(name: str, graph: Graph, threads: int | None) -> tuple[int, Any]:
    """The number of workers of a native algorithm in this process, and the plan that chose it, if any."""
    if not config.uses_planner():
        return config.threads(threads), None
    planner = enter("planner")
    placement = planner.Placement(config.threads(threads) if threads is not None else 0)
    plan = planner.choose(planner.WORKS[name], graph, placement, ("auto",))
    return plan.threads, plan

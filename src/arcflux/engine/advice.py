"""The doorway from a run to the planner: what to do about options that were left open, and what came of it.

The planner stands above the engine, and is imported when the first run asks it. ``ARCFLUX_PLAN=0`` turns that off.
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

# Where all in-edges of a vertex are together, its readers are told; else what they bring goes to its owner.
_SPLIT_ROWS = ("grid", "degree")


def advised(lowered: Lowered, graph: Graph, options: Options, threads: int | None) -> tuple[Options, Any]:
    """The options of a run with open choices made, and the plan; None without a planner."""
    if not config.uses_planner():
        return options, None
    planner = enter("planner")
    # What is known of a program is the same object in all runs of it, and so is its advice on a graph.
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
    """The options of a run on parts, and its plan: ranges and the usual exchange, unless something else is asked for.

    Nothing is known of devices, so they have no plan; nor has a graph that was built in parts.
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
        # What parts do in a superstep is decided by all of them alike, so by what the first of them knows.
        ratio = ranks.broadcast(np.array([plan.push_over_pull], np.float64), 0)
        plan = replace(plan, push_over_pull=float(ratio[0]))
    return replace(options, push_over_pull=plan.push_over_pull), plan


def _placement(lowered: Lowered, spread: Spread, ranks: Transport | None) -> Any:
    """Where parts are, as the planner sees it; None for parts with owners of the user's."""
    from arcflux.engine.exchange.model import at_targets_alone
    from arcflux.partition import PARTITIONERS
    from arcflux.partition.parts import Parts

    made = spread.parts if isinstance(spread.parts, Parts) else None
    if made is not None and made.how not in PARTITIONERS:
        return None
    count = ranks.size if ranks is not None else made.k if made is not None else spread.parts or 1
    if not isinstance(count, int) or count < 1:
        return None  # which is refused where the graph is split
    nodes = ranks.nodes if ranks is not None else -(-count // (spread.ranks_per_node or count))
    how = made.how if made is not None else {"auto": "ranges"}.get(spread.partition, spread.partition)
    exchange = "owners" if how in _SPLIT_ROWS else "readers"
    if spread.exchange not in ("auto", SHARED):
        exchange = spread.exchange
    elif nodes == 1 and how not in _SPLIT_ROWS:
        exchange = SHARED
    if exchange != SHARED and at_targets_alone(lowered):
        exchange = "readers"
    return enter("planner").Placement(0, count, nodes, "local" if ranks is None else "mpi", how, exchange)


def _work(lowered: Lowered, asked: str) -> tuple[Any, tuple[str, ...]]:
    """What is run, as the planner sees it, and the directions it may choose from, the usual first.

    Every vertex pulls if all send; else each superstep chooses, by its frontier, which no prediction knows better.
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
    """The result with its plan; what was measured is kept for the next one, of several ranks by the first."""
    if plan is None:
        return result
    alone = current_turns() is None  # seconds on a share of the cores, beside others, say nothing of a run
    recorded: Result = enter("planner").record(plan, graph, result, keep=alone and (ranks is None or ranks.rank == 0))
    return recorded


def network_bandwidth(spread: Spread) -> float | None:
    """Bytes a second between the nodes of a run, as `arcflux calibrate` has measured them; None if it has not.

    Moving the bounds of parts is weighed with it; where nothing moves, or nothing crosses, it is not needed.
    """
    ranks = spread.ranks()
    several = spread.ranks_per_node is not None if ranks is None else ranks.nodes > 1
    if not config.uses_planner() or spread.rebalance == "off" or not several:
        return None
    found = enter("planner.calibration")()
    measured = {} if found is None else found.exchange.get("local" if ranks is None else "mpi", {})
    return float(measured["bandwidth"]) if "bandwidth" in measured else None


def chosen_threads(name: str, graph: Graph, threads: int | None) -> tuple[int, Any]:
    """Workers for an algorithm with kernels of its own, on this process alone, and the plan that says so, if any."""
    if not config.uses_planner():
        return config.threads(threads), None
    planner = enter("planner")
    placement = planner.Placement(config.threads(threads) if threads is not None else 0)
    plan = planner.choose(planner.WORKS[name], graph, placement, ("auto",))
    return plan.threads, plan

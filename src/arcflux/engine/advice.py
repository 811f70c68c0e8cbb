"""The doorway from a run to the planner: what to do about options that were left open, and what came of it.

The planner stands above the engine, and is imported when the first run asks it. ``ARCFLUX_PLAN=0`` asks nobody.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from arcflux import config
from arcflux.compile.lower import Lowered
from arcflux.engine.loop import Options
from arcflux.engine.spread import Spread, at_targets_alone
from arcflux.graph import Graph
from arcflux.partition import PARTITIONERS
from arcflux.partition.parts import Parts
from arcflux.result import Result
from arcflux.transports.base import Transport

__all__ = ["advised", "chosen_threads", "divided", "kept", "network_bandwidth"]


def advised(lowered: Lowered, graph: Graph, options: Options, threads: int | None) -> tuple[Options, Any]:
    """The options of a run with what was left open filled in, and the plan; None when nobody was asked."""
    if not config.plans():
        return options, None
    from arcflux.plan import divide

    plan = divide.against_parts(_subject(lowered, options), graph, threads)
    direction = options.direction if _dense(lowered) or lowered.ordered else plan.direction
    return replace(options, direction=direction, threads=plan.threads, push_over_pull=plan.push_over_pull), plan


def divided(lowered: Lowered, graph: Graph, options: Options, spread: Spread) -> tuple[Spread, Options, Any]:
    """Where a run on parts is, with what was left open filled in, and the plan; all ranks get what the first chose.

    What devices do is known by nobody yet, and what is usual is done there.
    """
    if not config.plans() or spread.devices is not None:
        return spread, options, None
    from arcflux.plan import divide

    ranks = spread.ranks()
    known = _known(spread, ranks)
    if known is None:
        return spread, options, None
    partition = None if spread.partition == "auto" else spread.partition
    if isinstance(spread.parts, Parts):
        partition = spread.parts.how
    exchange = None if spread.exchange == "auto" else spread.exchange
    asked = divide.Open(known, partition, exchange, at_targets_alone(lowered))
    plan = divide.divided(_subject(lowered, options), graph, asked)
    if ranks is not None:
        plan = _agreed(ranks, plan, asked)
    # What parts do in a superstep is decided by all of them alike, so by what all of them know.
    options = replace(options, push_over_pull=plan.push_over_pull)
    return spread.taking(plan.split), options, plan


def _known(spread: Spread, ranks: Transport | None) -> Any:
    """On what parts are, as the planner sees it; None for parts that somebody made by a rule of his own."""
    from arcflux.plan.split import Where

    if isinstance(spread.parts, Parts) and spread.parts.how not in PARTITIONERS:
        return None
    if ranks is not None:
        machines = ranks.nodes if spread.ranks_per_node is None else 1
        return Where(ranks.size, ranks.nodes, "mpi", machines)
    count = spread.parts.k if isinstance(spread.parts, Parts) else spread.parts or 1
    if not isinstance(count, int) or count < 1:
        return None  # which is refused where the graph is split
    each = spread.ranks_per_node or count
    return Where(count, -(-count // each))


def _agreed(ranks: Transport, plan: Any, asked: Any) -> Any:
    """The plan of the first rank, on all of them."""
    from arcflux.plan.split import has_mincut, splits

    every = splits(asked.where, asked.partition, asked.exchange, at_targets=asked.at_targets)
    second = next((way.split for way in plan.ways if way.split.partition != "mincut"), plan.split)
    mine = np.array([every.index(plan.split), every.index(second), plan.push_over_pull], np.float64)
    first, other, dearer = ranks.broadcast(mine, 0).tolist()
    chosen = every[int(first)]
    if chosen.partition == "mincut" and asked.partition is None:
        everywhere = ranks.reduce(np.array([has_mincut()], np.uint8), "min")
        chosen = chosen if everywhere[0] else every[int(other)]
    return replace(plan.taking(chosen), push_over_pull=dearer)


def _subject(lowered: Lowered, options: Options) -> Any:
    """What is run, as the planner sees it."""
    from arcflux.plan import advise

    dense = _dense(lowered)
    value = float(sum(one.dtype.itemsize * (one.length or 1) for one in lowered.messages))
    return advise.program(lowered.program.name, dense, value, _directions(lowered, options.direction, dense))


def _dense(lowered: Lowered) -> bool:
    return not (lowered.sparse or lowered.ordered)


def _directions(lowered: Lowered, asked: str, dense: bool) -> tuple[str, ...]:
    """What the run may choose from, the usual first: every vertex pulls if all send, else each superstep chooses."""
    if lowered.pull_only:
        return ("pull",)
    if asked != "auto":
        return (asked,)
    if lowered.ordered:
        return ("auto",)
    return ("pull",) if dense else ("auto", "push")


def kept(plan: Any, graph: Graph, result: Result, ranks: Transport | None = None) -> Result:
    """The result with its plan; what was measured is kept for the next one, of several ranks by the first."""
    if plan is None:
        return result
    from arcflux.plan.advise import recorded

    return recorded(plan, graph, result, keep=ranks is None or ranks.rank == 0)


def network_bandwidth(spread: Spread) -> float | None:
    """Bytes a second between the nodes of a run, as `arcflux calibrate` has measured them; None if it has not.

    Moving the bounds of parts is weighed with it; where nothing moves, or nothing crosses, nobody is asked.
    """
    ranks = spread.ranks()
    several = spread.ranks_per_node is not None if ranks is None else ranks.nodes > 1
    if not config.plans() or spread.rebalance == "off" or not several:
        return None
    from arcflux.plan.calibrate import kept as kept_calibration

    found = kept_calibration()
    measured = {} if found is None else found.exchange.get("local" if ranks is None else "mpi", {})
    return float(measured["bandwidth"]) if "bandwidth" in measured else None


def chosen_threads(name: str, graph: Graph, threads: int | None) -> tuple[int, Any]:
    """Workers for an algorithm with kernels of its own, on this process alone, and the plan that says so, if any."""
    if not config.plans():
        return config.threads(threads), None
    from arcflux.plan import advise

    plan = advise.advised(advise.algorithm(name), graph, threads)
    return plan.threads, plan

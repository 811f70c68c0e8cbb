"""The doorway from a run to the planner: what to do about options that were left open, and what came of it.

The planner stands above the engine, and is imported when the first run asks it. ``ARCFLUX_PLAN=0`` asks nobody.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from arcflux import config
from arcflux.compile.lower import Lowered
from arcflux.engine.loop import Options
from arcflux.graph import Graph
from arcflux.result import Result

__all__ = ["advised", "chosen_threads", "kept"]


def advised(lowered: Lowered, graph: Graph, options: Options, threads: int | None) -> tuple[Options, Any]:
    """The options of a run with what was left open filled in, and the plan; None when nobody was asked."""
    if not config.plans():
        return options, None
    from arcflux.plan import advise

    dense = not (lowered.sparse or lowered.ordered)
    value = float(sum(one.dtype.itemsize * (one.length or 1) for one in lowered.messages))
    subject = advise.program(lowered.program.name, dense, value, _directions(lowered, options.direction, dense))
    plan = advise.advised(subject, graph, threads)
    direction = options.direction if dense or lowered.ordered else plan.direction
    return replace(options, direction=direction, threads=plan.threads, push_over_pull=plan.push_over_pull), plan


def _directions(lowered: Lowered, asked: str, dense: bool) -> tuple[str, ...]:
    """What the run may choose from, the usual first: every vertex pulls if all send, else each superstep chooses."""
    if lowered.pull_only:
        return ("pull",)
    if asked != "auto":
        return (asked,)
    if lowered.ordered:
        return ("auto",)
    return ("pull",) if dense else ("auto", "push")


def kept(plan: Any, graph: Graph, result: Result) -> Result:
    """The result with its plan; what was measured is kept for the next one."""
    if plan is None:
        return result
    from arcflux.plan.advise import recorded

    return recorded(plan, graph, result)


def chosen_threads(name: str, graph: Graph, threads: int | None) -> tuple[int, Any]:
    """Workers for an algorithm with kernels of its own, on this process alone, and the plan that says so, if any."""
    if not config.plans():
        return config.threads(threads), None
    from arcflux.plan import advise

    plan = advise.advised(advise.algorithm(name), graph, threads)
    return plan.threads, plan

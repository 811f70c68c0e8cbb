"""A gather-apply-scatter engine in the style of PowerGraph, whose workers compute by daemons (GX-Plug, IV-B).

A vertex cut distributes edges to workers; every vertex has an owner, and mirrors wherever its edges are. Workers are
ranks of a transport: threads of this process, or MPI processes. The synchronous engine runs Merge, Apply, Gen, and all
workers are in the same iteration. The asynchronous one is for programs whose messages may come in any order: each
worker continues by itself until it has no more work, then informs the others.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from arcflux.checks import flag, maybe, shown, wholes
from arcflux.engine.call import graph_call
from arcflux.engine.front import warn_unless_converged
from arcflux.engine.spread import Spread, on_ranks
from arcflux.engine.state import given_values
from arcflux.errors import UsageError
from arcflux.graph import Graph
from arcflux.partition.parts import Parts
from arcflux.plug.agent import Blocks
from arcflux.plug.cache import Counts
from arcflux.plug.place import Place
from arcflux.plug.template import Template
from arcflux.plug.upper.worker import Knobs, Outcome, Worker
from arcflux.program import Program, vertex
from arcflux.result import Result
from arcflux.transports.base import Transport

__all__ = ["Plugged", "refuse_options", "run"]

_MODES = ("sync", "async")


@dataclass(frozen=True, eq=False)
class Plugged(Result):
    """The result of a run by agents; `counts`: the traffic of all workers; `seconds_by`: where the time went.

    `costs`: c_j of each worker, its daemons' measured seconds per triplet; NaN for a worker without triplets.
    ``af.partition(graph, len(costs), shares=[1 / cost for cost in costs])`` gives each worker its share by them (Lemma
    2).
    """

    counts: Counts = field(default_factory=Counts)
    seconds_by: Mapping[str, float] = field(default_factory=dict)
    costs: Sequence[float] = ()


@graph_call()
def run(
    graph: Graph,
    /,
    program: Program,
    *,
    workers: int | Parts = 2,
    partition: str = "degree",
    mode: str = "sync",
    daemons: Sequence[str] | Sequence[Sequence[str]] = ("cpu",),
    blocks: Blocks | None = None,
    cache: int | None = None,
    lazy: bool = True,
    skip: bool = True,
    transport: str | None = None,
    max_supersteps: int | None = None,
    given: Mapping[str, Any] | None = None,
    folder: str | os.PathLike[str] | None = None,
    lease: float | None = None,
    threads: int | None = None,
    **parameters: Any,
) -> Plugged:
    """Run a program, usually one of :func:`arcflux.msg`, on workers that compute by daemons.

    Parameters
    ----------
    graph, program
        The graph, and the program to run on it; keyword arguments that the program has are its parameters.
    workers
        Their number, or parts of the graph; with MPI as many as there are ranks.
    partition
        How edges are distributed: "degree" and "grid" cut vertices, "ranges", "random" and "mincut" keep in-edges at
        the owner of their target.
    mode
        "sync", or "async" for programs that reduce by min, max, | or & and do not ask for the step.
    daemons
        The daemons of every worker, or a list of them for each.
    blocks
        How triplets go to daemons: :class:`~arcflux.plug.agent.Blocks`.
    cache
        How many vertices an agent keeps from one iteration to the next: None for all, 0 for none.
    lazy
        Upload what changed only when another worker asks for it; else everything that changed, at once.
    skip
        Skip the global synchronisation if no change concerns another worker.
    given
        Initial values of fields, as for :func:`arcflux.run`.

    Examples
    --------
    >>> import arcflux as af
    >>> from arcflux.plug.upper import gas
    >>> found = gas.run("path:5", af.algorithms.BFS, source=0)  # doctest: +SKIP
    """
    if mode not in _MODES:
        raise UsageError(f"mode is {mode!r}", expected=" or ".join(map(repr, _MODES)))
    refuse_options(daemons, blocks, cache, lazy, skip)
    chosen = program(**parameters)
    template = _template(graph, chosen)
    if mode == "async" and not template.any_order:
        raise UsageError(
            f"{program.name} cannot run asynchronously: its result would depend on when messages come",
            expected="a sparse program that reduces by min, max, | or &, and asks for neither step nor totals",
            remedy="mode='sync'",
        )
    values = given_values(template.lowered, graph, given or {})
    knobs = Knobs(mode == "async", cache, lazy, skip, max_supersteps, blocks or Blocks(), folder, lease, threads)
    spread = Spread(parts=workers, partition=partition, transport=transport).checked()

    def work(ranks: Transport, parts: Parts) -> Outcome:
        own = _own(daemons, ranks.rank, ranks.size)
        with Worker(ranks, parts, template, values, own, knobs) as worker:
            return worker.run()

    outcome: Outcome = on_ranks(spread, graph, work)
    shown = {name: outcome.values[name] for name in chosen.fields if name not in chosen.hidden}
    made = Plugged(
        chosen.name, graph, shown, outcome.history, outcome.converged, outcome.seconds, outcome.prepared,
        chosen.references, where=outcome.where, totals=outcome.totals, counts=outcome.counts,
        seconds_by=outcome.seconds_by, costs=tuple(outcome.costs),
    )  # fmt: skip
    warn_unless_converged(made)
    return made


def refuse_options(daemons: Any, blocks: Any, cache: Any, lazy: Any, skip: Any) -> None:
    """Refuse invalid options of agents, before any worker begins."""
    listed = isinstance(daemons, Sequence) and not isinstance(daemons, str) and len(daemons) > 0
    for one in daemons if listed else ():
        names = [one] if isinstance(one, str) else one
        listed = listed and isinstance(names, Sequence) and len(names) > 0 and all(map(Place.of, names))
    if not listed:
        remedy = f"daemons=[{daemons!r}]" if isinstance(daemons, str) else "daemons=['cpu']"
        raise UsageError(f"daemons is {shown(daemons)}", expected="a list of names, one or more", remedy=remedy)
    if blocks is not None and not isinstance(blocks, Blocks):
        raise UsageError(f"blocks is {shown(blocks)}", expected="arcflux.plug.agent.Blocks(...)")
    maybe(wholes(0))("cache", cache)
    flag("lazy", lazy)
    flag("skip", skip)


def _template(graph: Graph, program: Program) -> Template:
    columns = {name: column.dtype.str for name, column in graph.columns.items()}
    numbers = {
        name: int(graph.ids.to_number(one.value))
        for name, one in program.parameters.items() if one.kind is vertex and one.value is not None
    }  # fmt: skip
    return Template(program, columns, (graph.vertices, graph.edges, graph.arcs), numbers)


def _own(daemons: Sequence[Any], rank: int, size: int) -> list[str]:
    """The daemons of a worker."""
    if not daemons or all(isinstance(name, str) for name in daemons):
        return list(daemons)
    if len(daemons) != size:
        raise UsageError(f"daemons of {len(daemons)} workers are given", expected=f"of {size}, or one list for all")
    return list(daemons[rank])

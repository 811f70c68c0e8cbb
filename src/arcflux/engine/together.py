"""A run on a team that shares all memory: kernels of many supersteps, launched on all workers at once."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from arcflux.compile import cache
from arcflux.compile.cpu import module as cpu
from arcflux.compile.lower import Lowered
from arcflux.engine.call import note_interrupt
from arcflux.engine.loop import Loop, Options
from arcflux.engine.state import State
from arcflux.graph import Graph
from arcflux.result import Result
from arcflux.spmd.interrupt import ending_by_itself, held
from arcflux.spmd.team import Team

__all__ = ["loop_of", "run_together"]


def run_together(lowered: Lowered, graph: Graph, values: Mapping[str, Any], options: Options, team: Team) -> Result:
    """Run a program on a team whose workers all see the graph and its state."""
    begun = time.perf_counter()
    team.at(-1)
    if lowered.ordered and options.direction == "pull":
        lowered = lowered.unordered()
    kernels = cache.module(cpu.source(lowered))
    loop = loop_of(lowered, graph, kernels, options, team)
    loop.prepare()
    once = time.perf_counter() - begun
    state = State(lowered, graph, values, team, options.at_once)
    once += loop.start(state)
    if options.piece is not None:
        state.totals.set(options.piece.totals)
    once += loop.compile(state)
    with held() as pressed:  # until the result is there
        history = loop.run()
        with ending_by_itself():
            if options.piece is not None:
                options.piece.senders = loop.senders()
            fields = {name: team.result(array) for name, array in state.fields.items()}
            totals, edges = state.totals.last, state.edges.result()
            loop.give_back()
        if pressed():
            note_interrupt()
    seconds = time.perf_counter() - begun - once
    name, references = lowered.program.name, lowered.program.references
    return Result(name, graph, fields, history, loop.finished, seconds, once, references, totals=totals, edges=edges)


def loop_of(lowered: Lowered, graph: Graph, made: Any, options: Options, team: Team) -> Loop:
    """The loop of a kind of program."""
    kind: type[Loop]
    if lowered.around is not None:
        from arcflux.engine.neighbourhoods import Neighbourhoods, SparseNeighbourhoods

        kind = SparseNeighbourhoods if lowered.sparse else Neighbourhoods
    elif lowered.ordered:
        from arcflux.engine.buckets import Buckets as kind
    elif lowered.sparse:
        from arcflux.engine.frontier import Frontier as kind
    else:
        from arcflux.engine.dense import Dense as kind
    return kind(lowered, graph, made, options, team)

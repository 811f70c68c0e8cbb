"""A program with phases, lowered: the first state, and every phase with the view of the graph that it sees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from arcflux.compile.lower import Lowered, lower
from arcflux.graph import Graph
from arcflux.program import Program

__all__ = ["LoweredPhases", "lower_phases"]


@dataclass(frozen=True)
class LoweredPhases:
    """A program with phases; `first` has its fields and its start, on no edges."""

    program: Program
    first: Lowered
    phases: Mapping[str, Lowered]

    def view(self, name: str, graph: Graph) -> Graph:
        """The graph as a phase sees it."""
        edges = self.phases[name].program.edges
        return graph.reverse() if edges == "against" else graph.both_ways() if edges == "both" else graph


def lower_phases(first: Lowered, columns: Mapping[str, np.dtype[Any]], debug: bool) -> LoweredPhases:
    """Check and split every phase of a program, of which `first` is the start."""
    program = first.program
    phases = {name: lower(each, columns, first.deterministic, debug) for name, each in program.phase_programs().items()}
    for each in phases.values():
        _refuse_senders(each, first)
    return LoweredPhases(program, first, phases)


def _refuse_senders(lowered: Lowered, first: Lowered) -> None:
    """Whose message came first is kept in fields of a phase alone, which the others know nothing of."""
    for name, how in lowered.reductions.items():
        if name not in first.fields:
            raise lowered.program.refusal(
                how.line, "af.first and af.last are not there in phases",
                "reduce a tuple: v.x, v.who = min((v.x, v.who), (u.x, u.number))",
            )  # fmt: skip

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
        _refuse_tuples(each, first)
    return LoweredPhases(program, first, phases)


def _refuse_tuples(lowered: Lowered, first: Lowered) -> None:
    """The lock of a tuple, and whose message came first, are kept in fields that the other phases know nothing of."""
    if set(lowered.fields) <= set(first.fields):
        return
    line = next(iter(lowered.reductions.values())).line
    raise lowered.program.refusal(
        line, "tuples of fields, af.first and af.last are not reduced in phases",
        "reduce one field at a time, or write a program without phases",
    )  # fmt: skip

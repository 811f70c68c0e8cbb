"""A program with phases, lowered: the first state, and every phase with the view of the graph that it sees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from arcflux.compile.lower import Lowered, lower
from arcflux.graph import Graph
from arcflux.program import Program

__all__ = ["LoweredPhases", "lower_phases"]


@dataclass(frozen=True)
class LoweredPhases:
    """A program with phases; `first` has its fields and its `start`, without edges."""

    program: Program
    first: Lowered
    phases: Mapping[str, Lowered]

    def view(self, name: str, graph: Graph) -> Graph:
        """The graph as a phase sees it."""
        edges = self.phases[name].program.edges
        return graph.reverse() if edges == "against" else graph.both_ways() if edges == "both" else graph


def lower_phases(first: Lowered, columns: Mapping[str, np.dtype[Any]], debug: bool) -> LoweredPhases:
    """Check and split every phase of a program; `first` is its `start`."""
    program = first.program
    phases = {name: lower(each, columns, first.deterministic, debug) for name, each in program.phase_programs().items()}
    hidden = {name: kind for each in phases.values() for name, kind in each.fields.items() if name not in first.fields}
    if hidden:
        fields = {**first.fields, **hidden}
        first = _with_fields(first, fields)
        phases = {name: _with_fields(each, fields) for name, each in phases.items()}
    return LoweredPhases(program, first, phases)


def _with_fields(lowered: Lowered, fields: dict[str, Any]) -> Lowered:
    """The same with all fields that phases add: the locks of their tuples, and their first senders.

    Phases share one state, so each has the fields of all, in one order. What is generated from it is cached with the
    program.
    """
    known = lowered.facts.get("over all fields")
    if known is None or list(known.fields) != list(fields):
        known = lowered.facts["over all fields"] = replace(lowered, fields=fields, sources={}, facts={})
    result: Lowered = known.of(lowered.program)
    return result

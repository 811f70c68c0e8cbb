"""Quick checks: random programs whose kernels are interpreted, so that a mutant of them needs no compiler.

Programs, graphs and what the oracle says of them are drawn once. A check runs one program on one graph in one way.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

__all__ = ["Check", "program_checks"]


@dataclass(frozen=True)
class Check:
    """A check by name; calling it says what is wrong."""

    name: str
    call: Callable[[], str]


def program_checks(programs: int, on_parts: bool) -> list[Check]:
    """Checks of so many random programs, in all ways or on parts alone."""
    from program_fuzzer.compare import Case, expected
    from program_fuzzer.grammar import random_program
    from program_fuzzer.graphs import random_graph
    from program_fuzzer.values import IllDefined
    from program_fuzzer.ways import interpreted_ways

    found = []
    for seed in range(programs):
        draw = random.Random(seed)
        case = Case(random_program(draw), random_graph(draw), None)
        case = Case(case.program, case.graph, case.program.limit)
        if not case.graph.vertices and "source" in case.program.parameters:
            continue
        try:
            outcome = expected(case)
        except IllDefined:
            continue
        case.graph.graph  # noqa: B018 - built here, once
        ways = interpreted_ways(draw, 16 if on_parts else 5)
        for k, way in enumerate(way for way in ways if not on_parts or "parts" in way.options):
            found.append(Check(f"program {seed} {k}: {way}", _comparison(case, outcome, dict(vars(way)))))
    return found


def _comparison(case: Any, outcome: Any, way: dict[str, Any]) -> Callable[[], str]:
    def compare() -> str:
        # Imported where it is called: by then, the modules are those of a mutant.
        difference, again = import_module("program_fuzzer.compare").difference, import_module("program_fuzzer.ways").Way
        said: str = difference(case, again(**way), outcome)
        return said

    return compare

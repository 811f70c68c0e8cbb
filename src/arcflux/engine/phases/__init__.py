"""Programs with phases: where they run, and the run itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from arcflux.engine.advice import advised
from arcflux.engine.loop import Options, ending
from arcflux.engine.phases.lowered import LoweredPhases, lower_phases
from arcflux.engine.phases.parts import phases_spread
from arcflux.engine.phases.plain import phases_in_python
from arcflux.engine.phases.together import phases_together
from arcflux.engine.spread import Spread
from arcflux.graph import Graph
from arcflux.result import Result
from arcflux.spmd.team import Team

__all__ = ["LoweredPhases", "lower_phases", "run_phases"]


def run_phases(
    lowered: LoweredPhases, graph: Graph, values: Mapping[str, NDArray[Any]], options: Options, spread: Spread | None,
    threads: int | None,
) -> Result:  # fmt: skip
    """Run a program with phases; without a `spread`, in plain Python."""
    if spread is None:
        return phases_in_python(lowered, graph, options.limit, values, ending(options))
    if spread.wanted:
        return phases_spread(lowered, graph, values, replace(options, threads=threads or 1), spread)
    most = max(lowered.phases.values(), key=lambda each: each.has_edges)
    options, _ = advised(most, graph, options, threads)
    return phases_together(lowered, graph, values, options, Team(options.threads))

"""Which model of exchange each phase of a program gets: any, as long as all replicate the same vertices.

`readers` and `owners` leave the fields of a vertex with its owner, and phases may differ in them. With `allreduce` and
`mixed`, some vertices are updated by every node, from accumulators that all nodes have reduced; a phase in which only
their owner updated them would leave stale fields elsewhere. So these must be the same vertices in all phases, also in
those without edges, or there are none.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from arcflux.engine.exchange.model import Model, high_degrees, reason_for_targets
from arcflux.engine.phases.lowered import LoweredPhases
from arcflux.graph import Graph
from arcflux.partition.parts import Parts

__all__ = ["FIRST", "phase_models"]

# The key of the model that `start` uses; no phase has this name.
FIRST = ""


def phase_models(asked: str, lowered: LoweredPhases, graph: Graph, parts: Parts) -> Mapping[str, Model]:
    """The model of every phase, and of `start`."""
    views = {name: parts.on(lowered.view(name, graph)) for name in lowered.phases}
    if asked not in ("allreduce", "mixed"):
        chosen = {name: Model.choose(asked, each, views[name]) for name, each in lowered.phases.items()}
        return {**chosen, FIRST: Model("readers", parts.at_targets())}
    reasons = [f"{name}: {why}" for name, each in lowered.phases.items() if (why := reason_for_targets(each))]
    flags = np.ones(graph.vertices, bool)
    if asked == "mixed":
        flags = np.any([high_degrees(view.graph) for view in views.values()], axis=0)
        views = {name: view.at_sources() if view.placement == "target" else view for name, view in views.items()}
        reasons += [] if flags.any() else ["no vertex has many times the mean in-degree"]
    if reasons:
        note = f"exchange is not {asked}, by which every node updates the same vertices in all phases: {reasons[0]}"
        chosen = {name: Model.choose("auto", each, views[name]) for name, each in lowered.phases.items()}
        return {**chosen, FIRST: Model("readers", parts.at_targets(), None, note)}
    same = {name: Model(asked, view, flags) for name, view in views.items()}
    return {**same, FIRST: Model(asked, parts if asked == "allreduce" else next(iter(views.values())), flags)}

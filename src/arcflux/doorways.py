"""Doorways: what an earlier room asks of a later one. The table below is the whole list.

A graph can be saved, though the formats stand after it; a result can be explained, though the planner does. Such a
method names a doorway, and the module behind it is imported when the method is called. So imports point one way
only, and a room that is not asked for is never loaded.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

__all__ = ["DOORWAYS", "enter"]

# name -> module, or module:attribute
DOORWAYS = {
    # methods of Graph
    "graph.reverse": "arcflux.graph.views:reversed_view",
    "graph.both_ways": "arcflux.graph.views:united_view",
    "graph.subgraphs": "arcflux.graph.subgraphs",
    "graph.card": "arcflux.graph.card",
    "graph.save": "arcflux.io:save",
    "graph.convert": "arcflux.io.objects",
    # methods of Parts
    "parts.save": "arcflux.partition.folder:write",
    "parts.draw": "arcflux.partition.drawing",
    # methods of Result
    "result.explain": "arcflux.plan.explain:explain_result",
    # the options that an algorithm hands on to a run, for its errors
    "run": "arcflux.engine.front:run",
    # what a run leaves to the planner, and what the ranks of a grid check themselves
    "planner": "arcflux.plan.this_machine",
    "planner.calibration": "arcflux.plan.calibration:load_calibration",
    "validate.grid_bfs": "arcflux.algorithms.bfs_grid.check:check_grid",
}


def enter(name: str) -> Any:
    """What is behind a doorway: a module, or a function of one.

    Examples
    --------
    >>> enter("graph.save").__name__
    'save'
    """
    module, _, attribute = DOORWAYS[name].partition(":")
    room = _imported(module)
    return getattr(room, attribute) if attribute else room


_imported = cache(import_module)  # import_module itself takes locks each time

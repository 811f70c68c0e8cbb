"""A search on a grid of parts, checked by Graph500's rules and by those of MapGraph's authors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import arcflux.validate.arguments as arguments
from arcflux.checks import checked, flag
from arcflux.doorways import enter
from arcflux.io import takes_graph
from arcflux.validate.report import SHOWN, Offence, Report, Rule
from arcflux.validate.traversal import bfs

if TYPE_CHECKING:
    from arcflux.graph import Graph
    from arcflux.partition.parts import Parts

__all__ = ["grid_bfs"]


@takes_graph
@checked(numbers=flag)
def grid_bfs(
    graph: Graph,
    source: Any,
    level: Any,
    parent: Any,
    parts: int | Parts | None = None,
    *,
    numbers: bool = False,
    transport: str | None = None,
    ranks_per_node: int | None = None,
) -> Report:
    """Check a breadth-first search as :func:`bfs` does, and then by MapGraph's rules, on the ranks of a grid.

    The rules (Fu et al., 2014, IV-C): predecessors lead to the source in fewer than |V| steps; an arc from the tree
    leads to a vertex of the tree, at most one level down. Every rank checks its own arcs and its own vertices.

    Parameters
    ----------
    level, parent, numbers
        As in :func:`bfs`; both are needed.
    parts, transport, ranks_per_node
        As in :func:`arcflux.run`: how many parts, or which.

    Examples
    --------
    >>> import arcflux as af
    >>> g = af.load("path:4")
    >>> [rule.name for rule in af.validate.grid_bfs(g, 0, [0, 1, 2, 3], [0, 0, 1, 2], parts=4)][-3:]
    ['grid-chain', 'grid-span', 'grid-level']
    >>> report = af.validate.grid_bfs(g, 0, [0, 1, 2, 3], [0, 0, 3, 2], parts=4)
    >>> report["grid-chain"].count
    2
    """
    from arcflux.engine.spread import Spread

    usual = bfs(graph, source, level, parent, numbers=numbers)
    root = int(arguments.source_of(graph, source)[0])
    levels = arguments.wholes("level", level, graph.vertices)
    before = np.maximum(arguments.parents(graph, parent, numbers), arguments.NOBODY)

    spread = Spread(parts, "grid", transport=transport, ranks_per_node=ranks_per_node).checked()
    found = enter("validate.grid_bfs")(spread, graph, root, levels, before, SHOWN)

    def chain(v: int) -> Offence:
        return Offence(
            arguments.user_id(graph, v), "predecessors that never come to the source", "a chain to the source"
        )

    def arc(ends: tuple[int, int]) -> Offence:
        u, v = (arguments.user_id(graph, end) for end in ends)
        most = levels[ends[0]] + 1
        at = "outside the tree" if before[ends[1]] < 0 else f"level {levels[ends[1]]}"
        return Offence(v, at, f"at most level {most}: edge {u} -> {v}")

    return Report(
        usual.subject,
        (
            *usual.rules,
            Rule.checked(
                "grid-chain", "predecessors lead to the source in fewer than |V| steps", found.chains[1], chain,
                count=found.chains[0],
            ),
            Rule.checked(
                "grid-span", "every edge from the tree leads into the tree", found.span[1], arc, count=found.span[0],
                unit="edges",
            ),
            Rule.checked(
                "grid-level", "no edge of the tree's vertices leads more than one level down", found.steep[1], arc,
                count=found.steep[0], unit="edges",
            ),
        ),
    )  # fmt: skip

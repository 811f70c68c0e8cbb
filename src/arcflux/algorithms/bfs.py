"""Breadth-first search: the level of each vertex, and its parent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import arcflux as af
from arcflux.checks import maybe, text
from arcflux.engine.call import graph_call
from arcflux.graph import Graph

__all__ = ["BFS", "bfs"]


@af.program
class BFS:
    """Levels and parents from a source (Lux, section 3; direction-optimising by Beamer's rule)."""

    source: af.vertex
    sparse = True
    level: af.i32
    parent: af.ref

    def start(v, p):
        v.level = 0 if v.number == p.source else -1
        v.parent = v.number if v.number == p.source else -1
        return v.number == p.source

    def wants(v):
        return v.parent < 0

    def compute(v, u):
        v.parent = af.any(u.number)

    def update(v, step):
        if v.parent < 0:
            return False
        v.level = step + 1
        return True


@graph_call(scan=maybe(text))
def bfs(graph: Graph, source: Any, *, scan: str | None = None, **options: Any) -> af.Result:
    """The level and the parent of every vertex that `source` reaches along the edges' direction.

    Unreached vertices have level and parent -1; the source is its own parent. Of several possible
    parents any may be taken. Weights, self-loops and parallel edges make no difference.

    With ``parts=p * q, partition="grid"`` it is MapGraph's traversal by bitmaps; `scan` is then how a column of parts
    agrees which part was first: "log" (ceil(log2 p) steps, the default) or "wave" (p - 1 steps). It takes no
    ``deterministic``, ``debug``, ``given``, ``exchange`` nor several ``threads`` a part: with these, with devices that
    are not all GPUs, and on a number of parts that makes no whole grid (7), the program above runs on the parts. With
    ``devices`` that are GPUs, one for each part, they expand the frontier.

    Examples
    --------
    >>> import arcflux as af
    >>> af.algorithms.bfs(af.load("path:4"), 1)["level"].tolist()
    [1, 0, 1, 2]
    >>> af.algorithms.bfs(af.load("path:4"), 1, parts=4, partition="grid")["level"].tolist()
    [1, 0, 1, 2]
    """
    if scan is not None or _searched_on_grid(options):
        from arcflux.algorithms.bfs_grid import grid_bfs

        where = {name: options[name] for name in ("parts", "transport", "ranks_per_node") if name in options}
        return grid_bfs(graph, source, scan or "log", **options).checked_by(
            lambda result: af.validate.grid_bfs(
                graph, source, result["level"], result.numbers("parent"), numbers=True, **where
            )
        )
    return af.run(BFS, graph, source=source, **options).checked_by(
        lambda result: af.validate.bfs(graph, source, result["level"], result.numbers("parent"), numbers=True)
    )


def _searched_on_grid(options: Mapping[str, Any]) -> bool:
    """Whether the options ask for the search on a grid, whose modules are only loaded then."""
    if options.keys().isdisjoint(("parts", "partition")):
        return False
    from arcflux.algorithms.bfs_grid import searched_on_grid

    return searched_on_grid(options)

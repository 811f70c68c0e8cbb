"""Parts of parts: a partitioner applied recursively, so that parts are the leaves of a tree (G2, sections III-B, IV-B).

Parts with a lower common ancestor have more edges between them, since their ancestor was cut where few edges are. They
are numbered from left to right: with a fan of 2, parts 4 and 5 have one parent, and 4 to 7 one grandparent.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.errors import UsageError
from arcflux.graph.core import Graph
from arcflux.partition import partition
from arcflux.partition.parts import Parts
from arcflux.partition.rule import smallest

__all__ = ["common_level", "merge_parts", "split_recursively"]

Array = NDArray[Any]


def split_recursively(graph: Graph, least: int, how: str = "auto", fan: int = 2, **options: Any) -> Parts:
    """Split a graph into `least` parts or a few more, as many as a tree has leaves whose nodes have `fan` children.

    `how` is a partitioner of :func:`arcflux.partition`; "auto" is "mincut" (METIS), or "ranges" where that is not
    installed. The tree is ``parts.hierarchy``: its fan and its levels; it is kept with the parts.

    Examples
    --------
    >>> import arcflux as af
    >>> parts = split_recursively(af.load("kron:8"), 6, "ranges")
    >>> parts.k, parts.hierarchy
    (8, (2, 3))
    """
    if isinstance(least, bool) or not isinstance(least, int) or least < 1 or fan < 2:
        raise UsageError(f"{least!r} parts with a fan of {fan!r}", expected="1 or more parts, with a fan of 2 or more")
    if how == "auto":
        how = "mincut" if find_spec("pymetis") is not None else "ranges"
    levels = 0
    while fan**levels < least:
        levels += 1
    count = fan**levels
    if how == "ranges" or levels < 2:
        parts = _checked(partition(graph, count, how, **options))  # ranges of ranges are ranges
    else:
        owner = np.zeros(graph.vertices, smallest(count))
        _split(graph, np.arange(graph.vertices), levels, how, fan, options, owner)
        parts = Parts(graph, count, how, owner=owner)
    parts.hierarchy = fan, levels
    return parts


def _checked(parts: Parts) -> Parts:
    """Parts that can be split again: each has its vertices with their in-arcs."""
    if parts.placement != "target" or parts.duplicated:
        raise UsageError(
            f"the partitioner {parts.how!r} deals out arcs, not vertices",
            expected="ranges, random, mincut",
        )
    return parts


def _split(
    graph: Graph, vertices: Array, levels: int, how: str, fan: int, options: dict[str, Any], owner: Array
) -> None:
    """Number the parts of `graph`, whose vertices are these of the whole graph, from what `owner` has there on."""
    if not levels or not graph.vertices:
        return
    side = _checked(partition(graph, fan, how, **options)).owner
    owner[vertices] += (side * np.array(fan ** (levels - 1), owner.dtype)).astype(owner.dtype)
    if levels == 1:
        return
    for one in range(fan):
        mine = np.flatnonzero(side == one)
        _split(_induced(graph, mine), vertices[mine], levels - 1, how, fan, options, owner)


def _induced(graph: Graph, vertices: Array) -> Graph:
    """The graph of some of the vertices, numbered anew, and the edges between them."""
    number = np.full(graph.vertices, -1, np.int64)
    number[vertices] = np.arange(len(vertices))
    sources, targets, _ = graph.edge_numbers()
    inside = (number[sources] >= 0) & (number[targets] >= 0)
    return Graph.from_edges(
        number[sources[inside]], number[targets[inside]], vertices=len(vertices), directed=graph.directed
    )


def merge_parts(parts: Parts, workers: Sequence[int], count: int | None = None) -> Parts:
    """Parts for workers that hold several of these each: `workers` has the worker of every part, from 0 on.

    There are `count` workers, of which some may hold none; without it, as many as are named.

    Examples
    --------
    >>> import arcflux as af
    >>> leaves = split_recursively(af.load("path:8"), 4, "ranges")
    >>> merge_parts(leaves, [1, 0, 0, 1]).owner.tolist()
    [1, 1, 0, 0, 0, 0, 1, 1]
    """
    held = np.asarray(workers)
    if held.shape != (parts.k,) or held.dtype.kind not in "iu" or int(held.min()) < 0:
        raise UsageError(f"the workers of {parts.k} parts are {workers!r}", expected="a number from 0 on for each part")
    _checked(parts)
    count = int(held.max()) + 1 if count is None else count
    if count <= int(held.max()):
        raise UsageError(f"part {int(held.argmax())} is worker {int(held.max())}'s", expected=f"one of {count} workers")
    note = f"{parts.k} parts by {parts.how}, dealt out to {count} workers"
    return Parts(parts.graph, count, "assignment", owner=held.astype(smallest(count))[parts.owner], notes=[note])


def common_level(one: int, other: int, fan: int, levels: int) -> int:
    """How far up the lowest common ancestor of two parts is: 0 for a part and itself, `levels` for the root.

    Examples
    --------
    >>> common_level(4, 5, 2, 3), common_level(3, 4, 2, 3)
    (1, 3)
    """
    up = 0
    while one != other and up < levels:
        one, other, up = one // fan, other // fan, up + 1
    return up

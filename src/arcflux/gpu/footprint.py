"""How many bytes of a GPU a part needs besides its edges; the rest of the budget is for these.

Counted from the existing arrays and the future lists, before any edge is copied. Temporary arrays of a superstep are
counted at their largest.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from arcflux.gpu.load import Loader
from arcflux.gpu.state import State
from arcflux.gpu.view import NodeView, PartView

__all__ = ["lists_of", "of_part", "of_run"]

Array = NDArray[Any]

_INDEX = 4


def of_run(state: State, made: list[Any], besides: list[Any]) -> int:
    """Bytes that do not depend on the part: mirrored and constant arrays, without `besides`, and `made` ones."""
    others = {id(array) for array in besides}
    mirrored = [twin.host for twin in state.twins if not twin.mapped and id(twin.host) not in others]
    constant = [host for host, _ in state.constant.values() if id(host) not in others]
    return sum(int(array.nbytes) for array in (*mirrored, *constant, *made))


def lists_of(own: PartView) -> list[Array]:
    """The lists of vertices that change with a part; the first two are written by kernels."""
    return [own.told, own.reached, own.mine, own.everywhere, own.targets]


def of_part(node: NodeView, own: PartView, loader: Loader | None, linked: bool) -> int:
    """Bytes that depend on the part: its lists, its rows, what it reads of others, and receive buffers."""
    n, rows, arcs = int(node.graph.vertices), len(own.part.into.offsets) - 1, len(own.part.into.neighbours)
    lists = sum(int(array.nbytes) for array in lists_of(own))
    # Row offsets, the rows of each kernel, the vertices to update, and those to read.
    lists += _INDEX * (rows + 1 + rows + len(own.mine) + len(own.everywhere) + min(n, arcs))
    brought = 0 if loader is None else int(loader.nbytes(n))
    return lists + brought + (_carried(node, own) if linked else 0)


def _carried(node: NodeView, own: PartView) -> int:
    """Bytes in transit between GPUs in a superstep: rows of messages, and their vertices."""
    row = sum(int(array.nbytes) // max(1, len(array)) for array in node.messages)
    some = [*own.lists.tell.values(), *own.lists.hear.values()]
    return sum(len(vertices) * (row + _INDEX + 1) for vertices in some)

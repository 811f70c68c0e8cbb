"""How many bytes of a GPU a part takes besides its edges: what the budget leaves for these follows from it.

Counted from the arrays that are there and the lists that will be, before any edge is copied. What comes and goes within
a superstep is counted at its largest.
"""

from __future__ import annotations

from typing import Any

from arcflux.gpu.state import State

__all__ = ["OF_A_PART", "of_part", "of_run"]

# Lists of the node that change with a part; the first two are written by kernels.
OF_A_PART = ("told", "reached", "mine", "everywhere", "targets")
_INDEX = 4


def of_run(state: State, made: list[Any], besides: list[Any]) -> int:
    """Bytes of what is there whatever the part: mirrored and constant arrays, without `besides`, and `made` ones."""
    others = {id(array) for array in besides}
    mirrored = [twin.host for twin in state.twins if not twin.mapped and id(twin.host) not in others]
    constant = [host for host, _ in state.constant.values() if id(host) not in others]
    return sum(int(array.nbytes) for array in (*mirrored, *constant, *made))


def of_part(node: Any, loader: Any) -> int:
    """Bytes of what a part brings: its lists, its rows, what it reads of others, and room for what others send."""
    n, rows, arcs = int(node.graph.vertices), len(node.part.into.offsets) - 1, len(node.part.into.neighbours)
    lists = sum(int(getattr(node, name).nbytes) for name in OF_A_PART)
    # Where each row begins, which of them each kernel takes, who is updated, and of whom the part reads.
    lists += _INDEX * (rows + 1 + rows + len(node.mine) + len(node.everywhere) + min(n, arcs))
    brought = 0 if loader is None else int(loader.nbytes(n))
    return lists + brought + (_carried(node) if node.linked else 0)


def _carried(node: Any) -> int:
    """Bytes of what is under way between GPUs in a superstep: rows of messages, and whose they are."""
    row = sum(int(array.nbytes) // max(1, len(array)) for array in node.messages)
    some = [*node.lists.tell.values(), *node.lists.hear.values()]
    return sum(len(vertices) * (row + _INDEX + 1) for vertices in some)

"""The arguments of a part's kernels on a GPU: the device's side of the arrays and numbers that they name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.compile.cpu.mail_parts import mail_given
from arcflux.compile.pieces.source import EDGE_ARRAYS, shared
from arcflux.gpu import api
from arcflux.gpu.state import State
from arcflux.gpu.view import NodeView

__all__ = ["Arguments"]

Array = NDArray[Any]

# The engine's arguments of each kernel besides the arrays of the node, by their names in kernels.
_GIVEN = {
    "start": ("mine",),
    "push": ("queue", "size", "EDGES", "whole", "stamp", "mark", "reached", "counts"),
    "gather": ("targets", "EDGES", "bits", "stamp", "mark", "reached", "counts"),
    "pull": ("mine", "first", "last", "EDGES", "bits"),
    "apply": ("which",),
    "empty": ("which",),
    "publish": ("which", "limit", "bits", "queue", "heads", "told", "counts"),
}
# Arrays that kernels only read.
_READ = ("mine", "which", "targets", "in_offsets", "out_offsets", "in_neighbours", "out_neighbours",
         *(f"x_{name}" for name in EDGE_ARRAYS))  # fmt: skip
_READ_BY_ALL = ("totals_", "box_", "in_", "columns_")
# Kernels that send.
_SENDING = ("start", "apply", "pull")


class Arguments:
    """Finds the value of a name: an array of the node, or an argument of the engine.

    `read`: copies of the messages that a part reads; empty where the device has the messages themselves.
    """

    def __init__(self, node: NodeView, state: State, read: list[Any]) -> None:
        self.node, self.state, self.read, self.lowered = node, state, read, node.lowered

    def named(self, name: str, given: Sequence[Any]) -> dict[str, Any]:
        """The engine's arguments of a kernel, by name."""
        names: list[str] = []
        sends = bool(self.lowered.mails) and name.removesuffix("_count") in _SENDING
        for said in _GIVEN[name.removesuffix("_count")]:
            columns = (f"c_{column}" for column in self.lowered.columns)
            names += ["rows", "neighbours", *columns] if said == "EDGES" else [said]
        return dict(zip([*names, *(mail_given(self.lowered) if sends else [])], given, strict=True))

    def of(self, kernel: Any, values: dict[str, Any]) -> list[Any]:
        """The arguments of a launch, in the kernel's order."""
        code = kernel.py_func.__code__
        return [self._value(word, values) for word in code.co_varnames[: code.co_argcount]]

    def _value(self, word: str, values: dict[str, Any]) -> Any:
        node = self.node
        if word in values:
            value = values[word]
        elif word[:2] == "f_":
            value = node.fields[word[2:]]
        elif word[:2] == "a_":
            value = node.accumulators[word[2:]]
        elif word[:2] == "s_":
            value = node.messages[self._message(word)]
        elif word[:2] == "r_":
            message = self._message(word)
            return self.read[message] if self.read else self.state.device(node.messages[message], writes=False)
        elif word[:2] in ("g_", "p_"):
            value = self._constants()[word]
            return self.state.device(value, writes=False) if isinstance(value, np.ndarray) else _number(value)
        elif word[:2] == "x_":
            value = self._constants()[word]
        else:
            value = self._shared(word)
        if isinstance(value, np.ndarray):
            kind = np.uint32 if word == "bits" else None
            return self.state.device(value, kind, writes=word not in _READ and not word.startswith(_READ_BY_ALL))
        return _number(value)

    def _shared(self, word: str) -> Array:
        """An array that every kernel has by its own name (compile/cpu/parts.py: part_arrays)."""
        node = self.node
        kind, _, name = word.partition("_")
        of_totals = {"totals": node.totals.values, "sums": node.totals.sums, "each": node.each}
        if kind in of_totals:
            return of_totals[kind][name]
        if kind == "columns":
            return node.graph.columns[name]
        return {
            "in_offsets": node.graph.into.offsets, "out_offsets": node.graph.out.offsets, "moves": node.moves,
            "pending": node.pending, "residuals": node.residuals, "tally": node.tally,
            "in_neighbours": node.graph.into.neighbours, "out_neighbours": node.graph.out.neighbours,
        }[word]  # fmt: skip

    def _message(self, word: str) -> int:
        return next(k for k, message in enumerate(self.lowered.messages) if message.name == word[2:])

    def _constants(self) -> dict[str, Any]:
        names = shared(self.lowered)[len(self.node.fields) :]
        return dict(zip(names, self.node.constants[len(self.node.fields) :], strict=True))


def _number(value: Any) -> Any:
    """A number as compiled code would have it: the simulator, too, computes with int64 and float64."""
    if not api.simulated() or isinstance(value, (bool, np.generic)) or not isinstance(value, (int, float)):
        return value
    return np.float64(value) if isinstance(value, float) else np.int64(value)

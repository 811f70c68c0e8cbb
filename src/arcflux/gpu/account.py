"""The bytes that a kernel reads and writes for each vertex and each edge, counted in its generated source.

Every array element that a kernel names is counted once, for a vertex or for an edge, whatever branch it is in: an upper
bound of the memory traffic without caches; caches reduce it. It serves to compare kernels with each other, those of a
GPU with those of the CPU, and to predict times.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

import numpy as np

from arcflux.compile.cpu import module as cpu
from arcflux.compile.cuda.module import cuda_source
from arcflux.compile.lower import Lowered
from arcflux.parsing import parse

__all__ = ["Cost", "cost", "cpu_pull_cost"]

_SIZES = {
    "mine": 4, "targets": 4, "rows": 4, "neighbours": 4, "bits": 4, "queue": 4, "scan": 8, "stamp": 1, "reached": 4,
    "told": 4, "in_offsets": 8, "out_offsets": 8, "moves": 1, "pending": 1, "residuals": 8, "which": 4,
}  # fmt: skip
# The loops over edges, by their conditions.
_LOOPS = ("begun < end", "first < total_edges", "window < total_edges", "cuda.any_sync(FULL, begin < end)")
# Kernels with a thread for each edge: everything in their loop is per edge.
_BY_EDGE = ("push", "gather")


@dataclass(frozen=True)
class Cost:
    """Bytes of a kernel: read and written for each vertex (or sender, or listed vertex), and for each edge."""

    vertex_read: int
    vertex_written: int
    edge_read: int
    edge_written: int

    def bytes(self, vertices: int, edges: int) -> int:
        """The total for this many vertices and edges.

        Examples
        --------
        >>> Cost(24, 16, 12, 0).bytes(1000, 16000)
        232000
        """
        vertex, edge = self.vertex_read + self.vertex_written, self.edge_read + self.edge_written
        return vertices * vertex + edges * edge


def cost(lowered: Lowered, kernel: str, columns: dict[str, np.dtype[Any]]) -> Cost:
    """The cost of a program's kernel for a GPU; `columns` are the types of edge columns."""
    return _counted(lowered, cuda_source(lowered), f"part_{kernel}", columns, {}, kernel in _BY_EDGE)


def cpu_pull_cost(lowered: Lowered, columns: dict[str, np.dtype[Any]]) -> Cost:
    """The cost of the same pull on cores, where offsets and words of the frontier have 64 bits."""
    return _counted(lowered, cpu.parts_source(lowered), "part_pull", columns, {"rows": 8, "bits": 8}, False)


def _counted(
    lowered: Lowered, source: str, name: str, columns: dict[str, np.dtype[Any]], wide: dict[str, int], by_edge: bool
) -> Cost:
    (function,) = (node for node in parse(source).body if isinstance(node, ast.FunctionDef) and node.name == name)
    sizes = _sizes(lowered, columns) | wide
    counter = _Counter(lowered, sizes)
    for statement in function.body:
        counter.visit(statement)
    totals = {key: sum(size for size in counter.found[key].values()) for key in counter.found}
    if by_edge:
        return Cost(0, 0, totals["edge", "read"] + totals["vertex", "read"], totals["edge", "write"])
    return Cost(totals["vertex", "read"], totals["vertex", "write"], totals["edge", "read"], totals["edge", "write"])


def _sizes(lowered: Lowered, columns: dict[str, np.dtype[Any]]) -> dict[str, int]:
    sizes = dict(_SIZES)
    for name, (dtype, length) in lowered.fields.items():
        sizes[f"f_{name}"] = sizes[f"a_{name}"] = dtype.itemsize * (length or 1)
    for name, total in lowered.totals.items():
        sizes[f"each_{name}"] = total.dtype.itemsize * (total.length or 1)
    for message in lowered.messages:
        sizes[f"s_{message.name}"] = sizes[f"r_{message.name}"] = message.dtype.itemsize * (message.length or 1)
    if lowered.edge_state is not None:
        fields = lowered.edge_state.fields.items()
        sizes |= {f"x_{name}": kind.stored.itemsize * (kind.length or 1) for name, kind in fields}
        sizes |= {"x_reverse": 4, "x_place": 4}
    return sizes | {f"c_{name}": dtype.itemsize for name, dtype in columns.items()}


class _Counter(ast.NodeVisitor):
    """Records which array elements are read and written, for a vertex or for an edge."""

    def __init__(self, lowered: Lowered, sizes: dict[str, int]) -> None:
        self.sizes, self.where = sizes, "vertex"
        self.reduced = [f"a_{name}" for name in lowered.reductions]
        self.found: dict[tuple[str, str], dict[str, int]] = {
            (where, what): {} for where in ("vertex", "edge") for what in ("read", "write")
        }

    def _note(self, array: ast.expr, place: ast.AST, what: str) -> None:
        name = ast.unparse(array)
        if name not in self.sizes or isinstance(place, ast.Constant):  # a fixed element is in a register
            return
        text = f"{name}[{ast.unparse(place).split(',')[0].strip('(')}]"
        text = "rows[k]" if text.startswith("rows[k") else text  # the end of a row is the beginning of the next
        if not (self.where == "edge" and text in self.found["vertex", what]):
            self.found[self.where, what].setdefault(text, self.sizes[name])

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self._note(node.value, node.slice, "write" if isinstance(node.ctx, ast.Store) else "read")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = ast.unparse(node.func)
        if name in ("load", "keep"):
            self._note(node.args[0], node.args[1], "read" if name == "load" else "write")
        elif name == "push_edge":  # it reads an accumulator, and writes it unless unchanged
            for array in self.reduced:
                for what in ("read", "write"):
                    self._note(ast.Name(array), ast.Name("v"), what)
        elif name in ("swap", "cuda.atomic.or_"):
            self._note(node.args[0], node.args[1], "write")
        self.generic_visit(node)

    def _loop(self, node: ast.For | ast.While, edges: bool) -> None:
        before = self.where
        self.where = "edge" if edges else before
        self.generic_visit(node)
        self.where = before

    def visit_For(self, node: ast.For) -> None:
        over = ast.unparse(node.iter)
        edges = over in ("range(begin, end)", "range(rows[k], rows[k + one])") or over.startswith(
            "range(np.int64(min(end"
        )
        if edges:
            self.visit(node.iter)
        self._loop(node, edges)

    def visit_While(self, node: ast.While) -> None:
        self._loop(node, ast.unparse(node.test) in _LOOPS)

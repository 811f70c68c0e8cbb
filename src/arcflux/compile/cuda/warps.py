"""Neighbourhoods of long rows on a GPU: a warp for each vertex, whose lanes read the row together.

All lanes execute `around` in the same way, so that every loop over edges is reached by all of them. Of 32 edges each
lane reads one, in parallel, and then all lanes process these values in turn, by shuffles: the slow reading is shared,
and the order is that of the row, so that results have the bits that one thread gives. The warp sorts the values
collected for a mode or a median together (gpu/warp_votes.py). The functions are those of a thread, with other loops.
"""

from __future__ import annotations

import ast
import re
from typing import Any

import numpy as np

from arcflux.compile.cuda.source import shuffled
from arcflux.compile.lower import Lowered
from arcflux.compile.pieces.generators import around
from arcflux.parsing import parse, parse_expression

__all__ = ["WARP_VOTES", "around_by_warp", "by_warp"]

WARP_VOTES = """from arcflux.gpu.warp_votes import common_warp, heaviest_warp, leading_warp, middle_warp
from arcflux.gpu.warp_votes import vote_warp, weigh_warp
"""
_TOGETHER = ("common", "heaviest", "leading", "middle", "vote", "weigh")
_EDGE = re.compile(r"i(\d+)$")
_COLLECTED = re.compile(r"t\d+$")


def around_by_warp(lowered: Lowered) -> str:
    """The functions of a neighbourhood, in the form for a warp."""
    module = parse(around(lowered, "r"))
    return ast.unparse(ast.fix_missing_locations(_ByWarp(lowered).visit(module))) + "\n"


def by_warp(name: str) -> str:
    """The name of a function in its form for a warp."""
    return f"{name}_warp" if name in (*_TOGETHER, "around") or re.match(r"each\d+$", name) else name


class _ByWarp(ast.NodeTransformer):
    """Functions, calls and loops of a thread become those of a warp."""

    def __init__(self, lowered: Lowered) -> None:
        self.lowered = lowered

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        node.name = by_warp(node.name)
        node.body = [*parse("lane = np.uint64(cuda.laneid)").body, *node.body]
        return node

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name):
            node.func.id = by_warp(node.func.id)
        return node

    def visit_Assign(self, node: ast.Assign) -> Any:
        """One lane writes the values collected for a median."""
        self.generic_visit(node)
        target = node.targets[0]
        if isinstance(target, ast.Subscript) and _COLLECTED.match(ast.unparse(target.value)):
            return ast.If(parse_expression("lane == np.uint64(0)"), [node], [])
        return node

    def visit_For(self, node: ast.For) -> ast.For:
        self.generic_visit(node)
        match = _EDGE.match(node.target.id) if isinstance(node.target, ast.Name) else None
        if match is None:
            return node
        number = match[1]
        own: list[str] = []
        taken: list[str] = []
        rest = list(node.body)
        while rest and (value := self._read(rest[0], number)) is not None:
            name, dtype = value
            read = re.sub(rf"\bi{number}\b", f"at{number}", ast.unparse(rest.pop(0).value))  # type: ignore[attr-defined]
            read = re.sub(rf"\bu{number}\b", f"own_u{number}", read)
            own.append(f"own_{name} = {read}")
            shared = shuffled("shfl_sync", f"own_{name}", dtype, f"turn{number}")
            taken.append(f"{name} = {shared if dtype.kind == 'b' else f'np.{dtype}({shared})'}")
        head = [
            f"turn{number} = np.int64((i{number} - row) & np.uint64(31))",
            f"if turn{number} == 0:",
            f"    at{number} = min(i{number} + lane, row_end - np.uint64(1))",
            *(f"    {line}" for line in own),
            *taken,
        ]
        node.body = [*parse("\n".join(head)).body, *rest]
        return node

    def _read(self, node: ast.stmt, number: str) -> tuple[str, np.dtype[Any]] | None:
        """The name that a statement loads of an edge or its neighbour, and its type; None for values of each lane."""
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            return None
        name = node.targets[0].id
        if name == f"u{number}":
            return name, np.dtype(np.uint64)
        for message in self.lowered.messages:
            if name == f"{message.name}_{number}":
                return (name, message.dtype) if message.length is None else None
        if name.startswith(f"e{number}_") and self.lowered.around is not None:
            return name, self.lowered.around.types[name].stored
        return None

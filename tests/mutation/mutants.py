"""The mutants of a file: one small fault each, but none of those that no test could notice."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import parso
from code_in_strings import CodeInStrings
from cosmic_ray.ast import ast_nodes
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator
from left_out import reason_to_leave_out

__all__ = ["PACKAGE", "Mutant", "diff", "mutants", "mutated"]

PACKAGE = Path("src/arcflux")
# Of Cosmic Ray's operators those whose mutants are seldom the same program: one fault for each place.
OPERATORS = [
    "ReplaceBinaryOperator_Add_Sub", "ReplaceBinaryOperator_Sub_Add", "ReplaceBinaryOperator_Mul_FloorDiv",
    "ReplaceBinaryOperator_FloorDiv_Mul", "ReplaceBinaryOperator_BitOr_BitAnd", "ReplaceBinaryOperator_BitAnd_BitOr",
    "ReplaceComparisonOperator_Eq_NotEq", "ReplaceComparisonOperator_NotEq_Eq", "ReplaceComparisonOperator_Lt_LtE",
    "ReplaceComparisonOperator_LtE_Lt", "ReplaceComparisonOperator_Gt_GtE", "ReplaceComparisonOperator_GtE_Gt",
    "ReplaceComparisonOperator_Is_IsNot", "ReplaceComparisonOperator_IsNot_Is", "ReplaceUnaryOperator_Delete_Not",
    "AddNot", "ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ReplaceAndWithOr", "ReplaceOrWithAnd",
    "ReplaceBreakWithContinue", "ReplaceContinueWithBreak", "NumberReplacer", "ZeroIterationForLoop",
]  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One fault: the `number`-th that `operator` finds in a file of the package."""

    path: str
    operator: str
    number: int
    line: int

    @property
    def module(self) -> str:
        """The module that it is in."""
        return "arcflux." + self.path.removesuffix(".py").replace("/", ".")

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.operator} {self.number}"


def _operator(name: str) -> Any:
    return CodeInStrings() if name == "CodeInStrings" else get_operator("core/" + name)()


def mutants(root: Path, path: str) -> list[Mutant]:
    """Every mutant of a file of the package that a test could notice."""
    text = (root / PACKAGE / path).read_text()
    tree, lines = parso.parse(text), text.splitlines()
    found = []
    for name in ["CodeInStrings", *OPERATORS]:
        number = 0
        for node in ast_nodes(tree):
            for (line, _), _ in _operator(name).mutation_positions(node):
                left_out = reason_to_leave_out(path, _function_of(node), name, lines[line - 1])
                if not left_out and not _is_annotation(node):
                    found.append(Mutant(path, name, number, line))
                number += 1
    return found


def _is_annotation(node: Any) -> bool:
    """Whether a node only says what type something has: no test can notice a fault there."""
    while node is not None and node.type not in ("tfpdef", "annassign", "suite", "file_input"):
        if node.parent is not None and node.parent.type == "funcdef" and node.parent.annotation is node:
            return True
        node = node.parent
    return node is not None and node.type in ("tfpdef", "annassign")


def _function_of(node: Any) -> str:
    """The name of the innermost function that a node stands in; "" outside of all."""
    while node is not None and node.type != "funcdef":
        node = node.parent
    return node.name.value if node is not None else ""


def mutated(root: Path, mutant: Mutant) -> str:
    """The file with the fault; "" where it changes nothing."""
    before = (root / PACKAGE / mutant.path).read_text()
    after = mutate_code(before.encode(), _operator(mutant.operator), mutant.number)
    return "" if after is None or after == before else after


def diff(root: Path, mutant: Mutant) -> str:
    """What the fault is."""
    before = (root / PACKAGE / mutant.path).read_text().splitlines(True)
    return "".join(difflib.unified_diff(before, mutated(root, mutant).splitlines(True), str(mutant), "mutant", n=1))

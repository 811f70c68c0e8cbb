"""What a lowered program does with fields of edges: which it reads and writes, and `along` over messages."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from arcflux.compile.check.checked import Checked, names_in
from arcflux.compile.check.expressions import length_of
from arcflux.compile.check.types import Value, of_dtype
from arcflux.program import Program

__all__ = ["EdgeState", "edge_state_of", "edgewise", "names_of"]


@dataclass(frozen=True)
class EdgeState:
    """The edge state of a program, or of one of its phases.

    fields: the types of all declared ones; body: `along` over messages, None without it; read: the fields of the edge
    that `along` or compute read; reversed: those that they read of the reverse edge; written: those that `along`
    writes; mirrored: those that some phase reads of the reverse edge, stored twice; against: whether edges are crossed
    from their targets, so that their positions have to be looked up.
    """

    fields: Mapping[str, Value]
    body: list[ast.stmt]
    read: list[str]
    reversed: list[str]
    written: list[str]
    mirrored: list[str]
    against: bool

    @property
    def turns(self) -> bool:
        """Whether a superstep writes mirrored fields to the other half."""
        return bool(set(self.written) & set(self.mirrored))

    @property
    def loaded(self) -> list[str]:
        """The fields of the edge that have to be loaded."""
        return sorted({*self.read, *self.written})


def edgewise(functions: Mapping[str, Checked]) -> Checked:
    """The function that sees edges, compute or around, with the types and helpers of `along`, which sees them, too."""
    function = functions.get("compute") or functions.get("around") or Checked("compute", [])
    along = functions.get("along")
    if along is None:
        return function
    return replace(
        function, reads=function.reads | along.reads, types={**along.types, **function.types},
        helpers={**along.helpers, **function.helpers},
    )  # fmt: skip


def edge_state_of(
    program: Program, functions: Mapping[str, Checked], lowered: Callable[[list[ast.stmt]], list[ast.stmt]]
) -> EdgeState | None:
    """The edge state of a program; None if it uses no edge field. `lowered` turns expressions of u into messages."""
    along, edge_function = functions.get("along"), edgewise(functions)
    if along is not None and not along.edge_writes:
        raise program.refusal(
            program.functions["along"].line, "along writes no field of the edge",
            f"write for example edge.{next(iter(program.edge_fields))} = ...",
        )  # fmt: skip
    kinds = {name: of_dtype(one.type.dtype, length_of(program, one.type)) for name, one in program.edge_fields.items()}
    read, reversed_ = ([name for name in kinds if f"{owner}_{name}" in edge_function.reads] for owner in "er")
    if along is None and not (read or reversed_):
        return None
    body = lowered(along.body) if along is not None else []
    written = sorted(along.edge_writes) if along is not None else []
    mirrored = sorted(program.mirrored)
    return EdgeState(kinds, body, read, reversed_, written, mirrored, program.edges == "against")


def names_of(state: EdgeState) -> list[str]:
    """The plain names that `along` takes: all that it reads, and the fields that it writes."""
    names = {
        n for n in names_in(*state.body)
        if (n[1:2] == "_" and n[0] in "oeugpr") or n == "step" or (n[0] == "m" and n[1:].isdigit())
    }  # fmt: skip
    return sorted(names | {f"e_{name}" for name in state.written})

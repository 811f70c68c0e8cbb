"""MSGGen, MSGMerge, MSGApply: the algorithm template of GX-Plug (section IV-A), close to GraphX's Pregel.

MSGGen makes a message of an edge's triplet, MSGMerge combines two messages for one vertex, MSGApply changes the vertex
by what was combined, and says whether it generates messages in the next iteration. The upper system chooses the order:
Gen, Merge, Apply as BSP has it ("bsp"); Merge, Apply, Gen as GAS has it ("gas"), where vertices are applied once before
the first message; or asynchronous ("async"), where a vertex may see what others have become in the same iteration.
"""

from __future__ import annotations

import ast
import copy
import sys
from collections.abc import Callable
from types import FrameType
from typing import overload

from arcflux.dialects.lists import Message, add_looking, listed, unlisted
from arcflux.dialects.messages import (
    Accumulator,
    accumulator,
    add_compute,
    add_init,
    combine,
    identity,
    merged_field,
    returned_type,
    with_message,
)
from arcflux.dialects.syntax import field_writes, names_in, renamed, stored_names
from arcflux.dialects.translation import Translation
from arcflux.errors import UsageError
from arcflux.program import FieldType, Program

__all__ = ["msg"]

_FUNCTIONS = {
    "start": ("v", "g", "p"),
    "MSGGen": ("u", "edge", "v", "g", "p", "step"),
    "MSGMerge": ("a", "b"),
    "MSGApply": ("v", "message", "old", "g", "p", "step"),
    "residual": ("v", "old", "g", "p", "step"),
}
_ORDERS = ("bsp", "gas", "async")


@overload
def msg(cls: type) -> Program: ...
@overload
def msg(*, order: str = "bsp") -> Callable[[type], Program]: ...
def msg(cls: type | None = None, *, order: str = "bsp") -> Program | Callable[[type], Program]:
    """Make a program of a class with MSGGen, MSGMerge and MSGApply; see docs/how-to/dialects.md.

    Examples
    --------
    >>> import arcflux as af
    >>> @af.msg
    ... class Distance:
    ...     source: af.vertex
    ...     dist: af.f64
    ...
    ...     def start(v, p):
    ...         v.dist = 0.0 if v.number == p.source else float("inf")
    ...         return v.number == p.source
    ...
    ...     def MSGGen(u, edge):
    ...         return u.dist + 1.0
    ...
    ...     def MSGMerge(a, b):
    ...         return min(a, b)
    ...
    ...     def MSGApply(v, message, old):
    ...         v.dist = min(v.dist, message)
    ...         return v.dist < old.dist
    """
    frame = sys._getframe(1)
    if not isinstance(order, str) or order not in _ORDERS:
        raise UsageError(f"order is {order!r}", expected=" or ".join(map(repr, _ORDERS)))
    return _translated(cls, frame, order) if cls is not None else lambda given: _translated(given, frame, order)


def _translated(cls: type, frame: FrameType, order: str) -> Program:
    made = Translation.of(cls, frame, "msg", lambda node: _FUNCTIONS.get(node.name), list(_FUNCTIONS))
    for name in ("MSGGen", "MSGMerge", "MSGApply"):
        made.require(name, *_FUNCTIONS[name][:2])
    made.refuse_writes("MSGGen", "MSGApply")
    operation, generating = combine(made, "MSGMerge"), renamed(made.body("MSGGen"), {"v": "old"})
    messages = unlisted(made, generating, "MSGGen")
    if messages is not None:
        _add_listing(made, operation, order, messages)
    else:
        _add_combining(made, operation, order, generating)
    made.keep("residual")
    return made.program(["monotone"] if order == "async" else [])


def _add_combining(made: Translation, operation: str, order: str, generating: list[ast.stmt]) -> None:
    """Messages are merged: compute and update."""
    body = made.body("MSGApply")
    merged = merged_field(body[0], operation, "message")
    if merged is not None and "message" not in names_in(body[1:]):
        into, body = Accumulator(merged, operation), body[1:]
    else:
        # A vertex without messages keeps its fields, so that of a sparse program none can be reset before every one.
        kind, reuse = returned_type(made, "MSGGen"), not made.promises("sparse")
        into = accumulator(made, operation, kind, field_writes(body), reuse=reuse)
        add_init(made, into, "MSGGen")
        body = with_message("message", body, into)
    add_compute(made, generating, into, "MSGGen")
    asked = [name for name in made.arguments("MSGApply") if name not in ("v", "old", "message")]
    made.add("update", ["v", "old", *asked], body, "MSGApply")
    if order == "gas":
        _start_applied(made, into)
    else:
        made.keep("start")


def _add_listing(made: Translation, operation: str, order: str, generating: list[ast.stmt]) -> None:
    """Messages are lists, which MSGApply sees whole: around; what it returns at its end is update."""
    if operation != "sum":
        raise made.refusal(made.functions["MSGMerge"], "MSGGen returns lists, and MSGMerge does not join them",
                           "return a + b")  # fmt: skip
    if order != "bsp":
        raise made.refusal(
            made.functions["MSGApply"], f"with order={order!r}, MSGApply would see lists of messages out of turn",
            "list messages with order='bsp'; or merge them with +, min, max, | or &",
        )  # fmt: skip
    (*body, last) = made.body("MSGApply")
    if not isinstance(last, ast.Return) or any(isinstance(n, ast.Return) for node in body for n in ast.walk(node)):
        raise made.refusal(made.functions["MSGApply"], "MSGApply sees a list of messages, and returns before its end",
                           "write one return, on the last line")  # fmt: skip
    unknown = names_in([last]) & {"message", *stored_names(body)}
    if unknown:
        raise made.refusal(last, f"MSGApply sees a list of messages, and returns what {min(unknown)} says",
                           f"keep {min(unknown)} in a field of v, and return by that field and old")  # fmt: skip
    looking = listed(made, body, "message", Message.of(made, generating, "MSGGen"))
    contributing = add_looking(made, looking, "MSGApply")
    asked = [name for name in made.arguments("MSGApply") if name not in ("v", "old", "message")]
    made.add("update", ["v", "old", *asked], [*contributing, last], "MSGApply")
    made.keep("start")


def _start_applied(made: Translation, into: Accumulator) -> None:
    """`start`, which ends with MSGApply of no message: the order Merge, Apply, Gen.

    Those that start or MSGApply name generate messages first.
    """
    made.require("start", "v", "p")
    body, (*first, last) = made.body("MSGApply"), made.body("start")
    if not isinstance(last, ast.Return) or any(isinstance(n, ast.Return) for node in first for n in ast.walk(node)):
        raise made.refusal(made.functions["start"], "with order='gas', start returns before its last line",
                           "write one return, on the last line")  # fmt: skip
    unknown = names_in(body) & {"old", "step"}
    if unknown:
        raise made.refusal(made.functions["MSGApply"], "with order='gas', start calls MSGApply, before there is "
                           f"{min(unknown)}", f"do without {min(unknown)}, or take another order")  # fmt: skip
    taken = {name: f"{name}_" for name in stored_names(first)}
    kind: FieldType = {**made.fields(), **made.own_fields}[into.name]
    lines = [*first, ast.Assign([ast.Name("message", ast.Store())], identity(into.operation, kind))]
    applying = [_Starting(last.value or ast.Constant(True)).visit(node) for node in renamed(body, taken)]
    arguments = [name for name in made.arguments("start", "MSGApply") if name in ("v", "g", "p")]
    made.add("start", arguments, [*lines, *applying], "start")


class _Starting(ast.NodeTransformer):
    """``return changed`` becomes ``return starts or changed``; just ``return starts`` where every vertex starts."""

    def __init__(self, starts: ast.expr) -> None:
        self.starts = starts

    def visit_Return(self, node: ast.Return) -> ast.Return:
        always = isinstance(self.starts, ast.Constant) and self.starts.value is True
        value = node.value or ast.Constant(False)
        made = self.starts if always else ast.BoolOp(ast.Or(), [copy.deepcopy(self.starts), value])
        return ast.copy_location(ast.Return(copy.deepcopy(made)), node)

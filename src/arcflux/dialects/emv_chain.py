"""A chain of runs in Medusa's words as the functions of one superstep.

Messages are sent, maybe changed one by one, then combined or listed, and a vertex takes them: that is compute and
update, or around and update. A VERTEX function alone is a phase on no edges, an ELIST function alone looks around
against the edges.
"""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass

import numpy as np

from arcflux.dialects.emv_functions import Functions
from arcflux.dialects.lists import Message, add_looking, listed
from arcflux.dialects.messages import (
    Accumulator,
    accumulator,
    add_compute,
    add_init,
    combine,
    identity,
    merged_field,
    with_message,
)
from arcflux.dialects.syntax import field_writes, mentions, names_in, replaced, stored_names
from arcflux.program import FieldType

__all__ = ["Chain", "lower_chain"]

_UPDATED = ("g", "p", "step")


@dataclass(frozen=True)
class Chain:
    """Runs that make one superstep, by the names of their functions; `initial` is the call of InitMessageBuffer."""

    sender: str = ""
    changed_by: tuple[str, ...] = ()
    combiner: str = ""
    collective: str = ""
    vertex: str = ""
    initial: ast.Call | None = None

    @property
    def name(self) -> str:
        """The name of its phase."""
        parts = [self.sender, *self.changed_by, self.collective, self.vertex]
        parts += [self.combiner] if self.combiner != "Combiner" else []
        return "_".join(part for part in parts if part)

    @property
    def edges(self) -> str | None:
        """The edges of its phase."""
        return "along" if self.sender else "against" if self.collective else None


def lower_chain(functions: Functions, chain: Chain) -> bool:
    """Add the native functions of a chain; whether one of them says that the program goes on."""
    made = functions.made
    if not chain.sender:
        if not chain.collective:
            return _add_update(functions, made.body(chain.vertex), chain.vertex)
        return _add_looking(functions, functions.over_edges(chain.collective), chain)
    sending = _changed(functions, functions.sender(chain.sender), chain.changed_by)
    if chain.initial is None and not _always_returns(sending):
        raise made.refusal(
            made.functions[chain.sender], f"{chain.sender} may send nothing, and what an edge had before would be "
            "read again", "call run.InitMessageBuffer(x) before it, with what stands for no message",
        )  # fmt: skip
    if chain.combiner:
        return _add_combining(functions, sending, chain)
    message = Message.of(made, sending, chain.sender)
    if message.sent is not None:
        assert chain.initial is not None
        if not chain.initial.args:
            raise made.refusal(chain.initial, "a list of messages has one for every edge, also where none was sent",
                               "say which: run.InitMessageBuffer(-1)")  # fmt: skip
        message = message.always(chain.initial.args[0])
    body = listed(made, made.body(chain.collective), "ml", message, _is_value)
    return _add_looking(functions, body, chain)


def _is_value(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "value" and ast.unparse(node.value) == name


def _always_returns(body: list[ast.stmt]) -> bool:
    last = body[-1]
    if isinstance(last, ast.If):
        return bool(last.orelse) and _always_returns(last.body) and _always_returns(last.orelse)
    return isinstance(last, ast.Return) and last.value is not None


def _changed(functions: Functions, body: list[ast.stmt], by: tuple[str, ...]) -> list[ast.stmt]:
    """Statements that return what MESSAGE functions make of the message."""
    for name in by:
        body = _each_return(functions, body, name)
    return body


def _each_return(functions: Functions, body: list[ast.stmt], name: str) -> list[ast.stmt]:
    made = functions.made
    lines: list[ast.stmt] = []
    for node in body:
        if isinstance(node, ast.If):
            yes, no = (_each_return(functions, part, name) for part in (node.body, node.orelse))
            lines.append(ast.copy_location(ast.If(node.test, yes, no), node))
        elif isinstance(node, ast.Return) and node.value is not None:
            changing = made.body(name)
            returned = mentions(changing, lambda part: isinstance(part, ast.Return))
            if returned is not None:
                raise made.refusal(returned, f"{name} returns", "let it assign m.value, and end")
            local = f"{name}_value"

            def value(part: ast.AST, local: str = local) -> ast.AST | None:
                return ast.Name(local, part.ctx) if _is_value(part, "m") else None  # type: ignore[attr-defined]

            lines.append(ast.copy_location(ast.Assign([ast.Name(local, ast.Store())], node.value), node))
            lines += replaced(changing, value)
            lines.append(ast.copy_location(ast.Return(ast.Name(local, ast.Load())), node))
        else:
            lines.append(node)
    return lines


def _add_combining(functions: Functions, sending: list[ast.stmt], chain: Chain) -> bool:
    """Messages are combined: compute, and update with what came of it."""
    made, kind = functions.made, functions.message
    assert kind is not None
    operation, body = combine(made, chain.combiner), made.body(chain.vertex)
    first = _initial(functions, chain, operation, kind)
    merged = merged_field(body[0], operation, "combined") if first is None else None
    if merged is not None and "combined" not in names_in(body[1:]):
        into, body = Accumulator(merged, operation), body[1:]
    else:
        into = accumulator(made, operation, kind, field_writes(body), reuse=not made.promises("sparse"))
        add_init(made, into, chain.combiner, first)
        body = with_message("combined", body, into)
    add_compute(made, sending, into, chain.sender)
    return _add_update(functions, body, chain.vertex)


def _initial(functions: Functions, chain: Chain, operation: str, kind: FieldType) -> ast.expr | None:
    """What the combination of messages begins with; None where that is what the operation leaves as it is."""
    if chain.initial is None or not chain.initial.args:
        return None
    (given,) = chain.initial.args
    value, neutral = functions.made.evaluate(given), ast.literal_eval(identity(operation, kind))
    if value is not None and _same(operation, kind, value, neutral):
        return None
    if operation in ("sum", "product"):
        sign = "+" if operation == "sum" else "*"
        raise functions.made.refusal(
            chain.initial, f"the buffer begins with {ast.unparse(given)}, which {sign} takes once an edge without a "
            "message", f"write run.InitMessageBuffer({neutral}), and combine the rest in a VERTEX function",
        )  # fmt: skip
    return copy.deepcopy(given)


def _same(operation: str, kind: FieldType, value: object, neutral: object) -> bool:
    """Whether a value changes nothing: of integers also what is beyond all of them."""
    if not isinstance(value, (int, float, np.number, np.bool_)):
        return False
    if operation == "min":
        return bool(value >= neutral)  # type: ignore[operator]
    if operation == "max":
        return bool(value <= neutral)  # type: ignore[operator]
    return bool(value == neutral)


def _add_looking(functions: Functions, body: list[ast.stmt], chain: Chain) -> bool:
    """A whole list is seen: around, and update with what follows."""
    made, name = functions.made, chain.collective
    looking, going_on = _split_halt(functions, body, name)
    contributing = add_looking(made, looking, name)
    if chain.vertex:
        if going_on:
            raise made.refusal(going_on[0], f"{name} sets g.halt, and {chain.vertex} is run after it",
                               f"set it in {chain.vertex}")  # fmt: skip
        return _add_update(functions, [*contributing, *made.body(chain.vertex)], chain.vertex)
    return _add_update(functions, [*contributing, *going_on], name)


def _split_halt(functions: Functions, body: list[ast.stmt], name: str) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """What a collective function does, and the ``if`` at its end that sets g.halt, which sees v and old alone."""
    if mentions(body, _is_halt) is None:
        return body, []
    (*first, last) = body
    only = isinstance(last, ast.If) and not last.orelse and len(last.body) == 1 and _is_halt(last.body[0])
    if not only or mentions(first, _is_halt) is not None or names_in([last]) & {"edges", *stored_names(first)}:
        raise functions.made.refusal(
            mentions(body, _is_halt) or last, f"{name} sees a list, and sets g.halt by more than v and old",
            "let `if v.x != old.x: g.halt = False` stand last, or set it in a VERTEX function that is run after it",
        )  # fmt: skip
    return first, [last]


def _is_halt(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["g.halt"]


def _add_update(functions: Functions, body: list[ast.stmt], like: str) -> bool:
    """Add `update`: True where the function says that the program goes on, always where it says nothing of it."""
    made = functions.made
    halts = mentions(body, _is_halt)
    for node in (n for part in body for n in ast.walk(part) if _is_halt(n)):
        assert isinstance(node, ast.Assign)
        if not (isinstance(node.value, ast.Constant) and node.value.value is False):
            raise made.refusal(
                node, "halt is True before every iteration, and a vertex says that it goes on",
                "write g.halt = False where something has changed; run.halt = True in iteration ends the run",
            )  # fmt: skip
    body = _answering(body) if halts is not None else _with_returns(body, ast.Constant(True))
    asked = [name for name in _UPDATED if name in names_in(body)]
    made.add("update", ["v", "old", *asked], body, like)
    return halts is not None


def _answering(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements that return whether they have said ``g.halt = False``."""
    first = next(k for k, node in enumerate(body) if mentions([node], _is_halt) is not None)
    later = body[first:]
    pure = not field_writes(later) and not field_writes(later, "g")[1:] and not _returns(later)
    last = later[-1]
    if pure and len(later) == 1 and isinstance(last, ast.If) and not last.orelse and _is_halt(last.body[0]):
        return [*body[:-1], ast.copy_location(ast.Return(last.test), last)]
    if pure and not _returns(body):
        answered = replaced(later, lambda node: ast.Return(ast.Constant(True)) if _is_halt(node) else None)
        return [*body[:first], *answered, ast.Return(ast.Constant(False))]
    going_on = "going_on"
    noted = replaced(body, lambda node: ast.Assign([ast.Name(going_on, ast.Store())], ast.Constant(True))
                     if _is_halt(node) else None)  # fmt: skip
    start = ast.Assign([ast.Name(going_on, ast.Store())], ast.Constant(False))
    return [start, *_with_returns(noted, ast.Name(going_on, ast.Load()))]


def _returns(body: list[ast.stmt]) -> bool:
    return mentions(body, lambda node: isinstance(node, ast.Return)) is not None


def _with_returns(body: list[ast.stmt], value: ast.expr) -> list[ast.stmt]:
    """Statements that return a value, wherever they end."""
    body = replaced(body, lambda node: ast.Return(copy.deepcopy(value)) if isinstance(node, ast.Return) else None)
    return [*body, ast.Return(value)]

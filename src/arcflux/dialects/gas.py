"""Gather, apply, scatter: programs as PowerGraph and MapGraph have them (Gonzalez and others 2012; MapGraph, 1).

An active vertex gathers along all its in-edges, what is gathered is summed, apply changes the vertex, and scatter says
whether it signals its neighbours, which are active in the next superstep. Which native form that is, apply tells:

- it merges what was gathered into a field, as in ``v.dist = min(v.dist, gathered)``: then what came before is kept,
  only vertices that changed need to send, and the program is sparse;
- it depends on what was gathered alone, as in PageRank: then a vertex without a signal would become what it is,
  and every vertex may gather in every superstep;
- it sees a list, because gather returns ``[u.label]`` and sum joins lists: then vertices look around.
"""

from __future__ import annotations

import ast
import sys

from arcflux.dialects.lists import Message, add_looking, listed, unlisted
from arcflux.dialects.messages import (
    Accumulator,
    accumulator,
    add_compute,
    add_init,
    combine,
    merged_field,
    returned_type,
    with_message,
)
from arcflux.dialects.syntax import (
    field_reads,
    field_writes,
    first_written,
    names_in,
    renamed,
    replaced,
    silent,
    stored_names,
)
from arcflux.dialects.translation import Translation
from arcflux.parsing import parse_expression
from arcflux.program import Program

__all__ = ["gas"]

_FUNCTIONS = {
    "start": ("v", "g", "p"),
    "gather": ("v", "u", "edge", "g", "p", "step"),
    "sum": ("a", "b"),
    "apply": ("v", "gathered", "old", "g", "p", "step"),
    "scatter": ("v", "old", "g", "p", "step"),
    "residual": ("v", "old", "g", "p", "step"),
}


def gas(cls: type) -> Program:
    """Make a program of a class with gather, sum, apply and scatter; see docs/how-to/dialects.md.

    Examples
    --------
    >>> import arcflux as af
    >>> @af.gas
    ... class Hops:
    ...     source: af.vertex
    ...     hops: af.i32
    ...
    ...     def start(v, p):
    ...         v.hops = 0 if v.number == p.source else 1000
    ...         return v.number == p.source
    ...
    ...     def gather(v, u):
    ...         return u.hops + 1
    ...
    ...     def sum(a, b):
    ...         return min(a, b)
    ...
    ...     def apply(v, gathered):
    ...         v.hops = min(v.hops, gathered)
    ...
    ...     def scatter(v, old):
    ...         return v.hops < old.hops
    >>> af.run(Hops, "path:4", source=1)["hops"].tolist()
    [1, 0, 1, 2]
    """
    made = Translation.of(cls, sys._getframe(1), "gas", lambda node: _FUNCTIONS.get(node.name), list(_FUNCTIONS))
    for name in ("gather", "sum", "apply"):
        made.require(name, *_FUNCTIONS[name][:2])
    made.refuse_writes("gather", "apply")
    operation, gathering = combine(made, "sum"), renamed(made.body("gather"), {"v": "old"})
    messages = unlisted(made, gathering, "gather")
    if messages is None:
        _add_combining(made, operation, gathering)
    else:
        _add_listing(made, operation, messages)
    made.keep("start", "residual")
    return made.program()


def _add_combining(made: Translation, operation: str, gathering: list[ast.stmt]) -> None:
    """What is gathered is summed: compute and update."""
    body = made.body("apply")
    first, *rest = silent(body) or [ast.Pass()]
    merged = merged_field(first, operation, "gathered")
    if "gathered" in names_in(rest) or field_writes(rest):
        merged = None  # what is merged is not all that apply does with it
    writes, into = field_writes(body), Accumulator(merged or "", operation)
    if merged is None or _depends_on_receiver(made):
        _refuse_activity(made, [] if merged else body)
    if merged is None:
        into = accumulator(made, operation, returned_type(made, "gather"), writes, reuse=True)
        add_init(made, into, "gather")
    add_compute(made, gathering, into, "gather")
    applying = with_message("gathered", body, into) if merged is None else _after_merging(body, operation, into)
    _add_update(made, applying, writes, "apply")


def _after_merging(body: list[ast.stmt], operation: str, into: Accumulator) -> list[ast.stmt]:
    """What apply does besides merging; a print that names what was gathered finds it merged."""
    rest = [node for node in body if merged_field(node, operation, "gathered") is None]
    return replaced(rest, lambda node: into.target if isinstance(node, ast.Name) and node.id == "gathered" else None)


def _add_listing(made: Translation, operation: str, gathering: list[ast.stmt]) -> None:
    """What is gathered is a list, which apply sees whole: around.

    A sparse program looks around again where a neighbour has signalled, along all edges, which is what GAS says.
    """
    if operation != "sum":
        raise made.refusal(made.functions["sum"], "gather returns lists, and sum does not join them", "return a + b")
    body = made.body("apply")
    _refuse_activity(made, [] if made.promises("sparse") else body)
    written = field_writes(body)
    looking = listed(made, body, "gathered", Message.of(made, gathering, "gather"))
    contributing = add_looking(made, looking, "apply")
    _add_update(made, contributing, written, "scatter" if "scatter" in made.functions else "apply")


def _add_update(made: Translation, applying: list[ast.stmt], written: list[str], like: str) -> None:
    """Add `update`, which asks for what its functions ask for."""
    functions = ("apply", "scatter") if applying else ("scatter",)
    asked = [name for name in made.arguments(*functions) if name not in ("v", "old", "gathered")]
    made.add("update", ["v", "old", *asked], [*applying, *_scattering(made, written)], like)


def _depends_on_receiver(made: Translation) -> bool:
    """Whether what gather returns for the same u changes with v, or by itself: then old messages do not stay true."""
    body = silent(made.body("gather"))
    fields = field_reads(body, "v") & set(made.fields())
    return bool(fields) or any(isinstance(n, ast.Name) and n.id == "step" for node in body for n in ast.walk(node))


def _refuse_activity(made: Translation, body: list[ast.stmt]) -> None:
    """Refuse what would show that vertices gather without a signal.

    That is an apply that shows how often it was called, unless scatter signals every neighbour always; and a start that
    leaves out vertices.
    """
    body = silent(body)
    before = (field_reads(body, "v") - first_written(body)) | field_reads(body, "old")
    shown = sorted(before & set(field_writes(body)))
    steps = any(isinstance(n, ast.Name) and n.id == "step" for node in body for n in ast.walk(node))
    if (shown or steps) and not _always_returns_true(made, "scatter"):
        what = f"reads {shown[0]} as it was before" if shown else "reads step"
        raise made.refusal(
            made.functions["apply"],
            f"apply {what}, so it matters which vertices were signalled, and here every vertex gathers",
            "merge what was gathered, as in v.x = min(v.x, gathered), with a gather that does not read v's fields; "
            "let apply depend on gathered alone; or return True in scatter; or, with lists, write sparse = True",
        )
    if "start" in made.functions and not _always_returns_true(made, "start"):
        raise made.refusal(
            made.functions["start"],
            "start leaves out vertices, and with this apply every vertex gathers in every superstep",
            "return True in start; or merge what was gathered, as in v.x = min(v.x, gathered), with a gather that does "
            "not read v's fields",
        )


def _always_returns_true(made: Translation, name: str) -> bool:
    body = made.body(name) if name in made.functions else []
    returns = [n.value for node in body for n in ast.walk(node) if isinstance(n, ast.Return)]
    return bool(returns) and all(isinstance(value, ast.Constant) and value.value is True for value in returns)


def _scattering(made: Translation, written: list[str]) -> list[ast.stmt]:
    """What update returns: what scatter does, or whether a field has changed."""
    if "scatter" in made.functions:
        taken = {"gathered", *stored_names(made.body("apply"))}
        return renamed(made.body("scatter"), {name: f"{name}_" for name in taken})
    changed = [parse_expression(f"v.{name} != old.{name}") for name in written]
    value: ast.expr = ast.BoolOp(ast.Or(), changed) if len(changed) > 1 else (changed or [ast.Constant(False)])[0]
    return [ast.Return(value)]

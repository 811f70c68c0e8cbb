"""Gather, apply, scatter: programs as PowerGraph and MapGraph have them (Gonzalez and others 2012; MapGraph, 1).

An active vertex gathers along all its in-edges, what is gathered is summed, apply changes the vertex, and scatter says
whether it signals its neighbours, which are active in the next superstep. Which native form that is, apply tells:

- it merges what was gathered into a field, as in ``v.dist = min(v.dist, gathered)``: then what came before is kept,
  only vertices that changed need to send, and the program is sparse;
- it depends on what was gathered alone, as in PageRank: then a vertex that nobody signalled would become what it is,
  and every vertex may gather in every superstep.
"""

from __future__ import annotations

import ast
import sys

from arcflux.dialects.translation import (
    Accumulator,
    Translation,
    combine,
    field_reads,
    field_writes,
    first_written,
    merged_field,
    renamed,
    stored_names,
)
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
    made = Translation.of(cls, sys._getframe(1), "gas", _FUNCTIONS, ("gather", "sum", "apply"))
    operation, body = combine(made, "sum"), made.body("apply")
    merged = merged_field(body[0], operation, "gathered") if len(body) == 1 else None
    writes, into = field_writes(body), Accumulator(merged or "", operation)
    if merged is None or _depends_on_receiver(made):
        _refuse_activity(made, [] if merged else body)
    if merged is None:
        into = made.accumulator(operation, "gather", writes, reuse=True)
        made.add_init(into, "gather")
    applying = made.with_message("gathered", body, into) if merged is None else []
    made.add_compute("gather", into)
    asked = [name for name in made.arguments("apply", "scatter") if name not in ("v", "old", "gathered")]
    made.add("update", ["v", "old", *asked], [*applying, *_scattering(made, writes)], "apply")
    made.keep("start", "residual")
    return made.program()


def _depends_on_receiver(made: Translation) -> bool:
    """Whether what gather returns for the same u changes with v, or by itself: then old messages do not stay true."""
    body = made.body("gather")
    fields = field_reads(body, "v") & set(made.fields())
    return bool(fields) or any(isinstance(n, ast.Name) and n.id == "step" for node in body for n in ast.walk(node))


def _refuse_activity(made: Translation, body: list[ast.stmt]) -> None:
    """Refuse what would show that vertices gather which nobody signalled.

    That is an apply that shows how often it was called, unless scatter signals every neighbour always; and a start that
    leaves out vertices.
    """
    before = (field_reads(body, "v") - first_written(body)) | field_reads(body, "old")
    shown = sorted(before & set(field_writes(body)))
    steps = any(isinstance(n, ast.Name) and n.id == "step" for node in body for n in ast.walk(node))
    if (shown or steps) and not _always_returns_true(made, "scatter"):
        what = f"reads {shown[0]} as it was before" if shown else "reads step"
        raise made.refusal(
            made.functions["apply"],
            f"apply {what}, so it matters which vertices were signalled, and here every vertex gathers",
            "merge what was gathered, as in v.x = min(v.x, gathered), with a gather that does not read v's fields; "
            "let apply depend on gathered alone; or return True in scatter",
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
    changed = [ast.parse(f"v.{name} != old.{name}", mode="eval").body for name in written]
    value: ast.expr = ast.BoolOp(ast.Or(), changed) if len(changed) > 1 else (changed or [ast.Constant(False)])[0]
    return [ast.Return(value)]

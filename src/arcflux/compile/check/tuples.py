"""Reductions of several fields at once: ``v.dist, v.parent = min((v.dist, v.parent), (u.dist + 1, u.number))``.

The smallest tuple wins, compared element by element from the first on, so that later elements are the payload of
earlier ones. Along a row that is one comparison in registers. Where several workers reduce into a vertex, a byte for
each vertex is a lock, in a field of its own that no program can name (``0dist``); a message whose first element is
worse than the current one does not take it. ``af.first(e)`` and ``af.last(e)`` are the smallest and the largest of
tuples that begin with the number of the sender, stored in another such field (``1x``), which init resets.
"""

from __future__ import annotations

import ast
import textwrap

import numpy as np

from arcflux.compile.check.checked import Checked, Reduction
from arcflux.compile.check.expressions import at
from arcflux.compile.check.unpack import Unpacking
from arcflux.parsing import parse

__all__ = ["TUPLES", "TupleReductions", "better", "hidden_fields", "into_tuple", "lock_of", "with_senders_emptied"]

# The reductions of tuples, and their elementwise operations.
TUPLES = {"least": "min", "most": "max"}
_WRITTEN = {"min": "least", "max": "most", "first": "least", "last": "most"}
_LARGEST = (1 << 63) - 1


class TupleReductions(Unpacking):
    """The reductions of one function that write several fields."""

    def is_tuple_reduction(self, node: ast.Assign) -> bool:
        """Whether an assignment in compute reduces several fields of v together."""
        if self.context != "compute" or len(node.targets) != 1:
            return False
        target = node.targets[0]
        fields = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
        several = len(fields) > 1 and all(isinstance(one, (ast.Attribute, ast.Subscript)) for one in fields)
        alone = isinstance(target, ast.Attribute) and self.sends_first(node.value)
        return several or alone

    def sends_first(self, value: ast.expr) -> bool:
        """Whether a value is ``af.first(...)`` or ``af.last(...)``."""
        return isinstance(value, ast.Call) and self.called(value.func) in ("first", "last")

    def tuple_reduction(self, node: ast.Assign) -> ast.stmt:
        """``v.a, v.b = min((v.a, v.b), (x, y))``, max, ``v.a, v.b = af.first((x, y))``, af.last."""
        target = node.targets[0]
        fields = [self.tuple_field(one) for one in (target.elts if isinstance(target, ast.Tuple) else [target])]
        if len(set(fields)) < len(fields):
            raise self.refuse(node, "a field twice in one tuple", "name each field once")
        called = self.called(node.value.func) if isinstance(node.value, ast.Call) else ""
        values = self.tuple_values(node, called, len(fields))
        if called in ("first", "last") and values is not None:
            fields, values = [f"1{fields[0]}", *fields], [at(node, self.sender(node)), *values]
        if values is None or called not in _WRITTEN:
            fields_text = ", ".join(f"v.{name}" for name in fields)
            raise self.refuse(
                node, f"compute may only reduce into v, and this line overwrites {fields_text}",
                f"write {fields_text} = min(({fields_text}), (...)), max, or af.first((...)), af.last((...))",
            )  # fmt: skip
        return self.reduce_tuple(node, _WRITTEN[called], fields, values)

    def tuple_field(self, target: ast.expr) -> str:
        """A field that is reduced with others: one value of v."""
        name, index = self.field_target(target)
        if index is not None or self.known_field(target, name).length is not None:
            raise self.refuse(target, f"v.{name} is a vector, and tuples are of single values", "reduce it by itself")
        return name

    def tuple_values(self, node: ast.Assign, called: str, wanted: int) -> list[ast.expr] | None:
        """The elements of a message's tuple; None if the assignment reduces nothing."""
        call = node.value
        if not isinstance(call, ast.Call) or call.keywords or not call.args:
            return None
        argument = call.args[0]
        if called in ("min", "max"):
            same = ast.dump(node.targets[0]).replace("Store()", "Load()")
            others = [one for one in call.args if ast.dump(one) != same]
            if len(call.args) != 2 or len(others) != 1:
                return None
            argument = others[0]
        elif len(call.args) != 1:
            return None
        values = argument.elts if isinstance(argument, ast.Tuple) else [argument]
        if len(values) != wanted:
            raise self.refuse(node, f"{len(values)} values for {wanted} fields", "write as many values as fields")
        return list(values)

    def sender(self, node: ast.AST) -> ast.expr:
        """The number of the sender, as the program would write it."""
        if "u" not in self.owners:
            raise self.refuse(node, "af.first and af.last ask for the sender", "list u: def compute(v, u)")
        return ast.Attribute(ast.Name("u", ast.Load()), "number", ast.Load())

    def reduce_tuple(self, node: ast.Assign, operation: str, fields: list[str], values: list[ast.expr]) -> ast.stmt:
        """The statement over plain names."""
        group = tuple(fields)
        for name in fields:
            known = self.out.reductions.get(name)
            if known is not None and (known.operation, known.group) != (operation, group):
                raise self.refuse(
                    node, f"v.{name} is reduced in two ways, here and on line {known.line}",
                    "use one reduction a field, always with the same others; add fields for another",
                )  # fmt: skip
            self.out.reductions[name] = Reduction(operation, self.function.at(node.lineno), group)
            self.out.writes.add(name)
        done = []
        for name, value in zip(fields, values, strict=True):
            made, kind = self.expression(value)
            if name in self.program.fields:
                self.fits(node, name, kind, indexed=True)
            done.append(made)
        into = [ast.Name(f"v_{name}", ast.Load()) for name in fields]
        call = ast.Call(ast.Name(f"reduce_{operation}", ast.Load()), [_tuple(into), _tuple(done)], [])
        return at(node, ast.Expr(call))


def _tuple(elements: list[ast.expr] | list[ast.Name]) -> ast.expr:
    return ast.Tuple(list(elements), ast.Load())


# --- what lowering adds


def hidden_fields(reductions: dict[str, Reduction]) -> dict[str, tuple[np.dtype[np.generic], None]]:
    """The fields that tuples need: a lock for each, and the sender of the first or the last message."""
    groups = {how.group for how in reductions.values() if how.group}
    locks = {lock_of(group): (np.dtype(np.uint8), None) for group in sorted(groups)}
    senders = {group[0]: (np.dtype(np.int64), None) for group in sorted(groups) if group[0].startswith("1")}
    return {**senders, **locks}


def lock_of(group: tuple[str, ...]) -> str:
    """The field that is the lock of a tuple."""
    return f"0{group[0]}"


def with_senders_emptied(functions: dict[str, Checked]) -> dict[str, Checked]:
    """The functions with an init that resets the senders before the first message."""
    reductions = functions["compute"].reductions if "compute" in functions else {}
    senders = {name: how.operation for name, how in reductions.items() if name.startswith("1")}
    if not senders:
        return functions
    init = functions.get("init") or Checked("init", [])
    first = []
    for name, operation in sorted(senders.items()):
        none = _LARGEST if operation == "least" else -_LARGEST - 1
        first += parse(f"v_{name} = {none}").body
        init.writes.add(name)
    init.body = [*first, *init.body]
    return {"start": functions["start"], "init": init, **functions}


# --- in kernels


def better(operation: str, new: list[str], old: list[str]) -> str:
    """The test whether a tuple replaces another.

    Examples
    --------
    >>> better("least", ["x", "y"], ["a", "b"])
    'x < a or (x == a and y < b)'
    """
    sign = "<" if operation == "least" else ">"
    test = f"{new[-1]} {sign} {old[-1]}"
    for x, a in zip(new[-2::-1], old[-2::-1], strict=True):
        test = f"{x} {sign} {a} or ({x} == {a} and {f'({test})' if ' or ' in test else test})"
    return test


def into_tuple(operation: str, group: tuple[str, ...]) -> str:
    """The function that reduces a tuple into the arrays of its fields, concurrently with other workers."""
    arrays, new, old = ([f"{kind}_{name}" for name in group] for kind in "atb")
    worse = ">" if operation == "least" else "<"
    read = [f"{b} = read_now({a}, place)" for a, b in zip(arrays, old, strict=True)]
    write = [f"    write_now({a}, place, {b}, {t})" for a, b, t in zip(arrays, old, new, strict=True)]
    body = "\n".join([
        "while True:",
        f"    if {new[0]} {worse} {arrays[0]}[place]:",
        "        return False",
        "    if locked(locks, place):",
        *(f"        {line}" for line in [*read, f"wins = {better(operation, new, old)}", "if wins:", *write]),
        "        unlock(locks, place)",
        "        return wins",
    ])  # fmt: skip
    head = f"@fragment\ndef into_{group[0]}({', '.join([*arrays, 'locks', 'place', *new])}):\n"
    return head + textwrap.indent(body, "    ") + "\n"

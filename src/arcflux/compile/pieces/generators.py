"""The functions of a neighbourhood in kernels: `around` itself, and one for each generator in it.

All take the row of v (``row``, ``row_end``), the arrays of neighbours, messages and edge columns, and the names of v
that they use. A sum, a maximum and the like are loops over plain names, as if the user had written them. A mode counts
in a table of its worker (``vote``, ``leading``), a median selects in a buffer of it: kernels cannot allocate, so
`scratch` lists what their launcher has to provide.
"""

from __future__ import annotations

import ast
import copy
import re
import textwrap
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from arcflux.compile.around import Around
from arcflux.compile.check.checked import Checked, Generated, names_in
from arcflux.compile.check.types import INT, Value, of_sign, typed
from arcflux.compile.lower import Lowered
from arcflux.compile.mail import cursors, in_kernels
from arcflux.compile.pieces import polling
from arcflux.compile.pieces.source import arguments, column_value, has_long_loops, in_function, results, tuple_text
from arcflux.parsing import parse, parse_expression

__all__ = ["Scratch", "around", "around_call", "environment", "scratch", "scratch_rows"]

_LOOP = re.compile(r"i(\d+)$")
_EACH = re.compile(r"each(\d+)$")


@dataclass(frozen=True)
class Scratch:
    """A private array of each worker: its name, its type, and its use.

    use: "table" (slots of a key and a count), "slots" (those in use), "weights" (a number per slot), "values" (a number
    per edge).
    """

    name: str
    dtype: np.dtype[Any]
    use: str


def scratch(lowered: Lowered) -> list[Scratch]:
    """The arrays that a neighbourhood needs, for every worker and as large as the longest row requires."""
    arrays = []
    for each in lowered.around.generated if lowered.around else []:
        number = each.number
        if each.what == "mode":
            arrays += [Scratch(f"t{number}", _key(each), "table"), Scratch(f"q{number}", np.dtype(np.uint32), "slots")]
            arrays += [Scratch(f"x{number}", _weights(lowered, each).stored, "weights")] if each.weight else []
        elif each.what == "median":
            arrays.append(Scratch(f"t{number}", each.each.stored, "values"))
    return arrays


def _key(each: Generated) -> np.dtype[Any]:
    """The type of the keys and counts of a table."""
    kind = each.each.stored
    return kind if kind.itemsize >= 4 else np.dtype(np.int32)


def scratch_rows(lowered: Lowered) -> list[str]:
    """Statements that select a worker's rows of these arrays."""
    return [f"{one.name} = {one.name}s[worker]" for one in scratch(lowered)]


def environment(lowered: Lowered, array: str = "s") -> list[str]:
    """The arguments of every function of a neighbourhood; messages are in arrays ``s_m0``, or with another letter."""
    around = _around(lowered)
    names = ["row", "row_end", "neighbours", "base", *(f"{array}_{message.name}" for message in lowered.messages)]
    names += [*(f"c_{column}" for column in lowered.columns), *(one.name for one in scratch(lowered))]
    names += ["in_offsets", "in_neighbours"] if around.intersects else []
    calls = [ast.Expr(part) for each in around.generated for part in each.parts]
    looks = has_long_loops(lowered, "around") or polling.polls(list(calls), {})
    return [*names, *(["control"] if looks else [])]


def around_call(lowered: Lowered, array: str = "s", counting: bool = False) -> str:
    """The statement that calls around for v; if `counting`, its sends are only counted."""
    name = "around_count" if counting and lowered.edgewise.sends else "around"
    return f"{tuple_text(_returned(lowered))} = {name}({', '.join(_arguments(lowered, array))})"


def _returned(lowered: Lowered) -> list[str]:
    """The values that around returns: the fields that it writes, and where the next records go."""
    return [*results(lowered, "around"), *cursors(lowered, "around")]


def _arguments(lowered: Lowered, array: str) -> list[str]:
    own = ["v"] if _around(lowered).intersects else []
    return [*environment(lowered, array), *own, *(n for n in arguments(lowered, "around") if n != "control")]


def around(lowered: Lowered, array: str = "s") -> str:
    """The functions of a neighbourhood, inner generators first."""
    parts = _around(lowered)
    functions = [_generator(lowered, each, array) for each in parts.generated]
    functions += [
        _itself(lowered, array, counting) for counting in ((False, True) if lowered.edgewise.sends else (False,))
    ]
    return "\n\n".join(functions)


def _itself(lowered: Lowered, array: str, counting: bool) -> str:
    """The function `around`, or its version that counts what it sends."""
    returned = _returned(lowered)
    statements = _statements(lowered, _typed(lowered), _around(lowered).body, array)
    if lowered.mails:
        statements = in_kernels(lowered, statements, counting)
    body = [_Returning(returned).visit(node) for node in statements]
    text = "\n".join(ast.unparse(ast.fix_missing_locations(node)) for node in body)
    text += f"\nreturn {tuple_text(returned)}"
    return _fragment("around_count" if counting else "around", _arguments(lowered, array), text)


def _around(lowered: Lowered) -> Around:
    assert lowered.around is not None
    return lowered.around


def _typed(lowered: Lowered, **more: Value) -> Checked:
    """The checked around, with the types of messages, and of more locals."""
    return replace(lowered.edgewise, types=_around(lowered).types, locals={**lowered.edgewise.locals, **more})


def _fragment(name: str, given: list[str], text: str) -> str:
    return f"@fragment\ndef {name}({', '.join(given)}):\n{textwrap.indent(text, '    ')}\n"


class _Returning(ast.NodeTransformer):
    """``return`` returns the fields that are written."""

    def __init__(self, names: list[str]) -> None:
        self.names = names

    def visit_Return(self, node: ast.Return) -> ast.Return:
        return ast.Return(parse_expression(tuple_text(self.names)))


# --- loops over edges


def _statements(lowered: Lowered, known: Checked, body: list[ast.stmt], array: str) -> list[ast.stmt]:
    """Statements for kernels: vectors are values, loops load the names of an edge that they use."""
    statements = in_function(lowered, known, body)
    loads = _Loading(lowered, array)
    return [ast.fix_missing_locations(loads.visit(node)) for node in statements]


class _Loading(ast.NodeTransformer):
    """Loops over edges load the names that they use; calls of generators get the environment."""

    def __init__(self, lowered: Lowered, array: str) -> None:
        self.lowered, self.array = lowered, array

    def visit_For(self, node: ast.For) -> ast.For:
        self.generic_visit(node)
        match = _LOOP.match(node.target.id) if isinstance(node.target, ast.Name) else None
        if match:
            head = loads(self.lowered, int(match[1]), names_in(*node.body), self.array)
            node.body = [*parse("\n".join(head)).body, *node.body]
        return node

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and _EACH.match(node.func.id):
            node.args = [*(ast.Name(name, ast.Load()) for name in environment(self.lowered, self.array)), *node.args]
        return node


def loads(lowered: Lowered, number: int, used: set[str], array: str) -> list[str]:
    """Statements that load the names of an edge that a loop uses."""
    lines = [f"u{number} = np.uint64(neighbours[i{number}])"]
    for message in lowered.messages:
        name, place = f"{message.name}_{number}", f"base + u{number}"
        if name in used:
            stored = f"{array}_{message.name}"
            value = f"{stored}[{place}]" if message.length is None else f"load({stored}, {place}, {message.length})"
            lines.append(f"{name} = {value}")
    read = [column for column in lowered.columns if f"e{number}_{column}" in used]
    lines += [f"e{number}_{each} = {column_value(lowered, each, f'c_{each}[i{number}]')}" for each in read]
    return [*lines, *([f"u{number}_number = np.int64(u{number})"] if f"u{number}_number" in used else [])]


# --- generators


def _generator(lowered: Lowered, each: Generated, array: str) -> str:
    parameters = [*environment(lowered, array), *_around(lowered).captured[each.number]]
    if each.what in ("mode", "median"):
        return _fragment(f"each{each.number}", parameters, _collected(lowered, each, array))
    total, count, value, other, place = (f"{letter}{each.number}" for letter in "tcxyk")
    result = INT if each.what in ("any", "all") else each.kind
    kinds = {total: result, count: INT, value: each.each, other: each.each, place: INT}
    known = _typed(lowered, **kinds)
    body = parse(_plain(each)).body
    named = {"VALUE": each.value, "CONDITION": each.condition, "DEFAULT": each.default}
    body = [_Placing({name: part for name, part in named.items() if part is not None}).visit(node) for node in body]
    statements = _statements(lowered, known, body, array)
    return _fragment(f"each{each.number}", parameters, "\n".join(ast.unparse(node) for node in statements))


class _Placing(ast.NodeTransformer):
    """Replaces names in a text by expressions."""

    def __init__(self, parts: dict[str, ast.expr]) -> None:
        self.parts = parts

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.parts.get(node.id, node)


def _plain(each: Generated) -> str:
    """A generator as statements over plain names."""
    n = each.number
    body, first, last = _STEPS[each.what]
    if each.what in ("min", "max", "topk") and each.default is not None:
        body, last = (body + f"\nl_c{n} = l_c{n} + 1", f"l_t{n} if l_c{n} > 0 else DEFAULT")
        first += f"\nl_c{n} = 0"
    if each.what == "topk":
        body, first, last = _TOP, f"l_t{n} = {'0' if each.default is None else 'DEFAULT'}\nl_c{n} = 0", f"l_t{n}"
    if each.condition is not None:
        body = "if CONDITION:\n" + textwrap.indent(body, "    ")
    text = f"{first}\nfor i{n} in range(row, row_end):\n{textwrap.indent(body, '    ')}\nreturn {last}"
    return text.replace("#", str(n)).replace("FIRST", _first(each)).replace("LENGTH", str(each.kind.length))


# By built-in: the statement of an edge, the one before the first, and the value that is returned. `#` is the
# generator's number.
_STEPS = {
    "sum": ("l_t# = l_t# + VALUE", "l_t# = 0", "l_t#"),
    "min": ("l_t# = min(l_t#, VALUE)", "l_t# = FIRST", "l_t#"),
    "max": ("l_t# = max(l_t#, VALUE)", "l_t# = FIRST", "l_t#"),
    "any": ("if VALUE:\n    return True", "", "False"),
    "all": ("if not VALUE:\n    return False", "", "True"),
    "topk": ("", "", ""),
}
_TOP = """\
l_x# = VALUE
for l_k# in range(LENGTH):
    if l_k# >= l_c# or l_x# > l_t#[l_k#]:
        l_y# = l_t#[l_k#]
        l_t#[l_k#] = l_x#
        l_x# = l_y#
l_c# = l_c# + 1"""


def _first(each: Generated) -> str:
    """The initial value of a minimum or a maximum: beyond any value of the type."""
    low = each.what == "max"
    if each.what not in ("min", "max"):
        return "0"
    if each.kind.kind == "float":
        return "-math.inf" if low else "math.inf"
    limits = np.iinfo(each.kind.stored)
    return str(limits.min if low else limits.max)


def _collected(lowered: Lowered, each: Generated, array: str) -> str:
    """A mode or a median, whose values are collected first."""
    n = each.number
    known, loop = _value_loop(lowered, each, array)
    value = f"np.{(_key(each) if each.what == 'mode' else each.each.stored).type.__name__}(l_x{n})"
    nothing = "0"
    if each.default is not None:
        (given,) = _statements(lowered, known, [ast.Return(each.default)], array)
        nothing = ast.unparse(given).removeprefix("return ")
    first, last = "shift = table_shift(row_end - row)", f"leading(t{n}, q{n}, found)"
    take = f"found = vote(t{n}, q{n}, shift, found, {value})"
    if each.what == "median":
        take, first, last = f"t{n}[found] = {value}\nfound += np.uint64(1)", "", f"middle(t{n}, found)"
    elif each.weight is not None:
        weight = f"np.{_weights(lowered, each).stored.type.__name__}(l_w{n})"
        take = f"found = weigh(t{n}, q{n}, x{n}, shift, found, {value}, {weight})"
        last = f"heaviest(t{n}, q{n}, x{n}, found)"
    lines = _in_order(each, loop, value) if each.what == "mode" and each.weight is None else []
    lines += [first, "found = np.uint64(0)", _taking(each, loop, take)]
    lines += ["if found == np.uint64(0):", f"    return {_result(each, nothing)}", f"return {_result(each, last)}"]
    return "\n".join(line for line in lines if line)


def _value_loop(lowered: Lowered, each: Generated, array: str) -> tuple[Checked, ast.For]:
    """A loop over edges that gives a local the value of each, and perhaps another its weight; with their types."""
    n = each.number
    kinds, parts = {f"x{n}": each.each}, [(f"l_x{n}", each.value)]
    if each.weight is not None:
        kinds[f"w{n}"] = _weights(lowered, each)
        parts.append((f"l_w{n}", each.weight))
    body: list[ast.stmt] = [ast.Assign([ast.Name(name, ast.Store())], part) for name, part in parts]
    if each.condition is not None:
        body = [ast.If(each.condition, body, [])]
    through = parse_expression("range(row, row_end)")
    loop = ast.fix_missing_locations(ast.For(ast.Name(f"i{n}", ast.Store()), through, body, []))
    known = _typed(lowered, **kinds)
    (made,) = _statements(lowered, known, [loop], array)
    assert isinstance(made, ast.For)
    return known, made


def _taking(each: Generated, loop: ast.For, text: str) -> str:
    """The loop with statements at its end that use the value."""
    copy_of_loop = copy.deepcopy(loop)
    last = copy_of_loop.body[-1]
    (last.body if each.condition is not None and isinstance(last, ast.If) else copy_of_loop.body).extend(
        parse(text).body
    )
    return ast.unparse(ast.fix_missing_locations(copy_of_loop))


def _in_order(each: Generated, loop: ast.For, value: str) -> list[str]:
    """Statements that count a row with ascending values, run by run, and give up at the first that descends.

    Such are rows in which all values are equal, as in communities, and those of the first superstep, where labels are
    numbers.
    """
    limits = np.iinfo(_key(each))
    least = limits.min + 1 if limits.min else 0  # a literal that every compiler can negate
    dtype = f"np.{_key(each).type.__name__}"
    steps = [
        f"name = {value}",
        "if name < last:",
        "    ascends = False",
        "    break",
        "same = same + 1 if name == last else 1",
        "if same > most:",
        "    best, most = name, same",
        "last = name",
    ]
    lines = [f"best, last, same, most, ascends = {dtype}(0), {dtype}({least}), 0, 0, True"]
    lines += [_taking(each, loop, "\n".join(steps)), "if ascends and most > 0:", f"    return {_result(each, 'best')}"]
    return lines


def _result(each: Generated, value: str) -> str:
    """A result in the type that the generator returns."""
    kind = each.kind
    wide = {"int": np.dtype(np.int64), "float": np.dtype(np.float64)}[kind.kind]
    dtype = kind.dtype if kind.dtype is not None and (kind.dtype.kind == "f" or kind.dtype.itemsize == 8) else wide
    return f"np.{dtype.type.__name__}({value})"


def _weights(lowered: Lowered, each: Generated) -> Value:
    """The type in which weights are added up."""
    assert each.weight is not None
    locals_ = {f"l_{name}": kind for name, kind in lowered.edgewise.locals.items()}
    return of_sign(typed(each.weight, {**_around(lowered).types, **locals_}))

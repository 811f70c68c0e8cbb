"""Pieces of source that every generated kernel is made of: the user's functions, messages, and how names get values.

A user's function becomes one over values: all that it reads is an argument, all that it writes is returned in a tuple.
So a kernel only has to know its names: it loads them, calls, and stores the results. A vector is a value like a number
(vectors.py), loaded from and stored in a row of its array.
"""

from __future__ import annotations

import ast
import textwrap

from arcflux.compile.check.checked import Checked
from arcflux.compile.check.expressions import length_of
from arcflux.compile.check.helpers import Helper
from arcflux.compile.check.types import Value, of_dtype
from arcflux.compile.edge_state import names_of
from arcflux.compile.lower import Lowered, Measure, Message
from arcflux.compile.mail import cursors, found_by_place, in_kernels, mail_arguments
from arcflux.compile.pieces import polling
from arcflux.compile.pieces.measures import combined, loaded_from, nothing, side_by_side
from arcflux.compile.pieces.vectors import in_lanes
from arcflux.parsing import parse_expression

__all__ = [
    "EDGE_ARRAYS", "ReturnsOf", "accumulated", "also", "arguments", "bound", "call", "chunk_loop", "column_value",
    "columns_read", "contributions", "edge_reads", "ends_known", "function", "has_long_loops", "helpers",
    "in_function", "init_call", "inside", "keep", "keep_in", "lengths_of", "load", "load_from", "measured",
    "measured_value", "message_reads", "message_values", "received", "reduced", "results", "returned", "sent",
    "shared", "sources", "stores", "totals_known", "tuple_text", "updated", "written",
]  # fmt: skip

# Imports that only few programs need: by module, the functions.
_SELDOM = {"arithmetic": ("modulo", "quotient", "remainder", "rounded"), "draws": ("random_between", "random_of"),
           "lanes": ("copied",), "reduce": ("locked", "read_now", "unlock", "write_now")}  # fmt: skip

# The edge arrays of kernels besides fields, for programs with edge fields (crossing.py).
EDGE_ARRAYS = ("reverse", "place", "turn")

# --- the user's functions


def also(made: list[str], room: str) -> str:
    """The imports of seldom used functions, on lines of their own; "" if none."""
    text = "\n".join(made)
    lines = []
    for module, names in _SELDOM.items():
        if used := [name for name in names if f"{name}(" in text]:
            lines.append(f"from arcflux.{room}.{module} import {', '.join(used)}\n")
    return "".join(lines)


def arguments(lowered: Lowered, name: str) -> list[str]:
    """The arguments of a function: what it reads, the fields it writes, the control array for long loops."""
    checked = lowered.functions[name]
    looked_at = ["control"] if has_long_loops(lowered, name) else []
    names = sorted(checked.reads | {f"v_{field}" for field in checked.writes})
    return [*names, *(mail_arguments(lowered, name) if lowered.mails else []), *looked_at]


def has_long_loops(lowered: Lowered, name: str) -> bool:
    """Whether a function has a loop that may be long, and so polls whether the run should end."""
    checked = lowered.functions[name]
    return checked.nests or polling.polls(checked.body, lengths_of(lowered))


def results(lowered: Lowered, name: str) -> list[str]:
    """The plain names of the fields that a function writes; none if the program does not have it."""
    checked = lowered.functions.get(name)
    return sorted(f"v_{field}" for field in checked.writes) if checked else []


def contributions(lowered: Lowered, name: str) -> list[str]:
    """The plain names of a function's contributions to totals."""
    return [f"t_{measure.name}" for measure in lowered.totals_of(name)]


def returned(lowered: Lowered, name: str) -> list[str]:
    """The values that a function returns besides its own: the fields that it writes, contributions to totals, and where
    the next records go.
    """
    return [*results(lowered, name), *contributions(lowered, name), *cursors(lowered, name)]


def call(lowered: Lowered, name: str, counting: bool = False) -> str:
    """The call of a user's function, whose arguments have to be in scope under their plain names.

    If `counting`, its sends are only counted.
    """
    function_name = f"{name}_count" if counting and lowered.functions[name].sends else name
    return f"{function_name}({', '.join(arguments(lowered, name))})"


def init_call(lowered: Lowered) -> list[str]:
    """The statement that sets fields to what init returns; none without such fields."""
    parameters = results(lowered, "init")
    return [f"{tuple_text(parameters)} = {call(lowered, 'init')}"] if parameters else []


def updated(lowered: Lowered, counting: bool = False) -> list[str]:
    """The statement that updates a vertex, and sets `moved` if that changed anything."""
    return [f"{', '.join(['moved', *returned(lowered, 'update')])} = {call(lowered, 'update', counting)}"]


def measured(lowered: Lowered, measures: list[Measure] | None = None, several: bool = False) -> list[str]:
    """Statements that reduce the measures of a vertex: its residual and its contributions to totals.

    In a loop so short that each vertex would wait for the one before it, `several` may be reduced at once.
    """

    def with_next(each: Measure) -> str:
        a, b = each.running, measured_value(lowered, each)
        return side_by_side(lowered, each, a, b) if several else combined(each, a, b)

    return [
        f"{each.running} = {with_next(each)}"
        if each.is_total or each.operation != "sum"
        else f"residual_sum += {call(lowered, 'residual')}"
        for each in (lowered.measures if measures is None else measures)
    ]


def measured_value(lowered: Lowered, measure: Measure) -> str:
    """The expression for the contribution of a vertex."""
    return f"t_{measure.name}" if measure.is_total else call(lowered, "residual")


def function(lowered: Lowered, name: str, counting: bool = False) -> str:
    """A user's function as the kernels call it; if `counting`, the version that only counts what is sent."""
    described = lowered.functions[name]
    back = returned(lowered, name)
    body = in_function(lowered, described, described.body)
    if lowered.mails:
        body = in_kernels(lowered, body, counting)
    nothing_said = name in ("init", "receive")
    if body and isinstance(body[-1], ast.While) and not nothing_said:  # only a return or an interruption ends it
        body.append(ast.Return(ast.Constant(False if name in ("start", "update", "wants", "stop") else 0)))
    body = [ReturnsOf(back).visit(node) for node in body]
    text = "\n".join(ast.unparse(ast.fix_missing_locations(node)) for node in body) or "pass"
    text = "".join(f"t_{each.name} = {nothing(each)}\n" for each in lowered.totals_of(name)) + text
    if nothing_said and not (body and isinstance(body[-1], ast.Return)):
        text += f"\nreturn {tuple_text(back)}"
    function_name = f"{name}_count" if counting else name
    return f"@fragment\ndef {function_name}({', '.join(arguments(lowered, name))}):\n{textwrap.indent(text, '    ')}\n"


def helpers(lowered: Lowered) -> list[str]:
    """The functions of the module that the program calls, for each combination of argument types."""
    texts = []
    for name, one in lowered.helpers.items():
        assert one.result is not None
        body = one.body
        if isinstance(body[-1], ast.While):  # only a return or an interruption ends it
            body = [*body, ast.Return(ast.Constant({"flag": False, "int": 0, "float": 0.0}[one.result.kind]))]
        body = in_function(lowered, one, body)
        text = "\n".join(ast.unparse(ast.fix_missing_locations(node)) for node in body)
        parameters = ", ".join([*one.parameters, *one.also])
        texts.append(f"@fragment\ndef {name}({parameters}):\n{textwrap.indent(text, '    ')}\n")
    return texts


class ReturnsOf(ast.NodeTransformer):
    """``return x`` becomes ``return x, v_rank, ...``: the written fields are returned to the caller."""

    def __init__(self, results: list[str]) -> None:
        self.results = results

    def visit_Return(self, node: ast.Return) -> ast.Return:
        """A return with the written fields."""
        if node.value is None:
            return ast.Return(parse_expression(tuple_text(self.results)))
        values = [node.value, *(ast.Name(result, ast.Load()) for result in self.results)]
        return ast.Return(ast.Tuple(values, ast.Load()) if self.results else node.value)


def in_function(lowered: Lowered, found: Checked, body: list[ast.stmt]) -> list[ast.stmt]:
    """Copies of a function's statements, in which vectors are values, and long loops poll whether to end."""
    helpers = {name: [*one.parameters.values()] for name, one in found.helpers.items()} | found_by_place(found.types)
    result = found.result if isinstance(found, Helper) else None
    arrays = {f"p_{name}": length_of(lowered.program, kind) for name, kind in lowered.program.arrays.items()}
    statements = in_lanes(body, _types(lowered, found), lengths_of(lowered), helpers, result, arrays)
    return polling.with_polling(statements) if polling.is_polled(statements, {}) else statements


def _types(lowered: Lowered, found: Checked) -> dict[str, Value]:
    """The types of all plain names that a function can have."""
    fields = {
        f"{owner}_{name}": of_dtype(dtype, length)
        for name, (dtype, length) in lowered.fields.items()
        for owner in "vou"
    }
    sent = {message.name: of_dtype(message.dtype, message.length) for message in lowered.messages}
    return {**found.types, **fields, **sent, **{f"l_{name}": kind for name, kind in found.locals.items()}}


def lengths_of(lowered: Lowered) -> dict[str, int]:
    """The parameters that are lengths of vectors: their values are part of the program."""
    program = lowered.program
    kinds = [*program.declared_types, *program.arrays.values()]
    return {f"p_{k.length}": program.parameters[k.length].value for k in kinds if isinstance(k.length, str)}


def tuple_text(names: list[str]) -> str:
    """Names as a tuple, to assign to or to return."""
    return f"({', '.join(names)},)" if names else "()"


# --- the source part


def sources(lowered: Lowered) -> str:
    """The source part: a function for each message, over u's fields."""
    functions = []
    for message in lowered.messages:
        names = message_reads(message)
        (value,) = in_function(lowered, lowered.edgewise, [ast.Return(message.source)])
        functions.append(f"@fragment\ndef source_{message.name}({', '.join(names)}):\n    {ast.unparse(value)}\n")
    return "\n\n".join(functions)


def message_reads(message: Message) -> list[str]:
    """The plain names in a message."""
    names = {n.id for n in ast.walk(message.source) if isinstance(n, ast.Name)}
    return sorted(n for n in names if n[1:2] == "_" or n == "step")


# --- statements around the user's functions


def reduced(lowered: Lowered) -> list[str]:
    """The plain names of the fields that compute reduces into."""
    return sorted(f"v_{field}" for field in lowered.reductions)


def edge_reads(lowered: Lowered) -> list[str]:
    """The plain names that the edge part reads, without those it reduces into."""
    names = {n.id for node in lowered.edge for n in ast.walk(node) if isinstance(n, ast.Name)}
    return sorted(
        n for n in names if (n[1:2] == "_" and n[0] in "oeugpr") or n == "step" or (n[0] == "m" and n[1:].isdigit())
    )


def ends_known(lowered: Lowered) -> list[str]:
    """The plain names of an edge's ends that have to be loaded: those of the edge part, and those of `along`."""
    state = lowered.edge_state
    return edge_reads(lowered) if state is None else sorted({*edge_reads(lowered), *names_of(state)})


def columns_read(lowered: Lowered, place: str, array: str = "c") -> list[str]:
    """Statements that give the plain names of an edge's columns their values."""
    return [f"e_{column} = {column_value(lowered, column, f'{array}_{column}[{place}]')}" for column in lowered.columns]


def column_value(lowered: Lowered, column: str, value: str) -> str:
    """The value of an edge column as programs see it: an integer is signed with 64 bits, whatever the array's type."""
    return f"np.int64({value})" if lowered.edgewise.types[f"e_{column}"].kind == "int" else value


def shared(lowered: Lowered) -> list[str]:
    """Arguments of every kernel: arrays of fields, constants of the run, two arrays for each total, fields of edges."""
    fields = [f"f_{name}" for name in lowered.fields]
    parameters = [f"p_{name}" for name in lowered.program.constants]
    totals = [array for name in lowered.totals for array in (f"totals_{name}", f"sums_{name}")]
    of_edges = lowered.program.edge_fields
    edges = [f"x_{name}" for name in (*of_edges, *EDGE_ARRAYS)] if of_edges else []
    return [*fields, "g_vertices", "g_edges", "g_arcs", *totals, *parameters, *edges]


def totals_known(lowered: Lowered, place: str = "np.uint64(0)") -> list[str]:
    """Statements that load the plain names of totals from their arrays."""
    return [f"g_{each.name} = {loaded_from(each, f'totals_{each.name}', place)}" for each in lowered.totals.values()]


def load(lowered: Lowered, field: str, array: str, place: str) -> str:
    """The expression for an element of an array of a field's type."""
    return load_from(array, place, lowered.fields[field][1])


def keep(lowered: Lowered, field: str, array: str, place: str, value: str) -> str:
    """The statement that stores a field's value in an array."""
    return keep_in(array, place, lowered.fields[field][1], value)


def received(message: Message, place: str) -> str:
    """The statement that loads a message from its array."""
    return f"{message.name} = {load_from(f's_{message.name}', place, message.length)}"


def sent(message: Message, place: str) -> str:
    """The statement that computes a message and stores it in its array."""
    call_text = f"source_{message.name}({', '.join(message_reads(message))})"
    return keep_in(f"s_{message.name}", place, message.length, call_text)


def load_from(array: str, place: str, length: int | None) -> str:
    """The expression for an element of an array of values or of vectors."""
    return f"{array}[{place}]" if length is None else f"load({array}, {place}, {length})"


def keep_in(array: str, place: str, length: int | None, value: str) -> str:
    """The statement that stores a value, or a vector, in an array."""
    return f"{array}[{place}] = {value}" if length is None else f"keep({array}, {place}, {value})"


def bound(lowered: Lowered, names: list[str], place: str) -> list[str]:
    """Statements that give the plain names of a vertex's fields and degrees their values."""
    lines = []
    for name in names:
        rest = name[2:]
        if rest == "number":
            lines.append(f"{name} = np.int64({place})")
        elif rest in ("in_degree", "out_degree"):
            side = "in_offsets" if rest == "in_degree" else "out_offsets"
            lines.append(f"{name} = np.int64({side}[{place} + one] - {side}[{place}])")
        else:
            lines.append(f"{name} = {load(lowered, rest, f'f_{rest}', place)}")
    return lines


def message_values(lowered: Lowered, messages: list[Message]) -> list[str]:
    """Statements that compute messages of u, and its number if the edge part reads it."""
    lines = []
    for message in messages:
        names = message_reads(message)
        lines += bound(lowered, [n for n in names if n[0] == "u"], "u")
        lines.append(f"{message.name} = source_{message.name}({', '.join(names)})")
    if "u_number" in ends_known(lowered):
        lines.append("u_number = np.int64(u)")
    return lines


def accumulated(lowered: Lowered) -> list[str]:
    """Statements that load v's fields from their accumulators."""
    return [f"v_{name} = {load(lowered, name, f'a_{name}', 'v')}" for name in sorted(lowered.reductions)]


def written(lowered: Lowered) -> list[str]:
    """The plain names of the fields that a superstep can change."""
    functions = ("init", "around", "receive", "update")
    return sorted({name for each in functions for name in results(lowered, each)} | set(reduced(lowered)))


def stores(lowered: Lowered, names: list[str]) -> list[str]:
    """Statements that store v's new values."""
    return [keep(lowered, name[2:], f"f_{name[2:]}", "v", name) for name in names]


def chunk_loop(
    counter: str, chunk: int | str, name: str, end: str, body: list[str],
    opening: tuple[str, ...] | list[str] = (), over: str = "", closing: tuple[str, ...] | list[str] = (),
) -> list[str]:  # fmt: skip
    """A loop that all workers share: each claims the next `chunk` before `end`, until nothing is left.

    `opening` comes before each chunk, and may compute another range for it, which is then `over`; `closing` comes after
    it.
    """
    over = over or f"range(begin, min(begin + np.uint64({chunk}), {end}))"
    return [
        "while True:",
        f"    begin = np.uint64(fetch_add({counter}, {chunk}))",
        f"    if begin >= {end}:",
        "        break",
        *inside(list(opening)),
        f"    for {name} in {over}:",
        *inside(body, 2),
        *inside(list(closing)),
    ]


def inside(lines: list[str], levels: int = 1) -> list[str]:
    """Statements indented as in a block."""
    return ["    " * levels + line for line in lines]

"""Mail in the functions of a program: their arguments for it, and the code of sends and of loops over records.

A function that sends is generated twice: one version counts its records (``update_count``), the other writes them, from
the offset on that was computed for the vertex. So records are in the order of their senders, however many workers there
are, and room is never too small. For every mail a function gets the position of the next record (``next_walker``), the
end of the vertex's room, beyond which nothing is written, and the arrays of all sent records; it returns the position.
`receive` gets where v's records begin and end, and the arrays of those that arrived.
"""

from __future__ import annotations

import ast
import re

from arcflux.compile.check.sends import COLUMN, NEIGHBOUR
from arcflux.compile.check.types import INT, Value
from arcflux.compile.lower import Lowered
from arcflux.mail import VALUE
from arcflux.parsing import parse

__all__ = [
    "combined_mail", "cursors", "finding", "found_by_place", "in_kernels", "inbox", "mail_arguments", "nothing_of",
    "outbox", "sending",
]  # fmt: skip

_LOOP = re.compile(r"j(\d+)$")
_COUNT = "{0} = {0} + np.uint64(1)"
_SIGNS = {"sum": "+", "or": "|", "and": "&"}


def inbox(lowered: Lowered, name: str) -> list[str]:
    """The arrays of the records that arrived, part by part."""
    return [f"in_{name}_{part}" for part in lowered.mails[name].parts]


def outbox(lowered: Lowered, name: str) -> list[str]:
    """The arrays of the records that are sent: receivers, then part by part."""
    return [f"to_{name}", *(f"out_{name}_{part}" for part in lowered.mails[name].parts)]


def cursors(lowered: Lowered, function: str) -> list[str]:
    """The names of the positions of the next records, for the mails that a function sends."""
    return [f"next_{name}" for name in sorted(lowered.functions[function].sends)]


def mail_arguments(lowered: Lowered, function: str) -> list[str]:
    """The mail arguments of a function."""
    names = []
    for name, declared in lowered.mails.items() if function == "receive" else ():
        names += [f"got_{name}"] if declared.operation else [f"first_{name}", f"end_{name}", f"size_{name}"]
        names += [] if declared.operation else inbox(lowered, name)
    for name in sorted(lowered.functions[function].sends):
        names += [f"next_{name}", f"stop_{name}", *outbox(lowered, name)]
    return names


# --- statements


def in_kernels(lowered: Lowered, body: list[ast.stmt], counting: bool) -> list[ast.stmt]:
    """Statements in which sends count or write, and loops over records load the parts that they use."""
    change = _InKernels(lowered, counting)
    return [ast.fix_missing_locations(change.visit(node)) for node in body]


class _InKernels(ast.NodeTransformer):
    def __init__(self, lowered: Lowered, counting: bool) -> None:
        self.lowered, self.counting = lowered, counting

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        call = node.value
        if not (isinstance(call, ast.Call) and ast.unparse(call.func).startswith("send_")):
            return node
        name = ast.unparse(call.func).removeprefix("send_")
        if self.counting:
            return parse(_COUNT.format(f"next_{name}")).body[0]
        arguments = ", ".join([f"next_{name}", f"stop_{name}", *outbox(self.lowered, name)])
        values = call.args[1]
        assert isinstance(values, ast.Tuple)
        text = ", ".join(ast.unparse(value) for value in values.elts)
        return parse(f"next_{name} = send_{name}({arguments}, {text})").body[0]

    def visit_For(self, node: ast.For) -> ast.For:
        self.generic_visit(node)
        match = _LOOP.match(node.target.id) if isinstance(node.target, ast.Name) else None
        if match is None:
            return node
        assert isinstance(node.iter, ast.Call)
        name = ast.unparse(node.iter.args[0]).removeprefix("first_")
        used = {n.id for statement in node.body for n in ast.walk(statement) if isinstance(n, ast.Name)}
        loads = [
            f"r{match[1]}_{part} = in_{name}_{part}[j{match[1]}]"
            for part in self.lowered.mails[name].parts
            if f"r{match[1]}_{part}" in used
        ]
        node.body = [*parse("\n".join(loads)).body, *node.body]
        return node


def combined_mail(lowered: Lowered, name: str) -> list[str]:
    """Statements that combine v's records, in their order, if the mail has an operation; else count them."""
    declared = lowered.mails[name]
    if declared.operation is None:
        return [f"size_{name} = np.int64(end_{name} - first_{name})"]
    one = f"in_{name}_{VALUE}[j]"
    sign = _SIGNS.get(declared.operation)
    more = f"got_{name} {sign} {one}" if sign else f"{declared.operation}(got_{name}, {one})"
    dtype = declared.parts[VALUE].dtype
    stored = more if dtype.kind == "b" else f"np.{dtype.type.__name__}({more})"
    return [
        f"got_{name} = in_{name}_{VALUE}[first_{name}]",
        f"for j in range(first_{name} + one, end_{name}):",
        f"    got_{name} = {stored}",
    ]


def nothing_of(lowered: Lowered, name: str) -> str:
    """The expression for the initial value of combined mail."""
    declared = lowered.mails[name]
    value, dtype = declared.nothing, declared.parts[VALUE].dtype
    if dtype.kind == "b":
        return str(value)
    text = str(value).replace("inf", "math.inf")
    if value == -(1 << 63):  # no compiler accepts its absolute value
        text = f"{value + 1} - 1"
    return f"np.{dtype.type.__name__}({text})"


# --- functions in kernels


def sending(lowered: Lowered) -> list[str]:
    """A function for each mail that writes a record, if there is room, and returns the next position."""
    functions = []
    for name, declared in lowered.mails.items():
        parts = [f"out_{name}_{part}" for part in declared.parts]
        arguments = ", ".join(
            ["place", "stop", f"to_{name}", *parts, "to", *(f"part_{part}" for part in declared.parts)]
        )
        lines = [f"        {array}[place] = part_{part}" for array, part in zip(parts, declared.parts, strict=True)]
        text = "\n".join([f"        to_{name}[place] = to", *lines])
        functions.append(
            f"@fragment\ndef send_{name}({arguments}):\n    if place < stop:\n{text}\n    return place + np.uint64(1)\n"
        )
    return functions


def finding(lowered: Lowered) -> list[str]:
    """The functions that read out-neighbours, and columns of out-edges, by their index in the row of v."""
    functions = [_FOUND.format(NEIGHBOUR, "-1", "np.int64(values[row + np.uint64(k)])")] if lowered.picks else []
    for column in lowered.out_columns:
        whole = lowered.kind_of_out_column(column).kind == "int"
        value = "values[row + np.uint64(k)]"
        functions.append(_FOUND.format(f"{COLUMN}_{column}", "0", f"np.int64({value})" if whole else value))
    return functions


_FOUND = """@fragment
def {0}(k, v, offsets, values):
    row = np.uint64(offsets[np.uint64(v)])
    if k < 0 or np.uint64(k) >= np.uint64(offsets[np.uint64(v) + np.uint64(1)]) - row:
        return {1}
    return {2}
"""


def found_by_place(types: dict[str, Value]) -> dict[str, list[Value]]:
    """Those of these functions that are called, with the types of their computed arguments."""
    return {name: [INT] for name in types if name == NEIGHBOUR or name.startswith(f"{COLUMN}_")}

"""Pieces of source that every generated kernel is made of: the user's functions, messages, and how names get values.

A user's function becomes one over scalars: all that it reads comes in by name, all that it writes goes out as a tuple.
So a kernel has nothing to know about it but its names: it loads them, calls, and stores what comes back.
"""

from __future__ import annotations

import ast
import textwrap

from arcflux.compile.lower import Lowered, Message

__all__ = [
    "arguments", "bound", "call", "claimed", "copies", "edge", "edge_call", "edge_reads", "function", "inited",
    "inside", "kept", "measured", "message_reads", "results", "shared", "sources", "updated", "written",
]  # fmt: skip

# --- the user's functions


def arguments(lowered: Lowered, name: str) -> list[str]:
    """The plain names a function takes: all it reads, and the fields it writes."""
    found = lowered.functions[name]
    return sorted(found.reads | {f"v_{field}" for field in found.writes})


def results(lowered: Lowered, name: str) -> list[str]:
    """The plain names of the fields that a function writes; none when the program does not have it."""
    found = lowered.functions.get(name)
    return sorted(f"v_{field}" for field in found.writes) if found else []


def call(lowered: Lowered, name: str) -> str:
    """The call of a user's function, whose arguments have to be in reach under their plain names."""
    return f"{name}({', '.join(arguments(lowered, name))})"


def inited(lowered: Lowered) -> list[str]:
    """The statement that gives fields what init gives; none without such fields."""
    given = results(lowered, "init")
    return [f"{_tuple(given)} = {call(lowered, 'init')}"] if given else []


def updated(lowered: Lowered) -> list[str]:
    """The statement that updates a vertex, and says in `moved` whether that changed anything."""
    return [f"{', '.join(['moved', *results(lowered, 'update')])} = {call(lowered, 'update')}"]


def measured(lowered: Lowered) -> list[str]:
    """The statement that adds a vertex's residual to the sum; none without residual."""
    return [f"residual_sum += {call(lowered, 'residual')}"] if "residual" in lowered.functions else []


def function(lowered: Lowered, name: str) -> str:
    """A user's function, as the kernels call it."""
    found = lowered.functions[name]
    returned = results(lowered, name)
    body = [_Returning(returned).visit(node) for node in found.body]
    text = "\n".join(ast.unparse(ast.fix_missing_locations(node)) for node in body) or "pass"
    if name == "init":
        text += f"\nreturn {_tuple(returned)}"
    return f"@inner\ndef {name}({', '.join(arguments(lowered, name))}):\n{textwrap.indent(text, '    ')}\n"


class _Returning(ast.NodeTransformer):
    """``return x`` becomes ``return x, v_rank, ...``: the written fields go back to the caller."""

    def __init__(self, results: list[str]) -> None:
        self.results = results

    def visit_Return(self, node: ast.Return) -> ast.Return:
        assert node.value is not None
        values = [node.value, *(ast.Name(result, ast.Load()) for result in self.results)]
        return ast.Return(ast.Tuple(values, ast.Load()) if self.results else node.value)


def _tuple(names: list[str]) -> str:
    return f"({', '.join(names)},)" if names else "()"


# --- the source part


def sources(lowered: Lowered) -> str:
    """The source part: a function for each message, over u's fields."""
    made = []
    for message in lowered.messages:
        names = message_reads(message)
        made.append(
            f"@inner\ndef source_{message.name}({', '.join(names)}):\n    return {ast.unparse(message.source)}\n"
        )
    return "\n\n".join(made)


def message_reads(message: Message) -> list[str]:
    """The plain names that a message is made of."""
    names = {n.id for n in ast.walk(message.source) if isinstance(n, ast.Name)}
    return sorted(n for n in names if n[1:2] == "_" or n == "step")


# --- the edge part


def reduced(lowered: Lowered) -> list[str]:
    """The plain names of the fields that compute reduces into."""
    return sorted(f"v_{field}" for field in lowered.reductions)


def edge_reads(lowered: Lowered) -> list[str]:
    """The plain names that the edge part reads, without those it reduces into."""
    names = {n.id for node in lowered.edge for n in ast.walk(node) if isinstance(n, ast.Name)}
    return sorted(
        n for n in names if (n[1:2] == "_" and n[0] in "oeugp") or n == "step" or (n[0] == "m" and n[1:].isdigit())
    )


def edge_call(lowered: Lowered) -> str:
    """The statement that reduces along an edge, in registers."""
    targets = reduced(lowered)
    return f"{_tuple(targets)} = edge({', '.join([*targets, *edge_reads(lowered)])})"


def edge(lowered: Lowered) -> str:
    """The edge part for pull: reduces into locals."""
    targets = reduced(lowered)
    text = "\n".join(ast.unparse(ast.fix_missing_locations(_Registers().visit(node))) for node in copies(lowered.edge))
    names = [*targets, *edge_reads(lowered)]
    return f"@inner\ndef edge({', '.join(names)}):\n{textwrap.indent(text, '    ')}\n    return {_tuple(targets)}\n"


def copies(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements that a transformer may change without harm."""
    return ast.parse("\n".join(ast.unparse(node) for node in body)).body


class _Registers(ast.NodeTransformer):
    """``reduce_sum(v_rank, e)`` becomes ``v_rank = v_rank + e``."""

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        assert isinstance(node.value, ast.Call)
        assert isinstance(node.value.func, ast.Name)
        target, value = node.value.args
        name, text = ast.unparse(target), ast.unparse(value)
        forms = {
            "reduce_sum": f"{name} = {name} + ({text})",
            "reduce_product": f"{name} = {name} * ({text})",
            "reduce_or": f"{name} = {name} | ({text})",
            "reduce_and": f"{name} = {name} & ({text})",
            "reduce_min": f"{name} = min({name}, {text})",
            "reduce_max": f"{name} = max({name}, {text})",
            "reduce_any": f"{name} = {text}",
        }
        return ast.parse(forms[node.value.func.id]).body[0]


# --- what stands around them


def shared(lowered: Lowered) -> list[str]:
    """Arguments of every kernel: arrays of fields, degrees, and constants of the run."""
    fields = [f"f_{name}" for name in lowered.fields]
    parameters = [f"p_{name}" for name in lowered.program.parameters]
    return [*fields, "g_vertices", "g_edges", "g_arcs", *parameters]


def bound(names: list[str], place: str) -> list[str]:
    """Statements that give the plain names of a vertex's fields and degrees their values."""
    made = []
    for name in names:
        rest = name[2:]
        if rest == "number":
            made.append(f"{name} = np.int64({place})")
        elif rest in ("in_degree", "out_degree"):
            side = "in_offsets" if rest == "in_degree" else "out_offsets"
            made.append(f"{name} = np.int64({side}[{place} + one] - {side}[{place}])")
        else:
            made.append(f"{name} = f_{rest}[{place}]")
    return made


def written(lowered: Lowered) -> list[str]:
    """The plain names of the fields that a superstep can change."""
    return sorted({*results(lowered, "init"), *results(lowered, "update"), *reduced(lowered)})


def kept(names: list[str]) -> list[str]:
    """Statements that store v's new values."""
    return [f"f_{name[2:]}[v] = {name}" for name in names]


def claimed(counter: str, chunk: int | str, name: str, end: str, body: list[str]) -> list[str]:
    """A loop that all workers share: each claims the next `chunk` of what is left before `end`, until nothing is."""
    return [
        "while True:",
        f"    begin = np.uint64(fetch_add({counter}, {chunk}))",
        f"    if begin >= {end}:",
        "        break",
        f"    for {name} in range(begin, min(begin + np.uint64({chunk}), {end})):",
        *inside(body, 2),
    ]


def inside(lines: list[str], levels: int = 1) -> list[str]:
    """Statements as they stand in a block."""
    return ["    " * levels + line for line in lines]

"""Make a failing case small: fewer edges, vertices, fields, functions and statements, simpler expressions and options.

What is left has to fail still, in the same manner, and the oracle has to find one result for it.
"""

from __future__ import annotations

import ast
import copy
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from program_fuzzer.compare import Case, difference, expected
from program_fuzzer.graphs import GraphSpec
from program_fuzzer.values import IllDefined
from program_fuzzer.ways import Way

__all__ = ["fails", "manner_of", "shrink"]

_SIMPLER: dict[str, Any] = {"threads": 1, "parts": 2, "partition": "ranges", "ranks_per_node": 1, "direction": "pull"}
_NEEDED = {"start": "v", "compute": "vu", "around": "v", "receive": "v", "update": "v"}


def fails(case: Case, way: Way) -> str:
    """How a case fails; "" when it does not, or has no certain result."""
    if not case.graph.vertices and "source" in case.parameters:
        return ""
    try:
        return difference(case, way, expected(case))
    except (IllDefined, SyntaxError):
        return ""


def shrink(case: Case, way: Way, seconds: float = 30.0) -> tuple[Case, Way]:
    """A smaller case that fails in the same manner, and a simpler way."""
    manner = manner_of(fails(case, way))
    until = time.monotonic() + seconds

    def bad(case: Case, way: Way) -> bool:
        return time.monotonic() < until and manner_of(fails(case, way)) == manner

    while time.monotonic() < until:
        before = case, way
        case = _smaller_graph(case, lambda case, way=way: bad(case, way))
        case = _smaller_program(case, lambda case, way=way: bad(case, way))
        case = _less_given(case, lambda case, way=way: bad(case, way))
        for simpler in _simpler_ways(way):
            if bad(case, simpler):
                way = simpler
        if (case, way) == before:
            break
    return case, way


def manner_of(said: str) -> str:
    """In which way a case fails: an exception of a kind, another value, another history."""
    if said.startswith("it raises"):
        refused = re.search(r"Fuzzed(?:\.\w+)?: (.*)", said)
        reason = re.sub(r"-?[0-9.]+", "", refused[1]) if refused else said if "NameError" in said else ""
        return said.split(":")[0] + reason
    return (
        said.split()[0]
        if said.startswith(("converged", "the"))
        else "frontiers"
        if said[:1] == "["
        else said and "values"
    )


# --- ways


def _simpler_ways(way: Way) -> Iterator[Way]:
    for k in range(len(way.patches)):
        yield replace(way, patches=way.patches[:k] + way.patches[k + 1 :])
    if way.devices:
        yield replace(way, devices=(), options={**way.options, "parts": len(way.devices)})
    for name, value in way.options.items():
        if name != "debug":
            yield replace(way, options={k: v for k, v in way.options.items() if k != name})
        if name in _SIMPLER and value != _SIMPLER[name] and not (name == "parts" and way.devices):
            yield replace(way, options={**way.options, name: _SIMPLER[name]})


# --- graphs


def _smaller_graph(case: Case, bad: Callable[[Case], bool]) -> Case:
    size = max(1, len(case.graph.edges) // 2)
    while case.graph.edges:
        at = 0
        while at < len(case.graph.edges):
            smaller = replace(case, graph=case.graph.without(set(range(at, at + size))))
            if bad(smaller):
                case = smaller
            else:
                at += size
        if size == 1:
            break
        size //= 2
    for vertex in reversed(range(case.graph.vertices)):
        if len(case.graph.edges) < 200 and bad(smaller := replace(case, graph=case.graph.without_vertex(vertex))):
            case = smaller
    for graph in _plainer(case.graph):
        if bad(smaller := replace(case, graph=graph)):
            case = smaller
    for limit in range(case.limit or 0):
        if bad(smaller := replace(case, limit=limit)):
            return smaller
    return case


def _plainer(graph: GraphSpec) -> Iterator[GraphSpec]:
    yield replace(graph, ids=())
    yield replace(graph, types=("int32", "float64"))
    yield replace(graph, ids=(), weight=(0,) * len(graph.edges), length=(0.0,) * len(graph.edges))
    yield replace(graph, ids=(), directed=True)


# --- what is given


def _less_given(case: Case, bad: Callable[[Case], bool]) -> Case:
    """Without values that fields are given, or with all of them, or with fewer different ones."""
    for name in list(case.program.given):
        low, high, grain = case.program.given[name]
        less = {key: value for key, value in case.program.given.items() if key != name}
        for given in (less, *({**case.program.given, name: (x, x, grain)} for x in (1, low, high) if low < high)):
            if bad(smaller := replace(case, program=replace(case.program, given=given))):
                case = smaller
                break
    if case.program.some and bad(smaller := replace(case, program=replace(case.program, some=False))):
        case = smaller
    return case


# --- programs


def _smaller_program(case: Case, bad: Callable[[Case], bool]) -> Case:
    """Apply every change that leaves the case bad, the largest first, until none does."""
    changed = True
    while changed:
        changed = False
        for change in (
            _without_phases,
            _without_functions,
            _without_fields,
            _without_statements,
            _with_simpler_expressions,
        ):
            place = 0
            while (source := change(case.program.source, place)) is not None:
                smaller = replace(case, program=replace(case.program, source=source))
                if source and len(source) < len(case.program.source) and bad(smaller):
                    case, changed = smaller, True
                else:
                    place += 1
    return case


def _parsed(source: str) -> tuple[ast.Module, ast.ClassDef]:
    module = ast.parse(source)
    return module, next(node for node in module.body if isinstance(node, ast.ClassDef))


def _unparsed(module: ast.Module) -> str:
    """The source, with the arguments that functions use."""
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef):
            used = {n.id for n in ast.walk(ast.Module(node.body, [])) if isinstance(n, ast.Name)}
            keep = used | set(_NEEDED.get(node.name, "v"))
            node.args.args = [a for a in node.args.args if a.arg in keep]
    used = {n.id for n in ast.walk(module) if isinstance(n, ast.Name)}
    module.body = [n for n in module.body if not (isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) not in used)]
    module.body = [n for n in module.body if not (isinstance(n, ast.FunctionDef) and n.name not in used)]
    return ast.unparse(ast.fix_missing_locations(module)) + "\n"


def _without_phases(source: str, place: int) -> str | None:
    """Without a phase, and the statements of iteration that call it."""
    module, cls = _parsed(source)
    phases = _classes(cls)[1:]
    if place >= len(phases):
        return None
    cls.body.remove(phases[place])
    for function in cls.body:
        if isinstance(function, ast.FunctionDef) and function.name == "iteration":
            function.body = _not_mentioning(function.body, phases[place].name) or [ast.Pass()]
    return _unparsed(module)


def _without_functions(source: str, place: int) -> str | None:
    """Without one of the functions that a program need not have; None when there is no such place."""
    module, cls = _parsed(source)
    optional = [
        (owner, n) for owner in _classes(cls) for n in owner.body
        if isinstance(n, ast.FunctionDef) and (n.name not in _NEEDED or (owner is not cls and n.name == "start"))
    ]  # fmt: skip
    if place >= len(optional):
        return None
    owner, function = optional[place]
    owner.body.remove(function)
    return _unparsed(module)


def _classes(cls: ast.ClassDef) -> list[ast.ClassDef]:
    """The program, and its phases."""
    return [cls, *(n for n in cls.body if isinstance(n, ast.ClassDef))]


def _without_fields(source: str, place: int) -> str | None:
    """Without a field, a parameter or a promise, and the statements that mention it."""
    module, cls = _parsed(source)
    declared = [n for n in cls.body if isinstance(n, ast.AnnAssign | ast.Assign)]
    if place >= len(declared):
        return None
    cls.body.remove(declared[place])
    target = declared[place].target if isinstance(declared[place], ast.AnnAssign) else declared[place].targets[0]
    name = target.id
    for function in ast.walk(cls):
        if isinstance(function, ast.FunctionDef):
            function.body = _not_mentioning(function.body, name) or [ast.Pass()]
    return _unparsed(module)


def _not_mentioning(body: list[ast.stmt], name: str) -> list[ast.stmt]:
    kept: list[ast.stmt] = []
    for node in body:
        if isinstance(node, ast.If | ast.For):
            node.body, node.orelse = _not_mentioning(node.body, name), _not_mentioning(node.orelse, name)
            if not node.body:
                continue
        if not any(isinstance(n, ast.Attribute) and n.attr == name for n in ast.walk(node)):
            kept.append(node)
    return kept


def _without_statements(source: str, place: int) -> str | None:
    """Without a statement, or with the inside of an if or a loop in its place."""
    module, cls = _parsed(source)
    blocks = [
        (block, at)
        for function in ast.walk(cls)
        if isinstance(function, ast.FunctionDef)
        for block in _blocks(function)
        for at in range(len(block))
    ]
    if place >= 2 * len(blocks):
        return None
    block, at = blocks[place // 2]
    node = block[at]
    if place % 2:
        if not isinstance(node, ast.If | ast.For):
            return ""
        block[at : at + 1] = node.body
    else:
        del block[at]
        if not block:
            return ""
    return _unparsed(module)


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for inner in ast.walk(node):
        for name in ("body", "orelse"):
            block = getattr(inner, name, None)
            if isinstance(block, list) and block:
                yield block


def _with_simpler_expressions(source: str, place: int) -> str | None:
    """With one of the parts of an expression, or a number, in its place."""
    module, cls = _parsed(source)
    found: list[tuple[Any, str, int | None, ast.expr]] = []
    for function in ast.walk(cls):
        if isinstance(function, ast.FunctionDef):
            for parent in ast.walk(ast.Module(function.body, [])):
                found += _choices(parent)
    if place >= len(found):
        return None
    parent, name, at, new = found[place]
    new = copy.deepcopy(new)
    if at is None:
        setattr(parent, name, new)
    else:
        getattr(parent, name)[at] = new
    return _unparsed(module)


def _choices(parent: ast.AST) -> list[tuple[Any, str, int | None, ast.expr]]:
    """What could stand for each expression within a node: where it is, and the other."""
    found: list[tuple[Any, str, int | None, ast.expr]] = []
    for name, value in ast.iter_fields(parent):
        if name in ("func", "target", "targets", "annotation"):
            continue
        for at, node in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(node, ast.expr) or isinstance(node, ast.Constant):
                continue
            parts = [
                n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr) and not isinstance(node, ast.Attribute)
            ]
            if not isinstance(node, ast.Name):
                parts += [ast.Constant(v) for v in (0, 1, True, False, 0.0)]
            found += [(parent, name, at, part) for part in parts]
    return found

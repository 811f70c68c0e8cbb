"""Read a class: its fields, parameters, totals, mail, promises, phases and functions, each checked."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from arcflux.checks import shown
from arcflux.class_source import ClassSource, find_source
from arcflux.edge_fields import EdgeField, check_along, declare_edge_field, reversed_fields
from arcflux.errors import UsageError
from arcflux.field_type import TYPES, FieldType
from arcflux.mail import Mail
from arcflux.phase import PhaseClass, check_phase, refuse_namesake
from arcflux.program.completion import base_of, inherited, with_defaults, with_phases
from arcflux.program.contract import ABOUT_GRAPH, FUNCTIONS, NORMS, PROMISES, REQUIRED
from arcflux.program.mails import check_mails, declare_mail
from arcflux.program.model import Function, Line, Program
from arcflux.program.parameters import Parameter, parameter_value, vertex, vertices
from arcflux.program.totals import TOTALLED, Total

__all__ = ["program", "read_class"]


def program(cls: type) -> Program:
    """Make a vertex program of a class; see docs/how-to/program.md for what it may say.

    Examples
    --------
    >>> import arcflux as af
    >>> af.algorithms.PageRank.fields
    mappingproxy({'rank': f64})
    """
    if isinstance(cls, Program):
        return cls
    if not isinstance(cls, type):
        raise UsageError(
            f"@af.program stands above {cls!r}", expected="a class", remedy="class Hops: with fields and functions"
        )
    return read_class(cls, find_source(cls, sys._getframe(1)), vars(cls))


def read_class(
    cls: type, source: ClassSource, calls: Mapping[str, Any], hidden: Mapping[str, FieldType] = MappingProxyType({})
) -> Program:
    """The program that the source of a class says; `calls` are its functions, `hidden` fields that no result shows."""
    first = source.first
    read = Program(cls.__name__, inspect.getdoc(cls) or "", {}, {}, {}, frozenset(), {}, source.path, text=source.lines)
    base = base_of(read, first, cls)
    fields: dict[str, FieldType] = {}
    totals: dict[str, Total] = {}
    mails: dict[str, Mail] = {}
    edge_fields: dict[str, EdgeField] = {}
    parameters: dict[str, Parameter] = {}
    functions: dict[str, Function] = {}
    phases: dict[str, Program] = {}
    promises: set[str] = set(base.promises) if base else set()
    lines: dict[str, int] = {}
    lengths: dict[str, str] = {}
    norm = base.norm if base else "sum"
    annotations = _annotations(read, source, cls)
    for node in source.tree.body:
        line = node.lineno
        if isinstance(node, ast.FunctionDef):
            functions[node.name] = _function(read, node, calls)
        elif isinstance(node, ast.ClassDef) and isinstance(vars(cls).get(node.name), PhaseClass):
            refuse_namesake(read, source.tree, node)
            phases[node.name] = _phase(read, node, vars(cls)[node.name])
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id in annotations:
            name = node.target.id
            lines[name] = Line(line, source.path, source.lines)
            if isinstance(annotations[name], Total):
                totals[name] = _declare_total(read, line, name, annotations[name], cls)
            elif isinstance(annotations[name], Mail):
                mails[name] = declare_mail(read, line, name, annotations[name], hasattr(cls, name), FUNCTIONS)
            elif isinstance(annotations[name], EdgeField):
                edge_fields[name] = declare_edge_field(read, line, name, annotations[name], cls)
            else:
                _declare(read, line, name, annotations[name], cls, fields, parameters)
            if length := _named_length(node.annotation):
                lengths[name] = length
        elif isinstance(node, ast.Assign) and [ast.unparse(t) for t in node.targets] == ["norm"]:
            norm = _checked_norm(read, line, vars(cls)["norm"])
            lines["norm"] = Line(line, source.path, source.lines)
        elif isinstance(node, ast.Assign) and all(isinstance(t, ast.Name) and t.id in PROMISES for t in node.targets):
            said = {t.id for t in node.targets if isinstance(t, ast.Name)}
            promises = (promises - said) | {name for name in said if getattr(cls, name)}
        elif not (isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))):
            raise read.refusal(
                line,
                "only fields, parameters, promises and functions belong in a program",
                f"a field is `name: af.f64`, a parameter `name: float = 0.5`, a promise one of {', '.join(PROMISES)}",
            )
    # af.f32[k] means the parameter k, as af.f32["k"] does, and not the value that k has in the class.
    for name, length in lengths.items():
        if name in fields and length in parameters:
            fields[name] = replace(fields[name], length=length)
        if name in totals and length in parameters:
            totals[name] = replace(totals[name], type=replace(totals[name].type, length=length))
        if name in edge_fields and length in parameters:
            edge_fields[name] = replace(edge_fields[name], type=replace(edge_fields[name].type, length=length))
    fields.update(hidden)
    made = replace(
        read,
        hidden=frozenset(hidden),
        fields=MappingProxyType(fields),
        parameters=MappingProxyType(parameters),
        functions=MappingProxyType({name: each for name, each in functions.items() if name != "iteration"}),
        promises=frozenset(promises),
        names=source.names,
        lines=MappingProxyType(lines),
        totals=MappingProxyType(totals),
        mails=MappingProxyType(mails),
        edge_fields=MappingProxyType(edge_fields),
        norm=norm,
        phases=MappingProxyType(phases),
        iteration=functions.get("iteration"),
    )
    made = inherited(made, base) if base else made
    made = with_phases(made, first) if made.phases or made.iteration else with_defaults(made)
    check_mails(made, FUNCTIONS["receive"])
    _check_parts(made, first, made.fields, made.parameters, made.functions)
    return _with_mirrored(made) if made.edge_fields else made


def _with_mirrored(made: Program) -> Program:
    """A program that knows which edge fields any of its phases reads of the reverse edge: these are kept twice."""
    functions = [each for one in (made, *made.phases.values()) for each in one.functions.values()]
    mirrored = reversed_fields(functions) & made.edge_fields.keys()
    phases = {name: replace(each, mirrored=mirrored) for name, each in made.phases.items()}
    return replace(made, mirrored=mirrored, phases=MappingProxyType(phases))


def _phase(read: Program, node: ast.ClassDef, given: PhaseClass) -> Program:
    """A phase as a program of its own, which has its fields and parameters from the one around it."""
    functions: dict[str, Function] = {}
    promises: set[str] = set()
    for part in node.body:
        if isinstance(part, ast.FunctionDef):
            functions[part.name] = _function(read, part, vars(given.cls))
        elif isinstance(part, ast.Assign) and all(isinstance(t, ast.Name) and t.id in PROMISES for t in part.targets):
            promises |= {t.id for t in part.targets if isinstance(t, ast.Name) and getattr(given.cls, t.id)}
        elif not (isinstance(part, ast.Pass) or (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))):
            raise read.refusal(
                part.lineno,
                f"only promises and functions belong in the phase {node.name}",
                "declare fields and parameters in the program: all phases share them",
            )
    check_phase(read, node, functions, given.edges)
    return replace(
        read, name=f"{read.name}.{node.name}", functions=MappingProxyType(functions), promises=frozenset(promises),
        edges=given.edges,
    )  # fmt: skip


def _check_parts(
    read: Program, first: int, fields: Mapping[str, FieldType], parameters: Mapping[str, Parameter],
    functions: Mapping[str, Function],
) -> None:  # fmt: skip
    """Whether a program has all that it needs; what phases need is checked where they are read."""
    for each in (read, *read.phases.values()):
        check_along(each, each.functions, each.promises, each.edges)
    if "compute" in functions and "around" in functions:
        raise read.refusal(
            functions["around"].line, "compute and around stand in one program",
            "compute takes edges one by one, around all at once: keep one of them",
        )  # fmt: skip
    for name in () if read.phases else REQUIRED:
        if name not in functions and "around" not in functions and not ("receive" in functions and read.mails):
            _refuse_mail_without_kind(read, functions)
            raise read.refusal(
                first, f"the function {name} is missing", f"add `def {name}({', '.join(FUNCTIONS[name][:2])}): ...`"
            )
    if not fields:
        raise read.refusal(first, "the program has no vertex field", "declare one, such as `rank: af.f64`")
    totals = {name: declared.type for name, declared in read.totals.items()}
    of_edges = {name: declared.type for name, declared in read.edge_fields.items()}
    for name, kind in {**fields, **read.arrays, **totals, **of_edges}.items():
        if isinstance(kind.length, str) and (kind.length not in parameters or parameters[kind.length].kind is not int):
            raise read.refusal(
                first,
                f"the length of {name} is {kind.length!r}, which is no int parameter",
                f"add `{kind.length}: int = 8`, or write the length as a number",
            )


def _refuse_mail_without_kind(read: Program, functions: Mapping[str, Function]) -> None:
    """Refuse to send what is not declared, rather than to miss a compute that mail makes needless."""
    for function in functions.values() if not read.mails else ():
        for node in (node for statement in function.body for node in ast.walk(statement)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "af.send" and node.keywords:
                name = node.keywords[0].arg
                raise read.refusal(
                    function.at(node.lineno), f"{function.name} sends the mail {name}, which is not declared",
                    f"write `{name}: af.mail(af.i64)` in the class, and `def receive(v, {name}): ...`",
                )  # fmt: skip


def _annotations(read: Program, source: ClassSource, cls: type) -> Mapping[str, Any]:
    """The types that a class declares, also those that `from __future__ import annotations` has left as text."""
    around = dict(source.names)
    try:
        return inspect.get_annotations(cls, globals=around, locals={**source.scope, **vars(cls)}, eval_str=True)
    except (NameError, AttributeError, TypeError, SyntaxError) as error:
        raise read.refusal(
            source.first, f"a declared type means nothing here: {error}",
            "a field is `name: af.f64` after `import arcflux as af`; a parameter is `name: float = 0.5`",
        ) from error  # fmt: skip


def _function(read: Program, node: ast.FunctionDef, calls: Mapping[str, Any]) -> Function:
    line = Line(node.lineno, read.path, read.text)
    if node.name not in FUNCTIONS:
        raise read.refusal(line, f"a program has no function {node.name!r}", "use one of: " + ", ".join(FUNCTIONS))
    if node.decorator_list or node.args.vararg or node.args.kwarg or node.args.kwonlyargs or node.args.defaults:
        raise read.refusal(line, f"{node.name} takes plain arguments only", "no decorators, defaults or stars")
    arguments = tuple(argument.arg for argument in node.args.args)
    for argument in arguments:
        if argument not in FUNCTIONS[node.name] and node.name != "receive":  # which also asks for mails, by name
            raise read.refusal(
                line,
                f"{node.name} cannot have an argument {argument!r}",
                f"arguments are bound by name; {node.name} may ask for: {', '.join(FUNCTIONS[node.name])}",
            )
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    return Function(node.name, arguments, body, line, calls[node.name])


def _declare(
    read: Program, line: int, name: str, kind: Any, cls: type, fields: dict[str, FieldType],
    parameters: dict[str, Parameter],
) -> None:  # fmt: skip
    """Add a field or a parameter."""
    if isinstance(kind, FieldType) and not (kind.length is not None and hasattr(cls, name)):
        if hasattr(cls, name):
            raise read.refusal(line, f"the field {name} has a value", "fields get their first value in start")
        if kind.columns is not None:
            raise read.refusal(
                line, f"{name} is a matrix, and fields are numbers or vectors",
                f"write `{name}: af.{kind.name}[{kind.length}]` and v.{name}[{kind.columns} * i + j], or give it a "
                "value: parameters may be matrices",
            )  # fmt: skip
        if name in ("number", "in_degree", "out_degree"):
            raise read.refusal(line, f"{name} is there for every vertex", "choose another name for the field")
        fields[name] = kind
    elif kind in (int, float, bool, vertex, vertices) or isinstance(kind, FieldType):
        given = getattr(cls, name, None)
        if given is None and kind not in (vertex, vertices):
            raise read.refusal(line, f"the parameter {name} has no default", f"write `{name}: {kind.__name__} = ...`")
        if given is not None:
            try:
                given = parameter_value(read.name, name, kind, given)
            except UsageError as error:
                raise read.refusal(line, error.what, f"give it a default that is {error.expected}") from None
        parameters[name] = Parameter(kind, given)
    else:
        raise read.refusal(
            line,
            f"{name} is declared as {getattr(kind, '__name__', kind)!r}",
            f"a field is one of {', '.join('af.' + t for t in TYPES)}; a parameter is int, float, bool, af.vertex or "
            "af.vertices, or an array with a value: `name: af.f64[4] = (1, 0, 0, 0)`",
        )


def _named_length(annotation: ast.expr) -> str:
    """The name in ``af.f32[k]`` or ``af.total(af.f64[k])`` that stands for a length; "" without one."""
    if isinstance(annotation, ast.Call) and annotation.args:
        annotation = annotation.args[0]
    return (
        annotation.slice.id if isinstance(annotation, ast.Subscript) and isinstance(annotation.slice, ast.Name) else ""
    )


def _declare_total(read: Program, line: int, name: str, declared: Total, cls: type) -> Total:
    """A total, if it can be one."""
    if hasattr(cls, name):
        raise read.refusal(line, f"the total {name} has a value", "a total gets its first value in start")
    if name in ABOUT_GRAPH:
        raise read.refusal(line, f"g.{name} is known of every graph", f"choose another name, such as {name}_total")
    if name in FUNCTIONS:
        raise read.refusal(line, f"{name} is a function of programs", "choose another name for the total")
    if not isinstance(declared.type, FieldType):
        raise read.refusal(
            line, f"a total of {shown(declared.type)}, which is no type of numbers", f"write `{name}: af.total(af.f64)`"
        )
    kind, operation = declared.type, declared.operation
    if kind.name not in TOTALLED:
        wide = {"f": "f64", "u": "u64"}.get(kind.dtype.kind, "i64")
        raise read.refusal(
            line, f"a total of {kind.name}: over many vertices it would not fit",
            f"write `{name}: af.total(af.{wide})`; what is added may have any type",
        )  # fmt: skip
    if operation not in TOTALLED[kind.name]:
        known = " or ".join(f'"{one}"' for one in TOTALLED[kind.name])
        counts = "; to count vertices, af.total(af.i64) and += 1" if kind.name == "flag" else ""
        remedy = f"a total of {kind.name} is reduced by {known}{counts}"
        raise read.refusal(line, f"a total of {kind.name} by {shown(operation)}", remedy)
    return declared


def _checked_norm(read: Program, line: int, norm: Any) -> str:
    """How residuals become one number."""
    if norm not in NORMS:
        raise read.refusal(line, f"norm is {shown(norm)}", 'write norm = "max" or norm = "sum"')
    return str(norm)

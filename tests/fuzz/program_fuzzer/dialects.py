"""The same program in other systems' words, where they can say it: written from its text, by no code of Arcflux.

A program whose compute reduces one field, once, is a message for each edge, a way to combine two, and a function of a
vertex that does what init and update did: MSGGen, MSGMerge and MSGApply; gather, sum, apply and scatter; an EDGE
function, a Combiner and a VERTEX function. One that asks its neighbours once lists their messages.
"""

from __future__ import annotations

import ast
import copy
import re

__all__ = ["DIALECTS", "in_other_words"]

DIALECTS = ("gas", "emv", "msg")
_SIGNS: dict[type[ast.operator], str] = {ast.Add: "a + b", ast.Mult: "a * b", ast.BitOr: "a | b", ast.BitAnd: "a & b"}
_RUNS = ("InitMessageBuffer", "EDGE.Send", "Combiner", "VERTEX.Take")
_TAKING = {
    dialect: ("v", message, "old", "g", "p", "step")
    for dialect, message in (("gas", "gathered"), ("emv", "combined"), ("msg", "message"))
}
_SAID = {"start", "init", "compute", "update", "residual"}
_LISTED = _SAID - {"compute"} | {"around"}


class _Unsayable(Exception):
    """The words of a dialect do not reach so far."""


def in_other_words(source: str, dialect: str) -> str | None:
    """The text of a program in a dialect; None where that cannot be said."""
    module = ast.parse(source)
    cls = next(node for node in module.body if isinstance(node, ast.ClassDef))
    functions = {node.name: node for node in cls.body if isinstance(node, ast.FunctionDef)}
    try:
        if {"start", "compute", "update"} <= functions.keys() <= _SAID:
            said = {"gas": _gas, "emv": _emv, "msg": _msg}[dialect](_Parts(cls, functions))
        elif {"start", "around", "update"} <= functions.keys() <= _LISTED:
            said = {"gas": _gas, "emv": _emv_listed, "msg": _msg}[dialect](_Lists(cls, functions, dialect))
        else:
            return None
    except _Unsayable:
        return None
    kept = [node for node in cls.body if not isinstance(node, ast.FunctionDef)]
    kept += [functions[name] for name in ("start", "residual") if name in functions]
    lines = [ast.unparse(ast.fix_missing_locations(node)) for node in kept] + said
    body = "\n".join(f"    {line}" for text in lines for line in text.splitlines())
    before = source[: source.index("@af.program")]
    return f"{before}@af.{dialect}\nclass Fuzzed:\n{body}\n"


class _Parts:
    """A program taken apart: the field, how messages combine, what is sent, and what a vertex does with it."""

    def __init__(self, cls: ast.ClassDef, functions: dict[str, ast.FunctionDef]) -> None:
        self.field, self.combined = "", ""
        self.sending = self._read(functions)
        declared = {node.target.id: ast.unparse(node.annotation) for node in cls.body
                    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}  # fmt: skip
        self.kind = declared[self.field]
        self.before = copy.deepcopy(functions["init"].body) if "init" in functions else []
        if any(isinstance(n, ast.Return) for node in self.before for n in ast.walk(node)):
            raise _Unsayable
        self.after = copy.deepcopy(functions["update"].body)

    def _read(self, functions: dict[str, ast.FunctionDef]) -> list[ast.stmt]:
        """The statements that send; `field` and `combined` are found, too."""
        return self._sent(copy.deepcopy(functions["compute"].body))

    def _sent(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The statements of compute, which return what they reduced."""
        (*first, last) = body
        parts = [n for node in first for n in ast.walk(node) if isinstance(n, (ast.Attribute, ast.Subscript))]
        if any(isinstance(n.ctx, ast.Store) for n in parts):
            raise _Unsayable
        if any(isinstance(n, ast.Return) for node in first for n in ast.walk(node)):
            raise _Unsayable
        if isinstance(last, ast.If):
            last.body = self._sent(last.body)
            last.orelse = self._sent(last.orelse) if last.orelse else []
            return [*first, last]
        return [*first, ast.Return(self._reduced(last))]

    def _reduced(self, node: ast.stmt) -> ast.expr:
        if isinstance(node, ast.AugAssign) and type(node.op) in _SIGNS:
            target, value, combined = node.target, node.value, _SIGNS[type(node.op)]
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and len(node.value.args) == 2:
            target, value, combined = node.targets[0], node.value.args[1], f"{ast.unparse(node.value.func)}(a, b)"
            if combined not in ("min(a, b)", "max(a, b)") or ast.unparse(node.value.args[0]) != ast.unparse(target):
                raise _Unsayable
        else:
            raise _Unsayable
        known = (self.field or target.attr, self.combined or combined) if isinstance(target, ast.Attribute) else None
        if not isinstance(target, ast.Attribute) or known != (target.attr, combined):
            raise _Unsayable
        self.field, self.combined = target.attr, combined
        return value

    def taking(self, message: str) -> list[ast.stmt]:
        """What a vertex does with the messages, but for what it returns: init, and the reduction."""
        own = f"v.{self.field}"
        text = re.sub(r"\b[ab]\b", lambda found: {"a": own, "b": message}[found[0]], self.combined)
        return [*copy.deepcopy(self.before), *ast.parse(f"{own} = {text}").body]


class _Lists(_Parts):
    """A program whose around is one statement, which asks its neighbours once: their messages are listed."""

    def __init__(self, cls: ast.ClassDef, functions: dict[str, ast.FunctionDef], dialect: str) -> None:
        self.dialect = dialect
        super().__init__(cls, functions)
        (*after, last) = self.after
        inner = [n for node in after for n in ast.walk(node)]
        local = {n.id for n in inner if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        returns = any(isinstance(n, ast.Return) for n in inner)
        if returns or local & {n.id for n in ast.walk(last) if isinstance(n, ast.Name)}:
            raise _Unsayable

    def _read(self, functions: dict[str, ast.FunctionDef]) -> list[ast.stmt]:
        (asked, *others) = copy.deepcopy(functions["around"].body)
        asking = [n for n in ast.walk(asked) if isinstance(n, ast.GeneratorExp)]
        near = [n for n in ast.walk(asked) if isinstance(n, ast.Name) and n.id == "edges"]
        if others or len(asking) != 1 or len(near) != 1 or not isinstance(asked, ast.Assign):
            raise _Unsayable
        (generator,) = asking
        if isinstance(generator.elt, ast.Tuple) or "af.intersect" in ast.unparse(asked):
            raise _Unsayable
        assert isinstance(asked.targets[0], ast.Attribute)
        self.field, self.combined, self.asked = asked.targets[0].attr, "a + b", asked
        said = generator.elt if self.dialect == "emv" else ast.List([generator.elt], ast.Load())
        sending: list[ast.stmt] = [ast.Return(said)]
        tests = generator.generators[0].ifs
        if tests and self.dialect == "emv":  # its list has a message for every edge
            raise _Unsayable
        return [ast.If(tests[0], sending, [])] if tests else sending

    def taking(self, message: str) -> list[ast.stmt]:
        """What a vertex does with the list."""
        listed = "(m.value for m in ml)" if self.dialect == "emv" else message

        class Listing(ast.NodeTransformer):
            def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:
                return ast.parse(listed, mode="eval").body

        return [*copy.deepcopy(self.before), Listing().visit(copy.deepcopy(self.asked))]


def _function(name: str, arguments: tuple[str, ...], body: list[ast.stmt], first: str = "", returns: str = "") -> str:
    """A function that asks for what its statements mention, and for `first`."""
    names = {n.id for node in body for n in ast.walk(node) if isinstance(n, ast.Name)} | set(first.split())
    asked = ", ".join(one for one in arguments if one in names)
    text = "\n".join(ast.unparse(ast.fix_missing_locations(node)) for node in body)
    return f"def {name}({asked}){returns}:\n" + "\n".join(f"    {line}" for line in text.splitlines())


def _renamed(body: list[ast.stmt], names: dict[str, str]) -> list[ast.stmt]:
    """Statements with other words for names."""

    class Renaming(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return ast.parse(names[node.id], mode="eval").body if node.id in names else node

    return [Renaming().visit(copy.deepcopy(node)) for node in body]


def _combiner(name: str, parts: _Parts) -> str:
    return f"def {name}(a, b):\n    return {parts.combined}"


def _msg(parts: _Parts) -> list[str]:
    applying = [*parts.taking("message"), *parts.after]
    sending = _renamed(parts.sending, {"old": "v"})
    return [
        _function("MSGGen", ("u", "edge", "v", "g", "p", "step"), sending, "u", f" -> {parts.kind}"),
        _combiner("MSGMerge", parts),
        _function("MSGApply", _TAKING["msg"], applying, "v message"),
    ]


def _gas(parts: _Parts) -> list[str]:
    (*after, last) = parts.after
    if any(isinstance(n, ast.Return) for node in after for n in ast.walk(node)):
        raise _Unsayable
    local = {n.id for node in after for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    if local & {n.id for n in ast.walk(last) if isinstance(n, ast.Name)}:
        raise _Unsayable
    return [
        _function("gather", ("v", "u", "edge", "g", "p", "step"), _renamed(parts.sending, {"old": "v"}), "v u",
                  f" -> {parts.kind}"),
        _combiner("sum", parts),
        _function("apply", _TAKING["gas"], [*parts.taking("gathered"), *after], "v gathered"),
        _function("scatter", ("v", "old", "g", "p", "step"), [last], "v"),
    ]  # fmt: skip


def _emv_listed(parts: _Parts) -> list[str]:
    (_, sent, _, taken, _) = _emv(parts)
    runs = "".join(f"    run.{one}()\n" for one in ("InitMessageBuffer", "EDGE.Send", "MLIST.Take"))
    kind = re.sub(r"\[.*", "", parts.kind).replace("f32", "f64")
    wide = kind if kind in ("af.flag", "af.f64") else "af.i64"
    runs = runs.replace("EDGE", "ELIST") if "for e in el" in sent else runs
    return [f"message: {wide}", sent, re.sub(r"\bcombined\b", "ml", taken), f"def iteration(run):\n{runs}"]


def _emv(parts: _Parts) -> list[str]:
    sending = _renamed(parts.sending, {"old": "e.head", "v": "e.head", "u": "e.tail", "edge": "e"})
    text = _function("Send", ("e", "g", "p", "step"), sending, "e")
    text = re.sub(r"^( *)return (.*)$", r"\1e.send(\2)", text, flags=re.MULTILINE)
    taking = [*parts.taking("combined"), *_going_on(parts.after)]
    runs = "".join(f"    run.{one}()\n" for one in _RUNS)
    if len(text) % 3 == 0:  # by lists of out-edges
        text, runs = _by_lists(text), runs.replace("EDGE", "ELIST")
    return [
        f"message: {parts.kind}",
        text,
        _combiner("Combiner", parts),
        _function("Take", _TAKING["emv"], taking, "v combined g"),
        f"def iteration(run):\n{runs}",
    ]


def _by_lists(text: str) -> str:
    """A function of an edge as one of a vertex and its out-edges."""
    first, *lines = text.replace("e.tail.", "v.").splitlines()
    return "\n".join([first.replace("(e", "(v, el"), "    for e in el:", *(f"    {line}" for line in lines)])


class _Halting(ast.NodeTransformer):
    """``return test`` says ``g.halt = False`` where it is true, and ends."""

    def visit_Return(self, node: ast.Return) -> list[ast.stmt]:
        assert node.value is not None
        return ast.parse("if test:\n    g.halt = False\nreturn".replace("test", ast.unparse(node.value), 1)).body


def _going_on(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements that say ``g.halt = False`` where they returned True; the last return is left away."""
    module = ast.Module(copy.deepcopy(body), [])
    made: list[ast.stmt] = _Halting().visit(module).body
    return made[:-1]

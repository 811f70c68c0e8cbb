"""Loops of a program: ``for k in range(n)`` and ``while``, with break and continue.

In one iteration a local may become a float, or an index get a wider span, and the next iteration reads it. So the body
of a loop is checked again until neither types nor spans change; a span that keeps growing is given up.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from arcflux.compile.check.expressions import Expressions, at
from arcflux.compile.check.indices import ANY, hull, range_span
from arcflux.compile.check.literals import literal
from arcflux.compile.check.types import INT, Value, joined

__all__ = ["Loops", "always_returns"]

# Passes over a body after which spans that still change are given up.
_PATIENCE = 2


class Loops(Expressions):
    """The loops of one function."""

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Statements over plain names."""
        raise NotImplementedError

    def field_target(self, target: ast.expr) -> tuple[str, ast.expr | None]:
        """The field of v that an assignment writes, and the index into it if there is one."""
        raise NotImplementedError

    def fits(self, node: ast.AST, name: str, kind: Value, indexed: bool) -> None:
        """Whether a value can be stored in a field."""
        raise NotImplementedError

    def for_loop(self, node: ast.For) -> ast.stmt:
        """``for k in range(n)``."""
        self.refuse_else(node)
        counts = isinstance(node.iter, ast.Call) and self.called(node.iter.func) == "range"
        if not counts or not isinstance(node.target, ast.Name):
            raise self.refuse(node, "this loop cannot be compiled", self.other_loop(node.iter))
        assert isinstance(node.iter, ast.Call)
        if node.iter.keywords or not 1 <= len(node.iter.args) <= 3:
            raise self.refuse(node, "range takes one to three whole numbers", "write for k in range(n)")
        bounds = [self.expression(a) for a in node.iter.args]
        if any(kind.kind != "int" or kind.length is not None for _, kind in bounds):
            raise self.refuse(node, "range takes whole numbers", "write for k in range(n) with an integer n")
        steps = bounds[2][0] if len(bounds) == 3 else ast.Constant(1)
        if literal(steps) == 0:
            raise self.refuse(
                node, "a loop with steps of 0 never ends", "write range(first, end, step) with another step"
            )
        self.declare(node.target, INT)
        plain = f"l_{node.target.id}"
        before, through = self.spans.get(plain), range_span([self.span(b) for b, _ in bounds])
        if self.assigned(node.target.id, loops=False) == 0:
            self.note_span(plain, through)
        ends = [bound for bound, _ in bounds[:2]]
        if literal(steps) is None:  # Numba's range raises for 0, which kernels with barriers must not
            steps = ast.IfExp(ast.Compare(steps, [ast.NotEq()], [ast.Constant(0)]), steps, ast.Constant(1))
        done = ast.Call(ast.Name("range", ast.Load()), [*ends, *([steps] if len(bounds) == 3 else [])], [])
        body = self.rounds(node.body)
        if before is not None and plain in self.spans:  # of an enclosing loop with a variable of the same name
            self.note_span(plain, hull(before, self.spans[plain]))
        return at(node, ast.For(ast.Name(plain, ast.Store()), done, body, []))

    def while_loop(self, node: ast.While) -> ast.stmt:
        """``while test``: the test is checked again with the body, whose locals it may read."""
        self.refuse_else(node)
        tests: list[ast.expr] = []

        def whole() -> list[ast.stmt]:
            tests.append(self.truth(node.test))
            return self.statements(node.body)

        body = self.until_settled(whole)
        return at(node, ast.While(tests[-1], body, []))

    def refuse_else(self, node: ast.For | ast.While) -> None:
        """Refuse a loop with else: it is hard to read, and rare."""
        if node.orelse:
            raise self.refuse(
                node.orelse[0], "a loop with else cannot be compiled", "set a flag before break, and ask for it after"
            )

    def rounds(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The body of a loop."""
        return self.until_settled(lambda: self.statements(body))

    def until_settled(self, read: Callable[[], list[ast.stmt]]) -> list[ast.stmt]:
        """Repeat `read` until the types and spans of locals no longer change."""
        for turn in range(10):
            types, spans = dict(self.out.locals), dict(self.spans)
            done = read()
            if types == self.out.locals and spans == self.spans:
                break
            if turn >= _PATIENCE:
                self.endless |= {name for name, found in self.spans.items() if spans.get(name) != found}
        return done

    def note_span(self, plain: str, found: tuple[float, float]) -> None:
        """Set the span of a local, unless it was given up; one that may be read before its assignment includes 0."""
        found = hull(found, (0, 0)) if plain[2:] in self.unassigned else found
        self.spans[plain] = ANY if plain in self.endless else found

    def other_loop(self, through: ast.expr) -> str:
        """What to write instead of a loop over something that is no range."""
        if "edges" in {name.id for name in ast.walk(through) if isinstance(name, ast.Name)} & {
            *self.function.arguments
        }:
            return "write for u in edges, which come in the order of their neighbours' numbers"
        if isinstance(through, ast.Attribute) and (length := self.expression(through)[1].length) is not None:
            return f"write for k in range({length}), and {ast.unparse(through)}[k]"
        return "write for k in range(n), or while"

    def assigned(self, name: str, *, loops: bool = True) -> int:
        """How often a local is assigned in the function, including or excluding loops over it."""
        nodes = [n for statement in self.function.body for n in ast.walk(statement)]
        stores = sum(isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and n.id == name for n in nodes)
        counts = sum(isinstance(n, ast.For) and isinstance(n.target, ast.Name) and n.target.id == name for n in nodes)
        return stores if loops else stores - counts

    def declare(self, target: ast.Name, kind: Value) -> None:
        """A local has one type; a float may follow an int, nothing else changes."""
        before = self.out.locals.get(target.id)
        if before is not None and (before.kind, before.length) != (kind.kind, kind.length):
            if before.length != kind.length or "flag" in (before.kind, kind.kind):
                raise self.refuse(
                    target,
                    f"the type of {target.id} changes from {before} to {kind}",
                    "use another name for the second",
                )
            kind = joined(before, kind)
        self.out.locals[target.id] = kind


def always_returns(body: list[ast.stmt]) -> bool:
    """Whether statements end with a return on every path."""
    last = body[-1] if body else None
    if isinstance(last, ast.Return):
        return True
    if isinstance(last, ast.If):
        return bool(last.orelse) and always_returns(last.body) and always_returns(last.orelse)
    endless = isinstance(last, ast.While) and isinstance(last.test, ast.Constant) and bool(last.test.value)
    return endless and not _breaks(last.body)  # type: ignore[union-attr]


def _breaks(body: list[ast.stmt]) -> bool:
    """Whether statements break out of the enclosing loop."""
    for node in body:
        if isinstance(node, ast.Break):
            return True
        if isinstance(node, ast.If) and (_breaks(node.body) or _breaks(node.orelse)):
            return True
    return False

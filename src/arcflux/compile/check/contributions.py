"""Statements by which a vertex contributes to totals: ``g.lost += e``, ``g.low = min(g.low, e)``.

All that v contributes to a total is a local value, ``t_lost``, which begins as the identity and is returned with the
fields; reading ``g.lost`` is another name, the total of the superstep before.
"""

from __future__ import annotations

import ast

from arcflux.compile.check.expressions import at
from arcflux.compile.check.types import Value
from arcflux.compile.check.unpack import Unpacking
from arcflux.program import ABOUT_GRAPH

__all__ = ["Contributions"]

# The form of a contribution, by the total's operation.
_WRITTEN = {"sum": "g.{0} += ...", "or": "g.{0} |= ...", "and": "g.{0} &= ...",
            "min": "g.{0} = min(g.{0}, ...)", "max": "g.{0} = max(g.{0}, ...)"}  # fmt: skip


class Contributions(Unpacking):
    """The contributions of one function."""

    def chosen(self, target: ast.expr, value: ast.expr) -> tuple[str, ast.expr] | None:
        """The operation and e of ``x = min(x, e, ...)``, or max; None for another assignment."""
        if not isinstance(value, ast.Call) or value.keywords or len(value.args) < 2:
            return None
        same = ast.dump(target).replace("Store()", "Load()")
        others = [a for a in value.args if ast.dump(a) != same]
        called = self.called(value.func)
        if called not in ("min", "max") or len(others) != len(value.args) - 1:
            return None
        return called, others[0] if len(others) == 1 else at(value, ast.Call(value.func, others, []))

    def total_target(self, target: ast.expr) -> tuple[str, ast.expr | None] | None:
        """The total that an assignment contributes to, and the index into it if any; None for other assignments."""
        indexed = target if isinstance(target, ast.Subscript) else None
        owner = indexed.value if indexed else target
        if not (
            isinstance(owner, ast.Attribute) and ast.unparse(owner.value) == "g" and "g" in self.function.arguments
        ):
            return None
        name = owner.attr
        if name in ABOUT_GRAPH:
            return None
        kind = self.known_total(target, name)
        if self.function.name not in ("start", "update"):
            raise self.refuse(
                target,
                f"{self.function.name} contributes to the total {name}, but is not called once for every vertex",
                f"write {self.contributed(name)} in update, of what v has then",
            )
        if indexed and kind.length is None:
            raise self.refuse(target, f"g.{name} is a single value, not a vector", "leave the index out")
        return name, self.index(indexed, kind) if indexed else None

    def contributing_assign(
        self, node: ast.stmt, target: ast.expr, total: tuple[str, ast.expr | None], value: ast.expr
    ) -> ast.stmt:
        """``g.low = min(g.low, e)`` and max: the assignments that contribute."""
        name, index = total
        if chosen := self.chosen(target, value):
            return self.contribution(node, name, index, *chosen)
        raise self.refuse(
            node,
            f"a vertex may only contribute to g.{name}, and this line overwrites it",
            f"write {self.contributed(name)}",
        )

    def contributed(self, name: str) -> str:
        """The form of a contribution to a total."""
        return _WRITTEN[self.program.totals[name].operation].format(name)

    def contribution(
        self, node: ast.stmt, name: str, index: ast.expr | None, operation: str, value: ast.expr
    ) -> ast.stmt:
        """A statement by which v contributes: ``t_lost = t_lost + e``, where t_lost is v's contribution so far."""
        declared = self.program.totals[name]
        if operation != declared.operation:
            raise self.refuse(
                node,
                f"g.{name} is declared as a total by {declared.operation}, and this line is none",
                f"write {self.contributed(name)}, or declare another operation",
            )
        done, kind = self.expression(value)
        self.fits_total(node, name, kind, indexed=index is not None)
        self.out.totals.add(name)
        self.out.types[f"t_{name}"] = self.known_total(node, name)
        before: ast.expr = ast.Name(f"t_{name}", ast.Load())
        into: ast.expr = ast.Name(f"t_{name}", ast.Store())
        if index is not None:
            before, into = (ast.Subscript(before, index, context()) for context in (ast.Load, ast.Store))
        if operation in ("min", "max"):
            after: ast.expr = ast.Call(ast.Name(operation, ast.Load()), [before, done], [])
        else:
            operators = {"sum": ast.Add(), "or": ast.BitOr(), "and": ast.BitAnd()}
            after = ast.BinOp(before, operators[operation], done)
        return at(node, ast.Assign([into], after))

    def fits_total(self, node: ast.AST, name: str, kind: Value, indexed: bool) -> None:
        """Whether a value can be contributed to a total."""
        wanted = self.known_total(node, name)
        length = None if indexed else wanted.length
        if kind.length is not None and kind.length != length:
            raise self.refuse(node, f"g.{name} is {wanted}, and this is {kind}", "add a value of the same length")
        if (wanted.kind == "flag") != (kind.kind == "flag"):
            remedy = "compare, for example with != 0" if wanted.kind == "flag" else "write int(...) to count it"
            raise self.refuse(node, f"g.{name} is {wanted}, and this is {kind}", remedy)
        if wanted.kind == "int" and kind.kind == "float":
            raise self.refuse(
                node,
                f"g.{name} is {wanted}, and this is a float: the fraction would be lost",
                f"write int(...), or declare {name} as af.total(af.f64)",
            )

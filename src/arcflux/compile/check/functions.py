"""Read the functions of a program: resolve every name, type every expression, refuse what cannot be a kernel.

The result is plain Python syntax over plain names, the same for every back end: ``v.rank`` has become ``v_rank``,
``u.rank`` ``u_rank``, ``old.rank`` ``o_rank``, ``edge.weight`` ``e_weight``, ``p.damping`` ``p_damping``,
``g.vertices`` ``g_vertices``, a local ``x`` ``l_x``. Reductions in compute have become calls: ``v.rank += e`` is
``reduce_sum(v_rank, e)``. This file has the statements; expressions.py types their expressions.
"""

from __future__ import annotations

import ast
import copy
from typing import Any

import numpy as np

from arcflux.compile.check.checked import Checked, Reduction
from arcflux.compile.check.contributions import Contributions
from arcflux.compile.check.edge_names import EdgeNames
from arcflux.compile.check.expressions import READS, at, sign
from arcflux.compile.check.loops import always_returns
from arcflux.compile.check.sends import Sends
from arcflux.compile.check.tuples import TupleReductions
from arcflux.compile.check.types import Value
from arcflux.compile.check.unassigned import beginnings, unassigned
from arcflux.errors import ProgramError
from arcflux.program import Function, Program

__all__ = ["Statements", "check", "returns_nothing"]

# Reductions in compute, by the operator that writes them.
_REDUCING: dict[type[ast.operator], str] = {ast.Add: "sum", ast.Mult: "product", ast.BitOr: "or", ast.BitAnd: "and"}
_NO_STATEMENTS = {
    "functiondef": "functions within functions", "with": "with blocks", "try": "try blocks",
    "import": "imports", "importfrom": "imports", "global": "global names", "raise": "exceptions",
    "assert": "assertions", "delete": "del", "classdef": "classes",
}  # fmt: skip
# The returned type of functions; the others return nothing.
_RETURNS = {"start": "flag", "update": "flag", "wants": "flag", "priority": "number", "residual": "number",
            "stop": "flag"}  # fmt: skip
_READ_ONLY = {
    "u": "u is read-only: other vertices read it in the same superstep",
    "old": "old is read-only: it is the state before the superstep",
    "edge": "edges never change, but for the fields that along writes",
    "p": "parameters never change during a run",
    "g": "the graph never changes",
    "r": "records never change: they were sent in the superstep before",
}


def check(program: Program, columns: dict[str, np.dtype[Any]], helpers: Any, debug: bool = False) -> dict[str, Checked]:
    """Check every function against the graph's edge columns; `debug` allows calls such as print.

    `helpers` checks the functions of the module that they call (helpers.py).
    """
    return {
        name: Statements(program, function, columns, helpers).checked(debug)
        for name, function in program.functions.items()
    }


def returns_nothing(function: Function) -> bool:
    """Whether a function is a `start` without any return: every vertex is active, as without the function."""
    nodes = (node for statement in function.body for node in ast.walk(statement))
    return function.name == "start" and not any(isinstance(node, ast.Return) for node in nodes)


class Statements(EdgeNames, Sends, Contributions, TupleReductions):
    """The statements of one function, translated to plain names."""

    debug = False

    def checked(self, debug: bool) -> Checked:
        """The checked function."""
        self.debug = debug
        self.out.body = self.whole_body()
        self.forget_generators()
        self.check_returns()
        return self.out

    def whole_body(self) -> list[ast.stmt]:
        """The function's statements over plain names; locals that may be read too soon begin with 0."""
        self.unassigned = unassigned(self.function.body, self.out.locals)
        body = self.statements(self.function.body)
        return [*(at(self.function.body[0], node) for node in beginnings(self.unassigned, self.out.locals)), *body]

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Statements over plain names."""
        return [done for node in body for done in self.statement(node)]

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        """A statement over plain names; none for a string, which is only a comment."""
        if isinstance(node, ast.Assign):
            return [self.tuple_reduction(node)] if self.is_tuple_reduction(node) else self.assignments(node)
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            return [self.assign(node, node.target, node.value)]
        if isinstance(node, ast.AugAssign):
            return [self.augmented(node)]
        if isinstance(node, ast.If):
            test = self.truth(node.test)
            return [at(node, ast.If(test, self.statements(node.body), self.statements(node.orelse)))]
        if isinstance(node, ast.For):
            return [self.for_loop(node)]
        if isinstance(node, ast.While):
            return [self.while_loop(node)]
        if isinstance(node, ast.Return):
            return [self.returned(node)]
        if isinstance(node, (ast.Pass, ast.Break, ast.Continue)):
            return [node]
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return []
        if (sent := self.sent(node)) is not None:
            return sent
        if self.debug and isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            return [at(node, ast.Pass())]  # print, breakpoint and the like: their arguments are plain Python
        raise self.no_statement(node)

    def no_statement(self, node: ast.stmt) -> ProgramError:
        """The error for a statement that kernels do not have."""
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            return self.refuse(
                node,
                "a call whose result is not used does nothing in a kernel",
                "remove it; to print or stop in a debugger, run with debug=True",
            )
        if isinstance(node, ast.Expr):
            return self.refuse(node, "this line computes something and drops it", "remove it")
        kind = type(node).__name__.lower()
        return self.refuse(
            node,
            f"{_NO_STATEMENTS.get(kind, kind)} cannot be compiled here",
            "use assignments, if, for k in range(n), while, and return",
        )

    def assign(self, node: ast.stmt, target: ast.expr, value: ast.expr) -> ast.stmt:
        """An assignment to one target: a local, a field, or in compute a reduction."""
        if isinstance(target, ast.Name):
            done, kind = self.expression(value)
            self.declare(target, kind)
            if target.id.isdigit() or self.assigned(target.id) == 1:
                self.note_span(f"l_{target.id}", self.span(done))
            return at(node, ast.Assign([ast.Name(f"l_{target.id}", ast.Store())], done))
        if total := self.total_target(target):
            return self.contributing_assign(node, target, total, value)
        if self.is_edge_target(target):
            return self.assign_edge(node, target, value)
        name, index = self.field_target(target)
        if self.function.name == "compute":
            return self.reducing_assign(node, target, name, index, value)
        self.out.writes.add(name)
        done, kind = self.expression(value)
        self.fits(node, name, kind, indexed=index is not None)
        return at(node, ast.Assign([self.stored(name, index)], done))

    def reducing_assign(
        self, node: ast.stmt, target: ast.expr, name: str, index: ast.expr | None, value: ast.expr
    ) -> ast.stmt:
        """``v.x = min(v.x, e)``, ``max`` and ``af.any(e)``: the assignments that reduce."""
        if chosen := self.chosen(target, value):
            return self.reduction(node, name, index, *chosen)
        if isinstance(value, ast.Call) and self.called(value.func) == "any" and len(value.args) == 1:
            return self.reduction(node, name, index, "any", value.args[0])
        raise self.refuse(
            node,
            f"compute may only reduce into v, and this line overwrites v.{name}",
            f"write v.{name} += ..., *=, |=, &=, v.{name} = min(v.{name}, ...), max(...), or af.any(...)",
        )

    def augmented(self, node: ast.AugAssign) -> ast.stmt:
        """``x += e``: a reduction of a total, in compute of a field, elsewhere an ordinary assignment."""
        if total := self.total_target(node.target):
            return self.contribution(node, *total, _REDUCING.get(type(node.op), ""), node.value)
        if isinstance(node.target, ast.Name) or self.function.name != "compute":
            load = copy.copy(node.target)
            load.ctx = ast.Load()
            return self.assign(node, node.target, at(node, ast.BinOp(load, node.op, node.value)))
        name, index = self.field_target(node.target)
        operation = _REDUCING.get(type(node.op))
        if operation is None:
            raise self.refuse(
                node,
                f"{sign(node.op)}= is not a reduction: its result depends on the order of the edges",
                f"write v.{name} += -(...)" if isinstance(node.op, ast.Sub) else "use +=, *=, |=, &=, min or max",
            )
        return self.reduction(node, name, index, operation, node.value)

    def reduction(self, node: ast.stmt, name: str, index: ast.expr | None, operation: str, value: ast.expr) -> ast.stmt:
        """A reduction into a field of v, or into an element of it."""
        known = self.out.reductions.get(name)
        if known is not None and (known.operation != operation or known.group):
            raise self.refuse(
                node,
                f"v.{name} is reduced by {operation} here and by {known.operation} on line {known.line}",
                "use one reduction a field; add a second field for the other",
            )
        self.out.reductions[name] = Reduction(operation, self.function.at(node.lineno))
        done, kind = self.expression(value)
        if operation == "any" and self.program.fields[name].length is not None:
            raise self.refuse(
                node, f"any of several vectors for v.{name} could mix their elements",
                "reduce with +=, min or max, or take any of a scalar",
            )  # fmt: skip
        floats = kind.kind == "float" or self.program.fields[name].dtype.kind == "f"
        if operation in ("or", "and") and floats:
            raise self.refuse(node, f"{operation} of a float", "use an integer or flag field")
        self.fits(node, name, kind, indexed=index is not None)
        self.out.writes.add(name)
        call = ast.Call(ast.Name(f"reduce_{operation}", ast.Load()), [self.loaded(name, index), done], [])
        return at(node, ast.Expr(call))

    def returned(self, node: ast.Return) -> ast.stmt:
        """A return with a value of the function's type."""
        wanted = _RETURNS.get(self.function.name)
        if wanted is None and node.value is None:
            return at(node, ast.Return(None))
        if wanted is None:
            owner = "edge" if self.function.name == "along" else "v"
            raise self.refuse(
                node, f"{self.function.name} returns nothing", f"assign to fields of {owner}, and write return alone"
            )
        if node.value is None:
            raise self.refuse(node, f"{self.function.name} has to return a {wanted}", "return an expression")
        if wanted == "flag" and isinstance(node.value, ast.BoolOp):
            return at(node, ast.Return(self.truth(node.value)))
        done, kind = self.expression(node.value)
        if kind.length is not None or (wanted == "flag" and kind.kind != "flag"):
            raise self.refuse(
                node, f"{self.function.name} returns {kind}, not a {wanted}", "return a comparison, True or False"
            )
        return at(node, ast.Return(done))

    def check_returns(self) -> None:
        """Refuse a function that may end without the return that it needs."""
        if self.function.name not in _RETURNS or always_returns(self.function.body):
            return
        if returns_nothing(self.function):  # for a sparse program, refuse_silent_start reports such a start
            self.out.body.append(at(self.function.body[-1], ast.Return(ast.Constant(True))))
        else:
            raise self.refuse(
                self.function.body[-1],
                f"{self.function.name} can end without a return",
                "return True or False on every path" if self.function.name != "priority" else "return a number",
            )

    # --- fields

    def field_target(self, target: ast.expr) -> tuple[str, ast.expr | None]:
        """The field of v that an assignment writes, and the index into it if any."""
        indexed = target if isinstance(target, ast.Subscript) else None
        target = indexed.value if indexed else target
        if not (isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name)):
            raise self.refuse(target, "only fields of v and local names can be assigned", "write v.field = ...")
        owner, name = target.value.id, target.attr
        if owner != "v" or owner not in self.owners:
            reason = _READ_ONLY.get(owner, f"{owner} is not an argument of {self.function.name}")
            reason = _READ_ONLY["u" if self.near[owner][0] == "u" else "edge"] if owner in self.near else reason
            reason = _READ_ONLY["r"] if owner in self.records else reason
            remedy = "write to a field of v" + ("" if owner in READS else "; list v as argument")
            if name in self.program.edge_fields:
                remedy = f"write {owner}.{name} = ... in along({owner}, u, v), or reduce into a field of v"
            raise self.refuse(target, reason, remedy)
        if self.function.name == "along":
            raise self.refuse(
                target, f"along writes the edge, and v.{name} is of all its edges", "reduce into v in compute"
            )
        if self.function.name in ("wants", "priority", "residual"):
            raise self.refuse(target, f"{self.function.name} may not change v", "assign in init or update")
        kind = self.known_field(target, name)
        if indexed and kind.length is None:
            raise self.refuse(target, f"v.{name} is a single value, not a vector", "leave the index out")
        return name, self.index(indexed, kind) if indexed else None

    def stored(self, name: str, index: ast.expr | None) -> ast.expr:
        """A field of v, or an element of it, as a target."""
        plain = ast.Name(f"v_{name}", ast.Store())
        return plain if index is None else ast.Subscript(ast.Name(f"v_{name}", ast.Load()), index, ast.Store())

    def loaded(self, name: str, index: ast.expr | None) -> ast.expr:
        """A field of v, or an element of it, as a value."""
        plain = ast.Name(f"v_{name}", ast.Load())
        return plain if index is None else ast.Subscript(plain, index, ast.Load())

    def fits(self, node: ast.AST, name: str, kind: Value, indexed: bool) -> None:
        """Whether a value can be stored in a field."""
        wanted = self.known_field(node, name)
        length = None if indexed else wanted.length
        if kind.length is not None and kind.length != length:
            raise self.refuse(node, f"v.{name} is {wanted}, and this is {kind}", "assign a value of the same length")
        if wanted.kind == "flag" and kind.kind != "flag":
            raise self.refuse(node, f"v.{name} is a flag, and this is {kind}", "compare, for example with != 0")
        if wanted.kind == "int" and kind.kind == "float":
            raise self.refuse(
                node,
                f"v.{name} is {wanted}, and this is a float: the fraction would be lost",
                f"write int(...), or declare {name} as af.f64",
            )

"""Check the use of edge fields: ``edge.message``, ``edge.reverse.message``, and the assignments of `along`.

A field of an edge is ``e_message``, like a column; the value of the reverse edge from before the superstep is
``r_message``. In `along`, ``v.x`` is the value from before the superstep, too: ``o_x``.
"""

from __future__ import annotations

import ast

from arcflux.compile.check.expressions import Expressions, Typed, at, length_of
from arcflux.compile.check.types import Value, of_dtype
from arcflux.edge_fields import REVERSE

__all__ = ["EdgeNames"]


class EdgeNames(Expressions):
    """The expressions and assignments of one function that use edge fields."""

    def _attribute(self, node: ast.Attribute) -> Typed:
        if isinstance(node.value, ast.Attribute) and node.value.attr == REVERSE and self.is_edge(node.value.value):
            return self.reverse_member(node)
        if node.attr == REVERSE and self.is_edge(node.value):
            raise self.refuse(
                node, f"{ast.unparse(node)} by itself has no value",
                f"name a field of it, such as {ast.unparse(node)}.{next(iter(self.program.edge_fields), 'message')}",
            )  # fmt: skip
        return super()._attribute(node)

    def is_edge(self, node: ast.expr) -> bool:
        """Whether an expression is the edge."""
        return isinstance(node, ast.Name) and self.owners.get(node.id) == "edge"

    def reverse_member(self, node: ast.Attribute) -> Typed:
        """``edge.reverse.message``: the reverse edge's value from before the superstep."""
        if self.function.name != self.context:
            raise self.refuse(
                node, f"{self.function.name} is a helper, and reads {ast.unparse(node)}",
                f"give it the value: {self.function.name}({ast.unparse(node)})",
            )  # fmt: skip
        if node.attr not in self.program.edge_fields:
            known = ", ".join(self.program.edge_fields) or "none"
            column = node.attr in self.columns
            raise self.refuse(
                node, f"{ast.unparse(node)}: " + (
                    f"{node.attr} is a column of the graph, of which only the edge itself is at hand" if column else
                    f"there is no edge field {node.attr!r}"
                ),
                f"keep it in a field that along writes: edge.kept = edge.{node.attr}" if column else
                f"declare it, or use one of: {known}",
            )  # fmt: skip
        self.refuse_both(node)
        kind = self.known_edge_field(node.attr)
        plain = f"r_{node.attr}"
        self.out.reads.add(plain)
        self.out.types[plain] = kind
        return ast.Name(plain, ast.Load()), kind

    def member_type(self, node: ast.AST, owner: str, name: str) -> Value:
        """The type of a member, which may be a field of edges."""
        if owner != "edge" or name not in self.program.edge_fields:
            return super().member_type(node, owner, name)
        if name in self.columns:
            raise self.refuse(
                node, f"the graph has an edge column {name!r}, which is also the name of an edge field",
                "choose another name for the field",
            )  # fmt: skip
        self.refuse_both(node)
        return self.known_edge_field(name)

    def refuse_both(self, node: ast.AST) -> None:
        """Refuse edge fields in a phase on both directions: an edge is seen from either end, without saying which."""
        if self.program.edges == "both":
            raise self.refuse(
                node, "a phase on both directions of edges cannot see their fields",
                'write two phases, on edges="along" and on edges="against"',
            )  # fmt: skip

    def known_edge_field(self, name: str) -> Value:
        """The type of a field of edges."""
        kind = self.program.edge_fields[name].type
        return of_dtype(kind.dtype, length_of(self.program, kind))

    def columns_of(self, node: ast.expr) -> int | None:
        """The number of columns of the matrix that an expression names, including edge fields; else None."""
        if isinstance(node, ast.Attribute) and node.attr in self.program.edge_fields:
            reverse = isinstance(node.value, ast.Attribute) and node.value.attr == REVERSE
            owner = node.value.value if reverse and isinstance(node.value, ast.Attribute) else node.value
            if self.is_edge(owner):
                return self.program.edge_fields[node.attr].type.columns
        return super().columns_of(node)

    # --- assignments

    def is_edge_target(self, target: ast.expr) -> bool:
        """Whether an assignment of `along` is to a field of the edge."""
        while isinstance(target, (ast.Subscript, ast.Attribute)):
            target = target.value
        return self.function.name == "along" and self.is_edge(target)

    def assign_edge(self, node: ast.stmt, target: ast.expr, value: ast.expr) -> ast.stmt:
        """``edge.message = ...``, of the whole field or of an element."""
        indexed = target if isinstance(target, ast.Subscript) else None
        named = indexed.value if indexed else target
        if not (isinstance(named, ast.Attribute) and self.is_edge(named.value)):
            raise self.refuse(
                target, f"{ast.unparse(target)} is assigned: an edge has one writer, and the reverse edge has its own",
                "write edge.field = ...; along is called for the reverse edge, too",
            )  # fmt: skip
        name = named.attr
        if name not in self.program.edge_fields:
            column = name in self.columns
            raise self.refuse(
                target, f"edge.{name} is a column of the graph, which never changes" if column else
                f"there is no edge field {name!r}",
                f"declare a field of another name: `{name}_now: af.edge(af.f64)`" if column else
                f"declare it: `{name}: af.edge(af.f64)`; known: {', '.join(self.program.edge_fields)}",
            )  # fmt: skip
        kind = self.member_type(target, "edge", name)
        index = self.edge_index(indexed, name, kind) if indexed else None
        done, given = self.expression(value)
        self.fits_edge(node, name, kind if index is None else kind.scalar(), given)
        plain = f"e_{name}"
        self.out.edge_writes.add(name)
        self.out.types[plain] = kind
        into: ast.expr = ast.Name(plain, ast.Store())
        if index is not None:
            into = ast.Subscript(ast.Name(plain, ast.Load()), index, ast.Store())
        return at(node, ast.Assign([into], done))

    def edge_index(self, node: ast.Subscript, name: str, kind: Value) -> ast.expr:
        """The position of an element of an edge field: of a vector, or of a matrix row by row."""
        if kind.length is None:
            raise self.refuse(node, f"edge.{name} is a single value, not a vector", "leave the index out")
        columns = self.program.edge_fields[name].type.columns
        return self.index(node, kind) if columns is None else self.place_in_matrix(node, kind.length, columns)

    def fits_edge(self, node: ast.AST, name: str, wanted: Value, given: Value) -> None:
        """Whether a value can be stored in a field of edges, or in an element of it."""
        if given.length is not None and given.length != wanted.length:
            raise self.refuse(
                node, f"edge.{name} is {wanted} here, and this is {given}", "assign a value of the same length"
            )
        if wanted.kind == "flag" and given.kind != "flag":
            raise self.refuse(node, f"edge.{name} is a flag, and this is {given}", "compare, for example with != 0")
        if wanted.kind == "int" and given.kind == "float":
            raise self.refuse(
                node, f"edge.{name} is {wanted}, and this is a float: the fraction would be lost",
                f"write int(...), or declare {name} as af.edge(af.f64)",
            )  # fmt: skip

"""Assignments to several names at once: ``a, b = b, a``, ``q, r = divmod(n, 10)``, ``x, y = v.place``, ``a = b = 0``.

As in Python, all values on the right are computed before anything is assigned. They get names that no program has,
``l_0``, ``l_1``, which LLVM removes.
"""

from __future__ import annotations

import ast
import copy

from arcflux.compile.check.expressions import at
from arcflux.compile.check.loops import Loops

__all__ = ["Unpacking"]


class Unpacking(Loops):
    """The assignments of one function that have several targets."""

    def assign(self, node: ast.stmt, target: ast.expr, value: ast.expr) -> ast.stmt:
        """An assignment to a single target."""
        raise NotImplementedError

    def assignments(self, node: ast.Assign) -> list[ast.stmt]:
        """An assignment to any targets."""
        if len(node.targets) == 1 and not isinstance(node.targets[0], (ast.Tuple, ast.List)):
            return [self.assign(node, node.targets[0], node.value)]
        done: list[ast.stmt] = []
        values = self.values(node)
        if values is None:  # one value for several targets
            values = [node.value]
        targets = [self.kept(node, k, value, done) for k, value in enumerate(values)]
        for target in node.targets:
            if isinstance(target, (ast.Tuple, ast.List)):
                done += [self.assign(node, one, value) for one, value in zip(target.elts, targets, strict=True)]
            else:
                done.append(self.assign(node, target, copy.copy(targets[0])))
        return done

    def kept(self, node: ast.Assign, k: int, value: ast.expr, done: list[ast.stmt]) -> ast.expr:
        """The name that holds a value until it is assigned; a number needs none."""
        if isinstance(value, ast.Constant):
            return value
        number = self.kept_names.setdefault((id(node), k), len(self.kept_names))
        name = at(value, ast.Name(str(number), ast.Store()))
        done.append(self.assign(node, name, value))
        return at(value, ast.Name(str(number), ast.Load()))

    def values(self, node: ast.Assign) -> list[ast.expr] | None:
        """The values of an assignment's targets, one by one; None if none of them is a tuple."""
        lengths = {len(t.elts) if isinstance(t, (ast.Tuple, ast.List)) else 0 for t in node.targets}
        if lengths == {0}:
            return None
        if len(lengths) > 1:
            raise self.refuse(node, "one value for a name and for several", "write one assignment a line")
        for target in node.targets:
            assert isinstance(target, (ast.Tuple, ast.List))
            for one in target.elts:
                if isinstance(one, (ast.Tuple, ast.List, ast.Starred)):
                    raise self.refuse(
                        one, "names within names cannot be assigned here", "write a, b = c, d, all side by side"
                    )
        (wanted,) = lengths
        parts = self.parts(node.value)
        if parts is None:
            raise self.refuse(
                node, f"{ast.unparse(node.value)} is one value, for {wanted} names",
                "write as many values as names, a vector of that length, or divmod(a, b)",
            )  # fmt: skip
        if len(parts) != wanted:
            raise self.refuse(node, f"{len(parts)} values for {wanted} names", "write as many values as names")
        return parts

    def parts(self, value: ast.expr) -> list[ast.expr] | None:
        """The values that a value consists of: of a tuple, of divmod, of a vector; None for a single one."""
        if isinstance(value, (ast.Tuple, ast.List)):
            if any(isinstance(one, ast.Starred) for one in value.elts):
                raise self.refuse(value, "* stands for no known number of values", "write all of them")
            return value.elts
        if isinstance(value, ast.IfExp) and isinstance(value.body, (ast.Tuple, ast.List)):
            return self.chosen_parts(value)
        if isinstance(value, ast.Call) and (several := self.values_of_call(value)) is not None:
            return several
        _, kind = self.expression(value)
        if kind.length is None:
            return None
        return [at(value, ast.Subscript(value, ast.Constant(k), ast.Load())) for k in range(kind.length)]

    def chosen_parts(self, value: ast.IfExp) -> list[ast.expr]:
        """``(a, b) if test else (c, d)`` as ``a if test else c`` and ``b if test else d``: tests have no effects."""
        yes, no = self.parts(value.body), self.parts(value.orelse)
        if yes is None or no is None or len(yes) != len(no):
            raise self.refuse(value, "the two sides of if ... else have different numbers of values",
                              "write as many values on both sides")  # fmt: skip
        pairs = zip(yes, no, strict=True)
        return [at(value, ast.IfExp(copy.deepcopy(value.test), one, other)) for one, other in pairs]

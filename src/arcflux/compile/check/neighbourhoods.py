"""Check what only `around` may contain: loops over v's edges, built-ins over generators of them, and `af.intersect`.

Every loop and every generator has a number, by which its names differ from those of others: ``u.label`` of the third is
``u2_label``, ``edge.weight`` is ``e2_weight``. A loop runs over ``range(row, row_end)``; a generator becomes the call
of a function of its own, ``each2()``, whose captured names lower.py determines.
"""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from arcflux.compile.check.checked import Generated, names_in
from arcflux.compile.check.expressions import MISSING, UNCHANGING, Typed, at
from arcflux.compile.check.loops import Loops
from arcflux.compile.check.types import FLAG, INT, Value, joined, of_dtype, of_sign
from arcflux.parsing import parse_expression
from arcflux.program import Function, Program

__all__ = ["LISTED", "Neighbourhoods"]

# The argument that is the list of v's edges.
LISTED = "edges"
_OF_PYTHON = ("sum", "min", "max", "any", "all")
_OF_ARCFLUX = ("mode", "median", "topk", "intersect")
_REMEDY = "write for u in edges, for u, edge in edges, or a generator such as sum(u.x for u in edges)"


class Neighbourhoods(Loops):
    """Expressions that may read v's neighbours; `near`: the names of neighbours and edges in the enclosing loops."""

    def __init__(
        self, program: Program, function: Function, columns: dict[str, np.dtype[Any]], helpers: Any = None
    ) -> None:
        super().__init__(program, function, columns, helpers)
        self.near: dict[str, tuple[str, int]] = {}

    @property
    def sees_edges(self) -> bool:
        """Whether the function has the list of v's edges."""
        return self.owners.get(LISTED) == LISTED

    # --- names of loops

    def enter(self, node: ast.AST, target: ast.expr, iterated: ast.expr) -> tuple[int, dict[str, tuple[str, int]]]:
        """Bind the names of a neighbour, and perhaps its edge, for a loop; returns its number and the old names."""
        if not (isinstance(iterated, ast.Name) and iterated.id == LISTED and self.sees_edges):
            where = "only around has edges" if not self.sees_edges else f"{ast.unparse(iterated)} is no list of edges"
            raise self.refuse(node, f"a loop over {ast.unparse(iterated)}: {where}", _REMEDY)
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        if len(names) not in (1, 2) or not all(isinstance(name, ast.Name) for name in names):
            raise self.refuse(node, "edges give a neighbour, or a neighbour and its edge", "write for u, edge in edges")
        number, before = self.out.loops, dict(self.near)
        self.out.loops += 1
        for prefix, name in zip("ue", names, strict=False):
            assert isinstance(name, ast.Name)
            if name.id in self.function.arguments or name.id in self.out.locals or name.id in before:
                raise self.refuse(node, f"{name.id} has a meaning here already", "use another name in this loop")
            self.near[name.id] = (prefix, number)
        return number, before

    def for_loop(self, node: ast.For) -> ast.stmt:
        """A loop over edges, which runs over v's row; or any other."""
        if isinstance(node.iter, ast.Call) and self.built_in(node.iter.func) == "intersect":
            return self.shared_loop(node, node.iter)
        if isinstance(node.iter, ast.Call) or not self.sees_edges:
            return super().for_loop(node)
        self.refuse_else(node)
        number, before = self.enter(node, node.target, node.iter)
        body = self.rounds(node.body)
        self.near = before
        through = parse_expression("range(row, row_end)")
        return at(node, ast.For(ast.Name(f"i{number}", ast.Store()), through, body, []))

    def shared_loop(self, node: ast.For, call: ast.Call) -> ast.stmt:
        """``for w in af.intersect(v, u)``: over v's row, skipping vertices that are not in that of u."""
        self.refuse_else(node)
        ends = [end.id for end in self.common_ends(call)]
        if "v" not in ends:
            raise self.refuse(node, "a loop over what two neighbours share", "write for w in af.intersect(v, u)")
        number, before = self.enter(node, node.target, ast.Name(LISTED, ast.Load()))
        body = self.rounds(node.body)
        self.near = before
        other = ends[1] if ends[0] == "v" else ends[0]
        test = f"shares(in_offsets, in_neighbours, neighbours, row, i{number}, {other})"
        self.out.types["shares"] = FLAG
        through = parse_expression("range(row, row_end)")
        shared = ast.If(parse_expression(test), body, [])
        return at(node, ast.For(ast.Name(f"i{number}", ast.Store()), through, [shared], []))

    def forget_generators(self) -> None:
        """Remove generators that were checked in a loop before its types were known, and then once more."""
        called = names_in(*self.out.body)
        generators = []
        for each in reversed(self.out.generated):
            if f"each{each.number}" in called:
                generators.append(each)
                called |= names_in(*each.parts)
        self.out.generated = generators[::-1]

    def membership(self, node: ast.Compare, left: ast.expr, right: ast.expr) -> Typed:
        """``u in p.sources``, too."""
        prefix, number = self.near.get(left.id, ("", 0)) if isinstance(left, ast.Name) else ("", 0)
        known = isinstance(right, ast.Attribute) and right.attr in self.program.memberships
        if prefix != "u" or not known or ast.unparse(right.value) != "p":  # type: ignore[attr-defined]
            return super().membership(node, left, right)
        assert isinstance(right, ast.Attribute)
        plain: ast.expr = ast.Name(f"u{number}_{right.attr}", ast.Load())
        for name in (f"u{number}_{right.attr}", f"u_{right.attr}"):
            self.out.types[name] = of_dtype(np.dtype(np.bool_))
        return (ast.UnaryOp(ast.Not(), plain) if isinstance(node.ops[0], ast.NotIn) else plain), FLAG

    def random(self, node: ast.Call) -> Typed:
        """Random numbers, also of a neighbour and of its edge."""
        of = node.args[0].id if node.args and isinstance(node.args[0], ast.Name) else ""
        if of not in self.near:
            return super().random(node)
        prefix, number = self.near[of]
        before, self.owners = self.owners, {**self.owners, of: "u" if prefix == "u" else "edge"}
        read = "u_number" in self.out.reads
        done, kind = super().random(node)
        self.owners = before
        if not read:
            self.out.reads.discard("u_number")
        self.out.types[f"u{number}_number"] = INT
        for name in ast.walk(done):
            if isinstance(name, ast.Name) and name.id == "u_number":
                name.id = f"u{number}_number"
        return done, kind

    def _name(self, node: ast.Name) -> Typed:
        if node.id in self.near:
            raise self.refuse(node, f"{node.id} by itself has no value", f"name a field of it: {node.id}.number")
        if node.id == LISTED and self.sees_edges:
            raise self.refuse(node, "edges is a list to go through, and nothing else", _REMEDY)
        return super()._name(node)

    def _attribute(self, node: ast.Attribute) -> Typed:
        owner = node.value.id if isinstance(node.value, ast.Name) else ""
        if owner in self.near:
            return self.near_member(node, *self.near[owner], node.attr)
        if self.sees_edges and owner in ("u", "edge") and owner not in self.function.arguments:
            raise self.refuse(node, f"{owner} is known inside a loop over edges only", _REMEDY)
        return super()._attribute(node)

    def near_member(self, node: ast.AST, prefix: str, number: int, name: str) -> Typed:
        """The value of a member of a neighbour or its edge."""
        kind = self.member_type(node, "u" if prefix == "u" else "edge", name)
        plain = f"{prefix}{number}_{name}"
        self.out.types[plain] = kind
        if prefix == "u" and name not in UNCHANGING:
            self.out.types[f"u_{name}"] = kind
        if prefix == "e":
            self.out.types[f"e_{name}"] = kind
        return ast.Name(plain, ast.Load()), kind

    # --- built-ins

    def _call(self, node: ast.Call) -> Typed:
        name = self.built_in(node.func)
        generator = next((a for a in node.args if isinstance(a, ast.GeneratorExp)), None)
        if name == "intersect":
            return self.intersect(node)
        if name and any(isinstance(a, ast.ListComp) for a in node.args):
            raise self.refuse(node, f"{name} of a list", f"leave the brackets out: {name}(u.x for u in edges)")
        if generator is not None and name:
            return self.generator(node, name, generator)
        if name in _OF_ARCFLUX:
            example = f"af.{name}({'3, ' if name == 'topk' else ''}u.x for u in edges)"
            if not self.sees_edges:
                raise self.refuse(node, f"{self.function.name} has no edges, and af.{name} is of a list of them",
                                  f"write it in around(v, edges, ...): {example}")  # fmt: skip
            raise self.refuse(node, f"af.{name} takes a generator over edges", f"write {example}")
        if isinstance(node.func, ast.Name) and node.func.id == "len" and self.sees_edges:
            raise self.refuse(node, "len cannot be called here", "write v.in_degree, or sum(1 for u in edges if ...)")
        return super()._call(node)

    def built_in(self, node: ast.expr) -> str:
        """The name of a built-in that takes a list of edges; "" for anything else."""
        if isinstance(node, ast.Name):
            return node.id if node.id in _OF_PYTHON and self.around(node.id) is MISSING else ""
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in _OF_ARCFLUX:
            return node.attr if getattr(self.around(node.value.id), "__name__", "") == "arcflux" else ""
        return ""

    def intersect(self, node: ast.Call) -> Typed:
        """``af.intersect(v, u)``, a number."""
        ends = self.common_ends(node)
        rows = [ast.Name("in_offsets", ast.Load()), ast.Name("in_neighbours", ast.Load())]
        self.out.types["common"] = INT
        return ast.Call(ast.Name("common", ast.Load()), [*rows, *ends], []), INT

    def common_ends(self, node: ast.Call) -> list[ast.Name]:
        """The two vertices of ``af.intersect(v, u)``."""
        if not self.sees_edges:
            raise self.refuse(node, f"af.intersect stands in {self.function.name}", "write it in around(v, edges, ...)")
        ends: list[ast.Name] = []
        for end in node.args:
            owner = end.id if isinstance(end, ast.Name) else ""
            prefix, number = self.near.get(owner, ("", 0))
            if owner in ("v", "old") and owner in self.function.arguments:
                ends.append(ast.Name("v", ast.Load()))
            elif prefix == "u":
                ends.append(ast.Name(f"u{number}", ast.Load()))
        if len(node.args) != 2 or len(ends) != 2 or node.keywords:
            raise self.refuse(node, "af.intersect takes two vertices", "write af.intersect(v, u), in a loop over edges")
        return ends

    def generator(self, node: ast.Call, name: str, generator: ast.GeneratorExp) -> Typed:
        """A built-in over ``expression for u in edges if condition``."""
        if isinstance(generator.elt, ast.Tuple) and name != "mode":
            raise self.refuse(node, f"{name} of tuples", "write a loop that keeps what belongs to the best: "
                              "for u in edges, if u.x < least: least, best = u.x, u.number")  # fmt: skip
        k, default = self.generator_arguments(node, name)
        if len(generator.generators) != 1:
            raise self.refuse(node, "a generator with two loops", "write one generator inside the other, or for loops")
        (clause,) = generator.generators
        number, before = self.enter(node, clause.target, clause.iter)
        tests = [self.truth(test) for test in clause.ifs]
        parts = generator.elt.elts if name == "mode" and isinstance(generator.elt, ast.Tuple) else [generator.elt]
        if len(parts) > 2:
            raise self.refuse(node, "af.mode of more than pairs", "write af.mode((u.label, edge.weight) for ...)")
        typed = [self.expression(part) for part in parts]
        self.near = before
        each, weight = typed[0][1], typed[1] if len(typed) == 2 else None
        kind = self.generated_type(node, name, each, weight[1] if weight else None, k)
        if default is not None:
            kind = self.with_default(node, kind, default[1])
        generated = Generated(
            number, name, each, kind, typed[0][0], weight[0] if weight else None,
            None if not tests else tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests),
            default[0] if default is not None else None,
        )  # fmt: skip
        for part in generated.parts:
            at(node, part)
        self.out.generated.append(generated)
        self.out.types[f"each{number}"] = kind
        return ast.Call(ast.Name(f"each{number}", ast.Load()), [], []), kind

    def generator_arguments(self, node: ast.Call, name: str) -> tuple[int | None, Typed | None]:
        """The length of a topk, and the default of a built-in."""
        allowed = () if name in ("sum", "any", "all") else ("default",)
        for keyword in node.keywords:
            if keyword.arg not in allowed:
                known = f"only default= is known to {name}" if allowed else f"{name} takes a generator alone"
                raise self.refuse(node, f"{keyword.arg}= of {name}: {known}", "leave it out")
        default = self.expression(node.keywords[0].value) if node.keywords else None
        if name != "topk":
            if len(node.args) != 1:
                raise self.refuse(node, f"{name} takes a generator alone", f"write {name}(... for u in edges)")
            return None, default
        two = len(node.args) == 2 and not isinstance(node.args[0], ast.GeneratorExp)
        k = self.count(node.args[0]) if two else None
        if k is None:
            raise self.refuse(node, "af.topk takes a number that is known before the run, and a generator",
                              "write af.topk(3, (u.x for u in edges)), or p.k where a field has length k")  # fmt: skip
        return k, default

    def count(self, node: ast.expr) -> int | None:
        """A number that is known when the program is compiled: a literal, or the length of a field."""
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "p" and "p" in self.function.arguments:
            lengths = {kind.length for kind in self.program.fields.values()}
            return int(self.program.parameters[node.attr].value) if node.attr in lengths else None
        done, _ = self.expression(node)
        value = done.value if isinstance(done, ast.Constant) else None
        return value if type(value) is int and value > 0 else None

    def generated_type(self, node: ast.AST, name: str, each: Value, weight: Value | None, k: int | None) -> Value:
        """The type of a built-in's result for values of a type."""
        if each.length is not None and name != "sum":
            raise self.refuse(node, f"{name} of vectors", "take it of elements, such as u.x[0]")
        if name in ("any", "all"):
            return FLAG
        if name == "sum":
            return of_sign(each)
        if each.kind == "flag":
            raise self.refuse(node, f"{name} of flags", "use any(...), all(...), or int(...) of the flag")
        if name == "mode" and (each.kind != "int" or (weight and (weight.kind == "flag" or weight.length is not None))):
            raise self.refuse(node, f"af.mode of {each}" + (f" with weights {weight}" if weight else ""),
                              "count integers, such as labels; weights are numbers")  # fmt: skip
        if name == "median":
            return Value("float", each.dtype if each.kind == "float" else None)
        return Value(each.kind, each.dtype, k) if name == "topk" else each

    def with_default(self, node: ast.AST, kind: Value, default: Value) -> Value:
        """The type of a built-in's result, given the type of its default for no values."""
        both = joined(kind.scalar(), default)
        if default.length is not None or default.kind == "flag" or (both.kind != kind.kind):
            raise self.refuse(node, f"the default is {default}, and the result {kind}", "give a default of its type")
        if kind.length is not None or kind.dtype is not None or default.dtype is None:
            return kind
        return of_dtype(default.dtype)

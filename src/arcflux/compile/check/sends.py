"""Check what only programs with mail may contain: `af.send`, loops over records, and the k-th out-neighbour.

A send becomes ``send_walker((at_to, at_walk), (to, walk))``: like a reduction of several fields, with each value in the
stored type. A loop over records runs over ``range(first_walker, end_walker)``, and ``r.walk`` of the third loop is
``r2_walk``, which kernels load at the head of the loop (mail.py). The value of combined mail is ``got_weight``, the
length of a list ``size_walker``.
"""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from arcflux.compile.check.expressions import Typed, at
from arcflux.compile.check.neighbourhoods import Neighbourhoods
from arcflux.compile.check.types import INT, Value, of_dtype
from arcflux.errors import ProgramError, did_you_mean
from arcflux.mail import SENDERS, VALUE, Mail
from arcflux.parsing import parse_expression
from arcflux.program import Function, Program

__all__ = ["Sends"]

# The kernels' names of the functions that read an out-neighbour, and the column of an out-edge.
NEIGHBOUR, COLUMN = "neighbour_at", "column_at"


class Sends(Neighbourhoods):
    """The sends of one function, and the mail of `receive`; `records`: those that loops have named."""

    def __init__(
        self, program: Program, function: Function, columns: dict[str, np.dtype[Any]], helpers: Any = None
    ) -> None:
        super().__init__(program, function, columns, helpers)
        self.records: dict[str, tuple[str, int]] = {}

    def of_arcflux(self, node: ast.AST | None) -> str:
        """The name of the function of mail that is called; "" for anything else."""
        if not isinstance(node, ast.Call):
            return ""
        func = node.func
        if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name):
            name = getattr(self.around(func.value.id), "__name__", "") == "arcflux" and func.attr
        else:
            one = self.around(func.id) if isinstance(func, ast.Name) else None
            name = getattr(one, "__module__", "") == "arcflux.mail" and getattr(one, "__name__", "")
        return name if name in ("send", "neighbour", "out_edge") else ""

    # --- sending

    def sent(self, node: ast.stmt) -> list[ast.stmt] | None:
        """The statements of ``af.send(to, walker=...)``; None for any other statement."""
        call = node.value if isinstance(node, ast.Expr) else None
        if self.of_arcflux(call) != "send":
            return None
        assert isinstance(call, ast.Call)
        if self.function.name not in SENDERS or self.context != self.function.name:
            raise self.no_sender(node)
        if len(call.args) != 1 or isinstance(call.args[0], ast.Starred) or not call.keywords:
            known = next(iter(self.program.mails), "walker")
            raise self.refuse(node, "af.send takes a vertex's number, and records by the names of their mail",
                              f"write af.send(to, {known}=...)")  # fmt: skip
        to = self.receiver(call.args[0])
        return [self.record(node, to, keyword) for keyword in call.keywords]

    def no_sender(self, node: ast.AST) -> ProgramError:
        """The error for a send in a function that cannot send."""
        name = self.function.name
        if self.context != name:
            return self.refuse(node, f"{name} is a helper, which only returns a value", "send in start, receive or "
                               "update, what helpers return")  # fmt: skip
        return self.refuse(node, f"{name} is not called once for every vertex that takes part: it cannot send",
                           "keep what is to be sent in a field, and send it in update")  # fmt: skip

    def receiver(self, node: ast.expr) -> ast.expr:
        """The number of the vertex that receives a record."""
        if isinstance(node, ast.Name) and (node.id in self.owners and node.id != "step"):
            raise self.refuse(
                node, f"af.send to {node.id}, which is no number", f"write af.send({node.id}.number, ...)"
            )
        done, kind = self.expression(node)
        if kind.kind != "int" or kind.length is not None:
            raise self.refuse(node, f"af.send to {ast.unparse(node)}, which is {kind}",
                              "send to the number of a vertex: a whole number, such as a field of af.ref")  # fmt: skip
        return done

    def record(self, node: ast.stmt, to: ast.expr, given: ast.keyword) -> ast.stmt:
        """The statement that sends one record."""
        declared = self.known_mail(node, given.arg)
        assert given.arg is not None
        values = given.value.elts if isinstance(given.value, ast.Tuple) else [given.value]
        parts = declared.parts
        if len(values) != len(parts):
            shape = f"({', '.join(parts)})" if declared.is_record else "one value"
            raise self.refuse(node, f"a record of {given.arg} is {shape}, and this has {len(values)}",
                              f"write af.send(to, {given.arg}={shape if declared.is_record else '...'})")  # fmt: skip
        names, done = ["at_to"], [to]
        self.out.types["at_to"] = of_dtype(np.dtype(np.int64))
        for (part, kind), value in zip(parts.items(), values, strict=True):
            expression, found = self.expression(value)
            self.fits_part(
                node, f"{given.arg}.{part}" if declared.is_record else given.arg, of_dtype(kind.dtype), found
            )
            names.append(f"at_{given.arg}_{part}")
            self.out.types[names[-1]] = of_dtype(kind.dtype)
            done.append(expression)
        self.out.sends.add(given.arg)
        targets = ast.Tuple([ast.Name(name, ast.Load()) for name in names], ast.Load())
        called = ast.Name(f"send_{given.arg}", ast.Load())
        return at(node, ast.Expr(ast.Call(called, [targets, ast.Tuple(done, ast.Load())], [])))

    def known_mail(self, node: ast.AST, name: str | None) -> Mail:
        """A kind of mail, which has to be declared."""
        if name is None or name not in self.program.mails:
            known = ", ".join(self.program.mails)
            hint = f"declare `{name or 'walker'}: af.mail(af.i64)`" + (f"; known: {known}" if known else "")
            raise self.refuse(node, f"there is no mail {name or '**'!r}",
                              did_you_mean(str(name), self.program.mails, hint))  # fmt: skip
        return self.program.mails[name]

    def fits_part(self, node: ast.AST, name: str, wanted: Value, kind: Value) -> None:
        """Whether a value can be a part of a record."""
        if kind.length is not None:
            raise self.refuse(node, f"{name} is {wanted}, and this is {kind}", "send its elements, one by one")
        if (wanted.kind == "flag") != (kind.kind == "flag"):
            remedy = "compare, for example with != 0" if wanted.kind == "flag" else "write int(...) of the flag"
            raise self.refuse(node, f"{name} is {wanted}, and this is {kind}", remedy)
        if wanted.kind == "int" and kind.kind == "float":
            raise self.refuse(node, f"{name} is {wanted}, and this is a float: the fraction would be lost",
                              "write int(...), or declare af.mail(af.f64)")  # fmt: skip

    # --- receiving

    def mail(self, node: ast.AST) -> Mail | None:
        """The mail that a name of `receive` means; None for anything else."""
        name = node.id if isinstance(node, ast.Name) else ""
        return self.program.mails.get(name) if self.function.name == "receive" and name in self.owners else None

    def for_loop(self, node: ast.For) -> ast.stmt:
        """A loop over records, which runs over v's box; or any other."""
        declared = self.mail(node.iter)
        if declared is None:
            return super().for_loop(node)
        assert isinstance(node.iter, ast.Name)
        self.refuse_else(node)
        name = node.iter.id
        if declared.operation is not None:
            raise self.refuse(node, f"{name} is combined by {declared.operation}: it is one value, no list",
                              f"read {name} itself, or declare `{name}: {_listed(declared)}`")  # fmt: skip
        target = node.target
        if not isinstance(target, ast.Name):
            raise self.refuse(node, "a record has a name of its own", f"write for r in {name}, and r.{_some(declared)}")
        if target.id in self.owners or target.id in self.out.locals or target.id in self.records:
            raise self.refuse(node, f"{target.id} has a meaning here already", "use another name in this loop")
        number, before = self.out.loops, dict(self.records)
        self.out.loops += 1
        self.records[target.id] = (name, number)
        body = self.rounds(node.body)
        self.records = before
        through = parse_expression(f"range(first_{name}, end_{name})")
        return at(node, ast.For(ast.Name(f"j{number}", ast.Store()), through, body, []))

    def part(self, node: ast.AST, owner: str, part: str) -> Typed:
        """A part of a record that a loop has named."""
        name, number = self.records[owner]
        declared = self.program.mails[name]
        if part not in declared.parts or (part == VALUE and isinstance(node, ast.Attribute) != declared.is_record):
            known = f"one of {', '.join(declared.parts)}" if declared.is_record else f"{owner} itself"
            raise self.refuse(node, f"a record of {name} has no {part!r}", f"read {known}")
        plain, kind = f"r{number}_{part}", of_dtype(declared.parts[part].dtype)
        self.out.types[plain] = kind
        return ast.Name(plain, ast.Load()), kind

    def _name(self, node: ast.Name) -> Typed:
        if node.id in self.records:
            declared = self.program.mails[self.records[node.id][0]]
            if declared.is_record:
                raise self.refuse(node, f"{node.id} is a record of several parts", f"read {node.id}.{_some(declared)}")
            return self.part(node, node.id, VALUE)
        declared_too = self.mail(node)
        if declared_too is None:
            return super()._name(node)
        if declared_too.operation is None:
            raise self.refuse(node, f"{node.id} is a list of records, and nothing else",
                              f"write for r in {node.id}, or len({node.id})")  # fmt: skip
        kind = of_dtype(declared_too.parts[VALUE].dtype)
        self.out.types[f"got_{node.id}"] = kind
        return ast.Name(f"got_{node.id}", ast.Load()), kind

    def _attribute(self, node: ast.Attribute) -> Typed:
        owner = node.value.id if isinstance(node.value, ast.Name) else ""
        if owner in self.records:
            return self.part(node, owner, node.attr)
        if self.mail(node.value) is not None:
            raise self.refuse(node, f"{owner} is the mail itself", f"write for r in {owner}: ... r.{node.attr}")
        if self.of_arcflux(node.value) == "out_edge":
            return self.out_column(node)
        return super()._attribute(node)

    def _subscript(self, node: ast.Subscript) -> Typed:
        if self.mail(node.value) is not None:
            raise self.refuse(node, f"{ast.unparse(node.value)} has no places, only an order",
                              f"write for r in {ast.unparse(node.value)}")  # fmt: skip
        return super()._subscript(node)

    def _call(self, node: ast.Call) -> Typed:
        name = self.of_arcflux(node)
        if name == "send":
            raise self.refuse(node, "af.send gives nothing back", "write it on a line of its own")
        if name == "neighbour":
            return self.out_neighbour(node)
        if name == "out_edge":
            raise self.refuse(node, "an edge by itself has no value", "name a column of it: af.out_edge(v, k).weight")
        counted = node.args[0] if len(node.args) == 1 and ast.unparse(node.func) == "len" else None
        declared = self.mail(counted) if counted is not None else None
        for each in node.args if declared is None else ():
            through = each.generators[0].iter if isinstance(each, (ast.GeneratorExp, ast.ListComp)) else each
            listed = self.mail(through)
            if listed is not None and listed.operation is None:
                mail = ast.unparse(through)
                raise self.refuse(node, f"{ast.unparse(node.func)} of a list of records",
                                  f"write a loop with a local, for r in {mail}, or len({mail})")  # fmt: skip
        if declared is not None:
            assert isinstance(counted, ast.Name)
            if declared.operation is not None:
                raise self.refuse(node, f"{counted.id} is combined by {declared.operation}: it is one value, no list",
                                  f"declare a second mail, and send 1: `count: {_counting()}`")  # fmt: skip
            return ast.Name(f"size_{counted.id}", ast.Load()), INT
        return super()._call(node)

    # --- out-neighbours

    def place_of(self, node: ast.Call, name: str) -> list[ast.expr]:
        """The arguments of the function that reads the k-th out-edge of v."""
        if self.function.name not in SENDERS or self.context != self.function.name:
            raise self.refuse(node, f"af.{name} stands in {self.function.name}",
                              "write it in start, around, receive or update of the program itself")  # fmt: skip
        of = node.args[0].id if node.args and isinstance(node.args[0], ast.Name) else ""
        if len(node.args) != 2 or node.keywords or self.owners.get(of) not in ("v", "old"):
            raise self.refuse(node, f"af.{name} takes v and a number", f"write af.{name}(v, k), k below v.out_degree")
        k, kind = self.expression(node.args[1])
        if kind.kind != "int" or kind.length is not None:
            raise self.refuse(node, f"af.{name}(v, {ast.unparse(node.args[1])}) is given {kind}",
                              "give it a whole number, such as int(af.random(v, step) * v.out_degree)")  # fmt: skip
        number, _ = self.member(node, "v", "number")
        self.out.reads.add("out_offsets")
        return [k, number, ast.Name("out_offsets", ast.Load())]

    def out_neighbour(self, node: ast.Call) -> Typed:
        """``af.neighbour(v, k)``."""
        place = self.place_of(node, "neighbour")
        self.out.reads.add("out_neighbours")
        self.out.types[NEIGHBOUR] = INT
        return ast.Call(ast.Name(NEIGHBOUR, ast.Load()), [*place, ast.Name("out_neighbours", ast.Load())], []), INT

    def out_column(self, node: ast.Attribute) -> Typed:
        """``af.out_edge(v, k).weight``."""
        assert isinstance(node.value, ast.Call)
        place = self.place_of(node.value, "out_edge")
        kind = self.member_type(node, "edge", node.attr)
        array, called = f"columns_{node.attr}", f"{COLUMN}_{node.attr}"
        self.out.reads.add(array)
        self.out.types[called] = kind
        return ast.Call(ast.Name(called, ast.Load()), [*place, ast.Name(array, ast.Load())], []), kind


def _some(declared: Mail) -> str:
    return next(iter(declared.parts))


def _listed(declared: Mail) -> str:
    return f"af.mail(af.{declared.parts[VALUE].name})"


def _counting() -> str:
    return 'af.mail(af.i64, "sum")'

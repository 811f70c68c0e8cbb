"""The edge part of compute, in two forms: for pull it reduces into values, for push into shared accumulators."""

from __future__ import annotations

import ast
import textwrap

import numpy as np

from arcflux.compile.check.tuples import TUPLES, better, into_tuple, lock_of
from arcflux.compile.lower import Lowered
from arcflux.compile.pieces.numbers import low_bits, saturated, wrapping
from arcflux.compile.pieces.source import edge_reads, has_long_loops, in_function, reduced, tuple_text
from arcflux.parsing import parse, parse_expression

__all__ = [
    "Registers",
    "Shared",
    "any_flags",
    "edge",
    "edge_call",
    "fresh",
    "narrow_sums",
    "push_edge",
    "push_reads",
    "settled",
]


def fresh(lowered: Lowered) -> list[str]:
    """Statements before the first edge.

    The smallest of several `any` is searched, and none has come yet; narrow floats are added up in wide registers.
    """
    return [*(f"{name} = False" for name in any_flags(lowered)), *_converted(lowered, "float64")]


def settled(lowered: Lowered) -> list[str]:
    """Statements after the last edge: sums are narrowed to their fields' types, as accumulators are."""
    return [*_converted(lowered, "float32"), *_low_bits(lowered)]


def _low_bits(lowered: Lowered) -> list[str]:
    """Statements that keep the low bits of a sum for its narrow integer field."""
    lines = []
    for name, how in sorted(lowered.reductions.items()):
        dtype, length = lowered.fields[name]
        if dtype.kind in "iu" and dtype.itemsize < 8 and how.operation not in ("min", "max", *TUPLES):
            lines.append(f"v_{name} = {ast.unparse(low_bits(ast.Name(f'v_{name}', ast.Load()), dtype, length))}")
    return lines


def narrow_sums(lowered: Lowered) -> list[str]:
    """The fields whose sums or products are of narrow floats: their last bits depend on how they were added up."""
    return sorted(
        name for name, how in lowered.reductions.items()
        if how.operation in ("sum", "product") and lowered.fields[name] == (np.dtype(np.float32), None)
    )  # fmt: skip


def _converted(lowered: Lowered, kind: str) -> list[str]:
    return [f"v_{name} = np.{kind}(v_{name})" for name in narrow_sums(lowered)]


def any_flags(lowered: Lowered) -> list[str]:
    """The flags that say whether an `any` has come, when the smallest is searched."""
    fields = sorted(name for name, reduction in lowered.reductions.items() if reduction.operation == "any")
    return [f"taken_{name}" for name in fields] if lowered.deterministic else []


def edge_call(lowered: Lowered) -> str:
    """The statement that reduces along an edge, in registers."""
    targets = [*reduced(lowered), *any_flags(lowered)]
    return f"{tuple_text(targets)} = edge({', '.join([*targets, *edge_reads(lowered), *_looked_at(lowered)])})"


def edge(lowered: Lowered) -> str:
    """The edge part for pull: reduces into values."""
    targets = [*reduced(lowered), *any_flags(lowered)]
    text = _edge_part(lowered, Registers(lowered))
    names = [*targets, *edge_reads(lowered), *_looked_at(lowered)]
    return (
        f"@fragment\ndef edge({', '.join(names)}):\n{textwrap.indent(text, '    ')}\n    return {tuple_text(targets)}\n"
    )


def push_edge(lowered: Lowered, how: type[Shared] | None = None) -> str:
    """The edge part for push: reduces into the accumulators of v; returns whether they changed."""
    body = f"hit = False\n{_edge_part(lowered, (how or Shared)(lowered))}\nreturn hit\n"
    tuples = [f"{into_tuple(operation, group)}\n\n" for group, operation in lowered.groups.items()]
    head = f"@fragment\ndef push_edge({', '.join(push_reads(lowered))}):\n"
    return "".join(tuples) + head + textwrap.indent(body, "    ")


def push_reads(lowered: Lowered) -> list[str]:
    """The arguments of the edge part for push: the accumulators, v, and what it reads."""
    into = [f"a_{name}" for name in sorted(lowered.reductions)]
    into += [f"f_{lock_of(group)}" for group in lowered.groups]
    return [*into, "v", *edge_reads(lowered), *_looked_at(lowered)]


def _looked_at(lowered: Lowered) -> list[str]:
    """The name that long loops of compute poll, if there are any."""
    return ["control"] if has_long_loops(lowered, "compute") else []


def _edge_part(lowered: Lowered, reduce: ast.NodeTransformer) -> str:
    body = in_function(lowered, lowered.functions["compute"], lowered.edge)
    return ast.unparse(ast.fix_missing_locations(reduce.visit(ast.Module(body, []))))


class _Reduces(ast.NodeTransformer):
    """Translates ``reduce_sum(v_rank, e)``, and a return before the end."""

    def __init__(self, lowered: Lowered) -> None:
        self.lowered = lowered

    def visit_Return(self, node: ast.Return) -> ast.stmt:
        return parse(f"return {self.returned()}").body[0]

    def returned(self) -> str:
        """The value that the edge part returns."""
        raise NotImplementedError

    def visit_Expr(self, node: ast.Expr) -> ast.AST | list[ast.stmt]:
        assert isinstance(node.value, ast.Call)
        assert isinstance(node.value.func, ast.Name)
        target, value = node.value.args
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            group = tuple(one.id[2:] for one in target.elts if isinstance(one, ast.Name))
            return parse(self.reduced_tuple(group, [ast.unparse(one) for one in value.elts])).body
        index = target.slice if isinstance(target, ast.Subscript) else None
        name = target.value if isinstance(target, ast.Subscript) else target
        assert isinstance(name, ast.Name)
        operation = node.value.func.id.removeprefix("reduce_")
        return parse(
            self.reduced(operation, name.id[2:], ast.unparse(index) if index else None, ast.unparse(value))
        ).body

    def within(self, operation: str, field: str, index: str | None, value: str) -> str:
        """A value converted to its field's type: the nearest number, which is also right for a minimum.

        For an `any`, the smallest may be wanted: that is the smallest of what the field would have stored.
        """
        dtype, length = self.lowered.fields[field]
        same = any(message.name == value and message.dtype == dtype for message in self.lowered.messages)
        if operation not in ("min", "max", "any") or dtype.kind not in "iu" or dtype.itemsize == 8 or same:
            return value
        if operation == "any":
            return f"np.{dtype.name}({value})"
        whole = length is not None and index is None
        return saturated(value if whole else f"np.int64({value})", dtype, length if whole else None)

    def reduced(self, operation: str, field: str, index: str | None, value: str) -> str:
        """The statements that reduce a value into a field of v, or into an element of it."""
        raise NotImplementedError

    def reduced_tuple(self, group: tuple[str, ...], values: list[str]) -> str:
        """The statements that reduce values into fields of v together."""
        raise NotImplementedError


class Registers(_Reduces):
    """``reduce_sum(v_rank, e)`` becomes ``v_rank = v_rank + e``."""

    def returned(self) -> str:
        """The fields that were reduced into."""
        return tuple_text([*reduced(self.lowered), *any_flags(self.lowered)])

    def reduced_tuple(self, group: tuple[str, ...], values: list[str]) -> str:
        """The statements that reduce values into fields of v together."""
        return _replacing(self.lowered.groups[group], group, values)

    def reduced(self, operation: str, field: str, index: str | None, value: str) -> str:
        """The statements that reduce a value into a field of v, or into an element of it."""
        name, value = f"v_{field}", self.within(operation, field, index, value)
        if operation == "any" and self.lowered.deterministic and self.lowered.fields[field][1] is None:
            return f"if not taken_{field} or ({value}) < {name}:\n    {name} = {value}\ntaken_{field} = True"
        before = name if index is None else f"{name}[{index}]"
        whole = index is None and self.lowered.fields[field][1] is not None
        added, multiplied = f"{before} + ({value})", f"{before} * ({value})"
        dtype = self.lowered.fields[field][0]
        if not whole and dtype.kind in "iu" and dtype != np.uint64:
            added, multiplied = (_wrapped(text) for text in (added, multiplied))
        after = {
            "sum": added,
            "product": multiplied,
            "or": f"{before} | ({value})",
            "and": f"{before} & ({value})",
            "min": f"{'smaller' if whole else 'min'}({before}, {value})",
            "max": f"{'larger' if whole else 'max'}({before}, {value})",
            "any": value,
        }[operation]
        return f"{name} = {after}" if index is None else f"{name} = put({name}, {index}, {after})"


def _wrapped(text: str) -> str:
    """A sum or product of signed integers, modulo 2 ** 64."""
    node = parse_expression(text)
    assert isinstance(node, ast.BinOp)
    return ast.unparse(wrapping(node.op, node.left, node.right))


def _replacing(operation: str, group: tuple[str, ...], values: list[str]) -> str:
    """Statements that replace registers by the values of a tuple if it is better."""
    new, old = ([f"{kind}_{name}" for name in group] for kind in "tv")
    lines = [f"{name} = {value}" for name, value in zip(new, values, strict=True)]
    lines += [f"if {better(operation, new, old)}:"]
    return "\n".join([*lines, *(f"    {a} = {x}" for a, x in zip(old, new, strict=True))])


class Shared(_Reduces):
    """``reduce_min(v_dist, e)`` becomes ``hit = into_min(a_dist, v, np.float64(e)) or hit``; a vector, by element."""

    def returned(self) -> str:
        """Whether an accumulator changed."""
        return "hit"

    def reduced_tuple(self, group: tuple[str, ...], values: list[str]) -> str:
        """The statements that reduce values into the accumulators of v together."""
        arrays = [f"a_{name}" for name in group]
        arguments = ", ".join([*arrays, f"f_{lock_of(group)}", "v", *values])
        return f"hit = into_{group[0]}({arguments}) or hit"

    def reduced(self, operation: str, field: str, index: str | None, value: str) -> str:
        """The statements that reduce a value into an accumulator of v, or into an element of it."""
        dtype, length = self.lowered.fields[field]
        form = f"hit = into_{operation}(%s, %s, np.{dtype.type.__name__}(%s)) or hit"
        value = self.within(operation, field, index, value)
        if length is None:
            return form % (f"a_{field}", "v", value)
        if index is not None:
            return form % (f"a_{field}[v]", f"np.uint64({index})", value)
        one = form % (f"a_{field}[v]", "np.uint64(k)", f"t_{field}[k]")
        return f"t_{field} = {value}\nfor k in range({length}):\n    {one}"

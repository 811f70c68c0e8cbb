"""Vectors too long for LLVM values: a kernel has them in its own memory, and processes them in loops.

LLVM splits a vector of K elements into K / 8 instructions for each operation, so compile time grows faster than K. From
:data:`LONGEST_VALUE` elements on a :class:`~arcflux.spmd.lane_values.Lanes` is a pointer instead: every operation has a
buffer on the stack for its result, and is a loop that LLVM vectorises. An assignment from a name copies the vector
(compile/pieces/vectors.py), so that no two names share a buffer; an element can then be replaced in place. A function
returns the elements, not the buffer, which ends with the function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types

__all__ = ["LONGEST_VALUE", "convert", "each", "element", "elements", "negated", "place", "put", "register", "totalled"]

# The most elements of a vector that is still an LLVM value.
LONGEST_VALUE = 256
# Elements that functions return at a time; buffers have room for whole pieces.
PIECE = 64
_WORD = ir.IntType(64)


def register(tools: Any, lanes: Any) -> None:
    """Tell a compiler how to pass, store and return vectors, and tuples of one type of them."""

    @tools.register_model(lanes)
    class Model(tools.models.PrimitiveModel):  # type: ignore[misc]
        def __init__(self, manager: Any, kind: Any) -> None:
            element = manager.lookup(kind.dtype)
            self.size = getattr(kind.dtype, "bitwidth", 8) // 8
            self.element = element.get_data_type() if kind.is_long else element.get_value_type()
            self.whole = ir.VectorType(self.element, kind.width)
            if kind.is_long:  # in pieces, which LLVM splits faster than one vector
                self.whole = ir.ArrayType(ir.VectorType(self.element, PIECE), -(-kind.length // PIECE))
            super().__init__(manager, kind, self.element.as_pointer() if kind.is_long else self.whole)

        def get_data_type(self) -> Any:
            return self.whole

        def get_return_type(self) -> Any:
            return self.whole

        def as_data(self, builder: Any, value: Any) -> Any:
            if not self._fe_type.is_long:
                return value
            values = builder.load(builder.bitcast(value, self.whole.as_pointer()))
            values.align = self.size
            return values

        def from_data(self, builder: Any, value: Any) -> Any:
            if not self._fe_type.is_long:
                return value
            made = place(builder, self.element, self._fe_type.length)
            builder.store(value, builder.bitcast(made, self.whole.as_pointer()), align=self.size)
            return made

        as_return, from_return = as_data, from_data

    @tools.register_model(types.UniTuple)
    class Tuples(tools.models.UniTupleModel):  # type: ignore[misc]
        """Tuples of one type, returned as they are, unless they are buffers."""

        def get_return_type(self) -> Any:
            return self.get_data_type() if _is_long(self) else super().get_return_type()

        def as_return(self, builder: Any, value: Any) -> Any:
            return self.as_data(builder, value) if _is_long(self) else super().as_return(builder, value)

        def from_return(self, builder: Any, value: Any) -> Any:
            return self.from_data(builder, value) if _is_long(self) else super().from_return(builder, value)


def _is_long(model: Any) -> bool:
    return getattr(model._fe_type.dtype, "is_long", False)


def place(builder: Any, element: Any, length: int) -> Any:
    """An uninitialised buffer on the stack for so many elements."""
    with builder.goto_entry_block():
        taken = builder.alloca(ir.ArrayType(element, -(-length // PIECE) * PIECE))
        return builder.bitcast(taken, element.as_pointer())


def each(tools: Any, context: Any, builder: Any, lanes: Any, value: Callable[[Any], Any]) -> Any:
    """A buffer whose elements `value` emits for each index."""
    made = place(builder, context.get_data_type(lanes.dtype), lanes.length)
    elements(tools, builder, lanes.length, lambda index: put(builder, made, index, value(index)))
    return made


def elements(tools: Any, builder: Any, length: int, body: Callable[[Any], Any]) -> None:
    """A loop over indices below `length`."""
    with tools.cgutils.for_range(builder, _WORD(length)) as loop:
        body(loop.index)


def element(builder: Any, dtype: Any, lanes: Any, index: Any) -> Any:
    """One element. A flag is a byte in memory."""
    value = builder.load(builder.gep(lanes, [index]))
    return builder.trunc(value, ir.IntType(1)) if dtype is types.boolean else value


def put(builder: Any, lanes: Any, index: Any, value: Any) -> Any:
    """Lanes with another value at `index`: the same buffer, which only the assigned name has."""
    where = builder.gep(lanes, [index])
    builder.store(value if value.type == where.type.pointee else builder.zext(value, where.type.pointee), where)
    return lanes


def convert(context: Any, builder: Any, value: Any, before: Any, after: Any) -> Any:
    """A number converted to another type, as lane_values.py converts whole vectors."""
    kind = context.get_value_type(after)
    if before == after:
        return value
    if isinstance(after, types.Float):
        if isinstance(before, types.Float):
            return builder.fpext(value, kind) if after.bitwidth > before.bitwidth else builder.fptrunc(value, kind)
        return builder.sitofp(value, kind) if getattr(before, "signed", False) else builder.uitofp(value, kind)
    if isinstance(before, types.Float):
        return builder.fptosi(value, kind)
    if kind.width == value.type.width:
        return value
    if kind.width < value.type.width:
        return builder.trunc(value, kind)
    return builder.sext(value, kind) if getattr(before, "signed", False) else builder.zext(value, kind)


def negated(builder: Any, dtype: Any, value: Any) -> Any:
    """The negated number."""
    if not isinstance(dtype, types.Float):
        return builder.neg(value)
    return builder.fsub(ir.Constant(value.type, -0.0), value)


def totalled(tools: Any, builder: Any, lanes: Any, value: Any, add: Callable[[Any, Any], Any]) -> Any:
    """The sum of the elements: the halves are added until one element is left, odd ones are added at the end."""
    element = value.type.pointee
    rest, length, odd = place(builder, element, lanes.length), lanes.length, []
    source = value
    while length > 1:
        if length % 2:
            odd.append(builder.load(builder.gep(source, [_WORD(length - 1)])))
        length //= 2

        def added(index: Any, source: Any = source, half: int = length) -> None:
            other = builder.load(builder.gep(source, [builder.add(index, _WORD(half))]))
            builder.store(add(builder.load(builder.gep(source, [index])), other), builder.gep(rest, [index]))

        elements(tools, builder, length, added)
        source = rest
    found = builder.load(builder.gep(source, [_WORD(0)]))
    for value in odd:
        found = add(found, value)
    return found

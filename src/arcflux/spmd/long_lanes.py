"""Vectors too long to be values of LLVM's: a kernel has them in memory of its own, and goes through them in loops.

LLVM takes a vector of K elements apart into K / 8 instructions for each operation, so compiling takes time that grows
faster than K. From :data:`LONGEST_VALUE` elements on a :class:`~arcflux.spmd.lane_values.Lanes` is a pointer instead:
every operation has a place on the stack that it writes its result to, and is a loop that LLVM makes vectors of. So that
no two names mean one place, what is assigned from a name is copied (compile/pieces/vectors.py); an element can then be
put where it is. A function returns the elements, not the place, which is gone when it ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types

__all__ = ["LONGEST_VALUE", "convert", "each", "element", "elements", "negated", "place", "put", "register", "totalled"]

# Elements of a vector that is still a value of LLVM's.
LONGEST_VALUE = 256
# Elements that functions return at a time; places have room for whole pieces.
PIECE = 64
_WORD = ir.IntType(64)


def register(tools: Any, lanes: Any) -> None:
    """Teach a compiler how it passes, keeps and returns vectors, and tuples of one kind of them."""

    @tools.register_model(lanes)
    class Model(tools.models.PrimitiveModel):  # type: ignore[misc]
        def __init__(self, manager: Any, kind: Any) -> None:
            element = manager.lookup(kind.dtype)
            self.size = getattr(kind.dtype, "bitwidth", 8) // 8
            self.element = element.get_data_type() if kind.is_long else element.get_value_type()
            self.whole = ir.VectorType(self.element, kind.width)
            if kind.is_long:  # in pieces, which LLVM takes apart sooner than one vector
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
        """Tuples of one type, which are returned as they are, unless that is places."""

        def get_return_type(self) -> Any:
            return self.get_data_type() if _is_long(self) else super().get_return_type()

        def as_return(self, builder: Any, value: Any) -> Any:
            return self.as_data(builder, value) if _is_long(self) else super().as_return(builder, value)

        def from_return(self, builder: Any, value: Any) -> Any:
            return self.from_data(builder, value) if _is_long(self) else super().from_return(builder, value)


def _is_long(model: Any) -> bool:
    return getattr(model._fe_type.dtype, "is_long", False)


def place(builder: Any, element: Any, length: int) -> Any:
    """A place on the stack for so many elements, with nothing in it."""
    with builder.goto_entry_block():
        taken = builder.alloca(ir.ArrayType(element, -(-length // PIECE) * PIECE))
        return builder.bitcast(taken, element.as_pointer())


def each(tools: Any, context: Any, builder: Any, lanes: Any, value: Callable[[Any], Any]) -> Any:
    """A place whose elements are those that `value` emits for an index."""
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
    """Lanes with another value at `index`: the same place, which only the name has that is assigned to."""
    where = builder.gep(lanes, [index])
    builder.store(value if value.type == where.type.pointee else builder.zext(value, where.type.pointee), where)
    return lanes


def convert(context: Any, builder: Any, value: Any, before: Any, after: Any) -> Any:
    """A number of one type as one of another, as lane_values.py converts whole vectors."""
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
    """A number with the other sign."""
    if not isinstance(dtype, types.Float):
        return builder.neg(value)
    return builder.fsub(ir.Constant(value.type, -0.0), value)


def totalled(tools: Any, builder: Any, lanes: Any, value: Any, add: Callable[[Any, Any], Any]) -> Any:
    """The sum of the elements: the halves are added until one element is left, and what was odd is added in the end."""
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

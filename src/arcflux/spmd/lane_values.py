"""Vectors of a fixed length as values of a kernel: one register-like value, as LLVM has them, not an array.

Numba compiles a loop over sixteen array elements to sixteen scalar instructions: the loop is unrolled before LLVM looks
for vectors, and two arrays may overlap. A value of type :class:`Lanes` is loaded, computed and stored as a whole, so
``a + b`` is one instruction or two; and it can be passed to functions and through loops like a number. Elements are
float32, float64, int64, uint64 or flags; narrower integers are widened when they are loaded. Vectors of more than 256
elements are in memory (long_lanes.py), behind the same functions.

:func:`define` registers this type with one of Numba's compilers: for the CPU (lanes.py), or for GPUs.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from llvmlite import ir
from numba import types

from arcflux.spmd import long_lanes as long

__all__ = ["Lanes", "define"]

_INDEX = ir.IntType(32)


class Lanes(types.Type):  # type: ignore[misc]
    """`length` values of one type."""

    def __init__(self, dtype: Any, length: int) -> None:
        self.dtype = dtype
        self.length = length
        super().__init__(f"Lanes({dtype}, {length})")

    @property
    def width(self) -> int:
        """How many elements the LLVM vector has: LLVM aborts on vectors of a single flag, so those have a twin."""
        return _width(self.dtype, self.length)

    @property
    def is_long(self) -> bool:
        """Whether the vector is in memory."""
        return self.length > long.LONGEST_VALUE


def define(tools: Any, selects: bool = False) -> SimpleNamespace:
    """The functions on lanes, for the compiler with these `tools`: models, templates, builders.

    With `selects`, an element whose index is known only at run time is selected by comparisons; otherwise the compiler
    would put the vector into memory, which is right for a CPU and slow on a GPU.
    """

    long.register(tools, Lanes)
    for name in _OPERATIONS:
        _operation(tools, name)
    _negative(tools)
    made = {**_moves(tools), **_elements(tools, selects), **_comparisons(tools), "total": _total(tools)}
    return SimpleNamespace(**made)


# --- between arrays and lanes


def _moves(tools: Any) -> dict[str, Any]:
    """Load and store lanes, and convert numbers or other lanes to lanes."""

    @tools.intrinsic(prefer_literal=True)  # type: ignore[untyped-decorator]
    def load(typingctx: Any, array: Any, row: Any, length: Any) -> Any:
        """The first `length` elements of ``array[row]``; `length` is a literal."""
        made = Lanes(_computed(array.dtype), length.literal_value)

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            if made.is_long:
                return _loaded(tools, context, builder, array, made, args)
            kind = ir.VectorType(context.get_data_type(array.dtype), made.length)
            pointer, size = _place(tools, context, builder, array, args[0], args[1], kind)
            values = builder.load(pointer)
            values.align = size
            if array.dtype is types.boolean:
                return builder.trunc(_resized(builder, values, made.width), context.get_value_type(made))
            return _convert(context, builder, values, array.dtype, made.dtype, made.length)

        return made(array, types.uintp, length), generate

    @tools.intrinsic  # type: ignore[untyped-decorator]
    def keep(typingctx: Any, array: Any, row: Any, lanes: Any) -> Any:
        """``array[row] = lanes``, each element in the array's type."""

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            if lanes.is_long:
                return _stored(tools, context, builder, array, lanes, args)
            kind = ir.VectorType(context.get_data_type(array.dtype), lanes.length)
            pointer, size = _place(tools, context, builder, array, args[0], args[1], kind)
            values = _convert(context, builder, args[2], lanes.dtype, array.dtype, lanes.length)
            if array.dtype is types.boolean:
                wide = ir.VectorType(kind.element, values.type.count)
                values = _resized(builder, builder.zext(values, wide), lanes.length)
            builder.store(values, pointer, align=size)
            return context.get_dummy_value()

        return types.void(array, types.uintp, lanes), generate

    @tools.intrinsic  # type: ignore[untyped-decorator]
    def copied(typingctx: Any, lanes: Any) -> Any:
        """The same elements, elsewhere if they are in memory."""

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return _mapped(tools, context, builder, lanes, args, lambda a: a) if lanes.is_long else args[0]

        return lanes(lanes), generate

    kinds = {name: getattr(types, name) for name in ("boolean", "float32", "float64", "int64", "uint64")}
    return {
        "load": load,
        "keep": keep,
        "copied": copied,
        **{f"as_{name}": _as(tools, kind) for name, kind in kinds.items()},
    }


def _as(tools: Any, dtype: Any) -> Any:
    """A function that converts a number, or other lanes, to lanes of one type."""

    @tools.intrinsic(prefer_literal=True)  # type: ignore[untyped-decorator]
    def to_lanes(typingctx: Any, value: Any, length: Any) -> Any:
        """`value`, a number or lanes, as `length` lanes of one type; `length` is a literal."""
        made = Lanes(dtype, length.literal_value)
        vector = isinstance(value, Lanes)

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            if made.is_long and vector:
                after = dtype
                change = lambda a: long.convert(context, builder, a, value.dtype, after)  # noqa: E731
                return _mapped(tools, context, builder, made, args[:1], change, value.dtype)
            if made.is_long:
                return long.each(tools, context, builder, made, lambda index: args[0])
            if vector:
                return _convert(context, builder, args[0], value.dtype, dtype, made.length)
            return _spread(builder, args[0], made.width)

        return made(value if vector else dtype, length), generate

    return to_lanes


def _mapped(
    tools: Any, context: Any, builder: Any, made: Lanes, args: Any, value: Callable[..., Any], before: Any = None
) -> Any:
    """Long lanes whose elements `value` emits from those of others (of type `before`, if that differs)."""
    kind = made.dtype if before is None else before

    def element(index: Any) -> Any:
        return value(*(long.element(builder, kind, arg, index) for arg in args))

    return long.each(tools, context, builder, made, element)


def _loaded(tools: Any, context: Any, builder: Any, array: Any, made: Lanes, args: Any) -> Any:
    """Long lanes loaded from a row of an array."""
    first, _ = _place(tools, context, builder, array, args[0], args[1], context.get_data_type(array.dtype))

    def element(index: Any) -> Any:
        value = long.element(builder, array.dtype, first, index)
        return long.convert(context, builder, value, array.dtype, made.dtype)

    return long.each(tools, context, builder, made, element)


def _stored(tools: Any, context: Any, builder: Any, array: Any, lanes: Lanes, args: Any) -> Any:
    """Long lanes stored into a row of an array."""
    first, _ = _place(tools, context, builder, array, args[0], args[1], context.get_data_type(array.dtype))

    def element(index: Any) -> None:
        value = long.element(builder, lanes.dtype, args[2], index)
        long.put(builder, first, index, long.convert(context, builder, value, lanes.dtype, array.dtype))

    long.elements(tools, builder, lanes.length, element)
    return context.get_dummy_value()


def _place(tools: Any, context: Any, builder: Any, array_type: Any, array: Any, row: Any, kind: Any) -> tuple[Any, int]:
    """A pointer to a row of a two-dimensional array, for a vector of its elements, and their size."""
    structure = context.make_array(array_type)(context, builder, array)
    first = tools.cgutils.get_item_pointer(
        context, builder, array_type, structure, [row, ir.Constant(row.type, 0)], wraparound=False
    )
    return builder.bitcast(first, kind.as_pointer()), getattr(array_type.dtype, "bitwidth", 8) // 8


def _computed(dtype: Any) -> Any:
    """The type in which elements of an array's type are computed."""
    if isinstance(dtype, types.Integer):
        return types.uint64 if dtype == types.uint64 else types.int64
    return dtype


def _convert(context: Any, builder: Any, value: Any, before: Any, after: Any, length: int) -> Any:
    """Elements of one type as elements of another."""
    if before == after:
        return value
    if after is types.boolean:
        value = _resized(builder, value, _width(after, length))
    elif before is types.boolean:
        value = builder.zext(value, ir.VectorType(ir.IntType(8), value.type.count))
        value = _resized(builder, value, length)
    kind = ir.VectorType(context.get_value_type(after), value.type.count)
    if isinstance(after, types.Float):
        if isinstance(before, types.Float):
            return builder.fpext(value, kind) if after.bitwidth > before.bitwidth else builder.fptrunc(value, kind)
        return builder.sitofp(value, kind) if getattr(before, "signed", False) else builder.uitofp(value, kind)
    if isinstance(before, types.Float):
        return builder.fptosi(value, kind)
    wide, narrow = kind.element.width, value.type.element.width
    if wide == narrow:
        return value
    if wide < narrow:
        return builder.trunc(value, kind)
    return builder.sext(value, kind) if getattr(before, "signed", False) else builder.zext(value, kind)


def _width(dtype: Any, length: int) -> int:
    return 2 if dtype is types.boolean and length == 1 else length


def _resized(builder: Any, value: Any, width: int) -> Any:
    """A vector with fewer elements, or with more, which are the first one again."""
    if value.type.count == width:
        return value
    places = [k if k < value.type.count else 0 for k in range(width)]
    nothing = ir.Constant(value.type, ir.Undefined)
    return builder.shuffle_vector(value, nothing, ir.Constant(ir.VectorType(_INDEX, width), places))


def _spread(builder: Any, value: Any, length: int) -> Any:
    """A vector of one and the same value."""
    nothing = ir.Constant(ir.VectorType(value.type, length), ir.Undefined)
    first = builder.insert_element(nothing, value, _INDEX(0))
    return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(_INDEX, length), [0] * length))


# --- elements


def _elements(tools: Any, selects: bool) -> dict[str, Any]:
    """``lanes[index]``, and lanes with another element."""

    @tools.infer_global(operator.getitem)
    class Element(tools.AbstractTemplate):  # type: ignore[misc]
        def generic(self, args: Any, kws: Any) -> Any:
            if isinstance(args[0], Lanes) and isinstance(args[1], types.Integer):
                return tools.signature(args[0].dtype, args[0], types.uint64)
            return None

    @tools.lower_builtin(operator.getitem, Lanes, types.Integer)  # type: ignore[untyped-decorator]
    def element(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        if sig.args[0].is_long:
            return long.element(builder, sig.return_type, *args)
        if not selects:
            return builder.extract_element(*args)
        found = builder.extract_element(args[0], _INDEX(0))
        for k in range(1, sig.args[0].length):
            here = builder.icmp_unsigned("==", args[1], ir.Constant(args[1].type, k))
            found = builder.select(here, builder.extract_element(args[0], _INDEX(k)), found)
        return found

    @tools.intrinsic  # type: ignore[untyped-decorator]
    def put(typingctx: Any, lanes: Any, index: Any, value: Any) -> Any:
        """`lanes` with another value at `index`."""

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            if lanes.is_long:
                return long.put(builder, *args)
            if not selects:
                return builder.insert_element(args[0], args[2], args[1])
            made = args[0]
            for k in range(lanes.length):
                here = builder.icmp_unsigned("==", args[1], ir.Constant(args[1].type, k))
                value = builder.select(here, args[2], builder.extract_element(made, _INDEX(k)))
                made = builder.insert_element(made, value, _INDEX(k))
            return made

        return lanes(lanes, types.uint64, lanes.dtype), generate

    return {"put": put}


# --- arithmetic: both sides are lanes of one type

_FLOAT = {"add": "fadd", "sub": "fsub", "mul": "fmul", "truediv": "fdiv"}
_WHOLE = {"add": "add", "sub": "sub", "mul": "mul", "and_": "and_", "or_": "or_", "xor": "xor"}
_OPERATIONS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor", "lshift", "rshift")


def _operation(tools: Any, name: str) -> None:
    """Register an operation on two lanes of one type."""
    function = getattr(operator, name)

    @tools.infer_global(function)
    class Operation(tools.AbstractTemplate):  # type: ignore[misc]
        def generic(self, args: Any, kws: Any) -> Any:
            if len(args) == 2 and isinstance(args[0], Lanes) and args[0] == args[1]:
                return tools.signature(args[0], *args)
            return None

    @tools.lower_builtin(function, Lanes, Lanes)  # type: ignore[untyped-decorator]
    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        dtype = sig.return_type.dtype
        whole = (_FLOAT if isinstance(dtype, types.Float) else _WHOLE).get(name)
        if sig.return_type.is_long:
            single = getattr(builder, whole) if whole else _single(context, builder, function, sig.return_type)
            return _mapped(tools, context, builder, sig.return_type, args, single)
        if whole is not None:
            return getattr(builder, whole)(*args)
        return _one_by_one(context, builder, function, sig.return_type, args)


def _one_by_one(context: Any, builder: Any, function: Callable[..., Any], lanes: Lanes, args: Any) -> Any:
    """An operation that has no vector instruction, on every element."""
    single = _single(context, builder, function, lanes)
    made = ir.Constant(context.get_value_type(lanes), ir.Undefined)
    for k in range(lanes.length):
        value = single(*(builder.extract_element(arg, _INDEX(k)) for arg in args))
        made = builder.insert_element(made, value, _INDEX(k))
    return made


def _single(context: Any, builder: Any, function: Callable[..., Any], lanes: Lanes) -> Callable[..., Any]:
    """Numba's own operation on two numbers of the type of elements; division by -1 never traps (spmd/numbers.py)."""
    found = context.typing_context.resolve_function_type(function, (lanes.dtype, lanes.dtype), {})

    def operate(*pair: Any) -> Any:
        given = [context.cast(builder, p, lanes.dtype, kind) for p, kind in zip(pair, found.args, strict=True)]
        return context.cast(builder, context.get_function(function, found)(builder, given), found.return_type,
                            lanes.dtype)  # fmt: skip

    def divide(x: Any, y: Any) -> Any:
        inverts = builder.icmp_signed("==", y, y.type(-1))
        made = operate(x, builder.select(inverts, y.type(1), y))
        return builder.select(inverts, builder.sub(x.type(0), x), made) if function is operator.floordiv else made

    signed = isinstance(lanes.dtype, types.Integer) and lanes.dtype.signed
    return divide if signed and function in (operator.floordiv, operator.mod) else operate


def _negative(tools: Any) -> None:
    """Register negation."""

    @tools.infer_global(operator.neg)
    class Negative(tools.AbstractTemplate):  # type: ignore[misc]
        def generic(self, args: Any, kws: Any) -> Any:
            return tools.signature(args[0], args[0]) if isinstance(args[0], Lanes) else None

    @tools.lower_builtin(operator.neg, Lanes)  # type: ignore[untyped-decorator]
    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        lanes = sig.return_type
        if lanes.is_long:
            return _mapped(tools, context, builder, lanes, args, lambda a: long.negated(builder, lanes.dtype, a))
        return _negated(builder, lanes, args[0])


def _negated(builder: Any, lanes: Lanes, value: Any) -> Any:
    """Every element negated."""
    if not isinstance(lanes.dtype, types.Float):
        return builder.neg(value)
    # As 0 - x with a negative zero: the compiler for GPUs does not know fneg.
    return builder.fsub(ir.Constant(value.type, [-0.0] * lanes.length), value)


# --- comparisons, and sums


def _comparisons(tools: Any) -> dict[str, Any]:
    """The smaller and the larger of each pair of elements, and elements without their sign."""

    def pairwise(context: Any, builder: Any, a: Any, args: Any, value: Callable[[Any, Any], Any]) -> Any:
        return _mapped(tools, context, builder, a, args, value) if a.is_long else value(*args)

    @tools.intrinsic  # type: ignore[untyped-decorator]
    def smaller(typingctx: Any, a: Any, b: Any) -> Any:
        """The smaller of each pair of elements; `a`'s when neither is, as Python's min does."""

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return pairwise(context, builder, a, args, lambda x, y: builder.select(_less(builder, a.dtype, y, x), y, x))

        return a(a, b), generate

    @tools.intrinsic  # type: ignore[untyped-decorator]
    def larger(typingctx: Any, a: Any, b: Any) -> Any:
        """The larger of each pair of elements; `a`'s when neither is, as Python's max does."""

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return pairwise(context, builder, a, args, lambda x, y: builder.select(_less(builder, a.dtype, x, y), y, x))

        return a(a, b), generate

    @tools.intrinsic  # type: ignore[untyped-decorator]
    def magnitude(typingctx: Any, a: Any) -> Any:
        """Every element without its sign."""

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            if a.is_long:
                return _mapped(tools, context, builder, a, args, lambda x: _unsigned(builder, a.dtype, x))
            zero = ir.Constant(args[0].type, [0] * a.length)
            return builder.select(_less(builder, a.dtype, args[0], zero), _negated(builder, a, args[0]), args[0])

        return a(a), generate

    return {"smaller": smaller, "larger": larger, "magnitude": magnitude}


def _unsigned(builder: Any, dtype: Any, value: Any) -> Any:
    """A number without its sign."""
    zero = ir.Constant(value.type, 0)
    return builder.select(_less(builder, dtype, value, zero), long.negated(builder, dtype, value), value)


def _less(builder: Any, dtype: Any, a: Any, b: Any) -> Any:
    """Which elements of `a` are smaller than those of `b`."""
    if isinstance(dtype, types.Float):
        return builder.fcmp_ordered("<", a, b)
    return builder.icmp_signed("<", a, b) if getattr(dtype, "signed", False) else builder.icmp_unsigned("<", a, b)


def _total(tools: Any) -> Any:
    """The sum of all elements."""

    @tools.intrinsic  # type: ignore[untyped-decorator]
    def total(typingctx: Any, a: Any) -> Any:
        """The sum of the elements, always in the same order: the halves are added until one element is left."""

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            add = builder.fadd if isinstance(a.dtype, types.Float) else builder.add
            if a.is_long:
                return long.totalled(tools, builder, a, args[0], add)
            rest, length, odd = args[0], a.length, []
            while length > 1:
                if length % 2:
                    odd.append(builder.extract_element(rest, _INDEX(length - 1)))
                length //= 2
                nothing = ir.Constant(rest.type, ir.Undefined)
                low, high = (
                    builder.shuffle_vector(
                        rest, nothing, ir.Constant(ir.VectorType(_INDEX, length), list(range(begin, begin + length)))
                    )
                    for begin in (0, length)
                )
                rest = add(low, high)
            found = builder.extract_element(rest, _INDEX(0))
            for value in odd:
                found = add(found, value)
            return found

        return a.dtype(a), generate

    return total

"""Compare and swap on the bits of any number, as a device function; numba.cuda has it only for words."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from arcflux.gpu import api

__all__ = ["swap"]

_extending = api.extending()
_cgutils, _types, _intrinsic = _extending.cgutils, _extending.types, _extending.intrinsic
_WORD = ir.IntType(32)


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, index_type: Any, index: Any) -> Any:
    structure = context.make_array(array_type)(context, builder, array)
    parts = [index] if array_type.ndim == 1 else _cgutils.unpack_tuple(builder, index, array_type.ndim)
    kinds = [index_type] if array_type.ndim == 1 else list(index_type)
    parts = [context.cast(builder, part, kind, _types.uintp) for part, kind in zip(parts, kinds, strict=True)]
    return _cgutils.get_item_pointer(context, builder, array_type, structure, parts, wraparound=False)


def _as_bits(builder: Any, value: Any, bits: Any) -> Any:
    return builder.zext(value, bits) if value.type == ir.IntType(1) else builder.bitcast(value, bits)


@_intrinsic  # type: ignore[untyped-decorator]
def swap(typingctx: Any, array: Any, place: Any, expected: Any, new: Any) -> Any:
    """True if `expected` was replaced by `new`; it may fail if a neighbour in the word changed."""
    kind = array.dtype

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        width = 8 if kind is _types.boolean else kind.bitwidth
        pointer = _pointer(context, builder, sig.args[0], args[0], sig.args[1], args[1])
        before, after = (_as_bits(builder, arg, ir.IntType(width)) for arg in args[2:])
        if width >= 32:
            pair = builder.cmpxchg(
                builder.bitcast(pointer, ir.IntType(width).as_pointer()), before, after, "monotonic", "monotonic"
            )
            return builder.extract_value(pair, 1)
        address = builder.ptrtoint(pointer, ir.IntType(64))
        aligned = builder.and_(address, ir.Constant(ir.IntType(64), ~3))
        word = builder.inttoptr(aligned, _WORD.as_pointer())
        bytes_in = builder.trunc(builder.and_(address, ir.Constant(ir.IntType(64), 3)), _WORD)
        shift = builder.shl(bytes_in, _WORD(3))
        mask = builder.shl(_WORD((1 << width) - 1), shift)
        there = builder.load(word)
        others = builder.and_(there, builder.not_(mask))
        old, made = (builder.or_(others, builder.shl(builder.zext(part, _WORD), shift)) for part in (before, after))
        pair = builder.cmpxchg(word, old, made, "monotonic", "monotonic")
        return builder.extract_value(pair, 1)

    return _types.boolean(array, place, kind, kind), generate

"""Numbers as compiled code has them, for kernels that are interpreted: registers of 64 bits, and floats of 32.

Integers wrap around; U64 and F32 are the types that compiled code tells from others. Where a U64 meets an integer with
a sign, both have one.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

__all__ = ["F32", "IEEE", "NAMES", "U64", "Lanes", "clamped", "inverted", "least", "magnitude", "most", "narrowed",
           "negated", "operated", "power", "tested", "wrapping"]  # fmt: skip


class U64(int):
    """An integer of 64 bits without a sign."""

    __slots__ = ()


class F32(float):
    """A float of 32 bits."""

    __slots__ = ()


class Lanes(list):
    """A vector of numbers; both sides of an operation are vectors, as in kernels."""

    __slots__ = ()

    def with_each(self, other: Any, function: Callable[[Any, Any], Any]) -> Any:
        """An operation on the elements of two."""
        assert isinstance(other, Lanes)
        return Lanes(function(a, b) for a, b in zip(self, other, strict=True))

    # Kernels reduce totals, outside of the program's functions.
    def __add__(self, other: Any) -> Any:
        return operated("Add", self, other)

    def __or__(self, other: Any) -> Any:
        return operated("BitOr", self, other)

    def __and__(self, other: Any) -> Any:
        return operated("BitAnd", self, other)


def wrapping(bits: int, signed: bool) -> Callable[[Any], int]:
    """The conversion of a number to an integer of so many bits."""
    least = -(1 << (bits - 1)) if signed else 0
    mask = (1 << bits) - 1
    kind = U64 if bits == 64 and not signed else int

    def wrapped(value: Any) -> int:
        return kind(((int(value) - least) & mask) + least)

    return wrapped


_signed, _unsigned = wrapping(64, True), wrapping(64, False)
_PLAIN = {
    "Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "FloorDiv": operator.floordiv, "Mod": operator.mod,
    "BitAnd": operator.and_, "BitOr": operator.or_, "BitXor": operator.xor, "LShift": operator.lshift,
    "RShift": operator.rshift, "Pow": operator.pow,
}  # fmt: skip
_ARRAYS = {"Div": np.true_divide, "FloorDiv": np.floor_divide, "Mod": np.remainder, "Pow": np.power}
# The operations that are replaced by `operated`.
NAMES = {"Div", *_PLAIN}


def operated(name: str, a: Any, b: Any) -> Any:
    """An operation as compiled code does it."""
    if isinstance(a, Lanes):
        return a.with_each(b, lambda x, y: operated(name, x, y))
    if isinstance(a, float) or isinstance(b, float) or name == "Div":
        return _of_floats(name, a, b)
    return _of_integers(name, a, b)


def _of_floats(name: str, a: Any, b: Any) -> float:
    kind = F32 if isinstance(a, F32) and isinstance(b, F32) else float
    x, y = float(a), float(b)
    if name in _ARRAYS:
        with np.errstate(all="ignore"):
            found = float(_ARRAYS[name](np.float64(x), np.float64(y)))
    else:
        found = _PLAIN[name](x, y)
    return narrowed(found) if kind is F32 else found


def _of_integers(name: str, a: int, b: int) -> int:
    if isinstance(a, bool) and isinstance(b, bool) and name.startswith("Bit"):
        return _PLAIN[name](a, b)
    sides = [U64 if isinstance(x, U64) else int for x in (a, b) if not isinstance(x, bool)]
    convert = _signed if int in sides or not sides else _unsigned
    a, b = convert(a), convert(b)
    if b == 0 and name in ("FloorDiv", "Mod"):
        return convert(0)
    if name == "Pow":
        return convert(power(int(a), int(b)))
    return convert(_PLAIN[name](int(a), int(b)))


for _name, _operator in (
    ("and", "BitAnd"),
    ("or", "BitOr"),
    ("lshift", "LShift"),
    ("rshift", "RShift"),
    ("add", "Add"),
    ("mul", "Mult"),
):
    setattr(Lanes, f"__{_name}__", lambda a, b, how=_operator: operated(how, a, b))


def power(base: int, exponent: int) -> int:
    """A u64 to the power of an integer; 0 for exponents below 0."""
    return _unsigned(0 if exponent < 0 else pow(int(base), int(exponent), 1 << 64))


def negated(a: Any) -> Any:
    """``-a``."""
    if isinstance(a, Lanes):
        return Lanes(map(negated, a))
    if isinstance(a, float):
        return type(a)(-float(a))
    return (_unsigned if isinstance(a, U64) else _signed)(-int(a))


def inverted(a: Any) -> Any:
    """``~a``: of a u64 again one."""
    return (_unsigned if isinstance(a, U64) else _signed)(~int(a))


def magnitude(a: Any) -> Any:
    """``abs(a)``."""
    if isinstance(a, Lanes):
        return Lanes(map(magnitude, a))
    return type(a)(abs(float(a))) if isinstance(a, float) else a if isinstance(a, U64) else _signed(abs(int(a)))


def narrowed(value: Any) -> Any:
    """A number as an f32; an integer is rounded once."""
    with np.errstate(all="ignore"):
        if isinstance(value, int) and not isinstance(value, bool):
            value = np.array(int(value), np.int64 if value < 1 << 63 else np.uint64)
        return F32(np.float32(value))


def tested(name: str, a: Any, b: Any) -> bool:
    """A comparison as compiled code does it: beside a float an integer is one."""
    known = getattr(operator, name)
    return known(float(a), float(b)) if isinstance(a, float) or isinstance(b, float) else known(a, b)


def least(*given: Any) -> Any:
    """``min(...)`` of numbers, of which one may be a float."""
    return min(map(float, given)) if _mixed(given) else min(given)


def most(*given: Any) -> Any:
    """``max(...)`` of numbers, of which one may be a float."""
    return max(map(float, given)) if _mixed(given) else max(given)


def _mixed(given: tuple[Any, ...]) -> bool:
    return any(isinstance(x, float) for x in given) and not all(isinstance(x, float) for x in given)


def clamped(round_off: Callable[[float], int]) -> Callable[[float], int]:
    """What kernels make of a float: the nearest integer of 64 bits, 0 for NaN."""

    def rounded(value: float) -> int:
        if value != value:
            return 0
        return -(1 << 63) if value < -(2.0**63) else (1 << 63) - 1 if value >= 2.0**63 else round_off(value)

    return rounded


# --- functions

_AS_ARRAYS = {"asin": "arcsin", "acos": "arccos", "pow": "power", "atan2": "arctan2"}


def _ieee(name: str) -> Callable[..., Any]:
    known = getattr(math, name)

    def apply(*given: Any) -> Any:
        try:
            found = known(*given)
        except (ValueError, OverflowError):
            with np.errstate(all="ignore"):
                found = float(getattr(np, _AS_ARRAYS.get(name, name))(*map(np.float64, given)))
        return narrowed(found) if isinstance(found, float) and isinstance(given[0], F32) else found

    return apply


# `math` as compiled code has it: no function raises.
IEEE = SimpleNamespace(**{name: _ieee(name) if callable(found) else found for name, found in vars(math).items()})

"""Numbers of the plain Python back end: the values of compiled code, and a `Fault` where that has no meaningful value.

Floats follow IEEE 754: 1.0 / 0 is infinite and sqrt(-1) is NaN, where Python would raise. An integer that is compared
with a float becomes one, where Python would compare both exactly. Integers have 64 bits; a result beyond them, and a
division by 0, is a fault: compiled code continues with a meaningless number. Literals of a program take the type of the
other operand, as parameters do (source.py makes them so).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from ctypes import c_float
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np

__all__ = [
    "IEEE", "KNOWN", "Fault", "Float", "Unfit", "as_exponent", "as_operand", "as_value", "keeper", "min_max",
    "number",
]  # fmt: skip


class Fault(ArithmeticError):
    """An operation on integers whose result in compiled code is meaningless."""


class Unfit(Exception):
    """A value that a field cannot store: NaN, or an integer outside its type."""

    def __init__(self, value: Any, dtype: np.dtype[Any]) -> None:
        self.value = "NaN" if dtype.kind == "f" else value
        self.outside = "" if dtype.kind == "f" else f", outside {dtype}"


class Int(int):
    """A signed integer of 64 bits."""

    # Without a dictionary, numbers are created faster, and the garbage collector ignores them.
    __slots__ = ()
    low, high = -(1 << 63), (1 << 63) - 1
    named = "64 bits"

    def __neg__(self) -> Int:
        return _fitting(type(self), -int(self), f"-({int(self)})")

    def __pos__(self) -> Int:
        return self

    def __abs__(self) -> Int:
        return _fitting(type(self), abs(int(self)), f"abs({int(self)})")

    def __invert__(self) -> Int:
        return type(self)(self.low + self.high - int(self))


class Weak(Int):
    """An integer that takes the type of the field it meets: a parameter, a count, a narrow unsigned field."""

    __slots__ = ()


class Unsigned(Int):
    """The value of a u64, and the result of it and unsigned integers."""

    __slots__ = ()
    low, high = 0, (1 << 64) - 1
    named = "64 bits without a sign"


class Float(float):
    """A float that takes the type of the field it meets, such as a parameter."""

    __slots__ = ()

    def __neg__(self) -> Float:
        return type(self)(-float(self))

    def __abs__(self) -> Float:
        return type(self)(abs(float(self)))


class Wide(Float):
    """The value of an f64."""

    __slots__ = ()


class Narrow(Float):
    """The value of an f32, and the result of it and numbers that are not f64: all are rounded to 32 bits."""

    __slots__ = ()

    def __new__(cls, value: float) -> Narrow:
        return value if type(value) is Narrow else float.__new__(cls, _narrow(value))


# Integers from here on are rounded once on the way to 32 bits, not to 64 bits first.
_EXACT = 1 << 53


def _narrow(value: float) -> float:
    """A number rounded to 32 bits, as in C: beyond the range it is infinite."""
    if type(value) is Narrow:
        return float(value)
    if isinstance(value, int) and not -_EXACT < value < _EXACT:
        return float(np.array(value, np.int64 if value < 1 << 63 else np.uint64).astype(np.float32))
    return c_float(value).value


def number(value: Any, dtype: np.dtype[Any] | None = None) -> Any:
    """A number of a field of this type; or (None) of a parameter, a degree, a column."""
    if isinstance(value, bool):
        return value
    if isinstance(value, float):
        return (Float if dtype is None else Narrow if dtype == np.float32 else Wide)(value)
    if dtype is None or dtype.kind == "u":
        return Unsigned(value) if dtype == np.uint64 else Weak(value)
    return Int(value)


@lru_cache
def keeper(dtype: np.dtype[Any]) -> Callable[[Any], Any]:
    """A function that converts a value to what a field of this type stores, or raises :class:`Unfit`."""
    if dtype.kind == "b":
        return bool
    if dtype.kind == "f":
        floating = Narrow if dtype == np.float32 else Wide

        def keep_float(value: Any) -> Any:
            if value != value:
                raise Unfit(value, dtype)
            return floating(value)

        return keep_float
    low, high, kind = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max), type(number(0, dtype))

    def keep_integer(value: Any) -> Any:
        if not low <= value <= high:
            raise Unfit(value, dtype)
        return kind(value)

    return keep_integer


def as_value(given: Any) -> Any:
    """A number of a program or its module, or an argument of a helper, as one that takes any type."""
    if isinstance(given, (np.integer, np.floating)):
        given = given.item()
    if type(given) is int:
        return Unsigned(given) if given > Int.high else Weak(given)
    return Float(given) if type(given) is float else given


def as_operand(given: Any) -> Any:
    """An operand: 0 or 1 for a flag."""
    return Weak(given) if isinstance(given, (bool, np.bool_)) else given


def as_exponent(given: Any) -> Any:
    """A literal exponent: if it is negative, the power is a float, also of integers."""
    return Float(given) if given < 0 else as_value(given)


def _class(a: Any, b: Any) -> type[Int]:
    """The class of an operation on two integers (types.py): u64 stays u64, unless it meets a signed one."""
    kinds = [type(x) if isinstance(x, Int) else Unsigned if x > Int.high else Weak for x in (a, b)]
    if Unsigned in kinds:
        return Int if Int in kinds else Unsigned
    return Int if Int in kinds else Weak


# Larger numbers than this are shown without all their digits.
_LONG = 10**40


def _fitting(kind: type[Int], value: int, said: str) -> Int:
    if not kind.low <= value <= kind.high:
        shown = value if abs(value) < _LONG else f"{float(value):.6g}"
        raise Fault(f"{said} is {shown}, which does not fit in {kind.named}")
    return kind(value)


def _integers(name: str, a: Any, b: Any) -> Any:
    """An operation on two integers."""
    said, kind = f"{int(a)} {_SIGNS[name]} {int(b)}", _class(a, b)
    if name in ("floordiv", "mod", "rshift"):  # the others have the same result for numbers that have wrapped around
        for x in (a, b):
            _fitting(kind, int(x), f"{said}: an operand")
    if name in ("floordiv", "mod") and b == 0:
        raise Fault(f"{said}: there is no division by 0 of integers")
    if name in ("lshift", "rshift") and not 0 <= b < 64:
        raise Fault(f"{said}: a shift by fewer than 0 or more than 63 bits")
    if name == "pow":
        if b < 0:
            raise Fault(f"{said}: an integer to a power below 0; write float(...) ** ...")
        if b > 64 and abs(a) > 1:
            raise Fault(f"{said} does not fit in {kind.named}")
    return _fitting(kind, _PLAIN[name](int(a), int(b)), said)


def _floats(name: str, a: float, b: float) -> Float:
    """An operation with at least one float operand."""
    kind = _widest(a, b)
    a, b = (_narrow(x) if kind is Narrow else float(x) for x in (a, b))
    if name == "pow":
        return kind(_ieee("pow")(a, b))
    try:
        return kind(_PLAIN[name](a, b))
    except (ZeroDivisionError, OverflowError):
        with np.errstate(all="ignore"):
            return kind(float(_NUMPY[name](np.float64(a), np.float64(b))))


def _widest(*given: Any) -> type[Float]:
    """The class of an operation on floats: f32 if there is one, and no f64."""
    kinds = {type(x) for x in given}
    return Wide if Wide in kinds else Narrow if Narrow in kinds else Float


# The result classes of frequent pairs; the others are computed by `_class` and `_widest`.
_COMMON: dict[tuple[type, type], type] = {
    (Wide, Wide): Wide, (Wide, Float): Wide, (Float, Wide): Wide, (Wide, Int): Wide, (Int, Wide): Wide,
    (Wide, Weak): Wide, (Weak, Wide): Wide, (Float, Float): Float, (Float, Int): Float, (Int, Float): Float,
    (Float, Weak): Float, (Weak, Float): Float, (Int, Int): Int, (Int, Weak): Int, (Weak, Int): Int,
    (Weak, Weak): Weak, (Narrow, Narrow): Narrow,
}  # fmt: skip
_AS_FLOATS, _AS_EITHER = ("truediv",), ("add", "sub", "mul")


def _operation(name: str) -> Callable[[Any, Any], Any]:
    plain, either, floats = _PLAIN[name], name in _AS_EITHER, name in _AS_FLOATS + _AS_EITHER
    # Methods of float itself, which take an integer on the right: faster than converting both.
    of_float = getattr(float, f"__{name}__") if floats else None

    def apply(a: Any, b: Any) -> Any:
        kind = _COMMON.get((type(a), type(b)))
        if kind is Wide or kind is Float or kind is Narrow:
            if of_float is not None and (either or b != 0):
                return kind(of_float(a if isinstance(a, float) else float(a), b))
        elif kind is not None and either:
            whole = plain(int(a), int(b))
            if Int.low <= whole <= Int.high:
                return kind(whole)
        if not isinstance(a, (int, float)) or not isinstance(b, (int, float)):
            return NotImplemented
        whole = isinstance(a, int) and isinstance(b, int)
        return _integers(name, a, b) if whole and name != "truediv" else _floats(name, a, b)

    return apply


_SIGNS = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
          "lshift": "<<", "rshift": ">>", "and": "&", "or": "|", "xor": "^"}  # fmt: skip
_PLAIN = {name: getattr(operator, f"__{name}__") for name in _SIGNS}
_NUMPY = {"truediv": np.true_divide, "floordiv": np.floor_divide, "mod": np.remainder, "mul": np.multiply,
          "add": np.add, "sub": np.subtract}  # fmt: skip


def _comparison(name: str) -> Callable[[Any, Any], Any]:
    """A comparison with a float. Python also calls it with the integer on the left, which knows no floats."""
    of_floats = getattr(float, f"__{name}__")

    def apply(a: float, b: Any) -> Any:
        return of_floats(a, float(b) if isinstance(b, int) else b)

    return apply


def _equip() -> None:
    """Add the operators to the classes."""
    for name in ("lt", "le", "gt", "ge", "eq", "ne"):
        setattr(Float, f"__{name}__", _comparison(name))
    for name in _SIGNS:
        apply = _operation(name)
        for kind in (Int, Float):
            if kind is Int or name not in ("lshift", "rshift", "and", "or", "xor"):
                setattr(kind, f"__{name}__", apply)
                setattr(kind, f"__r{name}__", lambda a, b, apply=apply: apply(b, a))


# --- functions

_ARRAYS = {"asin": "arcsin", "acos": "arccos", "acosh": "arccosh", "atanh": "arctanh", "pow": "power"}


def _ieee(name: str) -> Callable[..., Any]:
    """A function of math with the results of IEEE 754 where Python's raises."""
    plain = getattr(math, name)

    def apply(*given: Any) -> Any:
        numbers = [float(x) if isinstance(x, (float, np.floating)) else int(x) for x in given]
        try:
            value = plain(*numbers)
        except (ValueError, OverflowError):
            array = getattr(np, _ARRAYS.get(name, name), None)
            with np.errstate(all="ignore"):
                value = float(array(*map(np.float64, numbers))) if array is not None else _pole(name, numbers[0])
        return _widest(given[0])(value) if isinstance(value, float) else value

    return apply


def _pole(name: str, x: float) -> float:
    """The values of gamma and lgamma where Python's raise."""
    if name == "lgamma":
        return math.inf
    if x == 0 or x > 0:
        return math.copysign(math.inf, x)
    return math.nan


def _whole(name: str, plain: Callable[[Any], int]) -> Callable[..., Any]:
    """A function that converts a number to an integer."""

    def apply(x: Any = 0) -> Any:
        if not isinstance(x, float):
            return _fitting(Weak, int(x), f"{name}({int(x)})")
        if not math.isfinite(x):
            raise Fault(f"{name}({float(x)}): there is no such integer")
        return _fitting(Weak, plain(float(x)), f"{name}({float(x)})")

    return apply


_ALIKE = {bool, Int, Weak, Wide, Float, Narrow}


def min_max(choose: Callable[..., Any], *given: Any) -> Any:
    """`min` or `max` of numbers, in their common type, in which each has to fit."""
    kind = type(given[0])
    if kind in _ALIKE and all(type(x) is kind for x in given):
        return choose(*given)
    if any(isinstance(x, float) for x in given):
        return choose(*map(_widest(*given), given))
    kind = Weak
    for x in given:
        kind = _class(kind(0), x)
    return choose(*(_fitting(kind, int(x), f"{int(x)} in {choose.__name__}") for x in given))


def _counting(*bounds: int) -> Iterable[Weak]:
    """`range`, which counts with a sign whatever its bounds are."""
    return map(Weak, range(*(_fitting(Weak, int(x), f"{int(x)} in range") for x in bounds)))


_equip()
_FUNCTIONS = {name: _ieee(name) for name, found in vars(math).items() if callable(found)}
_CONSTANTS = {name: found for name, found in vars(math).items() if isinstance(found, float)}
# `math` without faults, for a GPU's simulator; and for programs, with faults.
IEEE = SimpleNamespace(**_FUNCTIONS, **_CONSTANTS)
_MATH = SimpleNamespace(**{**vars(IEEE), **{name: Float(x) for name, x in _CONSTANTS.items()},
                           "floor": _whole("floor", math.floor), "ceil": _whole("ceil", math.ceil),
                           "trunc": _whole("trunc", math.trunc)})  # fmt: skip
# The values of the names that programs may call.
KNOWN: dict[str, Any] = {
    "int": _whole("int", int), "float": lambda x=0.0: Float(float(x)), "round": _whole("round", round), "math": _MATH,
    "divmod": lambda a, b: (as_operand(a) // b, as_operand(a) % b), "abs": lambda x: abs(as_operand(x)),
    "range": _counting, "sum": lambda values: sum(values, Weak(0)),
}  # fmt: skip

"""Numbers as docs/how-to/program.md ("Numbers") has them, for the oracle: 64 bits that wrap around, IEEE 754, f32.

What kernels make of an overflow, a division by 0 or a NaN is a value like any other here. That plain Python
(``debug=True``) has to refuse it is noted by :func:`fault`. An integer is compared with a float as a float.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

__all__ = ["KNOWN", "IllDefined", "Real", "Whole", "counted", "either", "exponent", "fault", "faults", "of_field",
           "plain", "same", "weak", "wrapped"]  # fmt: skip


class IllDefined(Exception):
    """What a program does here is not the same for every way to run it: floats that are rounded, a false promise."""


# What plain Python has to refuse, since the oracle began its run.
faults: list[str] = []


def fault(what: str) -> None:
    """Note that plain Python has to refuse this."""
    if len(faults) < 3:
        faults.append(what)


def wrapped(value: int, bits: int = 64, signed: bool = True) -> int:
    """The low bits of a number."""
    low = -(1 << (bits - 1)) if signed else 0
    return ((value - low) & ((1 << bits) - 1)) + low


class Whole(int):
    """An integer. `kind` is "int" when a field with a sign took part, "u64", or "weak": a count, a parameter."""

    kind: str

    def __new__(cls, value: int, kind: str = "weak") -> Whole:
        made = super().__new__(cls, value)
        made.kind = kind
        return made

    def __neg__(self) -> Whole:
        return _kept(-int(self), self.kind)

    def __pos__(self) -> Whole:
        return self

    def __abs__(self) -> Whole:
        return _kept(abs(int(self)), self.kind)

    def __invert__(self) -> Whole:
        return Whole(wrapped(~int(self), 64, self.kind != "u64"), self.kind)


class Real(float):
    """A float. `kind` is "f32" (rounded after each operation), "f64", or "weak", which takes the type that it meets."""

    kind: str

    def __new__(cls, value: float, kind: str = "weak") -> Real:
        made = super().__new__(cls, _narrow(value) if kind == "f32" else value)
        made.kind = kind
        return made

    def __neg__(self) -> Real:
        return Real(-float(self), self.kind)

    def __abs__(self) -> Real:
        return Real(abs(float(self)), self.kind)


def _narrow(value: float) -> float:
    """A number rounded to 32 bits, once: the nearest float, and of two the even one."""
    if isinstance(value, int) and abs(value) >= 1 << 24:
        step = 1 << (abs(value).bit_length() - 24)
        below = value // step
        twice = 2 * (value - below * step)
        return float((below + (twice > step or (twice == step and below % 2 == 1))) * step)
    with np.errstate(all="ignore"):
        return float(np.float32(value))


def of_field(kind: str, value: Any) -> Any:
    """A number that a field of a type holds."""
    if kind == "flag":
        return bool(value)
    if kind in ("f32", "f64"):
        return Real(value, kind)
    return Whole(value, "u64" if kind == "u64" else "weak" if kind[0] == "u" else "int")


def weak(value: Any) -> Any:
    """A count, a parameter, or the value of a column."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    return Real(value) if isinstance(value, float) else Whole(value)


def counted(value: Any) -> Any:
    """What is counted with: a flag as 0 or 1."""
    return Whole(int(value)) if isinstance(value, bool) else value


def exponent(value: Any) -> Any:
    """An exponent that stands in the program: by one below 0 the type of the power is known to be a float."""
    return Real(float(value)) if value < 0 else weak(value)


def plain(value: Any) -> Any:
    """A number without its kind."""
    if isinstance(value, bool):
        return value
    return float(value) if isinstance(value, float) else int(value)


def _kept(value: int, kind: str) -> Whole:
    signed = kind != "u64"
    low = wrapped(value, 64, signed)
    if low != value:
        fault(f"{value} does not fit in 64 bits")
    return Whole(low, kind)


def _kind(*given: Any) -> str:
    kinds = {x.kind if isinstance(x, Whole) else "u64" if x >= 1 << 63 else "weak" for x in given}
    return "int" if "int" in kinds else "u64" if "u64" in kinds else "weak"


def _floating(*given: Any) -> str:
    kinds = {x.kind if isinstance(x, Real) else "weak" for x in given}
    return "f64" if "f64" in kinds else "f32" if "f32" in kinds else "weak"


def _of_whole(name: str, a: int, b: int) -> Any:
    kind = _kind(a, b)
    signed = kind != "u64"
    x, y = int(a), int(b)
    if name not in ("add", "sub", "mul") and (wrapped(x, 64, signed), wrapped(y, 64, signed)) != (x, y):
        raise IllDefined("a u64 that meets a sign does not fit")
    if name in ("floordiv", "mod") and y == 0:
        fault("a division by 0")
        return Whole(0, kind)
    if name in ("lshift", "rshift"):
        if not 0 <= y < 64:
            fault("a shift by too many bits")
        y &= 63
    if name == "pow" and y < 0:
        fault("a power below 0")
        return Whole(0, kind)
    if name == "pow":
        exact = x**y if abs(x) <= 1 or y <= 64 else None
        if exact is None:
            fault("a power that does not fit")
            return Whole(wrapped(pow(x, y, 1 << 64), 64, signed), kind)
        return _kept(exact, kind)
    return _kept(_PLAIN[name](x, y), kind)


def _of_real(name: str, a: Any, b: Any) -> Real:
    kind = _floating(a, b)
    x, y = (_narrow(each) if kind == "f32" else float(each) for each in (a, b))
    with np.errstate(all="ignore"):
        if name == "pow":
            return Real(float(np.power(np.float64(x), np.float64(y))), kind)
        if name in ("truediv", "floordiv", "mod") and y == 0 and math.copysign(1.0, y) < 0:
            raise IllDefined("a division by -0.0, whose sign depends on the order of sums")
        return Real(float(_ARRAYS[name](np.float64(x), np.float64(y))), kind)


_NAMES = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and", "or", "xor")
_BITS = _NAMES[7:]
_PLAIN: dict[str, Callable[[Any, Any], Any]] = {name: getattr(operator, f"__{name}__") for name in _NAMES}
_ARRAYS: dict[str, Any] = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide,
                           "floordiv": np.floor_divide, "mod": np.remainder}  # fmt: skip


def _operation(name: str) -> Callable[[Any, Any], Any]:
    def apply(a: Any, b: Any) -> Any:
        if not isinstance(a, (int, float)) or not isinstance(b, (int, float)):
            return NotImplemented
        whole = isinstance(a, int) and isinstance(b, int)
        if not whole and name in _BITS:
            raise IllDefined("bits of a float")
        return _of_whole(name, a, b) if whole and name != "truediv" else _of_real(name, a, b)

    return apply


def _as_floats(name: str) -> Callable[[Any, Any], Any]:
    """A comparison with a float, of an integer too. An integer on the left lets the float on the right compare."""
    return lambda a, b: getattr(operator, name)(float(a), float(b)) if isinstance(b, (int, float)) else NotImplemented


for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Real, f"__{_name}__", _as_floats(_name))

for _name in _NAMES:
    for _class in (Whole, Real):
        if _class is Whole or _name not in _BITS:
            _apply = _operation(_name)
            setattr(_class, f"__{_name}__", lambda a, b, apply=_apply: apply(a, b))
            setattr(_class, f"__r{_name}__", lambda a, b, apply=_apply: apply(b, a))


# --- functions


def _rounding(round_off: Callable[[float], int]) -> Callable[..., Any]:
    """A function that makes an integer: the nearest of 64 bits, 0 for NaN."""

    def whole(x: Any = 0) -> Any:
        if not isinstance(x, float):
            return Whole(int(x))
        if x != x or not -(2.0**63) <= x < 2.0**63:
            fault(f"no integer is {float(x)}")
            return Whole(0 if x != x else wrapped(-1, 64, False) // 2 if x > 0 else -(1 << 63))
        return Whole(round_off(float(x)))

    return whole


_AS_ARRAYS = {"asin": "arcsin", "acos": "arccos", "pow": "power", "atan2": "arctan2"}


def _ieee(name: str) -> Callable[..., Any]:
    """A function of math as IEEE 754 has it, where Python raises."""
    known = getattr(math, name)

    def apply(*given: Any) -> Any:
        numbers = [float(x) for x in given]
        try:
            found = known(*numbers)
        except (ValueError, OverflowError):
            with np.errstate(all="ignore"):
                found = float(getattr(np, _AS_ARRAYS.get(name, name))(*map(np.float64, numbers)))
        return Real(found, given[0].kind if isinstance(given[0], Real) else "weak") if type(found) is float else found

    return apply


_MATH = {name: _ieee(name) for name, found in vars(math).items() if callable(found)}
_MATH |= {"floor": _rounding(math.floor), "ceil": _rounding(math.ceil), "trunc": _rounding(math.trunc)}
_CONSTANTS = {name: found for name, found in vars(math).items() if isinstance(found, float)}


def choose(better: Callable[[Any, Any], bool]) -> Callable[..., Any]:
    """`min` or `max`: the first stays unless another is better, and what comes out has the type of all together."""

    def chosen(first: Any, *others: Any) -> Any:
        if isinstance(first, bool) and all(isinstance(x, bool) for x in others):
            made = first
            for other in others:
                made = other if better(other, made) else made
            return made
        given = (first, *others)
        if any(isinstance(x, float) for x in given):
            kind = _floating(*given)
            row: list[Any] = [Real(x, kind) for x in given]
        else:
            kind = _kind(*given)
            row = [Whole(wrapped(int(x), 64, kind != "u64"), kind) for x in given]
            if any(a != b for a, b in zip(row, given, strict=True)):
                fault("a number that does not fit where it meets others")
        best = row[0]
        for other in row[1:]:
            best = other if better(other, best) else best
        return best

    return chosen


KNOWN: dict[str, Any] = {
    "math": SimpleNamespace(**_MATH, **_CONSTANTS), "int": _rounding(int), "round": _rounding(round),
    "float": lambda x=0.0: Real(float(x)),
    "min": choose(operator.lt), "max": choose(operator.gt),
}  # fmt: skip


def either(test: Any, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
    """``yes if test else no``: a number of the type of both."""
    if not test:
        yes, no = no, yes
    taken, noted = yes(), len(faults)
    try:
        other = no()
    except IllDefined:
        other = taken
    del faults[noted:]
    if isinstance(taken, bool) or not isinstance(taken, (int, float)):
        return taken
    if isinstance(taken, float) or isinstance(other, float):
        return Real(taken, _floating(taken, other))
    kind = _kind(taken, other)
    if wrapped(int(taken), 64, kind != "u64") != taken:
        raise IllDefined("a u64 that meets a sign does not fit")
    return Whole(int(taken), kind)


def same(a: Any, b: Any) -> bool:
    """Whether two values are the same, NaN and NaN too."""
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b or (a != a and b != b)

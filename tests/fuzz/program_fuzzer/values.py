"""The values of the oracle: numbers that have to fit their field exactly, and vectors of them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["IllDefined", "OneOf", "Vector", "choosing", "fitting"]

# Floats have to be whole multiples of 2**-bits, below 2**size: then sums are exact in any order, and in any width.
_EXACT = {"f32": (9, 13), "f64": (20, 30)}
_DTYPES = {f"{sign}{bits}": f"{kind}{bits}" for sign, kind in (("i", "int"), ("u", "uint")) for bits in (8, 16, 32, 64)}


class IllDefined(Exception):
    """What a program does here is not the same for every way to run it: a value that does not fit, a false promise."""


def fitting(kind: str, value: Any) -> Any:
    """A number as a field of a type keeps it, if it does so exactly."""
    if kind == "flag":
        if not isinstance(value, bool):
            raise IllDefined(f"{value!r} in a flag")
        return value
    if kind in _EXACT:
        value = float(value)
        bits, size = _EXACT[kind]
        scaled = value * 2.0**bits
        if abs(value) != float("inf") and not (scaled == int(scaled) and abs(value) < 2.0**size):
            raise IllDefined(f"{value!r} is not exact in {kind}")
        return value
    if isinstance(value, float):
        raise IllDefined(f"{value!r} in {kind}")
    least, most = (-(1 << 31), (1 << 31) - 1) if kind == "ref" else _limits(_DTYPES[kind])
    if not least <= value <= most:
        raise IllDefined(f"{value!r} is outside {kind}")
    return int(value)


def _limits(dtype: str) -> tuple[int, int]:
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


class OneOf:
    """What ``af.any(value)`` stands for."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Vector:
    """A vector field: numbers in a row. `store` fits an element that is assigned."""

    def __init__(self, elements: list[Any], store: Callable[[Any], Any] | None = None) -> None:
        self.elements = elements
        self.store = store
        self.told: Callable[[], Any] | None = None

    def __len__(self) -> int:
        return len(self.elements)

    def __getitem__(self, index: int) -> Any:
        if not 0 <= index < len(self.elements):
            raise IllDefined(f"the index {index} of {len(self.elements)}")
        return self.elements[index]

    def __setitem__(self, index: int, value: Any) -> None:
        if not 0 <= index < len(self.elements) or self.store is None:
            raise IllDefined(f"the index {index} of {len(self.elements)}")
        self.elements[index] = self.store(value)
        if self.told is not None:
            self.told()

    def __neg__(self) -> Vector:
        return Vector([-x for x in self.elements])

    def __abs__(self) -> Vector:
        return Vector([abs(x) for x in self.elements])


def _elementwise(function: Callable[..., Any], *sides: Any) -> Any:
    lengths = {len(side) for side in sides if isinstance(side, Vector)}
    if not lengths:
        return function(*sides)
    if len(lengths) > 1:
        raise IllDefined("vectors of different lengths")
    (length,) = lengths
    rows = [side.elements if isinstance(side, Vector) else [side] * length for side in sides]
    return Vector([function(*row) for row in zip(*rows, strict=True)])


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift"):
    _function = getattr(operator, f"__{_name}__")
    setattr(Vector, f"__{_name}__", lambda a, b, f=_function: _elementwise(f, a, b))
    setattr(Vector, f"__r{_name}__", lambda a, b, f=_function: _elementwise(f, b, a))


def choosing(choose: Callable[..., Any]) -> Callable[..., Any]:
    """`min` or `max`, of numbers and of vectors."""
    return lambda *sides: _elementwise(choose, *sides)

"""The values of the oracle: numbers that have to fit their field exactly, and vectors of them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from program_fuzzer.numbers import IllDefined, fault, of_field, wrapped

__all__ = ["IllDefined", "OfSender", "OneOf", "Vector", "choosing", "copied", "exact", "fitting"]

# Floats have to be whole multiples of 2**-bits, below 2**size: then sums are exact in any order, and in any width.
_EXACT = {"f32": (9, 13), "f64": (20, 30)}


def fitting(kind: str, value: Any) -> Any:
    """A number as a field of a type keeps it: of an integer the low bits, of a float all, or it is not certain."""
    if kind == "flag":
        if not isinstance(value, bool):
            raise IllDefined(f"{value!r} in a flag")
        return value
    if kind in _EXACT:
        return of_field(kind, exact(kind, float(value)))
    if isinstance(value, float):
        raise IllDefined(f"{value!r} in {kind}")
    low = wrapped(int(value), 32 if kind == "ref" else int(kind[1:]), kind[0] != "u")
    if low != value:
        fault(f"{value!r} is outside {kind}")
    return of_field(kind, low)


def exact(kind: str, value: float) -> float:
    """A float that sums of any order leave exact, or one that no sum changes any more."""
    if value != value:
        fault("NaN in a field")
    if not math.isfinite(value):
        return value
    bits, size = _EXACT[kind]
    scaled = value * 2.0**bits
    if scaled != int(scaled) or abs(value) >= 2.0**size:
        raise IllDefined(f"{value!r} is not exact in {kind}")
    return value


class OneOf:
    """What ``af.any(value)`` stands for."""

    def __init__(self, value: Any) -> None:
        self.value = value


class OfSender:
    """What ``af.first(value)`` and ``af.last(value)`` stand for."""

    def __init__(self, value: Any, sign: int) -> None:
        self.value, self.sign = value, sign


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


def copied(value: Any) -> Any:
    """A value as a local has it: a vector that no assignment to a field changes."""
    return Vector(list(value.elements)) if isinstance(value, Vector) else value


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

    def apply(*sides: Any) -> Any:
        if isinstance(sides[0], tuple):  # element by element, from the first on
            kept, other = sides
            pairs = [(x, y) for x, y in zip(kept, other, strict=True) if x != y]
            return other if pairs and choose(*pairs[0]) == pairs[0][1] else kept
        return _elementwise(choose, *sides)

    return apply

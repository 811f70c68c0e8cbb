"""Vectors as the plain Python back end has them: numbers in a row, combined one by one as Python does."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from arcflux.compile.python_numbers import KNOWN, Float, chosen

__all__ = ["Vector", "elementwise"]


class Vector:
    """A vector field's value. Elements that are assigned go through `store`, which checks them as it checks fields."""

    def __init__(self, elements: list[Any], store: Callable[[Any], Any] | None = None) -> None:
        self.elements = elements
        self.store = store

    def __len__(self) -> int:
        return len(self.elements)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.elements)

    def __getitem__(self, index: int) -> Any:
        return self.elements[index]

    def __setitem__(self, index: int, value: Any) -> None:
        assert self.store is not None
        self.elements[index] = self.store(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vector) and self.elements == other.elements

    __hash__ = None  # type: ignore[assignment]

    def __neg__(self) -> Vector:
        return Vector([-x for x in self])

    def __pos__(self) -> Vector:
        return Vector([+x for x in self])

    def __abs__(self) -> Vector:
        return Vector([abs(x) for x in self])

    def __repr__(self) -> str:
        return repr(self.elements)


def _pairs(function: Callable[..., Any], *given: Any) -> Any:
    """`function` of numbers, or of the elements of vectors; a number stands for a vector of it."""
    length = max((len(x) for x in given if isinstance(x, Vector)), default=None)
    if length is None:
        return function(*given)
    rows = [x if isinstance(x, Vector) else [x] * length for x in given]
    return Vector([function(*each) for each in zip(*rows, strict=True)])


def _operators() -> None:
    for name in ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift"]:
        function = getattr(operator, f"__{name}__")
        setattr(Vector, f"__{name}__", lambda a, b, f=function: _pairs(f, a, b))
        setattr(Vector, f"__r{name}__", lambda a, b, f=function: _pairs(f, b, a))


_operators()


def elementwise(function: Callable[..., Any], names: Any) -> Callable[..., Any]:
    """The same function of a program, in which min and max take vectors too, unless the module has its own.

    Conversions and functions of math give what compiled code gives (python_numbers.py), and so do floats that stand in
    the program or the module: with one of Python's own on the left, ``1.0 / v.count`` would raise.
    """
    assert isinstance(function, FunctionType)
    own = {choose.__name__: _choosing(choose) for choose in (min, max) if choose.__name__ not in names}
    own |= {name: KNOWN[name] for name in ("int", "float") if name not in names}
    modules = {name: found for name, found in names.items() if getattr(found, "__name__", "") in ("math", "numpy")}
    floats = {name: Float(found) for name, found in names.items() if type(found) is float}
    around = {**function.__globals__, **own, **floats, **dict.fromkeys(modules, KNOWN["math"])}
    code = function.__code__
    code = code.replace(co_consts=tuple(Float(x) if type(x) is float else x for x in code.co_consts))
    return FunctionType(code, around, function.__name__, function.__defaults__, function.__closure__)


def _choosing(choose: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *given: _pairs(lambda *numbers: chosen(choose, *numbers), *given)

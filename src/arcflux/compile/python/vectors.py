"""Vectors of the plain Python back end: lists of numbers, combined element by element as Python does."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType, MappingProxyType, ModuleType
from typing import Any

from arcflux.class_source import names_around
from arcflux.compile.python.around import choosing
from arcflux.compile.python.debug_lines import CHOOSING
from arcflux.compile.python.numbers import KNOWN, Float, min_max
from arcflux.compile.python.source import helper_for_plain_python
from arcflux.program import random

__all__ = ["Matrix", "Vector", "elementwise"]


class Vector:
    """The value of a vector field. Assigned elements go through `store`, which checks them as it checks fields."""

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

    def copied(self) -> Vector:
        """A copy of the current elements."""
        vector = copy.copy(self)
        vector.elements = list(self.elements)
        return vector

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


class Matrix(Vector):
    """A matrix that is a parameter, or a field of an edge: its elements row by row."""

    def __init__(self, elements: list[Any], columns: int, store: Callable[[Any], Any] | None = None) -> None:
        super().__init__(elements, store)
        self.columns = columns

    def __getitem__(self, index: Any) -> Any:
        row, column = index
        return self.elements[row * self.columns + column]

    def __setitem__(self, index: Any, value: Any) -> None:
        row, column = index
        super().__setitem__(row * self.columns + column, value)


def _pairs(function: Callable[..., Any], *given: Any) -> Any:
    """`function` of numbers, or of the elements of vectors; a number stands for a constant vector."""
    length = max((len(x) for x in given if isinstance(x, Vector)), default=None)
    if length is None:
        return function(*given)
    rows = [x if isinstance(x, Vector) else [x] * length for x in given]
    return Vector([function(*each) for each in zip(*rows, strict=True)])


def _two(function: Callable[..., Any], a: Vector, b: Any) -> Vector:
    """The same for a vector and a vector or a number."""
    if isinstance(b, Vector):
        return Vector([function(x, y) for x, y in zip(a.elements, b.elements, strict=True)])
    return Vector([function(x, b) for x in a.elements])


def _operators() -> None:
    for name in ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift"]:
        function = getattr(operator, f"__{name}__")
        setattr(Vector, f"__{name}__", lambda a, b, f=function: _two(f, a, b))
        setattr(Vector, f"__r{name}__", lambda a, b, f=function: Vector([f(b, x) for x in a.elements]))


_operators()


def elementwise(
    function: Callable[..., Any], names: Mapping[str, Any], helpers: Mapping[int, Any] = MappingProxyType({})
) -> Callable[..., Any]:
    """The same function of a program with min and max that accept vectors, unless the module has its own.

    Conversions, built-ins and functions of math have the results of compiled code (numbers.py), and so do the functions
    of the module that it calls: `helpers`, by their identity.
    """
    assert isinstance(function, FunctionType)
    code = function.__code__
    own = {choose.__name__: choosing_in_programs(choose) for choose in (min, max) if choose.__name__ not in names}
    own |= {name: KNOWN[name] for name in set(KNOWN) - {"math"} if name not in names}
    own |= {name: _meant(names[name], helpers) for name in code.co_names if name in names}
    around = {**function.__globals__, **own}
    compiled = FunctionType(code, around, function.__name__, function.__defaults__)
    compiled.__kwdefaults__ = function.__kwdefaults__
    return compiled


def _meant(found: Any, helpers: Mapping[int, Any]) -> Any:
    """The replacement for a value of the module: modules of numbers, and helpers as compiled code has them."""
    if found is random:
        return lambda *given, **named: Float(random(*given, **named))
    if isinstance(found, ModuleType):
        if found.__name__ in ("math", "numpy"):
            return KNOWN["math"]
        mine = {
            name for name, one in vars(found).items() if one is random or id(getattr(one, "py_func", one)) in helpers
        }
        return _Module(found, {name: _meant(getattr(found, name), helpers) for name in mine}) if mine else found
    if getattr(found, "__module__", "") == "math" and hasattr(KNOWN["math"], getattr(found, "__name__", "")):
        return getattr(KNOWN["math"], found.__name__)
    plain = getattr(found, "py_func", found)
    return _helper(plain, helpers) if id(plain) in helpers else found


class _Module:
    """A module some of whose functions are helpers."""

    def __init__(self, module: ModuleType, helpers: dict[str, Any]) -> None:
        self._module = module
        self.__dict__.update(helpers)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def _helper(function: Any, helpers: Mapping[int, Any]) -> Callable[..., Any]:
    """A helper as a program sees it: literals in the call are treated like parameters."""
    functions: list[Callable[..., Any]] = []

    def call(*given: Any, **named: Any) -> Any:
        if not functions:
            functions.append(elementwise(helper_for_plain_python(function), names_around(function), helpers))
        return functions[0](*given, **named)

    return call


def choosing_in_programs(choose: Callable[..., Any]) -> Callable[..., Any]:
    """`min` or `max` as programs have it: also of vectors, and of a generator's values."""

    def apply(*given: Any, default: Any = None) -> Any:
        if len(given) == 1 and isinstance(given[0], Iterator):
            return choosing(choose, given[0], default)
        if isinstance(given[0], tuple):
            return choose(*given)
        if not any(isinstance(x, Vector) for x in given):
            return min_max(choose, *given)
        return _pairs(lambda *numbers: min_max(choose, *numbers), *given)

    return apply


CHOOSING.update(min=choosing_in_programs(min), max=choosing_in_programs(max))

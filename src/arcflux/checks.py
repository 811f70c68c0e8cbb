"""Arguments of public functions, checked by name before the function begins.

``@checked(tol=real)`` refuses a `tol` that is no number with a :class:`~arcflux.errors.UsageError` that says so, not
with an error from wherever the function first computes with it. Arguments that mean the same everywhere have their rule
here: `USUAL`, and `RUNNING` for how to run, which algorithms pass on to af.run. A rule is about types; what values make
sense, a function says itself.
"""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from importlib import import_module
from inspect import signature
from numbers import Real
from threading import TIMEOUT_MAX
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from arcflux.errors import UsageError

__all__ = [
    "Rule", "array", "checked", "finite", "flag", "instance", "is_integer", "mapping", "maybe", "path", "real",
    "real_array", "reals", "seconds", "seed", "shown", "text", "unwelcome", "whole", "wholes",
]  # fmt: skip

P = ParamSpec("P")
R = TypeVar("R")
Rule = Callable[[str, Any], Any]

_MOST = (1 << 63) - 1


def checked(**own: Rule | None) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator that applies rules to arguments by name: `own` ones (None for no rule), and the usual ones.

    Examples
    --------
    >>> @checked(factor=real)
    ... def scaled(graph, factor=1.0): ...
    >>> scaled(None, 2)
    Traceback (most recent call last):
    ...
    arcflux.errors.UsageError: graph is None
      expected: an arcflux.Graph
      try: af.load("kron:10"), or af.Graph.from_edges(sources, targets)
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        parameters = signature(function).parameters
        names = [name for name, p in parameters.items() if p.kind is not p.VAR_KEYWORD]
        usual = {name: rule for name, rule in {**USUAL, **RUNNING}.items() if name in names}
        rules = {**(RUNNING if len(names) < len(parameters) else {}), **usual, **own}

        def ruled(name: str, value: Any) -> Any:
            rule = rules.get(name)
            return value if rule is None else rule(name, value)

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            first = [ruled(name, value) for name, value in zip(names, args, strict=False)]
            rest = {name: ruled(name, value) for name, value in kwargs.items()}
            return function(*first, *args[len(first) :], **rest)  # type: ignore[arg-type]

        return call

    return decorate


def shown(value: Any) -> str:
    """A value as an error quotes it: short, whatever it is."""
    try:
        said = repr(value)
    except ValueError:  # an integer of more digits than Python prints
        said = "a huge number"
    except Exception as error:
        said = f"a {type(value).__name__} whose repr raises {type(error).__name__}"
    said = " ".join(said.split())
    return said if len(said) <= 60 else said[:57] + "..."


def _refused(name: str, value: Any, expected: str, remedy: str = "") -> UsageError:
    return UsageError(f"{name} is {shown(value)}", expected=expected, remedy=remedy)


# --- rules


def maybe(rule: Rule) -> Rule:
    """A rule that also takes None."""
    return lambda name, value: None if value is None else rule(name, value)


def whole(name: str, value: Any) -> int:
    """A whole number of 64 bits, as Python's.

    Examples
    --------
    >>> whole("k", np.int8(3))
    3
    """
    try:
        found = operator.index(value)
    except TypeError:
        raise _refused(name, value, "a whole number") from None
    if not -_MOST - 1 <= found <= _MOST:
        raise _refused(name, value, "a whole number of at most 64 bits")
    return found


def seed(name: str, value: Any) -> int:
    """A whole number of any size, which random numbers begin with."""
    try:
        return operator.index(value)
    except TypeError:
        raise _refused(name, value, "a whole number") from None


def wholes(low: int) -> Rule:
    """The rule for a whole number from `low` on."""

    def rule(name: str, value: Any) -> int:
        try:
            found = whole(name, value)
        except UsageError:
            found = low - 1
        if found < low:
            raise _refused(name, value, f"a whole number from {low} on, of at most 64 bits")
        return found

    return rule


def real(name: str, value: Any) -> float:
    """A number that float64 can hold; NaN and infinity are for the function to refuse."""
    if isinstance(value, (float, int, np.floating, np.integer)) and not isinstance(value, (bool, np.timedelta64)):
        try:
            return float(value)
        except OverflowError:
            pass
    raise _refused(name, value, "a number")


def reals(low: float) -> Rule:
    """The rule for a number from `low` on, infinity included; NaN is none."""

    def rule(name: str, value: Any) -> float:
        found = real(name, value)
        if not found >= low:
            raise _refused(name, value, f"a number from {low:g} on")
        return found

    return rule


def finite(name: str, value: Any) -> float:
    """A number that is neither NaN nor infinite."""
    found = real(name, value)
    if not math.isfinite(found):
        raise _refused(name, value, "a finite number")
    return found


def seconds(name: str, value: Any) -> float | None:
    """How long to wait: a number from 0 on, at most as long as a lock can wait; None and infinity mean for ever."""
    if value is None:
        return None
    found = real(name, value)
    if not found >= 0:
        raise _refused(name, value, "seconds, from 0 on")
    return found if found <= TIMEOUT_MAX else None


def is_integer(value: Any) -> bool:
    """Whether a value is an integer of Python's or NumPy's, which counts spans of time among its own."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, np.timedelta64)


def flag(name: str, value: Any) -> bool:
    """True or False; 1 and 0 are taken for them."""
    if isinstance(value, (bool, np.bool_)) or (is_integer(value) and value in (0, 1)):
        return bool(value)
    raise _refused(name, value, "True or False")


def text(name: str, value: Any) -> str:
    """A str."""
    if not isinstance(value, str):
        raise _refused(name, value, "a text")
    return value


def path(name: str, value: Any) -> Any:
    """A path: no number, which would be taken for an open file."""
    if not isinstance(value, (str, os.PathLike)):
        raise _refused(name, value, "the path of a file: text, or a pathlib.Path")
    if "\0" in str(value):
        raise _refused(name, value, "a path, in which no character is 0")
    try:
        os.fsencode(value)
    except UnicodeEncodeError:
        raise _refused(name, value, "a path, in which no character is half of a surrogate pair") from None
    return value


def mapping(name: str, value: Any) -> Any:
    """A mapping."""
    if not isinstance(value, Mapping):
        raise _refused(name, value, f"a mapping from names, such as {name}={{'name': values}}")
    return value


def array(name: str, value: Any) -> Any:
    """What NumPy can make an array of: no lists of different lengths, no range beyond memory, no masked values."""
    if np.ma.is_masked(value):
        raise _refused(name, value, "values that are all there: no masked ones", f"{name}.filled(...)")
    try:
        np.ndim(value)
    except ValueError:
        raise _refused(name, value, "values of one shape, not lists of different lengths") from None
    except MemoryError:
        raise _refused(name, value, "values that fit into memory") from None
    return value


def real_array(name: str, value: Any, expected: str) -> NDArray[np.float64]:
    """Numbers as float64: no text, dates or complex numbers, which NumPy would make some of."""
    try:
        found = np.asarray(array(name, value))
        if found.dtype.kind in "biuf" or all(isinstance(each, Real) for each in found.ravel().tolist()):
            return found.astype(np.float64)
    except (OverflowError, TypeError, ValueError):
        pass
    raise _refused(name, value, expected)


def unwelcome(name: str, value: Any) -> Any:
    """The rule for an argument of af.run that a function gives itself."""
    raise UsageError(f"{name} is given", expected=f"no {name}: the algorithm says it itself", remedy="af.run")


def instance(module: str, of: str, expected: str, remedy: str = "") -> Rule:
    """The rule for an instance of a class, whose module is imported when that is first needed."""

    def rule(name: str, value: Any) -> Any:
        if not isinstance(value, getattr(import_module(f"arcflux.{module}"), of)):
            raise _refused(name, value, expected, remedy)
        return value

    return rule


def _parts(name: str, value: Any) -> Any:
    if value is None or isinstance(value, import_module("arcflux").Parts):
        return value
    try:
        return whole(name, value)
    except UsageError:
        raise _refused(name, value, "a number of parts, or what af.partition gives") from None


def _devices(name: str, value: Any) -> Any:
    device = import_module("arcflux.devices").Device
    several = isinstance(value, Sequence) and not isinstance(value, bytes) and all(isinstance(d, device) for d in value)
    if value is None or isinstance(value, str) or several:
        return value
    raise _refused(name, value, "a name such as 'cuda:0', or a list with a device for each part", "devices='auto'")


_ANY_GRAPH = 'af.load("kron:10"), or af.Graph.from_edges(sources, targets)'
USUAL: Mapping[str, Rule] = {
    "graph": instance("graph", "Graph", "an arcflux.Graph", _ANY_GRAPH),
    "source": array,
    "sources": array,
    "weight": maybe(text),
}
RUNNING: Mapping[str, Rule] = {
    "debug": flag,
    "deterministic": flag,
    "devices": _devices,
    "direction": text,
    "exchange": text,
    "given": maybe(mapping),
    "max_supersteps": maybe(wholes(0)),
    "partition": text,
    "parts": _parts,
    "progress": maybe(flag),
    "rebalance": text,
    "threads": maybe(whole),
    "timeout": maybe(real),
    "transport": maybe(text),
}

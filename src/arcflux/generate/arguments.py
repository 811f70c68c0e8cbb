"""Arguments of generators: checked, turned into plain Python numbers, and spelled as in a spec."""

from __future__ import annotations

import math
import operator
from typing import Any

from arcflux.checks import shown
from arcflux.errors import UsageError

__all__ = ["LARGEST_SCALE", "MOST", "Interval", "changed_options", "integer", "interval", "number", "spell"]

Interval = tuple[int, int] | tuple[float, float]

MOST = (1 << 63) - 1
LARGEST_SCALE = 63
_INT32 = 1 << 31


def integer(name: str, value: Any, low: int = 0, high: int = MOST) -> int:
    """`value`, sure to be a whole number from `low` to `high`.

    Examples
    --------
    >>> integer("scale", 20)
    20
    >>> integer("scale", -1)
    Traceback (most recent call last):
    ...
    arcflux.errors.UsageError: scale is -1
      expected: a whole number, at least 0
    """
    try:
        count = operator.index(value)
    except TypeError:
        count = low - 1
    if not low <= count <= high or isinstance(value, bool):
        limit = f"at least {low}" if high >= MOST else f"from {low} to {high}"
        raise UsageError(f"{name} is {shown(value)}", expected=f"a whole number, {limit}")
    return count


def number(name: str, value: Any, low: float = 0.0, high: float = 1.0) -> float:
    """`value`, sure to be a number from `low` to `high`.

    Examples
    --------
    >>> number("p", 0.5)
    0.5
    """
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not low <= found <= high:
        raise UsageError(f"{name} is {shown(value)}", expected=f"a number from {low:g} to {high:g}")
    return found


def interval(weights: Any) -> Interval | None:
    """The bounds of weights: two integers of 32 bits, or two finite floats, the low one first; None stays None.

    Examples
    --------
    >>> interval((1, 255)), interval((0, 0.5))
    ((1, 255), (0.0, 0.5))
    """
    if weights is None:
        return None
    try:
        low, high = weights
    except (TypeError, ValueError):
        raise _bad_interval(weights) from None
    try:
        bounds: Interval = operator.index(low), operator.index(high)
        fits = -_INT32 <= bounds[0] <= bounds[1] < _INT32
    except TypeError:
        try:
            bounds = float(low), float(high)
        except (TypeError, ValueError, OverflowError):
            raise _bad_interval(weights) from None
        fits = bounds[0] <= bounds[1] and math.isfinite(bounds[1] - bounds[0])
    if not fits:
        raise _bad_interval(weights)
    return bounds


def _bad_interval(weights: Any) -> UsageError:
    return UsageError(
        f"weights is {shown(weights)}",
        expected="the lowest and the highest weight: two integers of 32 bits, or two finite floats",
        remedy="weights=(1, 255), or weights=(0.0, 1.0)",
    )


def spell(name: str, size: str, **options: tuple[Any, Any]) -> str:
    """The spec of a graph: each option is a value, and the value it has when nothing is said.

    Examples
    --------
    >>> spell("kron", "20", ef=(8, 16), seed=(1, 1), directed=(True, False), weights=((1, 255), None))
    'kron:20,ef=8,directed,weights=1-255'
    """
    return f"{name}:" + ",".join(filter(None, [size, *changed_options(**options)]))


def changed_options(**options: tuple[Any, Any]) -> list[str]:
    """The options that differ from what they are when nothing is said."""
    return [_spelled(key, value) for key, (value, usual) in options.items() if value != usual]


def _spelled(key: str, value: Any) -> str:
    if value is True:
        return key
    if value is False:
        return f"{key}=no"
    if isinstance(value, tuple):
        return f"{key}={value[0]}-{value[1]}"
    return f"{key}={value}"

"""Arithmetic on numbers where hardware, Python and NumPy differ, on cores and on GPUs alike: one result everywhere.

`define` gets the decorator that compiles an inner function (spmd/jit.py, gpu/kit.py), like reductions.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

__all__ = ["define"]

# The first float that is too large for a signed 64-bit integer, and the largest and smallest of these.
_BEYOND = 9223372036854775808.0
_LARGEST, _SMALLEST = np.int64(2**63 - 1), np.int64(-(2**63))


def define(inner: Callable[..., Any]) -> SimpleNamespace:
    """The functions, compiled by `inner`."""

    @inner
    def truncated(x: Any) -> Any:
        """``int(x)`` of a float: the nearest integer of 64 bits where it does not fit, 0 for NaN."""
        if x >= _BEYOND:
            return _LARGEST
        if x < -_BEYOND:
            return _SMALLEST
        if x != x:  # NaN
            return np.int64(0)
        return np.int64(x)

    @inner
    def floored(x: Any) -> Any:
        """``math.floor(x)`` of a float."""
        whole = truncated(x)
        return whole - np.int64(1) if np.float64(whole) > x and whole != _SMALLEST else whole

    @inner
    def raised(x: Any) -> Any:
        """``math.ceil(x)`` of a float."""
        whole = truncated(x)
        return whole + np.int64(1) if np.float64(whole) < x and whole != _LARGEST else whole

    @inner
    def rounded(x: Any) -> Any:
        """``round(x)`` of a float: the nearest integer, of two the even one."""
        whole = floored(x)
        rest = np.float64(x) - np.float64(whole)
        up = rest > 0.5 or (rest == 0.5 and whole & np.int64(1) == np.int64(1))
        return whole + np.int64(1) if up and whole != _LARGEST else whole

    @inner
    def remainder(x: Any, y: Any) -> Any:
        """``math.fmod(x, y)``, which has the sign of x."""
        rest = abs(x) % abs(y) if y != 0.0 else math.nan
        return math.copysign(rest, x)

    @inner
    def quotient(x: Any, y: Any) -> Any:
        """``x // y`` of integers with a sign: the smallest one by -1 is itself, where a processor traps."""
        if y == -1:
            return x if x == _SMALLEST else -x
        return x // y

    @inner
    def modulo(x: Any, y: Any) -> Any:
        """``x % y`` of integers with a sign: 0 by -1, where a processor traps for the smallest one."""
        return x % y if y != -1 else x - x

    @inner
    def power(base: Any, exponent: Any) -> Any:
        """``base ** exponent`` of a u64, by squaring, which wraps around; 0 for an exponent below 0."""
        made, square, left = np.uint64(1), base, exponent
        while left > 0:
            if left & 1:
                made = made * square
            square = square * square
            left = left >> 1
        return made if exponent >= 0 else np.uint64(0)

    @inner
    def compared(unsigned: Any, signed: Any) -> Any:
        """-1, 0 or 1: whether a u64 is less than, equal to or more than an integer with a sign."""
        if signed < 0:
            return 1
        other = np.uint64(signed)
        return np.int64(unsigned > other) - np.int64(unsigned < other)

    return SimpleNamespace(
        compared=compared, truncated=truncated, floored=floored, raised=raised, rounded=rounded,
        remainder=remainder, power=power, quotient=quotient, modulo=modulo,
    )  # fmt: skip

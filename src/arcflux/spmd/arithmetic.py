"""Arithmetic with the same results everywhere: numbers.py compiled for cores."""

from __future__ import annotations

from arcflux.spmd.jit import inner
from arcflux.spmd.numbers import define

__all__ = ["compared", "floored", "modulo", "power", "quotient", "raised", "remainder", "rounded", "truncated"]

_made = define(inner)
compared, truncated = _made.compared, _made.truncated
floored, power, raised = _made.floored, _made.power, _made.raised
modulo, quotient = _made.modulo, _made.quotient
remainder, rounded = _made.remainder, _made.rounded

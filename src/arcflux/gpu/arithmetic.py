"""Arithmetic with the same results everywhere: spmd/numbers.py compiled for a GPU; and `math` as of its hardware.

In the simulator kernels are Python. There `np` converts integers as hardware does, by their low bits, where NumPy
refuses those that do not fit; and `math` returns infinity and NaN, where Python's own raises.
"""

from __future__ import annotations

import math as _math
from typing import Any

import numpy as _numpy

from arcflux.compile.python.numbers import IEEE
from arcflux.gpu import api
from arcflux.gpu.kit import inner
from arcflux.spmd.numbers import define

__all__ = [
    "compared", "floored", "math", "modulo", "np", "power", "quotient", "raised", "remainder", "rounded", "truncated",
]  # fmt: skip

_made = define(inner)
compared, truncated = _made.compared, _made.truncated
floored, power, raised = _made.floored, _made.power, _made.raised
modulo, quotient = _made.modulo, _made.quotient
remainder, rounded = _made.remainder, _made.rounded


def _hardware(kind: Any) -> Any:
    """A NumPy integer type whose conversions keep the low bits; it also serves as a dtype."""
    limits, bits = _numpy.iinfo(kind), 8 * _numpy.dtype(kind).itemsize

    def convert(_: Any, value: Any) -> Any:
        if isinstance(value, (float, _numpy.floating)):
            return kind(value)
        raw = int(value) & ((1 << bits) - 1)
        return kind(raw if raw <= limits.max else raw - (1 << bits))

    return type(kind.__name__, (kind,), {"__new__": convert})


class _Numpy:
    """NumPy with the integer conversions of hardware."""

    def __getattr__(self, name: str) -> Any:
        function = getattr(_numpy, name)
        if isinstance(function, type) and issubclass(function, _numpy.integer):
            function = _hardware(function)
        setattr(self, name, function)
        return function


math: Any = IEEE if api.simulated() else _math
np: Any = _Numpy() if api.simulated() else _numpy

"""Arithmetic that is the same everywhere: what spmd/numbers.py says, on a GPU; and `math`, as its hardware has it."""

from __future__ import annotations

import math as _math
from typing import Any

from arcflux.compile.python_numbers import IEEE
from arcflux.gpu import api
from arcflux.gpu.kit import inner
from arcflux.spmd.numbers import define

__all__ = ["compared", "floored", "math", "power", "raised", "truncated"]

_made = define(inner)
compared, truncated = _made.compared, _made.truncated
floored, power, raised = _made.floored, _made.power, _made.raised
# In the simulator Python's own math would raise where hardware gives infinity or NaN.
math: Any = IEEE if api.simulated() else _math

"""Binary search in a sorted row, for kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.spmd.jit import inner

__all__ = ["lower_bound"]


@inner
def lower_bound(row: Any, low: Any, high: Any, wanted: Any) -> Any:
    """The first position from `low` to before `high` of a sorted row that is not below `wanted`; else `high`."""
    while low < high:
        middle = (low + high) >> np.uint64(1)
        if np.uint64(row[middle]) < np.uint64(wanted):
            low = middle + np.uint64(1)
        else:
            high = middle
    return low

"""Convert values from the user to the type of a field."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.errors import UsageError
from arcflux.spmd.memory import frozen

__all__ = ["fitting"]


def fitting(name: str, values: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Values as a read-only array of the field's type; values that the conversion would change are refused."""
    expected = f"{dtype} of shape {shape}"
    try:
        array = np.asarray(values, dtype if not np.size(values) else None)
    except (ValueError, TypeError) as error:  # rows of different lengths
        raise UsageError(f"{name} is given as values that are no array", expected=expected) from error
    kinds = {"b": "b", "f": "biuf"}.get(dtype.kind, "biu")
    if array.shape != shape or array.dtype.kind not in kinds:
        raise UsageError(f"{name} is given as {array.dtype} of shape {array.shape}", expected=expected)
    if array.dtype == dtype:
        return frozen(array)
    fitted = array.astype(dtype)
    if dtype.kind in "iu" and not np.array_equal(fitted, array):
        wrong = array[fitted != array].flat[0]
        raise UsageError(f"{name} is given as {wrong}, which is outside {dtype}", expected=expected)
    return fitted

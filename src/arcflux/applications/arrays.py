"""Arrays of vertices as applications take them: an array, or a file with one."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.errors import ArcfluxError, FormatError, SpaceError, UsageError
from arcflux.io.npy import read_npy

__all__ = ["numbers_of_vertices"]


def numbers_of_vertices(name: str, given: Any, vertices: int, columns: int | None = 1) -> NDArray[np.float64]:
    """Finite numbers for each vertex: float64[vertices], or with columns None float64[vertices, any].

    A path is that of a .npy file, or of text with a line for each vertex; as on the command line, it may begin with @.

    Examples
    --------
    >>> numbers_of_vertices("signal", [1, 2], 2)
    array([1., 2.])
    """
    try:
        values = np.asarray(_read(name, given) if isinstance(given, (str, os.PathLike)) else given)
    except ValueError as error:
        if isinstance(error, ArcfluxError):
            raise
        raise UsageError(f"{name} has rows of unequal lengths", expected="a number for each vertex") from None
    if values.dtype.kind not in "iufb":
        raise UsageError(f"{name} holds {values.dtype}", expected="numbers")
    wide = values.ndim == 2 if columns is None else values.ndim == 1
    if not wide or len(values) != vertices:
        shape = f"({vertices},)" if columns == 1 else f"({vertices}, how many you like)"
        raise UsageError(
            f"{name} has shape {values.shape}", expected=f"{shape}: a row for each vertex, in the order of graph.ids"
        )
    found = values.astype(np.float64)
    if not np.isfinite(found).all():
        bad = int(np.argmax(~np.isfinite(found).reshape(len(found), -1).all(1)))
        raise UsageError(f"{name} of vertex number {bad} is {values[bad]}", expected="finite numbers")
    return found


def _read(name: str, path: Any) -> NDArray[Any]:
    if str(path).startswith("@") and not os.path.exists(path):
        path = str(path)[1:]
    try:
        if str(path).endswith(".npy"):
            return read_npy(path)
        return np.loadtxt(path, ndmin=1)
    except SpaceError:
        raise
    except (OSError, ValueError) as error:
        why = "no such file" if isinstance(error, FileNotFoundError) else str(error)
        raise FormatError(f"{name}: {why}", path=path, expected="a .npy file, or text with a row a line") from error

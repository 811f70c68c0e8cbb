"""The parameters of a program: their kinds, and values that fit them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from arcflux.checks import array, real, shown, whole
from arcflux.errors import UsageError
from arcflux.field_type import FieldType

__all__ = ["Parameter", "parameter_value", "vertex", "vertices"]


class vertex:
    """As a parameter's type: the id of a vertex, as the user knows it. In a program it stands for a ``v.number``."""


class vertices:
    """As a parameter's type: ids of vertices, as the user knows them. A program asks ``v in p.sources``."""


@dataclass(frozen=True)
class Parameter:
    """A parameter: its kind (int, float, bool, vertex, vertices, or the type of an array's elements) and its value.

    A run may say another value. That of an array is a tuple, of vertices a tuple of ids.
    """

    kind: Any
    value: Any


def parameter_value(program: str, name: str, kind: type, value: Any) -> Any:
    """A value that a user gives a parameter, as the parameter keeps it."""
    said = f"{program}'s parameter {name}"
    if kind is vertex:
        return array(said, value)
    if kind is vertices:
        return _ids(said, value)
    if isinstance(kind, FieldType):
        return _elements(said, kind, value)
    if kind is bool:
        if isinstance(value, (bool, np.bool_)):
            return bool(value)
        raise UsageError(f"{said} is {shown(value)}", expected="a bool")
    number = value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value
    return {int: whole, float: real}[kind](said, number)


def _ids(said: str, value: Any) -> tuple[Any, ...]:
    """The ids of a set of vertices."""
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise UsageError(f"{said} is {shown(value)}", expected="ids of vertices, such as [3, 17]")
    return tuple(value.tolist() if isinstance(value, np.ndarray) else value)


def _elements(said: str, kind: FieldType, value: Any) -> tuple[Any, ...]:
    """The elements of an array, which have to fit its type."""
    wanted = f"{kind.length} numbers of {kind.name}"
    rows = 1
    if kind.columns is not None:
        rows = int(kind.length or 0) // kind.columns
        wanted = f"{rows} rows of {kind.columns} numbers of {kind.name}"
    try:
        found = np.asarray(value if isinstance(value, np.ndarray) else list(value))
    except (TypeError, ValueError):
        raise UsageError(f"{said} is {shown(value)}", expected=wanted) from None
    kinds = {"b": "b", "f": "biuf"}.get(kind.dtype.kind, "biu")
    right = found.shape == ((kind.length,) if kind.columns is None else (rows, kind.columns))
    right = right or (isinstance(kind.length, str) and found.ndim == 1 and found.size > 0)
    if found.dtype.kind not in kinds or not right:
        raise UsageError(f"{said} is {shown(value)}", expected=wanted)
    fitted = found.astype(kind.dtype)
    if kind.dtype.kind in "iu" and not np.array_equal(fitted, found):
        raise UsageError(f"{said} is {shown(value)}", expected=wanted)
    return tuple(fitted.ravel().tolist())

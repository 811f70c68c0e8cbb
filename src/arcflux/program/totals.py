"""Totals as they are declared: a value over all vertices, and the operations that each type can be reduced by."""

from __future__ import annotations

from dataclasses import dataclass

from arcflux.field_type import FieldType

__all__ = ["TOTALLED", "Total", "total"]


@dataclass(frozen=True)
class Total:
    """What a program reduces over all vertices in a superstep, and by which operation."""

    type: FieldType
    operation: str = "sum"

    def __repr__(self) -> str:
        return f"total({self.type})" if self.operation == "sum" else f"total({self.type}, {self.operation!r})"


# The types of totals, and the operations that each can be reduced by.
TOTALLED = {
    "f64": ("sum", "min", "max"),
    "i64": ("sum", "min", "max", "or", "and"),
    "u64": ("sum", "min", "max", "or", "and"),
    "flag": ("or", "and"),
}


def total(kind: FieldType, operation: str = "sum") -> Total:
    """As a declared type: a value over all vertices, such as ``lost: af.total(af.f64)``.

    `operation` is "sum", "min", "max", "or" or "and". `start` and `update` contribute to it (``g.lost += v.rank``); the
    next superstep reads it, as ``g.lost``.

    Examples
    --------
    >>> import arcflux as af
    >>> af.total(af.f64), af.total(af.i64[4], "max")
    (total(f64), total(i64[4], 'max'))
    """
    return Total(kind, operation)

"""The types of what a program keeps: numbers, flags and references, single or in vectors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from arcflux.errors import UsageError

__all__ = [
    "REF32", "TYPES", "FieldType", "f32", "f64", "flag", "i8", "i16", "i32", "i64", "ref", "u8", "u16", "u32", "u64",
]  # fmt: skip


@dataclass(frozen=True)
class FieldType:
    """The type of a vertex field: a scalar, or with a length a vector. A parameter may be a matrix, row by row.

    Examples
    --------
    >>> import arcflux as af
    >>> af.f32[8], af.f64[2, 3]
    (f32[8], f64[2, 3])
    """

    name: str
    dtype: np.dtype[Any]
    length: int | str | None = None
    columns: int | None = None

    def __getitem__(self, length: int | str | tuple[int, int]) -> FieldType:
        if isinstance(length, tuple) and len(length) == 2 and all(isinstance(n, int) and n > 0 for n in length):
            return replace(self, length=length[0] * length[1], columns=length[1])
        if not (isinstance(length, str) and length.isidentifier()) and not (isinstance(length, int) and length > 0):
            raise UsageError(
                f"a vector of length {length!r}", expected="a positive whole number, or the name of a parameter"
            )
        return replace(self, length=length, columns=None)

    def __repr__(self) -> str:
        if self.length is None:
            return self.name
        rows = f"{int(self.length) // self.columns}, {self.columns}" if self.columns else self.length
        return f"{self.name}[{rows}]"


TYPES = {
    name: FieldType(name, np.dtype(kind))
    for name, kind in {
        "f32": np.float32, "f64": np.float64, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
        "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "flag": np.bool_, "ref": np.int64,
    }.items()
}  # fmt: skip


f32, f64, flag = TYPES["f32"], TYPES["f64"], TYPES["flag"]
ref = TYPES["ref"]  # the number of another vertex, or -1: results show its id
REF32 = FieldType("ref", np.dtype(np.int32))  # where numbers are small enough
i8, i16, i32, i64 = (TYPES[name] for name in ("i8", "i16", "i32", "i64"))
u8, u16, u32, u64 = (TYPES[name] for name in ("u8", "u16", "u32", "u64"))

"""Vectors as values of the CPU's kernels; see lane_values.py."""

from __future__ import annotations

from types import SimpleNamespace

from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, register_model

from arcflux.spmd.lane_values import Lanes, define

__all__ = [
    "Lanes",
    "as_boolean",
    "as_float32",
    "as_float64",
    "as_int64",
    "as_uint64",
    "copied",
    "keep",
    "larger",
    "load",
    "magnitude",
    "put",
    "smaller",
    "total",
]

_made = define(
    SimpleNamespace(
        cgutils=cgutils, models=models, AbstractTemplate=AbstractTemplate, infer_global=infer_global,
        signature=signature, intrinsic=intrinsic, lower_builtin=lower_builtin, register_model=register_model,
    )
)  # fmt: skip
as_boolean, as_float32, as_float64 = _made.as_boolean, _made.as_float32, _made.as_float64
as_int64, as_uint64 = _made.as_int64, _made.as_uint64
keep, larger, load, magnitude = _made.keep, _made.larger, _made.load, _made.magnitude
copied, put, smaller, total = _made.copied, _made.put, _made.smaller, _made.total

"""Random numbers of programs: spmd/counter.py compiled for a GPU."""

from __future__ import annotations

from arcflux.gpu.kit import inner
from arcflux.spmd.counter import define

__all__ = ["random_between", "random_of"]

_made = define(inner)
random_between, random_of = _made.random_between, _made.random_of

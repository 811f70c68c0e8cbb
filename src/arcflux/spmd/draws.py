"""Random numbers of programs: counter.py compiled for cores."""

from __future__ import annotations

from arcflux.spmd.counter import define
from arcflux.spmd.jit import inner

__all__ = ["random_between", "random_of"]

_made = define(inner)
random_between, random_of = _made.random_between, _made.random_of

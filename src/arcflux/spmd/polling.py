"""How a long loop of a user's program notices that the run should end: it polls the control array."""

from __future__ import annotations

from typing import Any

from arcflux.spmd.barrier import load_acquire
from arcflux.spmd.jit import fragment
from arcflux.spmd.pool import STOP, TORN

__all__ = ["halted", "patience"]

# Iterations between two polls: microseconds of work, against which a poll costs nothing.
_ROUNDS = 1 << 16


@fragment
def patience(control: Any) -> Any:
    """How many iterations a function's loops may run before polling; none if the run should end already."""
    return 0 if load_acquire(control, STOP) != 0 else _ROUNDS


@fragment
def halted(control: Any) -> Any:
    """Whether the run should end. It also marks the superstep as torn: an interrupted loop makes it worthless."""
    if load_acquire(control, STOP) != 0:  # LLVM would move a plain load out of the loop
        control[TORN] = 1
        return True
    return False

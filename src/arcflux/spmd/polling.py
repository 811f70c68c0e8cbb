"""How a long loop of a user's program notices that the run should end: now and then it looks at the control array."""

from __future__ import annotations

from typing import Any

from arcflux.spmd.barrier import load_acquire
from arcflux.spmd.jit import fragment
from arcflux.spmd.pool import STOP, TORN

__all__ = ["halted", "patience"]

# Rounds between two looks: microseconds of work, against which a look costs nothing.
_ROUNDS = 1 << 16


@fragment
def patience(control: Any) -> Any:
    """How many rounds a function's loops may go on before they look; none when the run should end already."""
    return 0 if load_acquire(control, STOP) != 0 else _ROUNDS


@fragment
def halted(control: Any) -> Any:
    """Whether the run should end. A loop that is left for it makes the superstep worthless, which is said here."""
    if load_acquire(control, STOP) != 0:  # a plain load LLVM would move out of the loop
        control[TORN] = 1
        return True
    return False

"""Numba without its search for BLAS, which imports scipy.linalg: a quarter of a second at the start of every process.

Numba checks for BLAS when it compiles or loads its first function, in case there will be a dot product, and again when
it compiles one. Here the first check is skipped, since scipy is installed, and the second is left.
"""

from __future__ import annotations

import sys
from contextlib import suppress

__all__ = ["look_later"]


def look_later() -> None:
    """Import the part of Numba that checks, without the check. Does nothing if too late, or if Numba has no check."""
    if "numba.np.arraymath" in sys.modules:
        return
    with suppress(ImportError, AttributeError):
        from numba.np import linalg

        look = linalg.ensure_blas
        linalg.ensure_blas = lambda: None
        try:
            import numba.np.arraymath  # noqa: F401
        finally:
            linalg.ensure_blas = look

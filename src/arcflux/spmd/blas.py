"""Numba without its look for BLAS: that imports scipy.linalg, a quarter of a second at the start of every process.

Numba looks when it compiles, or finds compiled, its first function, to know whether there will be a dot product; and
once more when one is compiled. Here it takes the first as given, since scipy is there, and looks when it has to.
"""

from __future__ import annotations

import sys
from contextlib import suppress

__all__ = ["look_later"]


def look_later() -> None:
    """Import the part of Numba that looks, without looking. Too late, or for a Numba that does not, it does nothing."""
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

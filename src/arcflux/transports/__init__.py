"""How ranks communicate: threads of one process (local.py), or processes of a cluster (mpi.py).

base.py is the interface of a rank to the others, collectives.py implements the collective calls, board.py has what the
ranks of a node know about each other. Nothing here depends on graphs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from arcflux.lazy import import_lazily

if TYPE_CHECKING:
    from arcflux.transports.base import Counts, Transport
    from arcflux.transports.launch import current
    from arcflux.transports.local import run_local

__all__ = ["Counts", "Transport", "current", "run_local"]

import_lazily(
    __name__,
    {
        "base": "Counts Transport",
        "launch": "current",
        "local": "run_local",
    },
)

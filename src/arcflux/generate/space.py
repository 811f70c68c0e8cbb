"""Whether a graph fits: asked before the first byte is generated, not when the system runs out."""

from __future__ import annotations

import os
from pathlib import Path

from arcflux.errors import SpaceError
from arcflux.trace import readable

__all__ = ["afford", "available"]

# What a process can address, for systems that do not say what they have.
_ADDRESSABLE = 1 << 47


def available() -> int:
    """Bytes of memory that the system would give now.

    Examples
    --------
    >>> available() > 0
    True
    """
    return min(_free(), _granted())


def _free() -> int:
    """What the machine has to give."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    except (OSError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return _ADDRESSABLE


def _granted() -> int:
    """What a container lets its processes have."""
    try:
        return int(Path("/sys/fs/cgroup/memory.max").read_text())
    except (OSError, ValueError):  # no container, or "max"
        return _ADDRESSABLE


def afford(name: str, vertices: int, edges: int, needed: int) -> None:
    """Refuse a graph that needs more bytes than there are."""
    there = available()
    if needed > there:
        raise SpaceError(
            f"{name} has {vertices:,} vertices and {edges:,} edges; generating it needs {needed:,} bytes of memory"
            f" ({readable(needed)}), and {readable(there)} are available",
            remedy="a smaller graph, or a machine with more memory",
        )

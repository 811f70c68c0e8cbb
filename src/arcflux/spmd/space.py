"""How much memory is available: checked before allocating, not when the system runs out.

A few bytes can promise any size: a spec, a header, a compressed file. Code that allocates arrays of a size from outside
calls :func:`afford` first. Available is the least of the machine's free memory, what the control groups of this process
still grant (version 1 and 2, each of them and those above it), and its own limit of address space.
"""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path

from arcflux.errors import SpaceError
from arcflux.trace import readable

__all__ = ["afford", "available", "surely_available"]

# What a process can address, for systems that do not report their memory.
_ADDRESSABLE = 1 << 47
# Smaller sizes are not checked: reading the system's figures takes longer than using so little.
_SMALL = 1 << 20
_GROUPS = Path("/sys/fs/cgroup")
# From this size on, using the memory takes longer than reading the system's figures.
_MUCH = 1 << 26
# The system's figures are valid for so many seconds; a core fills at most so many bytes of memory in one of them.
_MOMENT, _FILLED, _CORES = 1.0, 8 << 30, os.cpu_count() or 1
# When the system was last asked for short runs, and how much of its answer they have left since.
_answer = -_MOMENT, 0


def available() -> int:
    """Bytes of memory that the system would provide now.

    Examples
    --------
    >>> available() > 0
    True
    """
    return max(0, min(_free(), _granted(), _addressable()))


def afford(needed: int, what: str, remedy: str = "a smaller graph, or a machine with more memory") -> None:
    """Refuse an allocation that needs more bytes than are available; `what` names it in the error.

    Examples
    --------
    >>> try:
    ...     afford(10**15, "the table")
    ... except SpaceError as error:
    ...     print(error.what[:66])
    the table needs 1,000,000,000,000,000 bytes of memory (909.5 TiB),
    """
    if needed < _SMALL:
        return
    there = available()
    if needed > there:
        raise SpaceError(
            f"{what} needs {needed:,} bytes of memory ({readable(needed)}), and {readable(there)} are available",
            remedy=remedy,
        )


def surely_available(needed: int) -> bool:
    """Whether so few bytes are available, even if all cores have filled memory since the last check.

    For checks that happen thousands of times: asking the system takes as long as a short run. False means unknown.

    Examples
    --------
    >>> surely_available(1 << 40)
    False
    """
    global _answer
    if needed > _MUCH:
        return False
    now = time.monotonic()
    when, there = _answer
    if now - when > _MOMENT:
        when, there = now, available()
    filled = (now - when) * _FILLED * _CORES
    _answer = when, there - needed
    return needed <= there - filled


def _free() -> int:
    """The free memory of the machine."""
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


def _addressable() -> int:
    """What the limit of address space (``ulimit -v``) leaves."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return _ADDRESSABLE
    try:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        used = 0
    return limit - used


def _granted() -> int:
    """What the control groups of this process grant."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        lines = []
    granted = _ADDRESSABLE
    for fields in (line.split(":", 2) for line in lines):
        if len(fields) == 3 and fields[0] == "0":
            granted = min(granted, _left(_GROUPS, fields[2], "memory.max", "memory.current", "inactive_file"))
        elif len(fields) == 3 and "memory" in fields[1].split(","):
            names = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
            granted = min(granted, _left(_GROUPS / "memory", fields[2], *names))
    return granted


def _left(root: Path, group: str, limit: str, usage: str, cache: str) -> int:
    """What a group, and each one above it, has left; the page cache counts as free.

    In a container the group's own folder may be the visible root.
    """
    least, folder = _ADDRESSABLE, root / group.strip("/")
    for place in (folder, *(above for above in folder.parents if above.is_relative_to(root))):
        try:
            granted, used = int((place / limit).read_text()), int((place / usage).read_text())
        except (OSError, ValueError):  # not there, or "max"
            continue
        least = min(least, granted - used + _cached(place / "memory.stat", cache))
    return least


def _cached(statistics: Path, name: str) -> int:
    try:
        rows = (line.split() for line in statistics.read_text().splitlines())
        return next((int(row[1]) for row in rows if len(row) == 2 and row[0] == name), 0)
    except (OSError, ValueError):
        return 0

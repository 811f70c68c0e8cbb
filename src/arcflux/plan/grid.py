"""MapGraph's search on a grid of devices: the cost of its bitmaps, C = ε S log p (section V).

In each level, each device sends bitmaps of S = V / (8 p) bytes: log p times in the scan of its column, log p times in
the broadcast down the column, log p times in the one along the row. So ε is three times the levels over the bandwidth
between devices. Each message also has a latency, and a kernel on either side; so has the count of the frontier, which
is reduced over all devices and broadcast. Only the expansion shrinks with p.
"""

from __future__ import annotations

import math

from arcflux.plan.lux import Phases
from arcflux.plan.profile import Profile
from arcflux.plan.shape import Shape

__all__ = ["growth", "search", "sides"]


def sides(devices: int) -> tuple[int, int] | None:
    """Rows and columns of the most nearly square grid of the devices; None where that is a line.

    Examples
    --------
    >>> sides(64), sides(12), sides(7)
    ((8, 8), (3, 4), None)
    """
    rows = next(k for k in range(math.isqrt(devices), 0, -1) if devices % k == 0)
    return (rows, devices // rows) if rows > 1 or devices == 1 else None


def search(
    profile: Profile, shape: Shape, devices: int, rate: float, *, scan: str = "log"
) -> tuple[Phases, float] | None:
    """Phases of a whole search, and the bytes that all devices send; `rate` is arcs per second of one device."""
    grid = sides(devices)
    if grid is None:
        return None
    rows, columns = grid
    down, across = math.log2(rows), math.log2(columns)
    steps = (down if scan == "log" else rows - 1) + down  # the scan of a column, and the broadcast down it
    once = steps * shape.vertices / (8 * columns) + across * shape.vertices / (8 * rows)
    messages = steps + across + 2 * math.log2(devices)
    link = min(profile.device_network or math.inf, profile.network or profile.peer or profile.host)
    transfer = shape.depth * once / link
    wait = shape.depth * messages * (profile.network_latency + 2 * profile.launch)
    return Phases(0.0, shape.arcs / devices / rate, transfer, wait), shape.depth * once * devices


def growth(p: int) -> float:
    """The cost of bitmaps on a grid with sides 2 p over one with sides p, arcs per device constant (figure 8).

    Examples
    --------
    >>> growth(2), growth(4)
    (4.0, 3.0)
    """
    return 2 * math.log2(2 * p) / math.log2(p)

"""A run of this machine on fewer threads, on parts, on several nodes, or on devices of unequal speed.

Parts of one node are workers that see everything, so they are threads. Parts on several nodes tell each other what
changed. What that takes was measured for some programs (parted.py); for others, each superstep the sum of UDS crosses
(exchange.py), as fast as messages between processes were measured to be.
On devices of unequal speed, a superstep takes as long as all of them need together once the split follows their speeds:
work over the sum of speeds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from arcflux import config
from arcflux.errors import UsageError
from arcflux.plan.calibrate import Calibration
from arcflux.plan.exchange import volumes
from arcflux.plan.shape import Shape
from arcflux.plan.way import Way
from arcflux.plan.work import Work

__all__ = ["Placed", "on_nodes", "with_speeds"]


@dataclass(frozen=True)
class Placed:
    """On what a run is: threads, or parts on nodes; None: whatever is best."""

    threads: int | None = None
    parts: int | None = None
    nodes: int = 1
    speeds: tuple[float, ...] = ()
    transport: str = "local"

    @classmethod
    def checked(cls, threads: Any, parts: Any, nodes: Any, speeds: Any) -> Placed:
        """The same, if it makes sense."""
        for name, count in (("threads", threads), ("parts", parts), ("nodes", nodes)):
            if count is None and name != "nodes":
                continue
            if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= 4096:
                raise UsageError(f"{name} is {count!r}", expected="a whole number from 1 to 4096")
        fast = _speeds(speeds)
        parts = len(fast) if fast and parts is None else parts
        if fast and len(fast) != parts:
            raise UsageError(f"there are {parts} parts and {len(fast)} speeds", expected="one for each part")
        if threads is not None and parts is not None:
            raise UsageError("threads and parts are both given", expected="one of them: a part is the work of a thread")
        if nodes > 1 and (parts is None or parts < nodes):
            raise UsageError(f"there are {nodes} nodes and {parts or 'no'} parts", expected="a part for each node")
        return cls(threads, parts, nodes, fast)

    def counts(self) -> list[int]:
        """How many workers to look at: those asked for, or one, all, and powers of two in between."""
        most = config.threads(self.threads)
        if self.parts is not None:
            return [min(self.parts, config.cores())]
        if self.threads is not None:
            return [most]
        return sorted({most, *(1 << k for k in range(most.bit_length()) if 1 << k <= most)}, reverse=True)


def _speeds(given: Any) -> tuple[float, ...]:
    if given is None:
        return ()
    try:
        found = tuple(float(one) for one in given)
    except (TypeError, ValueError):
        found = ()
    if not found or not all(math.isfinite(one) and one > 0 for one in found):
        raise UsageError(f"speeds is {given!r}", expected="a positive number for each part, such as [1, 1, 0.5]")
    return found


def on_nodes(way: Way, work: Work, shape: Shape, nodes: int, found: Calibration, visits: float) -> tuple[Way, float]:
    """The way with what nodes tell each other, and the bytes that cross."""
    if nodes == 1:
        return way, 0.0
    between = found.exchange.get("mpi") or found.exchange["local"]
    least = volumes(shape, nodes, work.value)[0]
    crossing = least.bytes * visits
    steps = max(1.0, way.supersteps)
    # Two meetings a superstep: when all have read, and when all say how much changed.
    seconds = crossing / between["bandwidth"] / nodes + steps * (least.messages + 2) * between["latency"]
    return _longer(way, {**way.phases, "transfer": seconds}, way.name), crossing


def with_speeds(way: Way, speeds: Sequence[float], workers: int) -> Way:
    """The way on devices of unequal speed, split as they are fast; `workers` is for how many equal ones it is."""
    if not speeds:
        return way
    factor = workers / sum(speeds)
    moving = ("update", "compute", "load")
    return _longer(way, {name: t * factor if name in moving else t for name, t in way.phases.items()}, way.name)


def _longer(way: Way, phases: dict[str, float], name: str) -> Way:
    seconds = sum(phases.values())
    scale = seconds / way.seconds if way.seconds else 1.0
    return replace(way, name=name, seconds=seconds, low=way.low * scale, high=way.high * scale, phases=phases)

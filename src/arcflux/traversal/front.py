"""The call: which runs are searched this way, and the search as a result."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from arcflux.devices import Device, Virtual
from arcflux.devices.choose import read
from arcflux.engine.call import note_interrupt
from arcflux.engine.front import checked_options, warn_unless_converged
from arcflux.engine.spread import Spread, on_ranks, pressed_anywhere
from arcflux.errors import UsageError
from arcflux.gpu.room import working
from arcflux.graph import Graph
from arcflux.partition.grid import shape
from arcflux.partition.parts import Parts
from arcflux.progress import watching
from arcflux.result import Result
from arcflux.spmd.interrupt import held
from arcflux.transports.base import Transport
from arcflux.traversal.block import whole_grid
from arcflux.traversal.scan import SCANS
from arcflux.traversal.search import Found, Search

__all__ = ["grid_bfs", "searched_on_grid"]

_SPREAD = ("parts", "partition", "transport", "ranks_per_node")
# What the other options may be: as good as not given.
_PLAIN = {
    "exchange": ("auto",),
    "threads": (1,),
    "deterministic": (False,),
    "debug": (False,),
    "rebalance": ("auto", "off"),
}
_TAKEN = (*_SPREAD, "direction", "max_supersteps", "timeout", "progress", "devices")


def searched_on_grid(options: Mapping[str, Any]) -> bool:
    """Whether a search with these options of :func:`arcflux.run` is one on a grid: nothing else is asked of it.

    Examples
    --------
    >>> searched_on_grid({"parts": 4, "partition": "grid"}), searched_on_grid({"parts": 4})
    (True, False)
    >>> searched_on_grid({"parts": 7, "partition": "grid"})  # a cell too many
    False
    """
    if not all(name in _TAKEN or value is None or value in _PLAIN.get(name, ()) for name, value in options.items()):
        return False
    if not _searching(options.get("devices")):
        return False
    parts = options.get("parts")
    if isinstance(parts, Parts):
        return parts.how == "grid" and _whole(parts.k)
    spread = Spread(**{name: options[name] for name in _SPREAD if name in options})
    if spread.partition != "grid":
        return False
    if parts is None and spread.ranks() is None:
        spread = spread.on(options.get("devices"), 1)  # a part for each
    if not spread.wanted:
        return False
    if parts is None:
        ranks = spread.ranks()
        parts = ranks.size if ranks is not None else len(spread.devices or [0])
    return not isinstance(parts, int) or parts < 1 or _whole(parts)  # what is no count is refused later


def _searching(devices: str | Sequence[Device] | None) -> bool:
    """Whether these devices search by bitmaps: GPUs, with cores beside them or not; others are the engine's."""
    if devices is None:
        return True
    if isinstance(devices, str):
        return read(devices).cuda
    pretended = any(isinstance(device, Virtual) for device in devices)
    return not pretended and not all(device.buckets for device in devices)


def _whole(k: int) -> bool:
    rows, columns = shape(k)
    return rows * columns == k


def grid_bfs(graph: Graph, source: Any, scan: str = "log", **options: Any) -> Result:
    """Search breadth-first from the vertex with id `source` on a grid of parts; see :func:`arcflux.bfs`.

    Examples
    --------
    >>> import arcflux as af
    >>> result = grid_bfs(af.load("path:6"), 2, parts=4, partition="grid")
    >>> result["level"].tolist(), result["parent"].tolist()
    ([2, 1, 0, 1, 2, 3], [1, 2, 2, 2, 3, 4])
    """
    if scan not in SCANS:
        raise UsageError(f"scan is {scan!r}", expected=" or ".join(map(repr, SCANS)))
    if not searched_on_grid(options):
        raise UsageError(
            "scan= says how a search on a grid goes, and this is none, or other options are in its way",
            expected="parts= with the square of a number or a product of two, and partition='grid'",
            remedy="parts=4, partition='grid', or leave scan= out",
        )
    spread = Spread(**{name: options[name] for name in _SPREAD if name in options}).checked()
    spread = spread.on(options.get("devices"), 1)
    taken = checked_options(options.get("direction", "auto"), 1, options.get("max_supersteps"), options.get("timeout"))
    root = int(graph.ids.to_numbers([source])[0])
    until = None if taken.timeout is None else time.perf_counter() + taken.timeout

    def over(pressed: Callable[[], bool]) -> bool:
        return pressed() or (until is not None and time.perf_counter() > until)

    def work(transport: Transport, parts: Parts, pressed: Callable[[], bool]) -> Found:
        setting = transport, whole_grid(parts), root, scan, taken
        device = None if spread.devices is None else spread.devices[transport.rank]
        if device is None or device.buckets:
            return Search(*setting).run(lambda: over(pressed))
        with working(device) as room:
            return Search(*setting, room).run(lambda: over(pressed))

    with watching(options.get("progress")), held() as pressed:
        found = on_ranks(spread, graph, lambda transport, parts: work(transport, parts, pressed))
        if pressed_anywhere(spread.ranks(), pressed()):
            note_interrupt()
    values = {"level": found.level, "parent": found.parent}
    times = found.seconds, found.compile_seconds
    result = Result("BFS", graph, values, found.history, found.finished, *times, frozenset(["parent"]))
    warn_unless_converged(result)
    return result

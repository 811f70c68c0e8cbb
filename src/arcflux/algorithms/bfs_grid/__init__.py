"""MapGraph's traversal: breadth-first search with bitmaps on a grid of p x q parts.

This file has the call: which runs are searched this way, and the search as a result. search.py has the superstep
(expand, contract, levels, predecessors), scan.py the OR-scan down a column in log p steps or in a wave, block.py a
worker's cell, groups.py its column and its row; cpu.py and cuda.py process its arcs; check.py is the paper's own
validation.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from arcflux.algorithms.bfs_grid.block import whole_grid
from arcflux.algorithms.bfs_grid.scan import SCANS
from arcflux.algorithms.bfs_grid.search import Found, Search
from arcflux.devices import Device
from arcflux.devices.choose import read
from arcflux.engine.call import note_interrupt
from arcflux.engine.front import checked_options, warn_unless_converged
from arcflux.engine.launch import launch_on_parts
from arcflux.engine.spread import Spread, pressed_anywhere
from arcflux.engine.worker import Worker
from arcflux.errors import UsageError
from arcflux.graph import Graph
from arcflux.partition.grid import shape
from arcflux.partition.parts import Parts
from arcflux.progress import watching
from arcflux.result import Result
from arcflux.spmd.interrupt import held

__all__ = ["grid_bfs", "searched_on_grid"]

_SPREAD = ("parts", "partition", "transport", "ranks_per_node")
# Values of other options that count as not given.
_PLAIN = {
    "exchange": ("auto",),
    "threads": (1,),
    "deterministic": (False,),
    "debug": (False,),
    "rebalance": ("auto", "off"),
}
_TAKEN = (*_SPREAD, "direction", "max_supersteps", "timeout", "progress", "devices")


def searched_on_grid(options: Mapping[str, Any]) -> bool:
    """Whether a search with these options of :func:`arcflux.run` is one on a grid: no other option is set.

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
    return not isinstance(parts, int) or parts < 1 or _whole(parts)  # an invalid count is refused later


def _searching(devices: str | Sequence[Device] | None) -> bool:
    """Whether these devices search by bitmaps: GPUs, with or without cores; others use the engine."""
    if devices is None:
        return True
    if isinstance(devices, str):
        return read(devices).cuda
    kinds = {device.kind for device in devices}
    return "cuda" in kinds and "virtual" not in kinds


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

    def work(worker: Worker, parts: Parts, pressed: Callable[[], bool]) -> Found:
        return Search(worker, whole_grid(parts), root, scan, taken).run(lambda: over(pressed))

    with watching(options.get("progress")), held() as pressed:
        found = launch_on_parts(spread, graph, lambda worker, parts: work(worker, parts, pressed))
        if pressed_anywhere(spread.ranks(), pressed()):
            note_interrupt()
    values = {"level": found.level, "parent": found.parent}
    times = found.seconds, found.compile_seconds
    result = Result("BFS", graph, values, found.history, found.finished, *times, frozenset(["parent"]))
    warn_unless_converged(result)
    return result

"""The capability of a kind of worker: 1 / t, where t is the seconds of a set of tasks on it (G2, section IV-B, line 4).

The tasks are those of G2's evaluation that every kind of worker runs: PageRank, BFS, shortest paths. Measurements are
stored beside the calibration of this machine, by kind of worker.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from arcflux import config
from arcflux.devices.base import Device
from arcflux.graph import Graph
from arcflux.io import load
from arcflux.plan.journal import file_stem, machine
from arcflux.spmd.private import read_private, write_private

__all__ = ["TASKS", "capability", "kept_capabilities"]

TASKS = ("pagerank", "bfs", "sssp")
_GRAPH = "kron:14,weights=1-255"
_TIMES = 3


def _file() -> Path:
    return config.cache_folder("calibration") / f"capability-{file_stem()}.json"


def kept_capabilities() -> dict[str, float]:
    """The earlier measurements on this machine, by kind of worker."""
    try:
        capabilities = json.loads(read_private(_file()) or b"{}")
        known = {str(kind): float(value) for kind, value in capabilities.get("capabilities", {}).items()}
    except (ValueError, TypeError, AttributeError, RecursionError):
        return {}
    return known if capabilities.get("machine") == machine() else {}


def capability(
    kind: str, devices: Sequence[Device] | None = None, *, graph: Graph | None = None, threads: int | None = None,
    again: bool = False,
) -> float:  # fmt: skip
    """The capability of a kind of worker in tasks a second: an earlier measurement, or a new one.

    `devices`: what runs the tasks; cores by default. `graph`: the graph to run them on; then the result is not stored.
    """
    if graph is None and not again and (kept := kept_capabilities().get(kind)) is not None:
        return kept
    value = 1.0 / _seconds(graph or load(_GRAPH), devices, threads)
    if graph is None:
        known = {**kept_capabilities(), kind: value}
        write_private(_file(), json.dumps({"machine": machine(), "capabilities": known}).encode())
    return value


def _seconds(graph: Graph, devices: Sequence[Device] | None, threads: int | None) -> float:
    """The seconds of all tasks, the best of several runs of each, after one run that compiles."""
    options: dict[str, Any] = {"threads": threads} if devices is None else {"devices": list(devices)}
    total = 0.0
    with config.measuring():
        for name in TASKS:
            _run(name, graph, options)
            times = []
            for _ in range(_TIMES):
                begun = time.perf_counter()
                _run(name, graph, options)
                times.append(time.perf_counter() - begun)
            total += min(times)
    return total


def _run(name: str, graph: Graph, options: dict[str, Any]) -> None:
    from arcflux import algorithms, run

    program: Any = {"pagerank": algorithms.PageRank, "bfs": algorithms.BFS, "sssp": algorithms.SSSP}[name]
    parameters = {} if name == "pagerank" else {"source": graph.ids.to_ids()[0]}
    run(program, graph, **parameters, **options)

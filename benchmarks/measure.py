"""What the benchmarks share: interleaved medians, a table for people, JSON for machines, the machine's description."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any


def interleaved(candidates: dict[str, Callable[[], Any]], repeats: int, slow: float = 8.0) -> dict[str, list[float]]:
    """Seconds of each candidate, round after round, so that a noisy minute hits all of them.

    One round is a warm-up. A candidate that takes longer than `slow` seconds is run twice and left at that.
    """
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for turn in range(repeats + 1):
        for name, run in candidates.items():
            if turn > 1 and seconds[name][0] > slow:
                continue
            begun = time.perf_counter()
            result = run()
            taken = time.perf_counter() - begun
            del result
            if turn or taken > slow:
                seconds[name].append(taken)
    return seconds


def rounds(candidates: dict[str, Callable[[], float]], repeats: int) -> dict[str, list[float]]:
    """As :func:`interleaved`, for candidates that take their own time and return the seconds."""
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for turn in range(repeats + 1):
        for name, run in candidates.items():
            taken = run()
            if turn:
                seconds[name].append(taken)
    return seconds


def report(
    title: str, seconds: dict[str, list[float]], ours: str, extra: dict[str, str] | None = None, unit: str = "s"
) -> dict[str, Any]:
    """Print a table of medians and of how many times slower each is than `ours`; return it for the JSON."""
    base = statistics.median(seconds[ours])
    scale = {"s": 1, "ms": 1000}[unit]
    print(f"\n{title}")
    rows = {}
    for name, taken in seconds.items():
        middle = statistics.median(taken)
        rows[name] = {"median": middle, "all": taken, "times_ours": middle / base}
        more = (extra or {}).get(name, "")
        spread = f"{min(taken) * scale:.3f}-{max(taken) * scale:.3f}"
        runs = f"({spread}, {len(taken)} runs)"
        print(f"  {name:<28} {middle * scale:9.3f} {unit:<2} x {middle / base:6.2f}   {runs} {more}")
    return rows


def child(code: str, *arguments: str, **environment: str) -> Any:
    """Run Python code in a process of its own, with more in its environment; its last line of output is JSON."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], check=True, capture_output=True, text=True,
        env={**os.environ, "ARCFLUX_QUIET": "1", **environment},
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def machine() -> dict[str, Any]:
    """What the numbers were measured on."""
    from arcflux.doctor import examine

    found = examine()
    peers = ("pandas", "polars", "networkit", "igraph", "scipy", "python-graphblas", "pyarrow", "numba", "numpy")
    return {
        "cpu": found["devices"]["cpu"],
        "memory_bytes": found["memory_bytes"]["total"],
        "platform": platform.platform(),
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in peers},
        "load_average": os.getloadavg(),
    }


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def save(where: str | Path, results: dict[str, Any]) -> None:
    """Write results to a file, which ends in .json; to results/NAME.json when only a name is given."""
    path = Path(where) if isinstance(where, Path) or where.endswith(".json") else Path("results") / f"{where}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"machine": machine(), **results}, indent=1))
    print(f"\nwritten: {path}")

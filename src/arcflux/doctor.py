"""What this machine has for Arcflux: packages, devices, threads, memory, cache, and what would make it faster."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

from arcflux import __version__, config
from arcflux.errors import ArcfluxError
from arcflux.trace import readable

__all__ = ["available_memory", "examine", "text"]

_CORE = ("numpy", "scipy", "numba", "llvmlite", "pyarrow", "rich", "click")
_EXTRAS = {
    "mpi": ("mpi4py",),
    "cuda": ("numba-cuda",),
    "nccl": ("nccl4py",),
    "partition": ("pymetis",),
    "networkx": ("networkx",),
    "spark": ("pyspark", "pandas"),
    "plot": ("matplotlib",),
    "serve": ("starlette", "uvicorn"),
}


def examine(*, gpu: bool = False) -> dict[str, Any]:
    """Everything the doctor looks at, ready for JSON; with `gpu`, a trial of each. Imports none of the extras else."""
    total, available = _memory()
    found: dict[str, Any] = {
        "arcflux": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: _version(name) for name in _CORE},
        "extras": {extra: {name: _version(name) for name in names} for extra, names in _EXTRAS.items()},
        "devices": {"cpu": {"model": _cpu_model(), "cores": len(_cores())}, "cuda": _cuda()},
        "threads": config.threads(),
        "memory_bytes": {"total": total, "available": available},
        "huge_pages": _huge_pages(),
        "cache": _cache(),
    }
    found["advice"] = _advice(found)
    if gpu:
        from arcflux import checkup

        found["gpu"] = checkup.examine()
    return found


def available_memory() -> int:
    """Bytes of memory that new work may take now; 0 when the system does not say."""
    return _memory()[1]


def _cores() -> set[int]:
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _memory() -> tuple[int, int]:
    try:
        lines = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        return tuple(int(lines[key].split()[0]) * 1024 for key in ("MemTotal", "MemAvailable"))  # type: ignore[return-value]
    except (OSError, KeyError, ValueError):
        return 0, 0


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _cuda() -> dict[str, Any]:
    """Whether a CUDA driver is there, as far as one sees without asking it; `arcflux doctor --gpu` does."""
    return {
        "driver": Path("/proc/driver/nvidia/version").exists(),
        "nvidia_smi": shutil.which("nvidia-smi") is not None,
    }


def _huge_pages() -> str | None:
    try:
        modes = Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text()
        return modes[modes.index("[") + 1 : modes.index("]")]
    except (OSError, ValueError):
        return None


def _cache() -> dict[str, Any]:
    try:
        folder = config.cache_folder()
    except ArcfluxError as error:
        return {"folder": None, "problem": error.what, "bytes": 0}
    size = 0
    for file in folder.rglob("*"):
        with suppress(OSError):  # another process may tidy up meanwhile
            size += file.stat().st_size if file.is_file() else 0
    return {"folder": str(folder), "bytes": size}


def _advice(found: dict[str, Any]) -> list[str]:
    """What would make Arcflux faster here."""
    advice = []
    if found["huge_pages"] == "never":
        advice.append("huge pages are off: `echo madvise > /sys/kernel/mm/transparent_hugepage/enabled` gains 10-20 %")
    if found["threads"] < found["devices"]["cpu"]["cores"]:
        advice.append(f"ARCFLUX_THREADS={found['threads']} leaves cores idle; unset it to use them all")
    if found["cache"]["folder"] is None:
        advice.append(f"{found['cache']['problem']}: kernels are compiled anew in every process")
    elif not found["cache"]["bytes"]:
        advice.append("the cache is empty: the first run of each command compiles its kernels, later ones do not")
    if found["memory_bytes"]["available"] and found["memory_bytes"]["available"] < 1 << 30:
        advice.append("less than 1 GiB of memory is free")
    return advice


def text(found: dict[str, Any]) -> str:
    """The findings for a terminal."""
    memory, cache = found["memory_bytes"], found["cache"]
    extras = [f"{extra} {'installed' if all(names.values()) else '-'}" for extra, names in found["extras"].items()]
    cuda = found["devices"]["cuda"]
    rows = [
        ("arcflux", f"{found['arcflux']} on Python {found['python']} ({sys.executable})"),
        ("platform", found["platform"]),
        ("packages", ", ".join(f"{name} {version or 'missing'}" for name, version in found["packages"].items())),
        ("extras", ", ".join(extras)),
        ("cpu", f"{found['devices']['cpu']['model']}, {found['devices']['cpu']['cores']} cores"),
        ("cuda", "a driver is here: `arcflux doctor --gpu` asks it" if cuda["driver"] else "no driver"),
        ("threads", str(found["threads"])),
        ("memory", f"{readable(memory['available'])} free of {readable(memory['total'])}"),
        ("pages", f"transparent huge pages: {found['huge_pages'] or 'unknown'}"),
        ("cache", f"{cache['folder']} ({readable(cache['bytes'])})" if cache["folder"] else cache["problem"]),
        *(("faster", line) for line in found["advice"] or ["nothing to suggest"]),
    ]
    if "gpu" in found:
        from arcflux import checkup

        rows += checkup.text(found["gpu"])
    return "\n".join(f"{label:<9} {said}" for label, said in rows)

"""Which machine this is, and its past runs, kept for predictions: JSON lines in the cache folder.

A line records the program, its direction and threads, the kind of graph (a few numbers, no names), the supersteps and
seconds, and the machine and versions. The file is readable by its owner alone, and bounded: the oldest lines are
removed. Processes write under a lock with a short timeout: a process that hangs does not delay a finished run of
another. Within a process the fastest of several like runs is kept, and written from time to time and at exit, so a
short run does not pay for a write. Lines that are broken, of another machine or of other versions are skipped.
"""

from __future__ import annotations

import atexit
import json
import os
import platform
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from arcflux import __version__, config
from arcflux.errors import ArcfluxError, SpaceError
from arcflux.plan.fit import Observation
from arcflux.plan.sketch import Sketch

__all__ = [
    "MOST",
    "Run",
    "add",
    "file_stem",
    "flush",
    "forget",
    "is_worth_recording",
    "journal_path",
    "journal_time",
    "machine",
    "read",
    "versions",
]  # fmt: skip

_FORMAT = 2
# The most lines that are read; the file is trimmed at twice that. The most bytes of a line.
MOST = 512
_LONGEST = 4096
# The longest time that runs are buffered, and the most runs.
_SECONDS, _WAITING = 2.0, 64
# How long to wait for the lock: after that, the buffered runs are dropped.
_LOCK_SECONDS = 0.5


def machine() -> dict[str, Any]:
    """What a calibration is tied to: the processor, the cores that are used, and the memory."""
    return {**_hardware(), "cores": config.cores(), "threads": config.threads()}


@lru_cache(maxsize=1)
def _hardware() -> dict[str, Any]:
    model = platform.processor() or platform.machine()
    with suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        model = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 0
    return {"model": model, "memory_gb": round(size / 1e9)}


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """The versions that may change how fast a program is."""
    from importlib.metadata import version

    return {"arcflux": __version__, **{name: version(name) for name in ("numba", "numpy")}}


def file_stem(threads: int | None = None) -> str:
    """The name of this machine's file for a number of threads, by default as many as are used now."""
    known = machine()
    word = "".join(letter if letter.isalnum() else "-" for letter in f"{platform.node()}-{known['model']}")
    return f"{word[:80]}-{threads or known['threads']}"


@dataclass(frozen=True)
class Run:
    """A run: the program and its direction as "bfs/auto", its threads, and the observation."""

    key: str
    threads: int
    seen: Observation

    def to_line(self) -> str:
        """As a line of JSON."""
        whole = {"format": _FORMAT, "key": self.key, "threads": self.threads, "graph": vars(self.seen.graph),
                 "supersteps": self.seen.supersteps, "seconds": self.seen.seconds,
                 "frontiers": list(self.seen.frontiers), "machine": machine(),
                 "versions": versions(), "date": round(time.time())}  # fmt: skip
        return json.dumps(whole, separators=(",", ":"))

    @classmethod
    def of_line(cls, line: str) -> Run | None:
        """From such a line; None if it is broken, of another machine, or of other versions."""
        with suppress(ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
            entry: dict[str, Any] = json.loads(line)
            if entry["format"] == _FORMAT and entry["versions"] == versions() and _same(entry["machine"]):
                shares = tuple(float(one) for one in entry["frontiers"])
                steps, seconds = float(entry["supersteps"]), float(entry["seconds"])
                observation = Observation(Sketch.of(entry["graph"]), steps, seconds, shares)
                return cls(str(entry["key"]), int(entry["threads"]), observation)
        return None


def _same(other: Mapping[str, Any]) -> bool:
    """Whether a line is of this machine; the default number of threads is not compared, since each line has its own."""
    here = machine()
    return all(other.get(name) == here[name] for name in ("model", "memory_gb", "cores"))


_waiting: dict[tuple[Any, ...], Run] = {}
_state = {"since": 0.0, "owner": 0}


def journal_path() -> Path:
    """The file: one per machine, whatever share of its cores this process has."""
    return config.cache_folder("runs") / f"{file_stem(config.cores())}.jsonl"


def add(run: Run) -> None:
    """Keep a run, unless recording is off: the fastest of like runs, written from time to time."""
    if not config.keeps_runs():
        return
    if _state["owner"] != os.getpid():  # also in a forked child: its parent writes its own runs
        _waiting.clear()
        if not _state["owner"]:
            atexit.register(flush)
        _state["owner"] = os.getpid()
    if not _waiting:
        _state["since"] = time.monotonic()
    graph = run.seen.graph
    name = (run.key, run.threads, graph.vertices, graph.arcs, run.seen.supersteps)
    before = _waiting.get(name)
    if before is None or run.seen.seconds < before.seen.seconds:
        _waiting[name] = run
    if len(_waiting) >= _WAITING or time.monotonic() - _state["since"] > _SECONDS:
        flush()


def is_worth_recording(key: str, threads: int, size: tuple[int, int], supersteps: float, seconds: float) -> bool:
    """Whether :func:`add` would do anything with such a run: it is the fastest so far, or a write is due.

    Of many short runs, most are not.
    """
    before = _waiting.get((key, threads, *size, supersteps))
    fastest = before is None or seconds < before.seen.seconds or _state["owner"] != os.getpid()
    return fastest or time.monotonic() - _state["since"] > _SECONDS


def journal_time() -> tuple[float, int]:
    """When the file was written, 0 if there is none, and how many runs are buffered."""
    try:
        return os.stat(journal_path()).st_mtime_ns, len(_waiting)
    except (OSError, ArcfluxError):
        return 0.0, len(_waiting)


def flush() -> None:
    """Write the buffered runs; drop what cannot be written, since no run should fail because of it."""
    if not _waiting or _state["owner"] != os.getpid():
        return
    runs = list(_waiting.values())  # one atomic copy: other threads may add to it
    _waiting.clear()
    lines = [line for run in runs if len(line := run.to_line()) < _LONGEST]
    with suppress(OSError, ArcfluxError):
        _append(journal_path(), lines)


def _append(target: Path, lines: list[str]) -> None:
    with _lock(target):
        handle = os.open(target, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(handle, "a", encoding="utf-8") as file:
            file.write("".join(line + "\n" for line in lines))
        if target.stat().st_size > MOST * 256 and len(whole := _lines(target)) > 2 * MOST:
            handle, work = tempfile.mkstemp(dir=target.parent, suffix=".jsonl")
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write("".join(line + "\n" for line in whole[-MOST:]))
            os.replace(work, target)


@contextmanager
def _lock(target: Path) -> Iterator[None]:
    """Hold the lock of the file: a lock file beside it, since the file itself may be replaced."""
    try:
        import fcntl
    except ImportError:  # no such locks on this system: lines are appended whole, which is nearly as good
        yield
        return
    lock = target.with_suffix(".lock")
    handle = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK, 0o600)
    end = time.monotonic() + _LOCK_SECONDS
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() > end:
                    raise SpaceError(
                        f"{lock} is held by another process", remedy="try again when that one has ended"
                    ) from error
                time.sleep(_LOCK_SECONDS / 50)
        yield
    finally:
        os.close(handle)


def _lines(target: Path) -> list[str]:
    return target.read_text(encoding="utf-8", errors="replace").splitlines()


def read(target: Path | None = None) -> list[Run]:
    """The last runs of this machine, including those still buffered."""
    runs: list[Run | None] = []
    with suppress(OSError, ArcfluxError):
        runs = [Run.of_line(line) for line in _lines(journal_path() if target is None else target)[-MOST:]]
    return [run for run in (*runs, *_waiting.values()) if run is not None]


def forget() -> int:
    """Remove all runs; returns how many lines there were."""
    _waiting.clear()
    target = journal_path()
    if not target.exists():
        return 0
    with _lock(target):
        count = len(_lines(target))
        target.unlink(missing_ok=True)
    return count

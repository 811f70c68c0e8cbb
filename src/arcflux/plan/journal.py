"""Which machine this is, and runs that were made on it, kept to predict others by: JSON lines in the cache folder.

A line says which program ran, in which direction and on how many threads, on what sort of graph (a few numbers, no
names), in how many supersteps and seconds, of which machine and versions. The file is the owner's alone, and bounded:
the oldest lines go. Processes that write at once take turns by a lock, for which none waits long: a process that is
stuck holds up no run that is over. Within a process the fastest of several like runs is kept, and written now and then,
and at the end: so a short run pays nothing for it. What is broken, foreign or of other versions is skipped when the
file is read.
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
# The most lines that are read, and twice as many are in the file before the oldest go; the most bytes of a line.
MOST = 512
_LONGEST = 4096
# Runs wait so long before they are written, and so many of them at most.
_SECONDS, _WAITING = 2.0, 64
# Whoever holds the lock has this long to let go of it: then what was to be written is let go.
_LOCK_SECONDS = 0.5


def machine() -> dict[str, Any]:
    """What a calibration is of: the processor, the cores that are used, and the memory."""
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
    """What may change how fast a program is, by version."""
    from importlib.metadata import version

    return {"arcflux": __version__, **{name: version(name) for name in ("numba", "numpy")}}


def file_stem(threads: int | None = None) -> str:
    """The name of a file about this machine with so many threads, or as many as are used now."""
    known = machine()
    word = "".join(letter if letter.isalnum() else "-" for letter in f"{platform.node()}-{known['model']}")
    return f"{word[:80]}-{threads or known['threads']}"


@dataclass(frozen=True)
class Run:
    """A run: the program and its direction as "bfs/auto", its threads, and what was observed."""

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
            kept: dict[str, Any] = json.loads(line)
            if kept["format"] == _FORMAT and kept["versions"] == versions() and _same(kept["machine"]):
                shares = tuple(float(one) for one in kept["frontiers"])
                steps, seconds = float(kept["supersteps"]), float(kept["seconds"])
                seen = Observation(Sketch.of(kept["graph"]), steps, seconds, shares)
                return cls(str(kept["key"]), int(kept["threads"]), seen)
        return None


def _same(other: Mapping[str, Any]) -> bool:
    """Whether a line is of this machine; how many threads are usual does not matter, since each line says its own."""
    here = machine()
    return all(other.get(name) == here[name] for name in ("model", "memory_gb", "cores"))


_waiting: dict[tuple[Any, ...], Run] = {}
_state = {"since": 0.0, "owner": 0}


def journal_path() -> Path:
    """The file: one for this machine, whatever share of its cores this process has."""
    return config.cache_folder("runs") / f"{file_stem(config.cores())}.jsonl"


def add(run: Run) -> None:
    """Keep a run, unless that was opted out of: of like ones the fastest, written by and by."""
    if not config.keeps_runs():
        return
    if _state["owner"] != os.getpid():  # also in a child, whose parent writes what is its own
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
    """Whether :func:`add` has something to do with such a run: it is the fastest so far, or the time has come to write.

    Of many short runs, most are not.
    """
    before = _waiting.get((key, threads, *size, supersteps))
    fastest = before is None or seconds < before.seen.seconds or _state["owner"] != os.getpid()
    return fastest or time.monotonic() - _state["since"] > _SECONDS


def journal_time() -> tuple[float, int]:
    """When the file of runs was written, 0 if there is none, and how many runs wait to be."""
    try:
        return os.stat(journal_path()).st_mtime_ns, len(_waiting)
    except (OSError, ArcfluxError):
        return 0.0, len(_waiting)


def flush() -> None:
    """Write what waits; what cannot be written is let go, since no run should fail of this."""
    if not _waiting or _state["owner"] != os.getpid():
        return
    runs = list(_waiting.values())  # in one piece: other threads may add to it
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
    """Alone with the file: a lock beside it, since the file itself may be replaced."""
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
    """The last runs of this machine, those that wait to be written included."""
    found: list[Run | None] = []
    with suppress(OSError, ArcfluxError):
        found = [Run.of_line(line) for line in _lines(journal_path() if target is None else target)[-MOST:]]
    return [run for run in (*found, *_waiting.values()) if run is not None]


def forget() -> int:
    """Remove all runs that were kept; how many lines there were."""
    _waiting.clear()
    target = journal_path()
    if not target.exists():
        return 0
    with _lock(target):
        count = len(_lines(target))
        target.unlink(missing_ok=True)
    return count

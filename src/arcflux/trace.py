"""One stream of events about running work, for any listener; nothing else measures time.

A piece of work opens a :func:`task`, advances it, and closes it. Listeners (the progress bar of the command line, a
test) are called from the thread that does the work.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

__all__ = [
    "Compiling",
    "Event",
    "Note",
    "Task",
    "compiling",
    "counted",
    "has_listeners",
    "listen",
    "note",
    "readable",
    "task",
]


@dataclass
class Task:
    """Work under way: `done` of `total` in `unit`, since `started` (a perf_counter time)."""

    name: str
    total: int
    unit: str = ""
    done: int = 0
    started: float = field(default_factory=time.perf_counter)
    finished: bool = False

    def advance(self, amount: int) -> None:
        """`amount` more is done."""
        self.at(self.done + amount)

    def at(self, done: int) -> None:
        """`done` is done by now."""
        self.done = min(done, self.total) if self.total else done
        _tell(self)

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.started


@dataclass(frozen=True)
class Note:
    """Something a person should know: an assumption, a change to the data, a compilation."""

    text: str


class Compiling(Note):
    """A kernel is compiled, once per machine; a run needs up to a dozen, and a person needs to know once."""


Event = Task | Note
_listeners: list[Callable[[Event], None]] = []


def _tell(event: Event) -> None:
    for hear in tuple(_listeners):
        hear(event)


def has_listeners() -> bool:
    """Whether there is a listener."""
    return bool(_listeners)


def note(text: str) -> None:
    """Tell every listener something worth a line."""
    _tell(Note(text))


def compiling(kernel: str) -> None:
    """Tell every listener which kernel is compiled."""
    _tell(Compiling(f"compiling {kernel} (once per machine)"))


@contextmanager
def task(name: str, total: int = 0, unit: str = "") -> Iterator[Task]:
    """Open a piece of work of `total` (0: unknown) and close it at the end, whatever happens.

    Examples
    --------
    >>> with task("count", total=3, unit="sheep") as t:
    ...     t.advance(2)
    >>> t.done, t.finished
    (2, True)
    """
    work = Task(name, total, unit)
    _tell(work)
    try:
        yield work
    finally:
        work.finished = True
        _tell(work)


@contextmanager
def listen(hear: Callable[[Event], None]) -> Iterator[None]:
    """Call `hear` with every event while the block runs.

    Examples
    --------
    >>> with listen(lambda event: print(event.text)):
    ...     note("hello")
    hello
    """
    _listeners.append(hear)
    try:
        yield
    finally:
        _listeners.remove(hear)


def counted(count: int, what: str) -> str:
    """A number of things, as a person says it.

    Examples
    --------
    >>> counted(1, "superstep"), counted(1200, "vertex")
    ('1 superstep', '1,200 vertices')
    """
    many = "vertices" if what == "vertex" else f"{what}s"
    return f"{count:,} {what if count == 1 else many}"


def readable(count: float) -> str:
    """Bytes as a person says them.

    Examples
    --------
    >>> readable(1536), readable(12)
    ('1.5 KiB', '12 bytes')
    """
    if count < 1024:
        return f"{count:.0f} bytes"
    power = min(4, int(math.log(count, 1024)))
    return f"{count / 1024**power:.1f} {' KMGT'[power]}iB"

"""A core that simulates another device: slower, with its own memory, reached over a link.

It really takes the time: it sleeps for the rest of `slowdown` times a kernel's seconds, and of bytes over bandwidth. So
a run on unequal virtual devices behaves like a run on unequal devices for all measurements.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from arcflux.devices.base import Device, Timing
from arcflux.errors import UsageError

__all__ = ["Virtual", "open_devices"]

# The most seconds of an overlong sleep that the next sleeps compensate. A host that paused for longer has not made the
# device faster.
_LATE = 1e-3


def open_devices(text: str, threads: int | None = None) -> list[Device]:
    """A device for each slowdown in the list: ``virtual:1,2`` is one as fast as a core, and one half as fast."""
    try:
        return [Virtual(float(slowdown), name=f"virtual:{slowdown}") for slowdown in text.split(",")]
    except ValueError as error:
        raise UsageError(f"devices is 'virtual:{text}'", expected="slowdowns, such as 'virtual:1,2'") from error


class Virtual(Device):
    """A device that takes `slowdown` times as long as a core of this machine.

    Parameters
    ----------
    slowdown
        How many times longer than the kernel it takes; at least 1.
    memory
        Its own bytes; without it, it works in its node's memory.
    bandwidth
        Bytes a second over its link; without it, transfers take no time.
    name
        Its name in messages.
    clock
        The clock for a kernel's own seconds. If there are more devices than cores, use
        ``clock=time.thread_time`` and a slowdown of at least devices / cores: devices then do not slow each other down,
        as long as kernels run in the thread that calls them.

    Examples
    --------
    >>> slow = Virtual(slowdown=3.0, memory=1 << 20, bandwidth=1e9)
    >>> with slow.timed() as took:
    ...     total = sum(range(100_000))
    >>> seconds = slow.transfer(1_000_000)  # about a thousandth
    >>> slow.transferred
    1000000
    """

    def __init__(
        self,
        slowdown: float = 1.0,
        memory: int | None = None,
        bandwidth: float | None = None,
        name: str = "virtual",
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        super().__init__(name, 1, memory, slowdown, bandwidth)
        if slowdown < 1:
            raise UsageError(f"slowdown is {slowdown!r}", expected="at least 1: nothing runs faster than it does")
        self.kind = "virtual"
        self.clock = clock
        self._ahead = 0.0

    @contextmanager
    def timed(self) -> Iterator[Timing]:
        """Time the block by the clock, and sleep until `slowdown` times as long has passed.

        The reported time is exactly that, even if the host wakes up later.
        """
        took = Timing()
        begun, worked = time.perf_counter(), self.clock()
        yield took
        took.seconds = self.slowdown * (self.clock() - worked)
        self._sleep(took.seconds - (time.perf_counter() - begun))

    def transfer(self, nbytes: int) -> float:
        """Take the time of these bytes over the link; returns the seconds."""
        super().transfer(nbytes)
        seconds = 0.0 if self.bandwidth is None else nbytes / self.bandwidth
        self._sleep(seconds)
        return seconds

    def _sleep(self, seconds: float) -> None:
        """Sleep, minus the excess of earlier sleeps, so that many short sleeps add up correctly."""
        target = seconds - self._ahead
        begun = time.perf_counter()
        if target > 0:
            time.sleep(target)
            self._ahead = min(time.perf_counter() - begun - target, _LATE)
        elif seconds > 0:
            self._ahead -= seconds

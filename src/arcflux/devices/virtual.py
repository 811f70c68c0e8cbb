"""A core that pretends to be another device: it is slower, has its own memory, and is reached over a link.

It really takes the time: what is left of `slowdown` times a kernel's seconds, and of bytes over bandwidth, it sleeps.
A run on unequal virtual devices is therefore a run on unequal devices for all that measures it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from arcflux.devices.base import Device, Timing
from arcflux.errors import UsageError

__all__ = ["Virtual", "open_devices"]

# The most seconds of a sleep too long that the next ones make up for. A host that stood still for longer has not made
# the device any faster.
_LATE = 1e-3


def open_devices(text: str, threads: int | None = None) -> list[Device]:
    """A device for each slowdown that is listed: ``virtual:1,2`` is one as fast as a core, and one half as fast."""
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
        Bytes of its own; without it, it works in its node's memory.
    bandwidth
        Bytes a second over its link; without it, transfers take no time.
    name
        How messages call it.
    clock
        What a kernel's own seconds are read from. When there are more devices than cores, give
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
        """Measure what is done inside by the clock, and sleep until `slowdown` times as long has passed.

        The device takes exactly so long, even if the host wakes up later.
        """
        took = Timing()
        begun, worked = time.perf_counter(), self.clock()
        yield took
        took.seconds = self.slowdown * (self.clock() - worked)
        self._sleep(took.seconds - (time.perf_counter() - begun))

    def transfer(self, nbytes: int) -> float:
        """Take the time that these bytes take over the link; the seconds it was."""
        super().transfer(nbytes)
        seconds = 0.0 if self.bandwidth is None else nbytes / self.bandwidth
        self._sleep(seconds)
        return seconds

    def _sleep(self, seconds: float) -> None:
        """Sleep, less what was slept too long before, so that many short sleeps add up to what they should."""
        wanted = seconds - self._ahead
        begun = time.perf_counter()
        if wanted > 0:
            time.sleep(wanted)
            self._ahead = min(time.perf_counter() - begun - wanted, _LATE)
        elif seconds > 0:
            self._ahead -= seconds

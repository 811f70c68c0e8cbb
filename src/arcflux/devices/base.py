"""The interface of a device to the engine: it times kernels, makes transfers, and accounts for its memory."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from arcflux.errors import SpaceError, UsageError
from arcflux.trace import readable

__all__ = ["Device", "Timing"]


@dataclass
class Timing:
    """How long an operation of a device took, in seconds; 0 until it is done."""

    seconds: float = 0.0


@dataclass
class Device:
    """What runs a part.

    name: for messages; kind: "cpu", "cuda" or "virtual"; threads: workers of its kernels; memory: its own bytes, None
    if it works in the memory of its node, so that nothing is copied to it; slowdown: how many times longer than this
    machine's CPU it takes; bandwidth: bytes a second between its memory and its node's, None if there is no link.
    """

    name: str
    threads: int = 1
    memory: int | None = None
    slowdown: float = 1.0
    bandwidth: float | None = None
    kind: str = field(default="cpu", init=False)
    held: int = field(default=0, init=False)
    transferred: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        _positive("threads", self.threads)
        _positive("slowdown", self.slowdown)
        for name in ("memory", "bandwidth"):
            if getattr(self, name) is not None:
                _positive(name, getattr(self, name))

    def calls(self, state: Any, cores: Any, linked: bool) -> Any:
        """The object that runs the kernels of a part here, for the engine; `cores` does so on the node's cores.

        `state` has the arrays of the node; `linked`: whether messages go from device to device.
        """
        return cores

    @contextmanager
    def active(self) -> Iterator[None]:
        """A context in which a run uses the device; its memory is released at the end, also after a failure."""
        before = self.held
        try:
            yield
        finally:
            self.held = before

    @contextmanager
    def timed(self) -> Iterator[Timing]:
        """Time the block: ``with device.timed() as took: kernel(...)``, then ``took.seconds``."""
        took = Timing()
        begun = time.perf_counter()
        yield took
        took.seconds = time.perf_counter() - begun

    def transfer(self, nbytes: int) -> float:
        """Account for bytes that cross the link; returns the seconds of the transfer."""
        self.transferred += nbytes
        return 0.0

    def hold(self, nbytes: int, what: str) -> None:
        """Reserve memory of the device for `what`, or refuse if it has not enough left."""
        if self.memory is not None and self.held + nbytes > self.memory:
            left = self.memory - self.held
            raise SpaceError(
                f"{self.name} has no room for {what}: {nbytes:,} bytes are needed ({readable(nbytes)}), and {left:,} of"
                f" its {self.memory:,} are left ({readable(left)})",
                remedy="more parts, each on a device of its own; a device with more memory; or leave edges to stream",
            )
        self.held += nbytes

    def release(self, nbytes: int) -> None:
        """Release memory."""
        if nbytes > self.held:
            raise UsageError(
                f"{nbytes:,} bytes of {self.name} are released", expected=f"at most {self.held:,}, as held"
            )
        self.held -= nbytes


def _positive(name: str, value: float) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
        raise UsageError(f"{name} of a device is {value!r}", expected="a number above 0")

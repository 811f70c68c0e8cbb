"""Which rank of a column found a vertex first: the exclusive OR-scan of bitmaps over a group of ranks, in two ways.

Rank i gets the union of the bitmaps of the ranks before it. `log` takes ceil(log2 p) pairwise steps (Hillis, Steele,
1986): in step k every rank sends to the rank 2^k further on the union it has so far. `wave` takes p - 1: each rank
waits for the one before it (Checconi et al., 2012). Log sends more in total (p log p unions), and less in sequence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arcflux.spmd.memory import Array
from arcflux.transports.base import Transport

__all__ = ["HEADER", "SCANS", "Path", "log", "wave"]

# Each message ends with two numbers: the path so far.
HEADER = 16


@dataclass
class Path:
    """The critical path: the longest chain of dependent messages, and their bytes.

    A message follows all that its sender had received or sent before: a rank sends one at a time. Bytes are those of
    the bitmaps, along the chain. Every message carries the numbers of its sender, so that they are counted, not
    computed.
    """

    messages: int = 0
    bytes: int = 0

    def onward(self, bits: Array) -> list[Array]:
        """The parts of a message with a bitmap."""
        self.messages += 1
        self.bytes += bits.nbytes
        return [bits, np.array([self.messages, self.bytes], np.int64)]

    def heard(self, message: Array) -> Array:
        """The bitmap of a message."""
        messages, size = message[-HEADER:].view(np.int64).tolist()
        self.messages, self.bytes = max(self.messages, messages), max(self.bytes, size)
        return message[:-HEADER].view(np.uint64)


def log(group: Transport, bits: Array, path: Path) -> tuple[Array, Array]:
    """The union of the bitmaps of all ranks before this one, and that including its own; in ceil(log2 p) steps."""
    before, whole, reach = np.zeros_like(bits), bits.copy(), 1
    while reach < group.size:
        if group.rank + reach < group.size:
            group.post(group.rank + reach, path.onward(whole))
        came = path.heard(group.collect(group.rank - reach)) if group.rank >= reach else None
        group.finish()
        if came is not None:
            before |= came
            whole |= came
        reach *= 2
    return before, whole


def wave(group: Transport, bits: Array, path: Path) -> tuple[Array, Array]:
    """As :func:`log`, one rank after another, in p - 1 steps."""
    before = path.heard(group.collect(group.rank - 1)) if group.rank else np.zeros_like(bits)
    whole = before | bits
    if group.rank + 1 < group.size:
        group.post(group.rank + 1, path.onward(whole))
        group.finish()
    return before, whole


SCANS = {"log": log, "wave": wave}

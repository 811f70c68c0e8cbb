"""Measurements of a running pipeline: seconds per triplet of each stage, and per hand-over."""

from __future__ import annotations

import statistics
from bisect import bisect_left
from collections import deque
from dataclasses import dataclass, field
from itertools import accumulate

from arcflux import config
from arcflux.plug.block_size import Rates

__all__ = ["Estimate", "Stage"]

# The number of recent blocks that count: rates change with concurrent stages and with the contents of the cache.
_REMEMBERED = 64


@dataclass
class Stage:
    """Sizes and seconds of the last blocks of a stage; the rate is that of the median triplet.

    Blocks are weighted by their triplets: fixed costs per block would make many small ones seem slow.

    Examples
    --------
    >>> stage = Stage()
    >>> for size in (100, 200, 400):
    ...     stage.note(size, size * 2e-6)
    >>> round(stage.rate * 1e6, 3)
    2.0
    """

    seen: deque[tuple[int, float]] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))

    def note(self, size: int, seconds: float) -> None:
        """Record that a block of this many triplets took so long."""
        if size > 0:
            self.seen.append((size, seconds))

    @property
    def rate(self) -> float:
        """Seconds per triplet; 0 before the first block."""
        rates = sorted((seconds / size, size) for size, seconds in self.seen)
        sizes = list(accumulate(size for _, size in rates))
        return rates[bisect_left(sizes, sizes[-1] / 2)][0] if rates else 0.0


@dataclass
class Estimate:
    """The rates of one agent and one daemon, measured while the other stages run, too.

    hand_overs: seconds of cycles beyond their slowest stage.
    """

    download: Stage = field(default_factory=Stage)
    compute: Stage = field(default_factory=Stage)
    upload: Stage = field(default_factory=Stage)
    hand_overs: deque[float] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))

    def note_cycle(self, seconds: float, slowest: float) -> None:
        """Record that a cycle took so long, and its slowest stage so long of it."""
        self.hand_overs.append(max(0.0, seconds - slowest))

    @property
    def known(self) -> bool:
        """Whether every stage has been measured."""
        return bool(self.download.seen and self.compute.seen and self.upload.seen)

    def rates(self) -> Rates:
        """The current k1, k2, k3 and a."""
        a = statistics.median(self.hand_overs) if self.hand_overs else 1e-4
        return Rates(self.download.rate, self.compute.rate, self.upload.rate, a, alone=config.cores() > 2)

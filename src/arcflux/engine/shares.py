"""How unequal devices share the work.

A core has weight 1, a GPU the weight of as many cores as it replaces: 64, unless ``ARCFLUX_GPU_CORES`` says otherwise.
Memory bandwidth (a server's core moves about 10 GB/s, a GPU 1,500) and gathers would give a higher weight; transfers
over a link a lower one. If the cores' share is too small, little of the whole is wasted; if it is too large, all GPUs
wait. In the simulator a GPU counts for one core, so that small graphs give work to both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from arcflux import config
from arcflux.devices import Device
from arcflux.gpu import api

__all__ = ["Shares", "weight"]

_GPU = 64.0


def weight(device: Device) -> float:
    """The weight of a device, in cores."""
    if device.kind == "cpu":
        return float(device.threads)
    configured = config.gpu_cores()
    return configured if configured is not None else 1.0 if api.simulated() else _GPU


@dataclass(frozen=True)
class Shares:
    """The weights of all ranks, in rank order, and this rank's number.

    Examples
    --------
    >>> shares = Shares([2.0, 1.0, 1.0], 1)
    >>> shares.cuts(8), shares.mine(8)
    ([0, 4, 6, 8], (4, 6))
    """

    weights: Sequence[float]
    rank: int

    @property
    def total(self) -> float:
        """The weight of all ranks together."""
        return float(sum(self.weights))

    @property
    def part(self) -> float:
        """The share of this rank in the whole."""
        return float(self.weights[self.rank] / self.total)

    def cuts(self, total: int) -> list[int]:
        """Where the share of each rank begins in so much work, and where the last one ends."""
        filled = np.concatenate([[0.0], np.cumsum(self.weights)])
        cuts = [int(total * (part / filled[-1])) for part in filled]
        return [*cuts[:-1], total]

    def mine(self, total: int) -> tuple[int, int]:
        """The range of this rank's share: from, to before."""
        cuts = self.cuts(total)
        return cuts[self.rank], cuts[self.rank + 1]

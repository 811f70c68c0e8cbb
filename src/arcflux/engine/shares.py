"""Who does how much of the work that unequal devices share.

A core counts for one, a GPU for as many cores as it is worth: 64, unless ``ARCFLUX_GPU_CORES`` says otherwise. Memory
bandwidth would say more (a server's core moves about 10 GB/s, a GPU 1,500), and so would gathers; what goes over a link
would say less. A share of the cores that is too small wastes little of the whole, one that is too large makes all GPUs
wait. In the simulator a GPU counts for one core, so that small graphs have something for both.
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
    """How many cores a device counts for."""
    if device.kind == "cpu":
        return float(device.threads)
    asked = config.gpu_cores()
    return asked if asked is not None else 1.0 if api.simulated() else _GPU


@dataclass(frozen=True)
class Shares:
    """The weights of all ranks, in their order, and which of them this one is.

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
        """Where the shares of so much work begin, and where the last one ends."""
        filled = np.concatenate([[0.0], np.cumsum(self.weights)])
        cuts = [int(total * (part / filled[-1])) for part in filled]
        return [*cuts[:-1], total]

    def mine(self, total: int) -> tuple[int, int]:
        """From where to before where this rank works."""
        cuts = self.cuts(total)
        return cuts[self.rank], cuts[self.rank + 1]

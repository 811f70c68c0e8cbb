"""Graphs as degrees, with costs of vertices and rates of devices that only the test knows."""

import numpy as np

VERTICES = 20_000


def offsets(degrees):
    return np.concatenate(([0], np.cumsum(degrees))).astype(np.uint64)


def power_law(seed=0, *, ordered=True):
    rng = np.random.default_rng(seed)
    degrees = np.minimum((4 * rng.pareto(1.2, VERTICES)).astype(np.int64), VERTICES // 50)
    return np.sort(degrees)[::-1] if ordered else degrees


class Machine:
    """Devices with hidden rates that process vertices with hidden costs."""

    def __init__(self, costs, rates, *, noise=0.0, seed=0):
        self.work = np.concatenate(([0.0], np.cumsum(costs)))
        self.rates = np.asarray(rates, float)
        self.noise, self.rng = noise, np.random.default_rng(seed)

    def exact(self, bounds):
        return self.rates * np.diff(self.work[bounds])

    def times(self, bounds):
        return self.exact(bounds) * np.exp(self.noise * self.rng.standard_normal(len(self.rates)))

    @property
    def perfect(self):
        """What every part takes when all take the same."""
        return self.work[-1] / (1 / self.rates).sum()

    def imbalance(self, bounds):
        """By how much the worst part is off perfect balance."""
        return np.abs(self.exact(bounds) / self.perfect - 1).max()

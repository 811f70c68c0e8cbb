"""Whether two answers to a kernel agree, by a few numbers that are cheap to hand from process to process."""

from __future__ import annotations

from typing import Any

import numpy as np

KERNELS = ("bfs", "sssp", "pr", "cc", "bc", "tc")
_FOLDS = 256


def checksum(kernel: str, values: Any, source: int) -> list[float]:
    """What an answer comes down to.

    Levels and distances: how many vertices are reached, and their sum. Components: how many, and the sum of their
    squared sizes. Triangles: how many. Ranks and dependencies: 256 partial sums, as shares of the whole, because
    libraries scale them differently (and dependencies without the source, which some count).
    """
    if kernel == "tc":
        return [int(values)]
    values = np.asarray(values)
    if kernel == "bfs":
        return [int((values >= 0).sum()), int(values[values >= 0].sum())]
    if kernel == "sssp":
        reached = values[np.isfinite(values)].astype(np.float64)
        return [len(reached), float(reached.sum())]
    if kernel == "cc":
        sizes = np.unique(values, return_counts=True)[1].astype(np.float64)
        return [len(sizes), float((sizes**2).sum())]
    shares = values.astype(np.float64)
    if kernel == "bc":
        shares[source] = 0
    parts = np.bincount(np.arange(len(shares)) % _FOLDS, weights=shares, minlength=_FOLDS)
    return list(parts / max(parts.sum(), 1e-300))


def agree(kernel: str, ours: list[float], theirs: list[float]) -> bool:
    """Whether two checksums are of the same answer, as far as both go.

    Ranks have been iterated until they moved by 1e-4 together, by different methods: they may be apart by ten times as
    much. Dependencies are sums of float32 in any order.
    """
    shared = min(len(ours), len(theirs))
    apart = float(np.abs(np.subtract(ours[:shared], theirs[:shared])).sum())
    return apart <= {"pr": 1e-3, "bc": 1e-3}.get(kernel, 0.0)

"""How many blocks a pipeline should have: equations 1 and 2 and Lemma 1 of GX-Plug, and the cost of a cycle.

d triplets go in s blocks of b = d / s; a triplet takes k1 seconds to download, k2 to compute and k3 to upload, and a
hand-over takes `a`. The paper counts `a` only with computing. But every cycle has a hand-over, also a cycle in which
download or upload takes longest, so Lemma 1 makes too many blocks if k1 or k3 is the largest; and with fewer than three
cores, download and upload share one. :func:`best_blocks` accounts for both.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from arcflux.errors import UsageError

__all__ = ["Rates", "best_blocks", "lemma_1", "pipeline_seconds"]


@dataclass(frozen=True)
class Rates:
    """Seconds per triplet for download (k1), compute (k2) and upload (k3), and seconds per hand-over (a).

    alone: whether download and upload have a core each; otherwise they share one.
    """

    k1: float
    k2: float
    k3: float
    a: float
    alone: bool = True

    def __post_init__(self) -> None:
        for name in ("k1", "k2", "k3", "a"):
            value = getattr(self, name)
            if not 0 <= value < math.inf:
                raise UsageError(f"{name} is {value!r}", expected="seconds, from 0 on")

    def in_company(self) -> Rates:
        """The rates of download and upload while both run."""
        return self if self.alone else Rates(self.k1 + self.k3, self.k2, self.k1 + self.k3, self.a)


def pipeline_seconds(d: float, s: float, rates: Rates, *, every_cycle: bool = False) -> float:
    """Equation 2: the time of d triplets in s blocks; with `every_cycle`, each cycle has a hand-over.

    Examples
    --------
    >>> pipeline_seconds(100, 4, Rates(k1=1, k2=2, k3=1, a=10))
    290.0
    """
    b, both = d / s, rates.in_company()
    download, compute, upload = rates.k1 * b, rates.k2 * b, rates.k3 * b
    if not every_cycle:
        compute += rates.a
        if s == 1:
            return download + compute + upload
        middle = (s - 2) * max(download, compute, upload)
        return download + max(download, compute) + middle + max(compute, upload) + upload
    if s == 1:
        return download + compute + upload + 2 * rates.a
    middle = (s - 2) * max(both.k1 * b, compute, both.k3 * b)
    return download + max(download, compute) + middle + max(compute, upload) + upload + (s + 1) * rates.a


def lemma_1(d: float, rates: Rates) -> tuple[float, float]:
    """Lemma 1: the best size of a block, and its seconds (with k1 + k3 under the root: an erratum).

    Examples
    --------
    >>> lemma_1(100, Rates(k1=1, k2=2, k3=1, a=2))
    (10.0, 240.0)
    """
    k1, k2, k3, a = rates.k1, rates.k2, rates.k3, rates.a
    if a == 0 or k1 + k3 == 0:  # hand-overs cost nothing, or nothing else does
        b = 1.0 if a == 0 else d
        return b, pipeline_seconds(d, d / b, rates)
    q = math.sqrt(a * d / (k1 + k3))
    most = max(k1, k2, k3)
    for slowest in (k1, k3):
        if slowest == most and slowest > k2 and a / (slowest - k2) < q:
            return a / (slowest - k2), a * (k1 + k3) / (slowest - k2) + slowest * d
    return q, k2 * d + 2 * math.sqrt((k1 + k3) * a * d)


def best_blocks(d: int, rates: Rates, *, lemma: bool = False) -> int:
    """The best number of blocks for d triplets: by equation 2 with a hand-over in every cycle; by Lemma 1 if asked.

    Lemma 1's size is rarely whole: floor and ceiling of the size and of the count are tried, as in the paper.

    Examples
    --------
    >>> rates = Rates(k1=1e-8, k2=3e-8, k3=1e-8, a=1e-4)
    >>> best_blocks(2_000_000, rates), best_blocks(2_000_000, rates, lemma=True)
    (20, 20)
    """
    if d <= 1:
        return 1

    def seconds(s: int) -> float:
        return pipeline_seconds(d, s, rates, every_cycle=not lemma)

    if not lemma:
        return _lowest(seconds, d)
    b, _ = lemma_1(d, rates)
    sizes = {max(1, math.floor(b)), max(1, math.ceil(b))}
    counts = {max(1, math.floor(d / b)), max(1, math.ceil(d / b))} | {math.ceil(d / size) for size in sizes}
    return min(sorted(min(d, count) for count in counts), key=seconds)


def _lowest(seconds: Callable[[int], float], d: int) -> int:
    """The count of blocks with the least time, whose curve falls and then rises (from 2 on; 1 has another formula)."""
    low, high = min(2, d), d
    while low < high:
        middle = (low + high) // 2
        if seconds(middle) <= seconds(middle + 1):
            high = middle
        else:
            low = middle + 1
    return min((1, low), key=seconds)

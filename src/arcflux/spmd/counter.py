"""Random numbers of programs, ``af.random(v, step, k, seed)``: in plain Python, and to compile for cores and GPUs.

Each is a function of its inputs: seed, vertex number (for an edge those of both ends), superstep, and k. One after
another these are mixed into a key by SplitMix64's output function, as random.py does for generators; 53 bits of the
last key make a float in [0, 1). All arithmetic is unsigned with 64 bits, so that every way to run gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

__all__ = ["define", "drawn"]

_BITS = (1 << 64) - 1
_GOLDEN, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
# 2 ** -53: the weight of the last bit of a float below 1.
_LAST = 1.0 / 9007199254740992.0


def drawn(seed: int, ends: tuple[int, ...], step: int, k: int) -> float:
    """The random number of a vertex, or of the two ends of an edge.

    Examples
    --------
    >>> drawn(0, (0,), 0, 0)
    0.1296456182997474
    """
    key = (len(ends) - 1) * _GOLDEN
    for word in (seed, *ends, step, k):
        key = _mixed((key + (int(word) + 1) * _GOLDEN) & _BITS)
    return (key >> 11) * _LAST


def _mixed(x: int) -> int:
    x = ((x ^ (x >> 30)) * _FIRST) & _BITS
    x = ((x ^ (x >> 27)) * _SECOND) & _BITS
    return x ^ (x >> 31)


def define(inner: Callable[..., Any]) -> SimpleNamespace:
    """The same, compiled by `inner`; all words are u64."""
    golden, first, second = np.uint64(_GOLDEN), np.uint64(_FIRST), np.uint64(_SECOND)
    one, s30, s27, s31, s11 = (np.uint64(bits) for bits in (1, 30, 27, 31, 11))

    @inner
    def absorbed(key: Any, word: Any) -> Any:
        """Mix a word into a key."""
        x = key + (word + one) * golden
        x = (x ^ (x >> s30)) * first
        x = (x ^ (x >> s27)) * second
        return x ^ (x >> s31)

    @inner
    def random_of(seed: Any, number: Any, step: Any, k: Any) -> Any:
        """The random number of a vertex."""
        key = absorbed(absorbed(absorbed(absorbed(np.uint64(0), seed), number), step), k)
        return np.float64(key >> s11) * _LAST

    @inner
    def random_between(seed: Any, u: Any, v: Any, both: Any, step: Any, k: Any) -> Any:
        """The random number of an edge from u to v; with `both`, that of an edge from v to u is the same."""
        if both and v < u:
            u, v = v, u
        key = absorbed(absorbed(absorbed(absorbed(absorbed(golden, seed), u), v), step), k)
        return np.float64(key >> s11) * _LAST

    return SimpleNamespace(random_of=random_of, random_between=random_between)

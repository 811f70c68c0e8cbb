"""Counter-based random numbers: a value depends on the seed and on its purpose, never on the worker or the order.

The function is SplitMix64's output mix (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014)
applied to ``key + counter * golden``, where `key` is itself a mix of the seed and a stream number. So any worker can
compute the millionth value without the ones before it, and the same seed gives the same bytes on any number of workers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.spmd.jit import inner

__all__ = ["arc_hash", "below", "bits", "key", "mix", "permute", "signed_arc_hash", "uniform"]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@inner
def mix(x: Any) -> Any:
    """A bijection of 64-bit words in which every input bit affects every output bit."""
    x = np.uint64(x)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@inner
def key(seed: Any, stream: Any) -> Any:
    """The key of an independent stream of a seed."""
    return mix(mix(np.uint64(seed) + _GOLDEN) ^ (np.uint64(stream) * _GOLDEN))


@inner
def bits(stream_key: Any, counter: Any) -> Any:
    """64 random bits: the `counter`-th value of a stream."""
    return mix(np.uint64(stream_key) + (np.uint64(counter) + np.uint64(1)) * _GOLDEN)


@inner
def below(word: Any, count: Any) -> Any:
    """A number under `count` from 64 random bits: the high word of their product, without a division."""
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    lower = (word & low) * (count & low)
    cross = (word >> half) * (count & low) + (lower >> half)
    other = (word & low) * (count >> half) + (cross & low)
    return (word >> half) * (count >> half) + (cross >> half) + (other >> half)


@inner
def uniform(stream_key: Any, counter: Any) -> Any:
    """A float in [0, 1), with 53 random bits."""
    return np.float64(bits(stream_key, counter) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@inner
def permute(stream_key: Any, x: Any, width: Any) -> Any:
    """The position of `x` in a random permutation of 0 .. 2**width - 1, without storing the permutation.

    Four rounds of steps that are each a bijection of `width`-bit words: add a key, multiply by an odd number, fold the
    high bits onto the low ones.
    """
    width = np.uint64(width)
    if width == np.uint64(0):
        return np.uint64(0)
    mask = (np.uint64(1) << width) - np.uint64(1)
    half = (width + np.uint64(1)) >> np.uint64(1)
    x = np.uint64(x)
    for turn in range(4):
        k = bits(stream_key, turn)
        x = (x + k) & mask
        x = (x * ((k >> np.uint64(17)) | np.uint64(1))) & mask
        x = x ^ (x >> half)
    return x


@inner
def arc_hash(u: Any, v: Any, value: Any) -> Any:
    """64 bits that depend on both ends of an arc, its direction, and a value."""
    return mix(mix(mix(np.uint64(u) + np.uint64(1)) + np.uint64(v)) + np.uint64(value))


@inner
def signed_arc_hash(u: Any, v: Any, value: Any) -> Any:
    """The hash of an arc without its direction: added when it goes up, subtracted when it goes down, 0 for a loop."""
    if u == v:
        return np.uint64(0)
    word = arc_hash(min(u, v), max(u, v), value)
    return word if u < v else np.uint64(0) - word

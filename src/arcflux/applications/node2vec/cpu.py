"""Skip-gram with negative sampling on cores: vectors of vertices that are near each other in walks become similar.

Mikolov and others, "Distributed representations of words and phrases and their compositionality", 2013. Threads share
the vectors and do not wait for each other (Recht, Re, Wright, Niu, "Hogwild", 2011): with one thread the result is a
function of the seed, with several updates may be lost, and results differ slightly from run to run.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import take
from arcflux.spmd.random import bits, key, uniform

__all__ = ["draw_vectors", "train"]

_ONE = np.uint64(1)


@kernel
def draw_vectors(worker: Any, workers: Any, control: Any, seed: Any, vectors: Any) -> None:
    """vectors[v]: uniform numbers from -1/2 to 1/2, divided by how many there are."""
    width = vectors.shape[1]
    while True:
        begin, end = take(control, np.uint64(vectors.shape[0]), np.uint64(1024))
        if begin == end:
            break
        for v in range(begin, end):
            stream = key(seed, v)
            for c in range(width):
                vectors[v, c] = (uniform(stream, np.uint64(c)) - 0.5) / width


@inner
def _pair(centre: Any, context: Any, label: Any, rate: Any, vectors: Any, contexts: Any, change: Any) -> Any:
    """One step for a centre and a context that are (label 1) or are not (0) together; returns the loss."""
    width, dot = vectors.shape[1], np.float32(0)
    for c in range(width):
        dot += vectors[centre, c] * contexts[context, c]
    bounded: Any = max(-30.0, min(30.0, dot))
    score = 1.0 / (1.0 + math.exp(-bounded))
    step = np.float32((label - score) * rate)
    for c in range(width):
        change[c] += step * contexts[context, c]
        contexts[context, c] += step * vectors[centre, c]
    return -math.log(max(1e-30, score if label else 1.0 - score))


@kernel
def train(
    worker: Any, workers: Any, control: Any, walks: Any, order: Any, epoch: Any, first: Any, last: Any, whole: Any,
    window: Any, negative: Any, rate: Any, least: Any, seed: Any, noise: Any, vectors: Any, contexts: Any,
    changes: Any, losses: Any,
) -> None:  # fmt: skip
    """Train once on the walks order[first] to before order[last]; negatives are drawn from `noise`."""
    change, width, length = changes[worker], vectors.shape[1], walks.shape[1]
    while True:
        begin, end = take(control, last - first, np.uint64(64))
        if begin == end:
            break
        for k in range(first + begin, first + end):
            row = order[k]
            stream, count = key(seed, (epoch << np.uint64(40)) ^ np.uint64(row)), np.uint64(0)
            done = (np.float64(epoch) * order.size + np.float64(k)) / whole
            now = max(least, rate * (1.0 - done))
            for i in range(length):
                centre = walks[row, i]
                if centre < 0:
                    break
                reach = 1 + np.int64(bits(stream, count) % np.uint64(window))
                count += _ONE
                begins: Any = max(0, i - reach)
                for j in range(begins, min(length, i + reach + 1)):
                    if j == i or walks[row, j] < 0:
                        continue
                    for c in range(width):
                        change[c] = 0
                    loss = _pair(centre, walks[row, j], 1.0, now, vectors, contexts, change)
                    for _ in range(negative):
                        other = noise[bits(stream, count) % np.uint64(noise.size)]
                        count += _ONE
                        if other != walks[row, j]:
                            loss += _pair(centre, other, 0.0, now, vectors, contexts, change)
                    for c in range(width):
                        vectors[centre, c] += change[c]
                    losses[worker, 0] += loss
                    losses[worker, 1] += 1.0

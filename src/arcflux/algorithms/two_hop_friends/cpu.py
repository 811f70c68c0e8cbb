"""The vertices two edges away from each of some vertices, as sorted lists.

Each worker has a bitmap of all vertices, and a second one above it of the words in use. So duplicates vanish, the list
comes out sorted, and clearing the bitmap costs only its contents.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.engine.worker import Worker
from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import count_ones, take, trailing_zeros
from arcflux.spmd.memory import frozen, zeros

__all__ = ["TwoHop"]

Array = NDArray[Any]
_CHUNK = 16


@inner
def _unset(bits: Any, w: Any) -> None:
    bits[w >> np.uint64(6)] &= ~(np.uint64(1) << (w & np.uint64(63)))


@inner
def _gather(offsets: Any, neighbours: Any, v: Any, bits: Any, words: Any) -> Any:
    """Set the bits of the neighbours of v's neighbours, except v and its neighbours; returns the words to scan."""
    one, six, mask = np.uint64(1), np.uint64(6), np.uint64(63)
    low, high = np.uint64(words.size), np.uint64(0)
    previous = v
    for i in range(offsets[v], offsets[v + one]):
        u = np.uint64(neighbours[i])
        if u == previous:
            continue
        previous = u
        for j in range(offsets[u], offsets[u + one]):
            w = np.uint64(neighbours[j])
            if bits[w >> six] == 0:
                word = w >> np.uint64(12)
                words[word] |= one << ((w >> six) & mask)
                low, high = min(low, word), max(high, word + one)
            bits[w >> six] |= one << (w & mask)
    for i in range(offsets[v], offsets[v + one]):
        _unset(bits, np.uint64(neighbours[i]))
    _unset(bits, v)
    return low, high


@kernel
def two_hop(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, chosen: Any, bitmaps: Any, summaries: Any,
    counts: Any, starts: Any, friends: Any,
) -> None:  # fmt: skip
    """Count the vertices two edges away from each chosen one; with starts, list them from ``friends[starts[k]]`` on.

    bitmaps: uint64[workers, n / 64 + 1] and summaries: uint64[workers, n / 4096 + 1] are zero before and after.
    """
    one, six = np.uint64(1), np.uint64(6)
    bits, words = bitmaps[worker], summaries[worker]
    while True:
        begin, end = take(control, np.uint64(chosen.size), np.uint64(_CHUNK))
        if begin == end:
            break
        for k in range(begin, end):
            low, high = _gather(offsets, neighbours, np.uint64(chosen[k]), bits, words)
            count = np.uint64(0)
            place = np.uint64(0) if starts is None else np.uint64(starts[k])
            for word in range(low, high):
                rest = words[word]
                words[word] = 0
                while rest != 0:
                    at = (word << six) + trailing_zeros(rest)
                    rest &= rest - one
                    here = bits[at]
                    bits[at] = 0
                    if starts is None:
                        count += count_ones(here)
                    else:
                        while here != 0:
                            friends[place] = (at << six) + trailing_zeros(here)
                            place += one
                            here &= here - one
            if starts is None:
                counts[k] = count


class TwoHop:
    """The lists of some vertices, by a team of cores."""

    def __init__(self, worker: Worker, chosen: Array) -> None:
        self.worker, self.cores, self.size = worker, worker.cores, len(chosen)
        self.chunks = max(1, -(-self.size // _CHUNK))
        self.kind, n, team = worker.graph.out.neighbours.dtype, worker.graph.vertices, worker.cores.workers
        maps = [zeros(team * (n // bits + 1), np.uint64).reshape(team, -1) for bits in (64, 4096)]
        self.found = self.cores.host(self.size, np.int64)
        self.shared = *worker.graph.out, frozen(chosen), *maps, self.found

    def counts(self) -> Array:
        """The number of friends of each chosen vertex."""
        self._run("count two-hop friends", None, None)
        return self.found.copy()

    def lists(self, offsets: Array) -> Array:
        """All of them, the k-th vertex's from ``offsets[k]`` on."""
        friends = self.cores.kept(int(offsets[-1]), self.kind, zero=False)
        self._run("list two-hop friends", offsets, friends)
        return self.cores.result(friends)

    def _run(self, purpose: str, offsets: Array | None, friends: Array | None) -> None:
        with self.worker.task(purpose, self.size, "vertices") as task:
            self.cores.launch(two_hop, self.chunks, *self.shared, offsets, friends, task=task)

"""Elections with a heap: votes only decrease, so a vertex whose votes still equal its key in the heap has the most."""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.spmd.jit import inner, kernel

__all__ = ["elect"]


@inner
def _sink(keys: Any, items: Any, size: Any, place: Any) -> None:
    """Sift an item of the heap down below those with more votes, or with as many and a smaller number."""
    key, item = keys[place], items[place]
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and (
            keys[child + 1] > keys[child] or (keys[child + 1] == keys[child] and items[child + 1] < items[child])
        ):
            child += 1
        if key > keys[child] or (key == keys[child] and item < items[child]):
            break
        keys[place], items[place] = keys[child], items[child]
        place = child
    keys[place], items[place] = key, item


@inner
def _votes(offsets: Any, neighbours: Any, ability: Any, v: Any) -> Any:
    total = 0.0
    for i in range(offsets[v], offsets[v + np.uint64(1)]):
        total += ability[neighbours[i]]
    return total


@kernel
def elect(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, back_offsets: Any, back_neighbours: Any,
    ability: Any, votes: Any, elected: Any, keys: Any, items: Any, loss: Any, order: Any, count: Any,
) -> None:  # fmt: skip
    """``order[:count[0]]``: elected vertices. ability: float64[n], 1 at first; votes: float64[n]; elected: bool[n]."""
    one = np.uint64(1)
    n = ability.size
    for v in range(n):
        votes[v] = _votes(offsets, neighbours, ability, np.uint64(v))
        keys[v], items[v] = votes[v], v
    for place in range(n // 2 - 1, -1, -1):
        _sink(keys, items, n, place)
    size = n
    while size > 0 and count[0] < order.size:
        u = np.uint64(items[0])
        if elected[u] or votes[u] != keys[0]:
            if elected[u]:
                size -= 1
                keys[0], items[0] = keys[size], items[size]
            else:
                keys[0] = votes[u]
            _sink(keys, items, size, 0)
            continue
        if votes[u] <= 0.0:
            break
        elected[u] = True
        order[count[0]] = np.int64(u)
        count[0] += 1
        ability[u] = 0.0
        for i in range(offsets[u], offsets[u + one]):
            w = np.uint64(neighbours[i])
            ability[w] = max(0.0, ability[w] - loss)
        for j in range(back_offsets[u], back_offsets[u + one]):
            x = np.uint64(back_neighbours[j])
            votes[x] = _votes(offsets, neighbours, ability, x)
        for i in range(offsets[u], offsets[u + one]):
            w = np.uint64(neighbours[i])
            for j in range(back_offsets[w], back_offsets[w + one]):
                x = np.uint64(back_neighbours[j])
                votes[x] = _votes(offsets, neighbours, ability, x)

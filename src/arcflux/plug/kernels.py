"""The loops of an agent: which triplets a block has, and their vertices, each once."""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.spmd.jit import kernel

__all__ = ["count_edges", "join_block"]


@kernel
def count_edges(worker: Any, workers: Any, control: Any, senders: Any, offsets: Any, starts: Any) -> None:
    """Where the out-edges of each sender begin when they stand one after another; starts has one more at its end."""
    total = 0
    for k in range(senders.size):
        starts[k] = total
        v = senders[k]
        total += offsets[v + 1] - offsets[v]
    starts[senders.size] = total


@kernel
def join_block(
    worker: Any, workers: Any, control: Any, first: Any, last: Any, senders: Any,
    starts: Any, offsets: Any, edge_targets: Any, slots: Any, sources: Any, targets: Any,
    places: Any, block: Any,
) -> None:  # fmt: skip
    """The triplets from `first` to before `last` of the senders' out-edges, with vertices of the block.

    slots: int64[local vertices]
        -1 everywhere, before and after: where a vertex stands in the block.
    sources, targets: uint32
        The ends of triplets, as places in the block.
    places: int64
        Where the edges stand in the edge table.
    block: int64
        The local vertices of the block; control[8] is how many.
    """
    low, high = 0, senders.size
    while low + 1 < high:  # the last sender that begins at or before `first`
        middle = (low + high) // 2
        if starts[middle] <= first:
            low = middle
        else:
            high = middle
    k, size, made = low, 0, 0
    i = first
    while i < last:
        while starts[k + 1] <= i:
            k += 1
        u = senders[k]
        if slots[u] < 0:
            slots[u] = size
            block[size] = u
            size += 1
        source = np.uint32(slots[u])
        end = min(starts[k + 1], last)
        place = offsets[u] + i - starts[k]
        for j in range(end - i):
            v = edge_targets[place + j]
            if slots[v] < 0:
                slots[v] = size
                block[size] = v
                size += 1
            sources[made] = source
            targets[made] = np.uint32(slots[v])
            places[made] = place + j
            made += 1
        i = end
    for j in range(size):
        slots[block[j]] = -1
    control[8] = size

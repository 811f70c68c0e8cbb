"""The loops of an agent: the triplets of a block, and their vertices, each once."""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.spmd.jit import kernel

__all__ = ["count_edges", "join_block"]


@kernel
def count_edges(worker: Any, workers: Any, control: Any, senders: Any, offsets: Any, starts: Any) -> None:
    """The prefix sums of the senders' out-degrees; starts has the total at its end."""
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
    """The triplets from `first` to before `last` of the senders' out-edges, and their vertices as those of the block.

    slots: int64[local vertices]
        The position of a vertex in the block; -1 everywhere, before and after.
    sources, targets: uint32
        The ends of triplets, as positions in the block.
    places: int64
        The positions of the edges in the edge table.
    block: int64
        The local vertices of the block; control[8] gets their number.
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

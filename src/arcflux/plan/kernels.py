"""The loops of the micro-benchmark: memory in order and at random, dependent chains, barriers, and an empty kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.spmd.barrier import ticks, wait
from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import fetch_add

__all__ = ["READ", "UPDATE", "WRITE", "across", "barriers", "chase", "hand_over", "nothing", "regular", "scattered"]

READ, WRITE, UPDATE = 0, 1, 2


@inner
def _gone_over(data: Any, begin: Any, share: Any, what: Any, turn: Any) -> Any:
    """Read, write or add to a slice of ``data: uint32``, once; the sum of what was read."""
    total = np.uint64(0)
    if what == READ:
        for i in range(begin, begin + share):
            total += np.uint64(data[i])
    elif what == WRITE:
        for i in range(begin, begin + share):
            data[i] = np.uint32(turn)
    else:
        for i in range(begin, begin + share):
            data[i] += np.uint32(1)
    return total


@kernel
def regular(worker: Any, workers: Any, control: Any, data: Any, what: Any, rounds: Any, out: Any) -> None:
    """Read, write or add to this worker's slice of ``data: uint32`` `rounds` times."""
    share = np.uint64(data.size) // np.uint64(workers)
    begin = np.uint64(worker) * share
    total = np.uint64(0)
    for turn in range(rounds):
        total += _gone_over(data, begin, share, what, turn)
    out[worker * 8] = total


@kernel
def scattered(worker: Any, workers: Any, control: Any, data: Any, what: Any, count: Any, out: Any, own: Any) -> None:
    """Access `count` random places of ``data: uint32[a power of two]``, or of a worker's own part of it.

    An update is an atomic addition.
    """
    shares = 1
    while own and shares < workers:
        shares *= 2
    mask = np.uint64(data.size // shares - 1)
    base = np.uint64(worker) * (mask + np.uint64(1)) if own else np.uint64(0)
    x = np.uint64(worker + 1) * np.uint64(0x9E3779B97F4A7C15)
    total = np.uint64(0)
    for _ in range(count):
        x = x * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        i = base + ((x >> np.uint64(33)) & mask)
        if what == READ:
            total += np.uint64(data[i])
        elif what == WRITE:
            data[i] = np.uint32(x)
        else:
            fetch_add(data, i, np.uint32(1))
    out[worker * 8] = total


@kernel
def chase(worker: Any, workers: Any, control: Any, data: Any, what: Any, count: Any, out: Any, share: Any) -> None:
    """Follow a chain of places, each read from the one before, so that no accesses overlap.

    ``data`` has cycles of `share` elements: one per worker, or, where all workers share one cycle, the whole of it, in
    which they begin far apart.
    """
    cycles = np.uint64(data.size) // np.uint64(share)
    base = np.uint64(worker) % cycles * np.uint64(share)
    i = np.uint64(worker) * (np.uint64(share) // np.uint64(workers)) if cycles == 1 else np.uint64(0)
    for _ in range(count):
        j = np.uint64(data[base + i])
        if what == WRITE:
            data[base + i] = np.uint32(j)
        elif what == UPDATE:
            fetch_add(data, base + i, np.uint32(0))
        i = j
    out[worker * 8] = i


@kernel
def across(worker: Any, workers: Any, control: Any, data: Any, what: Any, rounds: Any, out: Any) -> None:
    """Pass over the slices of all workers in ``data: uint32``, the own one first, each worker on another slice."""
    share = np.uint64(data.size) // np.uint64(workers)
    total = np.uint64(0)
    for turn in range(rounds):
        for k in range(workers):
            begin = np.uint64((worker + k) % workers) * share
            total += _gone_over(data, begin, share, what, turn)
    out[worker * 8] = total


@kernel
def hand_over(
    worker: Any, workers: Any, control: Any, barrier: Any, data: Any, what: Any, count: Any, rounds: Any, out: Any
) -> None:
    """The last worker writes all of ``data: uint32[a power of two]``; then the first accesses it; this `rounds` times.

    With `count` 0 in order, each element once; else one place after another, `count` of them, each read from the one
    before, as :func:`chase` does. The first worker counts its ticks in ``out[8]``, and those of the whole call in
    ``out[16]``: what it accesses is in the cache of another core, if it fits there.
    """
    nought = np.uint32(barrier.size >> 40)  # 0, but unknown to the compiler, so that the writes are not removed
    total, spent, first = np.uint64(0), np.uint64(0), ticks()
    for _ in range(rounds):
        if worker == workers - 1:
            for i in range(data.size):
                data[i] ^= nought
        wait(barrier, workers)
        if worker == 0:
            begun = ticks()
            if count:
                at = np.uint64(0)
                for _ in range(count):
                    after = np.uint64(data[at])
                    if what == WRITE:
                        data[at] = np.uint32(after)
                    elif what == UPDATE:
                        fetch_add(data, at, np.uint32(0))
                    at = after
                total += at
            elif what == READ:
                for i in range(data.size):
                    total += np.uint64(data[i])
            elif what == WRITE:
                for i in range(data.size):
                    data[i] = np.uint32(i)
            else:
                for i in range(data.size):
                    data[i] += np.uint32(1)
            spent += np.uint64(ticks() - begun)
        wait(barrier, workers)
    if worker == 0:
        out[0] = total
        out[8] = spent
        out[16] = np.uint64(ticks() - first)


@kernel
def barriers(worker: Any, workers: Any, control: Any, barrier: Any, count: Any) -> None:
    """Pass `count` barriers."""
    for _ in range(count):
        wait(barrier, workers)


@kernel
def nothing(worker: Any, workers: Any, control: Any) -> None:
    """Return at once: measures the cost of a launch."""

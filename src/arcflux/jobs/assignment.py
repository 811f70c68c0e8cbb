"""The assignment of parts to workers on unequal hardware (G2, section IV-B, algorithm 1). Pure: no side effects.

A worker node is a CPU worker and a GPU worker, each a process of its own, with a memory and a capability: 1 / t, where
t is the seconds of a set of tasks on that kind of worker. Parts are distributed in proportion to capability; parts that
do not fit are taken back and distributed again among workers with room. Workers take whole subtrees of the hierarchy of
parts where they can, so that the edges within an ancestor stay on one worker.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from arcflux.errors import SpaceError, UsageError
from arcflux.partition.hierarchy import common_level
from arcflux.trace import readable

__all__ = ["Assignment", "WorkerNode", "assign", "assign_parts", "count_parts", "share_out"]


@dataclass(frozen=True)
class WorkerNode:
    """A worker: bytes of memory for its parts, its capability, and whether it is a GPU."""

    name: str
    memory: int
    capability: float
    gpu: bool = False

    def __post_init__(self) -> None:
        if self.memory < 1 or not 0 < self.capability < math.inf:
            raise UsageError(
                f"{self.name} has {self.memory} bytes and a capability of {self.capability}", expected="more than 0"
            )


def count_parts(size: int, workers: Sequence[WorkerNode]) -> int:
    """Lines 1 and 2: P = max(n^2, |G| / m, |G| / d), if the graph fits all workers together.

    Examples
    --------
    >>> count_parts(100, [WorkerNode("cpu", 80, 1.0), WorkerNode("gpu", 40, 1.4, gpu=True)])
    4
    """
    if not workers:
        raise UsageError("there are no workers", expected="one or more")
    there = sum(worker.memory for worker in workers)
    if size > there:
        raise SpaceError(
            f"the graph has {size:,} bytes ({readable(size)}), and the {len(workers)} workers together have room for"
            f" {there:,} ({readable(there)})",
            remedy="more workers, or workers with more memory",
        )
    cores = [worker.memory for worker in workers if not worker.gpu]
    gpus = [worker.memory for worker in workers if worker.gpu]
    smallest = [-(-size // min(some)) for some in (cores, gpus) if some]
    return max(len(workers) ** 2, *smallest)


def share_out(parts: int, part_bytes: int, workers: Sequence[WorkerNode]) -> list[int]:
    """Line 5: the number of parts of each worker: in proportion to capability, overflow redistributed until all fit.

    Examples
    --------
    >>> share_out(8, 10, [WorkerNode("cpu", 80, 1.0), WorkerNode("gpu", 40, 3.0, gpu=True)])
    [4, 4]
    """
    room = [worker.memory // max(1, part_bytes) for worker in workers]
    if sum(room) < parts:
        raise SpaceError(
            f"{parts} parts of up to {part_bytes:,} bytes do not fit the workers, which have room for {sum(room)}",
            remedy="more, smaller parts; or workers with more memory",
        )
    counts = [0] * len(workers)
    remaining = parts
    while remaining:
        candidates = [k for k in range(len(workers)) if counts[k] < room[k]]
        for k, more in zip(
            candidates, _proportional(remaining, [workers[k].capability for k in candidates]), strict=True
        ):
            counts[k] += more
        remaining = 0
        for k in candidates:  # take back what overflows
            remaining += max(0, counts[k] - room[k])
            counts[k] = min(counts[k], room[k])
    return counts


def _proportional(count: int, weights: Sequence[float]) -> list[int]:
    """Whole shares of a count: the largest remainders get what rounding down leaves."""
    exact = [count * weight / sum(weights) for weight in weights]
    shares = [int(one) for one in exact]
    order = sorted(range(len(weights)), key=lambda k: (shares[k] - exact[k], k))
    for k in order[: count - sum(shares)]:
        shares[k] += 1
    return shares


def assign(counts: Sequence[int], fan: int, levels: int) -> list[int]:
    """Line 6: the worker of each part. Each takes whole subtrees, next to its other parts.

    Examples
    --------
    >>> assign([2, 5, 1], 2, 3)
    [1, 1, 1, 1, 1, 2, 0, 0]
    """
    if sum(counts) != fan**levels:
        raise UsageError(f"{sum(counts)} parts are dealt out, and there are {fan**levels}", expected="all of them")
    owner = [-1] * fan**levels
    free = {(0, levels)}  # subtrees: the first part, and how many levels are below
    for worker in sorted(range(len(counts)), key=lambda k: (-counts[k], k)):
        mine: list[int] = []
        while len(mine) < counts[worker]:
            first, height = _subtree(free, counts[worker] - len(mine), mine, fan, levels)
            owner[first : first + fan**height] = [worker] * fan**height
            mine += range(first, first + fan**height)
    return owner


def _subtree(free: set[tuple[int, int]], most: int, mine: Sequence[int], fan: int, levels: int) -> tuple[int, int]:
    """Take the largest free subtree of at most this many parts, nearest to the worker's parts; split if needed."""

    def distance(tree: tuple[int, int]) -> int:
        return min((common_level(tree[0], part, fan, levels) for part in mine), default=0)

    fitting = [tree for tree in free if fan ** tree[1] <= most]
    while not fitting:
        first, height = min(free, key=lambda tree: (tree[1], distance(tree), tree[0]))
        free.remove((first, height))
        fitting = [(first + k * fan ** (height - 1), height - 1) for k in range(fan)]
        free.update(fitting)
        fitting = [tree for tree in fitting if fan ** tree[1] <= most]
    chosen = min(fitting, key=lambda tree: (-tree[1], distance(tree), tree[0]))
    free.remove(chosen)
    return chosen


@dataclass(frozen=True)
class Assignment:
    """The result of algorithm 1: the workers, the parts and bytes of each, and the worker of each part."""

    workers: tuple[WorkerNode, ...]
    counts: tuple[int, ...]
    owner: tuple[int, ...]
    part_bytes: int
    fan: int
    levels: int

    @property
    def speedup(self) -> float:
        """Capability of all over that of the CPU workers alone, if work follows the parts: the slowest share counts."""
        alone = sum(worker.capability for worker in self.workers if not worker.gpu)
        slowest = max(
            (count / worker.capability for count, worker in zip(self.counts, self.workers, strict=True) if count),
            default=0.0,
        )
        return len(self.owner) / slowest / alone if slowest and alone else math.inf

    def __str__(self) -> str:
        tree = f"a tree of fan {self.fan} and {self.levels} levels"
        head = f"{len(self.owner)} parts of about {readable(self.part_bytes)}, {tree}"
        lines = [head, "", f"  {'worker':<12} {'capability':>10} {'parts':>6} {'holds':>10} {'room':>10}  which"]
        for k, (worker, count) in enumerate(zip(self.workers, self.counts, strict=True)):
            held, room = readable(count * self.part_bytes), readable(worker.memory)
            own = _ranges([part for part, one in enumerate(self.owner) if one == k])
            lines.append(f"  {worker.name:<12} {worker.capability:>10.3g} {count:>6} {held:>10} {room:>10}  {own}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, object]:
        """Ready for JSON."""
        rows = [
            {"name": worker.name, "gpu": worker.gpu, "memory": worker.memory, "capability": worker.capability,
             "parts": [part for part, one in enumerate(self.owner) if one == k]}
            for k, worker in enumerate(self.workers)
        ]  # fmt: skip
        return {"parts": len(self.owner), "part_bytes": self.part_bytes, "fan": self.fan, "levels": self.levels,
                "workers": rows}  # fmt: skip


def _ranges(parts: Sequence[int]) -> str:
    """Numbers as text: 0-3, 7."""
    ranges: list[list[int]] = []
    for part in parts:
        if ranges and part == ranges[-1][1] + 1:
            ranges[-1][1] = part
        else:
            ranges.append([part, part])
    return ", ".join(f"{first}-{last}" if last > first else str(first) for first, last in ranges)


def assign_parts(size: int, workers: Sequence[WorkerNode], fan: int = 2, sizes: Sequence[int] = ()) -> Assignment:
    """Algorithm 1 for a graph of this many bytes; `sizes`: those of the parts, after it was divided.

    Examples
    --------
    >>> found = assign_parts(96, [WorkerNode("cpu", 100, 1.0), WorkerNode("gpu", 60, 2.0, gpu=True)])
    >>> found.counts, found.owner
    ((2, 2), (0, 0, 1, 1))
    """
    least = count_parts(size, workers)
    levels = 0
    while fan**levels < least:
        levels += 1
    while True:
        count = fan**levels
        largest = max(sizes) if sizes else -(-size // count)
        try:
            counts = share_out(count, largest, workers)
            break
        except SpaceError:  # whole parts may not fit where their bytes would; smaller ones do
            if sizes or count > 1 << 16:
                raise
            levels += 1
    return Assignment(tuple(workers), tuple(counts), tuple(assign(counts, fan, levels)), largest, fan, levels)

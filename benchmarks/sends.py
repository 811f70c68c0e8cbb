"""Random walks by mail, and by a hand-written loop over the adjacency: steps per second on one thread and on two.

    python benchmarks/sends.py [--graph kron:16] [--walkers 1000000] [--length 10] [--json sends.json]

The loop takes one walker after another through all its steps, and adds its visits up in one array: the least that
a machine can do for walks that nobody else has to hear of. By mail all walkers are at their vertices at once, in a
certain order, and could meet there.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np

import arcflux as af
from arcflux.spmd.draws import random_of


@af.program
class Walk:
    """Walkers start at vertices in turn, and each goes on to a random neighbour until it is long enough."""

    seed: int = 1
    walkers: int = 1000
    length: int = 10
    visits: af.i64
    walker: af.mail(walk=af.i64, hops=af.i32)

    def start(v, g, p):
        for k in range((p.walkers - v.number + g.vertices - 1) // g.vertices):
            af.send(v.number, walker=(k * g.vertices + v.number, 0))
        return False

    def receive(v, walker, p):
        for r in walker:
            v.visits += 1
            if r.hops < p.length and v.out_degree > 0:
                k = int(af.random(r.walk, r.hops, seed=p.seed) * v.out_degree)
                af.send(af.neighbour(v, k), walker=(r.walk, r.hops + 1))


@numba.njit(nogil=True)
def walk_alone(offsets: Any, neighbours: Any, walkers: int, length: int, seed: int, visits: Any) -> int:
    """The same walks, one after another; how many steps they took."""
    steps = 0
    n = offsets.size - 1
    for walk in range(walkers):
        v = walk % n
        visits[v] += 1
        for hops in range(length):
            row = np.int64(offsets[v])
            degree = np.int64(offsets[v + 1]) - row
            if degree == 0:
                break
            chance = random_of(np.uint64(seed), np.uint64(walk), np.uint64(hops), np.uint64(0))
            v = np.int64(neighbours[row + np.int64(chance * degree)])
            visits[v] += 1
            steps += 1
    return steps


def timed(work: Callable[[], Any], repeats: int) -> float:
    """The median of some runs, in seconds."""
    took = []
    for _ in range(repeats):
        begun = time.perf_counter()
        work()
        took.append(time.perf_counter() - begun)
    return statistics.median(took)


def measure(graph: af.Graph, walkers: int, length: int, repeats: int) -> list[dict[str, Any]]:
    """Rows of the table."""
    offsets, neighbours = graph.out
    visits = np.zeros(graph.vertices, np.int64)
    steps = walk_alone(offsets, neighbours, walkers, length, 1, visits)
    rows = []
    for threads in (1, 2):
        found = af.run(Walk, graph, walkers=walkers, length=length, threads=threads)
        assert (found["visits"] == visits).all(), "both have to go the same ways"
        options = {"walkers": walkers, "length": length, "threads": threads}
        rows.append({"way": f"mail, {threads} thread{'s' if threads > 1 else ''}",
                     "seconds": timed(lambda options=options: af.run(Walk, graph, **options), repeats)})  # fmt: skip
    again = np.zeros_like(visits)
    seconds = timed(lambda: walk_alone(offsets, neighbours, walkers, length, 1, again), repeats)
    rows.append({"way": "a loop by hand, 1 thread", "seconds": seconds})
    for row in rows:
        row["steps_per_second"] = steps / row["seconds"]
        row["over_by_hand"] = row["seconds"] / seconds
    return rows


def main() -> None:
    """Print a table, and keep it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph", default="kron:16")
    parser.add_argument("--walkers", type=int, default=1_000_000)
    parser.add_argument("--length", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path, default=Path("sends.json"))
    asked = parser.parse_args()
    rows = measure(af.load(asked.graph), asked.walkers, asked.length, asked.repeats)
    print(f"{asked.walkers:,} walkers of length {asked.length} on {asked.graph}, median of {asked.repeats}")
    print(f"{'':26} {'seconds':>9} {'steps/s':>12} {'by hand':>9}")
    for row in rows:
        print(f"{row['way']:26} {row['seconds']:9.3f} {row['steps_per_second']:12,.0f} {row['over_by_hand']:8.1f}x")
    asked.json.write_text(json.dumps({"graph": asked.graph, "walkers": asked.walkers, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()

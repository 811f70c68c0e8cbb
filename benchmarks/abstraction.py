"""What does it cost that programs are generic? The same method as a program, and written by hand for one algorithm.

Shortest paths are compared with the built-in search, whose distances are of the same type.

    python benchmarks/abstraction.py [--graphs kron:20 urand:20 grid:1024x1024] [--path path:200000] [--trials 9]
                                     [--threads 2] [--json results/abstraction.json]

Also: what splitting the source part off compute is worth, microseconds a superstep, and seconds to compile. Answers are
compared, so both sides do the same work.
"""

from __future__ import annotations

import argparse
import math
import os
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import arcflux as af
import handwritten
from measure import child, report, rounds, save

STEPS = 10
# A program on a small graph, in a new process: what has to be imported, compiled or found in the cache.
START = """
import json, time
begun = time.perf_counter()
import arcflux as af
imported = time.perf_counter()
graph = af.Graph.from_edges([0, 1], [1, 2], directed=False)
ready = time.perf_counter()
result = af.run(af.algorithms.PageRank, graph)
print(json.dumps({"import": imported - begun, "program": time.perf_counter() - ready}))
"""


@af.program
class PageRank64:
    """As one writes it: the engine divides once a vertex, not once an edge."""

    rank: af.f64

    def start(v, g):
        v.rank = 1.0 / g.vertices
        return True

    def init(v):
        v.rank = 0.0

    def compute(v, u):
        v.rank += u.rank / u.out_degree

    def update(v, old, g):
        v.rank = 0.15 / g.vertices + 0.85 * v.rank
        return abs(v.rank - old.rank) > 0.0


@af.program
class Divided:
    """Divided by hand: the field is what a vertex sends."""

    share: af.f64

    def start(v, g):
        v.share = 1.0 / g.vertices / max(v.out_degree, 1)
        return True

    def init(v):
        v.share = 0.0

    def compute(v, u):
        v.share += u.share

    def update(v, old, g):
        v.share = (0.15 / g.vertices + 0.85 * v.share) / max(v.out_degree, 1)
        return abs(v.share - old.share) > 0.0


@af.program
class Unsplit(PageRank64):
    """Cannot be split: what an edge carries depends on both ends, so every edge divides."""

    nothing: float = 0.0

    def compute(v, u, old, p):
        v.rank += (u.rank + p.nothing * old.rank) / u.out_degree


@af.program
class Labels:
    """The smallest vertex number that reaches each vertex."""

    label: af.u32

    def start(v):
        v.label = v.number
        return True

    def compute(v, u):
        v.label = min(v.label, u.label)

    def update(v, old):
        return v.label < old.label


@af.program
class Distances:
    """Shortest paths as one writes them, the nearest vertices first."""

    source: af.vertex
    distance: af.f64

    def start(v, p):
        v.distance = 0.0 if v.number == p.source else math.inf
        return v.number == p.source

    def compute(v, u, edge):
        v.distance = min(v.distance, u.distance + edge.weight)

    def update(v, old):
        return v.distance < old.distance

    def priority(v):
        return v.distance


@af.program
class WholeDistances:
    """The same in whole numbers, of which the largest stands for infinity."""

    source: af.vertex
    distance: af.i32

    def start(v, p):
        v.distance = 0 if v.number == p.source else 2147483647
        return v.number == p.source

    def compute(v, u, edge):
        v.distance = min(v.distance, u.distance + edge.weight)

    def update(v, old):
        return v.distance < old.distance

    def priority(v):
        return v.distance


def ran(program: Any, graph: af.Graph, **options: Any) -> af.Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so many supersteps, converged or not
        return af.run(program, graph, **options)


def pairs(graph: af.Graph, source: int, threads: int) -> dict[str, dict[str, Callable[[], tuple[float, Any]]]]:
    """For each algorithm: the program, and the kernel by hand. Each gives its seconds and its answer."""

    def program(of: Any, field: str, **options: Any) -> Callable[[], tuple[float, Any]]:
        def call() -> tuple[float, Any]:
            result = ran(of, graph, threads=threads, **options)
            return result.seconds, result[field]

        return call

    return {
        f"PageRank f64, {STEPS} supersteps": {
            "by hand": lambda: handwritten.pagerank(graph, np.float64, STEPS, threads),
            "program": program(PageRank64, "rank", max_supersteps=STEPS),
        },
        f"PageRank f32, {STEPS} supersteps": {
            "by hand": lambda: handwritten.pagerank(graph, np.float32, STEPS, threads),
            "program": program(PageRank64.retyped(rank=af.f32), "rank", max_supersteps=STEPS),
        },
        "BFS": {
            "by hand": lambda: handwritten.bfs(graph, source, threads),
            "program": program(af.algorithms.BFS, "level", source=source),
        },
        "smallest labels": {
            "by hand": lambda: handwritten.components(graph, threads),
            "program": program(Labels, "label"),
        },
    }


def searches(spec: str, threads: int) -> dict[str, dict[str, Callable[[], tuple[float, Any]]]]:
    """Shortest paths by the built-in search and as a program, with float weights and with whole ones."""
    whole = af.load(f"{spec},weights=1-255")
    floats = whole.with_columns({"weight": whole.columns["weight"].astype(np.float32)})
    source = int(np.flatnonzero(whole.out_degrees > 0)[0])

    def pair(graph: af.Graph, program: Any, far: float) -> dict[str, Callable[[], tuple[float, Any]]]:
        def built_in() -> tuple[float, Any]:
            result = af.sssp(graph, source, predecessors=False, threads=threads)
            return result.seconds, result["distance"]

        def own() -> tuple[float, Any]:
            result = af.run(program, graph, source=source, threads=threads)
            return result.seconds, np.where(result["distance"] == far, math.inf, result["distance"])

        return {"built-in": built_in, "program": own}

    return {
        "SSSP f64": pair(floats, Distances, math.inf),
        "SSSP i32": pair(whole, WholeDistances, 2147483647),
    }


def compared(title: str, pair: dict[str, Callable[[], tuple[float, Any]]], trials: int) -> dict[str, Any]:
    """Measure a pair, after its answers agree."""
    known, program = (call()[1] for call in pair.values())
    if not np.allclose(known, program, rtol=1e-4, atol=1e-9):
        raise SystemExit(f"{title}: the answers differ, so the times say nothing")
    taken = rounds({name: (lambda call=call: call()[0]) for name, call in pair.items()}, trials)
    return report(title, taken, next(iter(pair)), unit="ms")


def split(graph: af.Graph, trials: int, threads: int) -> dict[str, list[float]]:
    """PageRank as written, divided by hand, and unsplit."""
    options = {"max_supersteps": STEPS, "threads": threads}
    programs = {"as written": PageRank64, "divided by hand": Divided, "cannot be split": Unsplit}
    calls = {
        name: (lambda program=program: ran(program, graph, **options).seconds) for name, program in programs.items()
    }
    return rounds(calls, trials)


def supersteps(spec: str, trials: int, threads: int) -> dict[str, Any]:
    """BFS along a path: next to no work in a superstep, so its time is the engine's own."""
    graph = af.load(spec)
    count = af.run(af.algorithms.BFS, graph, source=0, threads=threads).supersteps
    pair = pairs(graph, 0, threads)["BFS"]
    rows = compared(f"BFS on {spec}: {count:,} supersteps", pair, trials)
    micro = {name: row["median"] / count * 1e6 for name, row in rows.items()}
    print("  microseconds a superstep: " + ", ".join(f"{name} {value:.3f}" for name, value in micro.items()))
    return {"supersteps": count, "microseconds": micro, "rows": rows}


def starts(trials: int) -> dict[str, Any]:
    """Seconds until a program has run in a new process: with an empty cache, and with its own."""
    cold, warm = [], []
    for _ in range(min(trials, 3)):
        with tempfile.TemporaryDirectory() as folder:
            cold.append(child(START, ARCFLUX_CACHE=str(Path(folder, "cache"))))
            warm.append(child(START, ARCFLUX_CACHE=str(Path(folder, "cache"))))
    print("\nPageRank on three vertices in a new process")
    made = {}
    for name, runs in {"empty cache": cold, "warm": warm}.items():
        made[name] = {part: median(run[part] for run in runs) for part in ("import", "program")}
        print(f"  {name:<14} import {made[name]['import']:.3f} s, program {made[name]['program']:.3f} s")
    return made


def main() -> None:
    os.environ["ARCFLUX_QUIET"] = "1"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphs", nargs="+", default=["kron:20", "urand:20", "grid:1024x1024"], metavar="SPEC")
    parser.add_argument("--path", default="path:200000", metavar="SPEC")
    parser.add_argument("--trials", type=int, default=9)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path, default=Path("results/abstraction.json"), metavar="FILE")
    given = parser.parse_args()
    results: dict[str, Any] = {"trials": given.trials, "threads": given.threads, "by_hand": {}, "split": {}}
    for spec in given.graphs:
        graph = af.load(spec)
        source = int(np.flatnonzero(graph.out_degrees > 0)[0])
        for title, pair in {**pairs(graph, source, given.threads), **searches(spec, given.threads)}.items():
            name = f"{title} on {spec}"
            results["by_hand"][name] = compared(name, pair, given.trials)
        name = f"source part of PageRank f64 on {spec}, {STEPS} supersteps"
        results["split"][spec] = report(name, split(graph, given.trials, given.threads), "as written", unit="ms")
    results["supersteps"] = supersteps(given.path, given.trials, given.threads)
    results["starts"] = starts(given.trials)
    save(given.json, results)


if __name__ == "__main__":
    main()

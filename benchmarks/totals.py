"""What does a total cost? The same program without one, and with totals of several kinds, side by side.

    python benchmarks/totals.py [--graphs kron:18 urand:18 grid:1024x1024] [--trials 15] [--threads 2] [--json totals]

Dense programs take supersteps of PageRank, with its residual; sparse ones a breadth-first search. Also: PageRank
with `redistribute`, which adds up what dangling vertices have, on graphs that have none and on those that have.

What is compared is a superstep of a dense program: the fastest of a run, in which `start` and what is done once have
no part, and of all runs the least and the median. Of a search it is all supersteps, of which each is another; and of
dangling ranks the whole run, since that is what a caller waits for.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import arcflux as af
from measure import report, rounds, save

STEPS = 40


@af.program
class Plain:
    """Without a total."""

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
        return v.rank != old.rank

    def residual(v, old):
        return abs(v.rank - old.rank)


@af.program
class Summed:
    """With a sum of floats, of every vertex."""

    rank: af.f64
    sum: af.total(af.f64)

    def start(v, g):
        v.rank = 1.0 / g.vertices
        g.sum += v.rank
        return True

    def init(v):
        v.rank = 0.0

    def compute(v, u):
        v.rank += u.rank / u.out_degree

    def update(v, old, g):
        v.rank = 0.15 / g.vertices + 0.85 * v.rank
        g.sum += v.rank
        return v.rank != old.rank

    def residual(v, old):
        return abs(v.rank - old.rank)


@af.program
class Counted:
    """With a count, a minimum and a flag."""

    rank: af.f64
    above: af.total(af.i64)
    low: af.total(af.f64, "min")
    every: af.total(af.flag, "and")

    def start(v, g):
        v.rank = 1.0 / g.vertices
        return True

    def init(v):
        v.rank = 0.0

    def compute(v, u):
        v.rank += u.rank / u.out_degree

    def update(v, old, g):
        v.rank = 0.15 / g.vertices + 0.85 * v.rank
        if v.rank > old.rank:
            g.above += 1
        g.low = min(g.low, v.rank)
        g.every &= v.rank > 0.0
        return v.rank != old.rank

    def residual(v, old):
        return abs(v.rank - old.rank)


@af.program
class Hops:
    """A search without a total."""

    source: af.vertex
    sparse = True
    hops: af.i32

    def start(v, p):
        v.hops = 0 if v.number == p.source else -1
        return v.number == p.source

    def wants(v):
        return v.hops < 0

    def compute(v, u):
        v.hops = af.any(u.hops + 1)

    def update(v, old):
        return v.hops > old.hops


@af.program
class CountedHops:
    """A search that counts whom it reaches."""

    source: af.vertex
    sparse = True
    hops: af.i32
    reached: af.total(af.i64)

    def start(v, p):
        v.hops = 0 if v.number == p.source else -1
        return v.number == p.source

    def wants(v):
        return v.hops < 0

    def compute(v, u):
        v.hops = af.any(u.hops + 1)

    def update(v, old, g):
        g.reached += 1
        return v.hops > old.hops


def whole(result: af.Result) -> float:
    """The seconds of a run."""
    return result.seconds


def superstep(result: af.Result) -> float:
    """The seconds of the fastest superstep."""
    return min(step.seconds for step in result.history)


def supersteps(result: af.Result) -> float:
    """The seconds of all supersteps, without start."""
    return sum(step.seconds for step in result.history)


def timed(
    measured: Callable[[af.Result], float], program: Any, graph: af.Graph, **options: Any
) -> Callable[[], float]:  # fmt: skip
    """A call that gives what is measured of a run."""

    def call() -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # so many supersteps, converged or not
            return measured(af.run(program, graph, **options))

    return call


def candidates(graph: af.Graph, threads: int) -> dict[str, dict[str, Callable[[], float]]]:
    """By title: what is compared, the one without a total first."""
    dense = {"max_supersteps": STEPS, "threads": threads, "direction": "pull"}
    programs = {"no total": Plain, "a sum": Summed, "count, min, flag": Counted}
    source = graph.ids.to_ids(np.array([int(np.argmax(graph.out_degrees))]))[0]
    searches = {"no total": Hops, "a count": CountedHops}
    found = {"source": source, "threads": threads}
    ranks = {"max_supersteps": STEPS, "threads": threads}
    return {
        "a superstep of PageRank": {name: timed(superstep, each, graph, **dense) for name, each in programs.items()},
        "a search": {name: timed(supersteps, each, graph, **found) for name, each in searches.items()},
        f"dangling ranks, {STEPS} supersteps": {
            "no total": timed(whole, Plain, graph, **ranks),
            "dropped": timed(whole, af.algorithms.PageRank, graph, **ranks),
            "redistributed": timed(whole, af.algorithms.PageRank, graph, redistribute=True, **ranks),
        },
    }


def main() -> None:
    """Measure all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", nargs="*", default=["kron:18", "urand:18", "grid:1024x1024"])
    parser.add_argument("--trials", type=int, default=15)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", default="")
    chosen = parser.parse_args()
    results = {}
    for spec in chosen.graphs:
        graph = af.load(spec)
        for title, compared in candidates(graph, chosen.threads).items():
            name = f"{title} on {spec}, {chosen.threads} threads"
            seconds = rounds(compared, chosen.trials)
            least = {each: f"least x {min(taken) / min(seconds['no total']):.3f}" for each, taken in seconds.items()}
            results[name] = report(name, seconds, "no total", least, unit="ms")
    if chosen.json:
        save(chosen.json, results)


if __name__ == "__main__":
    main()

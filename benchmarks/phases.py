"""What does the call of a phase cost? HITS with a launch for each call, and with many iterations in one launch.

    python benchmarks/phases.py [--graphs kron:8 kron:11 kron:15] [--threads 1 2] [--trials 5] [--json phases.json]

Both run the same kernels of the same phases (docs/decisions/018-phases.md). What is compared is the time of a whole run
divided by its calls. PageRank and Katz centrality, which have no phases, show what a pass over the same edges takes.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np

import arcflux as af
from arcflux.algorithms.hits import HITS
from arcflux.engine.phases import together
from measure import report, rounds, save

# Calls of a run take at least so many vertices and arcs together, and at most so many calls.
VISITS, CALLS = 1 << 22, 2000


def hits(graph: af.Graph, threads: int, iterations: int, fused: bool) -> float:
    """Seconds of a call of a phase, in a run of so many iterations."""
    given = {"weight": np.full(graph.vertices, 1.0 / graph.vertices)}
    way = {"_lost": lambda self: math.inf} if fused else {"iterate": lambda self, *given: None}
    with mock.patch.multiple(together._Team, **way):
        run = af.run(HITS, graph, given=given, tolerance=0.0, most=iterations, threads=threads)
    return run.seconds / run.supersteps


def pagerank(graph: af.Graph, threads: int, iterations: int) -> float:
    """Seconds of a superstep of PageRank."""
    run = af.run(af.algorithms.PageRank, graph, tolerance=0.0, max_supersteps=iterations, threads=threads)
    return run.seconds / run.supersteps


def katz(graph: af.Graph, threads: int, iterations: int) -> float:
    """Seconds of a superstep of Katz centrality."""
    run = af.katz_centrality(graph, alpha=1e-6, tol=0.0, max_iter=iterations, threads=threads)
    return run.seconds / run.supersteps


def ways(graph: af.Graph, threads: int) -> dict[str, Callable[[], float]]:
    """What is measured on a graph, by name."""
    iterations = int(min(CALLS, max(20, VISITS // (graph.vertices + graph.arcs)))) // 2
    return {
        "HITS, launches": lambda: hits(graph, threads, iterations, False),
        "HITS, fused": lambda: hits(graph, threads, iterations, True),
        "PageRank": lambda: pagerank(graph, threads, 2 * iterations),
        "Katz": lambda: katz(graph, threads, 2 * iterations),
    }


def main(arguments: list[str] | None = None) -> None:
    """Measure all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", nargs="+", default=["kron:8", "kron:11", "kron:15"])
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--json", default="")
    chosen = parser.parse_args(arguments)
    found: dict[str, Any] = {}
    warnings.simplefilter("ignore")  # every run is ended after so many iterations
    for spec in chosen.graphs:
        graph = af.load(f"{spec},directed=true" if spec.startswith("kron") else spec)
        for threads in chosen.threads:
            title = f"a pass of HITS on {spec}, {threads} threads"
            found[title] = report(title, rounds(ways(graph, threads), chosen.trials), "HITS, fused", unit="ms")
    if chosen.json:
        save(chosen.json, found)


if __name__ == "__main__":
    main()

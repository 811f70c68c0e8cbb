"""What do native algorithms save over the programs that say the same? (docs/decisions/029-native-or-program.md)

    python benchmarks/native.py [--graphs kron:14,directed=false grid:150x150] [--subjects clustering] [--trials 5]
        [--threads 1] [--json out]

Label propagation by `around` and `af.mode`, betweenness from one source by phases, clustering by `af.intersect`, beside
the calls that have kernels of their own. Processor time; both have to give the same. On a directed graph label
propagation needs one that has each edge both ways, which is made anew each time. Of two-hop friends a program can
only bring every candidate to its vertex by mail, and count them with those that come twice: less than the call does.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import arcflux as af
from measure import report, rounds, save

ROUNDS = 10


@af.program
class Labels:
    """Label propagation."""

    sparse = True
    rounds: int = ROUNDS
    label: af.i32

    def start(v):
        v.label = v.number
        return True

    def around(v, edges, old):
        v.label = af.mode((u.label for u in edges), default=old.label)

    def update(v, old, p, step):
        return v.label != old.label and step + 1 < p.rounds


@af.program
class Between:
    """Brandes from one source: shortest paths forward, then what each vertex is worth to it, level by level."""

    source: af.vertex
    level: af.i32
    paths: af.f64
    dependency: af.f64

    def start(v, p):
        v.level = 0 if v.number == p.source else -1
        v.paths = 1.0 if v.number == p.source else 0.0
        return True

    @af.phase
    class forth:
        sparse = True

        def start(v):
            return v.level == 0

        def wants(v):
            return v.level < 0

        def compute(v, u):
            v.paths += u.paths

        def update(v, step):
            if v.paths == 0.0:
                return False
            v.level = step + 1
            return True

    @af.phase(edges="against")
    class back:
        def init(v):
            v.dependency = 0.0

        def compute(v, u, old):
            if u.level == old.level + 1:
                v.dependency += (1.0 + u.dependency) * old.paths / u.paths

        def update(v, old):
            return v.dependency != old.dependency

    def iteration(run, g, p):
        run.forth(until="quiet")
        run.back(until="quiet")
        return False


@af.program
class Clustering:
    """The share of pairs of neighbours that are neighbours, on a simple undirected graph."""

    clustering: af.f64

    def start(v):
        return True

    def around(v, edges):
        twice = 0
        for u in edges:
            twice += af.intersect(v, u)
        if v.in_degree > 1:
            v.clustering = twice / (v.in_degree * (v.in_degree - 1.0))

    def update(v):
        return False


@af.program
class Candidates:
    """How many paths of two edges begin at a vertex and do not come back: friends of friends, some more than once."""

    candidates: af.i64
    asks: af.mail(af.i64)
    far: af.mail(af.i64)

    def start(v):
        for k in range(v.out_degree):
            af.send(af.neighbour(v, k), asks=v.number)
        return False

    def receive(v, asks, far):
        for who in asks:
            for k in range(v.out_degree):
                if af.neighbour(v, k) != who:
                    af.send(who, far=af.neighbour(v, k))
        v.candidates += len(far)


def _both_ways(graph: af.Graph) -> af.Graph:
    """A view that is not kept from one call to the next; of an undirected graph the graph."""
    graph.kept.pop("both ways", None)
    return graph.both_ways()


def pairs(graph: af.Graph, threads: int) -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    """By subject: the native call, and the program; both give the same array."""
    source = graph.ids.to_ids(np.array([int(np.argmax(graph.out_degrees))]))[0]

    def native_dependency() -> Any:
        found = af.betweenness_centrality(graph, sources=[source], normalized=False, threads=threads)["centrality"]
        return found if graph.directed else 2 * found

    def dependency() -> Any:
        found = af.run(Between, graph, source=source, threads=threads)["dependency"].copy()
        found[int(np.argmax(graph.out_degrees))] = 0.0
        return found

    return {
        "label propagation": (
            lambda: af.label_propagation(graph, max_iter=ROUNDS, threads=threads)["label"],
            lambda: af.run(Labels, _both_ways(graph), threads=threads)["label"],
        ),
        "betweenness": (native_dependency, dependency),
        "two-hop friends": (
            lambda: af.algorithms.two_hop_friends(graph, threads=threads)["count"],
            lambda: af.run(Candidates, graph, threads=threads)["candidates"],
        ),
        "clustering": (
            lambda: af.clustering(graph, threads=threads)["clustering"],
            lambda: af.run(Clustering, graph, threads=threads)["clustering"],
        ),
    }


def timed(call: Callable[[], Any]) -> Callable[[], float]:
    """A call that gives its processor time."""

    def seconds() -> float:
        begun = time.process_time()
        call()
        return time.process_time() - begun

    return seconds


def main() -> None:
    """Measure all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    graphs = ["kron:14,directed=false", "grid:150x150", "ws:30000,k=10,p=0.1"]
    parser.add_argument("--graphs", nargs="*", default=graphs)
    parser.add_argument("--subjects", nargs="*", default=[])
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", default="")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    results = {}
    for spec in chosen.graphs:
        graph = af.load(spec)
        for subject, (native, program) in pairs(graph, chosen.threads).items():
            if chosen.subjects and subject not in chosen.subjects:
                continue
            if subject != "two-hop friends":
                np.testing.assert_allclose(program(), native(), rtol=1e-9)
            compared = {"kernel": timed(native), "program": timed(program)}
            name = f"{subject} on {spec}, {chosen.threads} threads"
            results[name] = report(name, rounds(compared, chosen.trials), "kernel", unit="ms")
    if chosen.json:
        save(chosen.json, results)


if __name__ == "__main__":
    main()

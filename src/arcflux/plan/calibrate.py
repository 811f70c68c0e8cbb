"""Measure this machine once: memory, barriers, transports, and every algorithm on graphs of many families and sizes.

The graphs vary in everything that the terms of a run depend on (fit.py): vertices, degree, the locality of neighbours,
the skew of degrees, the depth of a search. Each algorithm runs on all workers and on one; other load on a machine comes
and goes within seconds, so a second round follows while there is time, and the faster run counts.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any

import numpy as np

from arcflux import config, trace
from arcflux.graph import Graph
from arcflux.plan.calibration import Calibration, path
from arcflux.plan.fit import Observation, frontier_curve
from arcflux.plan.journal import Run, machine, versions
from arcflux.plan.sketch import sketch_graph
from arcflux.plan.work import WORKS, Work

__all__ = ["GRAPHS", "Effort", "Subject", "calibrate", "call_of", "observe", "push_over_pull"]


@dataclass(frozen=True)
class Subject:
    """A graph to measure on: a spec, in random order if `shuffled`, or a power-law graph whose neighbours are near.

    `near`: vertices and arcs per vertex of the latter, whose spec is empty.
    """

    spec: str = ""
    shuffled: bool = False
    near: tuple[int, int] = (0, 0)

    def graphs(self) -> tuple[Graph, Graph]:
        """The graph without and with weights."""
        from arcflux.io import load

        if self.spec and not self.shuffled:
            return load(self.spec), load(f"{self.spec},weights=1-255")
        chance = np.random.default_rng(11)
        if self.spec:
            plain = load(self.spec)
            source, target, _ = plain.edge_numbers()
            order, vertices = chance.permutation(plain.vertices), plain.vertices
            source, target = order[source], order[target]
        else:
            source, target, vertices = _nearby_edges(*self.near, chance)
        weights = {"weight": chance.integers(1, 256, len(source)).astype(np.float64)}
        options: dict[str, Any] = {"vertices": vertices, "directed": False, "deduplicate": "first"}
        one = Graph.from_edges(source, target, drop_self_loops=True, **options)
        return one, Graph.from_edges(source, target, drop_self_loops=True, columns=weights, **options)

    def __str__(self) -> str:
        name = self.spec or f"{self.near[0]:,} vertices with {self.near[1]} near neighbours"
        return f"{name} in random order" if self.shuffled else name


def _nearby_edges(vertices: int, degree: int, chance: np.random.Generator) -> tuple[Any, Any, int]:
    """The ends of edges to vertices with near numbers; distances and degrees both follow power laws."""
    many = np.minimum(chance.pareto(1.5, vertices) + 0.5, vertices / 16)
    source = np.repeat(np.arange(vertices), np.ceil(many * degree / 2 / many.mean()).astype(np.int64))
    apart = np.minimum(np.ceil(4 * (chance.pareto(1.0, len(source)) + 1)), vertices - 1).astype(np.int64)
    return source, (source + apart) % vertices, vertices


GRAPHS = (
    Subject("kron:12,ef=16"), Subject("grid:120x90"), Subject("urand:n=20000,m=120000"), Subject(near=(60_000, 12)),
    Subject("kron:16,ef=8"), Subject("ws:40000,k=8,p=0.1"), Subject("grid:250x250", shuffled=True),
    Subject("worlds:300x64,k=16,rewire=0.02"), Subject("kron:18,ef=12"), Subject("urand:n=150000,m=1200000"),
    Subject("grid:600x700"), Subject(near=(250_000, 8)), Subject("kron:14,ef=30"), Subject("ws:300000,k=6,p=0.02"),
    Subject("urand:n=5000,m=150000"), Subject("kron:10,ef=6"), Subject("grid:50x50", shuffled=True),
    Subject("worlds:2000x50,k=10,rewire=0.05"), Subject("urand:n=400000,m=1000000"), Subject("kron:17,ef=24"),
    Subject("ws:8000,k=24,p=0.3"), Subject(near=(8_000, 30)), Subject("grid:40x40"), Subject("kron:13,ef=4"),
    Subject("urand:n=60000,m=1500000"), Subject("grid:400x300", shuffled=True), Subject("ws:120000,k=20,p=0.1"),
    Subject("kron:19,ef=5"), Subject("urand:n=3000,m=8000"), Subject(near=(20_000, 6)),
    Subject("grid:45x60"), Subject("kron:15,ef=3"), Subject(near=(45_000, 5)), Subject("urand:n=120000,m=400000"),
    Subject("ws:3000,k=6,p=0.05"), Subject(near=(120_000, 20)), Subject("kron:11,ef=20"), Subject(near=(3_000, 8)),
    Subject("grid:180x180", shuffled=True), Subject("urand:n=2500,m=40000"),
)  # fmt: skip
"""What calibrate measures on: those first that tell most together, since time may run out."""
_TINY = (Subject("kron:7"), Subject("grid:12x12"))
_FEW = (Subject("kron:10"), Subject("kron:12"), Subject("urand:10"), Subject("grid:40x40"))
# Graphs too large for programs that are not `main`; the limit on pairs of arcs.
_LARGE, _MANY_PAIRS = 400_000, 2e8


@dataclass(frozen=True)
class Effort:
    """How much is measured: on which graphs, seconds for all runs, tries per run, and programs."""

    graphs: Sequence[Subject] = GRAPHS
    seconds: float = 85.0
    tries: int = 4
    works: Sequence[Work] = tuple(WORKS.values())
    elements: int = 1 << 25
    largest: int = 1 << 28
    processes: bool = True


QUICK = Effort(_FEW, 30.0, 3, elements=1 << 16, largest=1 << 20, processes=False)


def calibrate(*, quick: bool = False, keep: bool = True) -> Calibration:
    """Measure this machine, in about two minutes after compiling the kernels, and keep the result.

    `quick` uses small graphs and small memories only: good for a test, not for predictions.
    """
    return measure_machine(QUICK if quick else Effort(), keep=keep)


def measure_machine(effort: Effort, *, keep: bool = True) -> Calibration:
    """Measure this machine with the given effort."""
    from arcflux.plan import microbench

    begun = time.perf_counter()
    trace.note("measuring memory")
    throughput, latency = microbench.accesses(effort.elements)
    hierarchy = tuple(microbench.hierarchy(largest=effort.largest))
    trace.note("measuring barriers and transports")
    barrier, launch = microbench.barrier_seconds(), microbench.launch_seconds()
    exchange = microbench.exchange(processes=effort.processes)
    with config.measuring():
        runs = _runs(effort)
        trace.note("measuring when to push")
        ratio = push_over_pull([one for one in effort.graphs if one.spec][:2])
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    calibration = Calibration(
        machine(), versions(), now, time.perf_counter() - begun, throughput, latency, hierarchy, barrier, launch,
        exchange, tuple(runs), ratio,
    )  # fmt: skip
    if keep:
        calibration.save(path())
    return calibration


def _runs(effort: Effort) -> list[Run]:
    """Run every program on every graph, on all workers and on one: the faster of two rounds, while there is time."""
    trace.note("compiling programs")
    for subject in _TINY:  # else the first calibration spends its time compiling and reaches a third of the graphs
        _on(subject, replace(effort, tries=1))
    begun = time.perf_counter()
    by_graph: list[dict[tuple[str, int], Observation]] = []
    for again in (False, True):
        for k, subject in enumerate(effort.graphs):
            if time.perf_counter() - begun > effort.seconds:
                break
            trace.note(f"measuring programs on {subject}")
            observations = _on(subject, effort)
            if not again:
                by_graph.append(observations)
            elif k < len(by_graph):
                for name, one in observations.items():
                    by_graph[k][name] = min(by_graph[k].get(name, one), one, key=lambda run: run.seconds)
    return [Run(key, threads, one) for observed in by_graph for (key, threads), one in observed.items()]


def _on(subject: Subject, effort: Effort) -> dict[tuple[str, int], Observation]:
    """Run every program on a graph; the observations by name and direction, and by threads."""
    graph, weighted = subject.graphs()
    sketch, observations = sketch_graph(graph), {}
    for work in effort.works:
        if (graph.arcs > _LARGE and not work.main) or (work.term == "squares" and sketch.squares > _MANY_PAIRS):
            continue
        for direction in work.measured:
            for threads in sorted({1, config.threads()}):
                run = observe(work, direction, weighted if work.weighted else graph, threads, effort.tries)
                observations[f"{work.name}/{direction}", threads] = run
    return observations


def observe(work: Work, direction: str, graph: Graph, threads: int, tries: int = 4) -> Observation:
    """Observe a program: the median over some sources of supersteps and seconds, each the fastest of some tries.

    Other load on the machine only adds to a time, so the fastest try is nearest to what a run takes.
    """
    call = call_of(work, direction, graph, {"threads": threads})
    count = 3 if work.main and not work.dense else 1
    picked = np.random.default_rng(7).choice(np.flatnonzero(graph.out_degrees), count)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a run is cut short on purpose
        results = [_fastest(call, source, tries) for source in graph.ids.to_ids(picked)]
    middle = sorted(results, key=lambda result: result.seconds)[len(results) // 2]
    steps = float(np.median([max(1, len(one.history)) for one in results]))
    curve = () if work.dense else frontier_curve(middle.history, graph.arcs)
    return Observation(sketch_graph(graph), steps, float(np.median([one.seconds for one in results])), curve)


def _fastest(call: Callable[[Any], Any], source: Any, tries: int) -> Any:
    """The fastest of some runs: of more if other processes took cores during all, of fewer if they take long."""
    begun, calm, count = time.perf_counter(), False, 0
    fastest: Any = None
    while count < (tries if calm else 3 * tries) and (not count or time.perf_counter() - begun < _SECONDS):
        before = _count_interruptions()
        result = call(source)
        calm = calm or _count_interruptions() == before
        fastest = result if fastest is None or result.seconds < fastest.seconds else fastest
        count += 1
    return fastest


_SECONDS = 0.1


def _count_interruptions() -> int:
    """How often the system has taken a core away from this process."""
    try:
        import resource
    except ImportError:  # a system without that count: every run counts as undisturbed
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


def call_of(work: Work, direction: str, graph: Any, where: Mapping[str, Any]) -> Callable[[Any], Any]:
    """A function of a source that runs an algorithm with the options of a placement."""
    from arcflux.algorithms.registry import find

    entry = find(work.call or work.name)
    options = {**where, **dict(work.options)}
    if direction != "auto":
        options["direction"] = direction
    if "source" in entry.arguments:
        return lambda source: entry.call(graph, source, **options)
    if "sources" in entry.arguments:
        return lambda source: entry.call(graph, sources=[source], **options)
    return lambda source: entry.call(graph, **options)


def push_over_pull(subjects: Sequence[Subject], tries: int = 12) -> float:
    """The cost of pushing an arc over that of pulling it, for a program with a frontier: Lux's rule, measured here.

    Lux pushes while fewer than a 20th of all vertices send; here a superstep is pushed while its arcs, each that much
    dearer, cost less than pulling all of them. In the first superstep of min-label every vertex is active: the fastest
    of some alternating runs, averaged over some graphs.
    """
    ratios = []
    for subject in subjects:
        graph, _ = subject.graphs()
        least = {"push": np.inf, "pull": np.inf}
        calls = {way: call_of(WORKS["min_label"], way, graph, {"threads": config.threads()}) for way in least}
        for _ in range(tries):
            for way, call in calls.items():
                least[way] = min(least[way], call(None).history[0].seconds)
        ratios.append(least["push"] / least["pull"])
    return float(np.clip(np.exp(np.mean(np.log(ratios))), 1.0, 10.0))

"""Runs on parts that a calibration makes: programs on parts of small graphs, in every form of exchange.

Parts are threads of this process that pretend to be nodes, and processes of MPI where that is installed, which are
started once for each number of them. What splitting takes before a run is measured with the first run of each kind.
"""

from __future__ import annotations

import json
import math
import re
import subprocess
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from arcflux import config, trace
from arcflux.plan.brief import DEEP, brief, glanced, glanced_shape, kind
from arcflux.plan.fit import Fit
from arcflux.plan.parted import PartFit, Seen, fit_parts, key_of
from arcflux.plan.programs import PROGRAMS, WEIGHTED
from arcflux.plan.split import SHARED, Split, Where, crossing, has_mincut

__all__ = [
    "BY_THREADS",
    "GRAPHS",
    "JOBS",
    "PLACES",
    "fitted_parts",
    "on_parts",
    "on_processes",
    "on_threads",
    "setup_rates",
]

# Of each family one that is small and one that is not, so that most graphs lie between two that were measured; those
# that tell most come first, since time may run out.
GRAPHS = (
    "kron:16", "grid:40x40", "urand:15", "ws:40000,k=8,p=0.1", "kron:12", "grid:120x120", "urand:12",
    "ws:8000,k=10,p=0.05",
)  # fmt: skip
BY_THREADS = ("kron:12", "kron:16", "grid:40x40")
_FEW = ("kron:8", "grid:20x20")
# Processes, and how many of them make a node: those of a job are the same throughout, so each is a job of its own.
JOBS = ((2, 2), (4, 4), (2, 1), (4, 1))
PART_PROGRAMS = (("pagerank", "pull"), ("bfs", "auto"), ("min_label", "auto"), ("sssp", "auto"))
_SPLITS = (
    Split("ranges", "readers"), Split("ranges", "owners"), Split("ranges", "allreduce"), Split("ranges", "mixed"),
    Split("grid", "owners"), Split("random", "readers"), Split("degree", "owners"),
)  # fmt: skip
# Graphs with so many arcs, deep ones, and many parts are split in the first ways only, each with messages of its own
# kind; from so many arcs on, what splitting takes is worth a look.
_MANY, _FIRST, _WORTH_SPLITTING = 400_000, 5, 100_000
# How often each is run besides the first time, which is slower than others, by the seconds up to which that holds.
_TRIES = {0.03: 2, 0.2: 1}
# Seconds, unless others are given, which is also how much longer a job may take to start and end; at least for a job.
_SECONDS, _LEAST = 60.0, 3.0
PLACES = (Where(2, 2), Where(2, 1))


def on_parts(*, quick: bool = False, processes: bool = True, seconds: float = _SECONDS) -> list[dict[str, Any]]:
    """Runs, each with its program and direction, and what splitting took before it; ready for JSON."""
    until = time.monotonic() + seconds
    trace.note("measuring parts")
    rows = on_threads(_FEW if quick else BY_THREADS, PLACES[:1] if quick else PLACES)
    if processes and not quick:
        for done, (ranks, per_node) in enumerate(JOBS):
            trace.note(f"measuring {ranks} processes, {per_node} on a node")
            share = (until - time.monotonic()) / (len(JOBS) - done)
            rows += on_processes(ranks, per_node, GRAPHS, max(_LEAST, share))
    return rows


def on_threads(graphs: Iterable[str], places: Iterable[Where]) -> list[dict[str, Any]]:
    """Every program on parts of some graphs, which are threads of this process."""
    return list(_all(graphs, list(places)))


def _all(graphs: Iterable[str], places: Iterable[Where], seconds: float = math.inf) -> Iterator[dict[str, Any]]:
    """Every program on every graph, place and split, until so many seconds are over."""
    from arcflux.io import load

    until = time.monotonic() + seconds
    _warm_up(places)
    for spec in graphs:
        plain, weighted = load(spec), load(f"{spec},weights=1-255")
        for where in places:
            if _agreed(until - time.monotonic(), where) < 0:
                return
            for split in _ways(where, plain.arcs >= _MANY or glanced(plain).depth > DEEP):
                splitting = None
                for program in PART_PROGRAMS:
                    graph = weighted if program[0] in WEIGHTED else plain
                    row, before = _run(program, graph, where, split)
                    splitting = before if splitting is None else splitting
                    yield {**row, "spec": spec, "splitting": splitting}


def _warm_up(places: Iterable[Where]) -> None:
    """Run everything on a tiny graph: first runs load kernels, connect ranks and touch memory, and take far longer."""
    from arcflux.io import load

    tiny = load("kron:5,weights=1-255")
    for where in places:
        for split in _ways(where, False):
            for program in PART_PROGRAMS:
                _timed(program, tiny, where, split)


def _ways(where: Where, large: bool) -> list[Split]:
    """In which ways parts at a place are split; all of them where runs are short."""
    if where.nodes == 1:  # what threads share is measured as threads
        return [Split("ranges", "owners"), Split("ranges", SHARED)][: 2 if where.transport == "mpi" else 1]
    return list(_SPLITS[:_FIRST] if large or where.parts > 2 else _SPLITS)


def _run(program: tuple[str, str], graph: Any, where: Where, split: Split) -> tuple[dict[str, Any], float]:
    """A run as it is kept, and the seconds before it that splitting took, if the graph was not split so before."""
    steps, seconds, before = _timed(program, graph, where, split)
    known = glanced(graph)
    crossed = crossing(glanced_shape(graph), kind(known), split, where.nodes)
    return {"key": "/".join(program), **Seen(brief(known), where, split, steps, seconds, crossed).to_dict()}, before


def _timed(program: tuple[str, str], graph: Any, where: Where, split: Split) -> tuple[float, float, float]:
    """Supersteps, seconds of the fastest run, and seconds before the first one that were not for compiling."""
    from arcflux.plan.programs import call_of

    exchange = "auto" if split.exchange == SHARED else split.exchange
    options = {"parts": where.parts, "partition": split.partition, "exchange": exchange, "rebalance": "off",
               "ranks_per_node": where.parts // where.nodes}  # fmt: skip
    call = call_of(*program, graph, options)
    source = graph.ids.to_ids(graph.out_degrees.argmax()[None])[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begun = time.perf_counter()
        found = call(source)
        before = time.perf_counter() - begun - found.seconds - found.compile_seconds
        took = _agreed(found.seconds, where)
        for _ in range(next((often for most, often in _TRIES.items() if took < most), 0)):
            found = min(found, call(source), key=lambda result: float(result.seconds))
    return float(max(1, len(found.history))), found.seconds, max(0.0, before)


def _agreed(number: float, where: Where) -> float:
    """The number of the first rank, for all of them: each has measured another."""
    from arcflux.transports.launch import current

    ranks = current(ranks_per_node=where.parts // where.nodes) if where.transport == "mpi" else None
    return number if ranks is None else float(ranks.broadcast(np.array([number]), 0)[0])


def on_processes(
    ranks: int, per_node: int, graphs: Iterable[str], seconds: float = _SECONDS
) -> list[dict[str, Any]]:  # fmt: skip
    """The same on processes, when MPI is installed and starts; they begin nothing new when the seconds are over."""
    from importlib.util import find_spec

    from arcflux.errors import ArcfluxError
    from arcflux.transports.launch import command

    if find_spec("mpi4py") is None:
        return []
    code = f"from arcflux.plan.partruns import speak; speak({per_node}, {list(graphs)!r}, {seconds})"
    try:
        words, environment = command(ranks, ["-c", code])
        done = subprocess.run(
            words, env=environment, capture_output=True, text=True, timeout=seconds + _SECONDS, check=True
        )
    except (ArcfluxError, OSError, subprocess.SubprocessError) as error:
        trace.note(f"{ranks} processes could not be measured: {error}")
        return []
    said = re.search(r"\[\{.*\}\]", done.stdout)  # Open MPI writes escape sequences after it
    return [] if said is None else list(json.loads(said.group()))


def speak(per_node: int, graphs: list[str], seconds: float) -> None:
    """What a process of MPI does: all run, and rank 0 prints."""
    from arcflux.transports.launch import current

    transport = current(ranks_per_node=per_node)
    assert transport is not None
    with config.measuring():
        rows = list(_all(graphs, [Where(transport.size, transport.nodes, "mpi")], seconds))
    if transport.rank == 0:
        print(json.dumps(rows))
    transport.close()


def fitted_parts(runs: Mapping[str, list[Seen]], alone: Mapping[str, Fit]) -> dict[str, PartFit]:
    """The fits of what was observed, by :func:`arcflux.plan.parted.key_of`; `alone` are those of one thread."""
    found: dict[str, PartFit] = {}
    for program, seen in runs.items():
        if program not in alone:
            continue
        form = PROGRAMS[tuple(program.split("/"))]  # type: ignore[index]
        groups: dict[str, list[Seen]] = {}
        for one in seen:
            groups.setdefault(key_of(program, one.split, one.where), []).append(one)
        for key, some in groups.items():
            by_one = [alone[program].seconds(one.graph, one.supersteps) for one in some]
            found[key] = fit_parts(some, by_one, form.dense, form.value)
    return found


def setup_rates(rows: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Seconds that splitting takes for each arc, by split: the least that was seen."""
    found: dict[str, float] = {}
    for row in rows:
        arcs = row["graph"]["arcs"]
        if arcs > _WORTH_SPLITTING:
            split = str(Split(**row["split"]))
            found[split] = min(row["splitting"] / arcs, found.get(split, float("inf")))
    if has_mincut():
        from arcflux.io import load
        from arcflux.partition import partition

        graph = load("kron:12")
        begun = time.perf_counter()
        partition(graph, 4, "mincut")
        found["mincut"] = (time.perf_counter() - begun) / graph.arcs
    return found

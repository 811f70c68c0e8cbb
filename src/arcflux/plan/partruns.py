"""Runs on parts that a calibration makes: programs on parts of small graphs, in every form of exchange.

Parts are threads of this process that pretend to be nodes, and processes of MPI where that is installed, which are
started once for each number of them. What splitting takes before a run is measured with the first run of each kind.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from arcflux import config, trace
from arcflux.plan.brief import brief, glanced, glanced_shape, kind
from arcflux.plan.fit import Fit
from arcflux.plan.parted import PartFit, Seen, fit_parts, key_of
from arcflux.plan.programs import PROGRAMS, WEIGHTED
from arcflux.plan.split import SHARED, Split, Where, crossing, has_mincut

__all__ = ["PLACES", "fitted_parts", "on_parts", "on_processes", "on_threads", "setup_rates"]

_GRAPHS = ("kron:10", "kron:13", "kron:16", "urand:12", "grid:24x24")
_FEW = ("kron:8", "grid:20x20")
_BY_PROCESSES = ("kron:9", "kron:13", "urand:11", "grid:24x24")
# Processes, and how many of them make a node: those of a job are the same throughout, so each is a job of its own.
_JOBS = ((2, 1), (4, 2), (2, 2), (4, 4))
PART_PROGRAMS = (("pagerank", "pull"), ("bfs", "auto"), ("min_label", "auto"), ("sssp", "auto"))
_SPLITS = (
    Split("ranges", "readers"), Split("random", "readers"), Split("ranges", "owners"), Split("ranges", "allreduce"),
    Split("ranges", "mixed"), Split("grid", "owners"), Split("degree", "owners"),
)  # fmt: skip
# Arcs of the graph from which on what splitting takes is worth a look; how often each is run.
_LARGE, _TRIES = 100_000, 2
# Longer runs, in seconds, are made once.
_LONG = 0.03
# On graphs with so many arcs, only the first two programs are run.
_MANY = 1_000_000
_SECONDS = 60
PLACES = (Where(2, 2), Where(4, 4), Where(4, 2), Where(2, 1))


def on_parts(*, quick: bool = False, processes: bool = True) -> dict[str, list[Any]]:
    """Runs by program and direction, and what splitting took: ``{"runs": ..., "setup": ...}``, ready for JSON."""
    graphs = _FEW if quick else _GRAPHS
    trace.note("measuring parts")
    rows = on_threads(graphs, PLACES[:1] if quick else PLACES)
    if processes and not quick:
        for ranks, per_node in _JOBS:
            trace.note(f"measuring {ranks} processes, {per_node} on a node")
            rows += on_processes(ranks, per_node, _BY_PROCESSES)
    return {"runs": [row for row in rows if "setup" not in row], "setup": [row for row in rows if "setup" in row]}


def on_threads(graphs: Iterable[str], places: Iterable[Where]) -> list[dict[str, Any]]:
    """Every program on parts of some graphs, which are threads of this process."""
    return list(_all(graphs, places))


def _all(graphs: Iterable[str], places: Iterable[Where]) -> Iterator[dict[str, Any]]:
    """Every program on every graph, place and split."""
    from arcflux.io import load

    for spec in graphs:
        plain, weighted = load(spec), load(f"{spec},weights=1-255")
        for program in PART_PROGRAMS if plain.arcs < _MANY else PART_PROGRAMS[:2]:
            graph = weighted if program[0] in WEIGHTED else plain
            for where in places:
                yield from _in(program, graph, where)


def _in(program: tuple[str, str], graph: Any, where: Where) -> Iterator[dict[str, Any]]:
    if where.nodes == where.parts or (where.transport == "mpi" and where.nodes > 1):
        ways = list(_SPLITS)
    elif where.nodes > 1:
        ways = [one for one in _SPLITS if one.exchange in ("readers", "owners")]
    elif where.transport == "mpi":
        ways = [Split("ranges", SHARED), Split("ranges", "owners")]
    else:
        ways = [Split("ranges", "owners")]  # what is shared is measured as threads
    for split in ways:
        steps, seconds, setup = _timed(program, graph, where, split)
        known = glanced(graph)
        crossed = crossing(glanced_shape(graph), kind(known), split, where.nodes)
        seen = Seen(brief(known), where, split, steps, seconds, crossed)
        yield {"key": "/".join(program), **seen.to_dict()}
        if graph.arcs > _LARGE and program[0] == "pagerank":
            yield {"key": str(split), "setup": setup / graph.arcs}


def _timed(program: tuple[str, str], graph: Any, where: Where, split: Split) -> tuple[float, float, float]:
    """Supersteps, seconds of the fastest run, and seconds before the first one that were not for compiling."""
    from arcflux.plan.programs import call_of

    exchange = "readers" if split.exchange == SHARED else split.exchange
    options = {"parts": where.parts, "partition": split.partition, "exchange": exchange, "rebalance": "off",
               "ranks_per_node": where.parts // where.nodes}  # fmt: skip
    call = call_of(*program, graph, options)
    source = graph.ids.to_ids(graph.out_degrees.argmax()[None])[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begun = time.perf_counter()
        first = call(source)
        setup = time.perf_counter() - begun - first.seconds - first.compile_seconds
        found = first
        # Ranks measure each for itself, so they may not decide by that how often to run.
        for _ in range(_TRIES if where.transport == "mpi" or first.seconds < _LONG else 0):
            found = min(found, call(source), key=lambda result: float(result.seconds))
    return float(max(1, len(found.history))), found.seconds, max(0.0, setup)


def on_processes(ranks: int, per_node: int, graphs: Iterable[str]) -> list[dict[str, Any]]:
    """The same on processes, when MPI is installed and starts."""
    from importlib.util import find_spec

    from arcflux.errors import ArcfluxError
    from arcflux.transports.launch import command

    if find_spec("mpi4py") is None:
        return []
    code = f"from arcflux.plan.partruns import speak; speak({per_node}, {list(graphs)!r})"
    try:
        words, environment = command(ranks, ["-c", code])
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=_SECONDS, check=True)
    except (ArcfluxError, OSError, subprocess.SubprocessError) as error:
        trace.note(f"{ranks} processes could not be measured: {error}")
        return []
    said = re.search(r"\[\{.*\}\]", done.stdout)  # Open MPI writes escape sequences after it
    return [] if said is None else list(json.loads(said.group()))


def speak(per_node: int, graphs: list[str]) -> None:
    """What a process of MPI does: all run, and rank 0 prints."""
    from arcflux.transports.launch import current

    transport = current(ranks_per_node=per_node)
    assert transport is not None
    with config.measuring():
        rows = list(_all(graphs, [Where(transport.size, transport.nodes, "mpi")]))
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
        found[row["key"]] = min(row["setup"], found.get(row["key"], float("inf")))
    if has_mincut():
        from arcflux.io import load
        from arcflux.partition import partition

        graph = load("kron:12")
        begun = time.perf_counter()
        partition(graph, 4, "mincut")
        found["mincut"] = (time.perf_counter() - begun) / graph.arcs
    return found

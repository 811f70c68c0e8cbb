"""How fast are the six kernels of the GAP Benchmark Suite? Arcflux, other libraries, and the suite itself.

    python benchmarks/gap.py [--graphs kron:20 road:18 my.wel ...] [--families 16 18] [--kernels bfs sssp pr cc bc tc]
                             [--peers scipy graphblas networkit igraph] [--gap FOLDER] [--trials 9] [--threads 2]
                             [--patience 5] [--folder build/gap] [--json results/gap.json]

Trials are interleaved: the first of everybody, then the second of everybody, from the same sources. Every answer is
compared with ours, and whole calls are what counts against the suite. docs/reference/benchmarks.md says what is
compared and how to read it. --gap is the folder with the suite's binaries; without it they are left out, as are
libraries that are not installed.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import arcflux as af
from checks import KERNELS
from families import FAMILIES, family, is_family
from measure import save
from peers import Arrays
from rivals import Answer, Failed, Ours, Peer, Rival
from standings import MARKS, Entry, Row, as_json, summary, table
from suite import Suite

PEERS = ("scipy", "graphblas", "networkit", "igraph")
# A rival that takes so many times the patience is ended.
_PATIENCES = 20
# Who takes less than a second has so many runs in a turn, whose median counts, as the suite has: the first finds the
# caches full of what others left there, which a kernel of a few milliseconds would mostly measure.
_RUNS, _QUICK = 3, 1.0


def options(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--graphs", nargs="*", metavar="SPEC",
        help="specs of generators, families (families.py) such as road:18, or files; kron, urand and grid of scale 20",
    )  # fmt: skip
    parser.add_argument(
        "--families", nargs="+", type=int, default=[], metavar="SCALE", help="every family at these scales, too"
    )
    parser.add_argument("--kernels", nargs="+", default=list(KERNELS), choices=KERNELS)
    parser.add_argument("--peers", nargs="*", default=list(PEERS), choices=PEERS)
    parser.add_argument("--gap", type=Path, metavar="FOLDER", help="binaries of the GAP Benchmark Suite")
    parser.add_argument("--trials", type=int, default=9)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--patience", type=float, default=5.0, metavar="SECONDS", help="who takes longer runs once only"
    )
    parser.add_argument("--folder", type=Path, default=Path("build/gap"), help="where graphs are kept for the others")
    parser.add_argument("--json", type=Path, default=Path("results/gap.json"), metavar="FILE")
    given = parser.parse_args(arguments)
    if given.graphs is None:
        given.graphs = [] if given.families else every(20, ["kron", "urand", "grid"])
    for scale in given.families:
        given.graphs += every(scale, ["kron", "urand", "grid", *FAMILIES])
    return given


def every(scale: int, names: list[str]) -> list[str]:
    """Specs of some families at a scale; a grid has as many vertices as the others."""
    rows = 1 << scale // 2
    return [f"grid:{rows}x{(1 << scale) // rows}" if name == "grid" else f"{name}:{scale}" for name in names]


def prepared(spec: str, given: argparse.Namespace) -> tuple[af.Graph, Path]:
    """A graph with weights, and where its files are: arrays for the libraries, .sg and .wsg for the suite."""
    generated = ":" in spec
    if is_family(spec):
        graph = family(spec)
    else:
        graph = af.load(spec if "weights=" in spec or not generated else f"{spec},weights=1-255")
    if graph.directed or "weight" not in graph.columns:
        sys.exit(f"{spec}: the kernels need an undirected graph with a column weight")
    place = given.folder / re.sub(r"[^\w.=-]+", "-", spec)
    if given.peers and not (generated and (place / "weight.npy").exists()):
        kinds = np.int64, np.int32, np.int32
        arrays = *graph.out, graph.columns["weight"]
        Arrays(*(array.astype(kind) for array, kind in zip(arrays, kinds, strict=True))).save(place)
    for suffix in (".sg", ".wsg") if given.gap else ():
        file = place.with_name(place.name + suffix)
        if not (generated and file.exists()):
            file.parent.mkdir(parents=True, exist_ok=True)
            graph.save(file)
    return graph, place


def rivals(graph: af.Graph, place: Path, given: argparse.Namespace) -> list[Rival]:
    """Everybody who takes part."""
    made: list[Rival] = [Ours(graph, given.threads)]
    if given.gap:
        made.append(Suite(given.gap, place, given.threads, given.patience))
    for name in given.peers:
        if find_spec(name) is None:
            print(f"{name} is not installed and left out (pip install 'arcflux[bench]')")
            continue
        try:
            made.append(Peer(name, place, given.threads))
        except Failed as error:
            print(f"{name} is left out: {error}")
    return made


def turn_of(rival: Rival, kernel: str, source: int, limit: float) -> Answer:
    """A run of a rival; of those that take little time, the middle one of several. The suite counts its own."""
    answers = [rival.run(kernel, source, limit)]
    while len(answers) < _RUNS and answers[0].seconds < _QUICK and not isinstance(rival, Suite):
        answers.append(rival.run(kernel, source, limit))
    return sorted(answers, key=lambda answer: answer.seconds)[len(answers) // 2]


def contest(row: Row, who: list[Rival], sources: list[int], patience: float) -> None:
    """One kernel on one graph, in rounds. The first round is a warm-up, and tells who is too slow for more."""
    for turn, source in enumerate([sources[0], *sources]):
        answers: dict[str, Answer] = {}
        for rival in who[turn % len(who) :] + who[: turn % len(who)]:
            entry = row.entries[rival.name]
            if row.kernel not in rival.kernels or entry.once or entry.failed:
                continue
            try:
                answers[rival.name] = answer = turn_of(rival, row.kernel, source, patience * _PATIENCES)
            except Failed as error:
                entry.failed = str(error)
                continue
            entry.once = turn == 0 and answer.seconds > patience and isinstance(rival, Peer)
            if turn or entry.once:
                entry.seconds.append(answer.seconds)
                entry.calls += [answer.call] if answer.call is not None else []
        row.compare(answers)


def main() -> None:
    given = options()
    os.environ["ARCFLUX_QUIET"] = "1"
    rows: list[Row] = []
    names: list[str] = []
    settled: dict[str, Any] = {}
    for spec in given.graphs:
        graph, place = prepared(spec, given)
        reached = np.flatnonzero(graph.out_degrees > 0)
        sources = np.random.default_rng(27).choice(reached, given.trials).tolist()
        who = rivals(graph, place, given)
        names += [rival.name for rival in who if rival.name not in names]
        try:
            for kernel in given.kernels:
                row = Row(kernel, spec, {rival.name: Entry() for rival in who})
                contest(row, who, sources, given.patience)
                rows.append(row)
                times = "  ".join(f"{name} {entry.text()}" for name, entry in row.entries.items())
                print(f"{kernel} {spec}: {times}", flush=True)
        finally:
            for rival in who:
                rival.close()
        settled[spec] = next((rival.settled for rival in who if isinstance(rival, Suite)), {})
    rows.sort(key=lambda row: given.kernels.index(row.kernel))
    print(f"\nmilliseconds, median of {given.trials}, {given.threads} threads")
    print(f"{MARKS}\n\n{table(rows, names)}")
    total = summary(rows)
    print("\n" + "\n".join(f"{name}: {value:.2f}" for name, value in total.items()))
    kept = {"trials": given.trials, "threads": given.threads, "gap_settled": settled, "summary": total}
    save(given.json, {**kept, "rows": [as_json(row) for row in rows]})


if __name__ == "__main__":
    main()

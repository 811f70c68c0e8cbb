"""Ranks of MPI on one machine against threads of one process: the same kernels on the same graph, in turns.

    python benchmarks/ranks.py                     # kron:20, 2 threads, 2 ranks and 4 ranks
    python benchmarks/ranks.py --graph kron:16 --repeats 3
    python benchmarks/ranks.py --graph kron:16 --kernels geolocate local_clustering graphsage random_walks

All candidates are started once and wait for their turn, so that a noisy minute hits all of them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import arcflux as af
from arcflux.transports import current, launch
from measure import report, rounds, save

KERNELS = ("pagerank", "bfs", "geolocate", "local_clustering", "graphsage", "random_walks")


@cache
def drawn(vertices: int) -> tuple[Any, Any]:
    """Places, of which a fifth is known, and features."""
    random = np.random.default_rng(1)
    places = np.stack([random.uniform(-60, 60, vertices), random.uniform(-170, 170, vertices)], 1)
    places[random.random(vertices) > 0.2] = np.nan
    return places, random.standard_normal((vertices, 64), np.float32)


def timed(graph: af.Graph, kernel: str, turn: int, options: dict[str, Any]) -> float:
    """Seconds of one run through the public call."""
    if kernel == "pagerank":
        return af.pagerank(graph, tol=1e-4, max_iter=100, **options).seconds
    if kernel == "geolocate":
        return af.geolocate(graph, drawn(graph.vertices)[0], **options).seconds
    if kernel == "local_clustering":
        hub = [int(graph.out_degrees.argmax())]
        return af.local_clustering(graph, hub, rho=1e-5, method="fista", distributed=True, **options).seconds
    if kernel == "graphsage":
        return af.graphsage(graph, drawn(graph.vertices)[1], children=None, **options).seconds
    if kernel == "random_walks":
        return af.random_walks(graph, walk_length=40, **options).seconds
    able = np.flatnonzero(graph.out_degrees)
    sources = np.random.default_rng(27491095).choice(able, 64)
    return af.bfs(graph, int(sources[turn % 64]), **options).seconds


def serve(path: str, pipes: str, per_node: int | None) -> None:
    """Run what is asked for, as one of several ranks or alone, until nothing more is."""
    ranks = current(ranks_per_node=per_node)
    options: dict[str, Any] = {"threads": 2} if ranks is None else {"ranks_per_node": per_node}
    graph, leads = af.load(path), ranks is None or ranks.rank == 0
    asks = Path(f"{pipes}.asks").open() if leads else None  # noqa: SIM115 - as long as the process lives
    answers = Path(f"{pipes}.answers").open("w") if leads else None  # noqa: SIM115
    while True:
        asked = np.zeros(2, np.int64)
        if asks is not None:
            line = asks.readline().split()
            asked[:] = (KERNELS.index(line[0]), int(line[1])) if line else -1
        if ranks is not None:
            asked = ranks.broadcast(asked, 0)
        if asked[0] < 0:
            return
        if ranks is not None:
            ranks.barrier()  # those that slept until they were asked are awake
        seconds = timed(graph, KERNELS[asked[0]], int(asked[1]), options)
        if answers is not None:
            print(seconds, file=answers, flush=True)


class Candidate:
    """A process, or several ranks, that wait for their turn; asked through a pipe, as mpiexec has the others."""

    def __init__(self, graph: str, workers: int, per_node: int | None = None) -> None:
        pipes = f"{graph}.{workers}.{per_node}"
        for name in ("asks", "answers"):
            os.mkfifo(f"{pipes}.{name}")
        arguments = [__file__, "--serve", graph, pipes, *(["--per-node", str(per_node)] if per_node else [])]
        line, environment = [sys.executable, *arguments], dict(os.environ)
        if workers > 1:
            os.environ["ARCFLUX_HANG_SECONDS"] = "3600"  # the first rank waits to be asked, for as long as it takes
            line, environment = launch.command(workers, arguments)
        self.process = subprocess.Popen(line, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.asks, self.answers = Path(f"{pipes}.asks").open("w"), Path(f"{pipes}.answers").open()  # noqa: SIM115
        self.turn = 0

    def run(self, kernel: str) -> float:
        print(kernel, self.turn, file=self.asks, flush=True)
        self.turn += 1
        line = self.answers.readline()
        if not line:
            raise SystemExit(f"a candidate ended with code {self.process.wait()}")
        return float(line)

    def close(self) -> None:
        self.asks.close()
        self.process.wait(timeout=60)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--graph", default="kron:20")
    options.add_argument("--repeats", type=int, default=9)
    options.add_argument("--kernels", nargs="+", default=KERNELS[:2], choices=KERNELS)
    options.add_argument("--json", type=Path, default=Path("results/ranks.json"), metavar="FILE")
    options.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    options.add_argument("--per-node", type=int, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.serve:
        serve(*given.serve, given.per_node)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "graph.arcflux")
        af.load(given.graph).save(path)
        candidates = {
            "2 threads": Candidate(path, 1),
            "2 ranks": Candidate(path, 2),
            "4 ranks on 2 cores": Candidate(path, 4),
            "2 ranks, 2 nodes": Candidate(path, 2, 1),
        }
        results = {}
        for kernel in given.kernels:
            taken = rounds({name: partial(one.run, kernel) for name, one in candidates.items()}, given.repeats)
            results[kernel] = report(f"{kernel} on {given.graph}", taken, "2 threads", unit="ms")
        for one in candidates.values():
            one.close()
    save(given.json, results)


if __name__ == "__main__":
    main()

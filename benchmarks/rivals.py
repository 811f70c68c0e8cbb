"""Who takes part in gap.py: Arcflux by its public functions, and libraries in processes of their own."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

import arcflux as af
from checks import checksum


class Answer(NamedTuple):
    """What a run gave: its seconds, what the answer comes down to (None when that cannot be told), and for us the
    seconds of the whole call: the kernel's are without allocating and starting.
    """

    seconds: float
    check: list[float] | None
    call: float | None = None


class Failed(Exception):
    """There is no answer, and why."""


class Rival(Protocol):
    """Somebody who can run kernels on one graph."""

    name: str
    kernels: set[str]

    def run(self, kernel: str, source: int, limit: float) -> Answer:
        """Run a kernel; raises Failed after `limit` seconds."""

    def close(self) -> None:
        """End."""


class Ours:
    """Arcflux: the seconds of the results of af.algorithms. Kernels that are missing there are left out."""

    name = "Arcflux"
    functions: ClassVar = {
        "bfs": "bfs", "sssp": "sssp", "pr": "pagerank", "cc": "connected_components",
        "bc": "betweenness_centrality", "tc": "triangles",
    }  # fmt: skip

    def __init__(self, graph: af.Graph, threads: int) -> None:
        os.environ["ARCFLUX_THREADS"] = str(threads)
        self.graph = graph
        self.eager: bool | None = None
        self.kernels = {kernel for kernel, name in self.functions.items() if hasattr(af.algorithms, name)}

    def run(self, kernel: str, source: int, limit: float) -> Answer:
        """Run a kernel; the limit is for others."""
        vertex = self.graph.ids.to_ids(np.array([source]))[0]
        begun = time.perf_counter()
        result = getattr(self, kernel)(vertex)
        call = time.perf_counter() - begun
        values = triangles(result) if kernel == "tc" else field(result)
        return Answer(result.seconds, checksum(kernel, values, source), call)

    def bfs(self, vertex: Any) -> af.Result:
        return af.algorithms.bfs(self.graph, vertex)

    def sssp(self, vertex: Any) -> af.Result:
        return af.algorithms.sssp(self.graph, vertex, predecessors=False)

    def pr(self, vertex: Any) -> af.Result:
        """Until all ranks together move by less than 1e-4, rank of vertices without edges lost, as in the GAP suite.

        Of our two PageRanks the better one counts, as of the suite's (suite.py).
        """
        if self.eager is None:
            tried = {eager: min(self._ranked(eager).seconds for _ in range(3)) for eager in (False, True)}
            self.eager = min(tried, key=lambda eager: tried[eager])
        return self._ranked(self.eager)

    def _ranked(self, eager: bool) -> af.Result:
        return af.algorithms.pagerank(
            self.graph, tol=1e-4 / self.graph.vertices, dtype="f32", dangling="drop", weight=None, max_iter=100,
            eager=eager,
        )  # fmt: skip

    def cc(self, vertex: Any) -> af.Result:
        return af.algorithms.connected_components(self.graph)

    def bc(self, vertex: Any) -> af.Result:
        return af.algorithms.betweenness_centrality(self.graph, sources=[vertex], normalized=False)

    def tc(self, vertex: Any) -> af.Result:
        return af.algorithms.triangles(self.graph)

    def close(self) -> None:
        """Nothing stays open."""


def field(result: af.Result) -> Any:
    """The values of a result: of its only field, or of the one that is the answer."""
    answers = [name for name in result.values if name in ("level", "distance")]
    return result.to_numpy(answers[0] if answers else None)


def triangles(result: Any) -> int:
    """How many triangles a result has: it says so, or each has been counted at its three corners."""
    total = getattr(result, "total", None)
    return int(total) if total is not None else int(field(result).sum()) // 3


class Peer:
    """A library in its own process (peer.py), started when it is first asked, and again after it was ended."""

    def __init__(self, name: str, folder: Path, threads: int) -> None:
        self.name = name
        self.environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
        self.command = [sys.executable, str(Path(__file__).with_name("peer.py")), name, str(folder), str(threads)]
        self.process: subprocess.Popen[str] | None = None
        self.kernels = set(self._start()["kernels"])

    def _start(self) -> Any:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(self.command, stdin=pipe, stdout=pipe, text=True, env=self.environment)
        return self._answer(None)

    def _answer(self, limit: float | None) -> Any:
        assert self.process is not None
        assert self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], limit)[0]:
            self.close()
            raise Failed("late")
        line = self.process.stdout.readline()
        if not line:
            ended = self.process.wait()
            self.close()
            raise Failed(f"its process ended with {ended}")
        return json.loads(line)

    def run(self, kernel: str, source: int, limit: float) -> Answer:
        """Ask it to run a kernel."""
        if self.process is None:
            self._start()
        assert self.process is not None
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps({"kernel": kernel, "source": int(source)}) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError as error:
            self.close()
            raise Failed("its process has ended") from error
        said = self._answer(limit)
        return Answer(said["seconds"], said["check"])

    def close(self) -> None:
        """End its process."""
        if self.process is not None:
            self.process.kill()
            with suppress(BrokenPipeError):  # a question that it never read
                self.process.communicate()
            self.process = None

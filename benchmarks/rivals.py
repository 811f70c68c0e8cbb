"""Who takes part in gap.py: Arcflux by its public functions, and libraries in processes of their own."""

from __future__ import annotations

import inspect
import json
import os
import select
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
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
        self.kernels = {kernel for kernel, name in self.functions.items() if hasattr(af.algorithms, name)}
        self.iterations: int | None = None

    def run(self, kernel: str, source: int, limit: float) -> Answer:
        """Run a kernel; the limit is for others."""
        vertex = self.graph.ids.to_ids(np.array([source]))[0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a PageRank of so many supersteps has not converged to its own tolerance
            begun = time.perf_counter()
            result = getattr(self, kernel)(vertex)
            call = time.perf_counter() - begun
        values = triangles(result) if kernel == "tc" else field(result)
        return Answer(result.seconds, checksum(kernel, values, source), call)

    def bfs(self, vertex: Any) -> af.Result:
        return af.algorithms.bfs(self.graph, vertex)

    def sssp(self, vertex: Any) -> af.Result:
        return af.algorithms.sssp(self.graph, vertex, **taken(af.algorithms.sssp, predecessors=False))

    def pr(self, vertex: Any) -> af.Result:
        """Until all ranks together move by less than 1e-4, as the GAP suite has it."""
        wanted = taken(af.algorithms.pagerank, tol=1e-4 / self.graph.vertices, dtype="f32")
        if "tol" in wanted:
            return af.algorithms.pagerank(self.graph, **wanted)
        # Without such a tolerance: as many supersteps as it takes.
        self.iterations = self.iterations or iterations(self.graph)
        return af.run(af.algorithms.PageRank, self.graph, tolerance=0.0, max_supersteps=self.iterations)

    def cc(self, vertex: Any) -> af.Result:
        return af.algorithms.connected_components(self.graph)

    def bc(self, vertex: Any) -> af.Result:
        return af.algorithms.betweenness_centrality(self.graph, sources=[vertex], normalized=False)

    def tc(self, vertex: Any) -> af.Result:
        return af.algorithms.triangles(self.graph)

    def close(self) -> None:
        """Nothing stays open."""


def taken(function: Callable[..., Any], **wanted: Any) -> dict[str, Any]:
    """Those of the wanted options that a function names."""
    return {name: value for name, value in wanted.items() if name in inspect.signature(function).parameters}


def field(result: af.Result) -> Any:
    """The values of a result: of its only field, or of the one that is the answer."""
    answers = [name for name in result.values if name in ("level", "distance")]
    return result.to_numpy(answers[0] if answers else None)


def triangles(result: Any) -> int:
    """How many triangles a result has: it says so, or each has been counted at its three corners."""
    total = getattr(result, "total", None)
    return int(total) if total is not None else int(field(result).sum()) // 3


def iterations(graph: af.Graph) -> int:
    """How many iterations of PageRank move all ranks together by 1e-4 or more, and one; at most 20."""
    import scipy.sparse as sparse

    n = graph.vertices
    arcs = np.ones(graph.arcs, np.float32), graph.out.neighbours.astype(np.int32), graph.out.offsets.astype(np.int64)
    matrix, degrees = sparse.csr_array(arcs, shape=(n, n)), np.maximum(graph.out_degrees, 1)
    rank = np.full(n, 1 / n)
    for done in range(1, 20):
        before, rank = rank, 0.15 / n + 0.85 * (matrix @ (rank / degrees))
        if np.abs(rank - before).sum() < 1e-4:
            return done
    return 20


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

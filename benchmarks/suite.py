"""The binaries of the GAP Benchmark Suite (Beamer, Asanovic, Patterson, 2015; https://github.com/sbeamer/gapbs).

Build them as the suite says (make), and give their folder to gap.py. What the suite leaves open is settled in its
favour before anything counts: the delta of SSSP, which of its two PageRanks, and whether it gets huge pages, as we ask
for them.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
from pathlib import Path

from rivals import Answer, Failed

DELTAS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
# What the suite's -a says of an answer: the first number of the checksum (checks.py).
_SAID = {
    "bfs": r"BFS Tree has (\d+) nodes",
    "sssp": r"SSSP Tree reaches (\d+) nodes",
    "cc": r"There are (\d+) components",
    "tc": r"(\d+) triangles",
}
_HUGE = "glibc.malloc.hugetlb=1"
_FROM_SOURCE = ("bfs", "sssp", "bc")


def trial_times(output: str) -> list[float]:
    """The seconds that a binary of the suite has printed.

    >>> trial_times("Trial Time:          0.02104\\nAverage Time:        0.02104\\n")
    [0.02104]
    """
    return [float(found) for found in re.findall(r"^Trial Time:\s+([\d.eE+-]+)\s*$", output, re.MULTILINE)]


class Suite:
    """The suite on one graph: a process for each round, of a few trials, whose median counts."""

    name = "GAP"

    def __init__(self, binaries: Path, graph: Path, threads: int, patience: float, trials: int = 3) -> None:
        """`graph` is the path of the .sg and .wsg without its suffix."""
        self.binaries, self.graph, self.threads = binaries, graph, threads
        self.patience, self.trials = patience, trials
        self.kernels = {k for k in ("bfs", "sssp", "pr", "cc", "bc", "tc") if (binaries / k).is_file()}
        self.settled: dict[str, list[str]] = {}
        self.slow: set[str] = set()

    def run(self, kernel: str, source: int, limit: float) -> Answer:
        """One round."""
        if kernel not in self.settled:
            self._settle(kernel, source, limit)
        trials = 1 if kernel in self.slow else self.trials
        return self._round(kernel, self.settled[kernel], source, trials, limit)

    def _settle(self, kernel: str, source: int, limit: float) -> None:
        """Find the best way to run a kernel."""
        tried = {tuple(way): self._round(kernel, way, source, 2, limit).seconds for way in self._ways(kernel)}
        best = min(tried, key=lambda way: tried[way])
        huge = (*best, _HUGE)
        tried[huge] = self._round(kernel, list(huge), source, 2, limit).seconds
        self.settled[kernel] = list(min(best, huge, key=lambda way: tried[way]))
        if tried[best] > self.patience:
            self.slow.add(kernel)

    def _ways(self, kernel: str) -> list[list[str]]:
        if kernel == "sssp":
            return [["sssp", "-d", str(delta)] for delta in DELTAS]
        if kernel == "pr":  # at most as many iterations as everybody, not the 20 of its default
            both = ["pr", "pr_spmv"] if (self.binaries / "pr_spmv").is_file() else ["pr"]
            return [[binary, "-i", "100"] for binary in both]
        return [[kernel]]

    def _round(self, kernel: str, way: list[str], source: int, trials: int, limit: float) -> Answer:
        file = f"{self.graph}.{'wsg' if kernel == 'sssp' else 'sg'}"
        said_to = [word for word in way[1:] if word != _HUGE]
        command = [str(self.binaries / way[0]), "-f", file, "-n", str(trials), *said_to, "-a"]
        if kernel in _FROM_SOURCE:
            command += ["-r", str(source)]
        environment = {**os.environ, "OMP_NUM_THREADS": str(self.threads)}
        if _HUGE in way:
            environment["GLIBC_TUNABLES"] = _HUGE
        try:
            done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=limit * trials)
        except subprocess.TimeoutExpired as error:
            raise Failed("late") from error
        times = trial_times(done.stdout)
        if done.returncode or len(times) != trials:
            raise Failed(f"{' '.join(way)} ended with {done.returncode}: {done.stderr.strip()[-200:]}")
        said = re.search(_SAID.get(kernel, r"(?!)"), done.stdout)
        return Answer(statistics.median(times), [int(said.group(1))] if said else None)

    def close(self) -> None:
        """Nothing stays open."""

"""Ranks of MPI, each with a GPU of its own, give what one process gives on cores; here each has its own simulator."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from arcflux.gpu import api
from arcflux.transports import launch

pytest.importorskip("mpi4py")
pytestmark = pytest.mark.skipif(not api.simulated(), reason="as many simulators as ranks, and not as many GPUs")


@pytest.mark.parametrize(
    ("workers", "per_node", "devices"), [(2, 0, "cuda"), (2, 1, "cuda"), (3, 0, "cpu+cuda"), (2, 0, "auto")]
)
def test_ranks_with_gpus(workers: int, per_node: int, devices: str) -> None:
    script = str(Path(__file__).with_name("gpu_ranks.py"))
    line, environment = launch.command(workers, [script, str(per_node), devices])
    environment |= {"PYTHONPATH": ":".join(sys.path), "ARCFLUX_HANG_SECONDS": "120", "NUMBA_ENABLE_CUDASIM": "1"}
    at = line.index(sys.executable)
    if "-x" in line:
        for name in ("PYTHONPATH", "ARCFLUX_HANG_SECONDS", "NUMBA_ENABLE_CUDASIM"):
            line[at:at] = ["-x", name]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    said = sorted(line for line in done.stdout.splitlines() if line.startswith("rank"))
    assert said == [f"rank {rank} of {workers}: the same" for rank in range(workers)]


def test_the_command_line_starts_ranks_with_gpus() -> None:
    line = [sys.executable, "-m", "arcflux", "run", "bfs", "path:6", "--source", "0", "--workers", "2", "--devices",
            "cuda", "--validate", "--json"]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path), "ARCFLUX_HANG_SECONDS": "120"}
    done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert found["spread"]["devices"] == ["cuda:0", "cuda:0 of rank 1"]
    assert found["spread"]["transport"] == "mpi"

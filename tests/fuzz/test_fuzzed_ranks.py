"""Random programs on ranks of MPI: each a node of its own, with interpreted kernels, and a few that share memory."""

import subprocess
import sys
from pathlib import Path

import pytest

from arcflux.transports import launch

pytest.importorskip("mpi4py")


@pytest.mark.parametrize(("workers", "per_node", "seeds"), [(2, 1, 20), (3, 1, 20), (2, 0, 3)])
def test_random_programs_on_ranks(workers: int, per_node: int, seeds: int) -> None:
    first = 100 * workers
    words = [str(Path(__file__).with_name("fuzzed_ranks.py")), str(per_node), str(first), str(first + seeds)]
    line, environment = launch.command(workers, words)
    environment |= {"PYTHONPATH": ":".join(sys.path), "ARCFLUX_HANG_SECONDS": "240"}
    at = line.index(sys.executable)
    if "-x" in line:
        line[at:at] = ["-x", "PYTHONPATH", "-x", "ARCFLUX_HANG_SECONDS"]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    said = [line for line in done.stdout.splitlines() if line.startswith("rank") and line.endswith("the same")]
    assert len(said) == workers

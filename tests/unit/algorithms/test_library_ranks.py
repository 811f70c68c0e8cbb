"""The library's algorithms on ranks of MPI, on one node and on pretended ones."""

import subprocess
import sys
from pathlib import Path

import pytest

from arcflux.transports import launch

pytest.importorskip("mpi4py")


@pytest.mark.parametrize(("workers", "per_node"), [(2, 0), (3, 1)])
def test_ranks_give_what_one_process_gives(workers: int, per_node: int) -> None:
    line, environment = launch.command(workers, [str(Path(__file__).with_name("library_ranks.py")), str(per_node)])
    environment |= {"PYTHONPATH": ":".join(sys.path), "ARCFLUX_HANG_SECONDS": "120"}
    at = line.index(sys.executable)
    if "-x" in line:
        line[at:at] = ["-x", "PYTHONPATH", "-x", "ARCFLUX_HANG_SECONDS"]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    said = sorted(line for line in done.stdout.splitlines() if line.startswith("rank"))
    assert said == [f"rank {rank} of {workers}: the same" for rank in range(workers)]

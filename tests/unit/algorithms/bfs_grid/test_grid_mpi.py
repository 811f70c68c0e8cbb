"""The same search on processes of MPI as on threads: answers, validation, and every byte."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from arcflux.transports import launch

RANKS = str(Path(__file__).with_name("grid_ranks.py"))


@pytest.mark.skipif(
    not (Path(sys.executable).with_name("mpiexec").exists() or shutil.which("mpiexec")),
    reason="mpiexec is not installed",
)
@pytest.mark.parametrize(("workers", "ranks_per_node", "nodes"), [(4, 0, 1), (4, 1, 4), (6, 2, 3)])
def test_processes_search_as_threads_do(workers, ranks_per_node, nodes):
    line, env = launch.command(workers, [RANKS, str(ranks_per_node)])
    done = subprocess.run(
        line, env={**env, "PYTHONPATH": os.pathsep.join(sys.path)}, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, timeout=200, check=False,
    )  # fmt: skip
    said = f"well: {workers} ranks, {nodes} nodes" in done.stdout
    assert (done.returncode, said) == (0, True), done.stderr

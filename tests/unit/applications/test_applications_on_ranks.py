"""Applications on ranks of MPI, as nodes of one rank and of two, give what one process does."""

import subprocess
from pathlib import Path

import pytest

from arcflux.transports import launch

pytest.importorskip("mpi4py")


@pytest.mark.parametrize("per_node", ["1", "2"])
def test_ranks_give_the_same(per_node: str) -> None:
    line, environment = launch.command(4, [str(Path(__file__).with_name("spread_over_ranks.py")), per_node])
    done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.stdout.count("all the same") == 4, done.stdout + done.stderr[-3000:]

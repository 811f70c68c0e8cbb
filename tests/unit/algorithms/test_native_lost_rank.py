"""A rank that is lost in a kernel of all ranks of a node ends the others' waiting, with its round."""

import re
import subprocess
from pathlib import Path

import pytest

from arcflux.transports import launch

pytest.importorskip("mpi4py")


def test_a_killed_rank_is_named_with_its_round() -> None:
    line, environment = launch.command(2, [str(Path(__file__).with_name("lost_rank.py"))])
    done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=300, check=False)
    heard = re.findall(r"rank 0 heard: rank 1 was killed in superstep (\d+)", done.stdout)
    assert len(heard) == 1, done.stdout + done.stderr[-2000:]
    assert 0 < int(heard[0]) < 100_000

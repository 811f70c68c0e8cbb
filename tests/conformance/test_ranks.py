"""Programs and algorithms give on ranks of MPI what they give alone, on one node and on pretended ones."""

import subprocess
import sys
from pathlib import Path

import pytest

from arcflux.transports import launch

pytest.importorskip("mpi4py")


@pytest.mark.parametrize(("workers", "per_node"), [(2, 0), (2, 1), (3, 2), (4, 2)])
def test_ranks_give_what_one_process_gives(workers: int, per_node: int) -> None:
    check("ranks.py", workers, per_node)


@pytest.mark.parametrize(("workers", "per_node"), [(2, 0), (3, 1)])
def test_phases_give_on_ranks_what_they_give_alone(workers: int, per_node: int) -> None:
    check("phased_ranks.py", workers, per_node)


@pytest.mark.parametrize(("workers", "per_node"), [(2, 0), (3, 1), (4, 2)])
def test_mail_gives_on_ranks_what_it_gives_alone(workers: int, per_node: int) -> None:
    check("mailed_ranks.py", workers, per_node)


@pytest.mark.parametrize(("workers", "per_node"), [(2, 0), (3, 1), (4, 2)])
def test_fields_of_edges_are_the_same_on_ranks(workers: int, per_node: int) -> None:
    check("edge_ranks.py", workers, per_node)


@pytest.mark.parametrize(("workers", "per_node"), [(2, 0), (3, 1)])
def test_dialects_give_on_ranks_what_oracles_say(workers: int, per_node: int) -> None:
    check("dialect_ranks.py", workers, per_node)


def check(script: str, workers: int, per_node: int) -> None:
    line, environment = launch.command(workers, [str(Path(__file__).with_name(script)), str(per_node)])
    environment |= {"PYTHONPATH": ":".join(sys.path), "ARCFLUX_HANG_SECONDS": "120"}
    at = line.index(sys.executable)
    if "-x" in line:
        line[at:at] = ["-x", "PYTHONPATH", "-x", "ARCFLUX_HANG_SECONDS"]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    said = sorted(line for line in done.stdout.splitlines() if line.startswith("rank"))
    assert said == [f"rank {rank} of {workers}: the same" for rank in range(workers)]

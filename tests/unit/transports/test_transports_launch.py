"""How ranks are started, and how the command line behaves in them."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from transports_mpiexec import needs_mpi, started

from arcflux.errors import MissingExtraError, UsageError
from arcflux.transports import launch


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, None),
        ({"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4"}, (3, 4)),
        ({"PMI_RANK": "0", "PMI_SIZE": "2"}, (0, 2)),
        ({"PMIX_RANK": "1", "SLURM_NTASKS": "8"}, (1, 8)),
        ({"PMI_RANK": "one", "PMI_SIZE": "2"}, None),
        ({"PMI_RANK": "1"}, None),
    ],
)
def test_a_process_knows_from_the_environment_whether_it_is_a_rank(monkeypatch, environment, expected):
    for name in os.environ:
        if name.startswith(("OMPI_", "PMI_", "PMIX_", "SLURM_")):
            monkeypatch.delenv(name)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert launch.rank_and_size() == expected


def test_without_mpi_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(launch, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"arcflux\[mpi\]', or add --hosts localhost"):
        launch.command(2, [])


def test_a_command_that_cannot_be_run_is_named(monkeypatch):
    monkeypatch.setenv("ARCFLUX_MPIEXEC", "/nowhere/mpiexec --host a,b")
    with pytest.raises(UsageError, match="/nowhere/mpiexec --host a,b cannot be run"):
        launch.command(2, [])


def arcflux(*words):
    line = [sys.executable, "-m", "arcflux", *words]
    return subprocess.run(line, capture_output=True, text=True, timeout=250, check=False, stdin=subprocess.DEVNULL)


@needs_mpi
def test_workers_start_ranks_and_the_first_one_speaks():
    done = arcflux("run", "bfs", "path:5", "--source", "0", "--workers", "2", "--json")
    assert done.returncode == 0, done.stderr
    found, _ = json.JSONDecoder().raw_decode(done.stdout)
    assert found["algorithm"] == "bfs"
    assert done.stdout.count('"algorithm"') == 1


@needs_mpi
def test_an_error_of_all_ranks_is_told_once_with_its_exit_code():
    done = arcflux("run", "bfs", "no-such-file", "--source", "0", "--workers", "3")
    assert done.returncode == 3
    assert done.stderr.count("no such file, folder or generator") == 1


@needs_mpi
def test_ranks_of_mpiexec_refuse_another_number_of_workers():
    code, _, err = started(["-m", "arcflux", "run", "bfs", "path:5", "--workers", "3"], workers=2)
    assert code == 2
    assert err.count("--workers is 3, and mpiexec has started 2") == 1


@needs_mpi
@pytest.mark.parametrize("per_node", [0, 2], ids=["one node", "two nodes"])
@pytest.mark.parametrize("how", ["press", "timeout"])
def test_every_rank_has_the_last_whole_superstep_when_a_run_is_interrupted(how, per_node):
    """Neither Ctrl-C nor a timeout loses what was done; all ranks stop after the same superstep, with its state."""
    script = Path(__file__).with_name("transports_interrupted.py")
    done = subprocess.run(
        [sys.executable, str(script), "launch", how, str(per_node)], capture_output=True, text=True, timeout=250,
        check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = dict(re.findall(r"rank (\d): (\w+ \d+ \w+)", done.stdout))
    assert sorted(said) == ["0", "1", "2", "3"], done.stdout + done.stderr
    (converged, supersteps, digest), *_ = {tuple(one.split()) for one in said.values()}
    assert len(set(said.values())) == 1
    assert converged == "False"
    assert f"expected: {digest}" in done.stdout
    assert int(supersteps) >= 1


@pytest.mark.parametrize(
    ("code", "presses", "named", "expected"),
    [(0, 0, False, 0), (4, 0, False, 4), (0, 1, False, 0), (130, 1, False, 130), (255, 1, False, 130),
     (1, 2, False, 130), (255, 2, False, 130), (137, 0, False, 9), (1, 0, True, 9)],
)  # fmt: skip
def test_what_the_launcher_leaves_with(code, presses, named, expected):
    """A second Ctrl-C ends mpiexec itself, which leaves with 1."""
    assert launch._exit_code(code, presses, named) == expected

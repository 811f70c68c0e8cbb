"""Ranks as processes: what every transport does, and how a run ends when a rank throws, is killed or hangs."""

import subprocess
import sys

import pytest
from transports_mpiexec import RANKS, needs_mpi, needs_mpich, of_mpich, started

pytestmark = needs_mpi


@pytest.fixture(params=["openmpi", pytest.param("mpich", marks=needs_mpich)])
def mpi(request, monkeypatch):
    if request.param == "mpich":
        of_mpich(monkeypatch)
    return request.param


@pytest.mark.parametrize(("workers", "ranks_per_node", "nodes"), [(1, 0, 1), (2, 0, 1), (5, 2, 3), (3, 1, 3)])
def test_conformance(mpi, workers, ranks_per_node, nodes):
    code, out, err = started([RANKS, "conform", str(ranks_per_node)], workers=workers)
    assert (code, f"well: {workers} ranks, {nodes} nodes" in out) == (0, True), err


def test_ranks_may_come_late_to_a_group(mpi):
    """A waiting rank takes in whatever has come: nothing of what makes a group may be among it."""
    code, out, err = started([RANKS, "late", "2"])
    assert (code, "well" in out) == (0, True), err


@pytest.mark.parametrize("ranks_per_node", [0, 2, 1])
def test_an_error_of_one_rank_arrives_with_its_traceback(mpi, ranks_per_node):
    code, out, err = started([RANKS, "throw", str(ranks_per_node)])
    assert "arcflux: error: rank 2 failed in superstep 3\nTraceback" in err
    assert 'raise ZeroDivisionError("of the user\'s")' in err
    assert err.count("Traceback") == 1
    assert code == 1 or (mpi, code) == ("mpich", 9)  # the others' end counts with MPICH
    assert "well" not in out


@pytest.mark.parametrize("ranks_per_node", [0, 2, 1])
def test_a_killed_rank_is_named(mpi, ranks_per_node):
    """By its mates, or by the leader of another node when it was alone on its own."""
    code, out, err = started([RANKS, "kill", str(ranks_per_node)])
    assert err.count("rank 2 was killed in superstep 3") == 1, err
    assert "was ended from outside" not in err
    assert code
    assert "well" not in out


def test_a_rank_that_ends_before_it_is_one_ends_the_run(mpi):
    code, out, _ = started([RANKS, "absent", "0"], own=mpi == "mpich", hang=4)
    assert code
    assert "well" not in out


@pytest.mark.parametrize("ranks_per_node", [0, 1])
def test_a_run_that_is_ended_from_outside_blames_nobody(mpi, ranks_per_node):
    """Open MPI itself says nothing more then, and passes on nothing."""
    code, out, err = started([RANKS, "end_all", str(ranks_per_node)])
    assert "was killed" not in err
    assert "hangs" not in err
    assert code
    assert "well" not in out


@pytest.mark.parametrize(("how", "ranks_per_node"), [("stop", 0), ("stop", 1), ("sleep", 2)])
def test_a_rank_that_hangs_is_named(mpi, how, ranks_per_node):
    code, out, err = started([RANKS, how, str(ranks_per_node)], hang=4)
    assert "rank 2 hangs, neither computes nor answers, in superstep 3" in err
    assert code
    assert "well" not in out


def test_ranks_that_wait_for_each_other_are_told(mpi):
    code, _, err = started([RANKS, "astray", "2"], hang=4)
    assert "waits for ever" in err
    assert code == 9


@pytest.mark.parametrize("ranks_per_node", [0, 1])
def test_waiting_for_a_rank_that_has_ended_is_an_error(ranks_per_node):
    code, _, err = started([RANKS, "leave", str(ranks_per_node)])
    assert "waits for rank 2, which has ended its work, in superstep 4" in err
    assert code == 9


@pytest.mark.parametrize("how", ["work_long", "relay"])
def test_a_rank_that_computes_or_waits_for_long_does_not_hang(how):
    code, out, err = started([RANKS, how, "2"], hang=4)
    assert (code, "well" in out) == (0, True), err


def test_mpi_is_not_imported_where_mpiexec_has_not_been():
    text = "import sys; from arcflux.transports import current; print(current(), 'mpi4py' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout == "None False\n"

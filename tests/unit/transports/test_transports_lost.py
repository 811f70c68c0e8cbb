"""A rank that is stopped or killed, whenever that is, is named with its superstep, and the run ends by itself."""

import os
import random
import re
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from transports_mpiexec import launched, needs_mpi, processes_with

pytestmark = needs_mpi
SCRIPT = str(Path(__file__).with_name("transports_lost.py"))
FIRST, LATER, NOT_SAID = "before the first superstep", r"in superstep \d+", "no rank could say in which superstep"
EXPECTED = {"start": FIRST, "meeting": FIRST, "superstep": LATER, "gathering": LATER, "end": NOT_SAID}


def lost(how, when, per_node=0, timeout=0.0, **more):
    code, out, err = launched([sys.executable, SCRIPT, "launch", how, when, str(per_node), str(timeout)], **more)
    what = {"stop": "hangs, ", "kill": "was killed"}[how]
    assert len(re.findall(rf"arcflux: error: rank 1 {what}.*{EXPECTED[when]}", err)) == 1, err
    assert err.count("arcflux: error:") == 1, err
    assert "prterun" not in err
    assert code == 9
    assert when == "end" or "well" not in out
    found = re.search(r"in superstep (\d+)", err)
    assert found is None or int(found[1]) >= 4
    return err


@pytest.mark.parametrize(("how", "when"), [("stop", "start"), ("stop", "superstep"), ("kill", "superstep")])
def test_a_lost_rank_is_named_with_its_superstep(how, when):
    lost(how, when)


@pytest.mark.chaos
@pytest.mark.parametrize("per_node", [0, 2, 1])
@pytest.mark.parametrize("when", list(EXPECTED))
@pytest.mark.parametrize("how", ["stop", "kill"])
def test_a_rank_is_lost_at_any_moment(how, when, per_node):
    lost(how, when, per_node)


@pytest.mark.parametrize("per_node", [0, pytest.param(1, marks=pytest.mark.chaos)])
def test_time_is_over_although_a_rank_is_stopped(per_node):
    """Long before the rank would be said to hang."""
    begun = time.monotonic()
    lost("stop", "superstep", per_node, timeout=2.0, ARCFLUX_HANG_SECONDS="600")
    assert time.monotonic() - begun < 300


@pytest.mark.parametrize("per_node", [0, pytest.param(1, marks=pytest.mark.chaos)])
def test_the_first_interrupt_ends_a_run_although_a_rank_is_stopped(per_node):
    def press(process, mark):
        wait_for(lambda: stopped(mark), process)
        process.send_signal(signal.SIGINT)

    lost("stop", "superstep", per_node, during=press, ARCFLUX_HANG_SECONDS="600")


@pytest.mark.chaos
@pytest.mark.parametrize("when", ["start", "meeting", "end"])
def test_the_first_interrupt_ends_ranks_that_cannot_hear_it(when):
    def press(process, mark):
        wait_for(lambda: stopped(mark), process)
        process.send_signal(signal.SIGINT)

    code, _, err = launched([sys.executable, SCRIPT, "launch", "stop", when, "0", "0"], during=press,
                            ARCFLUX_HANG_SECONDS="600")  # fmt: skip
    assert code in (1, 9, 130), err


def test_a_rank_that_compiles_for_long_does_not_hang(tmp_path):
    """One that is heard of, and computes; the others wait for longer than a rank may hang."""
    line = [sys.executable, "-m", "arcflux", "run", "pagerank", "kron:8", "--workers", "2", "--json"]
    cache = tmp_path / "cache"
    code, out, err = launched(line, ARCFLUX_HANG_SECONDS="1", ARCFLUX_CACHE=str(cache))
    assert (code, '"converged": true' in out) == (0, True), err


def wait_for(condition, process, seconds=100):
    end = time.monotonic() + seconds
    while not condition() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.05)
    assert process.poll() is None


def stopped(mark):
    """The processes of this mark that are stopped."""
    found = []
    for pid, _ in processes_with(mark):
        with suppress(OSError):
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T":
                found.append(int(pid))
    return found


def ranks(mark):
    """The processes that are ranks, by rank."""
    found = {}
    for pid, _ in processes_with(mark):
        with suppress(OSError):
            for each in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                if each.startswith(b"OMPI_COMM_WORLD_RANK="):
                    found[int(each.split(b"=")[1])] = int(pid)
    return found


ENDLESS = ["pagerank", "kron:12", "--set", "tol=0", "--set", "dangling=drop", "--set", "max_iter=100000000"]
RUNS = {
    "team": ENDLESS,
    "frontier": ["bfs", "path:20000000", "--source", "0", "--max-supersteps", "5000000"],
    "parts": [*ENDLESS, "--ranks-per-node", "1"],
    "short": ["pagerank", "kron:12", "--ranks-per-node", "2", "--exchange", "owners"],
}


@pytest.mark.chaos
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("how", ["stop", "kill"])
@pytest.mark.parametrize("run", list(RUNS))
def test_a_rank_is_lost_at_a_moment_that_nobody_chose(run, how, seed):
    draw = random.Random(f"{run} {how} {seed} {os.environ.get('ARCFLUX_TEST_SEED', '')}")

    def lose(process, mark):
        wait_for(lambda: len(ranks(mark)) == 3, process)
        time.sleep(draw.uniform(0, 15))
        victim = ranks(mark).get(draw.randrange(3))
        if victim is not None and process.poll() is None:
            os.kill(victim, signal.SIGSTOP if how == "stop" else signal.SIGKILL)

    line = [sys.executable, "-m", "arcflux", "run", *RUNS[run], "--workers", "3", "--timeout", "30"]
    code, out, err = launched(line, during=lose)
    if code == 0:  # it was over before
        assert "ran in" in out
        return
    assert code == 9, (out, err)
    assert len(re.findall(r"arcflux: error: rank \d (hangs|was killed)", err)) == 1, err
    assert "prterun" not in err

"""The launcher sees which of its ranks is stopped, when the others cannot."""

import os
import signal
import subprocess
import sys
import time

import pytest

from arcflux.transports.guard import WATCH, Guard

NAMED = f"import ctypes; ctypes.CDLL(None).prctl(15, {WATCH!r}.encode());"


@pytest.fixture
def ranks():
    """Two processes that say they are ranks; whether they watch each other can be chosen."""
    started = []

    def start(watching):
        for rank in range(2):
            code = (NAMED if watching else "") + "print(1, flush=True); import time; time.sleep(100)"
            env = {**os.environ, "OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": "2"}
            process = subprocess.Popen([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE)
            started.append(process)
            process.stdout.readline()
        return [process.pid for process in started]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def found(guard, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if (pid := guard.look()) is not None:
            return pid
        time.sleep(0.05)
    return None


def stop(*pids):
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)


def test_a_stopped_rank_is_found_after_a_while(ranks):
    pids = ranks(False)
    guard = Guard(os.getpid(), 2, 0.3)
    assert found(guard, 1.0) is None
    stop(pids[1])
    assert found(guard, 20) == pids[1]
    assert guard.rank(pids[1]) == 1
    assert str(guard.lost(1, "hangs,")) == "rank 1 hangs, before the first superstep"


def test_ranks_that_watch_each_other_have_the_first_word(ranks):
    pids = ranks(True)
    guard = Guard(os.getpid(), 2, 0.3)
    stop(pids[0])
    assert found(guard, 2.0) is None
    assert "before the first superstep" not in str(guard.lost(0, "hangs,"))


def test_a_run_that_is_suspended_as_a_whole_is_let_be_unless_it_should_end(ranks):
    pids = ranks(False)
    guard = Guard(os.getpid(), 2, 0.3)
    stop(*pids)
    assert found(guard, 1.5) is None
    guard.hurry()
    assert found(guard, 20) in pids


def test_who_goes_on_is_not_blamed(ranks):
    pids = ranks(False)
    guard = Guard(os.getpid(), 2, 1.0)
    for _ in range(4):
        stop(pids[1])
        assert found(guard, 0.4) is None
        os.kill(pids[1], signal.SIGCONT)
        assert found(guard, 0.2) is None

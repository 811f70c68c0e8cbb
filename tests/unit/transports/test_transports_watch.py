"""A slow rank is not a lost one: what others do before they say that a rank hangs."""

import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

from arcflux.transports import watch
from arcflux.transports.board import Board
from arcflux.transports.guard import WATCH, is_runnable
from arcflux.transports.watch import Watch

SECOND = 1_000_000_000
LIVES = {
    "computes": "while True: pass",
    "sleeps": "import time; time.sleep(600)",
    "watches": f"""
import ctypes, threading, time
def spin():
    ctypes.CDLL(None).prctl(15, {WATCH.encode()!r})
    print("ready", flush=True)
    while True: pass
threading.Thread(target=spin, daemon=True).start()
threading.Event().wait()
""",
}


@pytest.fixture
def process():
    """A function that starts a process which does one of the above."""
    started = []

    def start(how):
        text = LIVES[how] if "ready" in LIVES[how] else f"print('ready', flush=True)\n{LIVES[how]}"
        started.append(subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True))
        assert started[-1].stdout.readline() == "ready\n"
        return started[-1].pid

    yield start
    for each in started:
        each.kill()
        each.communicate()


def becomes(condition):
    end = time.monotonic() + 60
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def test_what_computes_or_would_is_runnable(process):
    computing, sleeping, watching = map(process, LIVES)
    assert is_runnable(computing)
    assert becomes(lambda: not is_runnable(sleeping))
    assert becomes(lambda: not is_runnable(watching))
    os.kill(computing, signal.SIGSTOP)
    assert becomes(lambda: not is_runnable(computing))
    assert not is_runnable(0)


def a_watch(pid, *, waited, silent, overdue=0):
    """The watch of rank 0 of two on a node; rank 1 is a process of which nothing was heard for so many seconds."""
    now = 1000 * SECOND
    board = Board(np.zeros(Board.bytes(2), np.uint8), 2)
    board.begin(1, pid)
    board.beat(1, now - silent * SECOND, True)
    made = Watch.__new__(Watch)
    made._transport = SimpleNamespace(
        size=2, rank=0, node=0, node_of=[0, 0], leaders=[0], superstep=4, due=now - overdue * SECOND
    )
    made._board, made._limit, made._hurry, made._awake_since = board, 20 * SECOND, 5 * SECOND, 0
    made._said = []
    made._raise = lambda kind, rank: made._said.append(rank)
    made._judge(now, now - waited * SECOND)
    return made._said


@pytest.mark.parametrize(
    ("how", "silent", "overdue", "lost"),
    [
        ("sleeps", 25, -1000, True),
        ("computes", 25, -1000, False),  # others have the cores: not one of its threads has run for so long
        ("computes", 900, -1000, False),
        ("sleeps", 10, 10, True),
        ("computes", 10, 10, False),
        ("computes", 30, 30, True),  # its time is over for longer than any rank is waited for
    ],
)
def test_a_rank_that_would_compute_is_not_lost(process, how, silent, overdue, lost):
    pid = process(how)
    assert how == "computes" or becomes(lambda: not is_runnable(pid))
    assert a_watch(pid, waited=60 if silent < 100 else 900, silent=silent, overdue=overdue) == ([1] if lost else [])


def test_a_rank_with_next_to_none_of_a_core_says_that_it_computes(monkeypatch):
    made = Watch.__new__(Watch)
    made._used, made._reads, made._looked = 1e9, 0, time.monotonic() - 2
    usage = SimpleNamespace(ru_utime=0.0, ru_stime=0.0, ru_majflt=0, ru_inblock=0)
    monkeypatch.setattr(watch.resource, "getrusage", lambda who: usage)
    monkeypatch.setattr(watch, "is_runnable", lambda pid: pid == os.getpid())
    assert made._computes()
    made._looked -= 2
    monkeypatch.setattr(watch, "is_runnable", lambda pid: False)
    assert not made._computes()

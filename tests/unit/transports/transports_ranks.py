"""What ranks of MPI do in the tests: ``mpiexec -n 4 python transports_ranks.py WHAT RANKS_PER_NODE``."""

import faulthandler
import itertools
import os
import signal
import sys
import time

import numpy as np
import transports_conformance

from arcflux.transports import base, current
from arcflux.transports.launch import rank_and_size

VICTIM = 2


def conform(t):
    for case in transports_conformance.CASES:
        case(t)
        t.barrier()


def throw(t):
    raise ZeroDivisionError("of the user's")


def kill(t):
    os.kill(os.getpid(), signal.SIGKILL)


def end_all(t):
    """What a batch system does whose patience is over: tell mpiexec to end, which tells the ranks."""
    parent = os.getppid()
    with open(f"/proc/{parent}/stat") as stat:
        name, above = stat.read().split("(", 1)[1].rsplit(")", 1)
    os.kill(int(above.split()[1]) if name.startswith("hydra") else parent, signal.SIGTERM)  # MPICH has one between
    time.sleep(3600)


def stop(t):
    os.kill(os.getpid(), signal.SIGSTOP)


def sleep(t):
    time.sleep(3600)


def leave(t):
    sys.exit(0)


def astray(t):
    """Wait for a message that nobody sends."""
    t.collect(0, tag=77)


def work_long(t):
    """Compute for longer than a rank may hang, and come back."""
    end = time.monotonic() + 6
    while time.monotonic() < end:
        np.sort(np.random.default_rng(1).random(100_000))


def late(t):
    """Who comes last to a meeting leaves it first, and begins with the group while the others still nap."""
    base.naps = lambda: itertools.repeat(0.05)
    for turn in range(2 * t.size):
        if turn % t.size == t.rank:
            time.sleep(0.12)
        group = t.split(turn % 2 * t.rank // 2, (t.rank * 3 + turn) % t.size)
        assert group.names[group.rank] == t.rank
        assert group.reduce(np.array([1]), "sum")[0] == group.size


def relay(t):
    """Rank 0 waits for long, then dawdles for a moment, and all the time the others wait for it."""
    if t.rank == VICTIM:
        work_long(t)
        t.post(0, [np.ones(1)])
    elif t.rank == 0:
        t.collect(VICTIM)
        time.sleep(2)


def main():
    faulthandler.register(signal.SIGUSR2)
    what, ranks_per_node = sys.argv[1], int(sys.argv[2]) or None
    if what == "absent" and rank_and_size()[0] == VICTIM:
        os._exit(3)
    t = current(ranks_per_node=ranks_per_node)
    assert t is not None
    if what == "conform":
        conform(t)
    else:
        for step in range(6):
            t.superstep = step
            t.reduce(np.arange(5), "sum")
            if step == 3 and (t.rank == VICTIM or what in ("relay", "late")):
                globals()[what](t)
    if t.rank == 0:
        print(f"well: {t.size} ranks, {t.nodes} nodes", flush=True)


if __name__ == "__main__":
    main()

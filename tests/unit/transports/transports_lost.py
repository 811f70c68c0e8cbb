"""A run of three ranks of which one is lost: ``python transports_lost.py launch HOW WHEN RANKS_PER_NODE TIMEOUT``.

The victim stops or kills itself at a moment that is named: before MPI starts, when ranks have met, in the midst of
supersteps, when only the end is left, and while MPI ends.
"""

import atexit
import os
import signal
import sys
import time
import warnings

import arcflux as af
from arcflux import algorithms, trace
from arcflux.config import rank_and_size
from arcflux.transports import current
from arcflux.transports.launch import launch

VICTIM, SUPERSTEPS = 1, 5
SIGNALS = {"stop": signal.SIGSTOP, "kill": signal.SIGKILL}


def lose():
    os.kill(os.getpid(), SIGNALS[sys.argv[1]])
    time.sleep(600)  # the system may take a moment


def losing(event):
    if isinstance(event, trace.Task) and event.unit == "supersteps" and event.done >= SUPERSTEPS:
        lose()


def main():
    if sys.argv[1] == "launch":
        limit = float(sys.argv[5]) or None
        sys.exit(launch(3, [__file__, *sys.argv[2:]], timeout=limit))
    warnings.simplefilter("ignore")
    when, per_node, timeout = sys.argv[2], int(sys.argv[3]) or None, float(sys.argv[4]) or None
    victim = rank_and_size()[0] == VICTIM
    if when == "start" and victim:
        lose()
    if when == "end" and victim:
        atexit.register(lose)  # which comes after what the transport has registered
    transport = current(ranks_per_node=per_node)
    if when == "meeting" and victim:
        lose()
    graph = af.load("kron:10")
    most = 10**9 if when == "superstep" else 10
    with trace.listen(losing if when == "superstep" and victim else lambda event: None):
        algorithms.pagerank(graph, dangling="drop", tol=0.0, max_iter=most, timeout=timeout, ranks_per_node=per_node)
    if when == "gathering" and victim:
        lose()
    transport.barrier()
    print("well", flush=True)


if __name__ == "__main__":
    main()

"""A run without an end that is interrupted: ``python transports_interrupted.py launch`` starts it on 4 ranks, and the
first of them presses Ctrl-C after some supersteps, or time does; every rank says what it has then.
"""

import hashlib
import os
import signal
import sys
import warnings

import arcflux as af
from arcflux import algorithms, trace
from arcflux.transports import current
from arcflux.transports.launch import launch

SUPERSTEPS = 5


GRAPH, pressed = "kron:10", []


def press(event):
    """Ctrl-C in the terminal of whoever has started all this; once."""
    if isinstance(event, trace.Task) and event.unit == "supersteps" and event.done >= SUPERSTEPS and not pressed:
        pressed.append(True)
        os.kill(int(os.environ["ARCFLUX_TEST_LAUNCHER"]), signal.SIGINT)


def ranked(graph, supersteps):
    run = algorithms.pagerank(
        graph, dangling="drop", tol=0.0, max_iter=supersteps, deterministic=True, transport="local", parts=1
    )
    return hashlib.sha256(run["rank"].tobytes()).hexdigest()


def main():
    """Be a rank, or start all of them."""
    if sys.argv[1] == "launch":
        os.environ["ARCFLUX_TEST_LAUNCHER"] = str(os.getpid())
        sys.exit(launch(4, [__file__, *sys.argv[2:]]))

    warnings.simplefilter("ignore")
    graph = af.load(GRAPH)
    how, per_node = sys.argv[1], int(sys.argv[2]) or None
    transport = current(ranks_per_node=per_node)
    given = {"dangling": "drop", "tol": 0.0, "deterministic": True, "ranks_per_node": per_node}
    algorithms.pagerank(graph, max_iter=2, **given)  # so that no time goes by for compiling
    if how == "timeout":
        run = algorithms.pagerank(graph, max_iter=10**9, timeout=1.0, **given)
    else:
        try:
            with trace.listen(press if transport.rank == 0 else lambda event: None):
                algorithms.pagerank(graph, max_iter=10**9, **given)
        except KeyboardInterrupt as error:
            run = error.result
    same = hashlib.sha256(run["rank"].tobytes()).hexdigest() == ranked(graph, run.supersteps)
    print(f"rank {transport.rank}: {run.converged} {run.supersteps} {same}", flush=True)


if __name__ == "__main__":
    main()

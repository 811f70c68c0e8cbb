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


def digest(run):
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
        run = algorithms.pagerank(graph, max_iter=10**9, timeout=0.3, **given)
    else:
        try:
            with trace.listen(press if transport.rank == 0 else lambda event: None):
                algorithms.pagerank(graph, max_iter=10**9, **given)
        except KeyboardInterrupt as error:
            run = error.result
    print(f"rank {transport.rank}: {run.converged} {run.supersteps} {digest(run)}", flush=True)
    if transport.rank == 0:
        given |= {"ranks_per_node": None, "transport": "local", "parts": 1}
        print(f"expected: {digest(algorithms.pagerank(graph, max_iter=run.supersteps, **given))}", flush=True)


if __name__ == "__main__":
    main()

"""What ranks of MPI do in test_native_lost_rank.py: the second is killed while a native algorithm is under way."""

import os
import signal
import threading

import arcflux as af
from arcflux.errors import RankError
from arcflux.transports import current


def main() -> None:
    ranks = current()
    graph = af.load("grid:300x300")
    af.label_propagation(graph, 2)
    if ranks.rank == 1:
        threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGKILL)).start()
    try:
        af.label_propagation(graph, 100_000)
    except RankError as error:
        print(f"rank {ranks.rank} heard: {error.what}", flush=True)
        os._exit(3)


if __name__ == "__main__":
    main()

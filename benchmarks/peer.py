"""One library in a process of its own, so that its threads and memory disturb nobody: what gap.py talks to.

    python benchmarks/peer.py LIBRARY FOLDER THREADS

Reads {"kernel": "bfs", "source": 5} from its input, line by line, and answers each with {"seconds": ..., "check": ...}.
The first line that it writes itself has its kernels, after the graph is there.
"""

from __future__ import annotations

import json
import os
import sys
import time
from importlib import import_module
from pathlib import Path

from checks import checksum
from peers import opened


def serve(library: str, folder: Path, threads: int) -> None:
    # Libraries print, and some from C: the answers keep the real output for themselves.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    kernels = import_module(f"peers.{library}").kernels(opened(folder), threads)
    print(json.dumps({"kernels": list(kernels)}), file=answers)
    for line in sys.stdin:
        asked = json.loads(line)
        run, read = kernels[asked["kernel"]]
        begun = time.perf_counter()
        found = run(asked["source"])
        seconds = time.perf_counter() - begun
        check = checksum(asked["kernel"], read(found), asked["source"]) if read else None
        del found
        print(json.dumps({"seconds": seconds, "check": check}), file=answers)


if __name__ == "__main__":
    serve(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))

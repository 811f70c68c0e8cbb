"""Messages between two processes of this machine, over sockets and over MPI in turns: ``benchmarks/transports.py``.

Each size is sent there and back; the time is that of one way. `mpi` is as its library chooses (shared memory within a
machine), `mpi-tcp` is told to use sockets (Open MPI's ``btl=tcp,self``), as it would between machines.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from statistics import median

import numpy as np

SIZES = (1 << 10, 64 << 10, 1 << 20, 16 << 20)


def rank() -> None:
    """One of two ranks, which are nodes of their own; the first prints its times."""
    from arcflux.transports import current

    t = current(ranks_per_node=1)
    assert t is not None
    found = {}
    for size in SIZES:
        mine, times = np.ones(size, np.uint8), []  # not zeros, which are one page of the kernel's until written
        for turn in range(3 + max(5, min(100, (16 << 20) // size))):
            begun = time.perf_counter()
            if t.rank == 0:
                t.post(1, [mine])
                t.collect(1)
            else:
                t.collect(0)
                t.post(0, [mine])
            t.finish()
            if turn >= 3:
                times.append((time.perf_counter() - begun) / 2)
        found[size] = median(times)
    if t.rank == 0:
        print(json.dumps(found), flush=True)


def started(how: str) -> dict[str, float]:
    """The times of one run."""
    environment = {**os.environ, "ARCFLUX_THREADS": "1"}
    if how == "tcp":
        work = f"launch_on(['localhost'] * 2, [{__file__!r}, 'rank'], ranks_per_node=1)"
        line = [sys.executable, "-c", f"from arcflux.transports.hosts import launch_on; {work}"]
    else:
        from arcflux.transports.launch import command

        line, environment = command(2, [__file__, "rank"])
        if how == "mpi-tcp":
            environment |= {"OMPI_MCA_btl": "tcp,self", "OMPI_MCA_pml": "ob1"}
    done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=300, check=True)
    return json.loads(next(row for row in done.stdout.splitlines() if row.startswith("{")))


def main() -> None:
    turns = {how: [] for how in ("tcp", "mpi", "mpi-tcp")}
    for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 3):
        for how, found in turns.items():
            found.append(started(how))
    for size in SIZES:
        row = {how: median(one[str(size)] for one in found) for how, found in turns.items()}
        print(
            f"{size:>9,} bytes "
            + "  ".join(f"{how} {1e6 * t:9.1f} us {size / t / 1e9:5.2f} GB/s" for how, t in row.items())
            + f"  tcp/mpi {row['tcp'] / row['mpi']:.2f}  tcp/mpi-tcp {row['tcp'] / row['mpi-tcp']:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    rank() if sys.argv[1:] == ["rank"] else main()

"""What a rank reads of a graph that lies on disk: ``python partition_slices.py launch FOLDER`` starts four ranks on two
pretended nodes, and each says how many bytes of the mapped arcs are in its page tables, how many are its own, and by
how many its own memory grew.
"""

import json
import re
import sys
import warnings
from pathlib import Path

import arcflux as af
from arcflux.partition.folder import is_parts
from arcflux.transports import current
from arcflux.transports.launch import launch

KILO = 1024


def touched(folder: Path) -> int:
    """Bytes of the mapped files of neighbours that this process has looked at, in whole pages."""
    found, inside = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            inside = str(folder) in line and line.endswith("neighbours.npy")
        elif inside and line.startswith("Rss:"):
            found += int(line.split()[1]) * KILO
    return found


def own_memory() -> int:
    """Bytes of memory that stand for no file."""
    return int(re.findall(r"RssAnon:\s+(\d+)", Path("/proc/self/status").read_text())[0]) * KILO


def main() -> None:
    """Be a rank, or start all of them."""
    if sys.argv[1] == "launch":
        sys.exit(launch(4, [__file__, *sys.argv[2:]]))

    warnings.simplefilter("ignore")
    folder = Path(sys.argv[1])
    transport = current(ranks_per_node=2)
    # What is compiled takes memory: here the kernels for graphs with dangling vertices, and for graphs without.
    for small in ("kron:8", "cycle:64"):
        af.algorithms.pagerank(small, max_iter=2, tol=0.0, ranks_per_node=2, rebalance="off")
    before = own_memory()
    parts = af.load_parts(folder) if is_parts(folder) else None
    graph = af.load(folder) if parts is None else parts.graph
    given = {} if parts is None else {"parts": parts}
    run = af.algorithms.pagerank(graph, max_iter=2, tol=0.0, ranks_per_node=2, rebalance="off", **given)
    bounds = run.history[0].bounds
    offsets = graph.into.offsets[[bounds[transport.rank], bounds[transport.rank + 1]]].tolist()
    item = graph.into.neighbours.itemsize
    print(
        json.dumps({
            "rank": transport.rank, "touched": touched(folder), "own": item * (offsets[1] - offsets[0]),
            "all": item * graph.arcs, "grown": own_memory() - before, "vertices": graph.vertices,
        }),
        flush=True,
    )  # fmt: skip


if __name__ == "__main__":
    main()

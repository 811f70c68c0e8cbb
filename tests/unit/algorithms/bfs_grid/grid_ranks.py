"""What ranks of MPI do in the tests: ``mpiexec -n 4 python grid_ranks.py RANKS_PER_NODE``, a search by each scan."""

import sys

import numpy as np

import arcflux as af
from arcflux.algorithms.bfs_grid.search import Iteration
from arcflux.transports import current


def main():
    ranks_per_node = int(sys.argv[1]) or None
    ranks = current(ranks_per_node=ranks_per_node)
    graph = af.load("kron:9")
    source = int(np.argmax(graph.out_degrees))
    where = {"parts": ranks.size, "partition": "grid", "ranks_per_node": ranks_per_node}
    for scan in ("log", "wave"):
        found = af.bfs(graph, source, scan=scan, **where)
        threads = af.bfs(graph, source, scan=scan, transport="local", **where)
        assert isinstance(found.history[0], Iteration)
        for field in ("level", "parent"):
            np.testing.assert_array_equal(found[field], threads[field])
        for name in ("frontier", "edges", "bytes", "more_bytes", "path_messages", "path_bytes", "assigned"):
            counted = [getattr(step, name) for step in found.history]
            assert counted == [getattr(step, name) for step in threads.history], name
        assert found.validate().ok
        found.values["parent"][source] = -1
        assert not found.validate().ok
    without_parts = af.bfs(graph, source, partition="grid", ranks_per_node=ranks_per_node)
    assert isinstance(without_parts.history[0], Iteration)
    if ranks.rank == 0:
        print(f"well: {ranks.size} ranks, {ranks.nodes} nodes", flush=True)


if __name__ == "__main__":
    main()

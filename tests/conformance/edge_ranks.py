"""What every rank of an MPI job does to see that fields of edges are the same on ranks; see test_ranks.py."""

import sys

from edge_programs import NAMES, check, graph_of

from arcflux.transports import current

if __name__ == "__main__":
    per_node = int(sys.argv[1]) or None
    ranks = current(ranks_per_node=per_node)
    for name in NAMES:
        for directed in (True, False):
            check(name, graph_of(name, directed), ranks_per_node=per_node)
    print(f"rank {ranks.rank} of {ranks.size}: the same")

"""What every rank of an MPI job does to see that mail gives on ranks what it gives alone; see test_ranks.py."""

import sys

from mailing import MAILED

import arcflux as af
from arcflux.transports import current

if __name__ == "__main__":
    per_node = int(sys.argv[1]) or None
    ranks = current(ranks_per_node=per_node)
    graph = af.load("urand:n=70,m=300,directed,weights=1-9")
    for program in MAILED:
        alone = af.run(program, graph, debug=True, transport="local")
        for how in ("ranges", "random"):
            found = af.run(program, graph, ranks_per_node=per_node, partition=how)
            for name, values in alone.values.items():
                assert found.values[name].tobytes() == values.tobytes(), f"{program.name}.{name} by {how}"
            assert [step.changed for step in found.history] == [step.changed for step in alone.history]
            assert dict(found.totals) == dict(alone.totals)
            crossed = sum(step.bytes for step in found.history)
            assert (crossed > 0) == (ranks.nodes > 1), crossed
    print(f"rank {ranks.rank} of {ranks.size}: the same")

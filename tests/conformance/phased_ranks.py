"""What every rank of an MPI job does to see that phases give on ranks what they give alone; see test_ranks.py."""

import sys

import numpy as np
from phased import PHASED, Waves

import arcflux as af
from arcflux.transports import current
from ranks import graphs

if __name__ == "__main__":
    per_node = int(sys.argv[1]) or None
    ranks = current(ranks_per_node=per_node)
    for graph in graphs()[1:3]:
        for program in PHASED:
            given = {"source": 0} if program is Waves else {}
            alone = af.run(program, graph, debug=True, transport="local", **given)
            found = af.run(program, graph, ranks_per_node=per_node, **given)
            for name in alone.values:
                np.testing.assert_allclose(found[name], alone[name], rtol=1e-12, err_msg=f"{program.name}.{name}")
            assert found.iterations == alone.iterations
            assert [step.changed for step in found.history] == [step.changed for step in alone.history]
            for name, value in alone.totals.items():
                np.testing.assert_allclose(found.totals[name], value, rtol=1e-12, err_msg=name)
    print(f"rank {ranks.rank} of {ranks.size}: the same")

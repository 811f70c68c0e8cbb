"""One of several processes of MPI, each with its own simulator: prints whether it gets what one process gets on cores."""

import sys
import warnings

import numpy as np

import arcflux as af
from arcflux import algorithms
from arcflux.gpu import api, links
from arcflux.transports import current

per_node = int(sys.argv[1]) or None
devices = sys.argv[2]
ranks = current(ranks_per_node=per_node)
graph = af.load("grid:3x5,weights=1-9")
warnings.simplefilter("ignore")  # PageRank is stopped early

link = links.chosen(ranks)
values, came = api.to_device(np.arange(4) + ranks.rank), api.to_device(np.zeros(4, np.int64))
link.send(values, (ranks.rank + 1) % ranks.size)
link.receive(came, (ranks.rank - 1) % ranks.size)
link.finish()
same = (came.copy_to_host() == np.arange(4) + (ranks.rank - 1) % ranks.size).all() and link.name == "staged"

for program, options in (
    (algorithms.BFS, {"source": 0}),
    (algorithms.SSSP, {"source": 0}),
    (algorithms.Components, {}),
    (algorithms.PageRank, {"max_supersteps": 3, "deterministic": True}),
):
    alone = af.run(program, graph, debug=True, **options)
    spread = af.run(program, graph, devices=devices, ranks_per_node=per_node, **options)
    for name, expected in alone.values.items():
        if name == "parent":
            continue
        if expected.dtype.kind == "f":
            same = same and np.allclose(spread.values[name], expected, rtol=1e-12)
        else:
            same = same and np.array_equal(spread.values[name], expected)
print(f"rank {ranks.rank} of {ranks.size}: {'the same' if same else 'different'}", flush=True)

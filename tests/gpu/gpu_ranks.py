"""One of several processes of MPI, each with its own simulator: prints whether it gets what one process gets."""

import sys
import warnings

import numpy as np

import arcflux as af
from arcflux import algorithms
from arcflux.devices import Cuda
from arcflux.gpu import api, links
from arcflux.transports import current

PROGRAMS = (
    (algorithms.BFS, {"source": 0}),
    (algorithms.SSSP, {"source": 0}),
    (algorithms.Components, {}),
    (algorithms.PageRank, {"max_supersteps": 3, "deterministic": True}),
)
CALLS = (
    (algorithms.triangles, {}),
    (algorithms.connected_components, {}),
    (algorithms.label_propagation, {"max_iter": 2}),
    (algorithms.betweenness_centrality, {"sources": [0, 7]}),
    (algorithms.two_hop_friends, {}),
    (algorithms.sssp, {"source": 0}),
    (algorithms.bfs, {"source": 0, "partition": "grid"}),
)


def linked(ranks):
    """Whether a ring of messages between GPUs arrives."""
    link, size = links.chosen(ranks), ranks.size
    came = api.to_device(np.zeros(4, np.int64))
    link.send(api.to_device(np.arange(4) + ranks.rank), (ranks.rank + 1) % size)
    link.receive(came, (ranks.rank - 1) % size)
    link.finish()
    return link.name == "staged" and (came.copy_to_host() == np.arange(4) + (ranks.rank - 1) % size).all()


def agrees(program, options, where):
    """Whether a program gives on these devices what plain Python gives."""
    graph = af.load("grid:3x5,weights=1-9")
    alone, spread = af.run(program, graph, debug=True, **options), af.run(program, graph, **where, **options)
    return all(
        np.allclose(spread.values[name], expected, rtol=1e-12)
        for name, expected in alone.values.items()
        if name != "parent"  # any will do
    )


def shared(call, options, where):
    """Whether an algorithm that is no vertex program gives on these devices the bits that one GPU gives alone."""
    graph = af.load("grid:3x5,weights=1-9,seed=2")
    alone, spread = call(graph, transport="local", devices=[Cuda(0)], **options), call(graph, **where, **options)
    return all(np.array_equal(spread.values[name], expected) for name, expected in alone.values.items())


def main(per_node, devices):
    ranks = current(ranks_per_node=per_node)
    warnings.simplefilter("ignore")  # PageRank is stopped early
    where = {"devices": devices, "ranks_per_node": per_node}
    found = [agrees(program, options, where) for program, options in PROGRAMS]  # all of them, as the other ranks do
    split = {**where, "exchange": "owners"}  # ranks of a node then reduce for the same vertices
    found += [agrees(program, options, split) for program, options in PROGRAMS[1:3]]
    found += [agrees(*PROGRAMS[1], {**split, "direction": "push"})]
    if devices != "auto":
        found += [shared(call, options, where) for call, options in CALLS]
    same = linked(ranks) and all(found)
    print(f"rank {ranks.rank} of {ranks.size}: {'the same' if same else 'different'}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) or None, sys.argv[2])

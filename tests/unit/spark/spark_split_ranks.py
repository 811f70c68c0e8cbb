"""A rank of a graph that is built in parts: ``spark_split_ranks.py RANK`` prints which runs give what the whole gives.

The environment has where ranks meet: MEETING, as JSON of host, port and token; EDGES, as JSON of sources and targets.
"""

import json
import os
import sys

import numpy as np

import arcflux as af
from arcflux.errors import WholeGraphError
from arcflux.spark.split_graph import split_graph
from arcflux.transports.launch import joined
from arcflux.transports.tcp import join


@af.program
class Labels:
    """Label propagation, as a program that sees its neighbours."""

    sparse = True
    label: af.ref

    def start(v):
        v.label = v.number
        return True

    def around(v, edges, old):
        v.label = af.mode((u.label for u in edges), default=old.label)

    def update(v, old):
        return v.label != old.label


RUNS = {
    "PageRank": lambda g: af.run(af.algorithms.PageRank, g, max_supersteps=9, tolerance=0.0),
    "pagerank": lambda g: af.pagerank(g, max_iter=9, tol=0),
    "BFS": lambda g: af.run(af.algorithms.BFS, g, source=g.ids.to_ids([0])[0], deterministic=True),
    "SSSP": lambda g: af.run(af.algorithms.SSSP, g, source=g.ids.to_ids([0])[0]),
    "Components": lambda g: af.run(af.algorithms.Components, g),
    "weakly_connected_components": af.weakly_connected_components,
    "Labels": lambda g: af.run(Labels, g, max_supersteps=4),
}
REFUSED = {
    "triangles": af.triangles,
    "label_propagation": af.label_propagation,
    "owners": lambda g: af.run(af.algorithms.BFS, g, source=g.ids.to_ids([0])[0], exchange="owners"),
    "grid": lambda g: af.run(af.algorithms.BFS, g, source=g.ids.to_ids([0])[0], partition="grid"),
}


def same(found, expected):
    return all(
        (np.allclose if values.dtype.kind == "f" else np.array_equal)(found.values[name], values)
        for name, values in expected.values.items()
    )


def is_refused(call, graph):
    try:
        call(graph)
    except WholeGraphError:
        return True
    return False


def main():
    rank = int(sys.argv[1])
    host, port, token = json.loads(os.environ["MEETING"])
    sources, targets = (np.array(ends) for ends in json.loads(os.environ["EDGES"]))
    weights = (sources * 7 + targets) % 5 + 1.0
    transport = join((host, port), bytes.fromhex(token), rank)
    share = slice(len(sources) * rank // transport.size, len(sources) * (rank + 1) // transport.size)
    found, refused = {}, {}
    with joined(transport):
        for directed in (True, False):
            graph = split_graph(
                transport, sources[share], targets[share], {"weight": weights[share]}, directed=directed
            )  # fmt: skip
            held = graph.kept["parts", transport.size, "ranges"].part(rank).arcs
            for name, call in RUNS.items():
                plain = split_graph(transport, sources[share], targets[share], {}, directed=directed)
                found[name, directed] = call(graph if name == "SSSP" else plain)
            refused |= {f"{name} {directed}": is_refused(call, plain) for name, call in REFUSED.items()
                        if directed is False or name != "triangles"}  # fmt: skip
    transport.close()
    answers = dict(refused)
    for directed in (True, False):
        whole = af.Graph.from_edges(sources, targets, columns={"weight": weights}, directed=directed)
        plain = af.Graph.from_edges(sources, targets, directed=directed)
        for name, call in RUNS.items():
            answers[f"{name} {directed}"] = same(found[name, directed], call(whole if name == "SSSP" else plain))
    print(json.dumps({"answers": answers, "held": held, "arcs": whole.arcs}), flush=True)


if __name__ == "__main__":
    main()

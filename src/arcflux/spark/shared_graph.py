"""One graph for all ranks of a node: its leader builds it, the others map the same pages."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np

from arcflux.graph import Graph
from arcflux.io.store import arrays_of, describe, restore
from arcflux.transports.base import Transport

__all__ = ["share_graph"]


def share_graph(transport: Transport, build: Callable[[], Graph]) -> Graph:
    """The graph that the leader of each node builds; collective.

    Examples
    --------
    >>> from arcflux.transports import run_local
    >>> graphs = run_local(2, lambda t: share_graph(t, lambda: Graph.from_edges([0, 1], [1, 2])))
    >>> [graph.edges for graph in graphs]
    [2, 2]
    """
    node = transport.split(transport.node, transport.rank)
    said = np.empty(0, np.uint8)
    arrays = {}
    if node.rank == 0:
        graph = build()
        arrays = dict(arrays_of(graph, True))
        shapes = {name: [array.dtype.str, len(array)] for name, array in arrays.items()}
        said = np.frombuffer(json.dumps([describe(graph), shapes]).encode(), np.uint8)
    size = int(node.broadcast(np.array([len(said)]), 0)[0])
    told = node.broadcast(said if node.rank == 0 else np.empty(size, np.uint8), 0)
    manifest, shapes = json.loads(told.tobytes())
    held = {name: node.shared(int(length), kind) for name, (kind, length) in shapes.items()}
    for name, array in arrays.items():
        held[name][:] = array
    node.barrier()
    return restore(manifest, held)

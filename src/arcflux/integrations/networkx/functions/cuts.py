"""What falls apart without a node or an edge, in the order of NetworkX's depth-first search."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from arcflux.algorithms.biconnected import Blocks, blocks, find_bridges
from arcflux.engine.launch import launch
from arcflux.integrations.networkx.graph import BackendGraph

__all__ = ["articulation_points", "biconnected_components", "bridges", "has_bridges", "is_biconnected"]


def articulation_points(G: BackendGraph) -> Iterator[Any]:
    """The nodes without which a component falls apart; see :func:`arcflux.articulation_points`."""
    yield from G.nodes_of(_blocks(G).points)


def biconnected_components(G: BackendGraph) -> Iterator[set[Any]]:
    """Sets of nodes that stay joined without any one of them; see :func:`arcflux.biconnected_components`."""
    found = _blocks(G)
    sources, targets = G.tails.astype(np.int64), G.graph.out.neighbours.astype(np.int64)
    below = found.met[sources] < found.met[targets]  # every vertex but roots has an arc from above in its component
    label = found.block[targets[below]]
    members = np.concatenate([label * len(G) + sources[below], label * len(G) + targets[below]])
    members = np.unique(members)
    ends = np.searchsorted(members, np.arange(1, found.total + 1) * len(G))
    nodes, begin = G.nodes_of(members % max(1, len(G))), 0
    for end in ends.tolist():
        yield set(nodes[begin:end])
        begin = end


def is_biconnected(G: BackendGraph) -> bool:
    """Whether all nodes stay joined without any one of them."""
    found = _blocks(G)
    return found.total == 1 and int(np.count_nonzero(found.block == 0)) + 1 == len(G)


def bridges(G: BackendGraph, root: Any = None) -> Iterator[tuple[Any, Any]]:
    """The edges without which a component falls apart, in the order of the graph; see :func:`arcflux.bridges`."""
    places = find_bridges(G.graph, _blocks(G))
    yield from zip(G.nodes_of(G.tails[places]), G.nodes_of(G.graph.out.neighbours[places]), strict=True)


def has_bridges(G: BackendGraph, root: Any = None) -> bool:
    """Whether there is such an edge."""
    return len(find_bridges(G.graph, _blocks(G))) > 0


def _blocks(g: BackendGraph) -> Blocks:
    return launch(g.graph, {"threads": 1}, blocks).answer

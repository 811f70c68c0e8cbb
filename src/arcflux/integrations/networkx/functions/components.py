"""Which nodes hang together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

import arcflux as af
from arcflux.integrations.networkx.graph import BackendGraph
from arcflux.integrations.networkx.kernels import call, components_in_order
from arcflux.integrations.networkx.settings import where

__all__ = [
    "attracting_components",
    "condensation",
    "connected_components",
    "is_attracting_component",
    "is_connected",
    "is_strongly_connected",
    "is_weakly_connected",
    "node_connected_component",
    "number_attracting_components",
    "number_connected_components",
    "number_strongly_connected_components",
    "number_weakly_connected_components",
    "strong_groups",
    "strongly_connected_components",
    "weakly_connected_components",
]

Array = NDArray[Any]
_POINTLESS = "Connectivity is undefined for the null graph."


def connected_components(G: BackendGraph) -> Iterator[set[Any]]:
    """Sets of nodes that paths join, in the order of the first node of each; :func:`arcflux.connected_components`."""
    yield from _grouped(G, _labels(G))


def number_connected_components(G: BackendGraph) -> int:
    """How many connected components there are."""
    return _count(_labels(G))


def is_connected(G: BackendGraph) -> bool:
    """Whether there is but one component."""
    return _is_one(G)


def node_connected_component(G: BackendGraph, n: Any) -> set[Any]:
    """The nodes that paths join to one."""
    number = G.find(n)
    if number is None:
        raise KeyError(n)
    labels = _labels(G)
    return set(G.nodes_of(np.flatnonzero(labels == labels[number])))


def weakly_connected_components(G: BackendGraph) -> Iterator[set[Any]]:
    """Sets of nodes that paths join when directions are forgotten; :func:`arcflux.weakly_connected_components`."""
    yield from _grouped(G, _labels(G))


def number_weakly_connected_components(G: BackendGraph) -> int:
    """How many weakly connected components there are."""
    return _count(_labels(G))


def is_weakly_connected(G: BackendGraph) -> bool:
    """Whether there is but one weakly connected component."""
    return _is_one(G)


def strongly_connected_components(G: BackendGraph) -> Iterator[set[Any]]:
    """Sets of nodes that reach each other, in the order in which NetworkX's depth-first search completes them.

    That order is what makes this a walk: :func:`arcflux.strongly_connected_components` finds the same sets on many
    cores, parts and ranks.
    """
    members, ends = strong_groups(G)
    nodes, begin = G.nodes_of(members), 0
    for end in ends.tolist():
        yield set(nodes[begin:end])
        begin = end


def number_strongly_connected_components(G: BackendGraph) -> int:
    """How many strongly connected components there are."""
    return len(strong_groups(G)[1])


def is_strongly_connected(G: BackendGraph) -> bool:
    """Whether every node reaches every other."""
    if not len(G):
        raise nx.NetworkXPointlessConcept(_POINTLESS)
    return number_strongly_connected_components(G) == 1


def condensation(G: BackendGraph, scc: Iterable[Any] | None = None) -> Any:
    """The graph whose nodes are the strongly connected components, numbered in their order."""
    groups = list(strongly_connected_components(G)) if scc is None else list(scc)
    made = nx.DiGraph()
    mapping: dict[Any, int] = {}
    made.graph["mapping"] = mapping
    if not len(G):
        return made
    for number, group in enumerate(groups):
        mapping.update((node, number) for node in group)
    made.add_nodes_from((number, {"members": group}) for number, group in enumerate(groups))
    label = np.fromiter(map(mapping.__getitem__, G.nodes), np.int64, len(G))
    source, target = label[G.tails], label[G.graph.out.neighbours]
    pairs = (source * len(groups) + target)[source != target]
    firsts = pairs[np.sort(np.unique(pairs, return_index=True)[1])]
    made.add_edges_from(zip((firsts // len(groups)).tolist(), (firsts % len(groups)).tolist(), strict=True))
    return made


def attracting_components(G: BackendGraph) -> Iterator[set[Any]]:
    """The strongly connected components that no edge leaves."""
    members, ends = strong_groups(G)
    label = np.empty(len(G), np.int64)
    label[members] = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
    source, target = label[G.tails], label[G.graph.out.neighbours]
    left = np.ones(len(ends), np.bool_)
    left[source[source != target]] = False
    nodes, begin = G.nodes_of(members), 0
    for end, attracts in zip(ends.tolist(), left.tolist(), strict=True):
        if attracts:
            yield set(nodes[begin:end])
        begin = end


def number_attracting_components(G: BackendGraph) -> int:
    """How many components no edge leaves."""
    return sum(1 for _ in attracting_components(G))


def is_attracting_component(G: BackendGraph) -> bool:
    """Whether the whole graph is one such component."""
    found = list(attracting_components(G))
    return len(found) == 1 and len(found[0]) == len(G)


def strong_groups(g: BackendGraph) -> tuple[Array, Array]:
    """The vertices, strongly connected component by component, and where each of these ends."""
    n = len(g)
    offsets, neighbours = g.graph.out
    zeros = [np.zeros(n, np.int64) for _ in range(6)]
    size = np.zeros(1, np.int64)
    call(components_in_order, offsets, neighbours, offsets[:-1].astype(np.int64), *zeros, size)
    members, ends = zeros[-2:]
    return members, ends[: size[0]]


def _labels(g: BackendGraph) -> Array:
    """The smallest vertex of each vertex's component, directions forgotten."""
    return af.weakly_connected_components(g.graph, **where()).numbers("component")


def _count(labels: Array) -> int:
    return int(np.count_nonzero(labels == np.arange(len(labels), dtype=labels.dtype)))


def _is_one(g: BackendGraph) -> bool:
    if not len(g):
        raise nx.NetworkXPointlessConcept(_POINTLESS)
    return not _labels(g).any()


def _grouped(g: BackendGraph, labels: Array) -> Iterator[set[Any]]:
    """The sets of nodes with one label, in the order of the labels."""
    order = np.argsort(labels, kind="stable")
    ends = np.flatnonzero(np.diff(labels[order], append=labels[order][-1:] + 1) != 0) + 1 if len(g) else order
    nodes, begin = g.nodes_of(order), 0
    for end in ends.tolist():
        yield set(nodes[begin:end])
        begin = end

"""Colours, sides and trees."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

import arcflux as af
from arcflux.algorithms.bipartite_matching.cpu import find_sides
from arcflux.algorithms.degrees import ends_of
from arcflux.integrations.networkx.graph import BackendGraph
from arcflux.integrations.networkx.kernels import call
from arcflux.integrations.networkx.settings import where

__all__ = ["greedy_color", "is_bipartite", "is_forest", "is_tree"]


def greedy_color(G: BackendGraph, strategy: Any = "largest_first", interchange: bool = False) -> dict[Any, int]:
    """Colours in the order of degrees, the largest first; see :func:`arcflux.greedy_color`."""
    if not len(G):
        return {}
    colors = af.greedy_color(G.graph, **where())["color"]
    order = np.argsort(-ends_of(G.graph, "both"), kind="stable")
    return dict(zip(G.nodes_of(order), colors[order].tolist(), strict=True))


def is_bipartite(G: BackendGraph) -> bool:
    """Whether nodes have two sides, so that every edge joins both."""
    rows = G.graph.both_ways()
    side = np.full(len(G), -1, np.int8)
    call(find_sides, *rows.out, side, np.empty(len(G), np.int64))
    return not (side[G.tails] == side[G.graph.out.neighbours]).any()


def is_tree(G: BackendGraph) -> bool:
    """Whether all nodes are joined, without cycles."""
    return _parts(G) == 1 and len(G) - 1 == G.graph.edges


def is_forest(G: BackendGraph) -> bool:
    """Whether there are no cycles, directions forgotten."""
    return len(G) - _parts(G) == G.graph.edges


def _parts(g: BackendGraph) -> int:
    """How many components there are."""
    if not len(g):
        raise nx.NetworkXPointlessConcept("G has no nodes.")
    labels = af.weakly_connected_components(g.graph, **where()).numbers("component")
    return int(np.count_nonzero(labels == np.arange(len(g), dtype=labels.dtype)))

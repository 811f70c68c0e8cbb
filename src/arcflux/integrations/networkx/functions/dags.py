"""Graphs without cycles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

import arcflux as af
from arcflux.integrations.networkx.graph import BackendGraph
from arcflux.integrations.networkx.kernels import call, generations_in_order
from arcflux.integrations.networkx.settings import where

__all__ = ["dag_longest_path_length", "is_directed_acyclic_graph", "topological_generations", "topological_sort"]

Array = NDArray[Any]


def topological_generations(G: BackendGraph) -> Iterator[list[Any]]:
    """Lists of nodes to which only nodes of earlier lists lead."""
    if not G.is_directed():
        raise nx.NetworkXError("Topological sort not defined on undirected graphs.")
    order, ends = _generations(G)
    nodes, begin = G.nodes_of(order), 0
    for end in ends.tolist():
        yield nodes[begin:end]
        begin = end
    if len(order) < len(G):
        raise nx.NetworkXUnfeasible("Graph contains a cycle or graph changed during iteration")


def topological_sort(G: BackendGraph) -> Iterator[Any]:
    """The nodes, each before those that it leads to."""
    for generation in topological_generations(G):
        yield from generation


def is_directed_acyclic_graph(G: BackendGraph) -> bool:
    """Whether edges have directions, and no path comes back."""
    return G.is_directed() and len(_generations(G)[0]) == len(G)


def dag_longest_path_length(G: BackendGraph, weight: str = "weight", default_weight: int = 1) -> Any:
    """The length of a longest path; see :func:`arcflux.dag_longest_path_length`."""
    if not is_directed_acyclic_graph(G):
        raise nx.NetworkXUnfeasible("Graph contains a cycle or graph changed during iteration")
    column = G.column(weight, default_weight)
    if not np.isfinite(column).all() or (column.dtype.kind in "iu" and np.abs(column).sum() > 1 << 52):
        raise NotImplementedError(f"the edge attribute {weight!r} is not finite everywhere, or very large")
    found = af.dag_longest_path_length(G.graph.with_columns({"weight": column}), **where())
    return int(found) if column.dtype.kind in "iub" else found


def _generations(g: BackendGraph) -> tuple[Array, Array]:
    """The vertices that are on no cycle and behind none, generation by generation, and where each of these ends."""
    n = len(g)
    left = np.bincount(g.graph.out.neighbours, minlength=n).astype(np.int64)
    order, ends, size = np.empty(n, np.int64), np.empty(n, np.int64), np.zeros(2, np.int64)
    call(generations_in_order, *g.graph.out, left, order, ends, size)
    return order[: size[1]], ends[: size[0]]

"""Spanning trees and forests: edges in the order of their weights, ties in that of the graph, as Kruskal takes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.algorithms.spanning_forest import spanning_places
from arcflux.engine.launch import launch
from arcflux.integrations.networkx.convert import convert_to_nx
from arcflux.integrations.networkx.graph import BackendGraph
from arcflux.integrations.networkx.settings import where

__all__ = ["maximum_spanning_edges", "maximum_spanning_tree", "minimum_spanning_edges", "minimum_spanning_tree"]

Array = NDArray[Any]


def minimum_spanning_edges(
    G: BackendGraph, algorithm: str = "kruskal", weight: str = "weight", keys: bool = True, data: bool = True,
    ignore_nan: bool = False,
) -> Iterator[tuple[Any, ...]]:  # fmt: skip
    """The edges of a spanning forest of the least weight, lightest first."""
    return _edges(G, weight, data, 1)


def maximum_spanning_edges(
    G: BackendGraph, algorithm: str = "kruskal", weight: str = "weight", keys: bool = True, data: bool = True,
    ignore_nan: bool = False,
) -> Iterator[tuple[Any, ...]]:  # fmt: skip
    """The edges of a spanning forest of the most weight, heaviest first."""
    return _edges(G, weight, data, -1)


def minimum_spanning_tree(
    G: BackendGraph, weight: str = "weight", algorithm: str = "kruskal", ignore_nan: bool = False
) -> Any:
    """A spanning forest of the least weight, with the data of the graph."""
    return _tree(G, weight, 1)


def maximum_spanning_tree(
    G: BackendGraph, weight: str = "weight", algorithm: str = "kruskal", ignore_nan: bool = False
) -> Any:
    """A spanning forest of the most weight, with the data of the graph."""
    return _tree(G, weight, -1)


def _tree(g: BackendGraph, weight: str, sign: int) -> Any:
    whole, made = convert_to_nx(g), convert_to_nx(g).__class__()
    made.graph.update(whole.graph)
    made.add_nodes_from(whole.nodes.items())
    made.add_edges_from(_edges(g, weight, True, sign))
    return made


def _edges(g: BackendGraph, weight: str, data: bool, sign: int) -> Iterator[tuple[Any, ...]]:
    sources, targets = (g.nodes_of(ends) for ends in _chosen(g, weight, sign))
    if not data:
        return zip(sources, targets, strict=True)
    rows = convert_to_nx(g)._adj
    return ((u, v, rows[u][v]) for u, v in zip(sources, targets, strict=True))


def _chosen(g: BackendGraph, weight: str, sign: int) -> tuple[Array, Array]:
    """The ends of the edges of the forest; see :func:`arcflux.minimum_spanning_tree`."""
    column = g.column(weight)
    column = column.astype(np.int64 if column.dtype.kind in "iub" else np.float64)
    if column.dtype.kind == "f" and np.isnan(column).any():
        raise NotImplementedError(f"some weights {weight!r} are NaN")
    places, _ = launch(g.graph, where(), lambda worker: spanning_places(worker, column, sign)).answer
    return g.tails[places], g.graph.out.neighbours[places]

"""The weights of edges as applications take them: a column, or 1 each."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from arcflux.graph import Graph
from arcflux.validate import arguments

__all__ = ["edge_weights"]


def edge_weights(graph: Graph, name: str | None) -> NDArray[Any] | None:
    """The edge column `name`, of finite numbers from 0 on; None when every edge counts 1.

    So it does with a name of None, and where the graph has no column of the usual name, "weight".
    """
    if name == "weight" and name not in graph.columns:
        return None
    return arguments.weights(graph, name)

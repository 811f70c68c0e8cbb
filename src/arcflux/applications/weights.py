"""The weights of edges as applications take them: a column, or 1 each."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.graph import Graph
from arcflux.validate import arguments

__all__ = ["edge_weights", "within_one"]


def edge_weights(graph: Graph, name: str | None) -> NDArray[Any] | None:
    """The edge column `name`, of finite numbers from 0 on; None when every edge counts 1.

    So it does with a name of None, and where the graph has no column of the usual name, "weight".
    """
    if name == "weight" and name not in graph.columns:
        return None
    return arguments.weights(graph, name)


def within_one(weights: NDArray[Any]) -> tuple[NDArray[np.float64], int]:
    """Weights divided by a power of two, so that the largest is below 1 and at least a half; and its exponent.

    Sums of them are finite and not 0, however large or small the weights are.

    Examples
    --------
    >>> shares, exponent = within_one(np.array([2.0**1023, 2.0**1022]))
    >>> shares.tolist(), exponent
    ([0.5, 0.25], 1024)
    """
    _, exponent = math.frexp(float(weights.max(initial=0)))
    return np.ldexp(weights.astype(np.float64), -exponent), exponent

"""The weights of edges as applications take them: a column, or 1 each."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.errors import WeightError
from arcflux.graph import Graph
from arcflux.validate import arguments

__all__ = ["edge_weights", "summable_weights", "whole_units", "within_one"]

# Sums in whole units have at most this many bits: they and their differences are exact as floats.
_BITS = 52


def edge_weights(graph: Graph, name: str | None) -> NDArray[Any] | None:
    """The edge column `name`, of finite numbers from 0 on; None when every edge counts 1.

    So it does with a name of None, and where the graph has no column of the usual name, "weight".
    """
    if name == "weight" and name not in graph.columns:
        return None
    return arguments.weights(graph, name)


def summable_weights(graph: Graph, name: str | None) -> NDArray[Any] | None:
    """The same, checked to have finite sums."""
    column = edge_weights(graph, name)
    if column is not None:
        with np.errstate(over="ignore"):
            finite = np.isfinite(column.sum(dtype=np.float64))
        if not finite:
            raise WeightError(
                f"the column {name!r} sums to infinity", expected="smaller numbers",
                remedy="divide all by the same number",
            )  # fmt: skip
    return column


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


def whole_units(weights: NDArray[Any] | None) -> tuple[NDArray[np.int64] | None, int]:
    """Weights as whole numbers of a unit 2^-bits, and bits; the weights themselves where they are whole.

    Twice their sum has at most 52 bits, so that sums are the same in any order.

    Examples
    --------
    >>> units, bits = whole_units(np.array([0.5, 0.25]))
    >>> (units / 2.0**bits).tolist()
    [0.5, 0.25]
    """
    if weights is None:
        return None, 0
    if weights.dtype.kind in "iub" or not np.any(weights % 1):
        whole = weights.sum(dtype=np.float64) if weights.max(initial=0) < 2.0**_BITS else math.inf
        if 2 * whole < 2**_BITS:
            return weights.astype(np.int64), 0
    shares, exponent = within_one(weights)
    bits = _BITS - 2 - math.frexp(float(shares.sum()))[1]
    return np.rint(np.ldexp(shares, bits)).astype(np.int64), bits - exponent

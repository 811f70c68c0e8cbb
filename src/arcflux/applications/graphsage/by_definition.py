"""Rows of GraphSAGE by their definition, a vertex at a time, in double precision: the reference for a validator's
sample of a result. It shares nothing with the kernels except the random numbers, whose function it repeats.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.applications.graphsage.layers import Asked
from arcflux.graph import Graph

__all__ = ["rows_of"]

Array = NDArray[Any]
_WORD = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15


def rows_of(graph: Graph, asked: Asked, vertices: Array) -> Array:
    """The embedding of some vertices: float64[vertices, ...]."""
    return np.array([_Source(graph, asked).row(int(v)) for v in vertices])


class _Source:
    def __init__(self, graph: Graph, asked: Asked) -> None:
        self.graph, self.asked = graph, asked
        self.first: dict[int, Array] = {}

    def row(self, v: int) -> Array:
        """The second layer of a vertex."""
        asked, drawn = self.asked, self.asked.children
        children = self._drawn(v, v, drawn, 1)
        once = drawn == 0 or asked.share
        below = [self._once(u) if once else self._first(u, v * drawn + k) for k, u in enumerate(children)]
        if once:
            above = self._once(v)
        else:
            above = self._layer(asked.features[v], asked.features[children].mean(0, dtype=np.float64), 0)
        return self._layer(above, np.mean(below, axis=0), 1)

    def _once(self, v: int) -> Array:
        """The first layer of a vertex whose sample is shared by all its readers."""
        if v not in self.first:
            self.first[v] = self._first(v, v)
        return self.first[v]

    def _first(self, v: int, name: int) -> Array:
        leaves = self._drawn(v, name, self.asked.leaves, 0)
        return self._layer(self.asked.features[v], self.asked.features[leaves].mean(0, dtype=np.float64), 0)

    def _layer(self, own: Array, mean: Array, layer: int) -> Array:
        asked = self.asked
        halves = [rows.astype(np.float64) @ asked.weights[2 * layer + k] for k, rows in enumerate((own, mean))]
        row = halves[0] + halves[1] if asked.add else np.concatenate(halves)
        bias = asked.biases[layer]
        row = row if bias is None else row + bias
        row = np.maximum(row, 0) if asked.relu[layer] else row
        length = float(np.linalg.norm(row))
        return np.asarray(row / length if asked.normalise[layer] and length > 0 else row)

    def _drawn(self, v: int, name: int, count: int, layer: int) -> list[int]:
        """Neighbours of a vertex: `count` that are drawn, or all; itself where there are none."""
        offsets, neighbours = self.graph.out
        row = neighbours[int(offsets[v]) : int(offsets[v + 1])].tolist()
        if not row or not count:
            return row or [v] * max(1, count)
        stream = _mixed(_mixed(self.asked.seed + _GOLDEN) ^ ((layer ^ (name << 1)) * _GOLDEN & _WORD))
        return [row[int((_mixed(stream + (k + 1) * _GOLDEN) >> 11) * 2.0**-53 * len(row))] for k in range(count)]


def _mixed(x: int) -> int:
    """SplitMix64's mix of a word."""
    x &= _WORD
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & _WORD
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & _WORD
    return x ^ (x >> 31)

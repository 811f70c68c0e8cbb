"""A random owner for each vertex, which has its in-arcs: even loads without looking at the graph (HIVE's default)."""

from __future__ import annotations

import operator

import numpy as np

from arcflux.graph.core import Graph
from arcflux.partition.parts import Parts
from arcflux.partition.rule import smallest
from arcflux.spmd.memory import empty
from arcflux.spmd.pool import run

__all__ = ["split"]

_STREAM = 0x9A27


def split(graph: Graph, k: int, *, seed: int = 0) -> Parts:
    """Draw the owners by counter: the same seed gives the same owners, on any number of workers."""
    from arcflux.partition.kernels import scatter
    from arcflux.spmd.random import key

    owner = empty(graph.vertices, smallest(k))
    stream = key(np.uint64(operator.index(seed) % (1 << 64)), np.uint64(_STREAM))
    run(scatter, -(-graph.vertices // (1 << 14)), np.uint64(stream), np.uint64(k), owner)
    return Parts(graph, k, "random", owner=owner)

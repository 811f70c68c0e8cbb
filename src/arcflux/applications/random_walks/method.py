"""The parameters of walks: weights, probabilities, and the tables that are computed from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.engine.worker import Worker
from arcflux.graph import Graph

__all__ = ["Method", "number_type"]

Array = NDArray[Any]


def number_type(graph: Graph) -> Any:
    """The dtype of the numbers of vertices in walks."""
    return np.int32 if graph.vertices < 1 << 31 else np.int64


@dataclass(frozen=True)
class Method:
    """The parameters of walks.

    starts: int64[n], walk w begins at ``starts[w % n]``; weights: of arcs, None for 1 each; back, out: 1/p and 1/q;
    metapath: int64[m] and types: int64[vertices], or None.
    """

    starts: Array
    length: int
    walks: int
    seed: int
    weights: Array | None = None
    back: float = 1.0
    out: float = 1.0
    metapath: Array | None = None
    types: Array | None = None
    restart: float = 0.0

    @property
    def second(self) -> bool:
        """Whether a step depends on the vertex before."""
        return (self.back, self.out) != (1.0, 1.0)

    def near(self, worker: Worker) -> tuple[Array | None, Array | None]:
        """The sorted rows in which neighbours are looked up; None if nothing is looked up."""
        if not self.second:
            return None, None
        offsets, neighbours = worker.rows[0]
        return offsets, neighbours

    def table(self, worker: Worker, first: int, last: int) -> Array | None:
        """The alias table of rows `first` to before `last`; None if all arcs count the same."""
        if self.weights is None:
            return None
        table = worker.cores.host(worker.graph.arcs, np.uint64)
        kernel = worker.kernels("arcflux.applications.random_walks").alias_table
        given = np.uint64(first), np.uint64(last)
        worker.cores.launch(kernel, last - first, worker.graph.out.offsets, self.weights, *given, table)
        return table

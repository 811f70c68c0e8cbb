"""From numbers of vertices and edges to a graph: what every generator shares.

Weights are no part of the edges on their way into the graph. They are a function of the seed and of the ends of an arc,
written into the finished structure: nothing has to be sorted along, and both directions of an edge agree.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from arcflux import config, trace
from arcflux.generate.arguments import Interval, changed_options, integer, interval
from arcflux.graph.core import Graph
from arcflux.graph.edges import Edges, Options
from arcflux.graph.number import vertex_type
from arcflux.spmd.memory import empty
from arcflux.spmd.pool import run
from arcflux.spmd.space import afford

__all__ = ["Recipe", "with_weight"]

_SLICES = 256


@dataclass
class Recipe:
    """A graph to be generated: its spec (without seed and weights), its size, and what may be asked of any graph."""

    spec: str
    vertices: int
    edges: int
    seed: int = 1
    weights: Interval | None = None
    directed: bool = False
    simple: bool = False
    threads: int | None = None
    column: int = 0  # bytes that an arc takes in the column of weights

    def __post_init__(self) -> None:
        self.directed, self.simple = bool(self.directed), bool(self.simple)
        self.seed = integer("seed", self.seed, high=(1 << 64) - 1)
        self.weights = interval(self.weights)
        if self.weights is not None:
            self.column = np.dtype(_weight_type(self.weights)).itemsize
        config.threads(self.threads)
        afford(self.bytes, f"{self.name} has {self.vertices:,} vertices and {self.edges:,} edges; generating it")

    @property
    def name(self) -> str:
        """The whole spec: it generates the same graph again."""
        return ",".join([self.spec, *changed_options(seed=(self.seed, 1), weights=(self.weights, None))])

    @property
    def bytes(self) -> int:
        """Memory that generating needs: the edges and the arcs being sorted; or the finished graph, if that is more."""
        width = np.dtype(vertex_type(self.vertices)).itemsize
        arcs = self.edges * (1 if self.directed else 2)
        generated = self.edges * 2 * width
        sorting = arcs * (width + 2) + self.vertices * 16
        finished = arcs * (width + self.column) + self.vertices * 8
        return max(generated + sorting, finished)

    def graph(self, *passes: tuple[Any, ...]) -> Graph:
        """The graph, its edges written by `passes`: each a kernel, its number of items, and its other arguments."""
        from arcflux.generate.kernels import CHUNK

        kind = vertex_type(self.vertices)
        source, target = empty(self.edges, kind), empty(self.edges, kind)
        for kernel, items, *args in passes:
            with trace.task(f"generate {self.name}", total=self.edges, unit="edges") as task:
                chunks = -(-items // CHUNK)
                run(kernel, chunks, np.uint64(items), *args, source, target, threads=self.threads, task=task)
                task.at(self.edges)
        edges = Edges(source, target, ours=True)
        del source, target
        options = Options(self.directed, "first" if self.simple else None, self.simple, threads=self.threads)
        return self._weighed(Graph.assemble(edges, options, vertices=self.vertices, name=self.name))

    def graph_by_rows(self, kernel: Any, rows: int, *args: Any) -> Graph:
        """The graph of a kernel that draws row by row: first it counts each row's edges, then it writes them.

        `edges` is what was to be expected; a row has to come out the same, whichever worker draws it.
        """
        from arcflux.generate.kernels import CHUNK

        starts, chunks = empty(rows + 1, np.int64), -(-rows // CHUNK)
        starts[0] = 0
        with trace.task(f"count the edges of {self.name}", total=rows, unit="vertices") as task:
            run(kernel, chunks, np.uint64(rows), *args, starts[1:], None, None, threads=self.threads, task=task)
        np.cumsum(starts, out=starts)
        exact = replace(self, edges=int(starts[-1]))
        return exact.graph((kernel, rows, *args, starts))

    def _weighed(self, graph: Graph) -> Graph:
        """The graph with the weights that were asked for."""
        if self.weights is None:
            return graph
        from arcflux.generate.kernels import weigh

        low, high = self.weights
        kind = _weight_type(self.weights)
        counted = kind is np.int32
        span = float(high - low + counted)
        args = graph.directed, np.uint64(self.seed), float(low), span, counted
        return with_weight(graph, weigh, kind, *args, threads=self.threads)


def with_weight(
    graph: Graph, kernel: Any, kind: DTypeLike, *args: Any, threads: int | None = None, name: str = "weight"
) -> Graph:  # fmt: skip
    """The same structure with a column, written by a kernel that runs over its rows."""
    from arcflux.graph.build import row_bounds

    weight = empty(graph.arcs, kind)
    bounds = row_bounds(graph.out.offsets, _SLICES)
    with trace.task(f"weigh {graph.name}", total=graph.arcs, unit="arcs") as task:
        run(kernel, _SLICES, bounds, *graph.out, *args, weight, threads=threads, task=task)
        task.at(graph.arcs)
    return Graph(
        graph.out,
        directed=graph.directed,
        columns={name: weight},
        ids=graph.ids,
        loops=0 if graph.directed else 2 * graph.edges - graph.arcs,
        sorted=graph.sorted,
        origin=graph.origin,
    )


def _weight_type(weights: Interval) -> type[np.number[Any]]:
    return np.int32 if isinstance(weights[0], int) else np.float64

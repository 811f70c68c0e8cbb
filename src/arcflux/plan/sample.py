"""The shape of a loaded graph: its degrees counted, and what parts read of each other estimated from a sample.

For a sample of vertices it counts in how many ranges their arcs end, which shows what degrees alone cannot: locality of
neighbours. The result is kept with the graph, so a second plan measures nothing (Lux, section 6.2).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from arcflux import config
from arcflux.errors import UsageError
from arcflux.graph import Graph
from arcflux.plan.files import peek
from arcflux.plan.paper_graphs import is_known, known_shape
from arcflux.plan.shape import Shape, from_description, of_spec
from arcflux.plan.sketch import remember_depth, sketch_graph
from arcflux.transports.launch import rank_and_size

__all__ = ["measure_shape", "shape_of"]

_ARCS = 400_000
_KEPT: WeakKeyDictionary[Graph, Shape] = WeakKeyDictionary()


def shape_of(graph: Any) -> Shape:
    """The shape of a graph, of a spec (not generated where a formula will do), of a file (not loaded), or as described.

    A description is ``(vertices, arcs)`` or ``(vertices, arcs, shape)`` with a shape of
    :data:`arcflux.plan.shape.SHAPES`, or the name of a graph of a paper, such as ``lux:TW`` (paper_graphs.py).

    Examples
    --------
    >>> shape_of("kron:30").vertices
    1073741824
    >>> shape_of((1000, 8000, "uniform")).mean_degree
    8.0
    """
    if isinstance(graph, Shape):
        return graph
    if isinstance(graph, Graph):
        return measure_shape(graph)
    if isinstance(graph, tuple):
        if len(graph) not in (2, 3):
            raise UsageError(f"the graph is {graph!r}", expected="(vertices, arcs) or (vertices, arcs, shape)")
        return from_description(*graph)
    if is_known(graph):
        return known_shape(graph)
    if isinstance(graph, str | os.PathLike):
        from arcflux.generate.spec import is_spec
        from arcflux.io import load

        spec = is_spec(graph) and not os.path.exists(graph)
        shape = of_spec(os.fspath(graph)) if spec else peek(Path(graph))
        return shape if shape is not None else measure_shape(load(graph))
    raise UsageError(f"the graph is {graph!r}", expected="a graph, a spec, a file, or (vertices, arcs, shape)")


def measure_shape(graph: Graph) -> Shape:
    """The shape of a graph in memory; measured once."""
    if graph not in _KEPT:
        _KEPT[graph] = _measure(graph)
    return _KEPT[graph]


def _measure(graph: Graph) -> Shape:
    degrees = np.asarray(graph.out_degrees)
    histogram = np.bincount(degrees.astype(np.int64))
    present = np.flatnonzero(histogram)
    name = graph.name or "graph"
    return Shape(
        name, graph.vertices, graph.arcs, present.astype(np.float64), histogram[present].astype(np.float64),
        _depth(graph, degrees), asked=_asking(graph), seen=sketch_graph(graph),
    )  # fmt: skip


def _depth(graph: Graph, degrees: Any) -> float:
    """Levels of a search from the vertex with most arcs, plus half a level, since other sources are less central."""
    from arcflux.algorithms.bfs import bfs

    if not graph.arcs:
        return 0.0
    hub = graph.ids.to_ids(np.array([int(np.argmax(degrees))]))[0]
    # On threads of this process, also where it is one of several ranks: only one rank may be planning.
    alone: dict[str, Any] = {} if rank_and_size() is None else {"transport": "local", "parts": config.threads()}
    levels = float(max(1, int(bfs(graph, hub, **alone)["level"].max())))
    remember_depth(graph, levels + 1.0)
    return levels + 0.5


def _asking(graph: Graph) -> Any:
    """A function from k to the sums of INS and UDS over k ranges, from a sample of vertices."""
    offsets, neighbours = graph.out.offsets.astype(np.int64), graph.out.neighbours
    step = max(1, graph.arcs // _ARCS)
    picked = np.arange(step // 2, graph.vertices, step, dtype=np.int64)
    lengths = offsets[picked + 1] - offsets[picked]
    starts = np.repeat(offsets[picked] - (np.cumsum(lengths) - lengths), lengths)
    targets = np.asarray(neighbours)[starts + np.arange(int(lengths.sum()))]
    sources = np.repeat(np.arange(len(picked)), lengths)
    share = graph.vertices / max(1, len(picked))
    into, sums = graph.into.offsets, {}

    def asked(k: int) -> tuple[int, int]:
        from arcflux.partition.ranges import bounds

        if k not in sums:
            cuts = bounds(into, k)
            where = np.searchsorted(cuts[1:], targets, side="right")
            home = np.searchsorted(cuts[1:], picked, side="right")
            pairs = np.unique(sources * k + where)
            foreign = int((pairs % k != home[pairs // k]).sum())
            sums[k] = round(len(pairs) * share), round(foreign * share)
        return sums[k]

    return asked

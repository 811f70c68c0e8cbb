"""A graph's key figures: all that predictions need of it, small enough to be kept with every run.

Before a run, a few thousand sampled arcs of the graph give the lengths of rows, the spans of arcs and how many vertices
have most of them; the growth of a ball around a vertex gives the depth of a search. That takes half a millisecond, once
per graph. A finished search gives the exact depth.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.graph import Graph

__all__ = ["SPANS", "Sketch", "ball_depth", "guessed_depth", "remember_depth", "sample_rows", "sketch_graph"]

Array = NDArray[Any]
SPANS = (1 << 6, 1 << 10, 1 << 13, 1 << 16, 1 << 19)
"""How far apart the ends of an arc are, in vertex numbers: the classes of :attr:`Sketch.near`."""
_ARCS = 4096
_SHARE = 0.8
# A ball around a vertex is grown until it has this many vertices.
_BALL = 512
# A graph whose ball grows faster than that is no mesh.
_FEW_LEVELS = 6


@dataclass(frozen=True)
class Sketch:
    """A graph as the predictions use it.

    `depth`: levels of a search; `rows`: how many vertices have arcs; `hot`: how many vertices, those with most arcs
    first, have most arcs; `near`: the shares of arcs whose ends are at most as far apart as the spans in :data:`SPANS`;
    `top`: the largest degree; `wedges`: the sum over arcs of the smaller degree of their ends; `squares`: the sum of
    squared degrees.
    """

    vertices: int
    arcs: int
    depth: float
    rows: float
    hot: float
    near: tuple[float, ...]
    top: float
    wedges: float
    squares: float

    @property
    def mean_degree(self) -> float:
        """Arcs per vertex."""
        return self.arcs / max(1, self.vertices)

    @property
    def local(self) -> float:
        """How local neighbours are: 0 when they are anywhere, 1 when arcs span a vanishing share of all vertices."""
        far = [min(1.0, 2.0 * span / max(1, self.vertices)) for span in SPANS]
        gains = [
            (share - chance) / (1.0 - chance) for share, chance in zip(self.near, far, strict=True) if chance < 0.5
        ]
        return max(0.0, gains[-1]) if gains else max(0.0, 2.0 * self.near[0] - 1.0)

    def uds(self, k: int) -> float:
        """The estimated number of values that cross between k ranges, every vertex active (Lux, equation 9).

        An arc of span s is cut by one of k - 1 cuts with a chance of (k - 1) s / V; over that of random ends, this is
        the share of a vertex's arcs taken to have random ends.
        """
        if k == 1 or not self.vertices:
            return 0.0
        far, before = 0.0, 0.0
        for span, share in zip(SPANS, self.near, strict=True):
            far += max(0.0, share - before) * min(1.0, 0.5 * span * k / self.vertices)
            before = max(before, share)
        ends = min(1.0, far + 1.0 - before) * self.mean_degree
        return (k - 1) * self.vertices * -math.expm1(ends * math.log1p(-1.0 / k))

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> Sketch:
        """From the output of ``vars``; an error if it is not that."""
        sketch = cls(**{**kept, "near": tuple(map(float, kept["near"]))})
        numbers = [*(value for name, value in vars(sketch).items() if name != "near"), *sketch.near]
        if len(sketch.near) != len(SPANS) or not all(
            isinstance(one, int | float) and math.isfinite(one) and one >= 0 for one in numbers
        ):
            raise ValueError("a figure is no number, or negative")
        return sketch


def sketch_graph(graph: Graph) -> Sketch:
    """The sketch of a graph from a sample of its arcs; kept with the graph."""
    sketch: Sketch | None = graph.kept.get("sketch")
    if sketch is None:
        sketch = sample_rows(graph.vertices, graph.arcs, *graph.out)
        if "depth" in graph.kept:
            sketch = replace(sketch, depth=graph.kept["depth"])
        graph.kept["sketch"] = sketch
    return sketch


def sample_rows(vertices: int, arcs: int, offsets: Any, neighbours: Any) -> Sketch:
    """The sketch of a graph whose rows are available, from a sample of its arcs, all equally likely."""
    if not arcs:
        return Sketch(vertices, 0, 0.0, 0.0, 0.0, (0.0,) * len(SPANS), 0.0, 0.0, 0.0)
    count = min(arcs, _ARCS)
    # The middle of each stretch of arcs, not its beginning: where rows are even, beginnings are first arcs of rows.
    places = ((2 * np.arange(count, dtype=np.int64) + 1) * arcs // (2 * count)).astype(offsets.dtype)
    # A file's contents are not trusted: whatever they are, the sample stays inside the arrays.
    sources = (np.searchsorted(offsets, places, side="right") - 1).clip(0, vertices - 1)
    targets = np.asarray(neighbours[places]).astype(np.int64).clip(0, vertices - 1)
    lengths = np.asarray(offsets[sources + 1] - offsets[sources]).astype(np.float64).clip(1.0, arcs)
    others = np.asarray(offsets[targets + 1] - offsets[targets]).astype(np.float64).clip(1.0, arcs)
    apart = np.abs(targets - sources)
    near = tuple(float((apart <= span).mean()) for span in SPANS)
    # A row is sampled in proportion to its arcs: each sampled arc stands for that share of a row.
    longest = np.sort(lengths)[::-1]
    rows = np.minimum(vertices, arcs / count * np.cumsum(1.0 / longest))
    hot = float(rows[math.ceil(_SHARE * count) - 1])
    # Where degrees are unequal the ball is around a hub, and other vertices are less central.
    depth = ball_depth(vertices, arcs, offsets, neighbours) + 0.25 * math.log2(max(1.0, longest[0] * vertices / arcs))
    return Sketch(
        vertices, arcs, depth, float(rows[-1]), hot, near, float(longest[0]),
        arcs * float(np.minimum(lengths, others).mean()), arcs * float(lengths.mean()),
    )  # fmt: skip


def ball_depth(vertices: int, arcs: int, offsets: Any, neighbours: Any) -> float:
    """The estimated levels of a search: the growth of a ball around a vertex, extrapolated to all vertices.

    Each time the ball has grown eightfold, its radius has grown by some levels. In a random graph by as many as the
    last time; in a mesh by more each time, as the root of its size, and a mesh has corners beyond.
    """
    centre = int(np.searchsorted(offsets, offsets.dtype.type(arcs // 2), side="right")) - 1
    sizes = _ball(vertices, offsets, neighbours, min(max(0, centre), vertices - 1))
    if sizes[-1] < min(_BALL, vertices):  # the ball is all that can be reached
        return max(1.0, float(len(sizes) - 1))
    first, second, third = np.interp(np.log([_BALL / 64, _BALL / 8, _BALL]), np.log(sizes), range(len(sizes)))
    step, factors = third - second, math.log(max(1.0, vertices / _BALL), 8.0)
    ratio, radius = 1.0, third
    if len(sizes) > _FEW_LEVELS:
        ratio = min(8.0, max(1.0, step / max(second - first, 0.5)))
    while factors > 0:
        step *= ratio
        radius += step * min(1.0, factors)
        factors -= 1.0
    return float(min(2.0, ratio) * radius + 2.0)


def _ball(vertices: int, offsets: Any, neighbours: Any, centre: int) -> list[int]:
    """The number of vertices within each number of steps of a vertex, until there are enough."""
    met, ring, sizes = {centre}, [centre], [1]
    while ring and sizes[-1] < _BALL:
        ends: set[int] = set()
        for vertex in ring:
            first = int(offsets[vertex])
            ends.update(neighbours[first : min(int(offsets[vertex + 1]), first + _BALL)].tolist())
            if len(ends) > 2 * _BALL:
                break
        ring = [end for end in ends - met if 0 <= end < vertices]
        met |= ends
        if ring:
            sizes.append(len(met))
    return sizes


def guessed_depth(vertices: int, degree: float, local: float, top: float) -> float:
    """Levels of a search where only a sample of edges is known: those of a mesh where rows are short and local."""
    if local > 0.5 and degree < 6 and top <= 16:
        return 1.5 * math.sqrt(vertices)
    return 1.0 + math.log(max(2, vertices)) / math.log(max(1.5, degree))


def remember_depth(graph: Graph, levels: float) -> None:
    """Keep the number of levels of a finished search; the largest one wins."""
    if levels > graph.kept.get("depth", 0.0):
        graph.kept["depth"] = float(levels)
        if "sketch" in graph.kept:
            graph.kept["sketch"] = replace(graph.kept["sketch"], depth=float(levels))

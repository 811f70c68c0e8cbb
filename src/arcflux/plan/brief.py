"""A graph in eight numbers: what fits ask of it, small enough to be kept with every run.

`brief` takes them from a shape. `glanced` takes them from a graph that is about to be run on: a few thousand of its
rows are looked at, which takes a fraction of a millisecond, and its depth comes from an earlier search, or is guessed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from arcflux.graph import Graph
from arcflux.plan.shape import Shape

__all__ = ["DEEP", "Brief", "brief", "glanced", "glanced_shape", "guessed_depth", "kind", "remember_depth", "rows_of"]

DEEP = 30.0
_SKEWED = 16.0
_ROWS = 2048
_HASH = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Brief:
    """A graph as fits see it.

    `hot`: how many vertices, those with most arcs first, have most arcs; `local`: how near neighbours are, from 0 to 1;
    `top`: the largest degree; `wedges` and `squares`: see :class:`arcflux.plan.shape.Shape`.
    """

    vertices: int
    arcs: int
    depth: float
    hot: float
    local: float
    top: float
    wedges: float
    squares: float

    @property
    def mean_degree(self) -> float:
        """Arcs a vertex."""
        return self.arcs / max(1, self.vertices)

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> Brief:
        """From what ``vars`` gave; an error if it is not that."""
        found = cls(**kept)
        if not all(isinstance(one, int | float) and math.isfinite(one) and one >= 0 for one in vars(found).values()):
            raise ValueError("a figure is no number, or negative")
        return found


def brief(shape: Shape | Brief) -> Brief:
    """The numbers of a shape."""
    if isinstance(shape, Brief):
        return shape
    return Brief(
        shape.vertices, shape.arcs, shape.depth, shape.hot(), shape.local(), shape.top, shape.wedges(), shape.squares()
    )


def kind(shape: Shape | Brief) -> str:
    """What sort of graph it is: "near" (deep, as roads), "skewed" (with hubs), "local" (rings with chords) or "flat".

    Examples
    --------
    >>> from arcflux.plan.shape import grid, kronecker, uniform
    >>> kind(grid(100, 100)), kind(kronecker(16)), kind(uniform(1000, 16000))
    ('near', 'skewed', 'flat')
    """
    if shape.depth > DEEP:
        return "near"
    if shape.top > _SKEWED * max(1.0, shape.mean_degree):
        return "skewed"
    local = shape.local if isinstance(shape, Brief) else shape.local()
    return "local" if local > 0.5 else "flat"


def glanced(graph: Graph) -> Brief:
    """The numbers of a graph from some of its rows; kept with the graph."""
    found: Brief | None = graph.kept.get("brief")
    if found is None:
        found = graph.kept["brief"] = _glanced(graph)
    return found


def _glanced(graph: Graph) -> Brief:
    if not graph.arcs:
        return Brief(graph.vertices, 0, graph.kept.get("depth", 0.0), 0.0, 0.0, 0.0, 0.0, 0.0)
    shape = glanced_shape(graph)
    depth = graph.kept.get("depth") or shape.depth
    return replace(brief(shape), depth=depth)


def glanced_shape(graph: Graph) -> Shape:
    """The shape of a graph by some of its rows; kept with the graph."""
    if not graph.arcs:
        return Shape(graph.name or "", graph.vertices, 0, np.zeros(1), np.full(1, float(graph.vertices)), 0.0)
    if "glance" not in graph.kept:
        graph.kept["glance"] = _sampled(graph.vertices, graph.arcs, *graph.out, graph.name or "")
    found: Shape = graph.kept["glance"]
    return found


def rows_of(vertices: int, arcs: int, offsets: Any, neighbours: Any, name: str) -> Shape:
    """The shape of a graph whose rows are there, from some of them."""
    if not arcs:
        return Shape(name, vertices, 0, np.zeros(1), np.full(1, float(vertices)), 0.0)
    said = (f"{name} was not loaded: this is from a sample of {min(vertices, _ROWS):,} of its rows",)
    return replace(_sampled(vertices, arcs, offsets, neighbours, name), notes=said)


def _sampled(n: int, arcs: int, offsets: Any, neighbours: Any, name: str) -> Shape:
    """A shape by some rows: their lengths, and how far one arc of each goes."""
    rows = np.arange(n) if n <= _ROWS else np.linspace(0, n - 1, _ROWS).astype(np.int64)
    degrees = (offsets[rows + 1] - offsets[rows]).astype(np.float64)
    share = n / len(rows)
    some = degrees > 0
    if not some.any():
        degrees, some = np.full(len(rows), arcs / n), np.ones(len(rows), bool)
    first, lengths = offsets[rows[some]].astype(np.int64), degrees[some].astype(np.int64).clip(1)
    # Any arc of a row, by a hash of the row: in a sorted row the middle ones are nearer than the others.
    chance = (rows[some].astype(np.uint64) * _HASH >> np.uint64(33)).astype(np.int64)
    ends = neighbours[(first + chance % lengths).clip(0, arcs - 1)].astype(np.int64)
    sampled = np.unique(degrees, return_counts=True)
    classes = sampled[0], sampled[1].astype(np.float64) * share
    shape = Shape(name, n, arcs, *classes, 0.0, asked=_asking(*classes, np.abs(ends - rows[some]) / n))
    return replace(shape, depth=guessed_depth(n, arcs / n, shape.local(), float(sampled[0].max())))


def _asking(degrees: Any, counts: Any, spans: Any) -> Callable[[int], tuple[int, int]]:
    """The sums of INS and UDS of k ranges, by how long arcs are, in shares of all vertices.

    An arc of span s is cut by one of k - 1 cuts with a chance of (k - 1) s / (1 - s). Had it random ends, that would be
    (k - 1) / k; so many of a vertex's arcs are taken to end anywhere.
    """

    def asked(k: int) -> tuple[int, int]:
        if k == 1:
            return round(float(counts[degrees > 0].sum())), 0
        cut = float(np.minimum(1.0, (k - 1) * spans / np.maximum(1.0 - spans, 1e-9)).mean())
        far = min(1.0, cut * k / (k - 1))
        read = float((counts * -np.expm1(far * degrees * math.log1p(-1.0 / k))).sum())
        return round(float(counts[degrees > 0].sum()) + (k - 1) * read), round((k - 1) * read)

    return asked


def guessed_depth(vertices: int, degree: float, local: float, top: float) -> float:
    """Levels of a search that nobody made: those of a mesh where rows are short and near, else of a random graph."""
    if local > 0.5 and degree < 6 and top <= _SKEWED:
        return 1.5 * math.sqrt(vertices)
    return 1.0 + math.log(max(2, vertices)) / math.log(max(1.5, degree))


def remember_depth(graph: Graph, levels: float) -> None:
    """A search of the graph had so many levels; the deepest one is kept."""
    if levels > graph.kept.get("depth", 0.0):
        graph.kept["depth"] = float(levels)
        graph.kept.pop("brief", None)

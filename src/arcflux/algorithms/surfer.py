"""Where PageRank's surfer begins, where it jumps to, and which edges it can choose: numbers for each vertex.

They are shares of 1, found without leaving the range of floats: what is given is first divided by its largest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.errors import UsageError, WeightError
from arcflux.graph import Graph
from arcflux.graph.ids import by_id
from arcflux.validate import arguments

__all__ = ["choosable", "dangling_count", "first_residual", "shares", "weighed"]

Array = NDArray[Any]

# Vertices by which a graph is judged: a hundredth of them is seen within a sixth of itself.
_SAMPLE = 4096
# Up to where 1 over a sum of weights, times a rank, is a float of a type without losing digits.
_WIDEST = {"f64": 1e200, "f32": 1e25}


def dangling_count(graph: Graph) -> int:
    """How many vertices have no out-edges; the graph remembers."""
    offsets = graph.out.offsets
    if "dangling" not in graph.kept:
        graph.kept["dangling"] = int(np.count_nonzero(offsets[1:] == offsets[:-1]))
    return int(graph.kept["dangling"])


def first_residual(graph: Graph) -> float:
    """By how much a superstep moves ranks that are all alike, as a share of them; of a sample, which is remembered.

    Nothing where all vertices have the same number of neighbours, little on a mesh, which only has a rim.
    """
    if "first residual" not in graph.kept:
        offsets, neighbours = graph.into
        rows = np.arange(graph.vertices)
        if len(rows) > _SAMPLE:
            rows = np.random.default_rng(1).integers(graph.vertices, size=_SAMPLE)
        starts, ends = offsets[rows].astype(np.int64), offsets[rows + 1].astype(np.int64)
        lengths = ends - starts
        places = np.repeat(starts - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
        degrees = graph.out.offsets[neighbours[places] + 1] - graph.out.offsets[neighbours[places]]
        received = np.bincount(np.repeat(np.arange(len(rows)), lengths), 1.0 / degrees, minlength=len(rows))
        graph.kept["first residual"] = float(np.abs(received - 1.0).mean()) if len(rows) else 0.0
    return float(graph.kept["first residual"])


def weighed(graph: Graph, name: str | None) -> Graph | None:
    """The graph with the column to choose edges by as `weight`, if there is one."""
    if name is None or (name == "weight" and not graph.weighted):
        return None
    column = arguments.weights(graph, name)
    return graph if name == "weight" else graph.with_columns({"weight": column})


def choosable(graph: Graph, dtype: str) -> tuple[Graph, Array]:
    """The graph, and the sum of the weights of each vertex's out-edges, of which 1 over it is a float of `dtype`.

    Only proportions matter, so weights that are too large or too small for that are scaled, all by one power of 2.
    """
    sums, widest = _strengths(graph), _WIDEST[dtype]
    positive = sums[sums > 0]
    if not positive.size or 1 / widest <= positive.min() <= positive.max() <= widest:
        return graph, sums
    column = graph.columns["weight"].astype(np.float64)
    scaled = graph.with_columns({"weight": np.ldexp(column, -int(np.frexp(column.max())[1]))})
    found = _strengths(scaled)
    lost = (sums > 0) & (found < 1 / widest)
    if lost.any():
        v = int(np.argmax(lost))
        raise WeightError(
            f"the weights of vertex {arguments.shown(graph, v)} sum to {sums[v]}, and the largest is {column.max()}",
            expected=f"sums of at least {1 / widest} times the largest weight, with dtype={dtype!r}",
            remedy="drop edges of such small weights, or scale those of each vertex"
            + ", or dtype='f64'" * (dtype == "f32"),
        )
    return scaled, found


def _strengths(graph: Graph) -> Array:
    """The sum of the weights of each vertex's out-edges; infinite when that is no float."""
    sums = np.zeros(graph.vertices)
    some = graph.out_degrees > 0
    if some.any():
        starts = graph.out.offsets[:-1][some].astype(np.int64)
        with np.errstate(over="ignore"):
            sums[some] = np.add.reduceat(graph.columns["weight"].astype(np.float64), starts)
    return sums


def shares(graph: Graph, given: Any, name: str) -> Array:
    """Weights of vertices, by id or in order, as shares that sum to 1; the same for all when none are given."""
    if given is None:
        return np.full(graph.vertices, 1.0 / max(1, graph.vertices))
    given = by_id(given)
    wrong = UsageError(f"{name} cannot be made into shares", expected="weights of vertices, not negative, not all 0")
    numbers = graph.ids.to_numbers(list(given)) if isinstance(given, Mapping) and given else None
    try:
        found = np.array(list(given.values()) if isinstance(given, Mapping) else given, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise wrong from error
    if numbers is not None:
        if found.shape != numbers.shape:
            raise wrong
        values, found = found, np.zeros(graph.vertices)
        found[numbers] = values
    if found.shape != (graph.vertices,) or not np.isfinite(found).all() or (found < 0).any() or not found.any():
        raise wrong
    found /= found.max()
    normalised: Array = found / found.sum()
    return normalised

"""Networks for maximum flow: frames one behind the other, with capacities."""

from __future__ import annotations

import numpy as np

from arcflux.errors import UsageError
from arcflux.generate.arguments import integer, spell
from arcflux.generate.recipe import Recipe, with_weight
from arcflux.graph.core import Graph

__all__ = ["genrmf"]


def genrmf(
    side: int,
    frames: int,
    low: int = 1,
    high: int = 100,
    *,
    seed: int = 1,
    threads: int | None = None,
) -> Graph:
    """The flow networks of Goldfarb and Grigoriadis: frames of side x side vertices, with a column ``capacity``.

    D. Goldfarb, M. D. Grigoriadis, "A computational comparison of the Dinic and network simplex methods for maximum
    flow", 1988; the generator RMFGEN of the DIMACS challenge. Vertices of a frame have arcs to their neighbours in the
    grid, of capacity ``high * side * side``; each has one arc to a vertex of the next frame, by a random permutation,
    of a capacity from `low` to `high`. The source is vertex 0, the sink the last one. Directed.

    Parameters
    ----------
    side, frames
        The size of a frame, and how many there are.
    low, high
        The bounds of capacities between frames.
    seed, threads
        As for :func:`~arcflux.generate.kronecker`.

    Examples
    --------
    >>> from arcflux import generate
    >>> g = generate.genrmf(3, 4)
    >>> g.vertices, g.edges, int(g.columns["capacity"].max())
    (36, 123, 900)
    """
    side, frames = integer("side", side, 1, 1 << 20), integer("frames", frames, 1)
    low, high = integer("low", low, 0, 1 << 31), integer("high", high, 0, 1 << 31)
    if low > high:
        raise UsageError(f"low is {low} and high is {high}", expected="the lowest capacity, then the highest")
    area = side * side
    edges = 4 * side * (side - 1) * frames + area * (frames - 1)
    spec = spell("genrmf", f"{side}x{frames}", low=(low, 1), high=(high, 100))
    recipe = Recipe(spec, area * frames, edges, seed, directed=True, threads=threads, column=8)
    from arcflux.generate.structured_kernels import capacities
    from arcflux.generate.structured_kernels import frames as kernel

    key, width = np.uint64(recipe.seed), np.uint64((area - 1).bit_length())
    graph = recipe.graph((kernel, recipe.vertices, key, np.uint64(side), np.uint64(frames), width))
    numbers = np.uint64(area), np.int64(low), np.uint64(high - low + 1), np.int64(high * area)
    return with_weight(graph, capacities, np.int64, key, *numbers, threads=threads, name="capacity")

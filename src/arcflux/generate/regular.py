"""Graphs without chance: grids, paths, cycles, stars, complete graphs. The seed is only for weights."""

from __future__ import annotations

import numpy as np

from arcflux.generate.arguments import Interval, integer
from arcflux.generate.recipe import Recipe
from arcflux.graph.core import Graph

__all__ = ["complete", "cycle", "grid", "path", "star"]


def grid(
    rows: int, columns: int, *, seed: int = 1, weights: Interval | None = None, threads: int | None = None
) -> Graph:
    """A grid of vertices, each joined to its neighbours above, below, left and right: a stand-in for a road network.

    Vertex ``row * columns + column`` is the one in that row and column. Undirected.

    Parameters
    ----------
    rows, columns
        The size of the grid.
    seed, weights
        The lowest and the highest weight, both included when they are integers (int32; floats give float64), and the
        seed they are drawn by. Without `weights` the edges have none.
    threads
        Workers to use; all cores without it. The result is the same.

    Examples
    --------
    >>> from arcflux import generate
    >>> g = generate.grid(3, 4)
    >>> g.vertices, g.edges
    (12, 17)
    >>> g.neighbours(5).tolist()
    [1, 4, 6, 9]
    """
    rows, columns = integer("rows", rows), integer("columns", columns)
    vertices = rows * columns
    edges = 2 * vertices - rows - columns if vertices else 0
    recipe = Recipe(f"grid:{rows}x{columns}", vertices, edges, seed=seed, weights=weights, threads=threads)
    from arcflux.generate.kernels import grid as grid_kernel

    return recipe.graph((grid_kernel, vertices, np.uint64(max(1, columns))))


def path(vertices: int, *, seed: int = 1, weights: Interval | None = None, threads: int | None = None) -> Graph:
    """The path 0 - 1 - 2 - ... of `vertices` vertices, undirected; `seed`, `weights`, `threads` as for :func:`grid`.

    Examples
    --------
    >>> from arcflux import generate
    >>> generate.path(4).neighbours(2).tolist()
    [1, 3]
    """
    vertices = integer("vertices", vertices)
    recipe = Recipe(f"path:{vertices}", vertices, max(0, vertices - 1), seed=seed, weights=weights, threads=threads)
    from arcflux.generate.kernels import chain

    return recipe.graph((chain, recipe.edges, np.uint64(1), np.uint64(vertices)))


def cycle(vertices: int, *, seed: int = 1, weights: Interval | None = None, threads: int | None = None) -> Graph:
    """The cycle 0 - 1 - 2 - ... - 0 of at least 3 vertices, undirected; other arguments as for :func:`grid`.

    Examples
    --------
    >>> from arcflux import generate
    >>> generate.cycle(4).neighbours(0).tolist()
    [1, 3]
    """
    vertices = integer("vertices", vertices, low=3)
    recipe = Recipe(f"cycle:{vertices}", vertices, vertices, seed=seed, weights=weights, threads=threads)
    from arcflux.generate.kernels import chain

    return recipe.graph((chain, recipe.edges, np.uint64(1), np.uint64(vertices)))


def star(vertices: int, *, seed: int = 1, weights: Interval | None = None, threads: int | None = None) -> Graph:
    """The star of hub 0 and ``vertices - 1`` leaves, undirected; other arguments as for :func:`grid`.

    Examples
    --------
    >>> from arcflux import generate
    >>> generate.star(5).out_degrees.tolist()
    [4, 1, 1, 1, 1]
    """
    vertices = integer("vertices", vertices)
    recipe = Recipe(f"star:{vertices}", vertices, max(0, vertices - 1), seed=seed, weights=weights, threads=threads)
    from arcflux.generate.kernels import chain

    return recipe.graph((chain, recipe.edges, np.uint64(0), np.uint64(vertices)))


def complete(vertices: int, *, seed: int = 1, weights: Interval | None = None, threads: int | None = None) -> Graph:
    """All pairs of `vertices` vertices, undirected; other arguments as for :func:`grid`.

    Examples
    --------
    >>> from arcflux import generate
    >>> generate.complete(50).edges
    1225
    """
    vertices = integer("vertices", vertices)
    edges = vertices * (vertices - 1) // 2
    recipe = Recipe(f"complete:{vertices}", vertices, edges, seed=seed, weights=weights, threads=threads)
    from arcflux.generate.kernels import complete as complete_kernel

    return recipe.graph((complete_kernel, edges))

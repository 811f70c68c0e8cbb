"""Graphs whose ends are uniform: every vertex is like every other, nothing is near anything."""

from __future__ import annotations

import numpy as np

from arcflux.checks import checked, flag
from arcflux.errors import UsageError
from arcflux.generate.arguments import LARGEST_SCALE, Interval, integer, spell
from arcflux.generate.recipe import Recipe
from arcflux.graph.core import Graph

__all__ = ["uniform"]


@checked(directed=flag, simple=flag)
def uniform(
    scale: int | None = None,
    edge_factor: int = 16,
    *,
    vertices: int | None = None,
    edges: int | None = None,
    seed: int = 1,
    weights: Interval | None = None,
    directed: bool = False,
    simple: bool = True,
    threads: int | None = None,
) -> Graph:
    """A random graph whose edges join uniform vertices: ``urand`` of the GAP benchmark suite, nearly Erdős-Rényi.

    Parameters
    ----------
    scale
        The logarithm of the number of vertices; or give `vertices`.
    edge_factor
        Edges generated for each vertex; or give `edges`.
    vertices, edges
        The number of vertices, and of edges generated, when they are not powers and multiples.
    seed, weights, directed, simple, threads
        As for :func:`~arcflux.generate.kronecker`.

    Examples
    --------
    >>> from arcflux import generate
    >>> generate.uniform(10).vertices
    1024
    >>> g = generate.uniform(vertices=1000, edges=5000, simple=False)
    >>> g.vertices, g.edges
    (1000, 5000)
    """
    if (scale is None) == (vertices is None):
        raise UsageError(
            "scale and vertices are " + ("both missing" if scale is None else "both given"),
            expected="one of them: 2**scale vertices, or any number",
            remedy="uniform(20), or uniform(vertices=1000, edges=5000); as specs urand:20, urand:n=1000,m=5000",
        )
    edge_factor = integer("edge_factor", edge_factor)
    count = 1 << integer("scale", scale, high=LARGEST_SCALE) if vertices is None else integer("vertices", vertices)
    wanted = edge_factor * count if edges is None else integer("edges", edges)
    if wanted and not count:
        raise UsageError(f"{wanted:,} edges are asked for, and no vertices", expected="at least one vertex")
    spec = spell(
        "urand", "" if scale is None else f"{scale}", n=(vertices, None), ef=(edge_factor, 16), m=(edges, None),
        directed=(directed, False), simple=(simple, True),
    )  # fmt: skip
    recipe = Recipe(spec, count, wanted, seed, weights, directed, simple, threads)
    from arcflux.generate.kernels import flat

    return recipe.graph((flat, wanted, np.uint64(recipe.seed), np.uint64(count)))

"""Pairs of random graphs that resemble each other: what graph matching is tested with."""

from __future__ import annotations

import numpy as np

from arcflux.checks import checked, flag
from arcflux.generate.arguments import Interval, integer, number, spell
from arcflux.generate.recipe import Recipe
from arcflux.graph.core import Graph

__all__ = ["correlated", "correlated_pair"]


@checked(copy=flag)
def correlated(
    vertices: int,
    p: float = 0.1,
    rho: float = 0.9,
    *,
    copy: bool = False,
    seed: int = 1,
    weights: Interval | None = None,
    threads: int | None = None,
) -> Graph:
    """One of two Erdős-Rényi graphs whose edges are correlated: the first of a pair, or its noisy copy.

    Each pair of vertices is an edge of the first with probability `p`. Of the copy it is one with probability
    ``p + rho * (1 - p)`` where the first has it, and ``p * (1 - rho)`` where not: so both are G(n, p), and the
    correlation of an edge of both is `rho` (V. Lyzinski, D. E. Fishkind, C. E. Priebe, "Seeded graph matching for
    correlated Erdős-Rényi graphs", 2014). Vertex v of the one is vertex v of the other. Undirected and simple.

    Parameters
    ----------
    vertices
        How many vertices.
    p, rho
        The probability of an edge, and the correlation.
    copy
        The second of the pair.
    seed, weights, threads
        As for :func:`~arcflux.generate.kronecker`.

    Examples
    --------
    >>> from arcflux import generate
    >>> first, same = generate.correlated(50), generate.correlated(50, rho=1, copy=True)
    >>> first.equals(same)
    True
    """
    vertices, p, rho = integer("vertices", vertices), number("p", p), number("rho", rho)
    spec = spell("correlated", f"{vertices}", p=(p, 0.1), rho=(rho, 0.9), copy=(copy, False))
    recipe = Recipe(spec, vertices, int(p * vertices * (vertices - 1) / 2), seed, weights, threads=threads)
    from arcflux.generate.structured_kernels import correlated as kernel

    chances = p, p + rho * (1.0 - p), p * (1.0 - rho), bool(copy)
    return recipe.graph_by_rows(kernel, vertices, np.uint64(recipe.seed), *chances)


def correlated_pair(
    vertices: int,
    p: float = 0.1,
    rho: float = 0.9,
    *,
    seed: int = 1,
    weights: Interval | None = None,
    threads: int | None = None,
) -> tuple[Graph, Graph]:
    """Both graphs of :func:`correlated`.

    Examples
    --------
    >>> from arcflux import generate
    >>> first, second = generate.correlated_pair(100, p=0.2, rho=0.5)
    >>> first.vertices == second.vertices, first.equals(second)
    (True, False)
    """
    first, second = (
        correlated(vertices, p, rho, copy=copy, seed=seed, weights=weights, threads=threads) for copy in (False, True)
    )
    return first, second

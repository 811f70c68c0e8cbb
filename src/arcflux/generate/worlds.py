"""Small worlds: rings whose vertices know their neighbours and a few strangers; and many such worlds, joined."""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.checks import checked, text
from arcflux.errors import UsageError
from arcflux.generate.arguments import Interval, integer, number, spell
from arcflux.generate.recipe import Recipe
from arcflux.generate.recursive import GRAPH500, cells
from arcflux.graph.core import Graph

__all__ = ["small_worlds", "watts_strogatz"]


def watts_strogatz(
    vertices: int,
    k: int = 10,
    p: float = 0.1,
    *,
    seed: int = 1,
    weights: Interval | None = None,
    threads: int | None = None,
) -> Graph:
    """A small world: a ring in which each vertex is joined to its `k` nearest, and some edges lead far away.

    Each edge of the ring has, with probability `p`, its far end moved to a uniform vertex other than its near end
    (D. J. Watts, S. H. Strogatz, "Collective dynamics of 'small-world' networks", Nature 393, 1998). The edges are
    moved independently of each other, so now and then two become parallel: they are merged, and counted in
    `Graph.changes`. Undirected.

    Parameters
    ----------
    vertices
        The number of vertices, more than `k`.
    k
        How many nearest neighbours: an even number, half of them on each side.
    p
        The probability that an edge is moved.
    seed, weights, threads
        As for :func:`~arcflux.generate.kronecker`.

    Examples
    --------
    >>> from arcflux import generate
    >>> generate.watts_strogatz(20, k=4, p=0.0).neighbours(0).tolist()
    [1, 2, 18, 19]
    """
    vertices, k, p = integer("vertices", vertices), _even("k", k, "vertices", vertices), number("p", p)
    spec = spell("ws", f"{vertices}", k=(k, 10), p=(p, 0.1))
    recipe = Recipe(spec, vertices, vertices * k // 2, seed, weights, simple=True, threads=threads)
    return recipe.graph(_ring(recipe, vertices, k, p))


@checked(kind=text)
def small_worlds(
    worlds: int,
    size: int,
    k: int = 10,
    p: float = 0.1,
    rewire: float = 0.1,
    *,
    kind: str = "ws",
    seed: int = 1,
    weights: Interval | None = None,
    threads: int | None = None,
) -> Graph:
    """Many small worlds, joined into one graph: the synthetic graphs of G2 (section V-A of its paper).

    Each edge of each world has, with probability `rewire`, one end moved to a uniform vertex of another world
    (J. Zhong, B. He, "Towards GPU-accelerated large-scale graph processing in the cloud", CloudCom 2013, who make the
    small graphs with R-MAT and rewire a tenth). Vertex ``world * size + i`` is vertex i of that world. Undirected;
    self-loops are dropped and parallel edges merged, and `Graph.changes` counts them.

    Parameters
    ----------
    worlds, size
        How many worlds, and how many vertices each has: a power of two for R-MAT.
    k, p
        Each world is a :func:`watts_strogatz` graph of `k` neighbours and probability `p`.
    rewire
        The probability that an edge leads to another world. A single world is not rewired.
    kind
        "ws", or "rmat": each world is an :func:`~arcflux.generate.rmat` graph of ``k / 2`` edges for each vertex, and
        `p` means nothing.
    seed, weights, threads
        As for :func:`~arcflux.generate.kronecker`.

    Examples
    --------
    >>> from arcflux import generate
    >>> g = generate.small_worlds(10, 100, k=4)
    >>> g.vertices, g.changes.edges_given
    (1000, 2000)
    """
    worlds, size = integer("worlds", worlds), integer("size", size)
    k, p, rewire = _even("k", k, "size", size), number("p", p), number("rewire", rewire)
    if kind not in ("ws", "rmat"):
        raise UsageError(f"kind is {kind!r}", expected="ws or rmat")
    if kind == "rmat" and size & (size - 1):
        raise UsageError(f"size is {size}", expected="a power of two, since the worlds are R-MAT graphs")
    spec = spell(
        "worlds", f"{worlds}x{size}", k=(k, 10), p=(p, 0.1), rewire=(rewire, 0.1), kind=(kind, "ws"),
    )  # fmt: skip
    recipe = Recipe(spec, worlds * size, worlds * size * k // 2, seed, weights, simple=True, threads=threads)
    if kind == "ws":
        inside = _ring(recipe, size, k, p)
    else:
        inside = cells(recipe, max(0, size.bit_length() - 1), GRAPH500, shuffle=False)
    from arcflux.generate.kernels import join

    across = rewire if worlds > 1 else 0.0
    shape = np.uint64(size), np.uint64(max(1, worlds))
    return recipe.graph(inside, (join, recipe.edges, np.uint64(recipe.seed), *shape, across))


def _ring(recipe: Recipe, size: int, k: int, p: float) -> tuple[Any, ...]:
    """The pass that writes the edges of rings of `size` vertices."""
    from arcflux.generate.kernels import ring

    return ring, recipe.edges, np.uint64(recipe.seed), np.uint64(size), np.uint64(k // 2), p


def _even(name: str, value: Any, of: str, most: int) -> int:
    """An even number of neighbours that `most` vertices can have."""
    count = integer(name, value)
    if count % 2 or (count >= most and count):
        raise UsageError(f"{name} is {count} and {of} is {most}", expected=f"an even {name} below {of}")
    return count

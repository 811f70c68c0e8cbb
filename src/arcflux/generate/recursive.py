"""Skewed graphs, by a recursive choice of quadrants: R-MAT, and the Kronecker graphs of the Graph500 benchmark.

An edge is a cell of the adjacency matrix. Level by level, one of the four quadrants that are left is chosen with
probabilities a, b, c, d (D. Chakrabarti, Y. Zhan, C. Faloutsos, "R-MAT: a recursive model for graph mining", SDM 2004);
each choice is one bit of the source and one of the target. The trick: several levels are one choice among many joint
outcomes, drawn from an alias table (A. J. Walker, 1977) by a single random word: eight times as fast as level by level.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.checks import checked, flag
from arcflux.errors import UsageError
from arcflux.generate.arguments import LARGEST_SCALE, Interval, integer, number, spell
from arcflux.generate.recipe import Recipe
from arcflux.graph.core import Graph
from arcflux.spmd.memory import frozen

__all__ = ["GRAPH500", "alias_table", "cells", "kronecker", "quadrants", "rmat"]

# The probabilities of the Graph500 specification.
GRAPH500 = 0.57, 0.19, 0.19, 0.05
# Levels by a random word. Their table takes 8 KiB; one of six levels would crowd all else out of a core's first cache.
_LEVELS = 5
_THRESHOLD_BITS = 40


@checked(directed=flag, simple=flag)
def kronecker(
    scale: int,
    edge_factor: int = 16,
    *,
    seed: int = 1,
    weights: Interval | None = None,
    directed: bool = False,
    simple: bool = True,
    threads: int | None = None,
) -> Graph:
    """A Kronecker graph as the Graph500 benchmark specifies it: skewed degrees, small diameter, isolated vertices.

    Parameters
    ----------
    scale
        The logarithm of the number of vertices. All ``2**scale`` are kept, also those without an edge.
    edge_factor
        Edges generated for each vertex; with `simple`, fewer are left.
    seed
        Decides every edge, label and weight. The same seed gives the same bytes on any number of threads.
    weights
        The lowest and the highest weight, both included when they are integers (int32; floats give float64). The
        column ``weight`` depends on the ends of an edge, so both directions agree; parallel edges differ.
    directed
        Whether an edge has a direction.
    simple
        Drop self-loops and merge parallel edges; `Graph.changes` counts them.
    threads
        Workers to use; all cores without it. The result is the same.

    Examples
    --------
    >>> from arcflux import generate
    >>> g = generate.kronecker(10, weights=(1, 255))
    >>> g.vertices, g.changes.edges_given, g.directed
    (1024, 16384, False)
    >>> print(g.columns["weight"].dtype)
    int32
    """
    scale, edge_factor = integer("scale", scale, high=LARGEST_SCALE), integer("edge_factor", edge_factor)
    spec = spell("kron", f"{scale}", ef=(edge_factor, 16), directed=(directed, False), simple=(simple, True))
    recipe = Recipe(spec, 1 << scale, edge_factor << scale, seed, weights, directed, simple, threads)
    return recipe.graph(cells(recipe, scale, GRAPH500, shuffle=True))


@checked(permute=flag, directed=flag, simple=flag)
def rmat(
    scale: int,
    edge_factor: int = 16,
    *,
    a: float = 0.57,
    b: float = 0.19,
    c: float = 0.19,
    d: float | None = None,
    permute: bool = True,
    seed: int = 1,
    weights: Interval | None = None,
    directed: bool = True,
    simple: bool = True,
    threads: int | None = None,
) -> Graph:
    """An R-MAT graph: as :func:`kronecker`, with probabilities of your own, and directed unless you say otherwise.

    Parameters
    ----------
    a, b, c, d
        The probabilities of the quadrants: top left, top right (low source, high target), bottom left, bottom right.
        They add up to 1; `d` is what the others leave.
    permute
        Deal the vertex numbers at random. Without it, low numbers have many edges.
    scale, edge_factor, seed, weights, directed, simple, threads
        As for :func:`kronecker`.

    Examples
    --------
    >>> from arcflux import generate
    >>> g = generate.rmat(8, 4, a=0.5, b=0.2, c=0.2, permute=False)
    >>> g.vertices, g.directed, int(g.out_degrees.argmax())
    (256, True, 0)
    """
    scale, edge_factor = integer("scale", scale, high=LARGEST_SCALE), integer("edge_factor", edge_factor)
    shares = quadrants(a, b, c, d)
    spec = spell(
        "rmat", f"{scale}", ef=(edge_factor, 16), a=(shares[0], 0.57), b=(shares[1], 0.19), c=(shares[2], 0.19),
        permute=(permute, True), directed=(directed, True), simple=(simple, True),
    )  # fmt: skip
    recipe = Recipe(spec, 1 << scale, edge_factor << scale, seed, weights, directed, simple, threads)
    return recipe.graph(cells(recipe, scale, shares, shuffle=permute))


def cells(recipe: Recipe, scale: int, shares: tuple[float, ...], shuffle: bool) -> tuple[Any, ...]:
    """The pass that writes the edges of a recipe: cells of a matrix of 2**scale rows."""
    from arcflux.generate.kernels import recursive

    tables = alias_table(shares, _LEVELS), alias_table(shares, scale % _LEVELS)
    size = np.uint64(scale), np.uint64(_LEVELS)
    return recursive, recipe.edges, np.uint64(recipe.seed), *size, *map(frozen, tables), bool(shuffle)


def quadrants(a: Any, b: Any, c: Any, d: Any = None) -> tuple[float, float, float, float]:
    """Four probabilities that add up to 1.

    Examples
    --------
    >>> quadrants(0.5, 0.25, 0.25)
    (0.5, 0.25, 0.25, 0.0)
    """
    a, b, c = number("a", a), number("b", b), number("c", c)
    rest = 1.0 - math.fsum((a, b, c))
    found = rest if d is None else number("d", d)
    if rest < -1e-9 or abs(found - rest) > 1e-9:
        raise UsageError(
            f"a={a:g}, b={b:g}, c={c:g}" + ("" if d is None else f", d={found:g}") + " do not add up to 1",
            expected="probabilities of the four quadrants, d being what a, b and c leave",
            remedy="a=0.57, b=0.19, c=0.19",
        )
    return a, b, c, max(0.0, rest)


def alias_table(shares: tuple[float, ...], levels: int) -> NDArray[np.uint64]:
    """A table to draw `levels` quadrants from at once, in constant time: uint64[4**levels].

    Outcome ``row << levels | column`` owns one entry. An entry is drawn evenly; then a number of 40 bits that is below
    its threshold (its high bits) means its own outcome, another the alias in its low 16 bits.

    Examples
    --------
    >>> [(int(entry) >> 16) / 2**40 for entry in alias_table((0.5, 0.25, 0.125, 0.125), 1)]
    [1.0, 0.5, 0.5, 0.5]
    """
    joint = np.ones((1, 1))
    for _ in range(levels):
        joint = np.kron(joint, np.reshape(shares, (2, 2)))
    fill = (joint.ravel() * joint.size).tolist()
    alias = list(range(len(fill)))
    short = [i for i in alias if fill[i] < 1.0]
    rich = [i for i in alias if fill[i] >= 1.0]
    while short and rich:
        poor = short.pop()
        alias[poor] = rich[-1]
        fill[rich[-1]] -= 1.0 - fill[poor]
        if fill[rich[-1]] < 1.0:
            short.append(rich.pop())
    for i in short + rich:  # what rounding left: their own outcome, always
        fill[i] = 1.0
    thresholds = [round(share * (1 << _THRESHOLD_BITS)) for share in fill]
    return np.array([high << 16 | low for high, low in zip(thresholds, alias, strict=True)], np.uint64)

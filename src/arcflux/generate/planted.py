"""Graphs with communities that were planted: blocks, rings of cliques, communities of skewed sizes and degrees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.checks import array, real_array, shown
from arcflux.errors import UsageError
from arcflux.generate.arguments import Interval, integer, number, spell
from arcflux.generate.recipe import Recipe
from arcflux.graph.core import Graph
from arcflux.spmd.memory import empty
from arcflux.spmd.pool import run
from arcflux.spmd.space import afford

__all__ = ["lfr", "lfr_communities", "planted_partition", "ring_of_cliques", "stochastic_block_model"]

Array = NDArray[Any]


def planted_partition(
    groups: int,
    size: int,
    p_in: float = 0.3,
    p_out: float = 0.01,
    *,
    seed: int = 1,
    weights: Interval | None = None,
    threads: int | None = None,
) -> Graph:
    """Groups of equal size, in which edges are likelier than between them: vertex v is in group ``v // size``.

    Each pair within a group is an edge with probability `p_in`, each other pair with `p_out` (A. Condon, R. M. Karp,
    "Algorithms for graph partitioning on the planted partition model", 2001). Undirected and simple.

    Parameters
    ----------
    groups, size
        How many groups, and of how many vertices.
    p_in, p_out
        The probabilities of edges within and between groups.
    seed, weights, threads
        As for :func:`~arcflux.generate.kronecker`.

    Examples
    --------
    >>> from arcflux import generate
    >>> generate.planted_partition(2, 3, p_in=1, p_out=0).neighbours(4).tolist()
    [3, 5]
    """
    groups, size = integer("groups", groups), integer("size", size)
    p_in, p_out = number("p_in", p_in), number("p_out", p_out)
    vertices = groups * size
    options: dict[str, tuple[Any, Any]] = {"in": (p_in, 0.3), "out": (p_out, 0.01)}
    pairs, inside = vertices * (vertices - 1) / 2, groups * size * (size - 1) / 2
    expected = int(inside * p_in + (pairs - inside) * p_out)
    spec = spell("planted", f"{groups}x{size}", **options)
    recipe = Recipe(spec, vertices, expected, seed, weights, threads=threads)
    ends = np.stack([np.arange(1, groups + 1) * size, np.full(groups, vertices)], 1).reshape(-1)
    runs = np.arange(groups + 1) * 2, ends.astype(np.uint64), np.tile([p_in, p_out], groups)
    return _blocks(recipe, np.full(groups, size), *runs)


def stochastic_block_model(
    sizes: Sequence[int],
    p: Any,
    *,
    seed: int = 1,
    weights: Interval | None = None,
    threads: int | None = None,
) -> Graph:
    """Blocks of vertices, one after the other: a pair of blocks i and j is an edge with probability ``p[i][j]``.

    P. W. Holland, K. B. Laskey, S. Leinhardt, "Stochastic blockmodels: first steps", 1983. Undirected and simple; there
    is no spec of it.

    Parameters
    ----------
    sizes
        How many vertices each block has.
    p
        The symmetric matrix of probabilities.
    seed, weights, threads
        As for :func:`~arcflux.generate.kronecker`.

    Examples
    --------
    >>> from arcflux import generate
    >>> generate.stochastic_block_model([1, 3], [[0, 1], [1, 0]]).out_degrees.tolist()
    [3, 1, 1, 1]
    """
    try:
        many = [integer("sizes", size) for size in array("sizes", sizes)]
    except TypeError:
        raise UsageError(f"sizes is {shown(sizes)}", expected="a size for each block, such as [10, 20]") from None
    try:
        chances = real_array("p", p, "a symmetric matrix of probabilities")
    except MemoryError:
        raise UsageError(f"p is {shown(p)}", expected="a symmetric matrix of probabilities") from None
    if chances.shape != (len(many), len(many)) or not (chances == chances.T).all():
        raise UsageError(
            f"p has shape {chances.shape}" + (" and is not symmetric" if chances.ndim == 2 else ""),
            expected=f"a symmetric matrix of {len(many)} x {len(many)} probabilities",
        )
    if not ((chances >= 0) & (chances <= 1)).all():
        raise UsageError("p has numbers that are no probabilities", expected="numbers from 0 to 1")
    vertices, counts = sum(many), np.array(many, np.float64)
    expected = int((np.outer(counts, counts) * chances).sum() / 2)
    recipe = Recipe("stochastic blocks", vertices, expected, seed, weights, threads=threads)
    bounds = np.cumsum(many)
    rows = [np.arange(b, len(many)) for b in range(len(many))]
    firsts = np.cumsum([0, *map(len, rows)])
    columns = np.concatenate(rows) if rows else np.empty(0, np.int64)
    blocks = np.repeat(np.arange(len(many)), np.diff(firsts))
    return _blocks(
        recipe, np.array(many, np.int64), firsts, bounds[columns].astype(np.uint64), chances[blocks, columns]
    )


def _blocks(recipe: Recipe, sizes: Array, firsts: Array, ends: Array, chances: Array) -> Graph:
    from arcflux.generate.structured_kernels import blocks

    block_of = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)
    return recipe.graph_by_rows(
        blocks, recipe.vertices, np.uint64(recipe.seed), block_of, firsts.astype(np.int64), ends, chances
    )


def ring_of_cliques(
    cliques: int,
    size: int,
    *,
    seed: int = 1,
    weights: Interval | None = None,
    threads: int | None = None,
) -> Graph:
    """A ring of at least two cliques, joined by single edges, as NetworkX has it: vertex v is in clique ``v // size``.

    The test of the resolution limit of modularity (S. Fortunato, M. Barthélemy, 2007): with more than about
    ``size * size`` cliques pairs of them have the higher modularity.

    Examples
    --------
    >>> from arcflux import generate
    >>> generate.ring_of_cliques(3, 3).neighbours(3).tolist()
    [1, 4, 5]
    """
    cliques, size = integer("cliques", cliques, 2), integer("size", size, 2)
    edges = cliques * (size * (size - 1) // 2 + 1)
    recipe = Recipe(f"cliques:{cliques}x{size}", cliques * size, edges, seed, weights, threads=threads)
    from arcflux.generate.structured_kernels import cliques as kernel

    return recipe.graph((kernel, recipe.vertices, np.uint64(size)))


def lfr(
    vertices: int,
    mu: float = 0.2,
    *,
    degree: tuple[int, int] = (5, 50),
    exponent: float = 2.5,
    community: tuple[int, int] = (20, 100),
    community_exponent: float = 1.5,
    seed: int = 1,
    weights: Interval | None = None,
    threads: int | None = None,
) -> Graph:
    """Communities of skewed sizes whose vertices have skewed degrees, after the LFR benchmark.

    A. Lancichinetti, S. Fortunato, F. Radicchi, "Benchmark graphs for testing community detection algorithms", 2008.
    Degrees and sizes follow power laws. Of each vertex's stubs a part `mu` leads out of its community. Stubs are joined
    at random, loops are dropped and parallel edges merged, so that degrees are those asked for on average only.
    Vertices are numbered community by community; :func:`lfr_communities` has the communities.

    Parameters
    ----------
    vertices
        How many vertices.
    mu
        The part of edges that lead to other communities.
    degree, community
        The smallest and the largest degree, and size of a community.
    exponent, community_exponent
        The exponents of their power laws.
    seed, weights, threads
        As for :func:`~arcflux.generate.kronecker`.

    Examples
    --------
    >>> from arcflux import generate
    >>> g = generate.lfr(300, mu=0.1)
    >>> len(generate.lfr_communities(300, mu=0.1)) == g.vertices
    True
    """
    law = _law(vertices, mu, degree, exponent, community, community_exponent)
    vertices, mu, (low, high), (least, most) = law[0], law[1], law[2], law[4]
    options: dict[str, tuple[Any, Any]] = {
        "mu": (mu, 0.2), "degree": ((low, high), (5, 50)), "exponent": (law[3], 2.5),
        "community": ((least, most), (20, 100)), "sizes": (law[5], 1.5),
    }  # fmt: skip
    recipe = Recipe(
        spell("lfr", f"{vertices}", **options), vertices, vertices * high // 2, seed, weights, simple=True,
        threads=threads,
    )  # fmt: skip
    labels = _communities(vertices, recipe.seed, law[4], law[5], threads)
    degrees = _power_law(vertices, recipe.seed, _DEGREES, law[2], law[3], threads)
    inner, within, outer = _split_stubs(labels, degrees, mu)
    bounds = np.concatenate([[0], np.cumsum(np.bincount(labels))]) if vertices else np.zeros(1, np.int64)
    sums = [np.concatenate([[0], np.cumsum(some)]).astype(np.int64) for some in (inner, outer)]
    edges = int(within[-1]) + (int(sums[1][-1]) // 2 if within.size > 2 else 0)
    exact = Recipe(recipe.spec, vertices, edges, seed, weights, simple=True, threads=threads)
    from arcflux.generate.structured_kernels import stubs

    return exact.graph((stubs, edges, np.uint64(recipe.seed), within, bounds.astype(np.int64), labels, *sums))


def lfr_communities(
    vertices: int,
    mu: float = 0.2,
    *,
    degree: tuple[int, int] = (5, 50),
    exponent: float = 2.5,
    community: tuple[int, int] = (20, 100),
    community_exponent: float = 1.5,
    seed: int = 1,
    threads: int | None = None,
) -> Array:
    """The community of each vertex of :func:`lfr` with the same arguments: int64[vertices].

    Examples
    --------
    >>> from arcflux import generate
    >>> generate.lfr_communities(300, community=(100, 100)).tolist()[99:101]
    [0, 1]
    """
    law = _law(vertices, mu, degree, exponent, community, community_exponent)
    return _communities(law[0], integer("seed", seed, high=(1 << 64) - 1), law[4], law[5], threads)


# Streams of the seed, which structured_kernels.py counts on from 20.
_DEGREES, _SIZES = 40, 41


def _law(
    vertices: Any, mu: Any, degree: Any, exponent: Any, community: Any, community_exponent: Any
) -> tuple[int, float, tuple[int, int], float, tuple[int, int], float]:  # fmt: skip
    return (
        integer("vertices", vertices), number("mu", mu),
        _bounds("degree", degree), number("exponent", exponent, 0, 100),
        _bounds("community", community), number("community_exponent", community_exponent, 0, 100),
    )  # fmt: skip


def _bounds(name: str, given: Any) -> tuple[int, int]:
    try:
        low, high = given
    except (TypeError, ValueError):
        raise UsageError(f"{name} is {given!r}", expected="the smallest and the largest, such as (5, 50)") from None
    low = integer(name, int(low) if isinstance(low, float) and low.is_integer() else low, 1, 1 << 31)
    high = integer(name, int(high) if isinstance(high, float) and high.is_integer() else high, 1, 1 << 31)
    if low > high:
        raise UsageError(f"{name} is {given!r}", expected="the smallest, then the largest")
    return low, high


def _power_law(size: int, seed: int, stream: int, bounds: tuple[int, int], exponent: float, threads: Any) -> Array:
    from arcflux.generate.structured_kernels import draw_power_law

    drawn = empty(size, np.int64)
    shape = float(bounds[0]), float(bounds[1]), exponent
    run(draw_power_law, -(-size // 4096), np.uint64(seed), np.uint64(stream), *shape, drawn, threads=threads)
    return drawn


def _communities(vertices: int, seed: int, bounds: tuple[int, int], exponent: float, threads: Any) -> Array:
    """Sizes by their law until all vertices have a community; what is left over joins the last one."""
    afford(16 * vertices, f"communities of {vertices:,} vertices")
    most = vertices // bounds[0] + 1
    ends = np.cumsum(_power_law(most, seed, _SIZES, bounds, exponent, threads))
    ends = ends[ends <= vertices]
    if not len(ends):
        return np.zeros(vertices, np.int64)
    ends[-1] = vertices
    return np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))


def _split_stubs(labels: Array, degrees: Array, mu: float) -> tuple[Array, Array, Array]:
    """Stubs within communities, where the edges of each community end, and stubs that lead out.

    Within, a vertex has at most as many as there are others.
    """
    sizes = np.bincount(labels) if len(labels) else np.zeros(0, np.int64)
    inner = np.minimum(np.rint(degrees * (1.0 - mu)).astype(np.int64), sizes[labels] - 1 if len(labels) else 0)
    outer = np.rint(degrees * mu).astype(np.int64)
    stubs = np.bincount(labels, inner, len(sizes)).astype(np.int64)
    return inner, np.concatenate([[0], np.cumsum(stubs // 2)]).astype(np.int64), outer

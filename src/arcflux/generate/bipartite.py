"""Ratings: users, items and stars, by hidden factors that can be learned."""

from __future__ import annotations

import numpy as np

from arcflux.errors import UsageError
from arcflux.generate.arguments import integer, number, spell
from arcflux.generate.recipe import Recipe, with_weight
from arcflux.graph.core import Graph

__all__ = ["ratings"]

# Ratings that a float32 can hold, with room for sums.
_FAR = 1e30


def ratings(
    users: int,
    items: int,
    per_user: int = 20,
    *,
    ratings: int | None = None,
    low: float = 1.0,
    high: float = 5.0,
    rank: int = 8,
    noise: float = 0.25,
    seed: int = 1,
    threads: int | None = None,
) -> Graph:
    """A bipartite graph of ratings for recommendation, whose column ``weight`` (float32) a factorisation can learn.

    Vertices 0 .. users-1 are the users, users .. users+items-1 the items. Every vertex has a hidden taste: `rank`
    nearly normal numbers. A rating is the middle of `low` and `high`, plus a quarter of their distance times
    ``dot(taste of user, taste of item) / sqrt(rank)``, plus normal noise, cut off at `low` and `high`. So the matrix of
    ratings has rank ``rank + 1`` but for noise and cut, and no model can have a lower error than about `noise`.

    Items are unequally popular: the i-th most popular one is drawn in proportion to ``i ** (-2/3)``. Undirected; an
    item that the same user drew twice is rated once, and `Graph.changes` counts what was merged.

    Parameters
    ----------
    users, items
        How many of each.
    per_user
        Ratings drawn for each user; or give `ratings`.
    ratings
        Ratings drawn in all, dealt to the users in turn.
    low, high
        The worst and the best rating.
    rank
        How many hidden numbers make a taste.
    noise
        The standard deviation of the noise.
    seed, threads
        As for :func:`~arcflux.generate.kronecker`.

    Examples
    --------
    >>> from arcflux import generate
    >>> g = generate.ratings(100, 40, per_user=5)
    >>> g.vertices, g.changes.edges_given
    (140, 500)
    >>> int(g.neighbours(0).min()) >= 100, 1 <= g.columns["weight"].min() <= g.columns["weight"].max() <= 5
    (True, np.True_)
    """
    users, items, rank = integer("users", users), integer("items", items), integer("rank", rank, 1, 1 << 16)
    wanted = users * integer("per_user", per_user) if ratings is None else integer("ratings", ratings)
    low, high = number("low", low, -_FAR, _FAR), number("high", high, -_FAR, _FAR)
    noise = number("noise", noise, 0.0, _FAR)
    _check(users, items, wanted, low, high)
    spec = spell(
        "ratings", f"{users}x{items}", per=(per_user, 20), ratings=(ratings, None), low=(low, 1.0), high=(high, 5.0),
        rank=(rank, 8), noise=(noise, 0.25),
    )  # fmt: skip
    recipe = Recipe(spec, users + items, wanted, seed, simple=True, threads=threads, column=4)
    from arcflux.generate.kernels import bipartite, rate

    key, width = np.uint64(recipe.seed), np.uint64(max(0, items - 1).bit_length())
    graph = recipe.graph((bipartite, wanted, key, np.uint64(users), np.uint64(items), width))
    return with_weight(graph, rate, np.float32, key, np.uint64(rank), low, high, noise, threads=threads)


def _check(users: int, items: int, wanted: int, low: float, high: float) -> None:
    if wanted and not (users and items):
        raise UsageError(
            f"{wanted:,} ratings of {items:,} items by {users:,} users", expected="at least one user and one item"
        )
    if low > high:
        raise UsageError(f"low is {low:g} and high is {high:g}", expected="the worst rating, then the best one")

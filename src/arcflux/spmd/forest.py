"""Union-find on cores: every vertex points to one of a smaller number or to itself, and a root is the smallest."""

from __future__ import annotations

from typing import Any

from arcflux.spmd.jit import inner
from arcflux.spmd.machine import compare_and_swap

__all__ = ["compress", "link"]


@inner
def link(above: Any, u: Any, v: Any) -> None:
    """Join the trees of u and v."""
    one, other = above[u], above[v]
    while one != other:
        high, low = max(one, other), min(one, other)
        found = above[high]
        if found == low or (found == high and compare_and_swap(above, high, high, low) == high):
            break
        one, other = above[above[high]], above[low]


@inner
def compress(above: Any, begin: Any, end: Any) -> None:
    """Point vertices straight to their roots."""
    for v in range(begin, end):
        root = above[v]
        while above[root] != root:
            root = above[root]
        if above[v] != root:
            above[v] = root

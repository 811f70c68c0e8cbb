"""Union-find on cores: every vertex points to a smaller number or to itself, and a root is the smallest of its tree."""

from __future__ import annotations

from typing import Any

from arcflux.spmd.jit import inner
from arcflux.spmd.machine import compare_and_swap

__all__ = ["compress", "link"]


@inner
def link(above: Any, u: Any, v: Any) -> None:
    """Join the trees of u and v."""
    low_side, high_side = above[u], above[v]
    while low_side != high_side:
        high, low = max(low_side, high_side), min(low_side, high_side)
        parent = above[high]
        if parent == low or (parent == high and compare_and_swap(above, high, high, low) == high):
            break
        low_side, high_side = above[above[high]], above[low]


@inner
def compress(above: Any, begin: Any, end: Any) -> None:
    """Point vertices straight to their roots."""
    for v in range(begin, end):
        root = above[v]
        while above[root] != root:
            root = above[root]
        if above[v] != root:
            above[v] = root

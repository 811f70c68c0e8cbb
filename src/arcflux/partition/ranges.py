"""Contiguous vertices with all their in-arcs, about as many arcs in each part, from the offsets alone (Lux, 4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.errors import UsageError
from arcflux.graph.core import Graph
from arcflux.partition.parts import Parts

__all__ = ["bounds", "split"]


def split(graph: Graph, k: int, *, shares: Sequence[float] | None = None) -> Parts:
    """Cut the vertices where the arcs before them are nearest to an equal share, or to `shares` of unequal workers."""
    return Parts(graph, k, "ranges", bounds=bounds(graph.into.offsets, k, shares))


def bounds(offsets: NDArray[np.uint64], k: int, shares: Sequence[float] | None = None) -> NDArray[np.int64]:
    """Vertices that cut rows into `k` ranges of about as many arcs: int64[k + 1], from 0 to all.

    `shares` says how many of the arcs each range should have, such as the speeds of the devices.

    Examples
    --------
    >>> bounds(np.array([0, 9, 10, 11, 12], np.uint64), 2).tolist()
    [0, 1, 4]
    >>> bounds(np.arange(13, dtype=np.uint64), 3, [3, 2, 1]).tolist()
    [0, 6, 10, 12]
    """
    vertices, arcs = len(offsets) - 1, int(offsets[-1])
    upto = [(i, k) for i in range(1, k)] if shares is None else _upto(shares, k)
    if not arcs:
        return np.array([0, *(int(i * vertices // whole) for i, whole in upto), vertices], np.int64)
    marks = np.array([int(i * arcs // whole) for i, whole in upto], np.uint64)
    after = np.searchsorted(offsets, marks)
    before = np.maximum(after, 1) - 1
    nearer = marks - offsets[before] < offsets[after] - marks
    return np.concatenate([[0], np.where(nearer & (after > 0), before, after), [vertices]]).astype(np.int64)


def _upto(shares: Sequence[float], k: int) -> list[tuple[Fraction, Fraction]]:
    """The sum of the shares up to the end of each range but the last, and of all; exact, whatever they sum to."""
    try:
        exact = [Fraction(share) for share in shares]
    except (TypeError, ValueError, OverflowError):
        exact = []
    if len(exact) != k or not all(share > 0 for share in exact):
        raise UsageError(f"shares is {shares!r}", expected=f"a number above 0 for each of the {k} parts: [2, 1, 1]")
    *upto, whole = accumulate(exact)
    return [(part, whole) for part in upto]


def equal(vertices: int, k: int) -> NDArray[Any]:
    """Bounds of `k` ranges of as many vertices each."""
    return np.array([i * vertices // k for i in range(k + 1)], np.int64)

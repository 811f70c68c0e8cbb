"""Queries of rows of edges, on cores and on GPUs alike: how many vertices two rows share, and the median of a row.

Written once, and compiled for each target by the given decorator.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

__all__ = ["define"]

# If the longer row has at least so many times the length of the shorter one, it is searched instead of merged.
_SHORTER = 16


def define(inner: Callable[..., Any]) -> SimpleNamespace:
    """The functions, compiled by `inner`."""

    @inner
    def selected(values: Any, count: Any, place: Any) -> Any:
        """The value at a position if the first `count` were sorted; reorders them. None is NaN."""
        low, high = np.int64(0), np.int64(count) - 1
        while low < high:
            pivot = values[(low + high) >> 1]
            i, j = low, high
            while i <= j:
                while values[i] < pivot:
                    i += 1
                while pivot < values[j]:
                    j -= 1
                if i <= j:
                    values[i], values[j] = values[j], values[i]
                    i += 1
                    j -= 1
            if place <= j:
                high = j
            elif place >= i:
                low = i
            else:
                break
        return values[place]

    @inner
    def middle(values: Any, count: Any) -> Any:
        """The median of the first `count` values, which it reorders; NaN if one of them is."""
        for k in range(count):
            if values[k] != values[k]:
                return values[k] + np.float32(0)
        half = np.int64(count) >> 1
        high = selected(values, count, half) + np.float32(0)
        if count & np.uint64(1):
            return high
        low = values[0] + np.float32(0)
        for k in range(1, half):
            low = max(low, values[k] + np.float32(0))
        return (low + high) / np.float32(2)

    @inner
    def common(offsets: Any, neighbours: Any, a: Any, b: Any) -> Any:
        """How many vertices are in the sorted rows of both a and b; duplicates count once."""
        one = np.uint64(1)
        i, i_end, j, j_end = offsets[a], offsets[a + one], offsets[b], offsets[b + one]
        if i_end - i > j_end - j:
            i, i_end, j, j_end = j, j_end, i, i_end
        found = np.int64(0)
        if np.uint64(_SHORTER) * (i_end - i) < j_end - j:
            while i < i_end:
                w = neighbours[i]
                low, high = j, j_end
                while low < high:
                    half = (low + high) >> one
                    if neighbours[half] < w:
                        low = half + one
                    else:
                        high = half
                j = low
                if j == j_end:
                    break
                found += np.int64(neighbours[j] == w)
                while i < i_end and neighbours[i] == w:
                    i += one
            return found
        while i < i_end and j < j_end:
            x, y = neighbours[i], neighbours[j]
            if x == y:
                found += np.int64(1)
                while i < i_end and neighbours[i] == x:
                    i += one
                while j < j_end and neighbours[j] == x:
                    j += one
            elif x < y:
                i += one
            else:
                j += one
        return found

    @inner
    def shares(offsets: Any, neighbours: Any, row: Any, first: Any, i: Any, a: Any) -> Any:
        """Whether ``row[i]``, of a row that begins at `first`, is in the row of a; duplicates count once."""
        one, w = np.uint64(1), row[i]
        if i > first and row[i - one] == w:
            return False
        low, high = np.uint64(offsets[a]), np.uint64(offsets[a + one])
        end = high
        while low < high:
            half = (low + high) >> one
            if neighbours[half] < w:
                low = half + one
            else:
                high = half
        return low < end and neighbours[low] == w

    return SimpleNamespace(common=common, middle=middle, shares=shares)

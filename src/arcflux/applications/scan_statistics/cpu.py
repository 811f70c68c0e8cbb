"""Scan statistics on cores: distinct neighbours, wedges of own rows, and whether they are closed.

A wedge <u, w, v> belongs to its corner v of the lowest degree, of equals of the lowest number: so a triangle is one
closed wedge. The HIVE study's text, which only compares degrees, counts a triangle of equal degrees six times.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import fetch_add, take
from arcflux.spmd.search import lower_bound

__all__ = ["check_wedges", "count_neighbours", "count_wedges", "list_wedges"]

_ONE = np.uint64(1)


@inner
def _counts(neighbours: Any, begin: Any, i: Any, v: Any) -> Any:
    """Whether an arc of a sorted row is the first to its neighbour, and no loop."""
    return np.uint64(neighbours[i]) != v and (i == begin or neighbours[i] != neighbours[i - _ONE])


@inner
def _above(degrees: Any, u: Any, v: Any) -> Any:
    """Whether u comes after v, by degree and then by number."""
    return degrees[u] > degrees[v] or (degrees[u] == degrees[v] and u > v)


@kernel
def count_neighbours(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, first: Any, last: Any, degrees: Any
) -> None:
    """degrees[v - first]: how many other vertices each one is joined to."""
    while True:
        begin, end = take(control, last - first, np.uint64(256))
        if begin == end:
            break
        for v in range(first + begin, first + end):
            count = 0
            for i in range(offsets[v], offsets[v + _ONE]):
                count += _counts(neighbours, offsets[v], i, v)
            degrees[v - first] = count


@kernel
def count_wedges(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, degrees: Any, first: Any, last: Any,
    counts: Any,
) -> None:  # fmt: skip
    """counts[v - first]: how many wedges belong to each vertex."""
    while True:
        begin, end = take(control, last - first, np.uint64(256))
        if begin == end:
            break
        for v in range(first + begin, first + end):
            high = 0
            for i in range(offsets[v], offsets[v + _ONE]):
                if _counts(neighbours, offsets[v], i, v) and _above(degrees, np.uint64(neighbours[i]), v):
                    high += 1
            counts[v - first] = high * (high - 1) // 2


@kernel
def list_wedges(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, degrees: Any, first: Any, last: Any,
    places: Any, wedges: Any,
) -> None:  # fmt: skip
    """wedges[k] = u, w, v, of which u comes before w: those of vertices `first` to before `last`, from places[v]."""
    while True:
        begin, end = take(control, last - first, np.uint64(16))
        if begin == end:
            break
        for v in range(first + begin, first + end):
            place, row, stop = places[v - first], offsets[v], offsets[v + _ONE]
            for i in range(row, stop):
                u = np.uint64(neighbours[i])
                if not (_counts(neighbours, row, i, v) and _above(degrees, u, v)):
                    continue
                for j in range(i + _ONE, stop):
                    w = np.uint64(neighbours[j])
                    if _counts(neighbours, row, j, v) and _above(degrees, w, v):
                        lower = _above(degrees, w, u)
                        wedges[place, 0] = u if lower else w
                        wedges[place, 1] = w if lower else u
                        wedges[place, 2] = v
                        place += 1


@kernel
def check_wedges(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, wedges: Any, found: Any
) -> None:
    """Add 1 to found[] of all corners of every wedge whose ends are joined; ends are looked up in the row of u."""
    while True:
        begin, end = take(control, np.uint64(wedges.shape[0]), np.uint64(1024))
        if begin == end:
            break
        for k in range(begin, end):
            u, w = np.uint64(wedges[k, 0]), np.uint64(wedges[k, 1])
            row_end = offsets[u + _ONE]
            place = lower_bound(neighbours, offsets[u], row_end, w)
            if place < row_end and np.uint64(neighbours[place]) == w:
                for c in range(3):
                    fetch_add(found, np.uint64(wedges[k, c]), 1)

"""What GraphSAGE does besides products of matrices on cores: samples, means of rows, and rows of length 1.

A sample is a function of seed, layer and what it is of, so that it is the same on any number of workers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import prefetch_to_read, take
from arcflux.spmd.random import key, uniform

__all__ = ["finish_rows", "mean_of_neighbours", "mean_rows", "sample"]

_ONE = np.uint64(1)


@kernel
def sample(
    worker: Any, workers: Any, control: Any, vertices: Any, names: Any, offsets: Any, neighbours: Any, seed: Any,
    layer: Any, found: Any,
) -> None:  # fmt: skip
    """found[i]: neighbours of vertices[i], drawn with replacement by names[i]; a vertex without any draws itself."""
    while True:
        begin, end = take(control, np.uint64(vertices.size), np.uint64(256))
        if begin == end:
            break
        for i in range(begin, end):
            v, stream = np.uint64(vertices[i]), key(seed, layer ^ (np.uint64(names[i]) << _ONE))
            first = offsets[v]
            degree = offsets[v + _ONE] - first
            for k in range(found.shape[1]):
                if degree == 0:
                    found[i, k] = v
                else:
                    found[i, k] = neighbours[first + np.uint64(uniform(stream, np.uint64(k)) * np.float64(degree))]


@inner
def _add(out: Any, i: Any, rows: Any, r: Any, width: Any) -> None:
    for c in range(width):
        out[i, c] += rows[r, c]


@kernel
def mean_rows(worker: Any, workers: Any, control: Any, chosen: Any, rows: Any, out: Any) -> None:
    """out[i]: the mean of rows[chosen[i]]."""
    width, count = out.shape[1], chosen.shape[1]
    while True:
        begin, end = take(control, np.uint64(out.shape[0]), np.uint64(64))
        if begin == end:
            break
        for i in range(begin, end):
            for c in range(width):
                out[i, c] = 0
            for k in range(count):
                if i + _ONE < end:
                    prefetch_to_read(rows.reshape(-1), np.uint64(chosen[i + _ONE, k]) * np.uint64(width))
                _add(out, i, rows, chosen[i, k], width)
            for c in range(width):
                out[i, c] /= np.float32(count)


@kernel
def mean_of_neighbours(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, first: Any, rows: Any, out: Any
) -> None:
    """out[i]: the mean of the rows of all neighbours of vertex first + i; of itself where there are none."""
    width = out.shape[1]
    while True:
        begin, end = take(control, np.uint64(out.shape[0]), np.uint64(64))
        if begin == end:
            break
        for i in range(begin, end):
            v = first + i
            low, high = offsets[v], offsets[v + _ONE]
            for c in range(width):
                out[i, c] = rows[v, c] if low == high else 0
            for k in range(low, high):
                _add(out, i, rows, neighbours[k], width)
            if high > low:
                for c in range(width):
                    out[i, c] /= np.float32(high - low)


@kernel
def finish_rows(worker: Any, workers: Any, control: Any, rows: Any, positive: Any, unit: Any) -> None:
    """Set what is negative to 0 (`positive`), and divide each row by its length (`unit`); one of zeros stays."""
    width = rows.shape[1]
    while True:
        begin, end = take(control, np.uint64(rows.shape[0]), np.uint64(256))
        if begin == end:
            break
        for i in range(begin, end):
            square = 0.0
            for c in range(width):
                if positive and rows[i, c] < 0:
                    rows[i, c] = 0
                square += np.float64(rows[i, c]) * rows[i, c]
            if unit and square > 0.0:
                scale = np.float32(1.0 / np.sqrt(square))
                for c in range(width):
                    rows[i, c] *= scale

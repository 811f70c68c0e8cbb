"""GraphSAGE on cores, besides matrix products: samples, means of rows, and normalised rows.

A sample is a function of seed, layer and its vertex, so that it is the same on any number of workers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import added, prefetch_to_read, take
from arcflux.spmd.random import key, uniform

__all__ = ["combine_rows", "mean_of_children", "mean_of_neighbours", "mean_rows", "sample"]

_ONE = np.uint64(1)
# Between these limits a sum of squares is accurate as float32; rows with a square below _NOTHING are zeros.
_LIGHT, _HEAVY, _NOTHING = np.float32(1e-30), np.float32(1e38), 1e-75


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


@inner
def _combine(
    mine: Any, m: Any, theirs: Any, t: Any, width: Any, bias: Any, add: Any, floor: Any, out: Any, o: Any
) -> Any:  # fmt: skip
    """out[o]: both halves of a layer, side by side or added, with its bias, nothing below the floor; its square."""
    half, square = mine.shape[1], np.float32(0)
    for c in range(half):
        value = mine[m, c] + theirs[t, c] if add else mine[m, c]
        value = max(value if bias is None else value + bias[c], floor)
        out[o, c] = value
        square = added(square, value * value)
    if not add:
        for c in range(width):
            value = theirs[t, c]
            value = max(value if bias is None else value + bias[half + c], floor)
            out[o, half + c] = value
            square = added(square, value * value)
    return square


@inner
def _scale(square: Any, unit: Any, rows: Any, r: Any, width: Any) -> Any:
    """The factor for rows[r], which has this square; a row of zeros stays."""
    if not unit:
        return np.float32(1)
    exact: Any = np.float64(square)
    if not _LIGHT < square < _HEAVY:  # squares of float32 that underflow or overflow
        exact = 0.0
        for c in range(width):
            exact += np.float64(rows[r, c]) * np.float64(rows[r, c])
    return np.float32(1.0 / np.sqrt(exact)) if exact > _NOTHING else np.float32(1)


@kernel
def combine_rows(
    worker: Any, workers: Any, control: Any, mine: Any, chosen: Any, theirs: Any, bias: Any, add: Any, floor: Any,
    unit: Any, out: Any,
) -> None:  # fmt: skip
    """out[i]: a layer of mine[chosen[i]] and theirs[i]; of length 1 with `unit`. floor: 0, or -inf for no relu."""
    while True:
        begin, end = take(control, np.uint64(out.shape[0]), np.uint64(256))
        if begin == end:
            break
        for i in range(begin, end):
            square = _combine(mine, chosen[i], theirs, i, theirs.shape[1], bias, add, floor, out, i)
            scale = _scale(square, unit, out, i, out.shape[1])
            for c in range(out.shape[1]):
                out[i, c] *= scale


@kernel
def mean_of_children(
    worker: Any, workers: Any, control: Any, children: Any, leaves: Any, mine: Any, theirs: Any, bias: Any, add: Any,
    floor: Any, unit: Any, scratch: Any, out: Any,
) -> None:  # fmt: skip
    """out[i]: the mean of the first layer of children[i], of which leaves[i, k] are the leaves of the k-th.

    scratch: float32[workers, 2, widths at most] has a child's mean and its layer: no row of a child is stored.
    """
    row = scratch[worker]
    width, count, drawn = theirs.shape[1], children.shape[1], leaves.shape[2]
    share, part = np.float32(1) / np.float32(drawn), np.float32(1) / np.float32(count)
    flat = theirs.reshape(-1)
    while True:
        begin, end = take(control, np.uint64(out.shape[0]), np.uint64(16))
        if begin == end:
            break
        for i in range(begin, end):
            for c in range(out.shape[1]):
                out[i, c] = 0
            for k in range(count):
                ahead = i if k + 1 < count else min(i + _ONE, end - _ONE)
                for j in range(drawn):
                    prefetch_to_read(flat, np.uint64(leaves[ahead, (k + 1) % count, j]) * np.uint64(width))
                for c in range(width):
                    row[0, c] = 0
                for j in range(drawn):
                    _add(row, 0, theirs, leaves[i, k, j], width)
                for c in range(width):
                    row[0, c] *= share
                square = _combine(mine, children[i, k], row, 0, width, bias, add, floor, row, 1)
                scale = part * _scale(square, unit, row, 1, out.shape[1])
                for c in range(out.shape[1]):
                    out[i, c] += row[1, c] * scale

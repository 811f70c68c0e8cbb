"""Spatial medians on cores: the point on a sphere whose distances to the located neighbours add up to the least.

Places are unit vectors. A median is either one of the points, which a test of theirs tells (Vardi, Zhang, "The
multivariate L1-median and associated data depth", 2000): there the other points pull with a force of at most 1. Or it
is where the gradient, the sum of unit tangents, is zero: Newton's method in the tangent plane finds it in some steps,
with a step of Weiszfeld's where Newton's does not make the sum smaller.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import take

__all__ = ["locate", "spatial_median"]

_ONE = np.uint64(1)
# Angles below are no distance at all, and steps below end the search.
_SAME = 1e-14
_STILL = 1e-13
# After a step of Newton's that is so short, by the mean distance, the error is its square.
_LAST = 1e-7


@inner
def _angle(ax: Any, ay: Any, az: Any, bx: Any, by: Any, bz: Any) -> Any:
    """The angle between unit vectors, exact for small ones, too."""
    cx, cy, cz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    return math.atan2(math.sqrt(cx * cx + cy * cy + cz * cz), ax * bx + ay * by + az * bz)


@inner
def _total(points: Any, count: Any, x: Any, y: Any, z: Any) -> Any:
    total = 0.0
    for k in range(count):
        total += _angle(x, y, z, points[k, 0], points[k, 1], points[k, 2])
    return total


@inner
def _pull(points: Any, count: Any, x: Any, y: Any, z: Any) -> Any:
    """The sum of unit tangents towards the points elsewhere, how many are here, and the Hessian in that plane.

    The Hessian of an angle is cot(angle) (I - u u^T), u being the tangent; here as six numbers.
    """
    gx, gy, gz, here = 0.0, 0.0, 0.0, 0
    hxx, hxy, hxz, hyy, hyz, hzz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(count):
        px, py, pz = points[k, 0], points[k, 1], points[k, 2]
        dot = px * x + py * y + pz * z
        tx, ty, tz = px - dot * x, py - dot * y, pz - dot * z
        sine = math.sqrt(tx * tx + ty * ty + tz * tz)
        if sine < _SAME:
            here += 1 if dot > 0.0 else 0
            continue
        tx, ty, tz = tx / sine, ty / sine, tz / sine
        gx, gy, gz = gx + tx, gy + ty, gz + tz
        bend = dot / sine
        hxx += bend * (1.0 - x * x - tx * tx)
        hyy += bend * (1.0 - y * y - ty * ty)
        hzz += bend * (1.0 - z * z - tz * tz)
        hxy += bend * (-x * y - tx * ty)
        hxz += bend * (-x * z - tx * tz)
        hyz += bend * (-y * z - ty * tz)
    return gx, gy, gz, here, hxx, hxy, hxz, hyy, hyz, hzz


@inner
def _moved(x: Any, y: Any, z: Any, dx: Any, dy: Any, dz: Any) -> Any:
    """Along a great circle from a place in a tangent direction, as far as it is long."""
    length = math.sqrt(dx * dx + dy * dy + dz * dz)
    if length == 0.0:
        return x, y, z
    c, s = math.cos(length), math.sin(length) / length
    nx, ny, nz = c * x + s * dx, c * y + s * dy, c * z + s * dz
    norm = math.sqrt(nx * nx + ny * ny + nz * nz)
    return nx / norm, ny / norm, nz / norm


@inner
def _newton(x: Any, y: Any, z: Any, pulled: Any) -> Any:
    """The step by which the gradient vanishes, in two coordinates of the tangent plane; 0 where that is no descent."""
    gx, gy, gz, _, hxx, hxy, hxz, hyy, hyz, hzz = pulled
    if abs(x) < 0.9:
        ax, ay, az = 0.0, z, -y
    else:
        ax, ay, az = -z, 0.0, x
    norm = math.sqrt(ax * ax + ay * ay + az * az)
    ax, ay, az = ax / norm, ay / norm, az / norm
    bx, by, bz = y * az - z * ay, z * ax - x * az, x * ay - y * ax
    hax, hay, haz = hxx * ax + hxy * ay + hxz * az, hxy * ax + hyy * ay + hyz * az, hxz * ax + hyz * ay + hzz * az
    hbx, hby, hbz = hxx * bx + hxy * by + hxz * bz, hxy * bx + hyy * by + hyz * bz, hxz * bx + hyz * by + hzz * bz
    aa, ab, bb = ax * hax + ay * hay + az * haz, ax * hbx + ay * hby + az * hbz, bx * hbx + by * hby + bz * hbz
    ga, gb = gx * ax + gy * ay + gz * az, gx * bx + gy * by + gz * bz
    determinant = aa * bb - ab * ab
    if not (determinant > 0.0 and aa + bb > 0.0):
        return 0.0, 0.0, 0.0
    sa, sb = (bb * ga - ab * gb) / determinant, (aa * gb - ab * ga) / determinant
    return sa * ax + sb * bx, sa * ay + sb * by, sa * az + sb * bz


@inner
def _median(points: Any, count: Any, limit: Any) -> Any:
    """The spatial median of the first `count` points."""
    x, y, z, least = _start(points, count)
    last, wide = np.inf, least / count
    for _ in range(limit):
        pulled = _pull(points, count, x, y, z)
        gx, gy, gz, here = pulled[0], pulled[1], pulled[2], pulled[3]
        force = math.sqrt(gx * gx + gy * gy + gz * gz)
        if force <= here + 1e-12:
            break
        dx, dy, dz = 0.0, 0.0, 0.0
        if here == 0:
            dx, dy, dz = _newton(x, y, z, pulled)
        length = math.sqrt(dx * dx + dy * dy + dz * dz)
        nx, ny, nz = _moved(x, y, z, dx, dy, dz)
        close = 0.0 < length < 1e-3 * wide  # sums differ by rounding alone: Newton's steps are short, and get shorter
        if close and length >= last:
            break
        last = length if close else np.inf
        total = least if close else _total(points, count, nx, ny, nz)
        if not close and (length == 0.0 or length > 1.0 or not total < least):
            # Weiszfeld's step, less what holds a point.
            scale = (force - here) / (force * _closeness(points, count, x, y, z))
            total, tries = np.inf, 0
            while not total < least and tries < 40:
                nx, ny, nz = _moved(x, y, z, scale * gx, scale * gy, scale * gz)
                total = _total(points, count, nx, ny, nz)
                length, scale, tries = scale * force, scale / 2.0, tries + 1
            if not total < least:
                break
        x, y, z, least = nx, ny, nz, total
        if length < (_LAST * wide if close else _STILL):
            break
    k = _nearest(points, count, x, y, z)
    pulled = _pull(points, count, points[k, 0], points[k, 1], points[k, 2])
    if math.sqrt(pulled[0] ** 2 + pulled[1] ** 2 + pulled[2] ** 2) <= pulled[3] + 1e-12:
        return points[k, 0], points[k, 1], points[k, 2]
    return x, y, z


@inner
def _nearest(points: Any, count: Any, x: Any, y: Any, z: Any) -> Any:
    """Which of the points is nearest to a vector, the first of equals."""
    best, most = 0, -np.inf
    for k in range(count):
        dot = points[k, 0] * x + points[k, 1] * y + points[k, 2] * z
        if dot > most:
            best, most = k, dot
    return best


@inner
def _start(points: Any, count: Any) -> Any:
    """The point that is nearest to the mean of all, and its sum of distances."""
    sx, sy, sz = 0.0, 0.0, 0.0
    for k in range(count):
        sx, sy, sz = sx + points[k, 0], sy + points[k, 1], sz + points[k, 2]
    best = _nearest(points, count, sx, sy, sz)
    x, y, z = points[best, 0], points[best, 1], points[best, 2]
    return x, y, z, _total(points, count, x, y, z)


@inner
def _closeness(points: Any, count: Any, x: Any, y: Any, z: Any) -> Any:
    """The sum of 1 / distance, of points that are elsewhere."""
    total = 0.0
    for k in range(count):
        angle = _angle(x, y, z, points[k, 0], points[k, 1], points[k, 2])
        total += 1.0 / angle if angle > _SAME else 0.0
    return total


@inner
def _midpoint(points: Any) -> Any:
    """The middle of the great circle between two points; the first of opposite ones."""
    x, y, z = points[0, 0] + points[1, 0], points[0, 1] + points[1, 1], points[0, 2] + points[1, 2]
    norm = math.sqrt(x * x + y * y + z * z)
    if norm < _SAME:
        return points[0, 0], points[0, 1], points[0, 2]
    return x / norm, y / norm, z / norm


@inner
def _place(points: Any, count: Any, limit: Any) -> Any:
    if count == 1:
        return points[0, 0], points[0, 1], points[0, 2]
    if count == 2:
        return _midpoint(points)
    return _median(points, count, limit)


@kernel
def spatial_median(worker: Any, workers: Any, control: Any, points: Any, limit: Any, found: Any) -> None:
    """found: the place for these points."""
    if worker == 0:
        found[0], found[1], found[2] = _place(points, np.int64(points.shape[0]), limit)


@kernel
def locate(
    worker: Any, workers: Any, control: Any, chosen: Any, offsets: Any, neighbours: Any, located: Any, places: Any,
    limit: Any, scratch: Any, found: Any,
) -> None:  # fmt: skip
    """found[i]: the place of vertex chosen[i], by those of its neighbours that are located."""
    points = scratch[worker]
    while True:
        begin, end = take(control, np.uint64(chosen.size), np.uint64(16))
        if begin == end:
            break
        for i in range(begin, end):
            v, count = np.uint64(chosen[i]), 0
            for k in range(offsets[v], offsets[v + _ONE]):
                u = np.uint64(neighbours[k])
                if located[u] and u != v:
                    for c in range(3):
                        points[count, c] = places[u, c]
                    count += 1
            found[i, 0], found[i, 1], found[i, 2] = _place(points, count, limit)

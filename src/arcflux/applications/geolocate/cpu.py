"""Spatial medians on cores: the point on a sphere with the least sum of distances to the located neighbours.

Places are unit vectors. A median is either one of the points, for which there is a test (Vardi, Zhang, "The
multivariate L1-median and associated data depth", 2000): there the other points pull with a force of at most 1. Or it
is where the gradient, the sum of unit tangents, is zero: Newton's method in the tangent plane finds it in a few steps,
with a Weiszfeld step if Newton's, halved a few times, does not decrease the sum.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import added, lesser, take

__all__ = ["locate", "mark_neighbours", "spatial_median"]

_ONE = np.uint64(1)
# Smaller sines are no distance at all, and smaller steps end the search.
_SAME = 1e-14
_STILL = 1e-13
# By the distance of the nearest point: Newton steps so short, and decreasing, converge, since the gradient is smooth
# there; longer ones may lead to a median at this point; after the last step the error is its square.
_CLOSE = 0.1
_LONG = 0.5
_LAST = 1e-6
_QUARTER = math.pi / 4
# The longest step, and how often a step is halved that does not decrease the sum.
_STRIDE = 0.5
_HALVED = 2


@inner
def _arc_tangent(t: Any) -> Any:
    """The arc tangent of a number from 0 to 1, to the last bit but one, without branches: loops vectorise (Cephes)."""
    far = t > 0.66
    r = (t - 1.0) / (t + 1.0) if far else t
    s = r * r
    p = (((-8.750608600031904122785e-1 * s - 1.615753718733365076637e1) * s - 7.500855792314704667340e1) * s
         - 1.228866684490136173410e2) * s - 6.485021904942025371773e1  # fmt: skip
    q = ((((s + 2.485846490142306297962e1) * s + 1.650270098316988542046e2) * s + 4.328810604912902668951e2) * s
         + 4.853903996359136964868e2) * s + 1.945506571482613964425e2  # fmt: skip
    return r * (s * p / q) + r + (_QUARTER if far else 0.0)


@inner
def _total(points: Any, count: Any, x: Any, y: Any, z: Any) -> Any:
    """The sum of distances: an angle is twice that whose tangent is |p - x| / |p + x|."""
    total = 0.0
    for k in range(count):
        px, py, pz = points[0, k], points[1, k], points[2, k]
        dx, dy, dz = px - x, py - y, pz - z
        sx, sy, sz = px + x, py + y, pz + z
        near, far = math.sqrt(dx * dx + dy * dy + dz * dz), math.sqrt(sx * sx + sy * sy + sz * sz)
        beyond = near > far
        half = _arc_tangent(far / near if beyond else near / far)
        total = added(total, 2.0 * _QUARTER - half if beyond else half)
    return 2.0 * total


@inner
def _frame(x: Any, y: Any, z: Any) -> Any:
    """Two unit vectors that span the tangent plane."""
    ax, ay, az = (0.0, z, -y) if abs(x) < 0.9 else (-z, 0.0, x)
    norm = math.sqrt(ax * ax + ay * ay + az * az)
    ax, ay, az = ax / norm, ay / norm, az / norm
    return ax, ay, az, y * az - z * ay, z * ax - x * az, x * ay - y * ax


@inner
def _pull(points: Any, count: Any, x: Any, y: Any, z: Any, frame: Any) -> Any:
    """The sum of unit tangents to points elsewhere, how many points are here, and the Hessian: in the tangent plane.

    And the square of the least sine of a distance: that of the nearest point, or of an opposite one. The Hessian of an
    angle is cot(angle) (I - u u^T), where u is the tangent.
    """
    ax, ay, az, bx, by, bz = frame
    ga, gb, here, haa, hab, hbb, least = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0
    for k in range(count):
        px, py, pz = points[0, k], points[1, k], points[2, k]
        cosine = px * x + py * y + pz * z
        ta, tb = px * ax + py * ay + pz * az, px * bx + py * by + pz * bz
        square = ta * ta + tb * tb
        apart = square >= _SAME * _SAME
        inverse = 1.0 / math.sqrt(square if apart else 1.0)
        inverse = inverse if apart else 0.0
        ta, tb, bend = ta * inverse, tb * inverse, cosine * inverse
        ga, gb = added(ga, ta), added(gb, tb)
        haa, hab, hbb = added(haa, bend * tb * tb), added(hab, -bend * ta * tb), added(hbb, bend * ta * ta)
        here = added(here, 1.0 if not apart and cosine > 0.0 else 0.0)
        least = lesser(least, square)
    return ga, gb, here, haa, hab, hbb, least


@inner
def _moved(x: Any, y: Any, z: Any, frame: Any, a: Any, b: Any) -> Any:
    """Move along a great circle from a place in a tangent direction, by its length."""
    ax, ay, az, bx, by, bz = frame
    length = math.sqrt(a * a + b * b)
    if length == 0.0:
        return x, y, z
    c, s = math.cos(length), math.sin(length) / length
    nx = c * x + s * (a * ax + b * bx)
    ny = c * y + s * (a * ay + b * by)
    nz = c * z + s * (a * az + b * bz)
    norm = math.sqrt(nx * nx + ny * ny + nz * nz)
    return nx / norm, ny / norm, nz / norm


@inner
def _newton(pulled: Any) -> Any:
    """The step by which the gradient vanishes, of at most _STRIDE; 0 at a point, and where there is no curvature.

    Where the sum curves down, the absolute value of the Hessian H replaces it, |H| = (H^2 + |det H|) / tr |H|: a step
    away from a ridge or a peak (Nocedal, Wright, "Numerical Optimization", 2006, 3.4).
    """
    ga, gb, here, haa, hab, hbb, _ = pulled
    determinant = haa * hbb - hab * hab
    if here > 0.0:
        return 0.0, 0.0
    if not (determinant > 0.0 and haa + hbb > 0.0):
        side, squares = abs(determinant), haa * haa + 2.0 * hab * hab + hbb * hbb
        trace = math.sqrt(squares + 2.0 * side)
        if trace == 0.0:
            return 0.0, 0.0
        cross = hab * (haa + hbb) / trace
        haa, hab, hbb = (haa * haa + hab * hab + side) / trace, cross, (hab * hab + hbb * hbb + side) / trace
        determinant = haa * hbb - hab * hab
        if not determinant > 0.0:
            return 0.0, 0.0
    a, b = (hbb * ga - hab * gb) / determinant, (haa * gb - hab * ga) / determinant
    shorter = min(1.0, _STRIDE / math.sqrt(a * a + b * b))
    return shorter * a, shorter * b


@inner
def _is_median(points: Any, count: Any, k: Any) -> Any:
    """Whether the others pull at a point with no more force than its own multiplicity holds."""
    x, y, z = points[0, k], points[1, k], points[2, k]
    ga, gb, here, _, _, _, _ = _pull(points, count, x, y, z, _frame(x, y, z))
    return math.sqrt(ga * ga + gb * gb) <= here + 1e-12


@inner
def _median(points: Any, count: Any, limit: Any) -> Any:
    """The spatial median of the first `count` points: float64[3, ...]."""
    x, y, z = _middle(points, count)
    least = _total(points, count, x, y, z)
    last, tested = np.inf, _nearest(points, count, x, y, z)
    if _is_median(points, count, tested):  # as is usual with few points
        return points[0, tested], points[1, tested], points[2, tested]
    for _ in range(limit):
        frame = _frame(x, y, z)
        pulled = _pull(points, count, x, y, z, frame)
        ga, gb, here, near = pulled[0], pulled[1], pulled[2], math.sqrt(pulled[6])
        force = math.sqrt(ga * ga + gb * gb)
        if force <= here + 1e-12:
            break
        a, b = _newton(pulled)
        length = math.sqrt(a * a + b * b)
        if length == 0.0 or length > _LONG * near:
            k = _nearest(points, count, x, y, z)
            if k != tested and _is_median(points, count, k):
                return points[0, k], points[1, k], points[2, k]
            tested = k
        nx, ny, nz = _moved(x, y, z, frame, a, b)
        close = 0.0 < length < _CLOSE * near and length < last / 2.0
        if not close and last < np.inf:  # the earlier steps were not tested for their gain
            least = _total(points, count, x, y, z)
        last = length if close else np.inf
        total = least if close else _total(points, count, nx, ny, nz)
        halved = 0
        while halved < _HALVED and length > 0.0 and not close and not total < least:
            a, b, length, halved = a / 2.0, b / 2.0, length / 2.0, halved + 1
            nx, ny, nz = _moved(x, y, z, frame, a, b)
            total = _total(points, count, nx, ny, nz)
        if not close and (length == 0.0 or not total < least):
            # Weiszfeld's step, minus the force that holds a point.
            scale = (force - here) / (force * _closeness(points, count, x, y, z))
            total, tries = np.inf, 0
            while not total < least and tries < 40:
                nx, ny, nz = _moved(x, y, z, frame, scale * ga, scale * gb)
                total = _total(points, count, nx, ny, nz)
                length, scale, tries = scale * force, scale / 2.0, tries + 1
            if not total < least:
                break
        x, y, z, least = nx, ny, nz, total
        if length < (_LAST * near if close else _STILL):
            break
    return x, y, z


@inner
def _nearest(points: Any, count: Any, x: Any, y: Any, z: Any) -> Any:
    """Which of the points is nearest to a vector, the first of equals."""
    best, most = 0, -np.inf
    for k in range(count):
        dot = points[0, k] * x + points[1, k] * y + points[2, k] * z
        if dot > most:
            best, most = k, dot
    return best


@inner
def _middle(points: Any, count: Any) -> Any:
    """The direction of the mean of all; the first of points whose mean is the centre."""
    sx, sy, sz = 0.0, 0.0, 0.0
    for k in range(count):
        sx, sy, sz = sx + points[0, k], sy + points[1, k], sz + points[2, k]
    norm = math.sqrt(sx * sx + sy * sy + sz * sz)
    if norm < _SAME * count:
        return points[0, 0], points[1, 0], points[2, 0]
    return sx / norm, sy / norm, sz / norm


@inner
def _closeness(points: Any, count: Any, x: Any, y: Any, z: Any) -> Any:
    """The sum of 1 / distance, of points that are elsewhere; along chords, which are no longer."""
    total = 0.0
    for k in range(count):
        dx, dy, dz = points[0, k] - x, points[1, k] - y, points[2, k] - z
        square = dx * dx + dy * dy + dz * dz
        inverse = 1.0 / math.sqrt(square if square > _SAME * _SAME else 1.0)
        total = added(total, inverse if square > _SAME * _SAME else 0.0)
    return total


@inner
def _midpoint(points: Any) -> Any:
    """The middle of the great circle between two points; the first of opposite ones."""
    x, y, z = points[0, 0] + points[0, 1], points[1, 0] + points[1, 1], points[2, 0] + points[2, 1]
    norm = math.sqrt(x * x + y * y + z * z)
    if norm < _SAME:
        return points[0, 0], points[1, 0], points[2, 0]
    return x / norm, y / norm, z / norm


@inner
def _place(points: Any, count: Any, limit: Any) -> Any:
    if count == 1:
        return points[0, 0], points[1, 0], points[2, 0]
    if count == 2:
        return _midpoint(points)
    return _median(points, count, limit)


@kernel
def spatial_median(worker: Any, workers: Any, control: Any, points: Any, limit: Any, found: Any) -> None:
    """found: the place for these points, float64[3, n]."""
    if worker == 0:
        found[0], found[1], found[2] = _place(points, np.int64(points.shape[1]), limit)


@kernel
def mark_neighbours(
    worker: Any, workers: Any, control: Any, chosen: Any, offsets: Any, neighbours: Any, first: Any, marked: Any
) -> None:  # fmt: skip
    """marked[u - first] becomes true for the neighbours u of some vertices, of those that it has room for."""
    while True:
        begin, end = take(control, np.uint64(chosen.size), np.uint64(256))
        if begin == end:
            break
        for i in range(begin, end):
            v = np.uint64(chosen[i])
            for k in range(offsets[v], offsets[v + _ONE]):
                u = np.uint64(neighbours[k])
                if u >= first and u - first < np.uint64(marked.size):
                    marked[u - first] = True


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
                        points[c, count] = places[u, c]
                    count += 1
            found[i, 0], found[i, 1], found[i, 2] = _place(points, count, limit)

"""Points at random in a square or on a sphere, joined when they are near: graphs that have a map."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.checks import checked, text
from arcflux.errors import UsageError
from arcflux.generate.arguments import Interval, integer, number, spell
from arcflux.generate.recipe import Recipe
from arcflux.graph.core import Graph
from arcflux.spmd.memory import empty
from arcflux.spmd.pool import run
from arcflux.spmd.space import afford

__all__ = ["coordinates", "random_geometric"]

Array = NDArray[Any]
_SURFACES = ("square", "sphere")


@checked(surface=text)
def random_geometric(
    vertices: int,
    radius: float = 0.05,
    *,
    surface: str = "square",
    seed: int = 1,
    weights: Interval | None = None,
    threads: int | None = None,
) -> Graph:
    """Uniform points, of which those at most `radius` apart are joined (E. N. Gilbert, "Random plane networks", 1961).

    :func:`coordinates` has the points. Undirected and simple.

    Parameters
    ----------
    vertices
        How many points.
    radius
        How far apart points that are joined may be: in a square of side 1, or along the sphere in radians (on the
        earth, kilometres / 6371).
    surface
        "square" or "sphere".
    seed, weights, threads
        As for :func:`~arcflux.generate.kronecker`.

    Examples
    --------
    >>> from arcflux import generate
    >>> generate.random_geometric(10, radius=2).edges
    45
    """
    vertices, radius = integer("vertices", vertices), number("radius", radius, 0.0, 4.0)
    sphere = _is_sphere(surface)
    reach = 2.0 * math.sin(min(radius, math.pi) / 2.0) if sphere else radius
    part = min(1.0, reach * reach / 4.0 if sphere else math.pi * reach * reach)
    options: dict[str, tuple[Any, Any]] = {"radius": (radius, 0.05), "surface": (surface, "square")}
    expected = int(part * vertices * (vertices - 1) / 2)
    recipe = Recipe(spell("geometric", f"{vertices}", **options), vertices, expected, seed, weights, threads=threads)
    return recipe.graph_by_rows(*_pairs(_points(vertices, sphere, recipe.seed, threads), sphere, reach))


def _pairs(points: Array, sphere: bool, reach: float) -> tuple[Any, ...]:
    """The kernel that finds near points, its rows and arguments: the points sorted into cells as wide as they reach."""
    from arcflux.generate.structured_kernels import near

    low, wide = (-1.0, 2.0) if sphere else (0.0, 1.0)
    across = max(1, int(min(wide / reach if reach else math.inf, 1 << 20)))
    layers = across if sphere else 1
    cell = np.minimum(((points - low) * (across / wide)).astype(np.int64), across - 1)
    number = cell[:, 1] * across + cell[:, 0] + (cell[:, 2] * across * across if sphere else 0)
    order = np.argsort(number, kind="stable")
    return near, len(points), points, order, number[order], np.int64(across), np.int64(layers), reach


@checked(surface=text)
def coordinates(vertices: int, *, surface: str = "square", seed: int = 1, threads: int | None = None) -> Array:
    """The points of :func:`random_geometric`: x and y; or latitude and longitude in degrees. float64[vertices, 2].

    Examples
    --------
    >>> from arcflux import generate
    >>> generate.coordinates(5, surface="sphere").shape
    (5, 2)
    """
    sphere = _is_sphere(surface)
    points = _points(integer("vertices", vertices), sphere, integer("seed", seed, high=(1 << 64) - 1), threads)
    if not sphere:
        return points[:, :2].copy()
    degrees: Array = np.degrees(np.stack([np.arcsin(points[:, 2]), np.arctan2(points[:, 1], points[:, 0])], 1))
    return degrees


def _is_sphere(surface: str) -> bool:
    if surface not in _SURFACES:
        raise UsageError(f"surface is {surface!r}", expected="square or sphere")
    return surface == "sphere"


def _points(vertices: int, sphere: bool, seed: int, threads: int | None) -> Array:
    from arcflux.generate.structured_kernels import draw_points

    afford(48 * vertices, f"{vertices:,} points")
    points = empty(3 * vertices, np.float64).reshape(-1, 3)
    run(draw_points, -(-vertices // 4096), np.uint64(seed), sphere, points, threads=threads)
    return points

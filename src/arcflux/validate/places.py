"""Places of vertices: each is the spatial median of the places that it was computed from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import arcflux.validate.arguments as arguments
from arcflux.checks import array, checked, flag, real
from arcflux.errors import UsageError
from arcflux.io import takes_graph
from arcflux.validate.report import Offence, Report, Rule

if TYPE_CHECKING:
    from arcflux.graph import Graph

__all__ = ["geolocation", "median_error"]

Array = NDArray[Any]


def median_error(places: Array, at: Array) -> float:
    """The pull of the points on a place, less what the points at that place can hold: 0 at a spatial median.

    Examples
    --------
    >>> round(median_error(np.array([[0.0, 0.0], [0.0, 90.0]]), np.array([0.0, 45.0])), 9)
    0.0
    """
    x, points = _vectors(at[None])[0], _vectors(places)
    along = points - np.outer(points @ x, x)
    sine = np.linalg.norm(along, axis=1)
    far = sine > 1e-9
    pull = np.linalg.norm((along[far] / sine[far, None]).sum(axis=0))
    return max(0.0, float(pull) - int((~far & (points @ x > 0)).sum()))


def _vectors(places: Array) -> Array:
    latitude, longitude = np.radians(places).T
    flat = np.cos(latitude)
    return np.stack([flat * np.cos(longitude), flat * np.sin(longitude), np.sin(latitude)], 1)


def _degrees(graph: Graph, name: str, given: Any) -> Array:
    found = np.asarray(given)
    if found.shape != (graph.vertices, 2) or found.dtype.kind not in "iuf":
        said = f"{name} has shape {found.shape} and holds {found.dtype}"
        raise UsageError(said, expected=f"numbers of shape ({graph.vertices}, 2)")
    return found.astype(np.float64)


@takes_graph
@checked(known=array, places=array, rounds=array, tolerance=real, refined=flag)
def geolocation(
    graph: Graph, known: Any, places: Any, rounds: Any, *, tolerance: float = 1e-5, refined: bool = False
) -> Report:
    """Check places (float[vertices, 2] in degrees) from :func:`arcflux.geolocate`, round by round.

    Known places are unchanged; a vertex was located in the first round after one of its neighbours; and the neighbours
    that had places before pull it by no more than `tolerance` (not checked for `refined` places).

    Examples
    --------
    >>> import arcflux as af
    >>> nan = float("nan")
    >>> bool(af.geolocate(af.load("star:4"), [[nan, nan], [0, 0], [0, 9], [9, 0]]).validate())
    True
    """
    given, found = (_degrees(graph, name, some) for name, some in (("known", known), ("places", places)))
    when = arguments.wholes("rounds", rounds, graph.vertices)
    seeds = ~np.isnan(given[:, 0])
    both = graph.both_ways()
    offsets, neighbours = both.out.offsets.astype(np.int64), both.out.neighbours.astype(np.int64)
    late, off = [], []
    for v in np.flatnonzero(~seeds).tolist():
        row = neighbours[offsets[v] : offsets[v + 1]]
        row = row[row != v]
        earlier = row[(when[row] >= 0) & ((when[v] < 0) | (when[row] < when[v]))]
        first = when[row][when[row] >= 0].min(initial=np.iinfo(np.int64).max)
        if (when[v] < 0 and len(earlier)) or (when[v] >= 0 and first + 1 != when[v]):
            late.append(v)
        elif when[v] >= 0 and not refined and len(earlier) and median_error(found[earlier], found[v]) > tolerance:
            off.append(v)

    def at(v: Any) -> Offence:
        return Offence(arguments.user_id(graph, v), f"{found[v].tolist()} in round {when[v]}", "another")

    moved = np.flatnonzero(seeds & ~(np.abs(found - given) <= 1e-12).all(axis=1))
    return Report("geolocation", (
        Rule.checked("known", "known places are as they were", moved, at),
        Rule.checked("rounds", "a vertex is located in the first round after one of its neighbours", late, at),
        Rule.checked("medians", "every place is the spatial median of the places before it", off, at),
    ))  # fmt: skip

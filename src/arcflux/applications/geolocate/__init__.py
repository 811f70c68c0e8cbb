"""Geolocation: vertices are placed at the spatial median of their neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import arcflux as af
from arcflux.applications.geolocate.places import Asked, degrees, unit_vectors, work
from arcflux.applications.traffic import told
from arcflux.checks import array, checked, maybe, text, wholes
from arcflux.engine.call import graph_call
from arcflux.engine.launch import launch
from arcflux.errors import UsageError
from arcflux.graph import Graph
from arcflux.validate import arguments

__all__ = ["Located", "geolocate", "spatial_median"]

Array = NDArray[Any]
_EXCHANGES = ("explicit", "peer")


@dataclass(frozen=True, repr=False)
class Located(af.Result):
    """The result of :func:`geolocate`: the fields `latitude`, `longitude` (degrees, NaN: unknown) and `round`."""

    rounds: int = 0
    traffic: Mapping[str, int] = field(default_factory=dict)

    def highlights(self) -> list[tuple[str, str]]:
        """How many vertices were known, located, and not."""
        when = self.values["round"]
        known, never = int((when == 0).sum()), int((when < 0).sum())
        taken = f"{self.rounds:,} round{'s' * (self.rounds != 1)}"
        located = f"{len(when) - known - never:,} in {taken}; {known:,} were known, {never:,} are not"
        return [("located", located), *told(self.traffic)]


@graph_call(locations=array, rounds=maybe(wholes(0)), refine=wholes(0), max_iter=wholes(1), exchange=text)
def geolocate(
    graph: Graph,
    locations: list[float],
    *,
    rounds: int | None = None,
    refine: int = 0,
    max_iter: int = 1000,
    exchange: str = "explicit",
    **where: Any,
) -> Located:
    """Places for all vertices that known ones can be reached from: in rounds, the spatial median of the neighbours.

    In every round each vertex without a place that has located neighbours gets one: that of the only one, the middle of
    the great circle between two, of more the point whose great-circle distances to them add up to the least. A vertex
    that has a place keeps it (Jurgens, "That's what friends are for", 2013; the HIVE study).

    Parameters
    ----------
    locations
        float[vertices, 2]: latitude and longitude in degrees, in the order of the graph's ids; NaN where unknown.
    rounds
        How many rounds, at most; without it until no vertex gets a place.
    refine
        So many rounds in the end in which all vertices that were not known are located again, all at once.
    max_iter
        How many steps a median may take; they are some, as a rule.
    exchange
        "explicit": a new place is sent once to the workers that read it. "peer": workers read the places of neighbours
        where they are, for every edge. Places are the same.
    **where
        The options of :func:`arcflux.run` that say where it runs: `threads`, `parts`, `transport`, `ranks_per_node`.

    Edges count both ways, parallel ones each, self-loops not at all. Rounds are supersteps: a place that is found in a
    round counts from the next one on, so that results do not depend on the number of workers. The Earth is a sphere.
    Opposite points have no middle: the first is taken. Field `round`: 0 for known places, -1 for none.

    Examples
    --------
    >>> import arcflux as af
    >>> nowhere = [float("nan")] * 2
    >>> found = af.geolocate(af.load("path:3"), [[0.0, 179.0], nowhere, [0.0, -179.0]])
    >>> found["latitude"].round(6).tolist(), abs(found["longitude"]).round(6).tolist()
    ([0.0, 0.0, 0.0], [179.0, 180.0, 179.0])
    """
    places = _checked(graph, locations)
    if exchange not in _EXCHANGES:
        raise arguments.unknown_choice("exchange", exchange, _EXCHANGES)
    both = graph.both_ways()
    asked = Asked(places, rounds, refine, max_iter, exchange == "peer")
    done = launch(both, where, lambda worker: work(worker, asked))
    found, when, taken, traffic = done.answer
    values = {"latitude": found[:, 0].copy(), "longitude": found[:, 1].copy(), "round": when}
    result = Located(
        "geolocation", graph, values, [], True, done.seconds, done.compile_seconds, rounds=taken, traffic=traffic
    )
    return replace(
        done.finish(result),
        validator=lambda made: af.validate.geolocation(
            graph, places, np.stack([made["latitude"], made["longitude"]], 1), made["round"], refined=refine > 0
        ),
    )


def _checked(graph: Graph, locations: Any) -> Array:
    places = np.asarray(locations)
    if places.shape != (graph.vertices, 2) or places.dtype.kind not in "iuf":
        raise UsageError(
            f"locations has shape {places.shape} and holds {places.dtype}",
            expected=f"numbers of shape ({graph.vertices}, 2): latitude and longitude, NaN where unknown",
        )
    places = places.astype(np.float64)
    half = np.isnan(places[:, 0]) != np.isnan(places[:, 1])
    with np.errstate(invalid="ignore"):
        outside = (np.abs(places[:, 0]) > 90) | (np.abs(places[:, 1]) > 360)
    if (half | outside).any():
        v = int(np.argmax(half | outside))
        raise UsageError(
            f"the location of vertex {arguments.user_id(graph, v)} is {places[v].tolist()}",
            expected="a latitude from -90 to 90 and a longitude from -360 to 360, or NaN for both",
        )
    return places


@checked(points=array, max_iter=wholes(1))
def spatial_median(points: Any, max_iter: int = 1000) -> tuple[float, float]:
    """The place whose great-circle distances to some places add up to the least: latitude and longitude in degrees.

    Examples
    --------
    >>> spatial_median([[10, 20], [10, 20], [50, 60]])
    (10.0, 20.0)
    """
    given = np.asarray(points)
    if given.ndim != 2 or given.shape[1:] != (2,) or not len(given) or given.dtype.kind not in "iuf":
        raise UsageError(f"points has shape {given.shape}", expected="float[n, 2]: latitudes and longitudes")
    if not np.isfinite(given).all():
        raise UsageError("points holds NaN or infinity", expected="finite degrees")
    from arcflux.applications.geolocate import cpu

    found, vectors = np.empty(3), np.ascontiguousarray(unit_vectors(given.astype(np.float64)).T)
    cpu.spatial_median(0, 1, np.zeros(16, np.int64), vectors, max_iter, found)
    latitude, longitude = degrees(found[None])[0].tolist()
    return latitude, longitude

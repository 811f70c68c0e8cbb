"""Geolocation: medians with known answers and by optimality, rounds, and the same places everywhere."""

from __future__ import annotations

import numpy as np
import pytest

import arcflux as af
from arcflux.applications.geolocate.places import degrees, unit_vectors
from arcflux.validate.places import median_error

NAN = float("nan")


def total(points: np.ndarray, at: tuple[float, float]) -> float:
    a, b = unit_vectors(points), unit_vectors(np.array([at]))[0]
    return float(np.arctan2(np.linalg.norm(np.cross(a, b), axis=1), a @ b).sum())


def rotation(random: np.random.Generator) -> np.ndarray:
    matrix, _ = np.linalg.qr(random.normal(size=(3, 3)))
    return matrix * np.sign(np.linalg.det(matrix))


def test_medians_are_optimal_and_turn_with_the_sphere() -> None:
    random = np.random.default_rng(5)
    for _ in range(60):
        centre, wide = random.uniform(-60, 60, 2), random.choice([0.01, 1.0, 20.0])
        points = centre + random.normal(scale=wide, size=(random.integers(3, 40), 2))
        found = af.spatial_median(points)
        assert median_error(points, np.array(found)) < 1e-6
        assert total(points, found) <= min(total(points, tuple(point)) for point in points) + 1e-12
        for step in ((1e-4, 0), (0, 1e-4), (-1e-4, 0), (0, -1e-4)):
            assert total(points, found) <= total(points, (found[0] + step[0], found[1] + step[1])) + 1e-13
        turn = rotation(random)
        turned = af.spatial_median(degrees(unit_vectors(points) @ turn.T))
        assert unit_vectors(np.array([turned]))[0] == pytest.approx(turn @ unit_vectors(np.array([found]))[0], abs=1e-7)


@pytest.mark.parametrize("count", [3, 4, 5, 6, 9, 40])
def test_medians_anywhere_are_optimal(count: int) -> None:
    """Points all over the sphere, and points of a coarse grid, whose medians are near one of them, or at it."""
    draw = np.random.default_rng(count)
    for turn in range(150):
        points = np.stack([draw.uniform(-90, 90, count), draw.uniform(-180, 180, count)], 1)
        if turn % 3 == 0:
            points = np.round(points / 30) * 30
        assert median_error(points, np.array(af.spatial_median(points))) < 1e-6, points.tolist()


def test_known_medians() -> None:
    assert af.spatial_median([[0, 0], [0, 10], [0, 50]]) == pytest.approx((0, 10), abs=1e-9)  # on a line: the middle
    angles = np.radians(np.arange(7) * 360 / 7)
    around = unit_vectors(np.array([[40.0, 170.0]]))[0]
    east = np.cross([0, 0, 1], around)
    east /= np.linalg.norm(east)
    north = np.cross(around, east)
    ring = np.cos(0.2) * around + np.sin(0.2) * (np.outer(np.cos(angles), east) + np.outer(np.sin(angles), north))
    assert af.spatial_median(degrees(ring)) == pytest.approx((40, 170), abs=1e-7)
    latitude, longitude = af.spatial_median([[0, 178], [0, -178], [2, 180], [-2, 180]])  # across the antimeridian
    assert (latitude, abs(longitude)) == pytest.approx((0, 180), abs=1e-9)
    many = np.concatenate([np.tile([[10.0, 20.0]], (30, 1)), np.random.default_rng(1).uniform(-50, 50, (29, 2))])
    assert af.spatial_median(many) == pytest.approx((10, 20))


def planted(n: int = 400, hidden: float = 0.5) -> tuple[af.Graph, np.ndarray, np.ndarray]:
    """A graph of near points of a sphere's cap, and their places, of which some are hidden."""
    random = np.random.default_rng(3)
    places = np.stack([random.uniform(-10, 10, n), 175 + random.uniform(0, 10, n)], 1)
    vectors = unit_vectors(places)
    near = np.argwhere(np.triu(vectors @ vectors.T > np.cos(np.radians(1.5)), 1))
    shown = np.where(random.random(n)[:, None] < hidden, NAN, places)
    return af.Graph.from_edges(near[:, 0], near[:, 1], vertices=n, directed=False), places, shown


def test_hidden_places_are_found_within_the_length_of_an_edge() -> None:
    graph, places, shown = planted()
    found = af.geolocate(graph, shown)
    assert found.validate(), found.validate()
    hidden = np.isnan(shown[:, 0]) & (found["round"] > 0)
    again = np.stack([found["latitude"], found["longitude"]], 1)
    error = np.degrees(np.arccos(np.clip((unit_vectors(again) * unit_vectors(places)).sum(1), -1, 1)))
    assert np.median(error[hidden]) < 1.5 / 2
    refined = af.geolocate(graph, shown, refine=3)
    assert refined.validate()
    assert (refined["round"] == found["round"]).all()
    assert (refined["latitude"] != found["latitude"])[hidden].any()


@pytest.mark.parametrize("exchange", ["explicit", "peer"])
@pytest.mark.parametrize("refine", [0, 2])
def test_the_same_bits_everywhere(exchange: str, refine: int) -> None:
    graph, _, shown = planted(200, 0.8)
    alone = af.geolocate(graph, shown, threads=1, refine=refine)
    for where in ({"threads": 3}, {"parts": 3}, {"parts": 3, "ranks_per_node": 1}, {"parts": 4, "ranks_per_node": 2}):
        other = af.geolocate(graph, shown, exchange=exchange, refine=refine, **where)
        for name in ("latitude", "longitude", "round"):
            assert np.array_equal(other[name], alone[name], equal_nan=True), (where, name)


def test_an_explicit_place_is_sent_once_and_a_peer_s_for_every_edge() -> None:
    graph, _, shown = planted(300, 0.7)
    spread = {"parts": 4, "ranks_per_node": 1}
    explicit, peer = (af.geolocate(graph, shown, exchange=how, **spread).traffic for how in ("explicit", "peer"))
    assert explicit["places"] <= 20 * 3 * int(np.isnan(shown[:, 0]).sum())
    assert peer["places"] > explicit["places"]
    assert peer["places"] <= 16 * graph.arcs


def test_rounds_go_outwards_and_end() -> None:
    shown = np.full((5, 2), NAN)
    shown[0] = 7, 8
    path = af.geolocate("path:5", shown)
    assert path["round"].tolist() == [0, 1, 2, 3, 4]
    assert path.rounds == 4
    assert path["latitude"].tolist() == pytest.approx([7] * 5)
    assert af.geolocate("path:5", shown, rounds=2)["round"].tolist() == [0, 1, 2, -1, -1]
    apart = af.Graph.from_edges([0, 2], [1, 3], vertices=5)
    found = af.geolocate(apart, shown)
    assert found["round"].tolist() == [0, 1, -1, -1, -1]
    assert np.isnan(found["longitude"][2:]).all()
    assert af.geolocate("path:5", np.full((5, 2), NAN))["round"].tolist() == [-1] * 5


@pytest.mark.parametrize(
    ("locations", "said"),
    [
        ([[0, 0]], "locations has shape"), ([[0, NAN], [0, 0], [0, 0]], "vertex 0"), ([[91, 0]] * 3, "vertex 0"),
        ([[0, 0], [0, 0], [0, 400]], "vertex 2"), ([["a", "b"]] * 3, "locations has shape"),
    ],
)  # fmt: skip
def test_bad_locations_are_refused(locations: object, said: str) -> None:
    with pytest.raises(af.errors.UsageError, match=said):
        af.geolocate("path:3", locations)


def test_bad_options_are_refused() -> None:
    with pytest.raises(af.errors.UsageError, match="exchange is 'mail'"):
        af.geolocate("path:2", [[0, 0]] * 2, exchange="mail")
    with pytest.raises(af.errors.UsageError, match="finite degrees"):
        af.spatial_median([[0, NAN]])


def test_the_validator_notices_a_place_that_is_no_median() -> None:
    graph, _, shown = planted(200)
    found = af.geolocate(graph, shown)
    places = np.stack([found["latitude"], found["longitude"]], 1)
    v = int(np.flatnonzero(found["round"] == 1)[0])
    places[v] += 1
    assert not af.validate.geolocation(graph, shown, places, found["round"])["medians"].passed
    late = np.where(found["round"] == 1, 2, found["round"])
    assert not af.validate.geolocation(graph, shown, places, late)["rounds"].passed

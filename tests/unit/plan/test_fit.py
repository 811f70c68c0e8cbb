"""Rates from runs: what was put in comes out again, noise moves it little, and nothing is negative."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plan_machine import HIERARCHY

import arcflux as af
from arcflux.plan.fit import Curve, Fit, Observation, features, fit, kind
from arcflux.plan.sample import shape_of
from arcflux.plan.shape import grid, kronecker, uniform

CURVE = Curve.of(HIERARCHY)
SHAPES = [kronecker(scale) for scale in (12, 14, 16, 18, 20)]
SHAPES += [uniform(1 << scale, 1 << (scale + 5)) for scale in (13, 15, 17, 19)]
SHAPES += [grid(side, side) for side in (100, 400, 1000)]


def runs(truth, dense, noise=0.0):
    chance = np.random.default_rng(3)
    for shape in SHAPES:
        steps = 12.0 if dense else shape.depth
        seconds = features(shape, steps, dense, CURVE, 8) @ truth
        yield Observation(shape, steps, float(seconds * (1 + noise * chance.standard_normal())))


@pytest.mark.parametrize("dense", [True, False])
def test_what_was_put_in_comes_out(dense):
    truth = np.array([2e-4, 3e-6, 4e-9, 1e-9, 0 if dense else 2e-9, 0.7])
    found = fit(list(runs(truth, dense)), dense, CURVE, 8)
    assert found.doubt < 1e-6
    for shape in (kronecker(17), uniform(1 << 18, 1 << 22), grid(700, 300)):
        expected = features(shape, 9.0, dense, CURVE, 8) @ truth
        assert found.seconds(shape, 9.0) == pytest.approx(expected, rel=0.02)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(1e-10, 1e-3), min_size=6, max_size=6), st.booleans())
def test_rates_are_never_negative_and_noise_moves_them_little(truth, dense):
    found = fit(list(runs(np.array(truth), dense, noise=0.1)), dense, CURVE, 8)
    assert min(found.coefficients) >= 0
    assert found.error < 0.2


def test_supersteps_are_remembered_by_kind():
    found = fit(list(runs(np.full(6, 1e-9), True)), True, CURVE, 8)
    assert set(found.supersteps) == {"skewed", "flat", "near"}
    assert found.steps(kronecker(30)) == pytest.approx(12)
    ring = af.load("ws:5000,k=6,p=0.01")
    assert kind(shape_of(ring)) in ("local", "near")
    assert found.steps(shape_of(ring)) == pytest.approx(12)  # of a kind that was not seen
    walk = fit(list(runs(np.full(6, 1e-9), False)), False, CURVE, 8)
    assert walk.steps(kronecker(30)) == kronecker(30).depth


def test_supersteps_may_grow_with_the_graph():
    seen = [Observation(shape, float(np.log2(shape.vertices)), 1e-3) for shape in SHAPES]
    found = fit(seen, True, CURVE, 8)
    assert found.steps(kronecker(24)) == pytest.approx(24)
    assert found.steps(uniform(1 << 24, 1 << 28)) == pytest.approx(24)


def test_there_and_back():
    found = fit(list(runs(np.full(6, 1e-9), True)), True, CURVE, 8)
    assert Fit.of(found.to_dict()) == found


def test_reads_cost_what_the_curve_says():
    small, large = uniform(1 << 10, 1 << 14), uniform(1 << 24, 1 << 28)
    assert CURVE.gather(small, 8) == pytest.approx(1e-9, rel=0.01)
    assert CURVE.gather(large, 8) == pytest.approx(8e-9, rel=0.01)
    assert CURVE.gather(grid(4000, 4000), 8) < 0.3 * CURVE.gather(large, 8)  # neighbours are near
    falling = Curve.of([{"bytes": 1.0, "random": 1e9}, {"bytes": 2.0, "random": 2e9}])
    assert falling.seconds[0] == falling.seconds[1]


def test_kinds():
    assert [kind(shape) for shape in (grid(100, 100), kronecker(16), uniform(1000, 16_000))] == [
        "near",
        "skewed",
        "flat",
    ]

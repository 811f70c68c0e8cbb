"""Rates from runs: what was put in comes out again, noise moves it little, and nothing is negative."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plan_machine import HIERARCHY

import arcflux as af
from arcflux.plan.fit import POINTS, Curve, Fit, Observation, at_threads, features, fit, kind, not_negative
from arcflux.plan.programs import curve_of
from arcflux.plan.sample import shape_of
from arcflux.plan.shape import grid, kronecker, uniform
from arcflux.plan.way import steps_of, way_of

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


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 6), st.integers(6, 30), st.integers(0, 2**32 - 1))
def test_least_squares_are_those_of_scipy(unknowns, equations, seed):
    from scipy.optimize import nnls

    chance = np.random.default_rng(seed)
    rows, right = chance.standard_normal((equations, unknowns)), chance.standard_normal(equations)
    ours, (theirs, off) = not_negative(rows, right), nnls(rows, right)
    assert ours.min() >= 0
    assert np.linalg.norm(rows @ ours - right) == pytest.approx(off, rel=1e-6, abs=1e-9)
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_a_run_that_was_disturbed_moves_little():
    truth = np.array([2e-4, 3e-6, 4e-9, 1e-9, 0, 0.7])
    seen = list(runs(truth, True))
    seen[3] = replace(seen[3], seconds=5 * seen[3].seconds)
    found = fit(seen, True, CURVE, 8)
    assert found.seconds(kronecker(17), 9.0) == pytest.approx(
        float(features(kronecker(17), 9.0, True, CURVE, 8) @ truth), rel=0.1
    )


def test_threads_in_between():
    one = fit(list(runs(np.full(6, 8e-9), True)), True, CURVE, 8)
    eight = replace(one, coefficients=tuple(c / 8 for c in one.coefficients))
    four = at_threads(one, eight, 8, 4)
    assert four.seconds(SHAPES[2]) == pytest.approx(one.seconds(SHAPES[2]) / 4)
    assert at_threads(one, eight, 8, 1) == one
    assert at_threads(one, eight, 8, 8) == at_threads(one, eight, 8, 99) == eight


def test_frontiers_are_learnt_by_kind():
    hump, flat = tuple(np.sin(np.linspace(0, np.pi, POINTS))), (0.1,) * POINTS
    seen = [
        replace(one, frontiers=flat if kind(one.shape) == "near" else hump) for one in runs(np.full(6, 1e-9), False)
    ]
    found = fit(seen, False, CURVE, 8)
    assert found.frontier(kronecker(15), 9).argmax() == 4
    assert found.frontier(kronecker(15), 9)[0] == pytest.approx(0, abs=1e-9)
    np.testing.assert_allclose(found.frontier(grid(300, 300), 50), 0.1)
    assert Fit.of(found.to_dict()) == found
    dense = fit(list(runs(np.full(6, 1e-9), True)), True, CURVE, 8)
    np.testing.assert_allclose(dense.frontier(kronecker(15), 5), 1.0)


@pytest.mark.parametrize("early", [False, True])
def test_supersteps_add_up_to_the_run(early):
    hump = tuple(0.5 * np.sin(np.linspace(0, np.pi, POINTS)))
    seen = [replace(one, frontiers=hump) for one in runs(np.array([1e-4, 1e-5, 1e-9, 1e-9, 1e-9, 0.1]), False)]
    way = way_of(fit(seen, False, CURVE, 8), kronecker(16), "auto", 2)
    steps = steps_of(way, kronecker(16), 3.0, early=early)
    assert len(steps) == round(way.supersteps)
    assert sum(step.seconds for step in steps) == pytest.approx(way.seconds)
    assert steps[0].direction == steps[-1].direction == "push"
    middle = steps[len(steps) // 2]
    assert middle.direction == "pull"
    assert middle.seconds == max(step.seconds for step in steps)
    asked = way_of(fit(seen, False, CURVE, 8), kronecker(16), "push", 2)
    assert {step.direction for step in steps_of(asked, kronecker(16), 3.0)} == {"push"}


def test_rows_that_are_intersected_cost_by_their_lengths():
    truth = np.array([1e-4, 0, 1e-9, 1e-9, 5e-10, 0])
    seen = [Observation(shape, 1.0, float(features(shape, 1.0, False, CURVE, 4, "wedges") @ truth)) for shape in SHAPES]
    found = fit(seen, False, CURVE, 4, "wedges")
    assert found.doubt < 1e-6
    assert found.coefficients[4] == pytest.approx(5e-10, rel=0.01)
    few, many = uniform(1000, 10_000), uniform(1000, 100_000)
    assert (few.wedges(), many.wedges()) == pytest.approx((1e5, 1e7))
    assert few.squares() == pytest.approx(1e5)


@pytest.mark.parametrize("count", [1, 2, 16, 17, 18, 33, 4000])
def test_a_curve_goes_through_a_few_of_many_supersteps(count):
    edges = np.random.default_rng(count).integers(0, 1000, count)
    looked = []

    class History:
        def __len__(self):
            return count

        def __getitem__(self, k):
            looked.append(k)
            return SimpleNamespace(edges=int(edges[k]))

    all_of_them = np.interp(np.linspace(0, 1, POINTS), np.linspace(0, 1, count), edges / 1000)
    assert curve_of(History(), 1000) == pytest.approx(all_of_them.tolist())
    assert len(looked) <= 2 * POINTS
    assert curve_of([], 1000) == ()
    assert curve_of([SimpleNamespace(edges=None)], 1000) == ()

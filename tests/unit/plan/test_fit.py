"""Rates from runs: what was put in comes out again, noise moves it little, nothing is negative."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plan_machine import CURVE, SHAPES, runs, vector

from arcflux.plan.fit import PHASES, POINTS, TERMS, Curve, Observation, fit, frontier_curve, not_negative, terms
from arcflux.plan.plans import Candidate, Placement, Plan
from arcflux.plan.shape import grid, kronecker, uniform
from arcflux.plan.work import WORKS

DENSE, WALK = WORKS["pagerank"], WORKS["min_label"]
OTHERS = [kronecker(17).sketch(), uniform(1 << 18, 1 << 22).sketch(), grid(700, 300).sketch()]
TRUTH = {"launch": 2e-4, "supersteps": 3e-6, "vertices": 4e-9, "arcs": 1e-9, "pushed arcs": 2e-9, "arc reads": 0.7}


def seen(work, rates, noise=0.0):
    return [run.seen for run in runs(f"{work.name}/x", 1, rates, noise)]


@pytest.mark.parametrize("work", [DENSE, WALK], ids=["dense", "frontier"])
def test_what_was_put_in_comes_out(work):
    found = fit(seen(work, TRUTH), work, CURVE)
    assert found.error < 1e-6
    for graph in OTHERS:
        expected = terms(graph, 9.0, work, CURVE) @ vector(TRUTH)
        assert found.seconds(graph, 9.0) == pytest.approx(expected, rel=0.02)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(1e-10, 1e-3), min_size=6, max_size=6), st.booleans())
def test_rates_are_never_negative_and_noise_moves_them_little(truth, dense):
    work = DENSE if dense else WALK
    found = fit(seen(work, dict(zip(TRUTH, truth, strict=True)), noise=0.1), work, CURVE)
    assert min(found.rates) >= 0
    assert found.error < 0.25


def test_every_term_has_a_phase():
    assert (
        len(TERMS) == len(PHASES) == len(terms(OTHERS[0], 3.0, DENSE, CURVE)) == len(terms(OTHERS[0], 3.0, WALK, CURVE))
    )
    assert (terms(OTHERS[0], 3.0, DENSE, CURVE) >= 0).all()
    assert (terms(OTHERS[2], 3.0, WALK, CURVE) >= 0).all()


def test_supersteps_are_those_of_graphs_that_are_alike():
    found = fit(seen(DENSE, TRUTH), DENSE, CURVE)
    assert found.supersteps(kronecker(17).sketch()) == pytest.approx(11, rel=0.1)
    assert found.supersteps(uniform(1 << 16, 32 << 16).sketch()) == pytest.approx(7, rel=0.1)
    assert found.supersteps(grid(300, 300).sketch()) == pytest.approx(28, rel=0.1)
    walk = fit(seen(WALK, TRUTH), WALK, CURVE)
    deep = grid(3000, 3000).sketch()
    assert walk.supersteps(deep) == pytest.approx(deep.depth, rel=0.1)


def test_reads_cost_what_the_curve_says():
    small, large = uniform(1 << 10, 1 << 14).sketch(), uniform(1 << 24, 1 << 28).sketch()
    assert CURVE.gather(small, 8) == pytest.approx(1e-9, rel=0.01)
    assert CURVE.gather(large, 8) == pytest.approx(8e-9, rel=0.05)  # a few are near by chance
    assert CURVE.gather(grid(4000, 4000).sketch(), 8) < 0.3 * CURVE.gather(large, 8)  # neighbours are near
    falling = Curve.of([{"bytes": 1.0, "random": 1e9}, {"bytes": 2.0, "random": 2e9}])
    assert falling.seconds[0] == falling.seconds[1]
    assert (CURVE.spilled(1.0), CURVE.spilled(2.0**30)) == (0.0, 1.0)


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
    every = seen(DENSE, TRUTH)
    every[3] = replace(every[3], seconds=5 * every[3].seconds)
    found = fit(every, DENSE, CURVE)
    expected = float(terms(OTHERS[0], 9.0, DENSE, CURVE) @ vector(TRUTH))
    assert found.seconds(OTHERS[0], 9.0) == pytest.approx(expected, rel=0.1)


def test_frontiers_are_those_of_graphs_that_are_alike():
    hump, flat = tuple(np.sin(np.linspace(0, np.pi, POINTS)).clip(0)), (0.1,) * POINTS
    every = [replace(one, frontiers=flat if one.graph.depth > 30 else hump) for one in seen(WALK, TRUTH)]
    found = fit(every, WALK, CURVE)
    assert found.frontier(kronecker(15).sketch(), 9).argmax() == 4
    assert found.frontier(kronecker(15).sketch(), 9)[0] == pytest.approx(0, abs=1e-9)
    np.testing.assert_allclose(found.frontier(grid(300, 300).sketch(), 50), 0.1, rtol=0.1)
    np.testing.assert_allclose(fit(seen(DENSE, TRUTH), DENSE, CURVE).frontier(OTHERS[0], 5), 1.0)
    unknown = fit(seen(WALK, TRUTH), WALK, CURVE)
    np.testing.assert_allclose(unknown.frontier(OTHERS[0], 5), 0.2)


@pytest.mark.parametrize("early", [False, True])
def test_supersteps_add_up_to_the_run(early):
    hump = tuple(0.5 * np.sin(np.linspace(0, np.pi, POINTS)).clip(0))
    work, graph = replace(WALK, early=early), kronecker(16).sketch()
    found = fit([replace(one, frontiers=hump) for one in seen(work, TRUTH)], work, CURVE)
    phases = {"launch": 1e-4, "barriers": 1e-5, "compute": 1e-3}

    def plan(direction):
        return Plan(work, graph, "x", (Candidate(direction, phases, 0.1, Placement(2), 7.0, fit=found),))

    steps = plan("auto").steps
    assert len(steps) == 7
    assert sum(step.seconds for step in steps) == pytest.approx(sum(phases.values()))
    assert steps[0].direction == "push"
    middle = steps[3]
    assert middle.direction == "pull"
    assert middle.seconds == max(step.seconds for step in steps)
    assert {step.direction for step in plan("push").steps} == {"push"}
    bare = Plan(work, graph, "x", (Candidate("push", phases, 0.1),))
    assert bare.steps == []


@pytest.mark.parametrize("name", ["triangles", "two_hop_friends"])
def test_rows_that_are_intersected_cost_by_their_lengths(name):
    work, truth = WORKS[name], {"launch": 1e-4, "vertices": 1e-9, "more": 5e-10}
    found = fit(seen(work, truth), work, CURVE)
    assert found.error < 1e-6
    assert found.rates[-1] == pytest.approx(5e-10, rel=0.01)
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
    assert frontier_curve(History(), 1000) == pytest.approx(all_of_them.tolist(), abs=1e-5)
    assert len(looked) <= 2 * POINTS
    assert frontier_curve([], 1000) == ()
    assert frontier_curve([SimpleNamespace(edges=None)], 1000) == ()


def taken(shape):
    """A kernel that is twice as slow where degrees are skewed, which no sum of the terms can say."""
    return 1e-8 * shape.arcs * (2.0 if "kron" in shape.name else 1.0)


def test_families_that_differ_are_told_apart():
    found = fit([Observation(one.sketch(), 10.0, taken(one)) for one in SHAPES if "grid" not in one.name], DENSE, CURVE)
    plain = replace(found, runs=(), missed=())
    for shape in (kronecker(15), kronecker(17), uniform(1 << 14, 32 << 14), uniform(1 << 18, 32 << 18)):
        off, before = (abs(one.seconds(shape.sketch(), 10.0) / taken(shape) - 1) for one in (found, plain))
        assert off < max(0.15, before / 2)


def test_far_from_all_runs_the_sum_stands():
    found = fit(seen(DENSE, TRUTH), DENSE, CURVE)
    one = replace(found, runs=found.runs[:1], missed=(np.log(3.0),))
    assert one.correction(grid(2000, 2000).sketch()) == pytest.approx(1.0, abs=0.05)
    assert one.correction(found.runs[0].graph) > 2.0
    assert replace(found, runs=(), missed=()).correction(OTHERS[0]) == 1.0


def test_later_runs_say_what_the_rates_missed():
    found, graph = fit(seen(DENSE, TRUTH), DENSE, CURVE), kronecker(17).sketch()
    before = found.seconds(graph, 11.0)
    later = found.with_runs([Observation(graph, 11.0, 1.6 * before)] * 3)
    assert 1.2 * before < later.seconds(graph, 11.0) < 1.6 * before
    assert later.rates == found.rates
    far = grid(50, 50).sketch()
    assert later.seconds(far, 5.0) == pytest.approx(found.seconds(far, 5.0), rel=0.05)
    assert found.with_runs([]) is found


def test_one_odd_run_counts_little():
    found = fit(seen(DENSE, TRUTH), DENSE, CURVE)
    three = tuple(Observation(kronecker(s).sketch(), 11.0, 1.0) for s in (13, 14, 15))
    calm, odd = (replace(found, runs=three, missed=missed) for missed in ((0.1, 0.1, 0.1), (0.1, 2.0, 0.1)))
    graph = three[1].graph
    assert odd.correction(graph) == pytest.approx(calm.correction(graph), rel=0.1)


def test_runs_that_are_far_from_each_other_and_from_the_sum_tell_the_middle():
    """All of them are odd then, the sum too, and nothing would be left to divide by."""
    found = fit(seen(DENSE, TRUTH), DENSE, CURVE)
    one = Observation(kronecker(13).sketch(), 11.0, 1.0)
    assert replace(found, runs=(one, one), missed=(-6.0, 6.0)).correction(one.graph) == pytest.approx(1.0)
    assert 1.0 < replace(found, runs=(one,), missed=(6.0,)).correction(one.graph) <= np.exp(6.0)


@pytest.mark.parametrize("numbers", [(-1.0, 1.0), (1.0, 0.0), (1.0, float("nan")), (float("inf"), 1.0)])
def test_an_observation_that_cannot_be_is_refused(numbers):
    with pytest.raises(ValueError, match="no number"):
        Observation(kronecker(10).sketch(), *numbers)
    with pytest.raises(ValueError, match="places"):
        Observation(kronecker(10).sketch(), 1.0, 1.0, (0.5,))

"""f between known points, pivots, and what times say about rates and weights."""

from itertools import pairwise

import numpy as np
import pytest
from balance_samples import VERTICES, Machine, offsets, power_law
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import least_squares

from arcflux.engine.balance import fit as module
from arcflux.engine.balance.weights import Observed, Weights
from arcflux.errors import UsageError

DEGREES = st.lists(st.integers(0, 30), min_size=1, max_size=40)


@st.composite
def functions(draw):
    """Weights with any known points, and each vertex's share of the work, spread by hand."""
    degrees = draw(DEGREES)
    n = len(degrees)
    known = sorted({0, n, *draw(st.lists(st.integers(0, n), max_size=5))})
    steps = draw(st.lists(st.floats(0.01, 1), min_size=len(known) - 1, max_size=len(known) - 1))
    values = np.concatenate(([0.0], np.cumsum(steps) / sum(steps)))
    shares = []
    for begin, end, low, high in zip(known, known[1:], values, values[1:], strict=False):
        cell = [d + 1 for d in degrees[begin:end]]
        shares += [(high - low) * d / sum(cell) for d in cell]
    return Weights(offsets(degrees), np.array(known), values), shares


@given(functions())
def test_f_is_the_sum_of_what_vertices_weigh(case):
    f, shares = case
    for v in range(len(shares) + 1):
        assert f(v) == pytest.approx(sum(shares[:v]), abs=1e-12)


@given(functions(), st.lists(st.floats(0.1, 5), min_size=1, max_size=6), st.data())
def test_pivots_are_the_vertices_nearest_to_what_is_wanted(case, wanted, data):
    f, shares = case
    begin = data.draw(st.integers(0, len(shares)))
    end = data.draw(st.integers(begin, len(shares)))
    bounds = f.pivots(np.array(wanted), begin, end)
    assert (bounds[0], bounds[-1]) == (begin, end)
    assert (np.diff(bounds) >= 0).all()
    for i in range(1, len(wanted)):
        share = sum(wanted[:i]) / sum(wanted) * sum(shares[begin:end])
        off = [abs(sum(shares[begin:v]) - share) for v in range(begin, end + 1)]
        assert off[bounds[i] - begin] <= min(off) + 1e-9


def test_equal_degrees_are_cut_equally():
    f = Weights.of_edges(np.arange(0, 801, 8))
    assert f.pivots(np.ones(4)).tolist() == [0, 25, 50, 75, 100]


def test_vertices_without_edges_are_cut_too():
    assert Weights.of_edges(np.zeros(101, np.uint64)).pivots(np.ones(4)).tolist() == [0, 25, 50, 75, 100]


def test_before_anything_is_seen_edges_are_work():
    degrees = power_law()
    seen = Observed(offsets(degrees), 4)
    assert (seen.rates == 1).all()
    parts = np.add.reduceat(degrees + 1, seen.weights.pivots(np.ones(4))[:-1])
    assert parts.max() - parts.min() <= 2 * degrees.max()


@settings(deadline=None, max_examples=40)
@given(st.integers(2, 8), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_what_was_measured_often_is_known(parts, rounds, seed):
    rng = np.random.default_rng(seed)
    degrees = power_law(1)
    machine = Machine((degrees + 1.0) ** rng.uniform(0.7, 1.1), rng.uniform(1, 3, parts))
    seen = Observed(offsets(degrees), parts)
    for _ in range(rounds):
        bounds = np.sort(np.concatenate(([0, VERTICES], rng.choice(VERTICES, parts - 1, replace=False))))
        for _ in range(16):
            seen.add(bounds, machine.exact(bounds))
    expected, times = seen.seconds(bounds), machine.exact(bounds)
    assert expected / expected.sum() == pytest.approx(times / times.sum(), rel=0.05, abs=module.LEAST / parts)
    assert np.log(seen.rates).sum() == pytest.approx(0, abs=1e-9)
    assert (np.diff(seen.weights.values) > 0).all()


def test_a_single_superstep_is_believed_less_than_many():
    """Supersteps say one thing, and one with slightly other bounds says another, which is noise if they were many."""
    found = []
    for repeats in (1, 8):
        seen = Observed(np.arange(0, 8001, 8), 2)
        for _ in range(repeats):
            for took in ([0.9, 1.0], [1.1, 1.0]):
                seen.add(np.array([0, 500, 1000]), np.array(took))
        seen.add(np.array([0, 510, 1000]), np.array([1.3, 1.0]))
        found.append(seen.seconds(np.array([0, 510, 1000])))
    (weak, _), (strong, _) = (times / times[1] for times in found)
    assert 1.3 > weak > strong > 1.0


def test_what_a_vertex_costs_is_learnt():
    """Parts with the same in-edges and very different numbers of vertices: one number explains them all."""
    degrees = power_law(3)
    for costs in (0.2, 8.0):
        machine = Machine(degrees + costs, np.ones(4))
        seen = Observed(offsets(degrees), 4)
        for _ in range(3):
            bounds = seen.weights.pivots(1 / seen.rates)
            for _ in range(8):
                seen.add(bounds, machine.times(bounds))
        assert machine.imbalance(seen.weights.pivots(1 / seen.rates)) < 0.03
        assert (seen.weights.per_vertex > 2) == (costs > 2)


def test_the_fit_is_the_least_sum_of_squares():
    """Against a minimiser that knows nothing of cells in a row, and the objective written down plainly."""
    degrees, parts, assumed = power_law(2), 3, 1.5
    machine = Machine(degrees**0.5 + 1, [2, 1, 1.5], noise=0.05)
    cuts = [np.array([0, *cut, VERTICES]) for cut in ((300, 3000), (200, 9000), (900, 5000))]
    errors = [0.05, 0.03, 0.08]
    times = [machine.times(bounds) for bounds in cuts]
    rounds = [
        module.Round(bounds, took / took.sum(), error) for bounds, took, error in zip(cuts, times, errors, strict=True)
    ]
    found = module.fitted(rounds, offsets(degrees), assumed)
    knots = sorted({int(v) for bounds in cuts for v in bounds})
    edges, vertices = [sum(degrees[a:b]) for a, b in pairwise(knots)], [b - a for a, b in pairwise(knots)]
    whole = sum(edges) + assumed * sum(vertices)

    def off(x):
        rates, factors, (cost,), scales = np.split(x, [parts, parts + len(edges), parts + len(edges) + 1])
        shift = cost - np.log(assumed)
        found = [*(rates / module._UNEQUAL), *(module._LOOSE**0.5 * np.concatenate((factors, scales)))]
        found.append(shift / module._COST)
        work = [parts * (e + assumed * v) / whole for e, v in zip(edges, vertices, strict=True)]
        for c in range(len(edges) - 1):
            width = max((work[c] + work[c + 1]) / 2, module._NARROW)
            found.append((factors[c + 1] - factors[c]) / (module._UNEVEN * width**0.5))
        for r, (bounds, took) in enumerate(zip(cuts, times, strict=True)):
            for i in range(parts):
                inside = [
                    (edges[c] + np.exp(cost) * vertices[c]) / whole * np.exp(factors[c]) for c in range(len(edges))
                    if bounds[i] <= knots[c] < bounds[i + 1]
                ]  # fmt: skip
                differs = np.log(took[i] / took.sum()) - rates[i] - scales[r] - np.log(sum(inside))
                small = max(1.0, took.mean() / took[i])
                found.append(differs / (errors[r] * small**0.5))
        return np.array(found)

    start = np.zeros(parts + len(edges) + 4)
    start[parts + len(edges)] = np.log(assumed)
    best = least_squares(off, start, xtol=1e-12, ftol=1e-12).x
    assert found.rates - found.rates.mean() == pytest.approx(best[:parts] - best[:parts].mean(), abs=2e-3)
    assert found.per_vertex == pytest.approx(best[parts + len(edges)], abs=2e-2)
    assert found.factors == pytest.approx(best[parts : parts + len(edges)], abs=2e-2)


def test_rates_are_told_from_weights():
    """The same first times from a slow device and from heavy vertices; the second superstep tells them apart."""
    degrees = np.full(VERTICES, 16)
    heavy = np.where(np.arange(VERTICES) // (VERTICES // 4) == 1, 2.0, 1.0)
    found = []
    for machine in (Machine(np.ones(VERTICES), [1, 2, 1, 1]), Machine(heavy, np.ones(4))):
        seen = Observed(offsets(degrees), 4)
        bounds = np.linspace(0, VERTICES, 5).astype(int)
        for _ in range(3):
            seen.add(bounds, machine.times(bounds))
            found.append(seen.rates[1] / seen.rates[[0, 2, 3]].mean())
            bounds = seen.weights.pivots(1 / seen.rates)
    slow, weighty = found[:3], found[3:]
    assert slow[0] == pytest.approx(weighty[0])
    assert slow[2] > 1.6
    assert slow[2] > weighty[2] + 0.2


def test_equal_bounds_are_averaged_and_do_not_drive_out_others():
    seen = Observed(np.arange(0, 801, 8), 2)
    seen.add(np.array([0, 50, 100]), np.array([3.0, 1.0]))
    for took in ([1.1, 0.9], [0.9, 1.1]) * 10:
        seen.add(np.array([0, 20, 100]), np.array(took))
    assert len(seen._rounds) == 2
    assert seen.weights.known.tolist() == [0, 20, 50, 100]


def test_the_median_of_supersteps_counts():
    seen = Observed(np.arange(0, 801, 8), 2)
    for took in ([2.0, 2.0], [9.0, 1.0], [3.0, 3.0], [1.0, 30.0], [4.0, 4.0]):
        seen.add(np.array([0, 20, 100]), np.array(took))
    assert seen.shares.tolist() == [0.5, 0.5]
    assert seen.repeats == 5


def test_noise_is_what_differs_while_bounds_do_not():
    rng = np.random.default_rng(4)
    found = []
    for spread in (0.002, 0.1, 0.3):
        seen = Observed(np.arange(0, 801, 8), 4)
        slacks = []
        for _ in range(16):
            seen.add(np.array([0, 20, 50, 70, 100]), np.exp(rng.normal(0, spread, 4)))
            slacks.append(seen.slack)
        assert slacks[-1] < slacks[0]
        found.append(seen.noise)
    assert found[0] < 0.01
    assert found[1] == pytest.approx(0.1, rel=0.4)
    assert found[2] == pytest.approx(0.3, rel=0.4)


def test_bounds_that_moved_are_no_noise():
    seen = Observed(np.arange(0, 801, 8), 2)
    for cut in (50, 40, 30, 20):
        for _ in range(6):
            seen.add(np.array([0, cut, 100]), np.array([2.0 * cut, 100.0 - cut]))
    assert seen.noise < 1e-9


def test_setbacks_make_plans_rarer_and_successes_make_up_for_them():
    seen = Observed(np.arange(0, 801, 8), 2)
    cut, waits = 50, []
    for came_true in [False] * 7 + [True] * 5:
        while not seen.ready:
            seen.add(np.array([0, cut, 100]), np.array([2.0, 1.0]))
        waits.append(seen.waited)
        seen.planned(seen.hope(np.array([1.0, 1.0])))
        cut -= 1
        seen.add(np.array([0, cut, 100]), np.array([2.0, 1.0] if not came_true else [1.0, 1.0]))
        seen.add(np.array([0, cut, 100]), np.array([2.0, 1.0]))
    assert waits[1:] == [2, 2, 4, 8, 16, 16, 16, 8, 4, 2, 2]


def test_times_of_nothing_say_nothing():
    seen = Observed(np.arange(0, 801, 8), 2)
    seen.add(np.array([0, 50, 100]), np.zeros(2))
    assert seen.weights.known.tolist() == [0, 100]
    empty = Observed(np.zeros(1, np.uint64), 2)
    empty.add(np.array([0, 0, 0]), np.array([1.0, 2.0]))
    assert empty.weights.pivots(1 / empty.rates).tolist() == [0, 0, 0]


@pytest.mark.parametrize("times", [[1.0, 0.0, 0.0], [0.0, 1.0, 1e-12]])
def test_parts_without_vertices_or_without_time(times):
    seen = Observed(np.arange(0, 801, 8), 3)
    for bounds in ([0, 60, 60, 100], [0, 0, 100, 100], [0, 30, 60, 100]):
        seen.add(np.array(bounds), np.array(times))
        assert np.isfinite(seen.rates).all()
        new = seen.weights.pivots(1 / seen.rates)
        assert (new[0], new[-1]) == (0, 100)
        assert (np.diff(new) >= 0).all()


@pytest.mark.parametrize(
    ("bounds", "times"),
    [
        ([0, 100], [1.0, 1.0]),
        ([0, 60, 50, 100], [1.0, 1.0, 1.0]),
        ([1, 50, 100], [1.0, 1.0]),
        ([0, 50, 99], [1.0, 1.0]),
        ([0, 50, 100], [1.0]),
        ([0, 50, 100], [1.0, -1.0]),
        ([0, 50, 100], [1.0, float("nan")]),
    ],
)
def test_senseless_rounds_are_refused(bounds, times):
    with pytest.raises(UsageError):
        Observed(np.arange(0, 801, 8), 2).add(np.array(bounds), np.array(times))


@pytest.mark.parametrize("per_vertex", [0.0, -1.0, float("nan")])
def test_vertices_that_cost_nothing_are_refused(per_vertex):
    with pytest.raises(UsageError, match="per_vertex"):
        Observed(np.arange(3), 1, per_vertex)


def test_a_fit_that_has_nothing_to_correct_ends() -> None:
    """One part has all of the time: the first step of the search is exactly 0, which divided by it."""
    only = module.Round(np.array([0, 4]), np.array([1.0]), 0.1)
    found = module.fitted([only], np.array([0, 1, 2, 3, 4], np.uint64), 1.0)
    assert found.rates.tolist() == [0.0]
    assert found.per_vertex == 0.0

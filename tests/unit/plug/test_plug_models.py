"""Block counts, Lemmas 1 to 3 and shares against brute force; the vertex cache against a plain one."""

import itertools
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arcflux.errors import UsageError
from arcflux.plug.balance import allocate, capacities, choose_split, shares, slowest
from arcflux.plug.block_size import Rates, best_blocks, lemma_1, pipeline_seconds
from arcflux.plug.cache import VertexCache
from arcflux.plug.estimate import Estimate

rate = st.floats(1e-3, 10)


def simulated(d, s, rates):
    """The pipeline cycle by cycle: in cycle t block t is downloaded, t - 1 computed, t - 2 uploaded."""
    b, total = d / s, 0.0
    for t in range(s + 2):
        stages = [rates.k1 * b * (t < s), (rates.a + rates.k2 * b) * (1 <= t <= s), rates.k3 * b * (t >= 2)]
        total += max(stages)
    return total


@given(st.integers(2, 500), st.integers(2, 40), rate, rate, rate, st.floats(0, 100))
def test_equation_2_is_the_sum_over_cycles(d, s, k1, k2, k3, a):
    rates = Rates(k1, k2, k3, a)
    assert pipeline_seconds(d, s, rates) == pytest.approx(simulated(d, s, rates))


@given(st.integers(50, 3000), rate, rate, rate, st.floats(0.01, 100))
def test_lemma_1_is_the_least_of_equation_2(d, k1, k2, k3, a):
    """Over sizes of two blocks and more, to which equation 2 applies, and those that are not whole as well."""
    rates = Rates(k1, k2, k3, a)
    b, seconds = lemma_1(d, rates)
    least = min(pipeline_seconds(d, s / 8, rates) for s in range(16, 8 * d + 1, max(1, d // 200)))
    if 2 <= d / b <= d:
        assert pipeline_seconds(d, d / b, rates) <= least * 1.0001
        assert seconds == pytest.approx(pipeline_seconds(d, d / b, rates))


@given(st.integers(1, 400), rate, rate, rate, st.floats(0, 100), st.booleans())
def test_the_count_of_blocks_is_the_best_of_all(d, k1, k2, k3, a, alone):
    rates = Rates(k1, k2, k3, a, alone)
    found = best_blocks(d, rates)
    best = min(pipeline_seconds(d, s, rates, every_cycle=True) for s in range(1, d + 1))
    assert pipeline_seconds(d, found, rates, every_cycle=True) <= best * (1 + 1e-9)


def test_lemma_1_takes_too_many_blocks_where_every_cycle_costs():
    rates = Rates(k1=1e-7, k2=1e-8, k3=1e-8, a=1e-3)
    d = 2_000_000
    by_lemma, better = best_blocks(d, rates, lemma=True), best_blocks(d, rates)
    taken = [pipeline_seconds(d, s, rates, every_cycle=True) for s in (by_lemma, better)]
    assert by_lemma > 2 * better
    assert taken[0] > 1.2 * taken[1]


def test_hand_overs_that_cost_nothing_and_rates_that_are_none():
    assert lemma_1(10, Rates(1, 1, 1, 0))[0] == 1
    assert lemma_1(10, Rates(0, 1, 0, 1))[0] == 10
    assert best_blocks(0, Rates(1, 1, 1, 1)) == 1
    with pytest.raises(UsageError, match="k2 is -1"):
        Rates(1, -1, 1, 1)


def test_an_estimate_finds_the_rates_that_it_is_shown():
    seen = Estimate()
    assert not seen.known
    for size in (1000, 2000, 500, 4000):
        seen.download.note(size, size * 2e-8)
        seen.compute.note(size, size * 5e-8)
        seen.upload.note(size, size * 1e-8)
        seen.note_cycle(size * 5e-8 + 3e-5, size * 5e-8)
    found = seen.rates()
    assert seen.known
    assert (found.k1, found.k2, found.k3, found.a) == pytest.approx((2e-8, 5e-8, 1e-8, 3e-5))


def test_blocks_count_by_their_triplets():
    seen = Estimate()
    for _ in range(30):  # small ones, of which each costs the same besides
        seen.download.note(10, 10 * 2e-8 + 1e-5)
    for _ in range(3):
        seen.download.note(100_000, 100_000 * 2e-8 + 1e-5)
    assert seen.download.rate == pytest.approx(2e-8, rel=0.01)


@given(st.lists(st.floats(0.1, 10), min_size=1, max_size=5), st.integers(0, 10_000))
def test_lemma_2_shares_are_done_together(costs, total):
    bounds = shares(costs, total)
    loads = np.diff(bounds)
    assert bounds[0] == 0
    assert bounds[-1] == total
    assert (loads >= 0).all()
    optimum = total / sum(1 / cost for cost in costs)
    assert slowest(costs, loads) <= optimum + max(costs)  # rounded to whole triplets


def test_lemma_3_and_daemons_in_pieces():
    loads = [400, 100, 200]
    needed = capacities(loads, most=2.0)
    assert (np.array(loads) / needed == 200).all()
    given_to = allocate(loads, [1.0] * 7)
    assert sorted(itertools.chain(*given_to)) == list(range(7))
    held = [len(one) for one in given_to]
    best = min(
        max(load / many for load, many in zip(loads, split, strict=True))
        for split in itertools.product(range(1, 8), repeat=3) if sum(split) == 7
    )  # fmt: skip
    assert max(load / many for load, many in zip(loads, held, strict=True)) == best
    assert choose_split([1.0, 2.0], [[10, 10], [14, 6], [20, 0]]) == 1
    for wrong in ([], [0.0], [1.0, -1.0]):
        with pytest.raises(UsageError):
            shares(wrong, 3)
    with pytest.raises(UsageError):
        capacities([0, 0], 1.0)


class PlainCache:
    """The same by a dictionary, one vertex at a time."""

    def __init__(self, capacity):
        self.capacity, self.weight, self.dirty = capacity, {}, set()

    def evict(self, spared):
        gone = []
        while len(self.weight) > self.capacity and set(self.weight) - spared:
            lightest = min(set(self.weight) - spared, key=lambda v: self.weight[v])
            del self.weight[lightest]
            if lightest in self.dirty:
                self.dirty.discard(lightest)
                gone.append(lightest)
        return gone


@pytest.mark.parametrize("capacity", [0, 1, 3, 8])
def test_the_cache_evicts_the_lightest_and_uploads_the_dirty_ones(capacity):
    draw, size = random.Random(capacity), 8
    cache, plain = VertexCache(size, capacity), PlainCache(capacity)
    for _ in range(300):
        which = np.array(sorted(draw.sample(range(size), draw.randint(0, 3))), np.int64)
        noise = np.array([draw.random() * 1e-3 for _ in range(size)], np.float32)  # no two weigh the same
        cache.weight += noise * cache.present
        plain.weight = {v: float(cache.weight[v]) for v in plain.weight}
        if draw.random() < 0.3:
            gone = cache.age().tolist()
            plain.weight = {v: weight * 0.5 for v, weight in plain.weight.items()}
            assert sorted(gone) == sorted(plain.evict(set()))
            continue
        missing = cache.miss(which).tolist()
        assert missing == [v for v in which.tolist() if v not in plain.weight]
        for v in which.tolist():
            plain.weight[v] = plain.weight.get(v, 0.0) + (v in plain.weight)
        change = draw.random() < 0.5
        gone = (cache.change(which) if change else cache.admit(which)).tolist()
        for v in which.tolist():
            plain.weight[v] += 1
        plain.dirty |= set(which.tolist()) if change else set()
        assert sorted(gone) == (sorted(plain.evict(set(which.tolist()))) if len(which) else [])
        assert set(np.flatnonzero(cache.present).tolist()) == set(plain.weight)
        assert set(np.flatnonzero(cache.dirty).tolist()) == plain.dirty


def test_a_cache_of_no_sense():
    with pytest.raises(UsageError, match="capacity"):
        VertexCache(3, -1)

"""The direction of a superstep: by the rates that were expected, until others are measured."""

import pytest

import arcflux as af
from arcflux.compile.direction import Direction
from arcflux.compile.lower import lower

VERTICES, ARCS = 1000, 1_000_000


def direction(cost_ratio=3.0, asked="auto", program=af.algorithms.Components):
    return Direction(lower(program, {}, False), asked, VERTICES, ARCS, cost_ratio)


@pytest.mark.parametrize("cost_ratio", [0.5, 2.0, 3.0, 10.0])
def test_at_first_what_is_expected_decides(cost_ratio):
    few, many = round(0.9 * ARCS / cost_ratio), round(1.1 * ARCS / cost_ratio)
    assert not direction(cost_ratio).choose(10, few)
    assert direction(cost_ratio).choose(10, many)


def test_measured_rates_replace_expected_ones():
    """Push was expected to be 10 times as expensive, and turns out as cheap as pull: then it is taken."""
    found = direction(10.0)
    assert found.choose(500, 200_000)  # 200,000 arcs at 10 are more than a million
    found.measured(200_000, 1.0)  # pull: a microsecond an arc
    assert not found.choose(50, 50_000)
    found.measured(50_000, 0.05)  # push: a microsecond an arc, too
    assert not found.choose(500, 200_000)  # what was pulled before is pushed now
    assert found.push_rate == pytest.approx(found.pull_rate)


def test_push_that_costs_more_than_expected_is_left():
    found = direction(1.0)
    assert not found.choose(500, 300_000)
    found.measured(300_000, 3.0)  # push: 10 microseconds an arc
    assert not found.choose(500, 300_000)  # of pull nothing is known but that it was expected to cost as much
    found.measured(300_000, 3.0)
    assert found.choose(1000, ARCS + 1)
    found.measured(ARCS, 1.0)  # pull: one
    assert found.choose(500, 300_000)  # what was pushed before is pulled now
    assert found.push_rate == pytest.approx(10 * found.pull_rate)


def test_a_push_of_few_arcs_says_nothing():
    found = direction(3.0)
    found.choose(1, 100)
    found.measured(100, 1.0)  # a second for a hundred arcs: the barrier, not the arcs
    assert not found.choose(10, 300_000)


def test_what_is_asked_for_is_not_corrected():
    found = direction(3.0, "push")
    assert not found.choose(VERTICES, ARCS)
    found.measured(ARCS, 100.0)
    assert not found.choose(VERTICES, ARCS)


@pytest.mark.parametrize(("cost_ratio", "first"), [(0.5, "push"), (20.0, "pull")])
@pytest.mark.parametrize("threads", [1, 2])
def test_kernels_begin_with_what_is_expected(cost_ratio, first, threads, monkeypatch):
    from dataclasses import replace

    from arcflux.engine import front

    checked = front.checked_options

    def expecting(*given):
        return replace(checked(*given), push_over_pull=cost_ratio)

    monkeypatch.setattr(front, "checked_options", expecting)
    graph = af.load("urand:12")
    result = af.connected_components(graph, "min-label", threads=threads)
    assert result.history[0].direction == first
    assert f"{cost_ratio:.1f}x as much" in result.history[0].reason
    assert len(set(result["component"].tolist())) == len(set(af.connected_components(graph)["component"].tolist()))


@pytest.mark.parametrize(("found", "pull"), [(11_000, True), (2_000, False)])
def test_a_search_pulls_sooner_where_more_edges_find_a_vertex(found, pull):
    """A tenth of the unexplored edges: pushed if few of the last ones found anybody, or each would cost an atomic."""
    search = Direction(lower(af.algorithms.BFS, {}, False), "auto", 100_000, 1_200_000)
    assert not search.choose(1_000, 12_000)
    search.measured(12_000, 1.0)
    assert search.choose(found, 120_000) == pull


def test_a_search_pulls_a_large_frontier_and_pushes_the_last_one():
    search = Direction(lower(af.algorithms.BFS, {}, False), "auto", 100_000, 1_200_000)
    assert search.choose(30_000, 400_000)
    search.measured(400_000, 1.0)
    assert search.choose(40_000, 700_000)
    search.measured(700_000, 1.0)
    assert not search.choose(1_000, 10_000)  # less than a look at every vertex

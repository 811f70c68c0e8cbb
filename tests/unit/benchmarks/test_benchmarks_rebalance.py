"""benchmarks/rebalance.py: the model's run has the shape of the figure, and what is drawn is what was measured."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import arcflux as af
import rebalance
from arcflux.engine.balance.plan import Prices
from arcflux.engine.balance.weights import Weights
from rebalance import SCENARIOS, Bars, Costs, Scenario, by_degree, judge, of_history, picture, simulated, table, usual

SLOW, SLOW_APART, DEGREES, DEGREES_APART, _ = SCENARIOS


@pytest.fixture(scope="module")
def graph() -> af.Graph:
    return af.load("kron:14,seed=2")


@pytest.fixture(autouse=True)
def _slow_motion(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand times slower than a machine, so that it does not matter how long planning takes."""
    monkeypatch.setattr(rebalance, "EDGE", 1e3 * rebalance.EDGE)
    monkeypatch.setattr(rebalance, "VERTEX", 1e3 * rebalance.VERTEX)
    monkeypatch.setattr(rebalance, "PRICES", Prices(network=1e6, link=4e6))


@pytest.mark.parametrize("scenario", [SLOW, SLOW_APART])
def test_rebalancing_brings_the_model_to_the_line(graph: af.Graph, scenario: Scenario) -> None:
    off, auto = (simulated(graph, scenario, how, 16) for how in ("off", "auto"))
    assert off.balanced_after is None
    assert not any(off.moving)
    assert auto.balanced_after is not None
    assert auto.balanced_after <= 4
    assert auto.settled < 0.6 * off.settled
    assert sum(auto.moving[:4]) > 0.7 * sum(auto.moving) > 0


def test_local_alone_stops_short_between_nodes(graph: af.Graph) -> None:
    off, local, auto = (simulated(graph, SLOW_APART, how, 16) for how in ("off", "local", "auto"))
    assert auto.settled < 0.95 * local.settled < 0.95 * off.settled
    assert sum(auto.moving) > sum(local.moving) > 0


def test_parts_with_as_many_vertices_each_are_far_from_the_line(graph: af.Graph) -> None:
    ordered = by_degree(graph)
    for scenario in (DEGREES, DEGREES_APART):
        off, auto = (simulated(ordered, scenario, how, 16) for how in ("off", "auto"))
        assert off.slowest[0] > 1.6 * off.perfect[0]
        assert auto.balanced_after is not None
        assert auto.balanced_after <= 4
        assert auto.settled < 0.6 * off.settled


def test_what_parts_usually_take_is_not_what_one_superstep_took() -> None:
    times = np.array([[1.0, 3.0], [1.1, 3.3], [9.0, 3.0], [0.9, 2.7], [1.0, 30.0]])
    assert usual(times).tolist() == pytest.approx([1.1, 3.3])


def test_costs_say_where_work_lies_and_judge_bounds_by_it(graph: af.Graph) -> None:
    """All work is in the first half: parts by halves are then as unequal as can be, whatever was measured of them."""
    n, weights = graph.vertices, Weights.of_edges(graph.into.offsets)
    costs = Costs(weights, np.array([0, n // 2, n]), np.array([0.0, 2.0, 2.0]))
    assert costs([0, n // 2, n]).tolist() == [2.0, 0.0]
    assert costs([0, n // 4, n]).sum() == pytest.approx(2.0)
    bars = Bars(SLOW, "auto")
    bars.add([1.0] * 4, 0.0, 0.0, (0, n // 4, n // 2, n // 2, n))
    judge(bars, costs, Costs(weights, costs.bounds, 3 * costs.before))
    (first, second, *others), pace = bars.judged[0], rebalance.PACE
    assert first / 2 + second == pytest.approx(pace * 4.0)
    assert others == [0.0, 0.0]
    assert bars.slowest[0] == max(first, second)


def test_costs_are_measured(graph: af.Graph) -> None:
    costs = Costs.measured(graph, cells=6, supersteps=3)
    assert len(costs.bounds) == len(costs.before) == 7
    assert (np.diff(costs.before) > 0).all()
    assert costs(costs.bounds) == pytest.approx(np.diff(costs.before))


def test_by_degree(graph: af.Graph) -> None:
    found = by_degree(graph)
    degrees = np.diff(found.into.offsets.astype(np.int64))
    assert (np.diff(degrees) <= 0).all()
    before = np.sort(np.diff(graph.into.offsets.astype(np.int64)))[::-1]
    assert degrees.tolist() == before[: len(degrees)].tolist()
    assert found.arcs == graph.arcs


def test_bars_of_a_history() -> None:
    steps = [SimpleNamespace(part_seconds=(4.0, 1.0, 1.0, 1.0), planning=0.5, migration=0.25, bounds=(0, 1, 2, 3, 4))]
    bars = of_history(steps, SLOW, "auto")
    assert bars.compute == [4.0]
    assert bars.perfect == [pytest.approx(5 / 3.5)]
    assert bars.total == 4.75
    assert bars.as_json()["planning_share"] == pytest.approx(0.5 / 4.75)


def test_the_table_has_the_median_and_the_worst_of_all_runs() -> None:
    runs = []
    for settled in (2e-3, 2e-3, 3e-3):
        bars = Bars(DEGREES, "auto")
        bars.add([4e-3, 2e-3, 1e-3, 1e-3], 0.0, 0.0)
        for _ in range(4):
            bars.add([settled, 2e-3, 2e-3, 2e-3 + (2e-3 - settled)], 1e-5, 0.0)
        runs.append(bars)
    line = table(runs).splitlines()[1]
    assert "3   4.00 ms   2.00 ms   2.00 ms" in line
    assert line.split()[-8:] == ["50%,", "25%", "1,", "-", "0%,", "50%", "0.33%,", "0.33%"]


def test_picture(graph: af.Graph, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    runs = [simulated(graph, scenario, how, 5) for scenario in (SLOW, DEGREES) for how in ("off", "auto")]
    picture(runs, tmp_path / "new" / "bars.png")
    assert (tmp_path / "new" / "bars.png").read_bytes().startswith(b"\x89PNG")

"""benchmarks/rebalance.py: the model's run has the shape of the figure, and what is drawn is what was measured."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import arcflux as af
import rebalance
from arcflux.engine.rebalance import Prices
from rebalance import SCENARIOS, Bars, Scenario, by_degree, judge, of_history, picture, simulated, table, usual

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


def test_judging_runs_the_bounds_of_all_runs_again(graph: af.Graph) -> None:
    start = tuple(SLOW.start(graph.into.offsets).tolist())
    far = (0, 10, 20, 30, graph.vertices)
    off, auto = Bars(SLOW, "off"), Bars(SLOW, "auto")
    for bars, bounds in ((off, start), (off, start), (auto, start), (auto, far)):
        bars.add([0.0] * 4, 0.0, 0.0, bounds)
    judge(graph, [off, auto], turns=1, supersteps=2)
    assert off.judged == [auto.judged[0]] * 2
    assert auto.judged[1] != auto.judged[0]
    assert min(map(min, auto.judged)) > 0


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
    assert bars.as_json(None)["planning_share"] == pytest.approx(0.5 / 4.75)


def test_the_table_says_how_much_less() -> None:
    off, auto = Bars(DEGREES, "off"), Bars(DEGREES, "auto")
    for _ in range(4):
        off.add([4e-3, 2e-3, 1e-3, 1e-3], 0.0, 0.0)
        auto.add([2e-3, 2e-3, 2e-3, 2e-3], 1e-5, 0.0)
    lines = table([off, auto]).splitlines()
    assert "4.00 ms   4.00 ms   2.00 ms" in lines[1]
    assert lines[2].split()[-3:] == ["50%", "0", "0.50%"]


def test_picture(graph: af.Graph, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    runs = [simulated(graph, scenario, how, 5) for scenario in (SLOW, DEGREES) for how in ("off", "auto")]
    picture(runs, tmp_path / "new" / "bars.png")
    assert (tmp_path / "new" / "bars.png").read_bytes().startswith(b"\x89PNG")

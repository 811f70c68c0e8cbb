"""The decisions of a run with times that the test writes: when plans are made, when they take effect, when to wait."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from balance_samples import VERTICES, Machine, offsets, power_law

import arcflux as af
from arcflux import algorithms
from arcflux.devices.base import Device, Timing
from arcflux.engine import balance as module
from arcflux.engine.balance import Balance
from arcflux.engine.rebalance import Prices
from arcflux.partition.parts import Parts

UNIFORM = np.full(VERTICES, 16)
FREE = Prices(network=1e30, link=1e30)


def run(machine: Machine, degrees: Any, start: Any, supersteps: int) -> list[Any]:
    """The bounds of each superstep, as the engine has them: a plan takes effect one superstep later."""
    balance = Balance(offsets(degrees), np.zeros(len(start) - 1), "auto", FREE, supersteps)
    bounds, told, found = np.asarray(start), None, []
    for step in range(supersteps):
        found.append(bounds)
        balance.note(bounds, machine.times(bounds).tolist())
        if told is not None:
            balance.moved(0.0)
            bounds, told = told, None
        else:
            told = balance.plan(step)
    return found


def within(machine: Machine, degrees: Any, start: Any, seeds: int, *, noise: float) -> tuple[float, float]:
    """In how many runs the fifth superstep is within 10 % of perfect balance, and how many of the last ten are."""
    soon, late = [], []
    for seed in range(seeds):
        noisy = Machine(np.diff(machine.work), machine.rates, noise=noise, seed=seed)
        above = [noisy.exact(bounds).max() / noisy.perfect - 1 for bounds in run(noisy, degrees, start, 20)]
        soon.append(above[4] < 0.1)
        late += [a < 0.1 for a in above[10:]]
    return float(np.mean(soon)), float(np.mean(late))


EVEN = np.linspace(0, VERTICES, 5).astype(int)


@pytest.mark.parametrize(
    ("degrees", "costs", "rates"),
    [
        (UNIFORM, UNIFORM, [2, 1, 1, 1]),
        (UNIFORM, UNIFORM, [1, 1, 2, 1]),
        (power_law(), power_law() + 8.0, [1, 1, 1, 1]),
        (power_law(), power_law() + 1.0, [1, 1, 1, 1]),
    ],
    ids=["slow first", "slow third", "equal vertices", "equal vertices, light"],
)
def test_after_four_supersteps_in_spite_of_the_delay_and_of_noise(degrees: Any, costs: Any, rates: list[float]) -> None:
    """Bounds move after the second superstep and after the fourth; noise is what is measured on busy cores."""
    machine = Machine(costs, rates)
    assert within(machine, degrees, EVEN, 1, noise=0.0) == (1.0, 1.0)
    assert within(machine, degrees, EVEN, 40, noise=0.03) >= (0.99, 0.99)
    soon, late = within(machine, degrees, EVEN, 40, noise=0.06)
    assert soon > 0.8
    assert late > 0.97


def test_planning_stays_within_its_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock on which each plan takes a millisecond; supersteps take ten, so two plans use up what 20 allow."""
    ticks = iter(np.arange(0, 10, 1e-3).tolist())
    monkeypatch.setattr(module.time, "thread_time", lambda: next(ticks))
    balance = Balance(offsets(UNIFORM), np.zeros(4), "auto", FREE, 20)
    rng, planned, bounds = np.random.default_rng(1), [], EVEN
    for step in range(20):
        bounds = bounds + np.array([0, 1, 2, 1, 0])
        balance.note(bounds, (1e-2 * rng.uniform(0.5, 1, 4)).tolist())
        before = balance.spent
        balance.plan(step)
        planned += [step] if balance.spent > before else []
    assert 1 <= len(planned) <= 2
    assert balance.spent <= 0.01 * balance.computed * 1.2


class Scripted(Device):
    """A core whose kernels take as long as the test says, by the part that it has."""

    def __init__(self, seconds: Callable[[], float]) -> None:
        super().__init__("scripted")
        self.script = seconds

    @contextmanager
    def timed(self) -> Iterator[Timing]:
        took = Timing()
        yield took
        took.seconds = self.script()


class Script:
    """The times of parts by superstep, whatever their vertices are."""

    def __init__(self, times: list[list[float]]) -> None:
        self.times, self.step = times, [0] * len(times[0])

    def device(self, i: int) -> Scripted:
        def seconds() -> float:
            row = self.times[min(self.step[i], len(self.times) - 1)]
            self.step[i] += 1
            return row[i]

        return Scripted(seconds)


GRAPH = af.load("kron:10")


def history(times: list[list[float]], supersteps: int, **options: Any) -> Any:
    script = Script(times)
    devices = [script.device(i) for i in range(len(times[0]))]
    with pytest.warns(UserWarning, match="before it converged"):
        return algorithms.pagerank(GRAPH, tol=0.0, max_iter=supersteps, devices=devices, **options).history


def moved(steps: Any) -> list[int]:
    """The supersteps after which bounds were others."""
    return [k for k in range(len(steps) - 1) if steps[k].bounds != steps[k + 1].bounds]


@pytest.mark.parametrize("per_node", [None, 1])
def test_a_plan_takes_effect_one_superstep_later(per_node: int | None) -> None:
    """Times differ in the first superstep: its plan is made in the second, whose end is when bounds move."""
    steps = history([[3.0, 1.0], [3.0, 1.0], [1.0, 1.0]], 8, ranks_per_node=per_node)
    assert [step.part_seconds for step in steps[:3]] == [(3.0, 1.0), (3.0, 1.0), (1.0, 1.0)]
    assert moved(steps) == [1]
    assert steps[2].bounds[1] < steps[0].bounds[1]
    assert [k for k, step in enumerate(steps) if step.migration > 0] == [1]


def test_what_was_measured_before_a_move_took_effect_counts() -> None:
    """The second superstep still had the old bounds, and corrects what the first said about them."""
    found = [history([[3.0, 1.0], second, [1.2, 1.0], [1.2, 1.0]], 6) for second in ([3.0, 1.0], [1.0, 1.0])]
    assert [steps[2].bounds for steps in found[:1]] == [found[1][2].bounds]
    assert found[0][4].bounds != found[1][4].bounds


def test_balanced_parts_are_left_alone() -> None:
    assert moved(history([[1.0, 1.01, 0.99]], 12)) == []


def test_moves_that_bring_nothing_get_rarer() -> None:
    """The first part always takes three times as long, whatever it has: after two setbacks patience doubles.

    The third bounds are looked at for two supersteps, since their times are a surprise.
    """
    steps = history([[3.0, 1.0]], 60)
    gaps = np.diff(moved(steps)).tolist()
    assert gaps[:5] == [2, 3, 4, 8, 16]


def test_off_and_single_parts_plan_nothing() -> None:
    parts = Parts(GRAPH, 2, "ranges", bounds=np.array([0, 9, GRAPH.vertices]))
    assert moved(history([[9.0, 1.0]], 6, parts=parts, rebalance="off")) == []
    assert moved(history([[9.0]], 6)) == []

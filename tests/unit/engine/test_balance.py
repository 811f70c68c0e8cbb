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
from arcflux.engine.balance import schedule as module
from arcflux.engine.balance.plan import Prices
from arcflux.engine.balance.schedule import Balance, urgent
from arcflux.partition.parts import Parts

UNIFORM = np.full(VERTICES, 16)
FREE = Prices(network=1e30, link=1e30)


def run(machine: Machine, degrees: Any, start: Any, supersteps: int) -> list[Any]:
    """The bounds of each superstep, as the engine has them: at first a plan takes effect at once, then one later."""
    balance = Balance(offsets(degrees), np.zeros(len(start) - 1), "auto", FREE, supersteps)
    bounds, told, found = np.asarray(start), None, []
    for step in range(supersteps):
        found.append(bounds)
        times = machine.times(bounds).tolist()
        balance.note(bounds, times)
        heard, told = told, None if told is not None else balance.plan(step)
        if heard is None and urgent(step, times):
            heard, told = told, None
        if heard is not None:
            balance.moved(0.0)
            bounds = heard
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
def test_after_four_supersteps_in_spite_of_noise(degrees: Any, costs: Any, rates: list[float]) -> None:
    """Bounds move after each of the first four; noise is what is measured on busy cores."""
    machine = Machine(costs, rates)
    assert within(machine, degrees, EVEN, 1, noise=0.0) == (1.0, 1.0)
    assert within(machine, degrees, EVEN, 40, noise=0.03) == (1.0, 1.0)
    soon, late = within(machine, degrees, EVEN, 40, noise=0.06)
    assert soon > 0.92
    assert late > 0.97


def test_small_parts_are_less_sure() -> None:
    """What disturbs a part does so for a while: one with a tenth of the work is off by three times as much of its own.

    Parts with as many vertices each of a power-law graph are like that, all but the first.
    """
    soon = []
    for seed in range(40):
        machine = Machine(power_law() ** 1.1 + 1.0, np.ones(4), seed=seed)

        def times(bounds: Any, machine: Machine = machine) -> Any:
            exact = machine.exact(bounds)
            off = 0.06 * np.sqrt(np.maximum(1, exact.mean() / np.maximum(exact, 1e-9)))
            return exact * np.exp(off * machine.rng.standard_normal(4))

        machine.times = times  # type: ignore[method-assign]
        bounds = run(machine, power_law(), EVEN, 5)[4]
        soon.append(machine.exact(bounds).max() / machine.perfect < 1.1)
    assert np.mean(soon) > 0.85


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
    return algorithms.pagerank(GRAPH, dangling="drop", tol=0.0, max_iter=supersteps, devices=devices, **options).history


def moved(steps: Any) -> list[int]:
    """The supersteps after which bounds were others."""
    return [k for k in range(len(steps) - 1) if steps[k].bounds != steps[k + 1].bounds]


@pytest.mark.parametrize("per_node", [None, 1])
def test_an_urgent_plan_takes_effect_at_once(per_node: int | None) -> None:
    """Times differ by seconds in the first superstep: everybody waits for the plan."""
    steps = history([[3.0, 1.0], [1.0, 1.0]], 8, ranks_per_node=per_node)
    assert [step.part_seconds for step in steps[:2]] == [(3.0, 1.0), (1.0, 1.0)]
    assert moved(steps) == [0]
    assert steps[1].bounds[1] < steps[0].bounds[1]
    assert [k for k, step in enumerate(steps) if step.migration > 0] == [0]


@pytest.mark.parametrize("per_node", [None, 1])
def test_what_is_not_worth_waiting_for_takes_effect_one_superstep_later(per_node: int | None) -> None:
    """A millisecond is about what a plan takes: it is made in the second superstep, whose end is when bounds move."""
    steps = history([[3e-3, 1e-3]] * 2 + [[1e-3, 1e-3]], 400, ranks_per_node=per_node)
    assert moved(steps) == [1]
    assert steps[2].bounds[1] < steps[0].bounds[1]
    assert [k for k, step in enumerate(steps) if step.migration > 0] == [1]


def test_what_was_measured_before_a_move_took_effect_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits; the second superstep still had the old bounds, and corrects what the first said about them."""
    monkeypatch.setattr(module, "_FIRST", 0)
    uneven, nearly = [3.0, 1.0], [1.2, 1.0]
    found = [history([uneven, second, nearly, nearly], 6) for second in (uneven, [1.0, 1.0])]
    assert found[0][2].bounds == found[1][2].bounds
    assert found[0][4].bounds != found[1][4].bounds


def test_what_bytes_explain_is_not_what_a_move_costs_besides() -> None:
    """Moving took as long as its bytes and a tenth of a second; the next is expected to take a tenth and its bytes."""
    balance = Balance(offsets(UNIFORM), np.array([0, 1]), "auto", Prices(network=1e7), 20)
    balance.note([0, VERTICES // 2, VERTICES], (3.0, 1.0))
    assert balance.plan(0) is not None
    assert balance.made is not None
    assert balance.made.cost > 0.01
    balance.moved(balance.made.cost + 0.1)
    assert balance.prices.each == pytest.approx(0.1)
    balance.moved(0.0)
    assert balance.prices.each == 0.0


@pytest.mark.parametrize(
    ("step", "times", "expected"),
    [
        (0, (0.3, 0.1), True),
        (3, (0.3, 0.1), True),
        (4, (0.3, 0.1), False),  # later ones take effect later
        (0, (3e-3, 1e-3), False),  # one millisecond is what planning takes
        (0, (10.1, 10.0), False),  # balanced
        (0, (5.0,), False),
        (0, (0.0, 0.0), False),
    ],
)
def test_urgent(step: int, times: tuple[float, ...], expected: bool) -> None:
    assert urgent(step, times) is expected


def test_balanced_parts_are_left_alone() -> None:
    assert moved(history([[1.0, 1.01, 0.99]], 12)) == []


def test_moves_that_bring_nothing_get_rarer() -> None:
    """The first part always takes three times as long, whatever it has: after two setbacks patience doubles.

    The third bounds are looked at for two supersteps, since their times are a surprise; later plans take effect later.
    """
    steps = history([[3.0, 1.0]], 60)
    gaps = np.diff(moved(steps)).tolist()
    assert gaps[:5] == [1, 2, 5, 8, 16]


def test_off_and_single_parts_plan_nothing() -> None:
    parts = Parts(GRAPH, 2, "ranges", bounds=np.array([0, 9, GRAPH.vertices]))
    assert moved(history([[9.0, 1.0]], 6, parts=parts, rebalance="off")) == []
    assert moved(history([[9.0]], 6)) == []

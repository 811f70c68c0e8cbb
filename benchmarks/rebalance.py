"""What rebalancing brings, superstep by superstep: figure 18 of Lux, as a table, JSON and a picture.

    python benchmarks/rebalance.py                 # PageRank on parts that run on virtual devices
    python benchmarks/rebalance.py --simulate      # the model alone: times are computed, planning is real

Each superstep is a bar of three pieces: the slowest part's compute, planning, and moving. The line is what a superstep
would take with perfect balance: all work, divided by the speed of all devices.

The times of one superstep are noise on a busy machine: of four parts with the same work the slowest is often 20 % above
the mean. So the table judges bounds, not moments. Before and after each run the same program runs in 48 narrow parts,
whose medians say how much work lies where at that time; from them follows what the parts of any bounds take. Every run
is repeated, and the table has the median and the worst of all.

Devices start from as many in-edges each, as runs do. That is nearly balanced on equal devices, so there is nothing to
gain; what rebalancing brings when vertices are uneven shows from as many vertices each, on vertices in the order of
their degrees, which is how systems start that count vertices. That start is the one that the target for power-law
graphs is about; the table has both.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import arcflux as af
from arcflux.devices import Virtual
from arcflux.engine.balance.plan import Prices
from arcflux.engine.balance.schedule import Balance, urgent
from arcflux.engine.balance.weights import Weights
from arcflux.partition.parts import Parts
from measure import save

# Seconds that the model takes for an in-edge and for a vertex, and what moving costs in it.
EDGE, VERTEX = 4e-9, 2e-8
PRICES = Prices(network=1e9, link=4e9)
# How noisy the model's times are.
NOISE = 0.03
# How many times longer than their kernels all virtual devices take: four then need half a core each, and do not wait
# for each other on two.
PACE = 4.0


@dataclass(frozen=True)
class Scenario:
    """Devices with their slowdowns, how many of them make a node, whether vertices stand in the order of degrees, and
    whether parts begin with as many vertices each, instead of in-edges.

    In that order, parts with as many in-edges as each other have very different numbers of vertices, and the other way
    round, which is what makes power-law graphs uneven.
    """

    name: str
    slowdowns: tuple[float, ...]
    per_node: int
    ordered: bool = False
    by_vertices: bool = False

    @property
    def nodes(self) -> NDArray[Any]:
        return np.arange(len(self.slowdowns)) // self.per_node

    def start(self, in_offsets: NDArray[Any]) -> NDArray[np.int64]:
        """The bounds of the first superstep."""
        if self.by_vertices:
            return np.linspace(0, len(in_offsets) - 1, len(self.slowdowns) + 1).astype(np.int64)
        return Weights.of_edges(in_offsets).pivots(np.ones(len(self.slowdowns)))


_EQUAL = (1.0, 1.0, 1.0, 1.0)
SCENARIOS = (
    Scenario("one node, one of four devices 2x slower", (2.0, 1.0, 1.0, 1.0), 4),
    Scenario("two nodes, one of four devices 2x slower", (2.0, 1.0, 1.0, 1.0), 2),
    Scenario("one node, by degree, equal vertices", _EQUAL, 4, ordered=True, by_vertices=True),
    Scenario("two nodes, by degree, equal vertices", _EQUAL, 2, ordered=True, by_vertices=True),
    Scenario("one node, by degree, equal in-edges", _EQUAL, 4, ordered=True),
)


@dataclass
class Bars:
    """One run: seconds of every superstep, in three pieces, the seconds of each part, and where parts began.

    `judged` are the seconds of each part as they are without the noise of the moment, superstep by superstep.
    """

    scenario: Scenario
    how: str
    parts: list[list[float]] = field(default_factory=list)
    planning: list[float] = field(default_factory=list)
    moving: list[float] = field(default_factory=list)
    bounds: list[tuple[int, ...]] = field(default_factory=list)
    judged: list[list[float]] = field(default_factory=list)

    def add(self, parts: list[float], planning: float, moving: float, bounds: tuple[int, ...] = ()) -> None:
        self.parts.append(parts)
        self.judged.append(parts)
        self.planning.append(planning)
        self.moving.append(moving)
        self.bounds.append(bounds)

    @property
    def compute(self) -> list[float]:
        return [max(parts) for parts in self.parts]

    @property
    def total(self) -> float:
        return sum(self.compute) + sum(self.planning) + sum(self.moving)

    @property
    def slowest(self) -> list[float]:
        return [max(parts) for parts in self.judged]

    @property
    def perfect(self) -> list[float]:
        """What each superstep's compute would take if its work were spread by the devices' speeds."""
        speeds = 1 / np.array(self.scenario.slowdowns)
        return [float((np.array(parts) * speeds).sum() / speeds.sum()) for parts in self.judged]

    @property
    def settled(self) -> float:
        """The median compute of the second half."""
        return float(np.median(self.slowest[len(self.slowest) // 2 :]))

    @property
    def less(self) -> float:
        """How much less than with the bounds of the first superstep, which is without rebalancing, settled is."""
        return 1 - self.settled / self.slowest[0]

    @property
    def planned(self) -> float:
        """Planning's share of all seconds."""
        return sum(self.planning) / self.total

    @property
    def balanced_after(self) -> int | None:
        """Supersteps before the first whose slowest part is within 10 % of perfect balance; None if none is."""
        pairs = zip(self.slowest, self.perfect, strict=True)
        return next((k for k, (slowest, line) in enumerate(pairs) if slowest < 1.1 * line), None)

    @property
    def above(self) -> float:
        """How far the slowest part is above perfect balance at the end, by the run's own times: the median of each part
        in the last quarter, in which bounds seldom move.
        """
        own = usual(np.array(self.parts[-max(1, len(self.parts) // 4) :]))
        speeds = 1 / np.array(self.scenario.slowdowns)
        return float(own.max() * speeds.sum() / (own * speeds).sum() - 1)

    def as_json(self) -> dict[str, Any]:
        return {
            "scenario": self.scenario.name,
            "slowdowns": self.scenario.slowdowns,
            "per_node": self.scenario.per_node,
            "ordered": self.scenario.ordered,
            "rebalance": self.how,
            "by_vertices": self.scenario.by_vertices,
            "parts": self.parts,
            "bounds": self.bounds,
            "judged": self.judged,
            "compute": self.compute,
            "planning": self.planning,
            "moving": self.moving,
            "perfect": self.perfect,
            "settled": self.settled,
            "balanced_after": self.balanced_after,
            "less": self.less,
            "above": self.above,
            "planning_share": self.planned,
        }


def by_degree(graph: Any) -> Any:
    """The same graph with its vertices numbered from the largest in-degree on."""
    out, into = graph.out, graph.into
    number = np.empty(graph.vertices, np.int64)
    number[np.argsort(-np.diff(into.offsets.astype(np.int64)), kind="stable")] = np.arange(graph.vertices)
    sources = np.repeat(np.arange(graph.vertices), np.diff(out.offsets.astype(np.int64)))
    return af.Graph.from_edges(number[sources], number[out.neighbours], directed=True)


def simulated(graph: Any, scenario: Scenario, how: str, supersteps: int, seed: int = 1) -> Bars:
    """A run of the model: parts take as long as their edges and vertices do, moving takes bytes over bandwidth."""
    offsets = graph.into.offsets
    balance = None if how == "off" else Balance(offsets, scenario.nodes, how, PRICES, supersteps)
    bounds, told = scenario.start(offsets), None
    bars = Bars(scenario, how)
    rng = np.random.default_rng(seed)
    for step in range(supersteps):
        work = EDGE * np.diff(offsets[bounds].astype(np.float64)) + VERTEX * np.diff(bounds)
        exact = work * np.array(scenario.slowdowns)
        times = exact * rng.normal(1, NOISE, len(work))
        begun, cost, heard = time.perf_counter(), 0.0, told
        if balance is not None:
            balance.note(bounds, times)
            told = balance.plan(step) if heard is None else None
        planning = time.perf_counter() - begun
        if heard is None and urgent(step, times):
            heard, told = told, None
        if balance is not None and heard is not None and balance.made is not None:
            cost = balance.made.cost
            balance.moved(cost)
        bars.add(times.tolist(), planning, cost, tuple(bounds.tolist()))
        bars.judged[-1] = exact.tolist()
        bounds = bounds if heard is None else heard
    return bars


def measured(graph: Any, scenario: Scenario, how: str, supersteps: int, bounds: Any = None) -> Bars:
    """A real run of PageRank on virtual devices, from the scenario's bounds or from others."""
    devices = [
        Virtual(PACE * slowdown, name=f"device {i}", clock=time.thread_time)
        for i, slowdown in enumerate(scenario.slowdowns)
    ]
    first = scenario.start(graph.into.offsets) if bounds is None else np.array(bounds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it does not converge in so many supersteps
        result = af.pagerank(
            graph, tol=0.0, max_iter=supersteps, parts=Parts(graph, len(devices), "ranges", bounds=first),
            devices=devices, ranks_per_node=scenario.per_node, rebalance=how,
        )  # fmt: skip
    return of_history(result.history, scenario, how)


def of_history(history: Any, scenario: Scenario, how: str) -> Bars:
    """The bars of a run on parts, whose supersteps say how long each part, planning and moving took."""
    bars = Bars(scenario, how)
    for step in history:
        bars.add([float(seconds) for seconds in step.part_seconds], step.planning, step.migration, step.bounds)
    return bars


@dataclass(frozen=True)
class Costs:
    """Where the work of a graph lies: the seconds of all vertices before some, on a core."""

    weights: Weights
    bounds: NDArray[Any]
    before: NDArray[Any]

    @classmethod
    def measured(cls, graph: Any, cells: int = 48, supersteps: int = 12) -> Costs:
        """Run in narrow parts, and take the median of each part's share of a superstep."""
        weights = Weights.of_edges(graph.into.offsets, per_vertex=4.0)
        bounds = weights.pivots(np.ones(cells))
        devices = [Virtual(clock=time.thread_time) for _ in range(cells)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parts = Parts(graph, cells, "ranges", bounds=bounds)
            run = af.pagerank(graph, tol=0.0, max_iter=supersteps + 2, parts=parts, devices=devices, rebalance="off")
        times = np.array([step.part_seconds for step in run.history[2:]])
        return cls(weights, bounds, np.concatenate(([0.0], np.cumsum(usual(times)))))

    def __call__(self, bounds: Any) -> NDArray[Any]:
        """The seconds that a core would take for each part."""
        edges = self.weights.edges(self.bounds)
        return np.diff(np.interp(self.weights.edges(np.asarray(bounds)), edges, self.before))


def judge(bars: Bars, before: Costs, after: Costs) -> None:
    """Say what the parts of each superstep would have taken without the noise of the moment."""
    slow = PACE * np.array(bars.scenario.slowdowns)
    bars.judged = [(slow * (before(bounds) + after(bounds)) / 2).tolist() for bounds in bars.bounds]


def usual(times: NDArray[Any]) -> NDArray[Any]:
    """What parts usually take: medians of their shares, which noise that hits all of them leaves, and of the sum."""
    sums = times.sum(axis=1)
    shares = np.median(times / sums[:, None], axis=0)
    return np.asarray(shares / shares.sum() * np.median(sums))


def judged(graph: Any, scenario: Scenario, how: str, supersteps: int, times: int) -> list[Bars]:
    """So many runs, each judged by the work as it was measured just before and just after."""
    measured(graph, scenario, how, 3)
    found, before = [], Costs.measured(graph)
    for _ in range(times):
        bars = measured(graph, scenario, how, supersteps)
        after = Costs.measured(graph)
        judge(bars, before, after)
        found.append(bars)
        before = after
    return found


def table(runs: list[Bars]) -> str:
    """One line for all runs of a scenario: medians, and of some the worst."""
    titles = f"{'first':>9} {'settled':>9} {'perfect':>9} {'less':>11} {'10 % after':>11} {'above':>9} {'planning':>12}"
    lines = [f"{'':<42} {'rebalance':<9} {'runs':>4} {titles}"]
    for scenario, how in dict.fromkeys((bars.scenario, bars.how) for bars in runs):
        same = [bars for bars in runs if (bars.scenario, bars.how) == (scenario, how)]
        means = ([bars.slowest[0] for bars in same], [bars.settled for bars in same], [bars.perfect for bars in same])
        milliseconds = " ".join(f"{1e3 * float(np.median(s)):6.2f} ms" for s in means)
        less = [bars.less for bars in same]
        after = [np.inf if bars.balanced_after is None else bars.balanced_after for bars in same]
        shares = [bars.planned for bars in same]
        told = "" if how == "off" else f"{np.median(less):4.0%}, {min(less):4.0%}"
        passed = f"{_steps(np.median(after))}, {_steps(max(after))}"
        above = [bars.above for bars in same]
        own = f"{np.median(above):.0%}, {max(above):.0%}"
        planning = f"{np.median(shares):.2%}, {max(shares):.2%}"
        lines.append(
            f"{scenario.name:<42} {how:<9} {len(same):4} {milliseconds} {told:>11} {passed:>11} {own:>9} {planning:>12}"
        )
    return "\n".join([*lines, "less, 10 % after, above, planning: median, worst"])


def _steps(after: float) -> str:
    return "-" if after == np.inf else f"{after:g}"


def picture(runs: list[Bars], path: Path) -> None:
    """Stacked bars of every run, a row for each scenario, with the line of perfect balance."""
    from matplotlib.figure import Figure

    scenarios = list(dict.fromkeys(bars.scenario for bars in runs))
    across = max(sum(bars.scenario == scenario for bars in runs) for scenario in scenarios)
    figure = Figure(figsize=(4.2 * across, 2.8 * len(scenarios)), layout="constrained")
    axes = figure.subplots(len(scenarios), across, squeeze=False, sharey="row")
    for row, scenario in zip(axes, scenarios, strict=True):
        for axis in row:
            axis.set_visible(False)
        for axis, bars in zip(row, (bars for bars in runs if bars.scenario == scenario), strict=False):
            axis.set_visible(True)
            _draw(axis, bars)
        row[0].set_ylabel("milliseconds")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def _draw(axis: Any, bars: Bars) -> None:
    steps = np.arange(1, len(bars.parts) + 1)
    floor = np.zeros(len(steps))
    for label, colour in (("compute", "#5e35b1"), ("planning", "#fbc02d"), ("moving", "#ec6fa9")):
        heights = 1e3 * np.array(getattr(bars, label))
        axis.bar(steps, heights, bottom=floor, label=label, color=colour, width=0.8)
        floor += heights
    line = 1e3 * float(np.median(bars.perfect))
    axis.axhline(line, color="black", linewidth=1, linestyle="--", label="perfect balance")
    axis.set_title(f"{bars.scenario.name}\nrebalance={bars.how!r}", fontsize="small")
    axis.set_xlabel("superstep")
    axis.xaxis.get_major_locator().set_params(integer=True)


def options(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph", default="kron:19", help="anything that af.load takes")
    parser.add_argument("--only", nargs="+", type=int, metavar="N", help="the scenarios with these numbers, from 1 on")
    parser.add_argument("--supersteps", type=int, default=20)
    parser.add_argument("--runs", type=int, default=5, help="how often each is repeated")
    parser.add_argument("--simulate", action="store_true", help="compute times instead of measuring a run")
    parser.add_argument("--out", type=Path, default=Path("results/rebalance.json"), help="the picture lies beside it")
    return parser.parse_args(arguments)


def main() -> None:
    given = options()
    graph = af.load(given.graph)
    chosen = [SCENARIOS[number - 1] for number in given.only or range(1, len(SCENARIOS) + 1)]
    ordered = by_degree(graph) if any(scenario.ordered for scenario in chosen) else graph
    runs: list[Bars] = []
    for scenario in chosen:
        on = ordered if scenario.ordered else graph
        for how in ("auto",) if scenario.per_node == len(scenario.slowdowns) else ("local", "auto"):
            if given.simulate:
                runs += [simulated(on, scenario, how, given.supersteps, seed) for seed in range(given.runs)]
            else:
                runs += judged(on, scenario, how, given.supersteps, given.runs)
        off = simulated(on, scenario, "off", given.supersteps) if given.simulate else None
        runs += [off] if off else judged(on, scenario, "off", given.supersteps, 1)
    print(f"\nPageRank on {given.graph}{', simulated' * given.simulate}\n{table(runs)}")
    save(given.out, {"graph": given.graph, "simulated": given.simulate, "runs": [bars.as_json() for bars in runs]})
    firsts = {(bars.scenario, bars.how): bars for bars in reversed(runs)}
    picture(list(firsts.values())[::-1], given.out.with_suffix(".png"))
    print(f"written: {given.out.with_suffix('.png')}")


if __name__ == "__main__":
    main()

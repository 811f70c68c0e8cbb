"""The experiments of GX-Plug (figures 8, 10 to 15) with daemons of this machine, without Spark: tables, JSON, pictures.

    python benchmarks/plug.py [--scale 16] [--trials 5] [--only pipeline,caching] [--folder build/plug] [--json out]

Shapes are what is compared, not seconds: devices that are not here are virtual ones, which take so many times as long
as a core and say so. What is shown are medians.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import arcflux as af
from arcflux.plug.agent import Agent, Blocks
from arcflux.plug.balance import allocate
from arcflux.plug.block_size import best_blocks, pipeline_seconds
from arcflux.plug.connection import Connection
from arcflux.plug.tables import Tables
from arcflux.plug.template import Template
from arcflux.plug.upper import gas
from measure import save
from plug_figures import draw
from plug_programs import FourPaths, Labels, Ranks

__all__ = ["EXPERIMENTS", "main"]

Row = dict[str, Any]

# What figure 11 switches on, one after another.
SWITCHES: dict[str, dict[str, Any]] = {
    "off": {"cache": 0, "lazy": False, "skip": False},
    "cache": {"lazy": False, "skip": False},
    "lazy": {"skip": False},
    "skip": {},
    "async": {"mode": "async"},
}


class Setting:
    """What all experiments share: where daemons are, how large graphs are, how often things are measured."""

    def __init__(self, folder: str, scale: int, trials: int) -> None:
        self.folder, self.scale, self.trials = folder, scale, trials
        self.social = af.load(f"kron:{scale},weights=1-9")
        side = 1 << max(2, scale // 2 - 1)
        self.road = af.load(f"grid:{side}x{side},weights=1-9")
        self.synthetic = af.load(f"urand:{max(4, scale - 3)},weights=1-9")

    def median(self, work: Callable[[], float]) -> float:
        """The median of several measurements, after one that does not count."""
        work()
        return statistics.median(work() for _ in range(self.trials))

    @contextlib.contextmanager
    def agent(
        self, program: Any, graph: af.Graph, blocks: Blocks, daemons: tuple[str, ...] = ("cpu",)
    ) -> Iterator[Agent]:
        """An agent with a whole graph and its first state."""
        numbers = {name: k for k, name in enumerate("abcd")} if program is FourPaths else {}
        columns = {name: column.dtype.str for name, column in graph.columns.items()}
        template = Template(program, columns, (graph.vertices, graph.edges, graph.arcs), numbers)
        with Agent(daemons, order="async", blocks=blocks, folder=self.folder, threads=1) as agent:
            agent.transfer(template, Tables.of_part(af.partition(graph, 1), 0, template.lowered.columns))
            agent.begin(np.arange(graph.vertices))
            agent.totals = agent.brought
            yield agent


def hand_over(setting: Setting) -> list[Row]:
    """Agent to daemon and back, and how fast blocks cross: against a copy within this process."""
    with (
        setting.agent(Ranks, af.load("path:64"), Blocks(size=1 << 10)) as agent,
        Connection.open("cpu", setting.folder) as daemon,
    ):
        pipeline = agent.daemons[0].pipeline
        assert pipeline is not None
        asked = _often(lambda: daemon.drop(result="none"))
        rested = _often(lambda: daemon.drop(result="none"), pause=1e-3)
        alone = _often(lambda: agent.requestGen(np.arange(64)))
        agent.blocks = Blocks(size=32)
        count = -(-agent.requestGen(np.arange(64)) // 32)
        several = _often(lambda: agent.requestGen(np.arange(64)))
        chunk = pipeline.chunks[0]
        size = min(1 << 20, len(chunk))
        source, own = np.ones(size, np.uint8), np.ones(size, np.uint8)
        rates = {}
        for name, target in (("into the daemon's chunk", chunk[:size]), ("within this process", own)):
            taken = []
            for _ in range(200):
                begun = time.perf_counter()
                np.copyto(target, source)
                taken.append(time.perf_counter() - begun)
            rates[name] = size / statistics.median(taken) / 1e9
    return [
        {"what": "a request after another, us", "value": asked * 1e6},
        {"what": "a request after a pause, us", "value": rested * 1e6},
        {"what": "an iteration of one small block, us", "value": alone * 1e6},
        {"what": f"an iteration of {count} small blocks, us", "value": several * 1e6},
        *({"what": f"GB/s {name}, {size} bytes", "value": rate} for name, rate in rates.items()),
    ]


def _often(work: Callable[[], Any], pause: float = 0.0) -> float:
    """The median of many measurements of something short, after some that do not count."""
    taken = []
    for _ in range(500):
        time.sleep(pause)
        begun = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begun)
    return statistics.median(taken[100:])


def acceleration(setting: Setting) -> list[Row]:
    """Figure 8: plain Python as the upper system without an accelerator, a CPU daemon, and slower virtual devices."""
    small = af.load("kron:9,weights=1-9")
    rows = []
    for name, program, options in _algorithms():
        begun = time.perf_counter()
        af.run(program, small, debug=True, **options)
        plain = time.perf_counter() - begun
        row: Row = {"algorithm": name, "plain Python": plain}
        for daemon in ("cpu", "virtual:4", "virtual:16"):
            row[daemon] = setting.median(partial(_by_gas, setting, small, program, daemons=[daemon], **options))
        row["times, cpu"] = plain / row["cpu"]
        rows.append(row)
    return rows


def _algorithms() -> list[tuple[str, Any, dict[str, Any]]]:
    return [
        ("SSSP-BF, four sources", FourPaths, {"a": 0, "b": 1, "c": 2, "d": 3}),
        ("PageRank, 10 iterations", Ranks, {"max_supersteps": 10}),
        ("label propagation, 15 iterations", Labels, {"max_supersteps": 15}),
    ]


def _by_gas(setting: Setting, graph: af.Graph, program: Any, **options: Any) -> float:
    return float(_gas(setting, graph, program, **options).seconds)


def _gas(setting: Setting, graph: af.Graph, program: Any, **options: Any) -> gas.Plugged:
    return gas.run(graph, program, workers=options.pop("workers", 2), folder=setting.folder, threads=1, **options)


def _iteration(agent: Agent, program: Any, graph: af.Graph) -> np.ndarray[Any, Any]:
    """The senders of the iteration that the paper measures: the first, of SSSP the one with most to do."""
    everybody = np.arange(graph.vertices)
    if program is not FourPaths:
        return everybody
    senders = np.arange(4)
    most = senders
    for step in range(8):
        agent.step = step
        agent.requestGen(senders)
        senders = agent.requestApply(agent.reached())
        if graph.out_degrees[senders].sum() > graph.out_degrees[most].sum():
            most = senders
    return most


def pipeline(setting: Setting) -> list[Row]:
    """Figure 10: no pipeline, a fixed block, and the best one by what is measured while running."""
    rows = []
    for name, program, _ in _algorithms():
        row: Row = {"algorithm": name}
        ways = {"none": Blocks(size=1 << 20, capacity=1 << 20, pipelined=False), "fixed block": Blocks(size=4096),
                "Lemma 1": Blocks(size="lemma", capacity=1 << 20), "best": Blocks(capacity=1 << 20)}  # fmt: skip
        for label, blocks in ways.items():
            with setting.agent(program, setting.social, blocks) as agent:
                senders = _iteration(agent, program, setting.social)
                row[label] = setting.median(lambda agent=agent, senders=senders: _generate(agent, senders))
        row["best over none"] = row["best"] / row["none"]
        rows.append(row)
    return rows


def _generate(agent: Agent, senders: Any) -> float:
    begun = time.perf_counter()
    agent.requestGen(senders)
    taken = time.perf_counter() - begun
    agent.messages = []
    return taken


def block_counts(setting: Setting) -> list[Row]:
    """Figure 15: seconds by the count of blocks, what the model says, and the counts that are chosen."""
    rows = []
    for name, program, _ in _algorithms():
        with setting.agent(program, setting.social, Blocks(capacity=1 << 20)) as agent:
            senders = _iteration(agent, program, setting.social)
            for _ in range(3):
                total = agent.requestGen(senders)
                agent.messages = []
            found = agent.daemons[0].pipeline
            assert found is not None
            rates = found.estimate("gen").rates()
            chosen, lemma = best_blocks(total, rates), best_blocks(total, rates, lemma=True)
            least, known = -(-total // found.capacity), (rates.k1, rates.k2, rates.k3, rates.a)
            counts = sorted(
                {max(least, round(2**k)) for k in np.arange(0, 10, 1.0)} | {max(least, chosen), max(least, lemma)}
            )
            for count in counts:
                agent.blocks = Blocks(capacity=1 << 20, size=max(1, -(-total // count)))
                seconds = setting.median(lambda agent=agent, senders=senders: _generate(agent, senders))
                rows.append({"algorithm": name, "triplets": total, "blocks": count, "seconds": seconds,
                             "model": pipeline_seconds(total, count, rates, every_cycle=True),
                             "chosen": count == max(least, chosen), "Lemma 1": count == max(least, lemma),
                             "k1, k2, k3, a": [f"{x:.3g}" for x in known]})  # fmt: skip
    return rows


def caching(setting: Setting) -> list[Row]:
    """Figure 11: vertices that move without and with a cache, bytes by lazy uploading, synchronisations by skipping."""
    rows = []
    options = {"a": 0, "b": 1, "c": 2, "d": 3, "workers": 2, "folder": setting.folder, "threads": 1}
    for name, graph, split in (("road-like", setting.road, "ranges"), ("social", setting.social, "degree"),
                               ("synthetic", setting.synthetic, "random")):  # fmt: skip
        found = {
            label: gas.run(graph, FourPaths, partition=split, **options, **switches)
            for label, switches in SWITCHES.items()
        }
        off = found["off"].counts
        rows.append({
            "graph": name, "split": split, "downloaded, off": off.downloaded,
            "with cache": found["cache"].counts.downloaded,
            "bytes, eager": found["cache"].counts.bytes, "bytes, lazy": found["lazy"].counts.bytes,
            "synchronisations": off.synchronisations, "skipping": found["skip"].counts.synchronisations,
            "asynchronous": found["async"].counts.synchronisations,
            "seconds, off": found["off"].seconds, "all on": found["skip"].seconds,
        })  # fmt: skip
    return rows


def balance(setting: Setting) -> list[Row]:
    """Figure 12: two nodes of unequal devices, or of unequal loads; not balanced, balanced, and what would be ideal."""
    rows: list[Row] = []
    graph = af.load(f"urand:{max(6, setting.scale - 2)}")
    options = {"max_supersteps": 6, "blocks": Blocks(size=1 << 14)}
    devices = [["virtual:40"], ["virtual:120#1"]]
    measured = _gas(setting, graph, Ranks, workers=2, partition="ranges", daemons=devices, **options).costs
    for label, costs in (("not balanced", [1.0, 1.0]), ("balanced", measured)):
        parts = af.partition(graph, 2, shares=[1 / cost for cost in costs])  # Lemma 2
        taken = setting.median(
            lambda parts=parts: _by_gas(setting, graph, Ranks, workers=parts, daemons=devices, **options)
        )
        rows.append({"case": "1: devices 1 to 3", "way": label, "seconds": taken})
    ideal = 1 / sum(1 / cost for cost in measured) / (max(measured) / 2)  # of the time of equal shares
    rows.append({"case": "1: devices 1 to 3", "way": "ideal", "seconds": rows[0]["seconds"] * ideal,
                 "costs": round(max(measured) / min(measured), 2)})  # fmt: skip
    loads = af.partition(graph, 2, shares=[3, 1])
    given = allocate([3, 1], [1.0] * 4)
    for label, daemons in (("not balanced", [["virtual:80"], ["virtual:80#1"]]),
                           ("balanced", [[f"virtual:80#{k}" for k in one] for one in given])):  # fmt: skip
        taken = setting.median(
            lambda daemons=daemons: _by_gas(setting, graph, Ranks, workers=loads, daemons=daemons, **options)
        )
        rows.append({"case": "2: loads 3 to 1", "way": label, "seconds": taken})
    rows.append({"case": "2: loads 3 to 1", "way": "ideal", "seconds": rows[3]["seconds"] / 3})
    return rows


def isolation(setting: Setting) -> list[Row]:
    """Figure 13: 11 iterations by one daemon, or by a new one each time, which has to be made ready."""
    graph, seconds = af.load("kron:8"), {}
    for label in ("one daemon", "a new one each time"):
        begun = time.perf_counter()
        for _ in range(11):
            name = "cpu" if label == "one daemon" else "cpu#9"
            gas.run(graph, Ranks, workers=1, daemons=[name], folder=setting.folder, max_supersteps=1, threads=1,
                    lease=30.0 if name == "cpu" else 0.0)  # fmt: skip
            if name == "cpu#9":
                _wait_for_end(setting.folder, name)
        seconds[label] = time.perf_counter() - begun
    return [{"way": label, "seconds, 11 iterations": taken} for label, taken in seconds.items()]


def _wait_for_end(folder: str, name: str) -> None:
    until = time.monotonic() + 20
    while Path(folder, f"{name}.socket").exists() and time.monotonic() < until:
        time.sleep(0.01)


def cost_ratio(setting: Setting) -> list[Row]:
    """Figures 9 and 14: seconds by workers, and the share of agents and daemons; the rest is the upper system's."""
    rows = []
    for name, program, options in _algorithms():
        for workers in (1, 2, 4):
            found = gas.run(setting.social, program, workers=workers, folder=setting.folder, threads=1, **options)
            plugged = sum(found.seconds_by[part] for part in ("gen", "merge", "apply", "start"))
            rows.append({"algorithm": name, "workers": workers, "seconds": found.seconds,
                         "middleware and devices": plugged / found.seconds})  # fmt: skip
    return rows


EXPERIMENTS: dict[str, Callable[[Setting], list[Row]]] = {
    "hand_over": hand_over, "acceleration": acceleration, "pipeline": pipeline, "block_counts": block_counts,
    "caching": caching, "balance": balance, "isolation": isolation, "cost_ratio": cost_ratio,
}  # fmt: skip


def table(rows: list[Row]) -> str:
    """Rows as text."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [names] + [[_cell(row.get(name, "")) for name in names] for row in rows]
    wide = [max(len(line[k]) for line in cells) for k in range(len(names))]
    return "\n".join("  ".join(text.rjust(wide[k]) for k, text in enumerate(line)) for line in cells)


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else " ".join(value) if isinstance(value, list) else str(value)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=16)
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--only", default=",".join(EXPERIMENTS))
    parser.add_argument("--folder", default="build/plug", help="for pictures")
    parser.add_argument("--json")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.only.split(",") if name not in EXPERIMENTS]
    if unknown:
        parser.error(f"{unknown[0]} is none of {', '.join(EXPERIMENTS)}")
    os.makedirs(given.folder, exist_ok=True)
    results: dict[str, Any] = {"load": os.getloadavg()[0]}
    pictures: list[Path] = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # iterations are capped, as the paper's are
        setting = Setting(folder, given.scale, given.trials)
        for name in given.only.split(","):
            rows = EXPERIMENTS[name](setting)
            print(f"\n{(EXPERIMENTS[name].__doc__ or '').strip()}\n{table(rows)}", flush=True)
            pictures += draw(name, rows, Path(given.folder))
            results[name] = rows
    drawn = f"figures in {given.folder}" if pictures else "no figures: they need matplotlib, or other experiments"
    print(f"\nload {results['load']:.1f} on {math.floor(os.cpu_count() or 1)} cores; {drawn}")
    if given.json:
        save(given.json, results)


if __name__ == "__main__":
    main()

"""Figures 11, 12 and 20 of Lux: its performance model (section 6) fitted to small graphs here, and held against others.

    python benchmarks/lux_model.py [--fit kron:12 kron:14,ef=8 urand:13 grid:120x120] [--predict kron:15 urand:15]
                                   [--sizes 1x1 1x2 2x1 2x2] [--runs 3] [--out results/lux_model.json]

Sizes are x nodes with y devices each: virtual devices of this process, whose seconds are those that their thread
computed, however many of them share a core. As in the paper (equations 12 to 14), compute of an iteration is
gamma_c |E| / (x y) for a pull, and gamma_c* |E| / (x y) for a push, of which only iterations count in whose frontier
is more than a 20th of all vertices; transfer is gamma_x |T_v| sum |UDS(N_j)|. The load (equations 10 and 11, figure 10)
has nothing to be measured here: cores read the node's memory where it is. Where there are several nodes, a pull sends
what its first half has found before the second half computes, so that a part of its transfer is in its compute.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import arcflux as af
from arcflux.devices import Virtual
from arcflux.partition.halo import Halo
from lux import Components, PageRank
from measure import save

PROGRAMS = {"pagerank": (PageRank, "pull"), "components": (Components, "push")}
# Iterations of a push with a smaller share of all vertices in the frontier do not count (section 6.2).
LEAST_FRONTIER = 0.05
_VALUE = 8  # bytes that a vertex of either program sends: |T_v|


@dataclass(frozen=True)
class Seen:
    """What iterations of a program took on a graph, on `nodes` nodes with `devices` devices each, in the mean.

    total: compute seconds of all devices together; transfer: seconds besides the slowest device's; moved: bytes that
    the first iteration sent between nodes, of which `formula` is |T_v| sum |UDS(N_j)|.
    """

    program: str
    graph: str
    arcs: int
    nodes: int
    devices: int
    total: float
    transfer: float
    moved: int
    formula: int


@dataclass(frozen=True)
class Gamma:
    """The constants of the model: seconds an arc of each program, seconds a byte between nodes."""

    compute: dict[str, float]
    transfer: float


def slope(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """The line through the origin with the least squares of relative errors.

    >>> slope([1.0, 10.0], [2.0, 20.0])
    2.0
    """
    ratios = np.array(sizes) / np.array(seconds)
    return float(ratios.sum() / (ratios**2).sum())


def counted(history: Sequence[Any], vertices: int, direction: str) -> list[Any]:
    """The iterations that count: all of a pull, and of a push those with enough vertices in the frontier."""
    least = LEAST_FRONTIER * vertices if direction == "push" else 0.0
    return [one for one in history if one.frontier > least]


def measure(name: str, graph: af.Graph, nodes: int, devices: int, runs: int) -> Seen:
    """The fastest of some runs, by the compute of all devices, after one that compiles."""
    program, direction = PROGRAMS[name]
    parts = nodes * devices
    pace = max(1.0, 2.0 * parts / (os.cpu_count() or 1))  # so that devices do not wait for a core
    best: Seen | None = None
    split = af.partition(graph, parts)
    halo = Halo(split, [part // devices for part in range(parts)])
    formula = _VALUE * sum(len(halo.uds(node)) for node in range(nodes))
    for turn in range(runs + 1):
        where = [Virtual(pace, clock=time.thread_time) for _ in range(parts)]
        result = af.run(
            program, graph, direction=direction, parts=split, devices=where, ranks_per_node=devices, rebalance="off"
        )
        steps = counted(result.history, graph.vertices, direction)
        total = statistics.fmean(sum(one.part_seconds) for one in steps) / pace
        rest = statistics.median(one.seconds - one.slowest for one in steps)
        found = Seen(name, graph.name, graph.arcs, nodes, devices, total, rest, result.history[0].bytes, formula)
        if turn and (best is None or found.total < best.total):
            best = found
    assert best is not None
    return best


def fitted(seen: Sequence[Seen]) -> Gamma:
    """Gamma of some runs; a program's compute is of all sizes together, since it does not depend on them."""
    compute = {}
    for name in {one.program for one in seen}:
        mine = [one for one in seen if one.program == name]
        compute[name] = slope([one.arcs for one in mine], [one.total for one in mine])
    across = [one for one in seen if one.formula and one.transfer > 0]
    return Gamma(compute, slope([one.formula for one in across], [one.transfer for one in across]) if across else 0.0)


def predicted(gamma: Gamma, one: Seen) -> tuple[float, float]:
    """Seconds of compute on a device (equations 12 and 14) and of transfer (13) of an iteration."""
    return gamma.compute[one.program] * one.arcs / (one.nodes * one.devices), gamma.transfer * one.formula


def rows(gamma: Gamma, seen: Sequence[Seen], role: str) -> list[dict[str, Any]]:
    """Figure 20: predicted beside measured."""
    found = []
    for one in seen:
        compute, transfer = predicted(gamma, one)
        each = one.total / (one.nodes * one.devices)
        found.append({
            **asdict(one), "role": role, "compute": each, "predicted_compute": compute,
            "compute_error": compute / each - 1, "predicted_transfer": transfer,
            "transfer_error": transfer / one.transfer - 1 if one.formula and one.transfer > 0 else None,
        })  # fmt: skip
    return found


def show(gamma: Gamma, table: Sequence[dict[str, Any]]) -> None:
    each = ", ".join(f"{name} {1e9 * rate:.3f} ns an arc" for name, rate in sorted(gamma.compute.items()))
    print(f"\nfigures 11 and 12, measured here: {each}; {1e9 * gamma.transfer:.3f} ns a byte between nodes")
    print("\nfigure 20: milliseconds of an iteration, measured (predicted); fitted to those with 'fit'")
    for row in table:
        where = f"x={row['nodes']} y={row['devices']}"
        compute = f"compute {1e3 * row['compute']:8.3f} ({1e3 * row['predicted_compute']:8.3f})"
        transfer = f"transfer {1e3 * row['transfer']:7.3f} ({1e3 * row['predicted_transfer']:7.3f})"
        print(f"  {row['program']:<10} {row['graph']:<18} {where}  {compute}  {transfer}  {row['role']}")
    for role in ("fit", "predicted"):
        for name in ("compute", "transfer"):
            errors = [row[f"{name}_error"] for row in table if row["role"] == role]
            sizes = [abs(error) for error in errors if error is not None]
            if sizes:
                middle, worst = 100 * statistics.median(sizes), 100 * max(sizes)
                print(f"  {name}, {role}: off by {middle:.0f} % in the median, {worst:.0f} % at worst")


def sizes_of(texts: Sequence[str]) -> list[tuple[int, int]]:
    """Nodes and devices a node.

    >>> sizes_of(["1x2", "2x1"])
    [(1, 2), (2, 1)]
    """
    return [(int(nodes), int(devices)) for nodes, devices in (text.split("x") for text in texts)]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fit", nargs="+", default=["kron:12", "kron:14,ef=8", "urand:13", "grid:120x120"])
    parser.add_argument("--predict", nargs="+", default=["kron:15", "urand:15"])
    parser.add_argument("--sizes", nargs="+", default=["1x1", "1x2", "2x1", "2x2"], help="x nodes by y devices")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("results/lux_model.json"))
    given = parser.parse_args(arguments)
    seen: dict[str, list[Seen]] = {"fit": [], "predicted": []}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for role, specs in (("fit", given.fit), ("predicted", given.predict)):
            for spec in specs:
                graph = af.load(spec)
                for name in PROGRAMS:
                    seen[role] += [measure(name, graph, *size, given.runs) for size in sizes_of(given.sizes)]
    gamma = fitted(seen["fit"])
    table = [row for role, some in seen.items() for row in rows(gamma, some, role)]
    show(gamma, table)
    save(given.out, {"gamma": asdict(gamma), "rows": table})


if __name__ == "__main__":
    main()

"""Figures 17 and 19 of Lux: every configuration with the model's pick, and pull against push superstep by superstep.

    python benchmarks/lux.py [--on xstream] [--devices 1 2 4 8 16] [--graph kron:18] [--runs 5] [--out results/lux.json]

Figure 17 is predicted, and says so: the time of every spread of devices over nodes, pull and push, on the graphs of
Lux's table 2, and what the model would take. Figure 19 is measured here: PageRank and components by smallest labels,
each wholly by pull and wholly by push, seconds of every superstep, the median of some runs in turns. Lux finds that
pull always wins PageRank, and components pull first and push later. The picture lies beside the JSON.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path
from typing import Any

import arcflux as af
from arcflux.plan.paper_graphs import KNOWN
from measure import save

PROGRAMS = {"pagerank": ["KR", "HW", "TW", "UK"], "connected_components": ["KR", "TW", "UK"], "sssp": ["KR", "TW"]}


@af.program
class PageRank:
    """Ten iterations of which every vertex sends, so that pull and push visit the same edges."""

    rank: af.f64

    def start(v, g):
        v.rank = 1.0 / g.vertices
        return True

    def init(v):
        v.rank = 0.0

    def compute(v, u):
        v.rank += u.rank / u.out_degree

    def update(v, g, step):
        v.rank = 0.15 / g.vertices + 0.85 * v.rank
        return step < 9


@af.program
class Components:
    """The smallest number of a component travels along its edges."""

    label: af.i64

    def start(v):
        v.label = v.number
        return True

    def compute(v, u):
        v.label = min(v.label, u.label)

    def update(v, old):
        return v.label < old.label


def sweep(machine: str, devices: list[int]) -> list[dict[str, Any]]:
    """Figure 17: predicted seconds of every (x, y) and direction, a row for each, the model's pick marked."""
    rows = []
    for algorithm, graphs in PROGRAMS.items():
        for name in graphs:
            found = af.plan(algorithm, f"lux:{name}", on=machine, nodes=devices, devices=devices)
            sizes = [
                {
                    "nodes": row.nodes, "devices_of_a_node": row.devices // row.nodes, "direction": one.direction,
                    "exchange": one.exchange, "seconds": one.seconds, "fits": one.fits,
                }
                for row in found.rows
                for one in row.candidates
                if one.partition != "grid"
            ]  # fmt: skip
            pick = min(sizes, key=lambda one: (not one["fits"], one["seconds"]))
            rows += [{"algorithm": algorithm, "graph": name, **one, "picked": one is pick} for one in sizes]
    return rows


def superstep_seconds(graph: af.Graph, runs: int) -> dict[str, dict[str, list[float]]]:
    """Figure 19: the median seconds of each superstep, by program and direction; runs take turns."""
    found: dict[str, dict[str, list[list[float]]]] = {}
    for turn in range(runs + 1):  # the first one warms up
        for name, program in (("pagerank", PageRank), ("components", Components)):
            for direction in ("pull", "push"):
                result = af.run(program, graph, direction=direction)
                ways = {one.direction for one in result.history}
                assert ways == {direction}, f"{name} asked for {direction} and ran {ways}"
                if turn:
                    seconds = [one.seconds for one in result.history]
                    found.setdefault(name, {}).setdefault(direction, []).append(seconds)
    return {
        name: {way: [statistics.median(one) for one in zip(*runs, strict=True)] for way, runs in ways.items()}
        for name, ways in found.items()
    }


def faster_by_superstep(ways: dict[str, list[float]]) -> list[str]:
    """Which of pull and push took less, superstep by superstep.

    >>> faster_by_superstep({"pull": [1.0, 2.0], "push": [3.0, 1.0]})
    ['pull', 'push']
    """
    return [min(ways, key=lambda way: ways[way][step]) for step in range(min(map(len, ways.values())))]


def show_sweep(rows: list[dict[str, Any]]) -> None:
    print("\nfigure 17, predicted: the fastest way of every spread, x nodes with y devices; * is the model's pick")
    for algorithm, graphs in PROGRAMS.items():
        for name in graphs:
            known = KNOWN[f"lux:{name}"]
            print(f"\n  {algorithm} on {name} ({known.title}, {known.vertices:,} vertices, {known.arcs:,} edges)")
            here = [row for row in rows if (row["algorithm"], row["graph"]) == (algorithm, name)]
            for size in sorted({(row["nodes"], row["devices_of_a_node"]) for row in here}):
                ways = [row for row in here if (row["nodes"], row["devices_of_a_node"]) == size]
                best = min(ways, key=lambda row: (not row["fits"], row["seconds"]))
                note = "" if best["fits"] else "  does not fit"
                mark = "*" if best["picked"] else " "
                print(f"   {mark} x={size[0]:<3} y={size[1]:<3} {best['direction']:<5} {best['seconds']:9.4f} s{note}")


def show_supersteps(measured: dict[str, dict[str, list[float]]], spec: str) -> None:
    print(f"\nfigure 19, measured on {spec}: milliseconds of each superstep")
    for name, ways in measured.items():
        print(f"\n  {name:<11} " + "  ".join(f"{way:>8}" for way in ways) + "  faster")
        for step, way in enumerate(faster_by_superstep(ways)):
            times = "  ".join(f"{seconds[step] * 1e3:8.3f}" for seconds in ways.values())
            print(f"  {step:>11} {times}  {way}")


def picture(measured: dict[str, dict[str, list[float]]], path: Path) -> None:
    """Draw figure 19; without matplotlib (the extra plot) there is none."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("no picture: pip install 'arcflux[plot]'")
        return
    figure = Figure(figsize=(9, 4), layout="constrained")
    for axes, (name, ways) in zip(figure.subplots(1, 2), measured.items(), strict=True):
        for way, seconds in ways.items():
            axes.plot([1e3 * one for one in seconds], "o-", label=way)
        axes.set(title=name, xlabel="superstep", ylabel="milliseconds (measured)", yscale="log")
        axes.legend()
    figure.savefig(path)
    print(f"drawn: {path}")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--on", default="xstream", help="the machine of figure 17: a profile's name or file")
    parser.add_argument("--devices", nargs="+", type=int, default=[1, 2, 4, 8, 16], help="and so many nodes")
    parser.add_argument("--graph", default="kron:18", help="what figure 19 is measured on")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("results/lux.json"), help="the picture lies beside it")
    given = parser.parse_args(arguments)
    rows = sweep(given.on, given.devices)
    show_sweep(rows)
    measured = superstep_seconds(af.load(given.graph), given.runs)
    show_supersteps(measured, given.graph)
    save(given.out, {"predicted_sweep": rows, "measured": measured, "graph": given.graph, "machine_planned": given.on})
    picture(measured, given.out.with_suffix(".svg"))


if __name__ == "__main__":
    main()

"""How does the traversal on a grid scale? Strong and weak, bytes and seconds of each superstep, log p against wave.

    python benchmarks/bfs_grid.py [--strong kron:17] [--sides 1 2 3 4] [--weak 13] [--roots 5] [--direction auto]
                                  [--ranks-per-node 1] [--json results/bfs_grid.json]

The tables are those of MapGraph (Fu et al., 2014), I and II. Ranks are threads of this process; with more of them than
cores, seconds say little about a cluster, while messages and bytes are the same there.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import arcflux as af
from measure import save

SCANS = ("log", "wave")


def roots_of(graph: af.Graph, count: int, seed: int = 1) -> list[int]:
    """Random vertices with an edge to another vertex; the same for every number of ranks."""
    sources = np.repeat(np.arange(graph.vertices), graph.out_degrees.astype(np.int64))
    fitting = np.unique(sources[sources != graph.out.neighbours])
    return np.random.default_rng(seed).choice(fitting, min(count, len(fitting)), replace=False).tolist()


def searched(graph: af.Graph, side: int, roots: list[int], given: argparse.Namespace) -> dict[str, list[af.Result]]:
    """A result for each scan and root, after one that warms up and is checked; in turn, so that noise hits both."""
    parts = af.partition(graph, side * side, "grid")

    def search(root: int, scan: str) -> af.Result:
        return af.bfs(
            graph, root, parts=parts, scan=scan, direction=given.direction, ranks_per_node=given.ranks_per_node
        )

    for scan in SCANS:
        search(roots[0], scan).validate().raise_for_failure()
    found: dict[str, list[af.Result]] = {scan: [] for scan in SCANS}
    for root in roots:
        for scan in SCANS:
            found[scan].append(search(root, scan))
    return found


def traversed(result: af.Result) -> int:
    """Directed edges that leave reached vertices: what the paper counts."""
    return int(result.graph.out_degrees[result["level"] >= 0].sum())


def summed_up(results: list[af.Result]) -> dict[str, Any]:
    """The mean of the roots, as the paper reports; medians too, for a machine with noise."""
    seconds = [result.seconds for result in results]
    edges = [traversed(result) for result in results]
    rates = [count / result.seconds / 1e6 for count, result in zip(edges, results, strict=True)]
    steps = [step for result in results for step in result.history]
    return {
        "seconds": float(np.mean(seconds)),
        "seconds_median": median(seconds),
        "all_seconds": seconds,
        "mteps": float(np.mean(rates)),
        "traversed": edges,
        "unreached": [result.graph.arcs - count for count, result in zip(edges, results, strict=True)],
        "supersteps": [result.supersteps for result in results],
        "bytes_a_superstep": float(np.mean([step.bytes for step in steps])),
        "more_bytes_a_superstep": float(np.mean([step.more_bytes for step in steps])),
        "path_messages": max(step.path_messages for step in steps),
        "path_bytes": max(step.path_bytes for step in steps),
    }


def strong(graph: af.Graph, given: argparse.Namespace) -> list[dict[str, Any]]:
    """One graph, more and more ranks: table I."""
    roots = roots_of(graph, given.roots)
    arcs = f"{graph.vertices:,} vertices, {graph.arcs:,} directed edges"
    print(f"\nstrong scaling: {graph.name}, {arcs}, {len(roots)} roots, the same for all (cf. table I)")
    print(f"  {'ranks':>5} {'MTEPS':>8} {'seconds':>9} {'median':>9} {'efficiency':>10} {'unreached':>10}")
    rows: list[dict[str, Any]] = []
    for side in given.sides:
        found = searched(graph, side, roots, given)
        row = {"ranks": side * side, **{scan: summed_up(found[scan]) for scan in SCANS}}
        row["iterations"] = [asdict(step) for step in found["log"][0].history]
        rows.append(row)
        first = rows[0]
        row["efficiency"] = row["log"]["mteps"] / first["log"]["mteps"] * first["ranks"] / row["ranks"]
        shown = row["log"]
        print(
            f"  {row['ranks']:>5} {shown['mteps']:>8.1f} {shown['seconds']:>9.4f} {shown['seconds_median']:>9.4f} "
            f"{row['efficiency']:>10.2f} {median(shown['unreached']):>10,.0f}"
        )
    print("  efficiency: MTEPS for each rank, relative to the first row; unreached: directed edges (section V-B)")
    return rows


def weak(given: argparse.Namespace) -> list[dict[str, Any]]:
    """As many edges for each rank, four times the ranks each time: table II."""
    print(f"\nweak scaling: 2^{given.weak + 5} directed edges a rank before parallel edges are merged (cf. table II)")
    print(
        f"  {'ranks':>5} {'scale':>5} {'vertices':>10} {'edges':>12} {'seconds':>9} {'MTEPS':>8} "
        f"{'bytes/superstep':>15} {'path bytes':>10} {'x before':>8} {'model':>6}"
    )
    rows: list[dict[str, Any]] = []
    for side in [side for side in (1, 2, 4, 8) if side <= max(given.sides)]:
        scale = given.weak + 2 * (side.bit_length() - 1)
        graph = af.load(f"kron:{scale}")
        found = searched(graph, side, roots_of(graph, given.roots), given)
        row = {"ranks": side * side, "scale": scale, "vertices": graph.vertices, "arcs": graph.arcs}
        row |= {scan: summed_up(found[scan]) for scan in SCANS}
        row["iterations"] = [asdict(step) for step in found["log"][0].history]
        rows.append(row)
        shown, before = row["log"], rows[-2]["log"]["path_bytes"] if len(rows) > 1 else 0
        grown = f"{shown['path_bytes'] / before:.2f}" if before else "-"
        model = f"{2 * np.log2(side) / np.log2(side / 2):.2f}" if side > 2 else "-"
        print(
            f"  {row['ranks']:>5} {scale:>5} {graph.vertices:>10,} {graph.arcs:>12,} {shown['seconds']:>9.4f} "
            f"{shown['mteps']:>8.1f} {shown['bytes_a_superstep']:>15,.0f} {shown['path_bytes']:>10,} {grown:>8} "
            f"{model:>6}"
        )
    print("  path bytes: the scan's critical path; model: by how much S log p grows (the paper, section V)")
    return rows


def iterations(title: str, steps: list[dict[str, Any]]) -> None:
    """One search, superstep by superstep: figures 1 and 8."""
    print(f"\n{title} (cf. figures 1 and 8; milliseconds)")
    print(
        f"  {'step':>4} {'frontier':>9} {'edges':>11} {'way':>4} {'bitmaps':>10} {'others':>8} {'compute':>8} "
        f"{'longest':>8} {'exchange':>8} {'whole':>8}"
    )
    for step in steps:
        compute = [1000 * seconds for seconds in step["part_seconds"]]
        print(
            f"  {step['number']:>4} {step['frontier']:>9,} {step['edges']:>11,} {step['direction']:>4} "
            f"{step['bytes']:>10,} {step['more_bytes']:>8,} {np.mean(compute):>8.3f} {max(compute):>8.3f} "
            f"{1000 * step['exchange_seconds']:>8.3f} {1000 * step['seconds']:>8.3f}"
        )
    print("  compute: mean of the ranks, and the longest; exchange: mean, waiting for slower ranks included")


def scans(rows: list[dict[str, Any]]) -> None:
    """The log-p scan against the wave."""
    print("\nlog p against wave: messages and bitmap bytes one after another in a scan, bytes of all ranks, seconds")
    print(f"  {'p':>3} {'messages':>13} {'bytes on the path':>21} {'bytes/superstep':>23} {'seconds (median)':>19}")
    for row in rows:
        log, wave = row["log"], row["wave"]
        print(
            f"  {int(row['ranks'] ** 0.5):>3} {log['path_messages']:>6} {wave['path_messages']:>6} "
            f"{log['path_bytes']:>10,} {wave['path_bytes']:>10,} {log['bytes_a_superstep']:>11,.0f} "
            f"{wave['bytes_a_superstep']:>11,.0f} {log['seconds_median']:>9.4f} {wave['seconds_median']:>9.4f}"
        )


def main(arguments: list[str] | None = None) -> None:
    os.environ["ARCFLUX_QUIET"] = "1"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--strong", default="kron:17", metavar="SPEC")
    parser.add_argument("--sides", type=int, nargs="+", default=[1, 2, 3, 4], metavar="P")
    parser.add_argument("--weak", type=int, default=13, metavar="SCALE", help="the scale for one rank")
    parser.add_argument("--roots", type=int, default=5)
    parser.add_argument("--direction", choices=["auto", "push", "pull"], default="auto", help="push is the paper's")
    parser.add_argument("--ranks-per-node", type=int, default=1, help="1: each rank is a device of its own")
    parser.add_argument("--json", type=Path, default=Path("results/bfs_grid.json"), metavar="FILE")
    given = parser.parse_args(arguments)
    print(f"{os.cpu_count()} cores; ranks are threads, {given.ranks_per_node} a node; direction {given.direction}")
    rows, weakly = strong(af.load(given.strong), given), weak(given)
    iterations(f"{given.strong} on {rows[-1]['ranks']} ranks, the first root", rows[-1]["iterations"])
    scans(rows)
    settings = {name: value for name, value in vars(given).items() if name != "json"}
    save(given.json, {"settings": settings, "strong": rows, "weak": weakly})


if __name__ == "__main__":
    main()

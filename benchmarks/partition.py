"""Splitting a graph: seconds to split it, to list what parts read of each other, and what each split is worth.

    python benchmarks/partition.py [--graph kron:22] [--parts 16] [--ranks-per-node 1] [--repeats 5] [--mincut]
                                   [--json results/partition.json]

The targets, for kron:22 in 16 ranges: split in under 5 ms, all lists of senders and of receivers in under 1 s.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import arcflux as af
from arcflux.partition import PARTITIONERS
from arcflux.partition.halo import Halo, by_node
from measure import interleaved, save


def sends(parts: af.Parts, ranks_per_node: int) -> int:
    """Make every sender's lists; how many vertices are on them."""
    halo = Halo(parts, by_node(parts.k, ranks_per_node))
    return sum(len(vertices) for part in range(parts.k) for vertices in halo.sends(part))


def receives(parts: af.Parts, ranks_per_node: int) -> int:
    """Make every receiver's lists, once a node; how many vertices are on them."""
    halo = Halo(parts, by_node(parts.k, ranks_per_node))
    return sum(len(vertices) for mates in halo.members for vertices in halo.receives(mates[0]).values())


def measured(graph: af.Graph, how: str, k: int, ranks_per_node: int, repeats: int) -> dict[str, Any]:
    """Medians of each step of one partitioner, and what its parts are like."""
    parts = af.partition(graph, k, how)
    sent, received = sends(parts, ranks_per_node), receives(parts, ranks_per_node)
    if sent != received:
        raise SystemExit(f"{how}: {sent:,} vertices are sent and {received:,} received, so the times say nothing")
    steps: dict[str, Callable[[], Any]] = {
        "split": lambda: af.partition(graph, k, how),
        "senders": lambda: sends(parts, ranks_per_node),
        "receivers": lambda: receives(parts, ranks_per_node),
        "one part": lambda: af.partition(graph, k, how).part(k // 2).into,
    }
    seconds = interleaved(steps, repeats)
    found = parts.statistics
    return {
        "seconds": {name: {"median": median(taken), "all": taken} for name, taken in seconds.items()},
        "listed": sent,
        "edge_imbalance": found.edge_imbalance,
        "cut_share": found.cut_share,
        "replication": found.replication,
        "notes": parts.notes,
    }


def table(title: str, rows: dict[str, dict[str, Any]]) -> None:
    """Print a row for each partitioner."""
    print(f"\n{title}")
    names = ("split", "senders", "receivers", "one part")
    head = "".join(f"{name + ', ms':>15}" for name in names)
    print(f"  {'':<10}{head}{'listed':>14}{'imbalance':>11}{'cut':>8}{'copies':>8}")
    for how, row in rows.items():
        times = "".join(f"{row['seconds'][name]['median'] * 1000:15.2f}" for name in names)
        quality = f"{row['edge_imbalance']:11.3f}{100 * row['cut_share']:7.1f}%{row['replication']:8.2f}"
        print(f"  {how:<10}{times}{row['listed']:14,}{quality}")


def main() -> None:
    os.environ["ARCFLUX_QUIET"] = "1"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graph", default="kron:22", metavar="GRAPH")
    parser.add_argument("--parts", type=int, default=16)
    parser.add_argument("--ranks-per-node", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--mincut", action="store_true", help="also METIS, which takes far longer than the others")
    parser.add_argument("--json", type=Path, default=Path("results/partition.json"), metavar="FILE")
    given = parser.parse_args()
    graph = af.load(given.graph)
    chosen = [how for how in PARTITIONERS if how != "duplicate" and (given.mincut or how != "mincut")]
    rows = {how: measured(graph, how, given.parts, given.ranks_per_node, given.repeats) for how in chosen}
    table(f"{given.graph} in {given.parts} parts, {given.ranks_per_node} a node", rows)
    ranges = {name: row["median"] for name, row in rows["ranges"]["seconds"].items()}
    lists = ranges["senders"] + ranges["receivers"]
    print(f"\n  ranges: split in {1000 * ranges['split']:.3f} ms (target: 5 ms on kron:22 in 16)")
    print(f"          all lists, of both sides, in {lists:.3f} s (target: 1 s)")
    options = {"graph": given.graph, "parts": given.parts, "ranks_per_node": given.ranks_per_node}
    save(given.json, {**options, "partitioners": rows})


if __name__ == "__main__":
    main()

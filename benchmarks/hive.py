"""Bytes that the distributed applications send, as the transport counts them, beside the formulas of the HIVE study.

    python benchmarks/hive.py --graph kron:12,weights=1-9 --only random_walks,scan [--out results/hive.json]

Each application is an entry of ENTRIES: a way of the study (arcflux.plan.hive), and a function that runs ours on p
nodes of one core each and says what was sent, and with what numbers (steps, wedges, batches) the formula is taken.
Bytes are those of each node; what it takes to hand the whole result to every node is left out, as the study does. The
class is by the study's operations and our bytes.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import arcflux as af
from arcflux.plan.hive import Inputs, find, judge
from measure import save


class Counted(NamedTuple):
    """What a run on p nodes sent in all, the numbers that the formula is of, and how many supersteps it is of."""

    bytes: int
    given: dict[str, float]
    supersteps: float = 1.0


@dataclass(frozen=True)
class Entry:
    """An application: the study's name and variant, ours, and why it sends less or more."""

    name: str
    variant: str
    run: Callable[[af.Graph, dict[str, Any]], Counted]
    why: str


def sent(traffic: Any, *left_out: str) -> int:
    """Bytes of all phases but these, and but for the result's."""
    return sum(count for phase, count in traffic.items() if phase not in ("result", *left_out))


def walks(**rules: Any) -> Callable[[af.Graph, dict[str, Any]], Counted]:
    """Random walks of 20 vertices from everywhere."""

    def run(graph: af.Graph, where: dict[str, Any]) -> Counted:
        found = af.random_walks(graph, walk_length=20, distributed=True, **rules, **where)
        return Counted(sent(found.traffic), {"walks": float((found.numbers_of_walks[:, 1:] >= 0).sum())})

    return run


def search(mode: str, method: str) -> Callable[[af.Graph, dict[str, Any]], Counted]:
    """A graph search from everywhere."""

    def run(graph: af.Graph, where: dict[str, Any]) -> Counted:
        found = af.graph_search(graph, walk_length=20, mode=mode, method=method, distributed=True, **where)
        return Counted(sent(found.traffic), {"walks": float((found.numbers_of_walks[:, 1:] >= 0).sum())})

    return run


def places(exchange: str) -> Callable[[af.Graph, dict[str, Any]], Counted]:
    """A tenth of the vertices are known."""

    def run(graph: af.Graph, where: dict[str, Any]) -> Counted:
        random = np.random.default_rng(1)
        known = np.stack([random.uniform(-60, 60, graph.vertices), random.uniform(-180, 180, graph.vertices)], 1)
        known[random.random(graph.vertices) > 0.1] = np.nan
        found = af.geolocate(graph, known, exchange=exchange, **where)
        return Counted(sent(found.traffic), {}, max(1, found.rounds))

    return run


def nomination(graph: af.Graph, where: dict[str, Any]) -> Counted:
    """From eight seeds."""
    found = af.vertex_nomination(graph, np.argsort(-graph.out_degrees.astype(np.int64))[:8].tolist(), **where)
    visits = float(found.column("frontier").sum())
    moved = found.column("bytes").sum() + found.column("more_bytes").sum()
    return Counted(int(moved), {"a": visits / max(1, graph.vertices)})


def scan(method: str) -> Callable[[af.Graph, dict[str, Any]], Counted]:
    """Scan statistics."""

    def run(graph: af.Graph, where: dict[str, Any]) -> Counted:
        found = af.scan_statistics(graph, method=method, **where)
        if method == "intersection":
            return Counted(sent(found.traffic), {})
        degree = np.sort(found["degree"])
        ranked = np.lexsort((np.arange(graph.vertices), found["degree"]))
        place = np.empty(graph.vertices, np.int64)
        place[ranked] = np.arange(graph.vertices)
        source, target, _ = graph.edge_numbers()
        pairs = np.unique(np.sort(np.stack([place[source], place[target]], 1), axis=1), axis=0)
        high = np.bincount(pairs[pairs[:, 0] != pairs[:, 1], 0], minlength=len(degree))
        wedges = float((high * (high - 1) // 2).sum())
        return Counted(sent(found.traffic), {"a": wedges / max(1, graph.arcs)})

    return run


def clustering(graph: af.Graph, where: dict[str, Any]) -> Counted:
    """FISTA on shared rows around one seed."""
    seed = int(np.argmax(graph.out_degrees))
    found = af.local_clustering(graph, [seed], rho=1e-5, method="fista", distributed=True, **where)
    return Counted(sent(found.traffic), {}, float(found.steps[0]) + 1)


def sage(source: str) -> Callable[[af.Graph, dict[str, Any]], Counted]:
    """All vertices once, in batches of 512."""

    def run(graph: af.Graph, where: dict[str, Any]) -> Counted:
        weights = af.applications.random_weights(64, 64, 64)
        found = af.graphsage(graph, None, weights, children=10, batch=512, feature_source=source, **where)
        given = {"batch": float(graph.vertices), "children": 10.0, "leaves": 10.0, "features": 64.0, "width": 64.0}
        return Counted(sent(found.traffic), given)

    return run


def flow(graph: af.Graph, where: dict[str, Any]) -> Counted:
    """Between the two vertices of the highest degrees, in rounds."""
    ends = np.argsort(graph.out_degrees)[-2:].tolist()
    found = af.maximum_flow(graph, *ends, "weight", flows=False, method="rounds", **where)
    return Counted(sent(found.sent), {"a": found.rounds / max(1, graph.vertices)})


def communities(phase: str) -> Callable[[af.Graph, dict[str, Any]], Counted]:
    """Louvain: what its moves send, or its contractions, of which E' is the sum over levels."""

    def run(graph: af.Graph, where: dict[str, Any]) -> Counted:
        found = af.louvain(graph, weight=None, **where)
        source, target, _ = graph.edge_numbers()
        pairs = (np.stack([level[source], level[target]], 1) for level in found.levels[:-1])
        apart = [len(np.unique(np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1), axis=0)) for ends in pairs]
        return Counted(found.traffic.get(phase, 0), {"reduced": 2.0 * sum(apart)}, {"moves": len(apart)}.get(phase, 1))

    return run


def lasso(graph: af.Graph, where: dict[str, Any]) -> Counted:
    """A noisy signal, by flows in rounds."""
    signal = np.random.default_rng(1).normal(size=graph.vertices)
    found = af.fused_lasso(graph, signal, 0.01, weight=None, method="rounds", **where)
    return Counted(sent(found.sent), {"a": found.rounds / max(1, graph.vertices)})


def projection(graph: af.Graph, where: dict[str, Any]) -> Counted:
    """Which vertices share neighbours."""
    found = af.project(graph, **where)
    return Counted(sent(found.sent), {"reduced": float(found.projection.arcs)})


def classification(graph: af.Graph, where: dict[str, Any]) -> Counted:
    """A pattern of eight vertices in a ring, by the weights of edges."""
    found = af.classify(graph, af.load("cycle:8,weights=1-9"), edges=["weight"], **where)
    assert found.pattern is not None
    return Counted(sent(found.sent), {"pattern": float(found.pattern.arcs)}, float(found.pattern.vertices))


_VISITS = "visits and records of 8 bytes each: the step is known, and a visit to an own vertex is no message"
ENTRIES: dict[str, Entry] = {
    "louvain": Entry(
        "louvain", "", communities("moves"), "below 32 million arcs every node makes the same moves, and tells nobody"
    ),
    "louvain_contraction": Entry(
        "louvain_contraction",
        "",
        communities("contraction"),
        "12 bytes an arc and 24 a vertex of the next level, to all",
    ),
    "random_walks": Entry("random_walk", "distributed graph", walks(weight=None), _VISITS),
    "weighted_walks": Entry("weighted_walk", "distributed graph", walks(), _VISITS),
    "node2vec_walks": Entry(
        "weighted_walk", "distributed graph", walks(p=0.5, q=2.0), "4 bytes more a visit, and questions of adjacency"
    ),
    "search_uniform": Entry("graph_search", "uniform", search("uniform", "direct"), _VISITS),
    "search_greedy": Entry("graph_search", "greedy", search("greedy", "direct"), _VISITS),
    "search_greedy_previsit": Entry("graph_search", "greedy, pre-visit", search("greedy", "previsit"), _VISITS),
    "search_stochastic": Entry("graph_search", "stochastic greedy", search("stochastic_greedy", "direct"), _VISITS),
    "search_stochastic_previsit": Entry(
        "graph_search", "stochastic greedy, pre-visit", search("stochastic_greedy", "previsit"), _VISITS
    ),
    "geolocate": Entry(
        "geolocation", "explicit movement", places("explicit"), "a place is sent once in a run, to its readers alone"
    ),
    "geolocate_peer": Entry(
        "geolocation", "peer access", places("peer"), "20 bytes an arc and not 8, of vertices that are located alone"
    ),
    "vertex_nomination": Entry("vertex_nomination", "", nomination, "minima are combined before they are sent"),
    "scan": Entry(
        "scan_statistics",
        "duplicated graph, counts added up",
        scan("intersection"),
        "counts and degrees; sums of up to 64 KiB go from all to all",
    ),
    "scan_wedges": Entry(
        "scan_statistics",
        "distributed graph",
        scan("wedges"),
        "wedges of own first corners stay; degrees are sent, too",
    ),
    "maximum_flow": Entry(
        "sparse_fused_lasso", "", flow, "a few rounds and not the worst case; with the usual method nothing is sent"
    ),
    "fused_lasso": Entry(
        "sparse_fused_lasso", "", lasso, "a few rounds and not the worst case; with the usual method nothing is sent"
    ),
    "project": Entry("graph_projection", "distributed graph", projection, "rows go to all nodes; and counts"),
    "classify": Entry(
        "application_classification", "as proposed here", classification, "messages both ways, gathered by all nodes"
    ),
    "local_clustering": Entry("local_graph_clustering", "", clustering, "12 bytes, of values that change alone"),
    "graphsage": Entry("graphsage", "", sage("duplicated"), "graph and features are everywhere: nothing to send"),
    "graphsage_direct": Entry(
        "graphsage", "direct access", sage("direct"), "a feature row once a batch, however many leaves it is"
    ),
    "graphsage_streamed": Entry(
        "graphsage", "", sage("streamed"), "products of rows once in all, and children with their leaves"
    ),
}


def measure(entry: Entry, graph: af.Graph, p: int) -> dict[str, Any]:
    """A row of the table."""
    counted = entry.run(graph, {"parts": p, "ranks_per_node": 1} if p > 1 else {"threads": 1})
    way = next(one for one in find(entry.name) if one.variant == entry.variant)
    given = Inputs(float(graph.vertices), float(graph.arcs), p, **counted.given)
    study = judge(way, given)
    formula = study.bytes * counted.supersteps if p > 1 else 0.0
    each = counted.bytes / p
    ours = replace(way, bytes=lambda _: each / counted.supersteps, outright="")
    return {
        "p": p, "bytes": each, "study_bytes": formula, "share": each / formula if formula else None,
        "supersteps": counted.supersteps, "given": counted.given, "printed": way.printed,
        "study_class": study.scalability, "our_class": judge(ours, given).scalability,
    }  # fmt: skip


def main(arguments: list[str] | None = None) -> None:
    """Print the table, and write it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph", default="kron:11,weights=1-9")
    parser.add_argument("--nodes", default="1,2,4,9")
    parser.add_argument("--only", help="names of ENTRIES, with commas")
    parser.add_argument("--out", type=Path, default=Path("results/hive.json"))
    asked = parser.parse_args(arguments)
    graph = af.load(asked.graph)
    names = list(ENTRIES) if asked.only is None else asked.only.split(",")
    unknown = [name for name in names if name not in ENTRIES]
    if unknown:
        parser.error(f"{unknown[0]} is none of {', '.join(ENTRIES)}")
    print(f"{asked.graph}: {graph.vertices:,} vertices, {graph.arcs:,} arcs; bytes of each node")
    results: dict[str, Any] = {"graph": asked.graph, "vertices": graph.vertices, "arcs": graph.arcs, "entries": {}}
    for name in names:
        entry = ENTRIES[name]
        rows = [measure(entry, graph, int(p)) for p in asked.nodes.split(",")]
        results["entries"][name] = {"why": entry.why, "rows": rows}
        printed = rows[-1]["printed"] or "-"
        print(f"\n{name} ({entry.name}{', ' + entry.variant if entry.variant else ''}; the study: {printed})")
        for row in rows:
            share = "" if row["share"] is None else f"{row['share']:8.2f} of it"
            said = f"  p {row['p']:2}  {row['bytes']:14,.0f}  study {row['study_bytes']:14,.0f} {share:>15}"
            print(f"{said}  {row['study_class']} -> {row['our_class']}")
        print(f"  {entry.why}")
    save(asked.out, results)


if __name__ == "__main__":
    main()

"""Applications beside other libraries: communities, flows, projections, fused lasso, matching, classification.

``python benchmarks/applications_flows.py [name ...] [--small]`` runs each beside its peers in alternation, checks that
answers agree, and prints medians of wall time, and of processor time, which a busy machine disturbs less. Peers that
are not installed are left out.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import arcflux as af

REPEATS = 5
Row = dict[str, Any]


def compared(title: str, ours: Callable[[], Any], peers: dict[str, Callable[[], Any] | None], says: str = "") -> Row:
    """Medians of wall and processor seconds, one round after the other; the first is a warm-up."""
    runs = {"arcflux": ours, **{name: run for name, run in peers.items() if run is not None}}
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    ours()  # compiles
    for turn in range(REPEATS + 1):
        for name, run in runs.items():
            if turn > 1 and taken[name] and taken[name][0][0] > 8:
                continue
            begun = time.perf_counter(), time.process_time()
            run()
            if turn or time.perf_counter() - begun[0] > 8:
                taken[name].append((time.perf_counter() - begun[0], time.process_time() - begun[1]))
    medians = {name: [statistics.median(column) for column in zip(*rows, strict=True)] for name, rows in taken.items()}
    wall, busy = medians["arcflux"]
    print(f"\n{title}{': ' + says if says else ''}")
    for name, (seconds, cpu) in medians.items():
        print(f"  {name:<12} {seconds:9.4f} s  {cpu:9.4f} s of cpu  {seconds / wall:6.2f} x ({cpu / busy:.2f} x)")
    return {"title": title, "says": says, "seconds": medians}


def installed(name: str) -> Any:
    """A module, or None where it is missing or was made for another NumPy."""
    try:
        return __import__(name, fromlist=["_"])
    except (ImportError, AttributeError):
        return None


def communities(small: bool) -> list[Row]:
    """Louvain beside NetworKit's PLM, Leiden beside igraph's; with the modularity of each."""
    rows = []
    for spec in ("lfr:20000", "kron:12") if small else ("lfr:200000", "kron:16", "planted:200x500,in=0.05,out=0.0002"):
        graph = af.load(spec)
        said: dict[str, float] = {}
        peers: dict[str, Callable[[], Any] | None] = {"networkit": _plm(graph, said), "igraph": None}
        rows.append(
            compared(f"louvain {spec}", lambda g=graph, s=said: s.update(ours=af.louvain(g).modularity), peers, "")
        )
        print("  modularity  ", {name: round(value, 4) for name, value in said.items()})
        said = {}
        peers = {"igraph": _leiden(graph, said)}
        rows.append(compared(f"leiden {spec}", lambda g=graph, s=said: s.update(ours=af.leiden(g).modularity), peers))
        print("  modularity  ", {name: round(value, 4) for name, value in said.items()})
    return rows


def _plm(graph: af.Graph, said: dict[str, float]) -> Callable[[], Any] | None:
    kit = installed("networkit")
    if kit is None:
        return None
    source, target, _ = graph.edge_numbers()
    made = kit.Graph(graph.vertices)
    made.addEdges((source.astype(np.uint64), target.astype(np.uint64)))

    def run() -> None:
        method = kit.community.PLM(made)
        method.run()
        said["networkit"] = af.modularity(graph, np.array(method.getPartition().getVector()))

    return run


def _leiden(graph: af.Graph, said: dict[str, float]) -> Callable[[], Any] | None:
    if installed("igraph") is None:
        return None
    made = graph.to_igraph()

    def run() -> None:
        found = made.community_leiden(objective_function="modularity", n_iterations=2)
        said["igraph"] = af.modularity(graph, np.array(found.membership))

    return run


def flows(small: bool) -> list[Row]:
    """Maximum flow beside scipy, igraph and OR-Tools; values have to agree."""
    from scipy.sparse.csgraph import maximum_flow

    rows = []
    for spec in ("genrmf:10x20", "kron:10,weights=1-99") if small else (
        "genrmf:16x64", "genrmf:24x24", "kron:14,weights=1-100", "geometric:20000,radius=0.02,weights=1-100"
    ):  # fmt: skip
        graph = af.load(spec)
        column = next(iter(graph.columns))
        ends = (0, graph.vertices - 1) if "kron" not in spec else tuple(np.argsort(graph.out_degrees)[-2:].tolist())
        matrix = graph.to_scipy(column).tocsr().astype(np.int32)
        values: dict[str, float] = {}

        def with_scipy(matrix: Any = matrix, ends: Any = ends, values: Any = values) -> None:
            values["scipy"] = maximum_flow(matrix, *ends).flow_value

        def ours(graph: Any = graph, ends: Any = ends, column: Any = column, values: Any = values) -> None:
            values["arcflux"] = af.minimum_cut(graph, *ends, column).value

        peers = {"scipy": with_scipy, "igraph": _igraph_flow(graph, ends, column, values)}
        peers["ortools"] = _ortools_flow(graph, ends, column, values)
        rows.append(compared(f"maximum flow {spec}", ours, peers))
        assert len({round(value, 6) for value in values.values()}) == 1, values
    return rows


def _igraph_flow(graph: af.Graph, ends: Any, column: str, values: dict[str, float]) -> Callable[[], Any] | None:
    if installed("igraph") is None:
        return None
    made = graph.to_igraph()
    return lambda: values.update(igraph=made.maxflow_value(*ends, capacity=column))


def _ortools_flow(graph: af.Graph, ends: Any, column: str, values: dict[str, float]) -> Callable[[], Any] | None:
    module = installed("ortools.graph.python.max_flow")
    if module is None:
        return None
    source, target, places = graph.edge_numbers()
    capacity = graph.columns[column][places].astype(np.int64)
    if not graph.directed:
        source, target = np.concatenate([source, target]), np.concatenate([target, source])
        capacity = np.concatenate([capacity, capacity])
    arcs = source.astype(np.int32), target.astype(np.int32), capacity

    def run() -> None:
        solver = module.SimpleMaxFlow()
        solver.add_arcs_with_capacity(*arcs)
        solver.solve(*ends)
        values["ortools"] = solver.optimal_flow()

    return run


def projections(small: bool) -> list[Row]:
    """Projection beside scipy's A'A and GraphBLAS' mxm."""
    rows = []
    for spec in ("ratings:3000x1000",) if small else ("rmat:13", "urand:15,ef=8"):
        graph = af.load(spec)
        matrix = graph.to_scipy().tocsr().astype(np.float64)
        matrix.data[:] = 1
        turned = matrix.T.tocsr()
        peers: dict[str, Callable[[], Any] | None] = {"scipy": lambda a=turned, b=matrix: a @ b, "graphblas": None}
        blas = installed("graphblas") if installed("suitesparse_graphblas") else None
        if blas is not None:
            made = blas.io.from_scipy_sparse(matrix)
            peers["graphblas"] = lambda m=made, b=blas: m.T.mxm(m, b.semiring.plus_pair).new().wait()
        rows.append(compared(f"project {spec}", lambda g=graph: af.project(g), peers))
    return rows


def lassos(small: bool) -> list[Row]:
    """The fused lasso beside pycut-pursuit (approximate); with the objective of each."""
    rows = []
    for spec in ("grid:40x40",) if small else ("grid:200x200", "geometric:20000,radius=0.015"):
        graph = af.load(spec)
        signal = np.random.default_rng(1).normal(size=graph.vertices)
        result = af.fused_lasso(graph, signal, 0.5)
        says = f"gap {result.gap:.2g}, {result.rounds} rounds"
        peers = {"cut pursuit": _cut_pursuit(graph, signal, 0.5)}
        rows.append(compared(f"fused lasso {spec}", lambda g=graph, s=signal: af.fused_lasso(g, s, 0.5), peers, says))
    return rows


def _cut_pursuit(graph: af.Graph, signal: Any, penalty: float) -> Callable[[], Any] | None:
    module = installed("pycut_pursuit.cp_prox_tv") or installed("pycut_pursuit")
    solve = getattr(module, "cp_prox_tv", None)
    if not callable(solve):
        return None
    source, target, _ = graph.edge_numbers()
    order = np.argsort(source, kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=graph.vertices))]).astype(np.uint32)
    links = first, target[order].astype(np.uint32)
    return lambda: solve(np.asfortranarray(signal[None]), *links, edge_weights=penalty, d1p=1, verbose=0)


def matchings(small: bool) -> list[Row]:
    """Seeded matching beside scipy's quadratic_assignment."""
    from scipy.optimize import quadratic_assignment

    rows = []
    for n in (200,) if small else (1000, 2000):
        a, b = af.generate.correlated_pair(n, 16 / n, 0.9)
        known = np.arange(max(10, n // 50))
        seeds = list(zip(known.tolist(), known.tolist(), strict=True))
        dense = a.to_scipy().toarray(), b.to_scipy().toarray()
        options = {"maximize": True, "partial_match": np.stack([known, known], 1), "rng": np.random.default_rng(1)}
        right = float((af.match_graphs(a, b, seeds)["match"] == np.arange(n)).mean())
        theirs = lambda d=dense, o=options: quadratic_assignment(*d, options=o)  # noqa: E731
        rows.append(
            compared(
                f"match {n} vertices", lambda a=a, b=b, s=seeds: af.match_graphs(a, b, s), {"scipy": theirs},
                f"{right:.3f} matched",
            )
        )  # fmt: skip
    return rows


def classifications(small: bool) -> list[Row]:
    """Classification beside the same messages in NumPy."""
    graph = af.load("rmat:10" if small else "rmat:15")
    pattern = af.load("rmat:3,ef=2")
    draw = np.random.default_rng(0)
    graph = graph.with_columns({"kind": draw.normal(size=graph.arcs)})
    pattern = pattern.with_columns({"kind": draw.normal(size=pattern.arcs)})
    costs = np.abs(graph.columns["kind"][:, None] - pattern.columns["kind"])
    heads = graph.out.neighbours.astype(np.int64)
    rows = np.repeat(np.arange(graph.vertices), np.diff(graph.out.offsets).astype(np.int64))

    def numpy_messages() -> None:
        values = np.zeros((graph.vertices, pattern.arcs))
        for _ in range(pattern.vertices):
            for ends, others in ((heads, rows), (rows, heads)):
                best = np.full_like(values, -1e9)
                np.maximum.at(best, ends, values[others] - costs)
                values = best - best.max(0)

    said = f"{graph.arcs:,} edges, pattern {pattern.vertices}/{pattern.arcs}"
    return [compared("classify", lambda: af.classify(graph, pattern, edges=["kind"]), {"numpy": numpy_messages}, said)]


SUITES = {
    "communities": communities, "flows": flows, "projections": projections, "lassos": lassos, "matchings": matchings,
    "classifications": classifications,
}  # fmt: skip


def main() -> None:
    """Run the suites that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*SUITES, []])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--json")
    given = parser.parse_args()
    found = {name: SUITES[name](given.small) for name in given.names or SUITES}
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()

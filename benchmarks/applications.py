"""The applications of the HIVE study side by side with other libraries, in one run: medians of alternating rounds.

    python benchmarks/applications.py --scale 14 --repeats 3 --threads 2 --only walks,scan --out applications.json
    python benchmarks/applications.py --scale 14 --memory     # what a run has in memory at most, beside its graph
    python benchmarks/applications.py --growth 14 18          # what an edge takes on the first graph and on the second

Each application is an entry of ENTRIES: a function that makes candidates for a graph, ours first. A candidate is called
with nothing and does the whole work; peers that are not installed are left out, and said. Wall time and the processor
time of all threads are told: on cores that others use the second is what can be compared.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import arcflux as af

Candidates = dict[str, Callable[[], Any]]


def edges_of(graph: af.Graph) -> Any:
    """The edges of a graph, without loops and parallel ones."""
    source, target, _ = graph.edge_numbers()
    pairs = np.unique(np.sort(np.stack([source, target], 1), axis=1), axis=0)
    return pairs[pairs[:, 0] != pairs[:, 1]]


def networkit_graph(graph: af.Graph) -> Any:
    """The same for NetworKit."""
    import networkit

    source, target = edges_of(graph).T.astype(np.uint64)
    return networkit.GraphFromCoo((source.copy(), target.copy()), n=graph.vertices)


def igraph_graph(graph: af.Graph) -> Any:
    """The same for igraph."""
    import igraph

    return igraph.Graph(graph.vertices, edges_of(graph).tolist())


# Names that NumPy 2 has no more, and that what pecanpy imports asks for.
_GONE = {
    "bool8": np.bool_, "object0": np.object_, "int0": np.intp, "uint0": np.uintp, "void0": np.void,
    "float_": np.float64, "complex_": np.complex128, "str0": np.str_, "bytes0": np.bytes_, "longfloat": np.longdouble,
    "singlecomplex": np.complex64, "cfloat": np.complex128, "longcomplex": np.clongdouble,
    "clongfloat": np.clongdouble, "string_": np.bytes_, "unicode_": np.str_,
}  # fmt: skip


def pecanpy_walks(graph: af.Graph, kind: str, threads: int, p: float, q: float) -> Callable[[], Any]:
    """pecanpy's walks of 80 vertices from each, without making text of them."""
    for name, value in _GONE.items():
        if name not in np.__dict__:
            setattr(np, name, value)
    from numba_progress import ProgressBar
    from pecanpy import pecanpy

    made = getattr(pecanpy, kind)(p=p, q=q, workers=threads, verbose=False, random_state=1)
    offsets, neighbours = graph.out
    made.set_node_ids(list(map(str, range(graph.vertices))))
    made.indptr, made.indices = offsets.astype(np.uint32), neighbours.astype(np.uint32)
    made.data = np.ones(graph.arcs, np.float32)
    made._preprocess_transition_probs()
    starts = np.arange(graph.vertices, dtype=np.uint32)

    how = made.get_has_nbrs(), made.get_move_forward()

    def run() -> Any:
        with ProgressBar(total=len(starts), disable=True) as progress:
            return made._random_walks(len(starts), 79, 1, starts, *how, progress)

    return run


def walks(graph: af.Graph, threads: int) -> Candidates:
    """Uniform walks of 80 vertices, one from each."""
    found: Candidates = {"arcflux": lambda: af.random_walks(graph, walk_length=80, weight=None, threads=threads)}
    if find_spec("pecanpy"):
        found["pecanpy FirstOrder"] = pecanpy_walks(graph, "FirstOrderUnweighted", threads, 1.0, 1.0)
    if find_spec("igraph"):
        other = igraph_graph(graph)
        some = range(0, graph.vertices, 16)
        found["igraph, 1/16 of the walks"] = lambda: [other.random_walk(v, 79, stuck="return") for v in some]
    return found


def node2vec_walks(graph: af.Graph, threads: int) -> Candidates:
    """node2vec's walks of 80 vertices, one from each, p = 0.5, q = 2."""
    asked = {"walk_length": 80, "weight": None, "p": 0.5, "q": 2.0, "threads": threads}
    found: Candidates = {"arcflux": lambda: af.random_walks(graph, **asked)}
    if find_spec("pecanpy"):
        found["pecanpy SparseOTF"] = pecanpy_walks(graph, "SparseOTF", threads, 0.5, 2.0)
    return found


def scan(graph: af.Graph, threads: int) -> Candidates:
    """Scan statistics."""
    found: Candidates = {"arcflux": lambda: af.scan_statistics(graph, threads=threads)}
    if find_spec("igraph") and graph.arcs < 1 << 19:  # it lists all triangles in Python
        other = igraph_graph(graph)
        found["igraph"] = lambda: (
            np.bincount(np.array(other.list_triangles()).reshape(-1), minlength=graph.vertices)
            + np.array(other.degree())
        )
    if find_spec("networkit"):
        import networkit

        peer = networkit_graph(graph)
        networkit.setNumberOfThreads(threads)
        found["NetworKit LCC"] = lambda: networkit.centrality.LocalClusteringCoefficient(peer, turbo=False).run()
    return found


def nomination(graph: af.Graph, threads: int) -> Candidates:
    """From sixteen seeds."""
    from scipy.sparse.csgraph import dijkstra

    seeds = np.argsort(-graph.out_degrees.astype(np.int64))[:16].tolist()
    matrix = graph.to_scipy().astype(np.float64)
    return {
        "arcflux": lambda: af.vertex_nomination(graph, seeds, threads=threads),
        "scipy dijkstra min_only": lambda: dijkstra(matrix, indices=seeds, min_only=True),
    }


def clustering(count: int) -> Callable[[af.Graph, int], Candidates]:
    """PageRank-Nibble from so many seeds."""

    def candidates(graph: af.Graph, threads: int) -> Candidates:
        seeds = np.flatnonzero(graph.out_degrees > 4)[:: max(1, graph.vertices // (4 * count))][:count].tolist()
        found: Candidates = {
            "arcflux": lambda: af.local_clustering(graph, seeds, rho=1e-5, weight=None, threads=threads)
        }
        if find_spec("networkit"):
            import networkit

            peer = networkit_graph(graph)
            found["NetworKit PageRankNibble"] = lambda: [
                networkit.scd.PageRankNibble(peer, 0.15, 1e-5).expandOneCommunity(seed) for seed in seeds
            ]
        return found

    return candidates


def places(graph: af.Graph, threads: int) -> Candidates:
    """A fifth of the vertices are known; beside a Numba copy of Gunrock's loop, of as many rounds, on one thread."""
    random = np.random.default_rng(1)
    known = np.stack([random.uniform(-60, 60, graph.vertices), random.uniform(-170, 170, graph.vertices)], 1)
    known[random.random(graph.vertices) > 0.2] = np.nan
    rounds = af.geolocate(graph, known).rounds
    loop = gunrock_loop()
    offsets, neighbours = (array.astype(np.int64) for array in graph.out)
    return {
        "arcflux": lambda: af.geolocate(graph, known, threads=threads),
        "Gunrock's loop in Numba": lambda: loop(offsets, neighbours, known.copy(), rounds, 1000, 1e-3),
    }


def gunrock_loop() -> Any:
    """Gunrock's geolocation: Weiszfeld's steps in degrees, weights by the haversine formula, by rounds."""
    import numba

    @numba.njit(error_model="numpy")
    def distance(a: float, b: float, c: float, d: float) -> float:
        a, b, c, d = math.radians(a), math.radians(b), math.radians(c), math.radians(d)
        h = math.sin((c - a) / 2) ** 2 + math.cos(a) * math.cos(c) * math.sin((d - b) / 2) ** 2
        return 2 * 6371.0 * math.asin(math.sqrt(min(1.0, h)))

    @numba.njit(error_model="numpy")
    def loop(offsets: Any, neighbours: Any, places: Any, rounds: int, limit: int, eps: float) -> Any:
        for _ in range(rounds):
            after = places.copy()
            for v in range(len(offsets) - 1):
                if not math.isnan(places[v, 0]):
                    continue
                x, y, n = 0.0, 0.0, 0
                for k in range(offsets[v], offsets[v + 1]):
                    u = neighbours[k]
                    if not math.isnan(places[u, 0]):
                        x, y, n = x + places[u, 0], y + places[u, 1], n + 1
                if n == 0:
                    continue
                x, y = x / n, y / n
                for _step in range(limit if n > 2 else 0):
                    sx, sy, total = 0.0, 0.0, 0.0
                    for k in range(offsets[v], offsets[v + 1]):
                        u = neighbours[k]
                        if not math.isnan(places[u, 0]):
                            far = distance(x, y, places[u, 0], places[u, 1])
                            if far > 0:
                                sx, sy = sx + places[u, 0] / far, sy + places[u, 1] / far
                                total += 1 / far
                    moved = math.hypot(sx / total - x, sy / total - y)
                    x, y = sx / total, sy / total
                    if moved < eps:
                        break
                after[v, 0], after[v, 1] = x, y
            places[:] = after
        return places

    return loop


def sage(graph: af.Graph, threads: int) -> Candidates:
    """All vertices, ten children and ten leaves each, 64 features; beside NumPy by the study's order of operations."""
    features = np.random.default_rng(1).standard_normal((graph.vertices, 64), np.float32)
    weights = af.applications.random_weights(64)
    offsets, neighbours = graph.out
    degrees = np.diff(offsets).astype(np.int64)

    def draw(vertices: Any, random: Any) -> Any:
        places = (random.random((len(vertices), 10)) * degrees[vertices][:, None]).astype(np.int64)
        rows = neighbours[np.minimum(offsets[vertices].astype(np.int64)[:, None] + places, graph.arcs - 1)]
        return np.where(degrees[vertices][:, None] > 0, rows, vertices[:, None])

    def unit(rows: Any) -> Any:
        rows = np.maximum(rows, 0)
        return rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-12)

    def batches() -> Any:
        random, out = np.random.default_rng(2), []
        for begin in range(0, graph.vertices, 4096):
            sources = np.arange(begin, min(begin + 4096, graph.vertices))
            children = draw(sources, random)
            flat = children.reshape(-1).astype(np.int64)
            leaves = features[draw(flat, random)].mean(axis=1)
            child = unit(np.concatenate([features[flat] @ weights[0], leaves @ weights[1]], 1))
            mean = features[children].mean(axis=1)
            source = unit(np.concatenate([features[sources] @ weights[0], mean @ weights[1]], 1))
            below = child.reshape(len(sources), 10, -1).mean(axis=1)
            out.append(unit(np.concatenate([source @ weights[2], below @ weights[3]], 1)))
        return np.concatenate(out)

    asked = {"children": 10, "threads": threads, "batch": 4096}
    found: Candidates = {
        "arcflux, the study's": lambda: af.graphsage(graph, features, weights, **asked),
        "arcflux, shared samples": lambda: af.graphsage(graph, features, weights, share_samples=True, **asked),
        "NumPy mini-batches": batches,
    }
    if find_spec("torch"):
        found["torch mini-batches"] = torch_batches(graph, features, weights, threads)
    return found


def torch_batches(graph: af.Graph, features: Any, weights: Any, threads: int) -> Callable[[], Any]:
    """The same as a torch user writes it: sample, gather features, layer by layer; batches of 4,096 sources."""
    import torch
    from torch.nn.functional import normalize

    torch.set_num_threads(threads)
    x, (w0, w1, w2, w3) = torch.from_numpy(features), map(torch.from_numpy, weights)
    offsets = torch.from_numpy(graph.out.offsets.astype(np.int64))
    neighbours, degrees = torch.from_numpy(graph.out.neighbours.astype(np.int64)), offsets.diff()

    def draw(vertices: Any) -> Any:
        places = (torch.rand(len(vertices), 10) * degrees[vertices][:, None]).long()
        rows = neighbours[(offsets[vertices][:, None] + places).clamp(max=graph.arcs - 1)]
        return torch.where(degrees[vertices][:, None] > 0, rows, vertices[:, None])

    @torch.inference_mode()
    def run() -> Any:
        out = []
        for sources in torch.arange(graph.vertices).split(4096):
            children = draw(sources)
            flat = children.reshape(-1)
            child = normalize(torch.relu(torch.cat([x[flat] @ w0, x[draw(flat)].mean(1) @ w1], 1)))
            source = normalize(torch.relu(torch.cat([x[sources] @ w0, x[children].mean(1) @ w1], 1)))
            below = child.reshape(len(sources), 10, -1).mean(1)
            out.append(normalize(torch.relu(torch.cat([source @ w2, below @ w3], 1))))
        return torch.cat(out)

    return run


def sage_layers(graph: af.Graph, threads: int) -> Candidates:
    """All neighbours, layer by layer; beside torch's product with a sparse matrix."""
    features = np.random.default_rng(1).standard_normal((graph.vertices, 64), np.float32)
    weights = af.applications.random_weights(64)
    found: Candidates = {
        "arcflux, all neighbours": lambda: af.graphsage(graph, features, weights, children=None, threads=threads)
    }
    if find_spec("torch"):
        import torch
        from torch.nn.functional import normalize

        torch.set_num_threads(threads)
        x, (w0, w1, w2, w3) = torch.from_numpy(features), map(torch.from_numpy, weights)
        degrees = np.diff(graph.out.offsets).astype(np.int64)
        shares = torch.from_numpy(np.repeat((1 / np.maximum(degrees, 1)).astype(np.float32), degrees))
        ends = (torch.from_numpy(array.astype(np.int64)) for array in graph.out)
        mean = torch.sparse_csr_tensor(*ends, shares, (graph.vertices, graph.vertices))

        @torch.inference_mode()
        def run() -> Any:
            one = normalize(torch.relu(torch.cat([x @ w0, (mean @ x) @ w1], 1)))
            return normalize(torch.relu(torch.cat([one @ w2, mean @ (one @ w3)], 1)))

        found["torch layer-wise"] = run
    return found


ENTRIES: dict[str, Callable[[af.Graph, int], Candidates]] = {
    "walks": walks,
    "node2vec_walks": node2vec_walks,
    "scan": scan,
    "nomination": nomination,
    "clustering_1": clustering(1),
    "clustering_100": clustering(100),
    "geolocate": places,
    "graphsage": sage,
    "graphsage_layers": sage_layers,
}


def calls(graph: af.Graph, threads: int) -> dict[str, Callable[[], Any]]:
    """Our call of each application whose work is linear."""
    random, column = np.random.default_rng(1), next(iter(graph.columns))
    known = np.stack([random.uniform(-60, 60, graph.vertices), random.uniform(-170, 170, graph.vertices)], 1)
    known[random.random(graph.vertices) > 0.2] = np.nan
    features = random.standard_normal((graph.vertices, 64), np.float32)
    signal, ends = random.normal(size=graph.vertices), np.argsort(graph.out_degrees)[-2:].tolist()
    pattern = af.load("rmat:3,ef=2")
    pattern = pattern.with_columns({column: np.arange(pattern.arcs) % 7})
    on: dict[str, Any] = {"threads": threads}
    return {
        "louvain": lambda: af.louvain(graph, weight=None, **on),
        "leiden": lambda: af.leiden(graph, weight=None, **on),
        "random_walks": lambda: af.random_walks(graph, walk_length=80, weight=None, **on),
        "scan_statistics": lambda: af.scan_statistics(graph, **on),
        "vertex_nomination": lambda: af.vertex_nomination(graph, ends, **on),
        "local_clustering": lambda: af.local_clustering(graph, ends[:1], rho=1e-5, weight=None, **on),
        "geolocate": lambda: af.geolocate(graph, known, **on),
        "graphsage": lambda: af.graphsage(graph, features, children=None, **on),
        "minimum_cut": lambda: af.minimum_cut(graph, *ends, column, **on),
        "fused_lasso": lambda: af.fused_lasso(graph, signal, 1.0, weight=None, **on),
        "classify": lambda: af.classify(graph, pattern, edges=[column], **on),
    }


def bytes_of(value: Any, seen: set[int]) -> int:
    """Of all arrays that a result holds, without the graph that it is about."""
    if id(value) in seen:
        return 0
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        return bytes_of(value.base, seen) if isinstance(value.base, np.ndarray) else value.nbytes
    if isinstance(value, (list, tuple)):
        return sum(bytes_of(part, seen) for part in value)
    if isinstance(value, dict):
        return sum(bytes_of(part, seen) for part in value.values())
    return sum(bytes_of(part, seen) for name, part in getattr(value, "__dict__", {}).items() if name != "graph")


def peak(name: str, spec: str, threads: int) -> None:
    """Print what a run has in memory at most, more than before it, beside its graph and its result; in MiB."""
    calls(af.load("kron:8,weights=1-255"), threads)[name]()  # what Numba and LLVM need for its kernels
    graph = af.load(spec)
    run = calls(graph, threads)[name]
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    result = run()
    most = _status("VmHWM") - before
    own = (sum(array.nbytes for array in graph.out) + sum(a.nbytes for a in graph.columns.values())) / 2**20
    made = bytes_of(result, {id(graph)}) / 2**20
    print(f"  {name:<20} {own:8.1f} graph {made:8.1f} result {most:8.1f} peak {(most - made) / own:7.2f} x", flush=True)


def _status(field: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith(field + ":"))


def growth(scales: list[int], only: list[str] | None, threads: int, repeats: int) -> None:
    """Print nanoseconds an edge on graphs of these scales, by wall clock and of all cores, and how they grow."""
    taken: dict[str, list[tuple[float, float]]] = {}
    for scale in scales:
        graph = af.load(f"kron:{scale},weights=1-255")
        for name, run in calls(graph, threads).items():
            if only is None or name in only:
                row = measure({name: run}, repeats)[name]
                taken.setdefault(name, []).append((1e9 * row["wall"] / graph.edges, 1e9 * row["cpu"] / graph.edges))
    print(f"  {'an edge':<20}" + "".join(f"{f'kron:{scale}':>14}" for scale in scales) + f"{'grows':>10}")
    for name, rows in taken.items():
        for said, each in zip(("wall", "cpu"), zip(*rows, strict=True), strict=True):
            shown = "".join(f"{one:11.2f} ns" for one in each)
            print(f"  {name:<15} {said:<4}{shown}{each[-1] / each[0]:8.2f} x", flush=True)


def measure(candidates: Candidates, repeats: int) -> dict[str, dict[str, Any]]:
    """Wall and processor seconds of each candidate, in alternating rounds, the first one left out."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in candidates}
    for turn in range(repeats + 1):
        for name, run in candidates.items():
            begun, used = time.perf_counter(), time.process_time()
            run()
            if turn:
                taken[name].append((time.perf_counter() - begun, time.process_time() - used))
    return {
        name: {"wall": statistics.median(wall for wall, _ in rows), "cpu": statistics.median(cpu for _, cpu in rows),
               "all": rows}
        for name, rows in taken.items()
    }  # fmt: skip


def main() -> None:
    """Print the tables, and write them as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=14)
    parser.add_argument("--graph", help="a spec instead of kron:SCALE")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", help="names of ENTRIES, or of applications for --memory and --growth, with commas")
    parser.add_argument("--memory", action="store_true", help="measure memory; each application in a process")
    parser.add_argument("--growth", type=int, nargs=2, metavar="SCALE", help="measure seconds an edge at two scales")
    parser.add_argument("--peak", help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    spec = asked.graph or f"kron:{asked.scale},weights=1-255"
    if asked.peak:
        return peak(asked.peak, spec, asked.threads)
    if asked.growth:
        return growth(asked.growth, asked.only.split(",") if asked.only else None, asked.threads, asked.repeats)
    if asked.memory:
        print(f"{spec}, {asked.threads} threads: MiB, and what is beside the result, in graphs")
        for name in asked.only.split(",") if asked.only else calls(af.load("kron:8,weights=1-255"), 1):
            line = [sys.executable, __file__, "--peak", name, "--graph", spec, "--threads", str(asked.threads)]
            subprocess.run(line, check=True)
        return None
    graph = af.load(spec)
    print(
        f"{spec}: {graph.vertices:,} vertices, {graph.edges:,} edges; {asked.threads} threads; load {os.getloadavg()}"
    )
    results: dict[str, Any] = {"graph": spec, "threads": asked.threads, "load": os.getloadavg(), "entries": {}}
    for name in list(ENTRIES) if asked.only is None else asked.only.split(","):
        rows = measure(ENTRIES[name](graph, asked.threads), asked.repeats)
        results["entries"][name] = rows
        base = next(iter(rows.values()))
        print(f"\n{name}")
        for who, row in rows.items():
            times = f"x {row['wall'] / base['wall']:7.2f} wall  x {row['cpu'] / max(base['cpu'], 1e-9):7.2f} cpu"
            print(f"  {who:<28} {row['wall']:9.4f} s wall {row['cpu']:9.4f} s cpu   {times}", flush=True)
    if asked.out is not None:
        asked.out.write_text(json.dumps(results, indent=1))
    return None


if __name__ == "__main__":
    main()

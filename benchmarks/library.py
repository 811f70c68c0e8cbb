"""The library's algorithms beside NetworkX, igraph, scipy, NetworKit, rustworkx, GraphBLAS, where these are installed.

python benchmarks/library.py --graphs kron:16,weights=1-99 road:16 --trials 3 --json library   # specs, and families.py

Loading and converting graphs is not counted. Peers get the simple graph: no loops, the first of parallel edges.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import arcflux as af
from arcflux.errors import ArcfluxError
from families import family, is_family
from measure import interleaved, report, save

Calls = dict[str, Callable[[], Any]]
# NetworkX takes minutes where others take seconds.
SLOW = 200_000
# rustworkx makes an object of every edge.
OBJECTS = 10_000_000


class Peers:
    """One graph as every library has it, made when it is first asked for; what is not installed is None.

    `directed` has every edge in a direction of chance, and half of them both ways.
    """

    def __init__(self, graph: af.Graph) -> None:
        sources, targets, places = graph.edge_numbers()
        columns = graph.columns
        weights = columns["weight"][places] if "weight" in columns else np.ones(len(places), np.int64)
        kind = {"directed": False, "deduplicate": "first", "drop_self_loops": True, "vertices": graph.vertices}
        self.own = af.Graph.from_edges(sources, targets, columns={"weight": weights}, **kind)
        sources, targets, places = self.own.edge_numbers()
        self.pairs = np.stack([sources, targets], 1)
        self.weights = self.own.columns["weight"][places].astype(np.float64)
        self.sample = self.pairs[:: max(1, len(self.pairs) // 100_000)]

    @cached_property
    def arcs(self) -> Any:
        chance = np.random.default_rng(1).integers(0, 4, len(self.pairs))
        there, back = self.pairs[chance != 0], self.pairs[chance != 1][:, ::-1]
        return np.concatenate([there, back])

    @cached_property
    def directed(self) -> af.Graph:
        return af.Graph.from_edges(*self.arcs.T, vertices=self.own.vertices)

    @cached_property
    def matrix(self) -> Any:
        return self.own.to_scipy()

    @cached_property
    def directed_matrix(self) -> Any:
        return self.directed.to_scipy()

    @cached_property
    def graphblas(self) -> Any:
        graphblas = installed("graphblas")
        return graphblas and graphblas.io.from_scipy_sparse(self.matrix.astype(bool))

    @cached_property
    def networkx(self) -> Any:
        if self.own.arcs > SLOW:
            return None
        made = import_module("networkx").Graph()
        made.add_nodes_from(range(self.own.vertices))
        made.add_weighted_edges_from(zip(*self.pairs.T.tolist(), self.weights.tolist(), strict=True))
        return made

    @cached_property
    def igraph(self) -> Any:
        igraph = installed("igraph")
        return igraph and igraph.Graph(n=self.own.vertices, edges=self.pairs, edge_attrs={"weight": self.weights})

    @cached_property
    def directed_igraph(self) -> Any:
        igraph = installed("igraph")
        return igraph and igraph.Graph(n=self.own.vertices, edges=self.arcs, directed=True)

    @cached_property
    def networkit(self) -> Any:
        networkit = installed("networkit")
        if networkit is None:
            return None
        made = networkit.GraphFromCoo((self.weights, columns_of(self.pairs)), n=self.own.vertices, weighted=True)
        made.indexEdges()
        return made

    @cached_property
    def directed_networkit(self) -> Any:
        networkit = installed("networkit")
        ones = np.ones(len(self.arcs))
        return networkit and networkit.GraphFromCoo(
            (ones, columns_of(self.arcs)), n=self.own.vertices, weighted=False, directed=True
        )

    @cached_property
    def rustworkx(self) -> Any:
        return self._rustworkx("PyGraph", self.pairs, self.weights)

    @cached_property
    def directed_rustworkx(self) -> Any:
        return self._rustworkx("PyDiGraph", self.arcs, np.ones(len(self.arcs)))

    def _rustworkx(self, kind: str, pairs: Any, weights: Any) -> Any:
        rustworkx = installed("rustworkx")
        if rustworkx is None or self.own.arcs > OBJECTS:
            return None
        made = getattr(rustworkx, kind)(multigraph=False)
        made.add_nodes_from(range(self.own.vertices))
        made.add_edges_from([(u, v, w) for (u, v), w in zip(pairs.tolist(), weights.tolist(), strict=True)])
        return made


def columns_of(pairs: Any) -> tuple[Any, Any]:
    return tuple(np.ascontiguousarray(column, np.uint64) for column in pairs.T)


def installed(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        return None


def graphblas_truss(matrix: Any, k: int) -> Any:
    """Davis, "Algorithm 9xx: GraphBLAS" (2019): supports of all edges that are left, until none has too little."""
    plus_pair, many = _lazy("graphblas").semiring.plus_pair, -1
    while matrix.nvals != many:
        many = matrix.nvals
        support = matrix.mxm(matrix.T, plus_pair).new(mask=matrix.S)
        matrix = support.select(">=", k - 2).new()
    return matrix


def networkit_jaccard(graph: Any, pairs: Any) -> Any:
    return _lazy("networkit").linkprediction.JaccardIndex(graph).runOn([tuple(pair) for pair in pairs])


def candidates(name: str, peers: Peers, options: dict[str, Any], without: Sequence[str] = ()) -> Calls:
    """Who can do what, on these graphs."""
    own = {
        "minimum_spanning_tree": lambda: af.minimum_spanning_tree(peers.own, **options),
        "k_truss": lambda: af.k_truss(peers.own, 4, **options),
        "core_number": lambda: af.core_number(peers.own, **options),
        "biconnected_components": lambda: af.biconnected_components(peers.own, **options),
        "bridges": lambda: af.bridges(peers.own, **options),
        "maximal_independent_set": lambda: af.maximal_independent_set(peers.own, **options),
        "greedy_color": lambda: af.greedy_color(peers.own, **options),
        "maximal_matching": lambda: af.maximal_matching(peers.own, **options),
        "strongly_connected_components": lambda: af.strongly_connected_components(peers.directed, **options),
        "jaccard_coefficient": lambda: af.jaccard_coefficient(peers.own, peers.sample, **options),
        "shortest_path": lambda: af.shortest_path_length(peers.own, 0, peers.own.vertices - 1, "weight", **options),
        "distance_matrix": lambda: af.distance_matrix(peers.own, list(range(8)), "weight", **options),
        "transitivity": lambda: af.transitivity(peers.own, **options),
        "closeness_centrality": lambda: af.closeness_centrality(peers.own, **options),
    }[name]
    others = {
        label: call
        for label, module, call in PEERS.get(name, ())
        if getattr(peers, "matrix" if module == "scipy" else module) is not None and label not in without
    }
    return {"arcflux": own, **{label: (lambda call=call: call(peers)) for label, call in others.items()}}


def _lazy(module: str) -> Any:
    return import_module(module)


PEERS: dict[str, tuple[tuple[str, str, Callable[[Peers], Any]], ...]] = {
    "minimum_spanning_tree": (
        ("networkx", "networkx", lambda p: list(_lazy("networkx").minimum_spanning_edges(p.networkx, data=False))),
        ("igraph", "igraph", lambda p: p.igraph.spanning_tree(weights="weight", return_tree=False)),
        ("scipy", "scipy", lambda p: _lazy("scipy.sparse.csgraph").minimum_spanning_tree(p.matrix)),
        ("networkit", "networkit", lambda p: _lazy("networkit").graph.UnionMaximumSpanningForest(p.networkit).run()),
        ("rustworkx", "rustworkx", lambda p: _lazy("rustworkx").minimum_spanning_edges(p.rustworkx, float)),
    ),
    "k_truss": (
        ("networkx", "networkx", lambda p: _lazy("networkx").k_truss(p.networkx, 4)),
        ("graphblas", "graphblas", lambda p: graphblas_truss(p.graphblas, 4)),
    ),
    "core_number": (
        ("networkx", "networkx", lambda p: _lazy("networkx").core_number(p.networkx)),
        ("igraph", "igraph", lambda p: p.igraph.coreness()),
        ("networkit", "networkit", lambda p: _lazy("networkit").centrality.CoreDecomposition(p.networkit).run()),
        ("rustworkx", "rustworkx", lambda p: _lazy("rustworkx").core_number(p.rustworkx)),
    ),
    "biconnected_components": (
        ("networkx", "networkx", lambda p: list(_lazy("networkx").biconnected_components(p.networkx))),
        ("igraph", "igraph", lambda p: p.igraph.biconnected_components()),
        ("networkit", "networkit", lambda p: _lazy("networkit").components.BiconnectedComponents(p.networkit).run()),
        ("rustworkx", "rustworkx", lambda p: _lazy("rustworkx").biconnected_components(p.rustworkx)),
    ),
    "bridges": (
        ("networkx", "networkx", lambda p: list(_lazy("networkx").bridges(p.networkx))),
        ("igraph", "igraph", lambda p: p.igraph.bridges()),
        ("rustworkx", "rustworkx", lambda p: _lazy("rustworkx").bridges(p.rustworkx)),
    ),
    "maximal_independent_set": (
        ("networkx", "networkx", lambda p: _lazy("networkx").maximal_independent_set(p.networkx, seed=1)),
        ("networkit", "networkit", lambda p: _lazy("networkit").independentset.Luby().run(p.networkit)),
    ),
    "greedy_color": (
        ("networkx", "networkx", lambda p: _lazy("networkx").greedy_color(p.networkx)),
        ("igraph", "igraph", lambda p: p.igraph.vertex_coloring_greedy()),
        ("rustworkx", "rustworkx", lambda p: _lazy("rustworkx").graph_greedy_color(p.rustworkx)),
    ),
    "maximal_matching": (("networkx", "networkx", lambda p: _lazy("networkx").maximal_matching(p.networkx)),),
    "strongly_connected_components": (
        ("scipy", "directed_matrix", lambda p: _lazy("scipy.sparse.csgraph").connected_components(
            p.directed_matrix, connection="strong")),
        ("igraph", "directed_igraph", lambda p: p.directed_igraph.connected_components(mode="strong")),
        ("networkit", "directed_networkit", lambda p: _lazy("networkit").components.StronglyConnectedComponents(
            p.directed_networkit).run()),
        ("rustworkx", "directed_rustworkx", lambda p: _lazy("rustworkx").strongly_connected_components(
            p.directed_rustworkx)),
    ),
    "closeness_centrality": (
        ("igraph", "igraph", lambda p: p.igraph.closeness()),
        ("networkit", "networkit", lambda p: _lazy("networkit").centrality.Closeness(
            p.networkit, True, _lazy("networkit").centrality.ClosenessVariant.GENERALIZED).run()),
        ("rustworkx", "rustworkx", lambda p: _lazy("rustworkx").closeness_centrality(p.rustworkx)),
    ),
    "jaccard_coefficient": (
        ("networkx", "networkx", lambda p: list(_lazy("networkx").jaccard_coefficient(p.networkx, p.sample.tolist()))),
        ("igraph", "igraph", lambda p: p.igraph.similarity_jaccard(pairs=p.sample.tolist(), loops=False)),
        ("networkit", "networkit", lambda p: networkit_jaccard(p.networkit, p.sample.tolist())),
    ),
    "shortest_path": (
        ("networkx", "networkx", lambda p: _lazy("networkx").has_path(p.networkx, 0, p.own.vertices - 1)
            and _lazy("networkx").bidirectional_dijkstra(p.networkx, 0, p.own.vertices - 1)),
        ("igraph", "igraph", lambda p: p.igraph.distances(0, p.own.vertices - 1, weights="weight")),
        ("networkit", "networkit", lambda p: _lazy("networkit").distance.BidirectionalDijkstra(
            p.networkit, 0, p.own.vertices - 1).run()),
    ),
    "distance_matrix": (
        ("igraph", "igraph", lambda p: p.igraph.distances(list(range(8)), weights="weight")),
        ("scipy", "scipy", lambda p: _lazy("scipy.sparse.csgraph").dijkstra(p.matrix, indices=list(range(8)))),
    ),
    "transitivity": (
        ("networkx", "networkx", lambda p: _lazy("networkx").transitivity(p.networkx)),
        ("igraph", "igraph", lambda p: p.igraph.transitivity_undirected()),
        ("rustworkx", "rustworkx", lambda p: _lazy("rustworkx").transitivity(p.rustworkx)),
    ),
}  # fmt: skip


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", nargs="+", default=["kron:16,weights=1-99", "grid:300x300,weights=1-99"])
    parser.add_argument("--only", nargs="*", default=list(PEERS))
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--without", nargs="*", default=[], help="peers to leave out")
    parser.add_argument("--json", default="library")
    given = parser.parse_args(arguments)
    results: dict[str, Any] = {}
    options = {} if given.threads is None else {"threads": given.threads}
    for spec in given.graphs:
        peers = Peers(family(spec) if is_family(spec) else af.load(spec))
        for name in given.only:
            try:
                seconds = interleaved(candidates(name, peers, options, given.without), given.trials)
            except ArcfluxError as error:
                print(f"\n{name} on {spec}: {error.what}")
                continue
            results.setdefault(spec, {})[name] = report(f"{name} on {spec}", seconds, "arcflux", unit="ms")
    where = Path(given.json) if given.json.endswith(".json") else given.json
    save(where, {"results": results})


if __name__ == "__main__":
    main()

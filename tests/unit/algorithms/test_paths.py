"""Paths to targets, several paths, and matrices of distances, against NetworkX and scipy."""

from itertools import islice, pairwise

import networkx as nx
import numpy as np
import pytest
from library_samples import NATIVE, drawn, multi
from scipy.sparse.csgraph import dijkstra

import arcflux as af
from arcflux.errors import GraphError, IdError, UsageError, WeightError


def lightest(graph, weight):
    """A simple graph of NetworkX's in which the lightest of parallel edges is left."""
    made = nx.DiGraph() if graph.directed else nx.Graph()
    made.add_nodes_from(range(graph.vertices))
    for u, v, data in multi(graph).edges(data=True):
        length = data["weight"] if weight else 1
        if not made.has_edge(u, v) or made[u][v]["weight"] > length:
            made.add_edge(u, v, weight=length)
    return made


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("weight", [None, "weight"])
def test_small_multigraphs(seed, weight):
    graph = drawn(seed, directed=seed % 2 > 0)
    there = lightest(graph, weight)
    rng = np.random.default_rng(seed)
    for source, target in rng.integers(0, graph.vertices, (4, 2)).tolist():
        length = af.shortest_path_length(graph, source, target, weight)
        assert af.has_path(graph, source, target) == nx.has_path(there, source, target)
        if not nx.has_path(there, source, target):
            assert length == np.inf
            assert af.k_shortest_paths(graph, source, target, 3, weight) == []
            with pytest.raises(GraphError, match="there is no path"):
                af.shortest_path(graph, source, target, weight)
            continue
        assert length == nx.dijkstra_path_length(there, source, target)
        left = nx.single_source_dijkstra_path_length(there.reverse() if graph.directed else there, target)
        for path in (
            af.shortest_path(graph, source, target, weight),
            af.astar_path(graph, source, target, None, weight),
            af.astar_path(graph, source, target, lambda u, _, left=left: left.get(u, 99) // 2, weight),
        ):
            assert (path[0], path[-1]) == (source, target)
            assert sum(there[u][v]["weight"] for u, v in pairwise(path)) == length
        if source == target:
            assert af.k_shortest_paths(graph, source, target, 2, weight) == [[source]]
            continue
        found = af.k_shortest_paths(graph, source, target, 6, weight)
        expected = list(islice(nx.shortest_simple_paths(there, source, target, weight="weight"), 6))
        totals = [[nx.path_weight(there, path, "weight") for path in paths] for paths in (found, expected)]
        assert totals[0] == totals[1]
        assert len({tuple(path) for path in found}) == len(found)
        assert all(len(set(path)) == len(path) for path in found)


@pytest.mark.parametrize(
    "spec", ["kron:8,weights=1-9", "grid:12x15,weights=1-3", "urand:n=200,m=500,directed,weights=1-9"]
)
def test_larger_graphs_everywhere(spec):
    graph = af.load(spec)
    for weight in (None, "weight"):
        sources = [0, 7, 3]
        found = af.distance_matrix(graph, sources, weight)
        levels = np.stack([af.sssp(graph, source, weight=weight)["distance"] for source in sources])
        np.testing.assert_array_equal(found, levels)
        for way in NATIVE:
            np.testing.assert_array_equal(af.distance_matrix(graph, sources, weight, **way), found)
            assert af.shortest_path_length(graph, 3, 99, weight, **way) == found[2, 99]
            if found[2, 99] < np.inf:
                assert af.shortest_path(graph, 3, 99, weight, **way) == af.shortest_path(graph, 3, 99, weight)
                ways = [af.k_shortest_paths(graph, 3, 99, 3, weight, **given) for given in ({}, way)]
                assert ways[0] == ways[1]
    whole = np.concatenate([rows for _, rows in af.all_pairs_distances(graph, "weight", block=60)])
    sources, targets, places = graph.edge_numbers()
    weights = graph.columns["weight"][places]
    once = af.Graph.from_edges(sources, targets, columns={"weight": weights}, directed=graph.directed,
                               deduplicate="min", vertices=graph.vertices)  # fmt: skip
    np.testing.assert_array_equal(whole, dijkstra(once.to_scipy(), directed=True))


@pytest.mark.parametrize("seed", range(20))
def test_what_is_near(seed):
    graph = drawn(seed, directed=seed % 2 > 0)
    there = multi(graph)
    for radius in (0, 1, 2):
        near = nx.single_source_shortest_path_length(there, 0, cutoff=radius)
        assert af.k_hop(graph, 0, radius).to_dict("hops") == {v: near.get(v, -1) for v in range(graph.vertices)}
        for center, undirected in ((True, False), (False, False), (True, True)):
            expected = nx.ego_graph(there, 0, radius, center, undirected)
            made = af.ego_graph(graph, 0, radius, center, undirected)
            assert list(made.ids) == sorted(expected)
            assert made.edges == expected.number_of_edges()
    assert af.k_hop(graph, [0, graph.vertices - 1], 0)["hops"].tolist().count(0) == len({0, graph.vertices - 1})


def test_refusals():
    graph = af.Graph.from_edges(["a"], ["b"], columns={"cost": [-1.0]})
    with pytest.raises(IdError, match="'zoe' is not in the graph"):
        af.shortest_path(graph, "zoe", "b")
    with pytest.raises(UsageError, match="target is"):
        af.shortest_path(graph, "a", ["b"])
    with pytest.raises(WeightError, match="cost"):
        af.shortest_path(graph, "a", "b", weight="cost")
    with pytest.raises(UsageError, match="estimate below 0"):
        af.astar_path(graph, "a", "b", {"a": -1.0})
    with pytest.raises(UsageError, match="k is -1"):
        af.k_shortest_paths(graph, "a", "b", -1)
    assert af.k_shortest_paths(graph, "a", "b", 0) == []

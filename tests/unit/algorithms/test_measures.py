"""Numbers of whole graphs, edge betweenness, triads, bipartite matchings and vectors, against NetworkX and igraph."""

import math
from fractions import Fraction

import igraph
import networkx as nx
import numpy as np
import pytest
from library_samples import NATIVE, PROGRAM, UNDIRECTED, drawn, multi, same_everywhere, simple

import arcflux as af
from arcflux.errors import GraphError, UsageError


@pytest.mark.parametrize("seed", range(25))
def test_numbers_of_small_graphs(seed):
    directed = seed % 2 > 0
    graph = drawn(seed, directed=directed)
    there, every = simple(graph, directed), multi(graph)
    if not directed:
        assert af.transitivity(graph) == pytest.approx(nx.transitivity(there))
        assert af.average_clustering(graph) == pytest.approx(nx.average_clustering(there))
    else:
        assert af.triad_census(graph) == nx.triadic_census(there)
        if there.number_of_edges():
            once = af.Graph.from_edges(*map(list, zip(*there.edges, strict=True)), vertices=graph.vertices)
            assert af.reciprocity(once) == pytest.approx(nx.overall_reciprocity(there))
    assert af.density(graph) == pytest.approx(nx.density(every))
    assert af.degree_centrality(graph).to_dict() == pytest.approx(nx.degree_centrality(every))
    with np.errstate(all="ignore"):
        if there.number_of_edges() > 2 and len({d for _, d in every.degree()}) > 1:
            ours, theirs = af.degree_assortativity_coefficient(graph), nx.degree_assortativity_coefficient(every)
            assert (math.isnan(ours) and math.isnan(theirs)) or ours == pytest.approx(theirs, abs=1e-9)
    whole = nx.is_strongly_connected(there) if directed else nx.is_connected(there)
    if whole:
        assert af.diameter(graph) == nx.diameter(there)
        assert af.radius(graph) == nx.radius(there)
        assert (af.center(graph), af.periphery(graph)) == (nx.center(there), nx.periphery(there))
        assert af.average_shortest_path_length(graph) == pytest.approx(nx.average_shortest_path_length(there))
    elif graph.vertices > 1:
        assert af.diameter(graph) == af.average_shortest_path_length(graph) == math.inf


@pytest.mark.parametrize("seed", range(25))
def test_edge_betweenness_of_small_graphs(seed):
    graph = drawn(seed, directed=seed % 2 > 0, deduplicate="first", sort=True)
    there = multi(graph)
    there = nx.DiGraph(there) if graph.directed else nx.Graph(there)
    for normalized in (True, False):
        found = af.edge_betweenness_centrality(graph, normalized=normalized).edges["centrality"]
        expected = nx.edge_betweenness_centrality(there, normalized=normalized)
        for u, v, place in zip(*(side.tolist() for side in graph.edge_numbers()), strict=True):
            assert found[place] == pytest.approx(expected[u, v] if (u, v) in expected else expected[v, u])
    same_everywhere(af.edge_betweenness_centrality, graph, NATIVE[1:2])


@pytest.mark.parametrize("spec", UNDIRECTED)
def test_larger_graphs(spec):
    graph = af.load(spec)
    there = simple(graph)
    peer = igraph.Graph(n=graph.vertices, edges=list(there.edges))
    once = af.Graph.from_edges(*map(list, zip(*there.edges, strict=True)), vertices=graph.vertices, directed=False)
    expected = dict(zip(((e.source, e.target) for e in peer.es), peer.edge_betweenness(), strict=True))
    for way in ({}, *NATIVE):
        found = af.edge_betweenness_centrality(once, normalized=False, **way).edges["centrality"]
        for u, v, place in zip(*(side.tolist() for side in once.edge_numbers()), strict=True):
            assert found[place] == pytest.approx(expected[u, v])
    assert af.transitivity(graph) == pytest.approx(peer.transitivity_undirected())
    sampled = [af.average_shortest_path_length("grid:12x15", k=60, seed=seed) for seed in (1, 1, 2)]
    assert sampled[0] == sampled[1] != sampled[2]
    assert sampled[0] == pytest.approx(af.average_shortest_path_length("grid:12x15"), rel=0.1)


def test_the_triads_of_a_larger_graph_everywhere():
    graph = af.load("urand:n=120,m=900,directed")
    known = af.triad_census(graph)
    assert known == nx.triadic_census(simple(graph, directed=True))
    assert all(af.triad_census(graph, **way) == known for way in NATIVE)
    with pytest.raises(GraphError, match="undirected"):
        af.triad_census("path:3")


@pytest.mark.parametrize("seed", range(30))
def test_bipartite_matchings(seed):
    rng = np.random.default_rng(seed)
    left, right = rng.integers(1, 25, 2)
    count = int(rng.integers(0, 2 * (left + right)))
    ends = rng.integers(0, left, count), left + rng.integers(0, right, count)
    graph = af.Graph.from_edges(*ends, vertices=int(left + right), directed=seed % 2 > 0)
    there = simple(graph)
    size = len(nx.max_weight_matching(there, maxcardinality=True))
    for given in ({}, {"top_nodes": list(range(left))}):
        found = same_everywhere(af.maximum_bipartite_matching, graph, NATIVE[1:], **given)
        assert (found["mate"] >= 0).sum() == 2 * size
        found.validate().raise_for_failure()


def test_what_is_not_bipartite_is_refused():
    for graph in ("cycle:5", af.Graph.from_edges([0], [0], directed=False)):
        with pytest.raises(GraphError, match=r"from \w+ to \w+ is within a side"):
            af.maximum_bipartite_matching(graph)
    with pytest.raises(GraphError, match="is within a side"):
        af.maximum_bipartite_matching("path:3", [0, 1])
    assert af.maximum_bipartite_matching(af.Graph.from_edges([], [], vertices=2))["mate"].tolist() == [-1, -1]


def elected_one_by_one(there, turns, directed):
    """VoteRank by its definition, with fractions instead of floats."""
    n = len(there)
    mean = Fraction(there.number_of_edges() * (1 if directed else 2), n)
    ability, order = dict.fromkeys(there, Fraction(1)), []
    for _ in range(turns):
        votes = {v: sum((ability[u] for _, u in there.edges(v)), Fraction(0)) for v in there}
        best = max((v for v in there if v not in order), key=lambda v: (votes[v], -v), default=None)
        if best is None or votes[best] == 0:
            break
        order.append(best)
        ability[best] = Fraction(0)
        for _, u in list(there.edges(best)):
            ability[u] = max(Fraction(0), ability[u] - 1 / mean)
    return order


@pytest.mark.parametrize("seed", range(16))
def test_elections(seed):
    rng = np.random.default_rng(seed)
    directed = seed % 2 > 0
    n = int(rng.choice([4, 8, 16]))
    kind = {"vertices": n, "directed": directed, "deduplicate": "first", "drop_self_loops": True}
    # As many edges as make the loss a sum of powers of two: floats are exact, and ties are ties.
    ends = rng.permutation([(u, v) for u in range(n) for v in range(n if directed else u) if u != v])
    count = min(len(ends), 2 * n if directed else n)
    graph = af.Graph.from_edges(*(ends[:count].T if count in (n, 2 * n) else np.empty((2, 0), int)), **kind)
    if not graph.edges:
        assert af.voterank(graph) == []
        return
    for turns in (1, 3, n):
        expected = elected_one_by_one(multi(graph), turns, directed)
        assert af.voterank(graph, turns) == expected
        assert nx.voterank(simple(graph, directed), turns) == expected
    assert af.voterank(graph, parts=3, ranks_per_node=1) == af.voterank(graph)


@pytest.mark.parametrize("spec", ["grid:20x20", "kron:10", "urand:n=500,m=2500,directed"])
def test_hyperball_is_about_right_and_the_same_everywhere(spec):
    graph = af.load(spec)
    found = same_everywhere(af.approximate_closeness, graph, PROGRAM, seed=2)
    for name, exact in (("centrality", af.closeness_centrality(graph)), ("harmonic", af.harmonic_centrality(graph))):
        known = exact["centrality"]
        there = known > 0
        assert np.median(np.abs(found[name][there] / known[there] - 1)) < 0.35
        assert np.corrcoef(found[name], known)[0, 1] > 0.8
        assert (found[name][~there] == 0).all()


def test_vectors_of_vertices():
    rng = np.random.default_rng(1)
    ends = rng.integers(0, 30, (2, 400))
    within = np.concatenate([ends, ends + 30], axis=1)
    across = np.array([[0, 1], [30, 31]])
    graph = af.Graph.from_edges(*np.concatenate([within, across], axis=1), directed=False, vertices=61)
    found = af.fast_random_projection(graph, 32, seed=3)["embedding"]
    assert found.shape == (61, 32)
    assert not found[60].any()
    for way in PROGRAM:
        np.testing.assert_allclose(af.fast_random_projection(graph, 32, seed=3, **way)["embedding"], found, atol=1e-9)
    length = np.linalg.norm(found[:60], axis=1)
    alike = (found[:60] @ found[:60].T) / np.outer(length, length)
    assert alike[:30, :30].mean() > alike[:30, 30:].mean() + 0.3
    assert (af.fast_random_projection(graph, 32, seed=4)["embedding"] != found).any()
    one = af.fast_random_projection("path:3", 4, iteration_weights=[1.0])["embedding"]
    lengths = np.linalg.norm(one, axis=1)
    assert np.all((lengths < 1e-12) | (abs(lengths - 1) < 1e-12))
    with pytest.raises(UsageError, match="iteration_weights"):
        af.fast_random_projection("path:3", 4, iteration_weights=[])


def test_refusals():
    empty = af.Graph.from_edges([], [], vertices=0)
    for call in (af.diameter, af.radius, af.center, af.periphery, af.average_shortest_path_length):
        with pytest.raises(GraphError, match="no vertices"):
            call(empty)
    with pytest.raises(GraphError, match="undirected"):
        af.reciprocity("path:3")
    with pytest.raises(UsageError, match="'in', 'out' or 'both'"):
        af.degree_centrality("path:3", ends="up")

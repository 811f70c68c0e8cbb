"""Similarity of vertices against NetworkX, igraph and sets, everywhere."""

import math

import igraph
import networkx as nx
import numpy as np
import pytest
from library_samples import NATIVE, UNDIRECTED, drawn, simple

import arcflux as af
from arcflux.errors import GraphError, IdError, UsageError

CALLS = {
    "jaccard": af.jaccard_coefficient,
    "overlap": af.overlap_coefficient,
    "cosine": af.cosine_similarity,
    "adamic_adar": af.adamic_adar_index,
    "resource_allocation": af.resource_allocation_index,
}


def by_sets(there, u, v, measure):
    one, other = set(there[u]), set(there[v])
    both = one & other
    if measure == "adamic_adar":
        return sum(1 / math.log(len(there[w])) for w in both if len(there[w]) > 1)
    if measure == "resource_allocation":
        return sum(1 / len(there[w]) for w in both)
    whole = {
        "jaccard": len(one | other),
        "overlap": min(len(one), len(other)),
        "cosine": math.sqrt(len(one) * len(other)),
    }
    return len(both) / whole[measure] if whole[measure] else 0.0


@pytest.mark.parametrize("seed", range(15))
@pytest.mark.parametrize("measure", CALLS)
def test_small_multigraphs(seed, measure):
    graph = drawn(seed, n=9, most=4)
    there = simple(graph)
    pairs = [(u, v) for u in there for v in there]
    expected = [by_sets(there, u, v, measure) for u, v in pairs]
    np.testing.assert_allclose(CALLS[measure](graph, pairs), expected, rtol=1e-12)
    edges = list(zip(*(side.tolist() for side in graph.edge_numbers()[:2]), strict=True))
    np.testing.assert_allclose(CALLS[measure](graph), [by_sets(there, u, v, measure) for u, v in edges], rtol=1e-12)
    who, score = af.most_similar(graph, 3, measure)
    for v in there:
        others = [(by_sets(there, v, w, measure), w) for w in there if w != v and set(there[v]) & set(there[w])]
        best = sorted((round(value, 12) for value, _ in others), reverse=True)[:3]
        assert score[v].round(12).tolist() == best + [0.0] * (3 - len(best))
        assert [w >= 0 for w in who[v]] == [True] * len(best) + [False] * (3 - len(best))
        for w, value in zip(who[v].tolist(), score[v].tolist(), strict=True):
            if w >= 0:
                assert value == pytest.approx(by_sets(there, v, w, measure))


@pytest.mark.parametrize("spec", UNDIRECTED)
def test_larger_graphs_everywhere(spec):
    graph = af.load(spec)
    there = simple(graph)
    pairs = np.random.default_rng(1).integers(0, graph.vertices, (200, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    for name, peer in (("jaccard", nx.jaccard_coefficient), ("adamic_adar", nx.adamic_adar_index)):
        found = CALLS[name](graph, pairs)
        np.testing.assert_allclose(found, [value for _, _, value in peer(there, pairs.tolist())], rtol=1e-12)
        for way in NATIVE:
            np.testing.assert_array_equal(CALLS[name](graph, pairs, **way), found)
    other = igraph.Graph(n=graph.vertices, edges=list(there.edges))
    np.testing.assert_allclose(
        af.jaccard_coefficient(graph, pairs), other.similarity_jaccard(pairs=pairs.tolist(), loops=False)
    )
    who, score = af.most_similar(graph, 4, "cosine")
    for way in NATIVE:
        again = af.most_similar(graph, 4, "cosine", **way)
        np.testing.assert_array_equal(again[0], who)
        np.testing.assert_array_equal(again[1], score)


@pytest.mark.parametrize("measure", CALLS)
def test_pairs_of_hubs_in_any_order(measure):
    """Hubs with pairs of several chunks, hubs that take turns, the same pair twice, and a vertex with itself."""
    graph = af.load("kron:8,ef=6")
    there = simple(graph)
    hubs = np.argsort(-graph.out_degrees.astype(np.int64))[:3]
    pairs = np.array([(hub, v) for hub in hubs for v in there] + [(v, hub) for v in there for hub in hubs])
    pairs = np.random.default_rng(2).permutation(np.concatenate([pairs, pairs[:9]]))
    found = CALLS[measure](graph, pairs)
    expected = [by_sets(there, u, v, measure) for u, v in pairs.tolist()]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    sorted_found = CALLS[measure](graph, pairs[np.lexsort(pairs.T)])
    np.testing.assert_array_equal(sorted_found, found[np.lexsort(pairs.T)])
    for way in NATIVE:
        np.testing.assert_array_equal(CALLS[measure](graph, pairs, **way), found)


def test_refusals():
    with pytest.raises(GraphError, match="directed"):
        af.jaccard_coefficient(af.Graph.from_edges([0], [1]))
    with pytest.raises(UsageError, match="pairs has shape"):
        af.jaccard_coefficient("path:3", [0, 1])
    with pytest.raises(IdError):
        af.jaccard_coefficient("path:3", [(0, 9)])
    with pytest.raises(UsageError, match="measure is 'dice'"):
        af.most_similar("path:3", measure="dice")
    assert af.jaccard_coefficient("path:3", []).size == 0

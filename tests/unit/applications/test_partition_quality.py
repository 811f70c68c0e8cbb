"""Conductance, coverage, NMI and ARI against NetworkX, igraph and their definitions."""

from itertools import combinations

import igraph
import networkx as nx
import numpy as np
import pytest

import arcflux as af
from arcflux.errors import UsageError


@pytest.mark.parametrize("seed", range(10))
def test_cuts_of_communities(seed):
    rng = np.random.default_rng(seed)
    ends, weights = rng.integers(0, 12, (2, 40)), rng.integers(1, 5, 40)
    graph = af.Graph.from_edges(*ends, columns={"weight": weights}, vertices=12, directed=False, deduplicate="first")
    labels = rng.integers(0, 3, 12)
    there = graph.to_networkx()
    groups = [set(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)]
    found = af.conductance(graph, labels)
    for label, group in zip(np.unique(labels).tolist(), groups, strict=True):
        assert found[label] == pytest.approx(nx.conductance(there, group, weight="weight"))
    plain = af.coverage(graph, labels, weight=None)
    assert plain == pytest.approx(nx.community.partition_quality(there, groups)[0])


@pytest.mark.parametrize("seed", range(10))
def test_two_divisions(seed):
    rng = np.random.default_rng(seed)
    one, other = rng.integers(0, 4, 30), rng.integers(0, 3, 30)
    expected = igraph.compare_communities(one.tolist(), other.tolist(), method="nmi")
    assert af.normalized_mutual_information(one, other) == pytest.approx(expected)
    expected = igraph.compare_communities(one.tolist(), other.tolist(), method="adjusted_rand")
    assert af.adjusted_rand_index(one, other) == pytest.approx(expected)
    same = [(one[a] == one[b]) == (other[a] == other[b]) for a, b in combinations(range(30), 2)]
    assert (af.adjusted_rand_index(one, one), sum(same) < len(same)) == (1.0, True)


def test_ends():
    assert af.normalized_mutual_information([], []) == af.adjusted_rand_index([], []) == 1.0
    assert af.normalized_mutual_information([1, 1], ["a", "a"]) == af.adjusted_rand_index([1, 1], ["a", "a"]) == 1.0
    with pytest.raises(UsageError, match="as many of each"):
        af.adjusted_rand_index([1], [1, 2])
    assert np.isnan(af.conductance("path:3", [0, 0, 0])[0])
    assert af.coverage(af.Graph.from_edges([], [], vertices=2), [0, 1]) == 0.0

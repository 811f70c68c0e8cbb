"""Weights: in range, the same in both directions, and no part of the structure."""

import math

import numpy as np
import pytest
from generated import pairs

from arcflux import generate
from arcflux.errors import UsageError


def _by_arc(graph):
    """Weights of the arcs u -> v and of the arcs v -> u, both in the order of u, v and occurrence."""
    sources, targets = pairs(graph)
    weight = graph.columns["weight"]
    return weight[np.lexsort((targets, sources))], weight[np.lexsort((sources, targets))]


@pytest.mark.parametrize("weights", [(1, 255), (-3, 3), (7, 7), (0.0, 1.0), (-2.5, 1e6)])
@pytest.mark.parametrize("simple", [True, False])
def test_both_directions_agree(weights, simple):
    there, back = _by_arc(generate.kronecker(9, weights=weights, simple=simple))
    assert np.array_equal(there, back)


@pytest.mark.parametrize("weights", [(1, 4), (-2, 2), (0, 0), (-(1 << 31), (1 << 31) - 1)])
def test_integers_fill_the_closed_interval(weights):
    graph = generate.uniform(12, directed=True, weights=weights)
    weight = graph.columns["weight"]
    low, high = weights
    assert weight.dtype == np.int32
    if high - low < 10:
        counts = np.bincount(weight - low, minlength=high - low + 1)
        share = 1 / len(counts)
        assert len(counts) == high - low + 1
        assert (np.abs(counts - len(weight) * share) <= 5 * math.sqrt(len(weight) * share)).all()
    else:
        assert abs(weight.astype(np.float64).mean()) < 5 * (high - low) / math.sqrt(12 * len(weight))


def test_floats_fill_the_interval():
    weight = generate.grid(300, 300, weights=(2.0, 4.0)).columns["weight"]
    assert weight.dtype == np.float64
    assert 2 <= weight.min() < 2.001 < 3.999 < weight.max() <= 4
    assert abs(weight.mean() - 3) < 0.02


def test_directions_of_a_directed_graph_differ():
    graph = generate.rmat(8, weights=(0.0, 1.0))
    sources, targets = pairs(graph)
    weight = dict(zip(zip(sources.tolist(), targets.tolist(), strict=True), graph.columns["weight"], strict=True))
    both = [(u, v) for u, v in weight if u < v and (v, u) in weight]
    assert len(both) > 20
    assert all(weight[u, v] != weight[v, u] for u, v in both)


@pytest.mark.parametrize("directed", [False, True])
def test_parallel_edges_have_weights_of_their_own(directed):
    graph = generate.uniform(vertices=2, edges=400, directed=directed, simple=False, weights=(0.0, 1.0))
    assert len(np.unique(graph.columns["weight"])) == 400
    assert graph.edges == 400


def test_weights_change_nothing_else():
    for plain, weighted in (
        (generate.kronecker(9), generate.kronecker(9, weights=(1, 255))),
        (generate.kronecker(8, simple=False), generate.kronecker(8, simple=False, weights=(1, 255))),
        (generate.grid(9, 7), generate.grid(9, 7, weights=(1, 255))),
    ):
        assert all(map(np.array_equal, plain.out, weighted.out))
        assert (plain.edges, plain.changes, plain.weighted, weighted.weighted) == (
            weighted.edges,
            weighted.changes,
            False,
            True,
        )


def test_the_seed_decides_the_weights():
    one, two = (generate.grid(50, 50, weights=(1, 1000), seed=seed).columns["weight"] for seed in (1, 2))
    assert (one != two).mean() > 0.99


@pytest.mark.parametrize(
    "weights",
    [(5, 1), (1,), (1, 2, 3), "ab", 7, (0, 1 << 31), (math.nan, 1.0), (0.0, math.inf), (-1e308, 1e308), (None, 1)],
)
def test_bad_weights(weights):
    with pytest.raises(UsageError, match="weights is"):
        generate.path(5, weights=weights)

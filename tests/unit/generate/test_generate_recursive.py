"""Kronecker and R-MAT graphs: the table they are drawn from, and the statistics of what comes out."""

import math

import numpy as np
import pytest
from generated import pairs

from arcflux import generate
from arcflux.errors import UsageError
from arcflux.generate.recursive import GRAPH500, alias_table, quadrants

SHARES = [GRAPH500, (0.25, 0.25, 0.25, 0.25), (0.5, 0.1, 0.4, 0.0), (1.0, 0.0, 0.0, 0.0), (0.1, 0.2, 0.3, 0.4)]


@pytest.mark.parametrize("shares", SHARES)
@pytest.mark.parametrize("levels", range(6))
def test_the_table_holds_the_joint_probabilities(shares, levels):
    table = alias_table(shares, levels)
    own, alias = (table >> np.uint64(16)) / 2**40, (table & np.uint64(0xFFFF)).astype(np.int64)
    found = own + np.bincount(alias, 1 - own, minlength=len(table))
    side = range(1 << levels)
    expected = [_probability(shares, row, column, levels) for row in side for column in side]
    assert np.allclose(found / len(table), expected, rtol=0, atol=1e-12)


def _probability(shares, row, column, levels):
    chosen = [shares[(row >> level & 1) * 2 + (column >> level & 1)] for level in range(levels)]
    return math.prod(chosen)


@pytest.mark.parametrize("scale", [1, 2, 3, 4, 5, 6, 7, 9, 10, 11])
@pytest.mark.parametrize("shares", [SHARES[0], SHARES[4]])
def test_every_level_chooses_its_quadrant(scale, shares):
    a, b, c, d = shares
    graph = generate.rmat(scale, 200_000 >> scale, a=a, b=b, c=c, d=d, permute=False, simple=False, seed=scale)
    sources, targets = pairs(graph)
    for level in range(scale):
        quadrant = (sources >> level & 1) * 2 + (targets >> level & 1)
        assert _within(np.bincount(quadrant, minlength=4), shares)


@pytest.mark.parametrize(("one", "other"), [(0, 1), (4, 5), (1, 6), (5, 6)])
def test_levels_are_independent(one, other):
    graph = generate.rmat(7, 3000, permute=False, simple=False)
    sources, targets = pairs(graph)
    first, second = ((sources >> level & 1) * 2 + (targets >> level & 1) for level in (one, other))
    assert _within(np.bincount(first * 4 + second, minlength=16), np.outer(GRAPH500, GRAPH500).ravel())


def _within(counts, shares, sigmas=5):
    total, shares = counts.sum(), np.asarray(shares)
    return bool((np.abs(counts - total * shares) <= sigmas * np.sqrt(total * shares * (1 - shares))).all())


def test_degrees_are_as_skewed_as_expected():
    scale, factor = 14, 16
    graph = generate.rmat(scale, factor, permute=False, simple=False)
    expected = (factor << scale) * (GRAPH500[0] + GRAPH500[1]) ** scale
    assert abs(int(graph.out_degrees[0]) - expected) < 5 * math.sqrt(expected)
    assert graph.out_degrees.max() == graph.out_degrees[0] > 100 * factor
    uniform = generate.uniform(scale, factor, directed=True, simple=False)
    assert uniform.out_degrees.max() < 4 * factor


def test_kronecker_keeps_isolated_vertices_and_counts_changes():
    graph = generate.kronecker(12)
    assert graph.vertices == 4096
    assert (graph.out_degrees == 0).sum() > 500
    assert graph.changes.edges_given == 16 * 4096
    assert graph.changes.self_loops_dropped > 0
    assert graph.edges + graph.changes.self_loops_dropped + graph.changes.parallel_edges_merged == 16 * 4096
    sources, targets = pairs(graph)
    assert (sources != targets).all()
    assert len(np.unique(sources * 4096 + targets)) == graph.arcs


def test_labels_are_permuted():
    plain, dealt = (generate.rmat(10, permute=permute, simple=False) for permute in (False, True))
    assert np.array_equal(np.sort(plain.out_degrees), np.sort(dealt.out_degrees))
    assert plain.out_degrees[:512].sum() > 2.5 * plain.out_degrees[512:].sum()
    assert 0.5 < dealt.out_degrees[:512].sum() / dealt.out_degrees[512:].sum() < 2


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("simple", [False, True])
def test_tiny_scales(directed, simple):
    alone = generate.kronecker(0, directed=directed, simple=simple)
    assert (alone.vertices, alone.edges) == (1, 0 if simple else 16)
    two = generate.kronecker(1, directed=directed, simple=simple)
    assert (two.vertices, two.edges) == (2, (2 if directed else 1) if simple else 32)


def test_kronecker_is_rmat():
    assert generate.kronecker(9).equals(generate.rmat(9, directed=False))


@pytest.mark.parametrize(
    "shares", [(0.5, 0.5, 0.5), (0.5, 0.2, 0.2, 0.2), (-0.1, 0.5, 0.5), (math.nan, 0, 0), ("x", 0, 0), (1.5, 0, 0)]
)
def test_bad_probabilities(shares):
    with pytest.raises(UsageError):
        quadrants(*shares)

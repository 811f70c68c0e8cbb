"""What METIS is asked, and what is said without it."""

import sys

import numpy as np
import pytest

import arcflux as af
from arcflux.errors import GraphError, MissingExtraError
from arcflux.partition import mincut


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymetis", None)
    with pytest.raises(MissingExtraError, match=r"arcflux\[partition\]"):
        af.partition("path:9", 2, "mincut")


def test_the_same_seed_gives_the_same_owners():
    graph = af.load("kron:9")
    first, again, other = (af.partition(graph, 8, "mincut", seed=seed).owner for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_two_cliques_are_told_apart_though_arcs_have_directions_copies_and_loops():
    n = 6
    pairs = [(a + side * n, b + side * n) for side in (0, 1) for a in range(n) for b in range(a, n)]
    pairs += [pairs[1], (0, n)]
    graph = af.Graph.from_edges(*zip(*pairs, strict=True))
    parts = af.partition(graph, 2, "mincut")
    assert parts.statistics.cut == 1


def test_nothing_to_choose_is_said():
    for graph, k in ((af.load("path:3"), 5), (af.load("path:9"), 1), (af.Graph.from_edges([], [], vertices=9), 2)):
        assert "METIS was not asked" in af.partition(graph, k, "mincut").notes[0]


def test_a_graph_beyond_32_bits_is_refused(monkeypatch):
    monkeypatch.setattr(mincut, "_MOST", 10)
    with pytest.raises(GraphError, match="32 bits"):
        af.partition("path:9", 2, "mincut")

"""Vertices of each window by degree: what the order is, where it is used, and that answers do not depend on it."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import arcflux as af
from arcflux.graph import degree_order as module
from arcflux.graph.degree_order import WINDOW, degree_order


def graph_of(vertices: int, seed: int, edges_each: float = 1.3) -> af.Graph:
    random = np.random.default_rng(seed)
    ends = random.integers(vertices, size=(2, int(edges_each * vertices)))
    return af.Graph.from_edges(*ends, vertices=vertices, directed=True)


@given(st.integers(1, 3 * WINDOW + 5), st.integers(0, 10**6))
def test_a_window_is_a_permutation_by_degree_and_equals_keep_their_order(vertices, seed):
    graph = graph_of(vertices, seed)
    with mock.patch.object(module, "_lengths_change", return_value=True):
        order = degree_order(graph, False)
    lengths = np.diff(graph.into.offsets.astype(np.int64))
    for begin in range(0, vertices, WINDOW):
        window = lengths[begin : begin + WINDOW]
        expected = np.argsort(np.minimum(window, 63), kind="stable")
        assert order[begin : begin + WINDOW].tolist() == expected.tolist()


def test_rows_of_one_length_and_long_rows_keep_their_order():
    assert degree_order(af.load("cycle:5000"), False) is None  # the processor guesses right
    assert degree_order(graph_of(2000, 1, edges_each=40.0), False) is None  # longer than a line of the cache
    assert degree_order(graph_of(2000, 1, edges_each=8.0), False) is not None
    assert degree_order(graph_of(2000, 1, edges_each=8.0), True) is None  # a quarter of a line, in place


@pytest.mark.parametrize("threads", [1, 3])
def test_ranks_are_those_of_any_other_order(threads):
    graph = graph_of(5 * WINDOW + 17, 3)
    assert degree_order(graph, False) is not None
    ranks = af.pagerank(graph, tol=1e-12, threads=threads)
    with mock.patch("arcflux.engine.dense.degree_order", return_value=None):
        plain = af.pagerank(graph, tol=1e-12, threads=threads)
    np.testing.assert_allclose(ranks["rank"], plain["rank"], rtol=1e-9)
    assert abs(ranks["rank"].sum() - 1) < 1e-9

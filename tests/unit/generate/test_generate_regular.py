"""Regular graphs are the ones that NetworkX makes."""

import networkx as nx
import numpy as np
import pytest
from generated import pairs, same_as

from arcflux import generate
from arcflux.errors import UsageError


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 6), (6, 1), (2, 2), (5, 8), (8, 5), (0, 3), (3, 0)])
def test_grid(rows, columns):
    expected = nx.convert_node_labels_to_integers(nx.grid_2d_graph(rows, columns), ordering="sorted")
    assert same_as(generate.grid(rows, columns), expected)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 17])
def test_path(n):
    assert same_as(generate.path(n), nx.path_graph(n))


@pytest.mark.parametrize("n", [3, 4, 17])
def test_cycle(n):
    assert same_as(generate.cycle(n), nx.cycle_graph(n))


@pytest.mark.parametrize("n", [0, 1, 2])
def test_a_cycle_has_three_vertices_or_more(n):
    with pytest.raises(UsageError, match="at least 3"):
        generate.cycle(n)


@pytest.mark.parametrize("n", [0, 1, 2, 17])
def test_star(n):
    assert same_as(generate.star(n), nx.star_graph(n - 1) if n else nx.Graph())


@pytest.mark.parametrize("n", [0, 1, 2, 3, 17, 64])
def test_complete(n):
    assert same_as(generate.complete(n), nx.complete_graph(n))


def test_complete_over_many_chunks():
    graph = generate.complete(700)
    assert graph.edges == 700 * 699 // 2
    assert (graph.out_degrees == 699).all()
    sources, targets = pairs(graph)
    assert np.array_equal(sources * 700 + targets, np.flatnonzero(~np.eye(700, dtype=bool)))


def test_grid_over_many_chunks():
    graph = generate.grid(301, 257)
    sources, targets, _ = graph.edge_numbers()
    across, down = targets - sources == 1, targets - sources == 257
    assert (across.sum(), down.sum(), graph.edges) == (301 * 256, 300 * 257, 301 * 256 + 300 * 257)
    assert (sources[across] % 257 != 256).all()


def test_nothing_is_dropped_or_merged():
    for graph in (
        generate.grid(40, 30),
        generate.path(99),
        generate.cycle(99),
        generate.star(99),
        generate.complete(9),
    ):
        assert graph.changes.lines() == []
        assert not graph.directed

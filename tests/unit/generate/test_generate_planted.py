"""Generators with something to find again: blocks, cliques, correlated pairs, flow networks, points."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from generated import pairs, same_as

from arcflux import generate
from arcflux.errors import UsageError


def matrix(graph) -> np.ndarray:
    there = np.zeros((graph.vertices, graph.vertices), bool)
    there[pairs(graph)] = True
    return there


def test_blocks_have_the_edges_that_they_should_have_on_average():
    sizes, chances = [100, 200, 300], np.array([[0.3, 0.02, 0.1], [0.02, 0.15, 0.0], [0.1, 0.0, 1.0]])
    there = matrix(generate.stochastic_block_model(sizes, chances, seed=5))
    bounds = np.cumsum([0, *sizes])
    for i in range(3):
        for j in range(i, 3):
            block = there[bounds[i] : bounds[i + 1], bounds[j] : bounds[j + 1]]
            count = block.size if i != j else sizes[i] * (sizes[i] - 1)
            deviation = np.sqrt(chances[i, j] * (1 - chances[i, j]) / (count / (1 + (i == j))))
            assert abs(block.sum() / count - chances[i, j]) <= 5 * deviation, (i, j)
    assert not there.diagonal().any()


def test_planted_groups_are_a_block_model_of_equal_blocks():
    there = matrix(generate.planted_partition(5, 80, 0.4, 0.05))
    group = np.arange(400) // 80
    same = group[:, None] == group
    inside, outside = there[same].sum() / (5 * 80 * 79), there[~same].mean()
    assert inside == pytest.approx(0.4, abs=0.02)
    assert outside == pytest.approx(0.05, abs=0.005)


@pytest.mark.parametrize(("cliques", "size"), [(2, 2), (3, 4), (10, 5)])
def test_rings_of_cliques_are_those_of_networkx(cliques, size):
    assert same_as(generate.ring_of_cliques(cliques, size), nx.ring_of_cliques(cliques, size))


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9, 1.0])
def test_a_pair_is_as_correlated_as_it_should_be(rho):
    first, second = (matrix(graph)[np.triu_indices(700, 1)] for graph in generate.correlated_pair(700, 0.2, rho))
    assert first.mean() == pytest.approx(0.2, abs=0.005)
    assert second.mean() == pytest.approx(0.2, abs=0.005)
    assert np.corrcoef(first, second)[0, 1] == pytest.approx(rho, abs=0.012)


def test_lfr_communities_keep_their_part_of_the_edges():
    graph, labels = generate.lfr(8000, 0.3, seed=2), generate.lfr_communities(8000, 0.3, seed=2)
    source, target, _ = graph.edge_numbers()
    assert (labels[source] != labels[target]).mean() == pytest.approx(0.3, abs=0.05)
    sizes = np.bincount(labels)
    assert (sizes[:-1] >= 20).all()
    assert (sizes[:-1] <= 100).all()
    assert (np.diff(labels) >= 0).all()
    assert graph.out_degrees.max() > 5 * np.median(graph.out_degrees)


def test_genrmf_is_frames_and_permutations():
    side, frames = 5, 4
    graph = generate.genrmf(side, frames, 3, 9, seed=7)
    source, target = pairs(graph)
    capacity = graph.columns["capacity"]
    inside = source // 25 == target // 25
    grid = nx.convert_node_labels_to_integers(nx.grid_2d_graph(side, side), ordering="sorted").to_directed()
    for frame in range(frames):
        own = inside & (source // 25 == frame)
        assert set(zip((source[own] % 25).tolist(), (target[own] % 25).tolist(), strict=True)) == set(grid.edges)
        links = ~inside & (source // 25 == frame)
        if frame + 1 < frames:
            assert sorted(source[links] % 25) == sorted(target[links] % 25) == list(range(25))
            assert (target[links] // 25 == frame + 1).all()
    assert (capacity[inside] == 9 * 25).all()
    assert capacity[~inside].min() == 3
    assert capacity[~inside].max() == 9


@pytest.mark.parametrize("radius", [0.02, 0.15, 1.5])
@pytest.mark.parametrize("surface", ["square", "sphere"])
def test_near_points_and_no_others_are_joined(surface, radius):
    points = generate.coordinates(400, surface=surface, seed=3)
    if surface == "square":
        near = np.hypot(*(points[:, None] - points).transpose(2, 0, 1)) <= radius
        assert points.min() >= 0
        assert points.max() <= 1
    else:
        latitude, longitude = np.radians(points).T
        across = np.cos(longitude[:, None] - longitude) * np.outer(np.cos(latitude), np.cos(latitude))
        near = np.arccos(np.clip(across + np.outer(np.sin(latitude), np.sin(latitude)), -1, 1)) <= radius
    np.fill_diagonal(near, False)
    assert (matrix(generate.random_geometric(400, radius, surface=surface, seed=3)) == near).all()


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: generate.planted_partition(2, 3, 1.5), "p_in is"),
        (lambda: generate.planted_partition(2, -3), "size is"),
        (lambda: generate.stochastic_block_model([2, 3], [[0.1, 0.2], [0.3, 0.1]]), "not symmetric"),
        (lambda: generate.stochastic_block_model([2, 3], [0.1, 0.2]), "shape"),
        (lambda: generate.stochastic_block_model([2], [[np.nan]]), "symmetric"),
        (lambda: generate.stochastic_block_model([2], [[2.0]]), "no probabilities"),
        (lambda: generate.ring_of_cliques(1, 5), "cliques is"),
        (lambda: generate.correlated(5, rho=-1), "rho is"),
        (lambda: generate.lfr(50, degree=(9, 3)), "degree is"),
        (lambda: generate.lfr(50, degree=7), "degree is"),
        (lambda: generate.lfr(50, community=(0, 3)), "community is"),
        (lambda: generate.genrmf(3, 3, 9, 3), "low is 9"),
        (lambda: generate.genrmf(0, 3), "side is"),
        (lambda: generate.random_geometric(5, np.nan), "radius is"),
        (lambda: generate.random_geometric(5, surface="torus"), "surface is"),
    ],
)
def test_bad_arguments_are_refused(call, match):
    with pytest.raises(UsageError, match=match):
        call()

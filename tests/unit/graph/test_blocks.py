"""Arcs by blocks: the same arcs, in the same order for every target, wherever the blocks' borders fall."""

import gc
from unittest import mock

import numpy as np
import pytest

import arcflux as af
from arcflux.graph import blocks as home
from arcflux.graph.blocks import blocks, scattered
from arcflux.spmd.team import Team


def unpacked(graph: af.Graph, threads: int) -> list[list[tuple[int, int, float]]]:
    """For every target its arcs in the order of the blocks: source, block of the source, weight."""
    found = blocks(graph, team=Team(threads))
    assert found is not None
    weights = found.column("weight", graph.in_columns["weight"], Team(threads))
    met: list[list[tuple[int, int, float]]] = [[] for _ in range(graph.vertices)]
    for row in range(found.across):
        for s in range(found.across):
            k = row * found.across + s
            for i in range(int(found.starts[k]), int(found.starts[k + 1])):
                arc = int(found.arcs[i])
                met[(row << 16) + (arc >> 16)].append(((s << 16) + (arc & 0xFFFF), s, float(weights[i])))
    return met


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("vertices", [1, 65_536, 65_537, 150_000])
def test_every_target_meets_its_arcs_in_order(vertices: int, threads: int) -> None:
    random = np.random.default_rng(vertices)
    ends = random.integers(0, vertices, (2, 3000))
    ends[0, :500] = vertices - 1  # a source that many share
    graph = af.Graph.from_edges(*ends, vertices=vertices, columns={"weight": random.random(3000)})
    offsets, neighbours = graph.into
    column = graph.in_columns["weight"]
    for v, met in enumerate(unpacked(graph, threads)):
        place = slice(int(offsets[v]), int(offsets[v + 1]))
        assert [(u, w) for u, _, w in met] == list(zip(neighbours[place].tolist(), column[place].tolist(), strict=True))


def test_built_once_and_kept() -> None:
    graph = af.load("kron:8")
    assert blocks(graph, build=False) is None
    with mock.patch.object(home, "_built", wraps=home._built) as built:
        assert blocks(graph) is blocks(graph)
    assert built.call_count == 1


def test_forgotten_with_the_graph() -> None:
    def use() -> None:
        blocks(af.load("kron:9"))

    gc.collect()  # what other tests left
    before = len(home._known)
    use()
    gc.collect()
    assert len(home._known) == before


def test_no_vertices() -> None:
    graph = af.Graph.from_edges([], [])
    found = blocks(graph)
    assert found is not None
    assert found.across == 0
    assert not scattered(graph)


def test_a_grid_is_near_and_random_edges_are_far() -> None:
    assert not scattered(af.load("grid:400x400"))
    assert scattered(af.load("urand:18"))

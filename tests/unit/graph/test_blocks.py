"""Arcs by blocks: the same arcs, in the same order for every target, wherever the blocks' borders fall."""

import gc
from itertools import pairwise
from unittest import mock

import numpy as np
import pytest

import arcflux as af
from arcflux.graph import blocks as home
from arcflux.graph.blocks import blocks, scattered, skewed
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


@pytest.mark.parametrize("threads", [1, 3])
def test_ranked_sources_stand_by_their_arcs(threads: int) -> None:
    """Every target has its own arcs and weights, from sources of falling degree."""
    random = np.random.default_rng(1)
    ends = (150_000 * random.random((2, 4000)) ** 3).astype(np.int64)
    graph = af.Graph.from_edges(*ends, vertices=150_000, columns={"weight": random.random(4000)})
    found = blocks(graph, ranked=True, team=Team(threads))
    assert found is not None
    assert found.places is not None
    who = np.argsort(found.places)
    np.testing.assert_array_equal(found.places[who], np.arange(150_000))
    assert (np.diff(graph.out_degrees[who].astype(np.int64)) <= 0).all()
    weights = found.column("weight", graph.in_columns["weight"], Team(threads))
    met = set()
    for k in range(found.across**2):
        for i in range(int(found.starts[k]), int(found.starts[k + 1])):
            row, s = divmod(k, found.across)
            arc = int(found.arcs[i])
            met.add((int(who[(s << 16) + (arc & 0xFFFF)]), (row << 16) + (arc >> 16), float(weights[i])))
    source, target, _ = graph.edge_numbers()
    assert met == set(zip(source.tolist(), target.tolist(), graph.columns["weight"].tolist(), strict=True))
    sent = np.arange(150_000, dtype=np.float32)
    moved = found.ranked(sent, np.zeros_like(sent), Team(threads))
    np.testing.assert_array_equal(moved, sent[who])


@pytest.mark.parametrize("halvings", [0, 1, 3])
def test_parts_of_blocks_have_their_targets(halvings: int) -> None:
    random = np.random.default_rng(2)
    graph = af.Graph.from_edges(*random.integers(0, 150_000, (2, 5000)), vertices=150_000)
    found = blocks(graph)
    assert found is not None
    starts = found.parts(halvings)
    assert len(starts) == (found.across**2 << halvings) + 1
    assert starts[-1] == graph.arcs
    for k, (first, last) in enumerate(pairwise(starts.tolist())):
        targets = found.arcs[first:last] >> 16
        assert (targets >> (16 - halvings) == k % (1 << halvings)).all()
    assert found.parts(halvings) is starts


def test_few_vertices_with_most_arcs_are_skewed() -> None:
    assert not skewed(af.load("urand:20,ef=2"))
    random = np.random.default_rng(4)
    few = random.integers(0, 50_000, 900_000)
    graph = af.Graph.from_edges(few, random.integers(0, 1 << 20, 900_000), vertices=1 << 20)
    assert skewed(graph)
    assert not skewed(af.load("kron:18"))  # its blocks are full


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

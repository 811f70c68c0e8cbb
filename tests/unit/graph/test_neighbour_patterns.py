"""Neighbour patterns give the rows of all vertices, and programs have the same results with them."""

from unittest import mock

import numpy as np
import programs
import pytest
from hypothesis import given, settings
from test_runs import meshes

import arcflux as af
from arcflux import algorithms
from arcflux.graph import neighbour_patterns as home
from arcflux.graph import runs
from arcflux.graph.neighbour_patterns import Patterns, neighbour_patterns


def rows(graph: af.Graph, found: Patterns) -> list[list[int]]:
    """The out-neighbours of every vertex that has a kind, by its kind; of the others, by their row."""
    told = []
    for v in range(graph.vertices):
        kind = int(found.of[v])
        away = found.distances[int(found.rows[kind]) : int(found.rows[kind + 1])].astype(np.int64)
        told.append(
            (v + away).tolist() if kind else graph.out.neighbours[slice(*graph.out.offsets[v : v + 2])].tolist()
        )
    return told


def plainly(graph: af.Graph) -> list[list[int]]:
    return [graph.out.neighbours[slice(*graph.out.offsets[v : v + 2])].tolist() for v in range(graph.vertices)]


@settings(max_examples=60, deadline=None)
@given(graph=meshes())
@pytest.mark.parametrize("most", [2, 255])
def test_patterns_say_what_rows_say(graph: af.Graph, most: int) -> None:
    with mock.patch.object(runs, "_LENGTH", 1), mock.patch.object(home, "_MOST", most):
        found = home._find(graph)
    assert rows(graph, found) == plainly(graph)
    assert found.of.max(initial=0) <= most
    # The most frequent rows have the patterns there are.
    assert (found.of > 0).sum() >= (found.of == 1).sum() >= (found.of == 2).sum()


@pytest.mark.parametrize(("spec", "count"), [("grid:40x600", 9), ("cycle:20000", 3), ("path:20000", 3)])
def test_meshes_have_few_patterns(spec: str, count: int) -> None:
    graph = af.load(spec)
    found = neighbour_patterns(graph)
    assert len(found.rows) == count + 2
    assert found.of.min() == 1
    assert rows(graph, found) == plainly(graph)
    assert neighbour_patterns(graph) is found


@pytest.mark.parametrize("spec", ["kron:15", "star:20000", "grid:3x3"])
def test_graphs_that_are_no_meshes_have_none(spec: str) -> None:
    assert len(neighbour_patterns(af.load(spec)).of) == 0


def test_a_graph_without_edges_has_one_kind() -> None:
    nobody = np.empty(0, np.int64)
    graph = af.Graph.from_edges(nobody, nobody, vertices=20_000)
    assert neighbour_patterns(graph).of.tolist() == [1] * graph.vertices
    assert algorithms.bfs(graph, 3)["level"].tolist().count(-1) == graph.vertices - 1


def holey() -> af.Graph:
    """A mesh with edges that lead far away, so that some vertices are of no kind."""
    mesh = af.load("grid:60x700")
    source = np.repeat(np.arange(mesh.vertices), np.diff(mesh.out.offsets.astype(np.int64)))
    some = np.random.default_rng(3).integers(0, mesh.vertices, (2, 300))
    ends = np.concatenate([source, some[0]]), np.concatenate([mesh.out.neighbours.astype(np.int64), some[1]])
    return af.Graph.from_edges(*ends, directed=True)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("direction", ["push", "auto"])
def test_programs_give_the_same_with_patterns_and_without(direction: str, threads: int) -> None:
    graph = holey()
    assert 0 < (neighbour_patterns(graph).of == 0).sum() < graph.vertices / 2
    for program, options in ((algorithms.BFS, {"source": 17}), (algorithms.Components, {})):
        told = af.run(program, graph, direction=direction, threads=threads, **options)
        with mock.patch("arcflux.engine.frontier.neighbour_patterns", return_value=home.NONE):
            plain = af.run(program, graph, direction=direction, threads=threads, **options)
        name = "level" if program is algorithms.BFS else "component"
        np.testing.assert_array_equal(told[name], plain[name])
        if direction == "push" and program is algorithms.BFS:
            assert [one.edges for one in told.history] == [one.edges for one in plain.history]
    found = algorithms.bfs(graph, 17, direction=direction, threads=threads)
    assert found.validate().ok
    assert (found["level"] > 20).any()


def test_programs_that_read_columns_read_rows() -> None:
    """A kind does not say where the weights of a row stand."""
    graph = af.load("grid:150x150,weights=1-9")
    assert len(neighbour_patterns(graph).of)
    pushed, pulled = (af.run(programs.Widest, graph, source=3, direction=way) for way in ("push", "pull"))
    assert len(np.unique(pushed["width"])) > 2
    np.testing.assert_array_equal(pushed["width"], pulled["width"])

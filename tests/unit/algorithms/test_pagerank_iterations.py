"""Ranks after a fixed number of iterations are those of the definition: LDBC Graphalytics' and NetworkX's."""

import warnings
from typing import Any
from unittest import mock

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import arcflux as af
import oracles
from arcflux.algorithms import PageRank
from arcflux.compile.cpu import module as cpu
from arcflux.compile.lower import lower
from arcflux.engine import dense

WAYS: list[dict[str, Any]] = [
    {},
    {"threads": 3},
    {"direction": "push"},
    {"deterministic": True},
    {"parts": 3},
    {"parts": 2, "ranks_per_node": 1, "direction": "push"},
    {"parts": 4, "partition": "duplicate"},
    {"parts": 3, "exchange": "owners", "ranks_per_node": 1},
    {"parts": 3, "exchange": "allreduce", "ranks_per_node": 1},
    {"parts": 3, "deterministic": True, "ranks_per_node": 2},
    {"debug": True},
]


def fixed(graph: af.Graph, iterations: int, **options: Any) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # so many were asked for
        return af.pagerank(graph, max_iter=iterations, tol=0, **options)["rank"]


@st.composite
def directed(draw: st.DrawFn) -> tuple[af.Graph, list[tuple[int, int, float]]]:
    """Directed multigraphs with self-loops, weights, and vertices without out-edges or with weights of 0 alone."""
    n = draw(st.integers(1, 12))
    vertex = st.integers(0, n - 1)
    # A third of the vertices never begins an edge, when there are three.
    edges = draw(st.lists(st.tuples(st.integers(0, max(0, n - 1 - n // 3)), vertex), max_size=30))
    weights = draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 7.0]), min_size=len(edges), max_size=len(edges)))
    source, target = (np.array([edge[k] for edge in edges], np.int64) for k in (0, 1))
    graph = af.Graph.from_edges(source, target, columns={"weight": np.array(weights)}, vertices=n)
    return graph, [(*edge, weight) for edge, weight in zip(edges, weights, strict=True)]


@settings(max_examples=150, deadline=None)
@given(case=directed(), iterations=st.integers(1, 20), data=st.data())
def test_fixed_iterations_follow_the_definition(case: Any, iterations: int, data: st.DataObject) -> None:
    graph, edges = case
    shares = st.dictionaries(st.integers(0, graph.vertices - 1), st.floats(0.1, 9), min_size=1)
    home, first = data.draw(st.none() | shares), data.draw(st.none() | shares)
    weighted, narrow = data.draw(st.booleans()), data.draw(st.booleans())
    dangling, damping = (
        data.draw(st.sampled_from(["redistribute", "drop"])),
        data.draw(st.sampled_from([0.0, 0.5, 0.85])),
    )
    expected = oracles.pagerank(
        graph.vertices, edges, damping, tolerance=-1, max_iterations=iterations, dangling=dangling,
        personalization=home, weighted=weighted, nstart=first,
    )  # fmt: skip
    found = fixed(
        graph, iterations, alpha=damping, personalization=home, nstart=first, dangling=dangling,
        weight="weight" if weighted else None, dtype="f32" if narrow else "f64", **data.draw(st.sampled_from(WAYS)),
    )  # fmt: skip
    np.testing.assert_allclose(found, expected, rtol=1e-4 if narrow else 1e-11, atol=1e-6 if narrow else 1e-14)


@pytest.mark.parametrize("personalization", [None, {0: 1.0, 3: 2.0}])
def test_iterations_are_those_of_networkx(personalization: Any) -> None:
    random = np.random.default_rng(3)
    source, target = random.integers(0, 40, 90), random.integers(0, 60, 90)
    made = nx.MultiDiGraph()
    made.add_nodes_from(range(60))
    made.add_edges_from(zip(source.tolist(), target.tolist(), strict=True))
    graph, ranks = af.Graph.from_edges(source, target, vertices=60), None
    for k in range(1, 21):
        ranks = nx.pagerank(made, personalization=personalization, nstart=ranks, max_iter=1, tol=1e9)
        found = fixed(graph, k, personalization=personalization)
        np.testing.assert_allclose(found, [ranks[v] for v in range(60)], rtol=1e-11)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("way", ["plain", "blocks", "runs"])
def test_large_graphs_follow_the_definition(way: str, threads: int) -> None:
    """Kernels that take blocks of arcs, or runs of vertices that are alike, add up the same."""
    if way == "runs":
        n = 4000
        source, target = (np.concatenate([np.arange(n - d) + k * d for d in (1, 63)]) for k in (0, 1))
        keep = source % 2048 != 5  # some have no out-edge
        source, target = source[keep], target[keep]
    else:
        random, n = np.random.default_rng(1), 3000
        source, target = random.integers(0, n // 2, 20_000), random.integers(0, n, 20_000)
    graph = af.Graph.from_edges(source, target, vertices=n)
    expected = oracles.pagerank(
        n, list(zip(source.tolist(), target.tolist(), strict=True)), tolerance=-1, max_iterations=7
    )
    taken: set[str] = set()
    begin = dense.Dense.begin

    def begun(loop: dense.Dense, state: Any) -> None:
        begin(loop, state)
        taken.update(loop.ways)

    with mock.patch.multiple(
        dense, _MANY=0 if way == "runs" else 1 << 30, scattered=lambda graph: way == "blocks"
    ), mock.patch.multiple(dense.Dense, begin=begun, _large=lambda loop: way == "blocks"):  # fmt: skip
        found = fixed(graph, 7, threads=threads)
    assert {"plain": "plain", "blocks": "blocks", "runs": "even"}[way] in taken
    np.testing.assert_allclose(found, expected, rtol=1e-11)


def test_eager_ranks_come_to_the_same_end() -> None:
    graph = af.load("kron:9,directed=true")
    assert (graph.out_degrees == 0).any()
    slow, fast = (af.pagerank(graph, tol=1e-13, eager=eager, max_iter=500) for eager in (False, True))
    np.testing.assert_allclose(fast["rank"], slow["rank"], rtol=1e-7)
    assert fast.converged
    assert fast["rank"].sum() == pytest.approx(1, abs=1e-12)
    assert fast.validate().ok


def test_graphs_without_dangling_vertices_add_nothing_up() -> None:
    ran = []
    run = af.run
    with mock.patch.object(
        af,
        "run",
        create=True,
        side_effect=lambda p, *a, **k: (ran.append(k["redistribute"]), run(p, *a, **k))[1],
    ):
        af.pagerank(af.load("cycle:5"))
        af.pagerank(af.Graph.from_edges([0, 1], [1, 2]))
    assert ran == [False, True]
    kept = [[each.name for each in lower(PageRank(redistribute=some), {}).measures] for some in ran]
    assert kept == [["residual"], ["residual", "lost"]]
    assert "lost" not in cpu.source(lower(PageRank, {})).split("def update")[1].split("def ")[0]

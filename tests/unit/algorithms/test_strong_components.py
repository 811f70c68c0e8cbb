"""Strongly connected components against NetworkX, SciPy and plain reachability, in every way to run."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from scipy.sparse.csgraph import connected_components
from wedge_samples import Sample, patient, samples

import arcflux as af
from arcflux.engine.worker import Cores

WAYS = [
    {"threads": 1}, {"direction": "push"}, {"direction": "pull"}, {"deterministic": True}, {"parts": 3},
    {"parts": 4, "ranks_per_node": 2}, {"parts": 3, "ranks_per_node": 1, "exchange": "owners"},
]  # fmt: skip


def by_reachability(n: int, edges: list[tuple[int, int]]) -> list[int]:
    """The smallest vertex that reaches each one and is reached by it."""
    reach = np.eye(n, dtype=bool)
    for a, b in edges:
        reach[a, b] = True
    for k in range(n):
        reach |= reach[:, [k]] & reach[[k], :]
    return [int(np.flatnonzero(reach[v] & reach[:, v])[0]) for v in range(n)]


@patient
@given(case=samples(directed=True))
def test_it_equals_reachability_and_networkx(case: Sample) -> None:
    result = af.strongly_connected_components(case.graph)
    assert result.numbers("component").tolist() == by_reachability(case.n, case.edges)
    sets = {frozenset(part) for part in nx.strongly_connected_components(case.graph.to_networkx())}
    found: dict[object, set[object]] = {}
    for vertex, name in result.to_dict("component").items():
        found.setdefault(name, set()).add(vertex)
    assert {frozenset(part) for part in found.values()} == sets
    assert result.converged


@pytest.mark.parametrize(
    "spec", ["kron:12,ef=2,directed", "urand:n=3000,m=5000,directed", "urand:n=300,m=300,directed"]
)
def test_it_equals_scipy_in_every_way_to_run(spec: str) -> None:
    graph = af.load(spec)
    count, labels = connected_components(graph.to_scipy(), directed=True, connection="strong")
    first = af.strongly_connected_components(graph)["component"]
    assert len(np.unique(first)) == count == len({*zip(first.tolist(), labels.tolist(), strict=True)})
    assert 1 < count < graph.vertices
    np.testing.assert_array_equal(first[first], first)
    for way in WAYS:
        np.testing.assert_array_equal(af.strongly_connected_components(graph, **way)["component"], first)


def test_a_path_against_the_numbers_is_trimmed_at_once() -> None:
    graph = af.Graph.from_edges(np.arange(1, 5000), np.arange(4999))
    for options in ({}, {"direction": "push"}):
        result = af.strongly_connected_components(graph, **options)
        assert result["component"].tolist() == list(range(5000))
    assert result.iterations == 1


def test_plain_python_and_undirected_graphs() -> None:
    graph = af.load("urand:n=60,m=90,directed")
    plain = af.strongly_connected_components(graph, debug=True)
    np.testing.assert_array_equal(plain["component"], af.strongly_connected_components(graph)["component"])
    for spec in ("kron:6,ef=1", "cycle:5"):
        together = af.strongly_connected_components(spec)["component"]
        np.testing.assert_array_equal(together, af.connected_components(spec)["component"])
    assert af.strongly_connected_components(af.Graph.from_edges([], [], vertices=0))["component"].size == 0


@pytest.mark.parametrize("extra", [0, 20_000])
def test_long_cycles_in_any_order_on_several_threads(extra: int) -> None:
    """Where looking for marked neighbours hardly goes on, the search does; all sets of the last step have members."""
    n, rng = 60_000, np.random.default_rng(5)
    at = rng.permutation(n)
    cuts = [0, 30_000, 45_000, 59_000, n]
    rings = [np.stack([part, np.roll(part, -1)]) for part in (at[a:b] for a, b in pairwise(cuts))]
    bridges = np.array([[at[1], at[45_001]], [at[30_001], at[1]]])  # out of the largest ring, and into it
    ends = np.concatenate([*rings, bridges.T], axis=1)
    chords = rng.integers(0, 30_000, (2, extra))
    ends = np.concatenate([ends, at[chords]], axis=1)
    graph = af.Graph.from_edges(*ends, vertices=n)
    expected = np.empty(n, np.int64)
    for a, b in pairwise(cuts):
        expected[at[a:b]] = at[a:b].min()
    for threads in (1, 2, 3):
        found = af.strongly_connected_components(graph, threads=threads)["component"]
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("threads", "searches"), [(1, 1), (2, 1), (3, 2)])
def test_few_workers_do_not_reach_where_looking_finds_little(
    threads: int, searches: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shuffled ring with chords; what was marked before the reach was given up does not divide components."""
    launch, reached = Cores.launch, []

    def noted(self: Cores, kernel: Any, *given: Any, **more: Any) -> None:
        reached.append(kernel.__name__ == "reach")
        launch(self, kernel, *given, **more)

    monkeypatch.setattr(Cores, "launch", noted)
    n, rng = 20_000, np.random.default_rng(3)
    at = rng.permutation(n)
    far = rng.integers(0, n - 40, 4_000)
    sources, targets = np.concatenate([at[:-2], at[far + 20]]), np.concatenate([at[1:-1], at[far]])
    graph = af.Graph.from_edges(sources, targets, vertices=n)
    count, labels = connected_components(graph.to_scipy(), directed=True, connection="strong")
    found = af.strongly_connected_components(graph, threads=threads)["component"]
    assert sum(reached) == searches
    assert len(np.unique(found)) == count == len({*zip(found.tolist(), labels.tolist(), strict=True)})
    np.testing.assert_array_equal(found[found], found)

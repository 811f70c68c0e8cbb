"""Betweenness centrality against the oracle, NetworkX, igraph, the validator, and its own vertex programs."""

import math
from typing import Any

import igraph
import networkx as nx
import numpy as np
import pytest
from between_samples import Sample, patient, sample, samples, seconds_to_interrupt
from hypothesis import given
from hypothesis import strategies as st

import arcflux as af
import oracles
from arcflux import trace
from arcflux.algorithms import betweenness as module
from arcflux.algorithms.betweenness import betweenness_centrality, dependencies
from arcflux.errors import IdError, UsageError


def plain(s: Sample, **options: Any) -> list[float]:
    """The sums of dependencies, as the oracle counts them."""
    result = betweenness_centrality(s.graph, normalized=False, **options)["centrality"]
    return (result if s.directed else 2 * result).tolist()


@pytest.fixture(params=[False, True], ids=["together", "apart"])
def apart(request: Any, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Workers that share every source, and workers with sources of their own."""
    monkeypatch.setattr(module, "_MANY_SOURCES", 1 if request.param else 1 << 60)
    return bool(request.param)


@patient
@given(samples(), st.sampled_from([1, 2, 3]), st.booleans(), st.data())
def test_the_oracle(s: Sample, threads: int, alone: bool, data: Any) -> None:
    sources = data.draw(st.none() | st.lists(st.integers(0, s.n - 1), max_size=5))
    named = None if sources is None else [s.ids[v] for v in sources]
    before = module._MANY_SOURCES
    module._MANY_SOURCES = 1 if alone else 1 << 60
    try:
        assert plain(s, sources=named, threads=threads) == pytest.approx(oracles.betweenness(s.n, s.arcs, sources))
    finally:
        module._MANY_SOURCES = before


@patient
@given(samples(), st.booleans(), st.booleans(), st.data())
def test_networkx(s: Sample, normalized: bool, endpoints: bool, data: Any) -> None:
    k = data.draw(st.none() | st.integers(1, s.n))
    mine = betweenness_centrality(s.graph, k, normalized, None, endpoints, 7).to_dict()
    theirs = nx.betweenness_centrality(s.networkx, k, normalized, None, endpoints, 7)
    assert mine == pytest.approx(theirs, nan_ok=True)


@patient
@given(samples(), st.booleans(), st.data())
def test_chosen_sources_as_in_networkx(s: Sample, normalized: bool, data: Any) -> None:
    sources = data.draw(st.lists(st.sampled_from(s.ids), unique=True))
    mine = betweenness_centrality(s.graph, normalized=normalized, sources=sources).to_dict()
    theirs = nx.betweenness_centrality_subset(s.networkx, sources, s.ids, normalized=normalized)
    assert mine == pytest.approx(theirs)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("directed", [False, True])
def test_igraph(directed: bool, threads: int, apart: bool) -> None:
    graph = af.load("rmat:8,ef=4" if directed else "urand:8,ef=3")
    source, target, _ = graph.edge_numbers()
    pairs = list(zip(source.tolist(), target.tolist(), strict=True))
    theirs = igraph.Graph(graph.vertices, pairs, directed=directed).betweenness()
    mine = betweenness_centrality(graph, normalized=False, threads=threads)
    assert mine["centrality"].tolist() == pytest.approx(theirs)
    assert mine.validate().ok


def test_threads_make_no_difference(apart: bool) -> None:
    graph = af.load("kron:11")
    one, two, three = (
        betweenness_centrality(graph, 40, seed=1, threads=threads)["centrality"] for threads in (1, 2, 3)
    )
    assert np.array_equal(one, two)
    assert np.array_equal(one, three)
    assert one.max() > 0


@patient
@given(samples(), st.data())
def test_the_vertex_programs_agree(s: Sample, data: Any) -> None:
    source = data.draw(st.integers(0, s.n - 1))
    simple = sample(s.n, list({*s.edges} if s.directed else {tuple(sorted(e)) for e in s.edges}), s.directed)
    found = dependencies(simple.graph, source)["dependency"]
    found[source] = 0
    assert found.tolist() == pytest.approx(plain(s, sources=[s.ids[source]]))


def test_no_vertices_and_no_sources() -> None:
    assert betweenness_centrality(sample(0, []).graph)["centrality"].tolist() == []
    assert betweenness_centrality(sample(1, [(0, 0)]).graph)["centrality"].tolist() == [0.0]
    assert betweenness_centrality(sample(3, [(0, 1), (1, 2)]).graph, sources=[])["centrality"].tolist() == [0, 0, 0]


def test_many_levels_and_wide_ones(apart: bool) -> None:
    length = 3000
    found = betweenness_centrality(af.load(f"path:{length}"), normalized=False, sources=[0] * 3)["centrality"]
    assert found.tolist() == [0, *(1.5 * (length - 1 - v) for v in range(1, length))]
    star = betweenness_centrality(af.load(f"star:{length}"), normalized=False, sources=[1, 2])["centrality"]
    assert star[0] == length - 2
    assert not star[1:].any()


@pytest.mark.parametrize("threads", [1, 3])
def test_more_paths_than_a_float_can_count(threads: int, apart: bool) -> None:
    """A ladder of diamonds doubles the paths at every rung; all in the middle of a diamond get half of the credit."""
    rungs = 1500
    edges = [(3 * r + a, 3 * r + b) for r in range(rungs) for a, b in ((0, 1), (0, 2), (1, 3), (2, 3))]
    s = sample(3 * rungs + 1, edges, directed=True)
    found = betweenness_centrality(s.graph, normalized=False, sources=[0, 3], threads=threads)["centrality"]
    for r in (1, 2, 400, 700, rungs - 1):
        behind = 3 * (rungs - r)
        assert found[3 * r] == pytest.approx(behind * (2 if r > 1 else 1))
        assert found[3 * r + 1] == found[3 * r + 2] == pytest.approx((behind - 2) / 2 * 2)
    assert found[-1] == 0


@pytest.mark.parametrize("many", [1.0, 2.0, 40.0])
@pytest.mark.parametrize("spec", ["kron:8", "grid:40x30", "star:9"])
def test_where_powers_begin_makes_no_difference(spec: str, many: float, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = af.load(spec)
    right = betweenness_centrality(graph, sources=[1, 5])["centrality"]
    monkeypatch.setattr(module, "MANY_PATHS", many)
    assert np.array_equal(betweenness_centrality(graph, sources=[1, 5])["centrality"], right)


def test_powers_are_needed_and_end_with_their_source(monkeypatch: pytest.MonkeyPatch) -> None:
    rungs = 2000
    edges = [(3 * r + a, 3 * r + b) for r in range(rungs) for a, b in ((0, 1), (0, 2), (1, 3), (2, 3))]
    ladder = sample(3 * rungs + 1, edges, directed=True).graph
    many, few = 0, 3 * (rungs - 5)
    alone = [betweenness_centrality(ladder, sources=[v], normalized=False)["centrality"] for v in (many, few)]
    both = betweenness_centrality(ladder, sources=[many, few], normalized=False)["centrality"]
    assert np.array_equal(both, alone[0] + alone[1])
    monkeypatch.setattr(module, "MANY_PATHS", np.inf)
    with np.errstate(all="ignore"):
        assert not np.allclose(betweenness_centrality(ladder, sources=[many], normalized=False)["centrality"], alone[0])


def test_grids_on_both_sides_of_what_a_float_can_count() -> None:
    """Every path crosses each level before its end once, so a level shares one credit for each vertex behind it."""
    side = 560
    found = betweenness_centrality(af.load(f"grid:{side}x{side}"), sources=[0], normalized=False)["centrality"]
    grid = found.reshape(side, side)
    np.testing.assert_allclose(grid, grid.T, rtol=1e-9)
    distance = np.add.outer(np.arange(side), np.arange(side)).ravel()
    credit = np.bincount(distance, 2 * found)
    behind = np.cumsum(np.bincount(distance)[::-1])[::-1] - np.bincount(distance)
    np.testing.assert_allclose(credit[1:], behind[1:], rtol=1e-9)


def test_the_validator_sees_a_wrong_value() -> None:
    graph = af.load("path:5")
    for options in ({}, {"normalized": False}, {"k": 3, "seed": 1}, {"k": 1, "seed": 1}, {"sources": [0, 0, 2]}):
        result = betweenness_centrality(graph, **options)
        assert result.validate().ok, options
        result.values["centrality"][3] += 0.5
        assert not result.validate().ok, options
    with pytest.raises(UsageError, match="rules"):
        betweenness_centrality(graph, endpoints=True).validate()


def test_a_sample_of_one_says_nothing_about_itself() -> None:
    found = betweenness_centrality(af.load("cycle:5"), k=1, seed=3)["centrality"]
    assert sum(map(math.isnan, found)) == 1


def test_what_is_refused() -> None:
    graph = af.load("path:4")
    with pytest.raises(UsageError, match="weight"):
        betweenness_centrality(graph, weight="weight")
    for k in (0, 5, -1, 1.5, "2"):
        with pytest.raises(UsageError, match="k is"):
            betweenness_centrality(graph, k=k)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="both"):
        betweenness_centrality(graph, k=2, sources=[0])
    with pytest.raises(UsageError, match="sources"):
        betweenness_centrality(graph, sources=0)
    with pytest.raises(IdError, match="9"):
        betweenness_centrality(graph, sources=[9])
    with pytest.raises(UsageError, match="threads"):
        betweenness_centrality(graph, threads=0)


def test_progress_is_told() -> None:
    heard: list[Any] = []
    with trace.listen(heard.append):
        betweenness_centrality(af.load("path:4"))
    tasks = [event for event in heard if isinstance(event, trace.Task) and event.name == "betweenness"]
    assert tasks
    assert tasks[-1].finished
    assert (tasks[-1].total, tasks[-1].unit) == (4, "sources")


def test_ctrl_c_ends_it(apart: bool) -> None:
    graph = af.load("kron:12")
    betweenness_centrality(graph, sources=[0] * 3, threads=2)
    sources = [*range(graph.vertices)] * 20
    assert seconds_to_interrupt("betweenness", lambda: betweenness_centrality(graph, sources=sources, threads=2)) < 5

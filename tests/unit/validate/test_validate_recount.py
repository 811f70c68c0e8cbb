"""Centrality and triangles: what is right passes, and what is wrong is caught, at its vertex."""

from math import nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from validate_samples import Sample, blamed, broken, patient, sample, samples

import arcflux as af
import oracles
from arcflux.errors import IdError, UsageError
from arcflux.validate import betweenness, triangles


@patient
@given(samples(), st.data())
def test_right_centralities_pass(s: Sample, data: Any) -> None:
    sources = data.draw(st.none() | st.lists(st.integers(0, s.n - 1), min_size=1, max_size=4))
    named = None if sources is None else [s.ids[v] for v in sources]
    plain = oracles.betweenness(s.n, s.arcs, sources)
    for normalize, score in (
        (None, plain),
        ("pairs", oracles.betweenness(s.n, s.arcs, sources, normalized=True)),
        ("largest", [x / (max(plain) or 1) for x in plain]),
    ):
        report = betweenness(s.graph, named, score, normalize=normalize)
        assert report.ok, str(report)


@patient
@given(samples(), st.data())
def test_one_wrong_centrality_is_caught(s: Sample, data: Any) -> None:
    score = oracles.betweenness(s.n, s.arcs)
    v = data.draw(st.integers(0, s.n - 1))
    score[v] = data.draw(st.sampled_from([score[v] * 1.001 + 1e-3, score[v] - 1e-3 * score[v] - 1e-6, nan]))
    report = betweenness(s.graph, None, score)
    assert broken(report) == {"centrality"}
    assert blamed(report, "centrality") == [s.ids[v]]


def test_the_tolerance_of_centralities() -> None:
    s = sample(3, [(0, 1), (1, 2)])
    assert betweenness(s.graph, None, [0, 2 * (1 + 9e-5), 0]).ok
    assert not betweenness(s.graph, None, [0, 2 * (1 + 2e-4), 0]).ok
    assert betweenness(s.graph, None, [0, 2.1, 0], tolerance=0.1).ok
    assert betweenness(s.graph, None, [1e-9, 2, 0]).ok
    report = betweenness(s.graph, None, [1e-8, 2, 0])
    assert blamed(report, "centrality") == [5]
    offence = betweenness(s.graph, None, [0, 3, 0])["centrality"].offences[0]
    assert (offence.vertex, offence.found, offence.expected) == (15, "3.0", "2.0")


def test_no_sources_no_centrality() -> None:
    s = sample(3, [(0, 1), (1, 2)])
    assert betweenness(s.graph, [], [0, 0, 0]).ok
    assert not betweenness(s.graph, [], [0, 1, 0]).ok


def test_centralities_that_cannot_be_checked() -> None:
    graph = af.Graph.from_edges([0], [1])
    with pytest.raises(UsageError, match="normalize"):
        betweenness(graph, None, [0, 0], normalize="yes")
    with pytest.raises(UsageError, match="centrality"):
        betweenness(graph, None, [0])
    with pytest.raises(UsageError, match="sources"):
        betweenness(graph, 0, [0, 0])
    with pytest.raises(UsageError, match="tolerance"):
        betweenness(graph, None, [0, 0], tolerance=-1)
    with pytest.raises(IdError, match="5"):
        betweenness(graph, [5], [0, 0])


@patient
@given(samples(), st.data())
def test_triangles_are_counted_as_the_oracle_counts(s: Sample, data: Any) -> None:
    right = oracles.triangles(s.n, s.arcs)
    total = sum(right) // 3
    assert triangles(s.graph, total, right).ok
    assert broken(triangles(s.graph, total + 1, right)) == {"total"}
    v = data.draw(st.integers(0, s.n - 1))
    right[v] += data.draw(st.sampled_from([-1, 1, 100]))
    report = triangles(s.graph, total, right)
    assert broken(report) == {"per-vertex"}
    assert blamed(report, "per-vertex") == [s.ids[v]]


def test_triangles_in_all() -> None:
    clique = sample(9, [(u, v) for u in range(9) for v in range(u)])
    assert triangles(clique.graph, total=84).ok
    report = triangles(clique.graph, total=83)
    assert report["total"].sentence == "there are 84 triangles; found 83"
    assert triangles(clique.graph, per_vertex=[28] * 9).ok


def test_triangles_that_cannot_be_checked() -> None:
    graph = af.Graph.from_edges([0], [1])
    with pytest.raises(UsageError, match="neither"):
        triangles(graph)
    with pytest.raises(UsageError, match="total"):
        triangles(graph, total="1")  # type: ignore[arg-type]
    for wrong in ([0], [0.0, 0.0]):
        with pytest.raises(UsageError, match="per_vertex"):
            triangles(graph, per_vertex=wrong)


def test_of_nothing_there_is_nothing_to_count() -> None:
    empty = af.Graph.from_edges([], [])
    assert betweenness(empty, None, []).ok
    assert triangles(empty, total=0, per_vertex=[]).ok
    assert not triangles(empty, total=1).ok

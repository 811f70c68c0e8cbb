"""Ranks and components: what is right passes, and every way to be wrong is caught, by its rule, at its vertex."""

from math import fsum, inf, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from validate_samples import Sample, blamed, broken, patient, sample, samples

import arcflux as af
import oracles
from arcflux.errors import UsageError
from arcflux.validate import components, pagerank

PLAIN = ("redistribute", "drop")


def iterated(s: Sample, rank: list[float], damping: float, dangling: str) -> list[float]:
    """One more iteration, by definition."""
    degree = [sum(arc[0] == v for arc in s.arcs) for v in range(s.n)]
    stranded = fsum(rank[v] for v in range(s.n) if not degree[v]) if dangling == "redistribute" else 0
    following = [(1 - damping + damping * stranded) / s.n] * s.n
    for u, v in s.arcs:
        following[v] += damping * rank[u] / degree[u]
    return following


@patient
@given(samples(), st.sampled_from(PLAIN), st.floats(0, 0.9))
def test_right_ranks_pass(s: Sample, dangling: Any, damping: float) -> None:
    rank = oracles.pagerank(s.n, s.arcs, damping, dangling=dangling)
    report = pagerank(s.graph, rank, damping, 1e-9, dangling)
    assert report.ok, str(report)


@patient
@given(samples(), st.sampled_from(PLAIN), st.data())
def test_any_ranks_are_judged_by_one_more_iteration(s: Sample, dangling: str, data: Any) -> None:
    share = st.floats(0, 1, allow_subnormal=False)
    rank = data.draw(st.lists(share, min_size=s.n, max_size=s.n))
    rank = [r / max(1, fsum(rank)) for r in rank]
    change = fsum(abs(a - b) for a, b in zip(rank, iterated(s, rank, 0.85, dangling), strict=True))
    report = pagerank(s.graph, rank, tolerance=0.1, dangling=dangling)
    if abs(change - 0.1) > 1e-9:
        assert report["iteration"].passed == (change <= 0.1)
    if not report["iteration"].passed:
        moved = np.abs(np.subtract(rank, iterated(s, rank, 0.85, dangling)))
        assert moved[s.ids.index(blamed(report, "iteration")[0])] == pytest.approx(moved.max())


@pytest.mark.parametrize("value", [nan, inf, -inf, -0.1])
def test_ranks_that_are_no_share(value: float) -> None:
    s = sample(4, [(0, 1), (1, 2), (2, 3), (3, 0)], directed=True)
    report = pagerank(s.graph, [0.25, 0.25, value, 0.25])
    assert "range" in broken(report)
    assert blamed(report, "range") == [25]
    assert str(value) in report["range"].offences[0].found


def test_a_rank_that_moves() -> None:
    s = sample(4, [(0, 1), (1, 2), (2, 3), (3, 0)], directed=True)
    assert pagerank(s.graph, [0.25] * 4).ok
    report = pagerank(s.graph, [0.25, 0.35, 0.15, 0.25])
    assert broken(report) == {"iteration"}
    # The next iteration is 0.25 0.25 0.335 0.165, so vertex 2 moves most, and vertex 0 not at all.
    assert blamed(report, "iteration") == [25, 15, 35]
    assert pagerank(s.graph, [0.25, 0.35, 0.15, 0.25], tolerance=0.4).ok
    assert pagerank(s.graph, [0.25 + 1e-5, 0.25 - 1e-5, 0.25, 0.25]).ok


def test_ranks_that_sum_to_another_number() -> None:
    s = sample(2, [(0, 1), (1, 0)], directed=True)
    assert broken(pagerank(s.graph, [0.6, 0.6], tolerance=0.1, dangling="redistribute")) == {"sum"}
    assert broken(pagerank(s.graph, [0.6, 0.6], tolerance=0.1)) == {"sum"}
    assert broken(pagerank(s.graph, [0.4, 0.4], tolerance=0.1, dangling="redistribute")) == {"sum"}
    assert pagerank(s.graph, [0.4, 0.4], tolerance=0.1).ok
    assert "found 1.2" in pagerank(s.graph, [0.6, 0.6], tolerance=0.1)["sum"].sentence


def test_a_tolerance_is_all_that_ranks_may_be_off_and_no_less() -> None:
    """Binary fractions, so that sums are exact."""
    s = sample(2, [(0, 1), (1, 0)], directed=True)
    for dangling, total, fine in (
        ("drop", 1.25, True), ("drop", 1.2500001, False), ("drop", 0.0, True),
        ("redistribute", 1.25, True), ("redistribute", 0.75, True), ("redistribute", 0.7499999, False),
    ):  # fmt: skip
        report = pagerank(s.graph, [total / 2, total / 2], tolerance=0.25, dangling=dangling)
        assert report["sum"].passed is fine, (dangling, total)
    # One more iteration with half the damping makes 3/8 and 5/8 of 3/4 and 1/4: 3/4 in all.
    assert pagerank(s.graph, [0.75, 0.25], 0.5, tolerance=0.75).ok
    assert broken(pagerank(s.graph, [0.75, 0.25], 0.5, tolerance=0.7499)) == {"iteration"}
    assert pagerank(s.graph, [0.5, 0.5], 0, tolerance=0).ok


def test_who_moves_by_an_even_share_is_not_blamed() -> None:
    s = sample(2, [(0, 1)], directed=True)
    report = pagerank(s.graph, [0.5, 0.0], 0.5, tolerance=0.5)  # becomes 1/4 and 1/2
    assert blamed(report, "iteration") == [15]
    assert "it moves them by 0.75" in report["iteration"].sentence
    assert report["iteration"].offences[0].expected == "one that moves less than by 0.5"


def test_ranks_along_weights_and_to_chosen_vertices() -> None:
    """Vertex 0 hands out 3/4 to 1 and 1/4 to 2, which has no edges; jumps lead to 0 alone."""
    edges = [(0, 1, 3.0), (0, 2, 1.0), (1, 0, 5.0), (1, 2, 0.0)]
    s = sample(3, edges, directed=True)
    home = [1.0, 0.0, 0.0]
    rank = [1.0, 0.0, 0.0]
    for _ in range(60):  # by definition
        rank = [0.5 + 0.5 * (rank[1] + rank[2]), 0.5 * 0.75 * rank[0], 0.5 * 0.25 * rank[0]]
    options = {"damping": 0.5, "tolerance": 1e-9, "weight": "weight", "personalization": home}
    assert pagerank(s.graph, rank, dangling="redistribute", **options).ok
    assert not pagerank(s.graph, rank, dangling="redistribute", **{**options, "weight": None}).ok
    assert not pagerank(s.graph, rank, dangling="redistribute", **{**options, "personalization": None}).ok
    assert not pagerank(s.graph, rank, dangling="drop", **options).ok
    for wrong in ([-0.5, 1.0, 0.5], [nan, 0, 1], [inf, 0, 0]):
        with pytest.raises(UsageError, match="personalization"):
            pagerank(s.graph, rank, personalization=wrong)
    assert not pagerank(s.graph, rank, personalization=[0, 0, 0]).ok  # lost, but no error


def test_what_becomes_of_dangling_ranks_matters() -> None:
    s = sample(2, [(0, 1)], directed=True)
    dropped, kept = (oracles.pagerank(2, s.arcs, dangling=d) for d in ("drop", "redistribute"))
    assert pagerank(s.graph, dropped, dangling="drop").ok
    assert pagerank(s.graph, kept, dangling="redistribute").ok
    assert broken(pagerank(s.graph, dropped, dangling="redistribute")) == {"sum", "iteration"}
    assert broken(pagerank(s.graph, kept, dangling="drop")) == {"iteration"}


def test_ranks_that_cannot_be_checked() -> None:
    graph = af.Graph.from_edges([0], [1])
    for options in ({"dangling": "keep"}, {"damping": 1.0}, {"damping": -0.1}, {"damping": nan}, {"tolerance": -1}):
        with pytest.raises(UsageError) as caught:
            pagerank(graph, [0.5, 0.5], **options)
        assert next(iter(options)) in str(caught.value)
    for rank in ([0.5], ["a", "b"], [[0.5, 0.5]]):
        with pytest.raises(UsageError, match="rank"):
            pagerank(graph, rank)


@patient
@given(samples(), st.data())
def test_any_labels_are_judged_as_the_oracle_judges(s: Sample, data: Any) -> None:
    right = oracles.components(s.n, s.arcs)
    label = data.draw(st.lists(st.integers(-2, 2), min_size=s.n, max_size=s.n) | st.just(right))
    same = all((label[u] == label[v]) == (right[u] == right[v]) for u in range(s.n) for v in range(s.n))
    report = components(s.graph, label)
    assert report.ok == same, str(report)
    assert report["edges"].passed == all(label[u] == label[v] for u, v in s.edges)
    assert report["count"].passed == (len(set(label)) == len(set(right)))


@patient
@given(samples(), st.data())
def test_right_labels_pass_under_any_names(s: Sample, data: Any) -> None:
    right = oracles.components(s.n, s.arcs)
    names = data.draw(st.permutations([f"part {v}" for v in range(s.n)]))
    for label in (right, [-7 - v for v in right], [names[v] for v in right], [s.ids[v] for v in right]):
        report = components(s.graph, label)
        assert report.ok, str(report)


@pytest.mark.parametrize("directed", [True, False])
def test_a_component_that_is_split(directed: bool) -> None:
    s = sample(5, [(0, 1), (1, 2), (3, 4)], directed)
    assert components(s.graph, [1, 1, 1, 2, 2]).ok
    report = components(s.graph, [1, 1, 3, 2, 2])
    assert broken(report) == {"edges", "count"}
    assert (blamed(report, "edges"), report["edges"].count) == ([25], 1)
    assert report["edges"].offences[0].expected == "1, the label of 15: edge 15 -> 25"
    assert "found 3" in report["count"].sentence


def test_components_that_are_merged() -> None:
    s = sample(5, [(0, 1), (1, 2), (3, 4)])
    report = components(s.graph, [1, 1, 1, 1, 1])
    assert broken(report) == {"labels", "count"}
    assert blamed(report, "labels") == [35, 45]
    assert report["labels"].offences[0].expected == "another: no path joins it to 5"


def test_a_vertex_in_another_component_keeps_the_count() -> None:
    s = sample(5, [(0, 1), (1, 2), (3, 4)])
    report = components(s.graph, [1, 1, 2, 2, 2])
    assert broken(report) == {"edges", "labels"}
    assert blamed(report, "edges") == [25]
    assert blamed(report, "labels") == [35, 45]


def test_components_of_nothing() -> None:
    empty = af.Graph.from_edges([], [])
    assert components(empty, []).ok
    assert pagerank(empty, []).ok


def test_components_that_are_many() -> None:
    rng = np.random.default_rng(1)
    source, target = rng.integers(0, 5000, (2, 3000))
    graph = af.Graph.from_edges(source, target, vertices=5000)
    right = oracles.components(5000, list(zip(source.tolist(), target.tolist(), strict=True)))
    assert components(graph, right).ok
    joined = int(np.flatnonzero(graph.out_degrees)[0])
    right[joined] = -1
    report = components(graph, right)
    assert broken(report) == {"edges", "count"}
    assert joined in blamed(report, "edges") or f"the label of {joined}:" in report["edges"].offences[0].expected


def test_labels_that_cannot_be_checked() -> None:
    graph = af.Graph.from_edges([0], [1])
    for label in ([1], [1.0, 1.0], [None, 1], [[1, 1]]):
        with pytest.raises(UsageError, match="component"):
            components(graph, label)

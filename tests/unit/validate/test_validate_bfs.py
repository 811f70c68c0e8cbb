"""Breadth-first search: what is right passes, and every way to be wrong is caught, by its rule, at its vertex."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from validate_samples import Sample, blamed, broken, patient, sample, samples

import arcflux as af
import oracles
from arcflux.errors import IdError, UsageError
from arcflux.validate import bfs

# A path 0 - 1 - 2 - 3 with a chord 1 - 3 (levels 0 1 2 2), a pair 4 - 5 elsewhere, and 6 alone.
EDGES = [(0, 1), (1, 2), (2, 3), (1, 3), (4, 5)]
LEVEL = [0, 1, 2, 2, -1, -1, -1]
PARENT = [0, 0, 1, 1, -1, -1, -1]


@pytest.fixture
def pond() -> Sample:
    return sample(7, EDGES)


def check(s: Sample, level: Any = None, parent: Any = None, source: int = 0) -> af.validate.Report:
    return bfs(s.graph, s.ids[source], level=level, parent=parent, numbers=True)


def in_ids(s: Sample, parent: list[int]) -> np.ndarray:
    if isinstance(s.ids[0], str):
        return np.array([None if p < 0 else s.ids[p] for p in parent], object)
    return np.array([-1 if p < 0 else s.ids[p] for p in parent])


def tree_is_right(s: Sample, parent: list[int], source: int) -> bool:
    """By definition: every reached vertex hangs from an in-neighbour one level nearer."""
    level, out = oracles.bfs_levels(s.n, s.arcs, source), oracles.successors(s.n, s.arcs)
    return parent[source] == source and all(
        parent[v] == -1
        if level[v] < 0
        else 0 <= parent[v] < s.n and v in out[parent[v]] and level[parent[v]] == level[v] - 1
        for v in range(s.n)
        if v != source
    )


@patient
@given(samples(), st.data())
def test_right_results_pass(s: Sample, data: Any) -> None:
    source = data.draw(st.integers(0, s.n - 1))
    level, parent = oracles.bfs_levels(s.n, s.arcs, source), oracles.bfs_parents(s.n, s.arcs, source)
    for given_level in (level, None):
        for given_parent in (parent, None):
            if given_level or given_parent:
                report = check(s, given_level, given_parent, source)
                assert report.ok, str(report)
    report = bfs(s.graph, s.ids[source], level, in_ids(s, parent))
    assert report.ok, str(report)


@patient
@given(samples(), st.data())
def test_any_mutation_of_levels_is_judged_as_the_oracle_judges(s: Sample, data: Any) -> None:
    source, v = (data.draw(st.integers(0, s.n - 1)) for _ in range(2))
    right = oracles.bfs_levels(s.n, s.arcs, source)
    level = list(right)
    level[v] = data.draw(st.integers(-3, s.n + 1))
    assert check(s, level, source=source).ok == (level == right)


@patient
@given(samples(), st.data())
def test_any_levels_are_judged_as_the_oracle_judges(s: Sample, data: Any) -> None:
    level = data.draw(st.lists(st.integers(-1, 2), min_size=s.n, max_size=s.n))
    assert check(s, level).ok == (level == oracles.bfs_levels(s.n, s.arcs, 0))


@patient
@given(samples(), st.data())
def test_any_mutation_of_parents_is_judged_by_definition(s: Sample, data: Any) -> None:
    source, v = (data.draw(st.integers(0, s.n - 1)) for _ in range(2))
    level, parent = oracles.bfs_levels(s.n, s.arcs, source), oracles.bfs_parents(s.n, s.arcs, source)
    parent[v] = data.draw(st.integers(-1, s.n))
    right = tree_is_right(s, parent, source)
    assert check(s, None, parent, source).ok == right
    assert check(s, level, parent, source).ok == right


@patient
@given(samples(), st.data())
def test_any_parents_are_judged_by_definition(s: Sample, data: Any) -> None:
    parent = data.draw(st.lists(st.integers(-1, s.n - 1), min_size=s.n, max_size=s.n))
    assert check(s, None, parent).ok == tree_is_right(s, parent, 0)


@pytest.mark.parametrize(
    ("changes", "rules", "rule", "vertex"),
    [
        ({0: 1}, {"source", "in-edge"}, "source", 0),
        ({0: -1}, {"source", "in-edge", "span"}, "source", 0),
        ({1: 2}, {"in-edge", "edges"}, "in-edge", 1),
        ({3: 1}, {"in-edge"}, "in-edge", 3),
        ({3: 3}, {"edges"}, "edges", 3),
        ({2: 0}, {"in-edge", "edges"}, "in-edge", 2),
        ({2: -1}, {"span"}, "span", 2),
        ({2: -2}, {"range", "span"}, "range", 2),
        ({3: 7}, {"range", "in-edge", "edges"}, "range", 3),
        ({6: 1}, {"in-edge"}, "in-edge", 6),
        ({6: 0}, {"in-edge"}, "in-edge", 6),
        ({4: 3}, {"in-edge", "span"}, "in-edge", 4),
        ({4: 3}, {"in-edge", "span"}, "span", 5),
        ({4: 2, 5: 3}, {"in-edge"}, "in-edge", 4),
    ],
)
def test_wrong_levels(pond: Sample, changes: dict[int, int], rules: set[str], rule: str, vertex: int) -> None:
    level = [changes.get(v, value) for v, value in enumerate(LEVEL)]
    report = check(pond, level)
    assert broken(report) == rules, str(report)
    assert pond.ids[vertex] in blamed(report, rule)


@pytest.mark.parametrize(
    ("changes", "rules", "rule", "vertex"),
    [
        ({0: 1}, {"source"}, "source", 0),
        ({0: -1}, {"source"}, "source", 0),
        ({2: 2}, {"tree", "parent-edge", "span"}, "tree", 2),
        ({2: 3, 3: 2}, {"tree", "span"}, "tree", 2),
        ({2: 3, 3: 2}, {"tree", "span"}, "tree", 3),
        ({2: 0}, {"parent-edge"}, "parent-edge", 2),
        ({2: 5}, {"tree", "parent-edge", "span"}, "parent-edge", 2),
        ({2: 99}, {"tree", "parent-edge", "span"}, "parent-edge", 2),
        ({2: -7}, {"tree", "parent-edge", "span"}, "parent-edge", 2),
        ({2: 3}, {"edges"}, "edges", 2),
        ({2: -1}, {"span"}, "span", 2),
        ({6: 0}, {"parent-edge"}, "parent-edge", 6),
        ({6: 6}, {"tree", "parent-edge"}, "tree", 6),
        ({4: 5, 5: 4}, {"tree"}, "tree", 4),
        ({4: 0, 5: 4}, {"parent-edge"}, "parent-edge", 4),
    ],
)
def test_wrong_parents(pond: Sample, changes: dict[int, int], rules: set[str], rule: str, vertex: int) -> None:
    parent = [changes.get(v, value) for v, value in enumerate(PARENT)]
    report = check(pond, None, parent)
    # A vertex that is lost from the tree counts as unreached, which the edges to it then tell too.
    assert broken(report) == rules, str(report)
    assert pond.ids[vertex] in blamed(report, rule)


@pytest.mark.parametrize(
    ("level", "parent", "rule", "vertex"),
    [
        ({2: -1}, {}, "agreement", 2),
        ({}, {2: -1}, "agreement", 2),
        ({6: 1}, {}, "agreement", 6),
        ({}, {6: 0}, "agreement", 6),
        ({}, {2: 3}, "tree-edge", 2),
        ({2: 3}, {}, "tree-edge", 2),
        ({2: 1}, {}, "tree-edge", 2),
        ({0: 1}, {}, "source", 0),
        ({}, {0: 2}, "source", 0),
        ({}, {2: 3, 3: 2}, "tree", 2),
    ],
)
def test_levels_and_parents_that_disagree(
    pond: Sample, level: dict[int, int], parent: dict[int, int], rule: str, vertex: int
) -> None:
    levels = [level.get(v, value) for v, value in enumerate(LEVEL)]
    parents = [parent.get(v, value) for v, value in enumerate(PARENT)]
    report = check(pond, levels, parents)
    assert rule in broken(report), str(report)
    assert pond.ids[vertex] in blamed(report, rule)


def test_a_directed_edge_is_no_way_back() -> None:
    s = sample(3, [(0, 1), (2, 1)], directed=True)
    assert check(s, [0, 1, -1]).ok
    assert broken(check(s, [0, 1, 2])) == {"in-edge"}
    assert broken(check(s, None, [0, 0, 1])) == {"parent-edge"}
    assert check(sample(3, [(0, 1), (2, 1)]), [0, 1, 2]).ok


def test_a_loop_is_no_parent() -> None:
    s = sample(2, [(0, 0), (1, 1)], directed=True)
    assert check(s, [0, -1], [0, -1]).ok
    assert broken(check(s, None, [0, 1])) == {"tree"}
    assert broken(check(s, [0, 1])) == {"in-edge"}


def test_offences_say_what_was_found_and_expected(pond: Sample) -> None:
    offence = check(pond, [0, 1, 2, 3, -1, -1, -1])["edges"].offences[0]
    assert (offence.vertex, offence.found) == (35, "level 3")
    assert offence.expected == "at most 2: edge 15 -> 35 leaves level 1"
    cut = check(pond, [0, 1, 2, -1, -1, -1, -1])["span"].offences
    assert {o.expected for o in cut} == {f"reached: edge {a} -> 35 leaves level {b}" for a, b in ((15, 1), (25, 2))}


def test_every_edge_counts_once_and_ten_are_shown() -> None:
    star = sample(40, [(0, v) for v in range(1, 40)])
    report = check(star, [0] + [-1] * 39)
    assert (report["span"].count, report["span"].unit) == (39, "edges")
    assert blamed(report, "span") == star.ids[1:11]
    report = check(star, [0] + [2] * 39)
    assert report["edges"].count == report["in-edge"].count == 39
    assert len(report["in-edge"].offences) == 10


def test_the_first_edges_are_the_same_on_any_number_of_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    graph = af.Graph.from_edges(rng.integers(0, 500, 4000), rng.integers(0, 500, 4000), vertices=500)
    level = rng.integers(-1, 30, 500)
    told = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("ARCFLUX_THREADS", threads)
        told.append(bfs(graph, 0, level).to_dict())
    assert told[0] == told[1] == told[2]


def test_a_long_path() -> None:
    n = 3000
    s = sample(n, [(v, v + 1) for v in range(n - 1)])
    parent = [0, *range(n - 1)]
    assert check(s, list(range(n)), parent).ok
    assert check(s, None, parent).ok
    parent[1] = 2
    assert check(s, None, parent)["tree"].count == n - 1


def test_ids_of_parents() -> None:
    text = sample(3, [(0, 1)], name=lambda v: "abc"[v])
    assert bfs(text.graph, "a", parent=["a", "a", None]).ok
    assert broken(bfs(text.graph, "a", parent=["a", "z", None])) >= {"parent-edge"}
    assert bfs(text.graph, "a", parent=[0, 0, -1], numbers=True).ok
    assert broken(bfs(text.graph, "a", parent=["a", "a", "b"])) == {"parent-edge"}
    with pytest.raises(UsageError, match="ids are text"):
        bfs(text.graph, "a", parent=[0, 0, -1])
    with pytest.raises(UsageError, match="ids are text"):
        bfs(text.graph, "a", parent=["a", 7, None])


def test_an_id_of_minus_one_needs_numbers() -> None:
    graph = af.Graph.from_edges([-1, 3], [3, 5])
    with pytest.raises(UsageError, match="numbers=True"):
        bfs(graph, -1, parent=[-1, -1, 3])
    assert bfs(graph, -1, parent=[0, 0, 1], numbers=True).ok


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint16, np.uint64])
def test_any_integers_are_levels(dtype: type) -> None:
    assert bfs(af.Graph.from_edges([0], [1]), 0, level=np.array([0, 1], dtype)).ok


@pytest.mark.parametrize(
    ("level", "message"),
    [
        ([0, 1], "shape"),
        ([[0, 1, 2]], "shape"),
        ([0.0, 1.0, 2.0], "float64"),
        ([0, 1, float("nan")], "NaN"),
        (["0", "1", "2"], "U1"),
        ([0, None, 2], "object"),
        (3, "shape"),
    ],
)
def test_what_cannot_be_levels(level: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        bfs(af.Graph.from_edges([0, 1], [1, 2]), 0, level=level)
    assert caught.value.expected


def test_arguments_that_make_no_sense() -> None:
    graph = af.Graph.from_edges([0], [1])
    with pytest.raises(UsageError, match="neither"):
        bfs(graph, 0)
    with pytest.raises(IdError, match="7"):
        bfs(graph, 7, level=[0, 1])
    for source in ([0], None):
        with pytest.raises(UsageError, match="source"):
            bfs(graph, source, level=[0, 1])
    with pytest.raises(UsageError, match="shape"):
        bfs(graph, 0, parent=[0])
    with pytest.raises(UsageError, match="float64"):
        bfs(graph, 0, parent=[0.0, 0.0])

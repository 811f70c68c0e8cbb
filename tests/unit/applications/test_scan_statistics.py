"""Scan statistics and vertex nomination against NetworkX, closed formulas, and themselves elsewhere."""

from __future__ import annotations

import sys

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import arcflux as af

SPREAD = (
    {"threads": 1}, {"threads": 3}, {"parts": 3}, {"parts": 3, "ranks_per_node": 1}, {"parts": 4, "ranks_per_node": 2},
)  # fmt: skip
METHODS = ("intersection", "wedges")


@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_it_is_the_number_of_edges_of_the_ego_graph(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 14))
    edges = data.draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=50))
    source, target = np.array(edges, np.int64).reshape(-1, 2).T
    graph = af.Graph.from_edges(source, target, vertices=n, directed=False)
    simple = nx.Graph((u, v) for u, v in edges if u != v)
    simple.add_nodes_from(range(n))
    expected = [nx.ego_graph(simple, v).number_of_edges() for v in range(n)]
    for method in METHODS:
        found = af.scan_statistics(graph, method=method, **data.draw(st.sampled_from(SPREAD)))
        assert found["statistic"].tolist() == expected
        assert (found.maximum, found.vertex) == (max(expected), expected.index(max(expected)))
        assert found.validate()


@pytest.mark.parametrize("method", METHODS)
def test_closed_formulas(method: str) -> None:
    assert af.scan_statistics("complete:7", method=method)["statistic"].tolist() == [6 + 15] * 7
    assert af.scan_statistics("star:9", method=method)["statistic"].tolist() == [8] + [1] * 8
    graph = af.load("kron:8")
    found = af.scan_statistics(graph, method=method)
    simple = af.Graph.from_edges(*graph.edge_numbers()[:2], directed=False, deduplicate="first", drop_self_loops=True)
    assert found["statistic"].sum() == 3 * af.triangle_count(graph) + 2 * simple.edges


@pytest.mark.parametrize("method", METHODS)
def test_the_same_everywhere(method: str) -> None:
    graph = af.load("kron:9")
    expected = af.scan_statistics(graph)["statistic"]
    for where in SPREAD:
        assert (af.scan_statistics(graph, method=method, **where)["statistic"] == expected).all(), where


def test_wedges_are_sent_with_twelve_bytes_and_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = af.load("kron:8")
    whole = af.scan_statistics(graph, method="wedges", parts=4, ranks_per_node=1)
    monkeypatch.setattr(sys.modules["arcflux.applications.scan_statistics"], "_BATCH", 500)
    again = af.scan_statistics(graph, method="wedges", parts=4, ranks_per_node=1)
    assert (again["statistic"] == whole["statistic"]).all()
    assert again.traffic["wedges"] == whole.traffic["wedges"]
    assert whole.traffic["wedges"] % 12 == 0
    assert whole.traffic["wedges"] > 0


def test_scan_statistics_refuse_what_they_cannot_do() -> None:
    with pytest.raises(af.errors.GraphError, match="directed"):
        af.scan_statistics(af.Graph.from_edges([0], [1]))
    with pytest.raises(af.errors.UsageError, match="method is 'magic'"):
        af.scan_statistics("path:3", method="magic")
    empty = af.scan_statistics(af.Graph.from_edges([], [], directed=False))
    assert (empty.maximum, empty.vertex) == (0, None)
    assert not af.validate.scan_statistics("path:3", [1, 2, 2])


# --- vertex nomination


@pytest.mark.parametrize("where", [{}, {"threads": 1}, {"parts": 3}, {"parts": 3, "ranks_per_node": 1}])
def test_distances_are_the_least_of_all_seeds(where: dict[str, int]) -> None:
    graph = af.load("kron:8,weights=1-9")
    seeds = [3, 17, 99]
    each = np.stack([af.sssp(graph, seed)["distance"] for seed in seeds])
    found = af.vertex_nomination(graph, seeds, **where)
    assert (found["distance"] == each.min(axis=0)).all()
    reached = np.isfinite(found["distance"])
    at_nearest = each[[seeds.index(seed) for seed in found["nearest"][reached]], np.flatnonzero(reached)]
    assert (at_nearest == found["distance"][reached]).all()
    assert (found["nearest"][~reached] == -1).all()
    assert (found["distance"][np.argsort(found["rank"])] == np.sort(found["distance"])).all()
    assert found.validate()


def test_nominations_leave_the_seeds_out_and_go_by_distance_then_id() -> None:
    graph = af.Graph.from_edges(["a", "a", "b", "x"], ["b", "c", "d", "y"], directed=False)
    found = af.vertex_nomination(graph, ["a"])
    assert found.nominated() == [("b", 1.0), ("c", 1.0), ("d", 2.0)]
    assert found["nearest"].tolist() == ["a", "a", "a", "a", None, None]
    assert found["rank"].tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(("seeds", "said"), [([], "seeds is empty"), ([99], "99"), (3, "seeds is 3")])
def test_seeds_that_are_none_are_refused(seeds: object, said: str) -> None:
    with pytest.raises(af.errors.ArcfluxError, match=said):
        af.vertex_nomination("path:4", seeds)

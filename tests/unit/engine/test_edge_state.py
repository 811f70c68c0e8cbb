"""Fields of edges as a run has them: what they are given, what a result shows, what crosses between nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from edge_programs import Echo, Tide, echo, messy

import arcflux as af
from arcflux.errors import ArcfluxError, GraphError, UsageError


@pytest.mark.parametrize("way", [{"debug": True}, {"threads": 2}, {"parts": 3, "ranks_per_node": 1}])
def test_values_are_given_for_each_edge_in_the_order_of_columns(way: dict[str, Any]) -> None:
    graph = messy(directed=True)
    first = np.arange(graph.arcs) * 5 % 17
    result = af.run(Echo, graph, given={"echo": first}, rounds=2, **way)
    x, now, _ = echo(graph, first, 2)
    assert result["x"].tolist() == x
    assert result.edges["echo"].tolist() == now


# --- what cannot be


def test_a_graph_without_reverse_edges_is_refused_with_one_of_them() -> None:
    graph = af.Graph.from_edges(["ada", "bob", "eve"], ["bob", "ada", "bob"], columns={"weight": [1.0, 2.0, 3.0]})
    with pytest.raises(GraphError, match="the edge from eve to bob has no reverse"):
        af.run(Echo, graph)


def test_of_parallel_edges_each_needs_a_reverse() -> None:
    graph = af.Graph.from_edges([0, 0, 1], [1, 1, 0], columns={"weight": [1.0, 2.0, 3.0]})
    with pytest.raises(GraphError, match="the edge from 0 to 1 has no reverse"):
        af.run(Echo, graph, debug=True)


def test_values_by_ends() -> None:
    graph = af.Graph.from_edges(["a", "b"], ["b", "a"], columns={"weight": [1.0, 2.0]})
    with pytest.warns(UserWarning, match="before it converged"):
        result = af.run(Echo, graph, given={"echo": {("b", "a"): 11}}, max_supersteps=0)
    assert dict(zip(zip(result.edges.source, result.edges.target, strict=True), result.edges["echo"], strict=True)) == {
        ("a", "b"): 3,
        ("b", "a"): 11,
    }


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"echo": [1, 2, 3]}, "shape"),
        ({"echo": [0.5, 1.0]}, "float64"),
        ({"echo": {("a", "c"): 1}}, "c"),
        ({"echo": {"a": 1}}, "both ends"),
        ({"echo": {("a", "a"): 1}}, "from a to a, which there is not"),
        ({"last": [1, 1 << 40]}, "outside int32"),
        ({"ekko": [1, 2]}, "is given and no field"),
    ],
)
def test_what_is_given_has_to_fit(given: dict[str, Any], said: str) -> None:
    graph = af.Graph.from_edges(["a", "b"], ["b", "a"], columns={"weight": [1.0, 2.0]})
    with pytest.raises(ArcfluxError, match=said):
        af.run(Echo, graph, given=given)


def test_the_result_names_its_edge_fields() -> None:
    graph = messy(directed=False)
    result = af.run(Echo, graph)
    assert list(result.edges) == ["echo", "last"]
    with pytest.raises(UsageError, match="has no edge field 'eko'"):
        result.edges["eko"]
    assert len(af.bfs(graph, 0).edges) == 0


# --- between nodes


@af.program
class Relay:
    """Edges count each other up; vertices send nothing."""

    rounds: int = 4
    x: af.f64
    y: af.edge(af.f64)

    def along(edge, v):
        if v.number != 7:
            edge.y = edge.reverse.y + 1.0

    def compute(v, edge):
        v.x += edge.y

    def update(v, p, step):
        return step + 1 < p.rounds


def test_what_changed_along_cut_edges_is_all_that_crosses() -> None:
    """Of a path over two nodes one edge is cut: two arcs, of 8 bytes each."""
    result = af.run(Relay, "path:6", parts=2, ranks_per_node=1)
    assert [step.bytes for step in result.history] == [16, 16, 16, 16]
    assert result.edges["y"].tolist() == [4.0] * 10


def test_an_edge_that_stays_as_it_was_is_not_sent() -> None:
    """The one into vertex 7 is not written after the first superstep, so only the other way crosses."""
    graph = af.Graph.from_edges([6, 7], [7, 6], vertices=8)
    parts = af.partition(graph, 8)
    result = af.run(Relay, graph, parts=parts, ranks_per_node=1)
    assert [step.bytes for step in result.history] == [8, 0, 0, 0]
    assert result.edges["y"].tolist() == [0.0, 1.0]


def test_another_model_of_exchange_is_said_to_be_readers() -> None:
    result = af.run(Relay, "path:6", parts=2, ranks_per_node=1, exchange="owners")
    assert result.exchange == "readers"
    assert any("the fields of an edge are with the owner" in note for note in result.notes)


def test_bounds_of_parts_stay() -> None:
    result = af.run(Relay, "path:6", parts=2, ranks_per_node=1, rebalance="local")
    assert any("fields of edges stay with their parts" in note for note in result.notes)


def test_phases_say_why_they_pull() -> None:
    result = af.run(Tide, messy(directed=True), direction="push", parts=2, exchange="readers")
    assert {step.reason for step in result.history} == {"fields of edges stand by their targets"}


# --- runs that end early


@af.program
class Slow:
    """Counts on edges in place; one superstep of it would take for ever."""

    x: af.i64
    y: af.edge(af.i64)

    def along(edge, step):
        edge.y = step + 1
        turns = 0
        while step >= 2 and turns >= 0:
            turns = (turns + 1) % 1000

    def compute(v, edge):
        v.x += edge.y

    def update(v):
        return True


@pytest.mark.parametrize("way", [{"debug": True}, {"threads": 2}, {"parts": 2, "ranks_per_node": 1}])
def test_a_superstep_that_is_broken_off_leaves_edges_as_they_were(way: dict[str, Any]) -> None:
    with pytest.warns(UserWarning, match="before it converged"):
        af.run(Slow, "path:4", max_supersteps=1, **way)  # kernels are compiled
    with pytest.warns(UserWarning, match="before it converged"):
        result = af.run(Slow, "path:4", timeout=2.0, **way)
    assert result.supersteps == 2
    assert result["x"].tolist() == [3, 6, 6, 3]
    assert result.edges["y"].tolist() == [2] * 6

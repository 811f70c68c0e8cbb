"""A graph with other columns: the same structure, and nothing of the caller's."""

import numpy as np
import pytest

from arcflux.errors import GraphError
from arcflux.graph import Graph


def example(directed: bool) -> Graph:
    return Graph.from_edges(["b", "a", "c", "a"], ["a", "c", "c", "b"], columns={"length": [4, 3, 2, 1]}, name="abc",
                            directed=directed)  # fmt: skip


@pytest.mark.parametrize("directed", [True, False])
def test_columns_are_replaced_and_all_else_stays(directed: bool) -> None:
    graph = example(directed)
    made = graph.with_columns({"weight": graph.columns["length"] * 0.5, "kind": np.arange(graph.arcs, dtype=np.int8)})
    assert list(made.columns) == ["weight", "kind"]
    assert made.columns["kind"].dtype == np.int8
    assert (made.vertices, made.edges, made.arcs, made.directed, made.name) == (
        graph.vertices, graph.edges, graph.arcs, graph.directed, graph.name,
    )  # fmt: skip
    assert made.edges == 4
    assert made.ids == graph.ids
    assert made.changes == graph.changes
    assert np.shares_memory(made.out.neighbours, graph.out.neighbours)
    assert list(graph.columns) == ["length"]
    assert made.with_columns({"length": graph.columns["length"]}).equals(graph)
    assert not made.with_columns({}).columns


@pytest.mark.parametrize("directed", [True, False])
def test_columns_of_in_edges_follow(directed: bool) -> None:
    graph = example(directed)
    graph.into  # noqa: B018 - has in-edges with the old column
    made = graph.with_columns({"weight": graph.columns["length"] * 2})
    assert made.in_columns["weight"].tolist() == (graph.in_columns["length"] * 2).tolist()


def test_the_callers_array_is_not_shared() -> None:
    graph = example(True)
    mine = np.array([1.0, 2.0, 3.0, 4.0])
    made = graph.with_columns({"weight": mine})
    mine[0] = 9.0
    assert made.columns["weight"].tolist() == [1.0, 2.0, 3.0, 4.0]
    assert not made.columns["weight"].flags.writeable
    assert np.shares_memory(graph.with_columns({"weight": graph.columns["length"]}).columns["weight"],
                            graph.columns["length"])  # fmt: skip


@pytest.mark.parametrize("columns", [{"weight": [1, 2]}, {"weight": ["x"] * 4}, {"two words": [1] * 4}])
def test_columns_that_do_not_fit_are_refused(columns: dict[str, list[object]]) -> None:
    with pytest.raises(GraphError, match="edge column"):
        example(True).with_columns(columns)

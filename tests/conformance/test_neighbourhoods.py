"""Programs that look around give what slow oracles give, and the same on threads, parts, nodes and in any direction."""

import statistics
import warnings

import numpy as np
import pytest
from around_programs import (
    Chosen,
    Closing,
    Counted,
    Everything,
    Fading,
    Farthest,
    Hops,
    Labels,
    Settling,
    Shared,
    SparseLabels,
    Spreading,
    Wanting,
    scattered,
    weighted,
)

import arcflux as af
import oracles

WAYS = {
    "one thread": {"threads": 1},
    "two threads": {"threads": 2},
    "deterministic": {"threads": 2, "deterministic": True},
    "asked to push": {"threads": 2, "direction": "push"},
    "parts of a node": {"parts": 3, "exchange": "readers"},
    "parts on nodes": {"parts": 4, "ranks_per_node": 2},
    "a grid on nodes": {"parts": 4, "partition": "grid", "ranks_per_node": 1},
    "asked to reduce": {"parts": 3, "exchange": "allreduce", "ranks_per_node": 1},
}


def quietly(program: object, graph: af.Graph, **more: object) -> af.Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return af.run(program, graph, **more)


GRAPH, EDGES = scattered(90, 260, 3)
DIRECTED = weighted(scattered(80, 400, 4, directed=True)[0])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("program", [Labels, SparseLabels], ids=["dense", "sparse"])
def test_label_propagation_is_that_of_the_oracle(program: af.program, way: str) -> None:
    found = quietly(program, GRAPH, max_supersteps=5, **WAYS[way])
    assert found["label"].tolist() == oracles.label_propagation(GRAPH.vertices, EDGES, 5, False)


@pytest.mark.parametrize("way", WAYS)
def test_triangles_and_medians_are_those_of_the_oracles(way: str) -> None:
    found = quietly(Closing, GRAPH, **WAYS[way])
    assert found["corners"].tolist() == oracles.triangles(GRAPH.vertices, EDGES)
    near = [sorted(side) for side in oracles.successors(GRAPH.vertices, oracles.both_ways(EDGES))]
    middles = [statistics.median(0.5 * (u % 7) for u in some) if some else -1.0 for some in near]
    assert found["middle"].tolist() == middles


CASES = {
    "everything": (Everything, DIRECTED, {}),
    "hops": (Hops, GRAPH, {"source": 5}),
    "hops on a grid": (Hops, af.load("grid:12x9"), {"source": 5}),
    "settling": (Settling, GRAPH, {}),
    "chosen": (Chosen, GRAPH, {"roots": [3, 17, 40]}),
    "wanting": (Wanting, GRAPH, {}),
    "counted": (Counted, GRAPH, {"max_supersteps": 6}),
    "an empty graph": (Settling, af.Graph.from_edges([], []), {}),
}


@pytest.mark.parametrize("case", CASES)
def test_every_way_to_run_gives_what_plain_python_gives(case: str) -> None:
    program, graph, more = CASES[case]
    plain = quietly(program, graph, debug=True, **more)
    for way in WAYS.values():
        found = quietly(program, graph, **way, **more)
        for name, values in plain.values.items():
            np.testing.assert_array_equal(found[name], values, f"{name}, {way}")
        assert [step.changed for step in found.history] == [step.changed for step in plain.history]
        if way.get("deterministic"):
            assert [s.residual for s in found.history] == pytest.approx([s.residual for s in plain.history])


@pytest.mark.parametrize("way", WAYS)
def test_totals_over_all_vertices(way: str) -> None:
    for program, more in ((Counted, {"max_supersteps": 6}), (Shared, {})):
        plain, found = (quietly(program, GRAPH, **more, **where) for where in ({"debug": True}, WAYS[way]))
        for name, value in plain.totals.items():
            assert found.totals[name] == pytest.approx(value, rel=1e-12), name
        for name, values in plain.values.items():
            np.testing.assert_allclose(found[name], values, rtol=1e-12)


def test_newer_values_lead_to_the_same_end() -> None:
    plain = quietly(Spreading, GRAPH, debug=True)
    for way in WAYS.values():
        assert np.array_equal(quietly(Spreading, GRAPH, **way)["far"], plain["far"]), way


def test_a_sparse_program_looks_around_only_where_a_neighbour_sent() -> None:
    """Along a path one vertex sends at a time, and the history says so; rows are searched or listed all the same."""
    found = quietly(Hops, "path:40", source=0, threads=2)
    assert found["hops"].tolist() == list(range(40))
    assert [step.frontier for step in found.history] == [1] * 40
    assert {step.reason for step in found.history} == {"around takes all edges of a vertex at once"}


def test_rows_in_no_order_are_refused_where_order_counts() -> None:
    graph = af.Graph.from_edges([2, 0, 1], [1, 1, 0], sort=False)
    with pytest.raises(af.errors.UsageError, match=r"af\.intersect compares rows"):
        af.run(Closing, graph)
    with pytest.raises(af.errors.UsageError, match="sorted_edges is asked for"):
        af.run(Labels.promising("sorted_edges"), graph)
    assert quietly(Labels, graph)["label"].tolist() == quietly(Labels, graph, debug=True)["label"].tolist()


def test_a_promise_that_is_not_true_is_found_in_plain_python() -> None:
    """A vertex that goes on changing by itself is not sparse."""
    with pytest.raises(af.errors.ProgramError, match="sparse is promised, but vertex"):
        af.run(Fading, "path:9", debug=True)


def test_nothing_to_choose_from_is_an_error_in_plain_python() -> None:
    with pytest.raises(af.errors.ProgramError, match="max of nothing at vertex 0, superstep 0"):
        af.run(Farthest, af.Graph.from_edges([0], [1]), debug=True)
    assert quietly(Farthest, af.Graph.from_edges([0], [1]))["x"].tolist() == [-np.inf, 0.0]


def test_chunks_of_many_vertices_and_a_hub_give_the_same() -> None:
    """Several chunks, the one with the hub first, by several workers."""
    graph = af.load("kron:12,directed=false")
    one = quietly(SparseLabels, graph, max_supersteps=4, threads=1)
    for more in ({"threads": 2}, {"parts": 3, "ranks_per_node": 1}):
        assert np.array_equal(quietly(SparseLabels, graph, max_supersteps=4, **more)["label"], one["label"])
    assert np.array_equal(quietly(Labels, graph, rounds=4, threads=2)["label"], one["label"])
    assert np.array_equal(af.label_propagation(graph, max_iter=4)["label"], one["label"])

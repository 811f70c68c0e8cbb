"""No silent NaN: results that have one have not converged, validators refuse them, and huge or tiny input is scaled."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import arcflux as af
from arcflux import validate
from arcflux.errors import ArcfluxError, UsageError, WeightError

PATH = af.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 4], columns={"weight": [1.0, 2.0, 3.0, 4.0]}, directed=False)


@af.program
class Halves:
    """Ends after a superstep, with NaN where 0 is divided by 0."""

    x: af.f64

    def start(v):
        v.x = v.number * 1.0
        return True

    def init(v):
        v.x = 0.0

    def compute(v, u):
        v.x += u.x

    def update(v):
        v.x = v.x * 1e308 * 10.0 * 0.0
        return False


@pytest.mark.parametrize("way", [{}, {"direction": "push"}, {"parts": 2}, {"threads": 3}])
def test_a_result_with_nan_has_not_converged(way: dict[str, Any]) -> None:
    with pytest.warns(UserWarning, match="before it converged: x of some vertices is NaN"):
        result = af.run(Halves, PATH, **way)
    assert np.isnan(result["x"]).any()
    assert not result.converged


@af.program
class Lost:
    """A total becomes NaN, and the fields do not."""

    x: af.f64
    lost: af.total(af.f64)

    def start(v):
        v.x = 1.0
        return True

    def compute(v, u):
        v.x = max(v.x, u.x)

    def update(v, g):
        g.lost += v.x * 1e308 * 10.0 * 0.0
        return False


@af.program
class Torn:
    """A field of edges becomes NaN, and those of vertices do not."""

    x: af.f64
    told: af.edge(af.f64)

    def start(v):
        v.x = 1.0
        return True

    def along(edge, u):
        edge.told = u.x * 1e308 * 10.0 * 0.0

    def compute(v, u):
        v.x = max(v.x, u.x)

    def update(v):
        return False


@pytest.mark.parametrize("way", [{}, {"parts": 2}, {"parts": 2, "ranks_per_node": 1}, {"threads": 3}])
@pytest.mark.parametrize(("program", "what"), [(Lost, "the total lost"), (Torn, "told of some edges")])
def test_a_total_or_an_edge_with_nan_has_not_converged(program: Any, what: str, way: dict[str, Any]) -> None:
    with pytest.warns(UserWarning, match=f"before it converged: {what} is NaN"):
        assert not af.run(program, PATH, **way).converged


def test_infinities_of_both_signs_are_no_nan() -> None:
    graph = af.load("path:3")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert af.sssp(graph, 0, weight=None).converged
        result = af.run(Kept, graph, given={"x": [np.inf, -np.inf, 0.0]})
    assert result.converged


@af.program
class Kept:
    """Changes nothing."""

    x: af.f64
    seen: af.flag

    def start(v):
        return True

    def compute(v, u):
        v.seen |= u.seen

    def update(v):
        return False


# --- PageRank far from 1


@pytest.mark.parametrize("size", [1e308, 1e-308, 5e-324])
@pytest.mark.parametrize("dtype", ["f64", "f32"])
def test_shares_of_any_size_are_shares(size: float, dtype: str) -> None:
    usual = af.pagerank(PATH, personalization={0: 1, 1: 1}, nstart=[1, 1, 1, 0, 0], dtype=dtype)
    found = af.pagerank(PATH, personalization={0: size, 1: size}, nstart=[size] * 3 + [0, 0], dtype=dtype)
    np.testing.assert_allclose(found["rank"], usual["rank"], rtol=1e-6)
    assert found["rank"].sum() == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("size", [1e307, 1e-309, 1e-320])
@pytest.mark.parametrize("dtype", ["f64", "f32"])
def test_weights_of_any_size_are_proportions(size: float, dtype: str) -> None:
    graph = af.Graph.from_edges(
        [0, 0, 0, 1, 2], [1, 2, 3, 0, 0], columns={"weight": np.full(5, size) * [1, 2, 9, 9, 4]}
    )
    plain = graph.with_columns({"weight": np.array([1.0, 2, 9, 9, 4])})
    found, usual = (af.pagerank(each, dtype=dtype, tol=1e-12 if dtype == "f64" else 1e-6) for each in (graph, plain))
    np.testing.assert_allclose(found["rank"], usual["rank"], rtol=1e-3 if size < 1e-315 else 1e-5)
    assert found.validate().ok
    assert found.converged


def test_weights_that_no_scale_brings_together_are_refused() -> None:
    graph = af.Graph.from_edges([0, 1], [1, 0], columns={"weight": [1e300, 1e-300]})
    with pytest.raises(WeightError, match=r"(?s)weights of vertex 1 sum to 1e-300.*largest is 1e\+300"):
        af.pagerank(graph)


# --- validators


RIGHT: dict[str, tuple[Any, dict[str, Any], str]] = {
    "betweenness": (validate.betweenness, {"sources": None}, "centrality"),
    "bfs": (validate.bfs, {"source": 0}, "level"),
    "components": (validate.components, {}, "component"),
    "pagerank": (validate.pagerank, {"tolerance": 1e-3}, "rank"),
    "pagerank weighted": (validate.pagerank, {"tolerance": 1e-3, "weight": "weight"}, "rank"),
    "sssp": (validate.sssp, {"source": 0}, "distance"),
    "triangles": (validate.triangles, {}, "per_vertex"),
}
VALUES: dict[str, Any] = {
    "betweenness": [0.0, 6.0, 8.0, 6.0, 0.0],
    "bfs": [0, 1, 2, 3, 4],
    "components": [0, 0, 0, 0, 0],
    "pagerank": af.pagerank(PATH, weight=None)["rank"],
    "pagerank weighted": af.pagerank(PATH)["rank"],
    "sssp": [0.0, 1.0, 3.0, 6.0, 10.0],
    "triangles": [0, 0, 0, 0, 0],
}


@pytest.mark.parametrize("name", list(RIGHT))
def test_validators_refuse_what_is_no_result(name: str) -> None:
    call, given, argument = RIGHT[name]
    right = np.asarray(VALUES[name])
    assert call(PATH, **given, **{argument: right}).ok
    wrong: list[Any] = []
    for place in range(5):
        for bad in (np.nan, np.inf, -np.inf, -1.0, 1e308):
            values = right.astype(np.float64)
            values[place] = bad
            wrong.append(values)
    wrong += [right[:4], right.reshape(1, 5), right.astype(complex), right.astype(str), right[0], [], None, "x"]
    wrong += [np.full(5, np.nan), np.full(5, np.inf), np.full(5, None), [[0], [0, 1], 1, 2, 3]]
    if name == "components":  # labels are text as well
        wrong = [each for each in wrong if not (isinstance(each, np.ndarray) and each.dtype.kind == "U")]
    for values in wrong:
        try:
            report = call(PATH, **given, **{argument: values})
        except ArcfluxError:
            continue
        assert not report.ok, values


def test_ranks_far_from_a_number_are_restless() -> None:
    graph = af.Graph.from_edges([0, 1], [1, 0])
    with pytest.raises(UsageError, match="personalization has a value that is no share"):
        validate.pagerank(graph, [0.5, 0.5], personalization=[np.nan, 0.5])


@pytest.mark.parametrize("options", [{}, {"normalized": False}, {"k": 2, "seed": 1}])
def test_betweenness_with_nan_is_not_valid(options: dict[str, Any]) -> None:
    result = af.betweenness_centrality(PATH, **options)
    assert result.validate().ok
    for place in range(5):
        values = result["centrality"].copy()
        values[place] = np.nan
        assert not replace(result, values={"centrality": values}).validate().ok


def test_the_centrality_of_a_lone_source_is_unknown() -> None:
    result = af.betweenness_centrality(PATH, k=1, seed=3)
    assert np.isnan(result["centrality"]).sum() == 1
    assert result.validate().ok
    values = np.where(np.isnan(result["centrality"]), 0.0, result["centrality"])
    assert not replace(result, values={"centrality": values}).validate().ok


@pytest.mark.parametrize(
    "call", [af.pagerank, lambda graph: af.sssp(graph, 0), lambda graph: af.katz_centrality(graph, weight="weight")]
)
@pytest.mark.parametrize("way", [{}, {"parts": 2}, {"debug": True}])
def test_columns_that_no_integer_with_a_sign_can_hold_are_refused(call: Any, way: dict[str, Any]) -> None:
    """Kernels would take 2 ** 63 for a number below 0: distances were, and undirected searches never ended."""
    weights = np.array([1, 2, 2**63, 3], np.uint64)
    graph = PATH.with_columns({"weight": np.repeat(weights, 2)})
    with pytest.raises(WeightError, match="'weight' has 9223372036854775808"):
        call(graph)
    program = af.algorithms.SSSP(source=0)
    with pytest.raises(WeightError, match="below 2"):
        af.run(program, graph, **way)
    widest = graph.with_columns({"weight": np.repeat(np.array([1, 2, 2**63 - 1, 3], np.uint64), 2)})
    assert af.sssp(widest, 0)["distance"].tolist() == [0, 1, 3, 2.0**63, 2.0**63]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
def test_ranks_of_weights_that_are_all_0_are_right(dtype: Any) -> None:
    result = af.pagerank(PATH.with_columns({"weight": np.zeros(8, dtype)}))
    assert np.allclose(result["rank"], 0.2)
    result.validate().raise_for_failure()


FAR = {"weight": np.full(8, 1e308)}


@pytest.mark.parametrize(
    "call",
    [
        lambda graph: af.sssp(graph, 0), lambda graph: af.multi_source_sssp(graph, [0]),
        lambda graph: af.vertex_nomination(graph, [0]), lambda graph: af.shortest_path_length(graph, 0, 4, "weight"),
        lambda graph: af.distance_matrix(graph, weight="weight"), lambda graph: af.shortest_path(graph, 0, 4, "weight"),
        lambda graph: af.k_shortest_paths(graph, 0, 4, 2, "weight"),
        lambda graph: af.astar_path(graph, 0, 4, None, "weight"),
        lambda graph: list(af.all_pairs_distances(graph, "weight")),
        lambda graph: af.average_shortest_path_length(graph, "weight"),
    ],
)  # fmt: skip
def test_paths_whose_lengths_are_no_floats_are_refused(call: Any) -> None:
    """A vertex at a distance of 2e308 was said to be unreachable."""
    with pytest.raises(WeightError, match="lengths of paths may be no floats"):
        call(PATH.with_columns(FAR))
    call(PATH.with_columns({"weight": FAR["weight"] / 2.3}))


def test_longest_paths_whose_lengths_are_no_floats_are_refused() -> None:
    graph = af.Graph.from_edges([0, 1], [1, 2], columns={"weight": [1e308, 1e308]})
    with pytest.raises(ArcfluxError, match="lengths of paths may be no floats"):
        af.dag_longest_path_length(graph)


def test_shares_of_huge_weights_are_those_of_small_ones() -> None:
    graph, label = PATH.with_columns(FAR), [0, 0, 1, 1, 1]
    assert af.coverage(graph, label) == af.coverage(graph, label, weight=None)
    assert af.conductance(graph, label) == af.conductance(graph, label, weight=None)
    assert af.validate.communities(graph, label, af.modularity(graph, label), tolerance=1.0)


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.uint64])
def test_flows_of_unsigned_capacities_are_checked(dtype: Any) -> None:
    graph = PATH.with_columns({"capacity": np.ones(8, dtype)})
    result = af.maximum_flow(graph, 4, 0)
    assert result.value == 1
    result.validate().raise_for_failure()


def test_vectors_that_grow_without_end_have_not_converged() -> None:
    with pytest.warns(UserWarning, match="learning_rate=1e.308 is too large"):
        assert not af.node2vec(PATH, 2, walk_length=3, walks_per_vertex=1, learning_rate=1e308).converged

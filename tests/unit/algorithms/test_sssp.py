"""Shortest paths equal a plain oracle's and other libraries', with any weights, width of buckets and threads."""

import math
import sys

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import dijkstra

import arcflux as af
import oracles
from arcflux.algorithms import multi_source_sssp, sssp
from arcflux.algorithms.sssp import _weighed
from arcflux.errors import IdError, UsageError, WeightError

WEIGHTS = {
    "i4": st.integers(0, 9),
    "u1": st.sampled_from([0, 1, 255]),
    "i8": st.sampled_from([0, 1, 10**6, 2**40]),
    "f8": st.one_of(st.just(0.0), st.floats(0, 1), st.sampled_from([1e-300, 1e9, 1e300])),
    "f4": st.floats(0, 100, width=32),
}


@st.composite
def graphs(draw: st.DrawFn) -> tuple[af.Graph, list[tuple[int, int, float]]]:
    """Small multigraphs with self-loops and isolated vertices, and their arcs."""
    n = draw(st.integers(1, 12))
    kind = draw(st.sampled_from(sorted(WEIGHTS)))
    vertex = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(vertex, vertex, WEIGHTS[kind]), max_size=40))
    source, target, weight = (np.array([edge[k] for edge in edges], t) for k, t in enumerate(("i8", "i8", kind)))
    directed = draw(st.booleans())
    graph = af.Graph.from_edges(source, target, columns={"weight": weight}, vertices=n, directed=directed)
    arcs = list(zip(source.tolist(), target.tolist(), weight.astype(float).tolist(), strict=True))
    return graph, arcs if directed else oracles.both_ways(arcs)


@settings(max_examples=120, deadline=None)
@given(
    graphs(), st.integers(1, 3), st.sampled_from([None, 1e-9, 0.3, 1, 7, 1e6, 1e300]),
    st.lists(st.integers(0, 11), max_size=4),
)  # fmt: skip
def test_equals_the_oracle(
    made: tuple[af.Graph, list[tuple[int, int, float]]], threads: int, delta: float | None, sources: list[int]
) -> None:
    graph, arcs = made
    found = sssp(graph, 0, delta=delta, threads=threads)
    assert found["distance"].tolist() == oracles.sssp(graph.vertices, arcs, 0)
    assert found["distance"].dtype == np.float64
    assert found.converged
    found.validate().raise_for_failure()
    sources = [source % graph.vertices for source in sources]
    several = multi_source_sssp(graph, sources, delta=delta, threads=threads)
    assert several["distance"].tolist() == oracles.multi_source_sssp(graph.vertices, arcs, sources)
    several.validate().raise_for_failure()


@pytest.mark.parametrize("spec", ["kron:11,weights=1-255", "urand:10,weights=0.0-1.0", "grid:50x40,weights=0-9"])
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("delta", [None, 1e-3, 5, 1e9])
def test_larger_graphs_equal_scipy(spec: str, threads: int, delta: float | None) -> None:
    graph = af.load(spec)
    found = sssp(graph, 3, threads=threads, delta=delta)
    if "0-9" not in spec:  # to scipy, an edge of weight 0 is none
        np.testing.assert_array_equal(found["distance"], dijkstra(graph.to_scipy(), indices=3))
    found.validate().raise_for_failure()


def test_predecessors_cannot_close_a_circle_of_weight_0() -> None:
    # 1, 2 and 3 are all at distance 0, and would explain each other.
    graph = af.Graph.from_edges([0, 1, 2, 3, 3], [1, 2, 3, 1, 4], columns={"weight": [0, 0, 0, 0, 2]})
    found = sssp(graph, 0)
    assert found["predecessor"].tolist() == [0, 0, 1, 2, 3]
    # The same where adding a weight does not change the sum.
    weights = np.array([1e20, 1, 1, 1])
    graph = af.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 1], columns={"weight": weights})
    assert sssp(graph, 0)["predecessor"].tolist() == [0, 0, 1, 2]


def test_of_several_predecessors_the_largest_number_on_any_number_of_threads() -> None:
    graph = af.load("grid:40x40,weights=1-3")
    first = sssp(graph, 0, threads=1)
    assert all((sssp(graph, 0, threads=t)["predecessor"] == first["predecessor"]).all() for t in (2, 3))
    square = af.load("grid:2x2")
    assert sssp(square, 0, weight=None)["predecessor"].tolist() == [0, 0, 0, 2]


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("kind", ["u1", "i4", "u8", "f4", "f8"])
def test_the_predecessor_is_the_largest_by_definition(kind: str, directed: bool) -> None:
    """Whole weights from 1 on and many ties, among them parallel edges and self-loops; most vertices are reached."""
    random = np.random.default_rng(11)
    source, target = random.integers(0, 60, (2, 400))
    weight = random.integers(1, 5, 400)
    graph = af.Graph.from_edges(source, target, columns={"weight": weight.astype(kind)}, vertices=64, directed=directed)
    found = sssp(graph, 7, threads=2)
    far = found["distance"]
    wanted = np.full(64, -1)
    wanted[7] = 7
    arcs = [*zip(source, target, weight, strict=True)]
    for u, v, w in arcs if directed else [*arcs, *((v, u, w) for u, v, w in arcs)]:
        if v != 7 and far[u] + w == far[v] < math.inf:
            wanted[v] = max(wanted[v], u)
    assert (wanted >= 0).sum() > 40
    assert found["predecessor"].tolist() == wanted.tolist()
    assert [step.number for step in found.history] == list(range(found.supersteps))
    assert found.history[-1].reason == "predecessors: the last edge that fits"


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_predecessors_make_a_tree_whatever_the_weights(data: st.DataObject) -> None:
    """Weights of 0 and weights too light to show: following predecessors comes to the source, along tight edges."""
    n = data.draw(st.integers(1, 9))
    ends = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1))
    weights = st.sampled_from(data.draw(st.sampled_from([(0, 1, 3), (0.0, 1.0, 1e20), (0.1, 0.2, 0.3, 0.0)])))
    arcs = data.draw(st.lists(st.tuples(ends, weights), max_size=30))
    graph = af.Graph.from_edges(
        np.array([a for (a, _), _ in arcs], int), np.array([b for (_, b), _ in arcs], int),
        columns={"weight": np.array([w for _, w in arcs])}, vertices=n, sort=data.draw(st.booleans()),
    )  # fmt: skip
    found = sssp(graph, 0, threads=data.draw(st.sampled_from([1, 2])))
    assert found.converged
    far, before = found["distance"].tolist(), found["predecessor"].tolist()
    tight = {(a, b) for (a, b), w in arcs if far[a] + w == far[b]}
    for v in range(n):
        if far[v] == math.inf or v == 0:
            assert before[v] == (0 if v == 0 else -1)
            continue
        assert (before[v], v) in tight
        steps, at = 0, v
        while at != 0 and steps <= n:
            at, steps = before[at], steps + 1
        assert at == 0


def test_ids_are_the_users() -> None:
    graph = af.Graph.from_edges(["ada", "bob", "ada"], ["bob", "eve", "eve"], columns={"weight": [1, 1, 5]},
                                vertices=["ada", "bob", "eve", "kim"])  # fmt: skip
    found = sssp(graph, "bob")
    assert found.to_dict("distance") == {"ada": math.inf, "bob": 0.0, "eve": 1.0, "kim": math.inf}
    assert found.to_dict("predecessor") == {"ada": None, "bob": "bob", "eve": "bob", "kim": None}
    with pytest.raises(IdError):
        sssp(graph, "zoe")


def test_any_column_or_none_is_the_weight() -> None:
    graph = af.Graph.from_edges([0, 0, 1], [1, 2, 2], columns={"time": [1.5, 9.0, 2.0]}, directed=False)
    assert sssp(graph, 0, weight="time")["distance"].tolist() == [0.0, 1.5, 3.5]
    found = sssp(graph, 2, weight=None)
    assert found["distance"].tolist() == [1.0, 1.0, 0.0]
    assert found.graph is graph
    with pytest.raises(WeightError, match="no edge column 'weight'"):
        sssp(graph, 0)
    network = af.load("urand:7,weights=1-9").to_networkx()
    assert sssp(af.load("urand:7,weights=1-9"), 0).to_dict("distance") == pytest.approx(
        dict.fromkeys(network, math.inf) | dict(nx.single_source_dijkstra_path_length(network, 0))
    )


@pytest.mark.parametrize("weight", [-1.0, math.nan, math.inf])
def test_weights_that_have_no_shortest_paths_are_refused(weight: float) -> None:
    graph = af.Graph.from_edges(["a", "b"], ["b", "c"], columns={"weight": [1.0, weight]})
    with pytest.raises(WeightError, match="the weight of edge b -> c is"):
        sssp(graph, "a")


def test_whole_sums_beyond_32_bits_are_exact() -> None:
    weight = np.full(3, 2**31 - 2)
    graph = af.Graph.from_edges([0, 1, 2], [1, 2, 3], columns={"weight": weight})
    assert sssp(graph, 0)["distance"].tolist() == [0.0, *np.cumsum(weight).tolist()]


def test_stopped_early_distances_are_upper_bounds_without_predecessors() -> None:
    graph = af.load("grid:300x300,weights=1-9")
    whole = sssp(graph, 0, delta=1)
    with pytest.warns(UserWarning, match="stopped after 20 supersteps"):
        part = sssp(graph, 0, delta=1, max_supersteps=20)
    assert not part.converged
    assert "predecessor" not in part.values
    assert part.supersteps == 20
    assert (part["distance"] >= whole["distance"]).all()
    settled = whole["distance"] < 15
    assert settled.sum() > 10
    assert (part["distance"][settled] == whole["distance"][settled]).all()


def test_options() -> None:
    graph = af.load("path:4")
    for delta in (0, -1, math.nan, math.inf):
        with pytest.raises(UsageError, match="delta is"):
            sssp(graph, 0, weight=None, delta=delta)
    plain = sssp(graph, 0, weight=None, predecessors=False)
    assert list(plain.values) == ["distance"]
    plain.validate().raise_for_failure()
    assert sssp(graph, 1, weight=None, debug=True)["distance"].tolist() == [1.0, 0.0, 1.0, 2.0]
    assert multi_source_sssp(graph, [], weight=None)["distance"].tolist() == [math.inf] * 4
    with pytest.raises(UsageError, match="sources is 3"):
        multi_source_sssp(graph, 3, weight=None)


@pytest.mark.parametrize(
    ("kind", "largest"),
    [("u1", 255), ("i2", 255), ("i2", 256), ("i4", 1), ("i4", 255), ("i4", 65_535), ("i4", 65_536), ("i4", 2**31 - 1),
     ("u8", 255), ("u8", 2**40), ("i8", 65_535), ("i8", 2**33)],
)  # fmt: skip
def test_weights_become_narrow_only_where_all_of_them_fit(kind: str, largest: int) -> None:
    ends = np.random.default_rng(3).integers(0, 40, (2, 160))
    weights = np.random.default_rng(4).integers(0, largest, 160, endpoint=True).astype(kind)
    weights[0] = largest
    graph = af.Graph.from_edges(*ends, columns={"weight": weights})
    source = graph.ids.to_ids(np.array([0]))[0]
    narrow, plain = sssp(graph, source), sssp(graph, source, parts=1)
    assert narrow["distance"].tolist() == plain["distance"].tolist()
    assert narrow["predecessor"].tolist() == plain["predecessor"].tolist()
    assert narrow.validate().ok
    assert graph.columns["weight"].dtype == kind


def test_ranks_read_weights_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has slices of the column, in memory that they share: a copy of all of it would be one for each rank."""
    graph = af.load("grid:6x6,weights=1-9")
    assert _weighed(graph, "weight", narrow=True)[0].columns["weight"].dtype == np.uint8
    asked = []
    home = sys.modules[_weighed.__module__]  # its name is the function's, too
    monkeypatch.setattr(home, "_weighed", lambda g, w, narrow: asked.append(narrow) or _weighed(g, w, narrow))
    sssp(graph, 0)
    sssp(graph, 0, parts=2)
    monkeypatch.setattr(home, "rank_and_size", lambda: (0, 2))
    sssp(graph, 0)
    assert asked == [True, False, False]


@pytest.mark.parametrize("way", [{}, {"delta": 1e-320}, {"parts": 2, "ranks_per_node": 1}], ids=str)
@pytest.mark.parametrize("weight", [1e-309, 5e-324, 4e307])
def test_weights_may_have_any_size(weight: float, way: dict[str, object]) -> None:
    """The inverse of a bucket's width is finite, or places in the window would be no numbers."""
    g = af.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 4], directed=False, columns={"weight": [weight] * 4})
    assert af.sssp(g, 0, timeout=60.0, **way)["distance"].tolist() == np.cumsum([0.0, *[weight] * 4]).tolist()


@pytest.mark.parametrize("way", [{"threads": 2}, {"parts": 2, "ranks_per_node": 1}], ids=str)
def test_buckets_may_be_narrower_than_numbers_are_apart(way: dict[str, object]) -> None:
    """Floats from 2^53 on are 2 apart and more: on parts the end of the first bucket was its beginning."""
    g = af.Graph.from_edges([0, 1, 2], [1, 2, 3], directed=False, columns={"weight": [1e17, 1.0, 1e17]})
    assert af.sssp(g, 0, delta=1.0, timeout=60.0, **way)["distance"].tolist() == [0.0, 1e17, 1e17, 2e17]

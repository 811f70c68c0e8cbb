"""Accelerated PageRank comes to the ranks of the definition, by its true residual, sooner, wherever it runs."""

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import arcflux as af
from arcflux.algorithms.accelerated_pagerank import accelerated
from arcflux.algorithms.pagerank import PageRank
from arcflux.algorithms.surfer import best_start
from arcflux.errors import UsageError

WAYS: list[dict[str, Any]] = [
    {},
    {"threads": 3},
    {"deterministic": True},
    {"direction": "push"},
    {"parts": 3},
    {"parts": 2, "ranks_per_node": 1},
    {"parts": 3, "exchange": "owners", "ranks_per_node": 1},
    {"parts": 3, "exchange": "allreduce", "ranks_per_node": 1},
]


@st.composite
def undirected(draw: st.DrawFn) -> tuple[af.Graph, list[tuple[int, int, float]]]:
    """Undirected multigraphs with self-loops, weights and vertices without edges; edges as arcs of both directions."""
    n = draw(st.integers(1, 12))
    vertex = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(vertex, vertex), max_size=24))
    weights = draw(st.lists(st.sampled_from([0.5, 1.0, 7.0]), min_size=len(edges), max_size=len(edges)))
    source, target = (np.array([edge[k] for edge in edges], np.int64) for k in (0, 1))
    columns = {"weight": np.array(weights)}
    graph = af.Graph.from_edges(source, target, columns=columns, vertices=n, directed=False)
    arcs = [(a, b, w) for (a, b), w in zip(edges, weights, strict=True)]
    return graph, arcs + [(b, a, w) for a, b, w in arcs if a != b]


def residual(graph: af.Graph, rank: np.ndarray, arcs: Any, options: dict[str, Any]) -> float:
    """By how much one superstep of the definition would move these ranks, in all."""
    n = graph.vertices
    weigh = (lambda w: w) if options["weight"] else (lambda w: 1.0)
    home = options["personalization"] or dict.fromkeys(range(n), 1.0)
    strength, power = np.zeros(n), np.zeros(n)
    for a, _, w in arcs:
        strength[a] += weigh(w)
    for a, b, w in arcs:
        power[b] += 0.85 * rank[a] * weigh(w) / strength[a]
    lost = rank[strength == 0].sum() if options["dangling"] == "redistribute" else 0.0
    for v, share in home.items():
        power[v] += (0.15 + 0.85 * lost) * share / sum(home.values())
    return float(np.abs(power - rank).sum())


@settings(max_examples=100, deadline=None)
@given(case=undirected(), data=st.data())
def test_the_residual_is_below_the_tolerance(case: Any, data: st.DataObject) -> None:
    graph, arcs = case
    options: dict[str, Any] = {"weight": data.draw(st.sampled_from(["weight", None]))}
    options["dangling"] = data.draw(st.sampled_from(["redistribute", "drop"]))
    shares = st.dictionaries(st.integers(0, graph.vertices - 1), st.floats(0.1, 9), min_size=1)
    options["personalization"] = data.draw(st.none() | shares)
    tol = data.draw(st.sampled_from([1e-4, 1e-8, 1e-11]))
    where = data.draw(st.sampled_from(WAYS))
    ranks = af.pagerank(graph, tol=tol, max_iter=300, method="accelerated", **options, **where)
    assert ranks.converged
    tolerance = min(graph.vertices * tol, 1e-4)
    assert residual(graph, ranks["rank"], arcs, options) < tolerance + 1e-14
    assert ranks.residual < tolerance
    exact = af.pagerank(graph, tol=1e-14, max_iter=2000, method="power", **options)["rank"]
    assert np.abs(ranks["rank"] - exact).sum() < 10 * tolerance


@pytest.mark.parametrize(
    ("spec", "share"), [("grid:40x40", 0.5), ("star:400", 0.6), ("path:2000", 0.5), ("kron:11,directed=false", 0.9)]
)
@pytest.mark.parametrize("options", [{}, {"dtype": "f32"}, {"personalization": {0: 1.0}}])
def test_it_takes_fewer_supersteps(spec: str, share: float, options: dict[str, Any]) -> None:
    graph = af.load(spec)
    tol = 1e-4 / graph.vertices if "dtype" in options else 1e-9 / graph.vertices
    slow = af.pagerank(graph, tol=tol, method="power", max_iter=1000, **options)
    fast = af.pagerank(graph, tol=tol, max_iter=1000, method="accelerated", **options)
    assert fast.supersteps <= share * slow.supersteps + 3
    assert np.abs(fast["rank"].astype(float) - slow["rank"]).sum() < 20 * tol * graph.vertices
    fast.validate().raise_for_failure()
    assert list(fast.values) == ["rank"]


@pytest.mark.parametrize(
    ("spec", "tolerance", "expected"),
    [
        ("cycle:2000", 1e-9, False),  # ranks are right at once
        ("grid:600x600", 1e-4, False),  # only the rim moves
        ("grid:300x300", 1e-10, True),
        ("star:2000", 1e-4, True),
        ("kron:11,directed=false", 1e-4, True),
    ],
)
def test_accelerated_where_many_supersteps_are_expected(spec: str, tolerance: float, expected: bool) -> None:
    graph = af.load(spec)
    tol = tolerance / graph.vertices
    chosen, *others = (
        af.pagerank(graph, tol=tol, max_iter=1000, deterministic=True, method=method)["rank"].tobytes()
        for method in ("auto", "power", "accelerated")
    )
    assert chosen == others[expected]


@pytest.mark.parametrize("rows", [[(0, 1)], [(0, 1), (1, 2)], [(0, 1), (0, 2), (0, 3), (2, 3), (5, 5), (5, 7)]])
def test_the_residual_of_a_start_is_that_of_the_first_superstep(rows: list[tuple[int, int]]) -> None:
    graph = af.Graph.from_edges(*zip(*rows, strict=True), vertices=9, directed=False)
    start = best_start(graph, 0.85, 1e-4, redistribute=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # it is stopped before it converges
        first = af.run(PageRank, graph, even=start.even, by_degree=start.by_degree, max_supersteps=1, tolerance=0.0)
    assert start.residual == pytest.approx(first.residual, abs=1e-15)


def islands() -> af.Graph:
    """Cliques of 4 to 40 vertices, each with an edge to the next: degrees differ by region."""
    pairs, first = [], 0
    for size in np.random.default_rng(3).integers(4, 40, 60).tolist():
        pairs += [(first + j, first + k) for j in range(size) for k in range(j)]
        pairs.append((first, first + size))
        first += size
    return af.Graph.from_edges(*zip(*pairs, strict=True), directed=False)


@pytest.mark.parametrize("graph", ["kron:12,directed=false", "star:300", "islands", "grid:40x40", "ws:3000,k=6,p=0.2"])
@pytest.mark.parametrize("dangling", ["drop", "redistribute"])
def test_ranks_begin_where_it_takes_no_longer(graph: str, dangling: str) -> None:
    made = islands() if graph == "islands" else af.load(graph)
    program, options = accelerated(PageRank), {"tolerance": 1e-4, "redistribute": dangling == "redistribute"}
    start = best_start(made, 0.85, 1e-4, dangling == "redistribute")
    alike = af.run(program, made, **options)
    chosen = af.run(program, made, even=start.even, by_degree=start.by_degree, **options)
    assert chosen.supersteps <= alike.supersteps
    assert bool(start.by_degree) == (graph in ("kron:12,directed=false", "star:300", "ws:3000,k=6,p=0.2"))
    assert np.abs(chosen["before"] - alike["before"]).sum() < 1e-3
    if dangling == "redistribute":
        assert chosen["before"].sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("spec", ["grid:30x40", "kron:11,directed=false,weights=1-9"])
def test_the_same_bits_on_any_number_of_workers(spec: str) -> None:
    graph = af.load(spec)
    first = af.pagerank(graph, deterministic=True, threads=1)
    for where in ({"threads": 3}, {"parts": 3}, {"parts": 4, "ranks_per_node": 2}):
        other = af.pagerank(graph, deterministic=True, **where)
        assert other["rank"].tobytes() == first["rank"].tobytes()
        assert other.supersteps == first.supersteps


def test_debug_computes_the_same() -> None:
    graph = af.load("kron:6,directed=false")
    plain = af.pagerank(graph, debug=True)
    np.testing.assert_allclose(plain["rank"], af.pagerank(graph)["rank"], rtol=1e-12)


def test_where_the_power_iteration_stays() -> None:
    """Directed graphs, eager runs, fixed numbers of iterations, and tolerances of rounding size."""
    oriented = af.Graph.from_edges([0, 1, 2, 2, 3], [1, 2, 0, 3, 1])
    chain = af.load("path:9")
    cases = [(oriented, {}), (chain, {"eager": True, "deterministic": True}), (chain, {"tol": 1e-17, "max_iter": 30})]
    for graph, options in cases:
        power = {name: value for name, value in options.items() if name != "eager"}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the last does not converge
            left, right = (af.pagerank(graph, **chosen) for chosen in (options, {**power, "method": "power"}))
        assert left["rank"].tolist() == right["rank"].tolist()
        assert left.supersteps == right.supersteps


@pytest.mark.parametrize(
    ("graph", "options", "said"),
    [
        ("path:4", {"method": "magic"}, "method is 'magic'"),
        ("kron:4,directed=true", {"method": "accelerated"}, "the graph is directed"),
        ("path:4", {"method": "accelerated", "eager": True}, "eager is set"),
    ],
)
def test_what_cannot_be_accelerated_is_refused(graph: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        af.pagerank(graph, **options)

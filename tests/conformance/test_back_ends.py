"""Every program gives the same result compiled as in plain Python: any direction, any number of threads."""

import warnings
from unittest import mock

import numpy as np
import programs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import arcflux as af
from arcflux import algorithms
from arcflux.compile.lower import lower
from arcflux.compile.pieces.source import edge_reads
from arcflux.engine import dense
from arcflux.engine.dense import Dense
from arcflux.graph.blocks import blocks

PROGRAMS = [*programs.ALL, algorithms.BFS, algorithms.SSSP, algorithms.PageRank, algorithms.Components]

# Messages that are vectors are not pulled by blocks.
SCALARS = [p for p in PROGRAMS if all(kind.length is None for kind in p.fields.values())]


@st.composite
def graphs(draw: st.DrawFn) -> af.Graph:
    """Small multigraphs with self-loops, isolated vertices and weights."""
    n = draw(st.integers(1, 12))
    ends = st.lists(st.integers(0, n - 1), min_size=0, max_size=40)
    source = draw(ends)
    target = draw(st.lists(st.integers(0, n - 1), min_size=len(source), max_size=len(source)))
    weight = draw(st.lists(st.integers(0, 9), min_size=len(source), max_size=len(source)))
    return af.Graph.from_edges(
        np.array(source, np.int64), np.array(target, np.int64), columns={"weight": np.array(weight, np.int32)},
        vertices=n, directed=draw(st.booleans()),
    )  # fmt: skip


def options(program: object, **more: object) -> dict[str, object]:
    return {**({"source": 0} if "source" in program.parameters else {}), **more}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_compiled_equals_plain_python(program: object, data: st.DataObject) -> None:
    graph = data.draw(graphs())
    if program is algorithms.Components and graph.directed:
        return
    plain = af.run(program, graph, debug=True, **options(program))
    way = data.draw(st.sampled_from(["auto", "push", "pull"] if program is not algorithms.SSSP else ["auto", "push"]))
    fast = af.run(program, graph, direction=way, threads=data.draw(st.sampled_from([1, 2, 3])), **options(program))
    # The order of a sum can move a change across its tolerance; with a priority there are rounds for supersteps.
    if program not in (programs.DeltaRank, algorithms.SSSP):
        assert fast.supersteps == plain.supersteps
    assert fast.converged
    assert plain.converged
    for name, values in plain.values.items():
        if values.dtype.kind == "f":
            narrow = any(v.dtype == np.float32 for v in plain.values.values())
            close = {"rtol": 1e-4, "atol": 1e-6} if narrow else {"rtol": 1e-9, "atol": 1e-15}
            np.testing.assert_allclose(fast[name], values, **close)
        elif (program.name, name) != ("BFS", "parent"):
            np.testing.assert_array_equal(fast[name], values)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_deterministic_runs_give_the_same_bits(program: object, data: st.DataObject) -> None:
    graph = data.draw(graphs())
    if program is algorithms.Components and graph.directed:
        return
    first, second = (
        af.run(
            program, graph, deterministic=True, threads=data.draw(st.sampled_from([1, 2, 3])),
            direction=data.draw(st.sampled_from(["auto", "push", "pull"])), **options(program),
        )
        for _ in range(2)
    )  # fmt: skip
    plain = af.run(program, graph, debug=True, **options(program))
    if "priority" not in program.functions:  # buckets are no supersteps
        assert [step.residual for step in first.history] == [step.residual for step in second.history]
    for name, values in first.values.items():
        assert values.tobytes() == second.values[name].tobytes()
        if values.dtype.kind in "iub":  # the smallest of several af.any, too
            np.testing.assert_array_equal(values, plain.values[name])


@pytest.mark.parametrize("program", SCALARS, ids=lambda p: p.name)
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_blocks_give_the_bits_of_the_plain_pull(program: object, threads: int) -> None:
    """150,000 vertices are three blocks each way; the last is not full."""
    random = np.random.default_rng(7)
    ends = random.integers(0, 150_000, (2, 400_000))
    graph = af.Graph.from_edges(
        *ends, columns={"weight": random.integers(0, 9, 400_000)}, vertices=150_000, directed=False
    )
    limit = {"max_supersteps": 5, **options(program)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with mock.patch.object(dense, "degree_order", return_value=None):  # in which totals are added in another order
            plain = af.run(program, graph, direction="pull", **limit)
        with mock.patch.object(Dense, "_large", return_value=True), mock.patch.object(dense, "scattered"):
            blocked = af.run(program, graph, direction="pull", threads=threads, **limit)
    assert (blocks(graph, build=False) is None) == lower(program, {"weight": np.dtype("i8")}).sparse
    for name, values in plain.values.items():
        assert values.tobytes() == blocked.values[name].tobytes()


@pytest.mark.parametrize("program", SCALARS, ids=lambda p: p.name)
@pytest.mark.parametrize("threads", [1, 3])
def test_blocks_of_ranked_sources_give_the_same(program: object, threads: int) -> None:
    """Their messages come in another order: sums may round otherwise, nothing else may differ."""
    random = np.random.default_rng(8)
    ends = (150_000 * random.random((2, 300_000)) ** 2).astype(np.int64)
    graph = af.Graph.from_edges(
        *ends, columns={"weight": random.integers(0, 9, 300_000)}, vertices=150_000, directed=False
    )
    limit = {"max_supersteps": 4, "direction": "pull", **options(program)}
    lowered = lower(program, {"weight": np.dtype("i8")})
    ranked = not lowered.sparse and "u_number" not in edge_reads(lowered)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = af.run(program, graph, **limit)
        with (
            mock.patch.object(Dense, "_large", return_value=True),
            mock.patch.object(dense, "scattered"),
            mock.patch.object(dense, "skewed", return_value=True),
        ):
            blocked = af.run(program, graph, threads=threads, **limit)
            assert (blocks(graph, build=False, ranked=True) is not None) == ranked
            exact = af.run(program, graph, deterministic=True, threads=threads, **limit)
    for name, values in plain.values.items():
        if values.dtype.kind == "f":
            wide = 1e-9 if values.dtype.itemsize == 8 else 1e-4
            np.testing.assert_allclose(blocked.values[name], values, rtol=wide)
            np.testing.assert_allclose(exact.values[name], values, rtol=wide)
        else:
            np.testing.assert_array_equal(blocked.values[name], values)


def test_narrow_sums_are_added_up_wide() -> None:
    """A hundred thousand times a tenth, in f32: rounded at every step it would be 9998.6 or so, not 10000."""
    size = 100_000
    graph = af.Graph.from_edges(np.arange(1, size + 1), np.zeros(size, np.int64))
    for more in ({}, {"parts": 2, "ranks_per_node": 1}, {"deterministic": True}):
        total = af.run(programs.Tenths, graph, direction="pull", max_supersteps=1, **more)["x"][0]
        assert total == np.float32(np.float64(np.float32(0.1)) * size), more


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_deterministic_run_of_narrow_floats_is_the_same_on_any_graph(threads: int) -> None:
    """Whether blocks would be faster must not show."""
    random = np.random.default_rng(7)
    graph = af.Graph.from_edges(*random.integers(0, 150_000, (2, 400_000)), vertices=150_000, directed=False)
    program = algorithms.PageRank.retyped(rank=af.f32)
    plain = af.run(program, graph, deterministic=True)
    with mock.patch.object(dense, "_CACHE", 0), mock.patch.object(dense, "_ARCS", 0), mock.patch.object(
        dense, "scattered"
    ):  # fmt: skip
        large = af.run(program, graph, deterministic=True, threads=threads)
    assert large["rank"].tobytes() == plain["rank"].tobytes()


def test_large_graphs_have_the_smallest_of_several_any_too() -> None:
    random = np.random.default_rng(3)
    graph = af.Graph.from_edges(*random.integers(0, 270_000, (2, 300_000)), vertices=270_000)
    found = af.run(programs.Someone, graph, deterministic=True)
    with (
        mock.patch.object(dense, "_CACHE", 0),
        mock.patch.object(dense, "_ARCS", 0),
        mock.patch.object(dense, "scattered"),
    ):
        large = af.run(programs.Someone, graph, deterministic=True, threads=1)
    assert large["seen"].tolist() == found["seen"].tolist()
    source, target, _ = graph.edge_numbers()
    least = np.full(270_000, 99)
    np.minimum.at(least, target.astype(np.int64), source.astype(np.int64) * 7 % 11)
    assert found["seen"].tolist() == np.where(least == 99, -1, least).tolist()


@pytest.mark.parametrize("way", ["auto", "push", "pull"])
def test_bfs_passes_the_graph500_rules(way: str) -> None:
    graph = af.load("kron:12")
    source = int(np.argmax(graph.out_degrees))
    result = algorithms.bfs(graph, source, direction=way)
    af.validate.bfs(graph, source, result["level"], result["parent"], numbers=True).raise_for_failure()
    if way == "auto":
        assert {step.direction for step in result.history} == {"push", "pull"}


@pytest.mark.parametrize("spec", ["kron:11,weights=1-255", "grid:40x40,weights=1-255", "urand:10,weights=1-9"])
@pytest.mark.parametrize("way", ["auto", "push", "pull"])
def test_larger_graphs_validate(spec: str, way: str) -> None:
    graph = af.load(spec)
    algorithms.sssp(graph, 0, direction=way).validate().raise_for_failure()
    parts = algorithms.connected_components(graph, "min-label", direction=way)
    parts.validate().raise_for_failure()


def test_pagerank_is_a_fixed_point() -> None:
    graph = af.load("kron:11")
    result = algorithms.pagerank(graph, tol=1e-15, max_iter=500, dangling="drop")
    af.validate.pagerank(graph, result["rank"], tolerance=1e-6).raise_for_failure()
    delta = af.run(programs.DeltaRank, graph, tolerance=1e-14)
    np.testing.assert_allclose(delta["rank"], result["rank"], rtol=1e-6)


def test_a_grid_of_many_supersteps() -> None:
    result = algorithms.bfs(af.load("path:6000"), 0)
    assert result.supersteps == 6000
    assert result["level"].tolist() == list(range(6000))
    assert [step.number for step in result.history] == list(range(6000))


@pytest.mark.parametrize("threads", [2, 3, 5])
@pytest.mark.parametrize("program", [algorithms.BFS, algorithms.Components, algorithms.SSSP], ids=lambda p: p.name)
def test_every_vertex_of_a_large_frontier_sends(program: object, threads: int) -> None:
    """Workers share a queue by parts, and list others on the way: where one began must not change while it sends."""
    graph = af.load("kron:17,weights=1-9")
    options = {"source": int(np.argmax(graph.out_degrees))} if program is not algorithms.Components else {}
    alone = af.run(program, graph, direction="push", threads=1, **options)
    for _ in range(4):
        found = af.run(program, graph, direction="push", threads=threads, **options)
        for name in set(alone.values) - {"parent"}:
            np.testing.assert_array_equal(found.values[name], alone.values[name])

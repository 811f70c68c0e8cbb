"""Runs of vertices: as found row by row in plain Python; a sweep by them has the bits of the plain pull."""

import warnings
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import arcflux as af
from arcflux import algorithms
from arcflux.engine import dense
from arcflux.graph import runs as home
from arcflux.graph.runs import runs
from arcflux.spmd.team import Team


def plainly(graph: af.Graph) -> list[int]:
    """Where a vertex's in-neighbours are not those of the vertex before, each moved on by one."""
    offsets, neighbours = graph.into
    rows = [neighbours[int(offsets[v]) : int(offsets[v + 1])].tolist() for v in range(graph.vertices)]
    return [v for v in range(graph.vertices) if v == 0 or [u + 1 for u in rows[v - 1]] != rows[v]]


@st.composite
def meshes(draw: st.DrawFn) -> af.Graph:
    """Rings with chords of a few lengths, of which some edges are missing and some are more."""
    n = draw(st.integers(1, 300))
    chords = draw(st.lists(st.integers(-40, 40), min_size=1, max_size=5))
    source = np.repeat(np.arange(n), len(chords))
    target = source + np.tile(chords, n)
    inside = (target >= 0) & (target < n)
    holes = draw(st.lists(st.integers(0, max(0, n - 1)), max_size=4))
    inside &= ~np.isin(source, holes)
    extra = draw(st.lists(st.integers(0, n - 1), max_size=3))
    ends = np.append(source[inside], extra), np.append(target[inside], extra[::-1])
    return af.Graph.from_edges(*(e.astype(np.int64) for e in ends), vertices=n, directed=draw(st.booleans()))


@settings(max_examples=60, deadline=None)
@given(graph=meshes(), chunk=st.sampled_from([1, 7, 64, 1024]), threads=st.integers(1, 3))
def test_runs_are_found(graph: af.Graph, chunk: int, threads: int) -> None:
    with mock.patch.object(home, "_LENGTH", 1), mock.patch.object(home, "_CHUNK", 1 << 14):
        found = home._found(graph, chunk, Team(threads))
    assert found is not None
    starts = plainly(graph)
    assert found.starts.tolist() == [*starts, graph.vertices]
    heads = range(0, graph.vertices, chunk)
    assert found.first.tolist() == [sum(s <= v for s in starts) - 1 for v in heads]


@pytest.mark.parametrize("spec", ["grid:40x300", "cycle:5000", "path:4000"])
def test_meshes_have_long_runs(spec: str) -> None:
    graph = af.load(spec)
    found = runs(graph, 1024)
    assert found is not None
    assert found.starts.tolist() == [*plainly(graph), graph.vertices]
    assert runs(graph, 1024) is found


@pytest.mark.parametrize("spec", ["kron:10", "urand:10", "star:1000", "grid:300x6"])
def test_others_have_none(spec: str) -> None:
    assert runs(af.load(spec), 1024) is None


def test_graphs_too_small_for_a_run() -> None:
    assert runs(af.Graph.from_edges([], []), 64) is None
    assert runs(af.Graph.from_edges([0], [0]), 64) is None


@af.program
class Heat:
    """Several reductions, a constant field, a parameter, the superstep, and an init that is not zero."""

    rate: float = 0.2
    warm: af.f64
    hottest: af.f64
    near: af.i64
    home: af.f64

    def start(v):
        v.home = (v.number * 7919 % 1009) / 1009.0
        v.warm = v.home
        return True

    def init(v):
        v.warm = 0.5
        v.hottest = -1.0
        v.near = 3

    def compute(v, u, p, step):
        v.warm += u.warm * p.rate + 0.001 * step
        v.hottest = max(v.hottest, u.warm)
        v.near += u.out_degree

    def update(v, old, p):
        v.warm = (1.0 - p.rate) * v.home + 0.1 * v.warm + 0.01 * old.warm
        return v.warm != old.warm


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize(
    "program", [Heat, algorithms.PageRank, algorithms.PageRank.retyped(rank=af.f32)], ids=["heat", "rank", "narrow"]
)
@pytest.mark.parametrize("deterministic", [False, True])
def test_a_sweep_by_runs_has_the_bits_of_the_plain_pull(program: object, threads: int, deterministic: bool) -> None:
    """Of more vertices than a chunk has; runs end, and chunks do, in the middle of one another."""
    base = af.load("grid:37x211")
    how = {"direction": "pull", "max_supersteps": 7, "threads": threads, "deterministic": deterministic}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # seven supersteps are too few
        plain = af.run(program, base, **how)
        with (
            mock.patch.object(dense, "_MANY", 0),
            mock.patch.object(dense.Dense, "_registers", autospec=True, side_effect=dense.Dense._registers) as used,
        ):
            swept = af.run(program, base, **how)
    assert used.called
    for name, values in plain.values.items():
        assert values.tobytes() == swept.values[name].tobytes(), name
    # Residuals are added up in another order where nobody asked for the same one.
    residuals = [[s.residual for s in result.history] for result in (plain, swept)]
    assert residuals[1] == (residuals[0] if deterministic else pytest.approx(residuals[0], rel=1e-13))


def test_programs_whose_edges_differ_are_pulled_plainly() -> None:
    graph = af.load("grid:40x300,weights=1-9")
    with mock.patch.object(dense, "_MANY", 0), mock.patch.object(dense.Dense, "_registers") as used:
        af.algorithms.pagerank(graph, weight="weight")
        af.algorithms.pagerank(graph, weight=None, eager=True)
    assert not used.called

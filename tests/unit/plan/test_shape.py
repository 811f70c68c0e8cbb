"""What a plan knows of a graph, against the graph itself."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import arcflux as af
from arcflux.errors import UsageError
from arcflux.partition.halo import uds
from arcflux.plan.sample import measure_shape, shape_of
from arcflux.plan.shape import SHAPES, from_description, grid, kronecker, uniform


def exact(graph, k):
    """The sums of INS and UDS over k ranges, counted."""
    parts = af.partition(graph, k, "ranges")
    return sum(parts.statistics.ins), sum(map(len, uds(parts)))


@pytest.mark.parametrize("spec", ["kron:13", "kron:12,ef=4", "urand:12,ef=8", "kron:11,simple=no", "kron:11,directed"])
def test_a_formula_says_what_the_graph_has(spec):
    graph, shape = af.load(spec), shape_of(spec)
    assert shape.vertices == graph.vertices
    assert shape.arcs == pytest.approx(graph.arcs, rel=0.01)
    assert (shape.counts * shape.degrees).sum() == pytest.approx(shape.arcs, rel=0.01)
    for k in (2, 4, 16):
        ins, foreign = exact(graph, k)
        assert shape.ins(k) == pytest.approx(ins, rel=0.08)
        assert shape.uds(k) == pytest.approx(foreign, rel=0.08)


def test_a_grid_reads_its_boundaries_alone():
    graph, shape = af.load("grid:60x40"), shape_of("grid:60x40")
    assert (shape.vertices, shape.arcs) == (graph.vertices, graph.arcs)
    for k in (2, 6):
        ins, foreign = exact(graph, k)
        assert shape.ins(k) == pytest.approx(ins, rel=0.05)
        assert shape.uds(k) == pytest.approx(foreign, rel=0.05)
    assert grid(3, 3).depth > 0


@pytest.mark.parametrize("spec", ["kron:12", "grid:50x30", "ws:3000,k=8,p=0.1", "star:50", "path:1"])
def test_a_graph_in_memory_is_asked(spec):
    graph = af.load(spec)
    shape = shape_of(graph)
    assert (shape.vertices, shape.arcs) == (graph.vertices, graph.arcs)
    for k in (1, 3, 8):
        assert (shape.ins(k), shape.uds(k)) == exact(graph, k)  # all arcs are in the sample
    assert shape_of(graph) is shape


def test_a_sample_is_as_good(monkeypatch):
    from arcflux.plan import sample

    graph = af.load("kron:13")
    monkeypatch.setattr(sample, "_ARCS", graph.arcs // 8)
    shape = sample._measure(graph)
    for k in (2, 8):
        ins, foreign = exact(graph, k)
        assert shape.ins(k) == pytest.approx(ins, rel=0.05)
        assert shape.uds(k) == pytest.approx(foreign, rel=0.05)


def test_depth_is_that_of_searches():
    shape = measure_shape(af.load("path:64"))
    assert 31 <= shape.depth <= 64
    graph = af.load("kron:12")
    degrees = graph.out_degrees
    depths = [af.bfs(graph, int(v))["level"].max() for v in np.flatnonzero(degrees)[::100]]
    assert shape_of("kron:12").depth == pytest.approx(np.mean(depths), abs=0.7)
    assert measure_shape(graph).depth == pytest.approx(np.mean(depths), abs=1.0)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=30), st.integers(1, 40))
def test_cold_arcs_are_those_of_all_but_the_first(degrees, hot):
    graph = from_description(10, 10)
    shape = type(graph)(
        "x", len(degrees), sum(degrees), np.array(degrees, float), np.ones(len(degrees)), 1.0
    )  # fmt: skip
    rest = sorted(degrees, reverse=True)[hot:]
    assert shape.cold(hot) == pytest.approx(sum(rest) / sum(degrees) if sum(degrees) else 0.0, abs=1e-12)
    assert shape.high(9) == (sum(d > 9 for d in degrees), sum(d for d in degrees if d > 9))


@given(st.integers(1, 64), st.sampled_from(SHAPES), st.integers(2, 10_000), st.integers(0, 100_000))
def test_sets_are_between_none_and_all(k, shape, vertices, arcs):
    found = from_description(vertices, arcs, shape)
    assert 0 <= found.uds(k) <= found.ins(k) <= k * found.vertices * (1 + 1e-9)
    assert found.uds(1) == 0


def test_of_spec_without_a_formula_the_graph_is_made():
    shape = shape_of("star:20")
    assert (shape.vertices, shape.arcs) == (20, 38)


@pytest.mark.parametrize("graph", [(0, 3), (3, -1), (3, 4, "round"), (3,), 7, (2.5, 3), (True, 3)])
def test_nonsense_is_refused(graph):
    with pytest.raises(UsageError):
        shape_of(graph)


def test_means():
    assert uniform(10, 35).mean_degree == 3.5
    assert kronecker(20, simple=False).arcs == 2**25
    assert from_description(1000, 7000).arcs == 7000
    assert (from_description(1000, 7000).counts * from_description(1000, 7000).degrees).sum() == pytest.approx(7000)


def test_graphs_of_papers_have_their_printed_sizes():
    from arcflux.plan.paper_graphs import KNOWN, known_shape

    assert len(KNOWN) == 11
    for name, graph in KNOWN.items():
        shape = known_shape(name)
        assert (shape.vertices, round(shape.arcs / graph.arcs, 9)) == (graph.vertices, 1.0)


def test_graphs_of_other_papers_have_their_printed_sizes():
    from arcflux.plan.paper_graphs import PAPERS, is_known, known_shape

    # GX-Plug, table I, and G2, section V-A: millions of vertices, millions of edges.
    printed = {
        "gxplug:orkut": (3.07, 117.18), "gxplug:topcats": (1.79, 28.51), "gxplug:livejournal": (4.84, 68.99),
        "gxplug:wrn": (23.9, 28.9), "gxplug:twitter": (41.65, 1468), "gxplug:uk": (110.1, 3945),
        "g2:local": (144, 8000), "g2:virtual": (384, 21000),
    }  # fmt: skip
    assert printed.keys() == {name for paper in ("gxplug", "g2") for name in PAPERS[paper][1]}
    for name, (vertices, edges) in printed.items():
        shape = known_shape(name)
        assert (shape.vertices, shape.arcs) == (round(vertices * 1e6), pytest.approx(edges * 1e6, rel=1e-6))
    assert [is_known(text) for text in ("g2:local", "g2", "lux.csv", "kron:8", "gxplug:x", 3)] == [
        True, False, False, False, True, False,
    ]  # fmt: skip
    plan = af.plan("pagerank", "g2:local", on="ec2-m2050", nodes=8)
    assert plan.graph.name == "g2:local"

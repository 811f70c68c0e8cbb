"""Parts against a plain walk over all arcs, for every partitioner."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from part_graphs import graphs, patient
from part_oracles import arcs_of, place

import arcflux as af
from arcflux.errors import UsageError
from arcflux.partition import PARTITIONERS


def rows_of(part):
    """The arcs of a part as (source, target), row by row."""
    offsets = part.into.offsets.tolist()
    return [
        (u, v)
        for r, v in enumerate(part.targets.tolist())
        for u in part.into.neighbours[offsets[r] : offsets[r + 1]].tolist()
    ]


def check(parts, threshold=None):
    """Every arc is at the part that the oracle names, in the graph's order, with its columns, in both directions."""
    graph = parts.graph
    where, arcs = place(parts, threshold), arcs_of(graph)
    assert parts.owner.shape == (graph.vertices,)
    assert not graph.vertices or int(parts.owner.max()) < parts.k
    for i in range(parts.k):
        part = parts.part(i)
        owned = [v for v in range(graph.vertices) if parts.owner[v] == i]
        assert parts.owned(i).tolist() == part.owned.tolist() == owned
        assert parts.owned(i).dtype == graph.out.neighbours.dtype
        here = [(u, v, e) for u, v, e in arcs if where(u, v) == i]
        assert rows_of(part) == [(u, v) for u, v, _ in here]
        assert part.arcs == len(here)
        targets = owned if parts.placement == "target" else sorted({v for _, v, _ in here})
        assert part.targets.tolist() == targets
        begin, end = int(part.into.offsets[0]), int(part.into.offsets[-1])
        for name, column in part.in_columns.items():
            assert column[begin:end].tolist() == graph.in_columns[name][[e for _, _, e in here]].tolist()
        outward = sorted(here, key=lambda arc: arc[0])
        offsets, leaving = part.out.offsets.tolist(), slice(int(part.out.offsets[0]), int(part.out.offsets[-1]))
        assert len(offsets) == graph.vertices + 1
        assert part.out.neighbours[leaving].tolist() == [v for _, v, _ in outward]
        assert np.diff(offsets).tolist() == [sum(u == w for u, _, _ in here) for w in range(graph.vertices)]
        for name, column in part.out_columns.items():
            expected = graph.in_columns[name][[e for _, _, e in outward]].tolist()
            if part.out.neighbours.base is graph.out.neighbours.base:  # where parallel arcs stand in another order
                ends = [(u, v) for u, v, _ in outward]
                assert sorted(zip(ends, column[leaving].tolist(), strict=True)) == sorted(
                    zip(ends, expected, strict=True)
                )
            else:
                assert column.tolist() == expected


@pytest.mark.parametrize("how", PARTITIONERS)
@settings(patient)
@given(graph=graphs(), k=st.integers(1, 9))
def test_every_arc_is_at_its_part(how, graph, k):
    parts = af.partition(graph, k, how)
    assert (parts.k, parts.how, parts.graph) == (k, how, graph)
    check(parts)
    check(parts.at_targets())
    check(parts.at_sources())
    assert parts.at_sources() is parts.at_sources()
    if parts.placement == "target":
        assert parts.at_targets() is parts
    for other in (parts.at_targets(), parts.at_sources()):
        assert other.owner.tolist() == parts.owner.tolist()


@settings(patient)
@given(graph=graphs(), k=st.integers(1, 9), threshold=st.integers(0, 6))
def test_arcs_by_degree_with_any_threshold(graph, k, threshold):
    parts = af.partition(graph, k, "degree", threshold=threshold)
    check(parts, threshold)
    assert parts.notes == [f"vertices that more than {threshold} arcs leave are high"]


@pytest.mark.parametrize("how", PARTITIONERS)
def test_a_larger_graph_with_weights(how):
    graph = af.load("kron:8,weights=1-9")
    parts = af.partition(graph, 5, how)
    check(parts)
    check(parts.at_sources())


@settings(patient)
@given(graphs(), st.integers(1, 9))
def test_ranges_cover_all_vertices_and_cut_nearest_to_equal_shares(graph, k):
    parts = af.partition(graph, k)
    bounds, offsets = parts.bounds.tolist(), graph.into.offsets.tolist()
    assert bounds[0] == 0
    assert bounds[-1] == graph.vertices
    assert bounds == sorted(bounds)
    for i in range(1, k):
        mark = i * graph.arcs // k
        if graph.arcs:
            assert abs(offsets[bounds[i]] - mark) == min(abs(offset - mark) for offset in offsets)


@patient
@given(graphs(), st.lists(st.integers(1, 9), min_size=1, max_size=6))
def test_ranges_may_have_unequal_shares(graph, shares):
    """Lemma 2 of GX-Plug: d_j = (1 / c_j) / sum(1 / c) * D, as near as whole vertices come to it."""
    parts = af.partition(graph, len(shares), "ranges", shares=shares)
    check(parts)
    offsets, size = graph.into.offsets.astype(np.int64), graph.arcs or graph.vertices
    for i, bound in enumerate(parts.bounds[1:-1].tolist(), 1):
        mark = sum(shares[:i]) * size // sum(shares)
        if graph.arcs:
            assert abs(offsets[bound] - mark) == np.abs(offsets - mark).min()
        else:
            assert bound == mark
    if len(set(shares)) == 1:
        assert parts.bounds.tolist() == af.partition(graph, len(shares)).bounds.tolist()


@pytest.mark.parametrize("shares", [[1, 2], [1, 0, 2], [1, -1, 2], [1, float("nan"), 2], [1, "x", 2], 3, "12x"])
def test_shares_that_are_none_are_refused(shares):
    with pytest.raises(UsageError, match="a number above 0 for each of the 3 parts"):
        af.partition("path:9", 3, shares=shares)


def test_ranges_copy_nothing():
    graph = af.load("kron:8,weights=1-9")
    part = af.partition(graph, 3).part(1)
    assert np.shares_memory(part.into.offsets, graph.into.offsets)
    assert np.shares_memory(part.into.neighbours, graph.into.neighbours)
    assert np.shares_memory(part.in_columns["weight"], graph.in_columns["weight"])


def test_ranges_at_sources_copy_no_targets():
    graph = af.load("rmat:8")
    part = af.partition(graph, 3).at_sources().part(1)
    assert np.shares_memory(part.out.neighbours, graph.out.neighbours)
    assert "_inward" not in vars(part)
    assert part.arcs == len(part.into.neighbours)


def test_without_arcs_the_ranges_are_equal():
    graph = af.Graph.from_edges([], [], vertices=7)
    assert af.partition(graph, 3).bounds.tolist() == [0, 2, 4, 7]
    assert [part.arcs for part in map(af.partition(graph, 3).part, range(3))] == [0, 0, 0]


def test_more_parts_than_a_byte_counts():
    graph = af.load("path:600")
    for how in ("ranges", "random", "grid"):
        parts = af.partition(graph, 300, how)
        assert parts.owner.dtype == np.uint16
        assert sum(parts.part(i).arcs for i in range(300)) == graph.arcs
    assert af.partition(graph, 256).owner.dtype == np.uint8


def test_random_is_the_same_on_any_number_of_threads_and_other_with_another_seed(monkeypatch):
    graph = af.load("path:100000")
    owners = []
    for threads in ("1", "3"):
        monkeypatch.setenv("ARCFLUX_THREADS", threads)
        owners.append(af.partition(graph, 10, "random", seed=5).owner)
    assert np.array_equal(*owners)
    assert not np.array_equal(owners[0], af.partition(graph, 10, "random", seed=6).owner)
    counts = np.bincount(owners[0], minlength=10)
    assert np.all(np.abs(counts - graph.vertices / 10) < 6 * np.sqrt(graph.vertices / 10))


def test_a_grid_tells_rows_and_columns_and_when_it_is_uneven():
    graph = af.load("kron:6")
    parts = af.partition(graph, 6, "grid")
    assert parts.shape == (2, 3)
    assert [parts.place(i) for i in range(6)] == [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]
    assert parts.notes == []
    assert parts.bounds.tolist() == sorted(parts.bounds.tolist())
    uneven = af.partition(graph, 7, "grid")
    assert uneven.shape == (2, 4)
    assert "8 cells of 2 x 4" in uneven.notes[0]
    with pytest.raises(UsageError, match="no rows and columns"):
        af.partition(graph, 4).place(0)


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        ((0,), {}, "k is 0"),
        ((2.5,), {}, "k is 2.5"),
        ((1 << 20,), {}, "k is 1048576"),
        ((2, "range"), {}, "did you mean 'ranges'"),
        ((2, "ranges"), {"seed": 1}, "seed= is no option"),
        ((2, "degree"), {"threshold": -1}, "threshold is -1"),
    ],
)
def test_bad_arguments_are_told(arguments, options, said):
    with pytest.raises(UsageError, match=said):
        af.partition("path:4", *arguments, **options)


@pytest.mark.parametrize("how", ["ranges", "random", "degree"])
def test_many_threads_may_ask_at_once(how):
    graph = af.load("kron:10,weights=1-9")
    expected, shared = af.partition(graph, 6, how), af.partition(graph, 6, how)
    with ThreadPoolExecutor(8) as pool:
        asked = list(pool.map(lambda turn: (turn % 6, shared.part(turn % 6), shared.part(turn % 6).out), range(24)))
    for i, part, out in asked:
        assert part is shared.part(i)
        assert np.array_equal(out.neighbours, expected.part(i).out.neighbours)
        assert np.array_equal(part.in_columns["weight"], expected.part(i).in_columns["weight"])


def test_there_is_no_part_beyond_the_last():
    parts = af.partition("path:4", 2)
    for i in (-1, 2):
        with pytest.raises(UsageError, match=f"no part {i}"):
            parts.part(i)


def test_parts_say_what_they_are():
    assert repr(af.partition("path:4", 2)) == "<Parts of path:4: 2 by ranges, arcs at their target>"
    assert repr(af.partition("path:4", 4, "grid")) == "<Parts of path:4: 4 by 2 x 2 grid, arcs split>"


@patient
@given(graphs(), st.sampled_from(sorted(PARTITIONERS)), st.integers(1, 5))
def test_the_graphs_of_all_parts_have_each_arc_once(graph, how, k):
    if how == "mincut":
        pytest.importorskip("pymetis")
    parts = af.partition(graph, k, how)
    found = []
    for i in range(parts.k):
        alone = parts.part(i).to_graph()
        assert (alone.vertices, alone.arcs, alone.directed) == (graph.vertices, parts.part(i).arcs, True)
        sources, targets, places = alone.edge_numbers()
        values = alone.columns["weight"][places].tolist() if graph.columns else [0.0] * alone.arcs
        found += zip(sources.tolist(), targets.tolist(), values, strict=True)
    weights = graph.in_columns["weight"].tolist() if graph.columns else [0.0] * graph.arcs
    assert sorted(found) == sorted((u, v, weights[e]) for u, v, e in arcs_of(graph))


def test_a_file_of_arcs_for_each_device(tmp_path):
    """MapGraph, section III-A: a file for each device of a grid, a line for each arc: row, column, weight."""
    graph = af.Graph.from_edges([10, 20, 30, 40], [30, 40, 10, 10], columns={"weight": [1.5, 2.5, 3.5, 4.5]})
    parts = af.partition(graph, 4, "grid")
    lines = {}
    for i in range(4):
        parts.part(i).to_graph().save(tmp_path / f"{i}.csv")
        written = (tmp_path / f"{i}.csv").read_text().splitlines()
        header, *lines[parts.place(i)] = [line for line in written if not line.startswith("#")]
        assert header.replace('"', "") == "source,target,weight"
    assert lines == {
        (0, 0): [], (0, 1): ["10,30,1.5", "20,40,2.5"], (1, 0): ["30,10,3.5", "40,10,4.5"], (1, 1): [],
    }  # fmt: skip


@patient
@given(graphs(), st.integers(1, 4), st.data())
def test_owners_of_one_s_own_are_taken_like_any(graph, k, data):
    owner = data.draw(st.lists(st.integers(0, k - 1), min_size=graph.vertices, max_size=graph.vertices))
    parts = af.Parts(graph, k, "by hand", owner=owner)
    assert parts.owner.dtype == np.uint8
    check(parts)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"owner": [0, 1, 2, 5]}, "owner has parts from 0 to 5"),
        ({"owner": [0, -1, 0, 0]}, "owner has parts from -1 to 0"),
        ({"owner": [0, 1]}, r"of shape \(2,\)"),
        ({"owner": [0.0, 1.0, 0.0, 0.0]}, "an array of float64"),
        ({"owner": ["a", "b", "a", "b"]}, "owner is an array of"),
        ({"bounds": [0, 3, 2, 4]}, "bounds are"),
        ({"bounds": [0, 2, 4]}, "where each of 3 parts begins"),
        ({"bounds": [0, 2, 3, 5]}, "from 0 to 4"),
        ({"bounds": [1, 2, 3, 4]}, "bounds are"),
        ({"bounds": 4}, "bounds are 4"),
        ({}, "neither owner nor bounds"),
    ],
)
def test_owners_and_bounds_that_are_none_are_refused(given, said):
    """Kernels count and look up by them: one run read beyond its arrays, and another ended after a superstep."""
    with pytest.raises(UsageError, match=said):
        af.Parts(af.load("path:4"), 3, "by hand", **given)


@pytest.mark.parametrize(
    ("graph", "k", "said"),
    [("path:4", 2, "graph is"), (None, 0, "k is 0"), (None, "2", "k is '2'"), (None, 1.5, "k is 1.5")],
)
def test_parts_are_of_a_graph_and_counted(graph, k, said):
    with pytest.raises(UsageError, match=said):
        af.Parts(af.load("path:4") if graph is None else graph, k, "by hand", owner=[0, 0, 0, 0])

"""From ids to vertex numbers: by count, by list, by distance, by hash, by text."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arcflux.errors import IdError
from arcflux.graph import Graph, table
from arcflux.graph.edges import Edges
from arcflux.graph.ids import IntegerIds, RangeIds
from arcflux.graph.number import number
from arcflux.spmd.random import mix

LOWEST, HIGHEST = -(2**63), 2**63 - 1


def numbered(source, target, vertices=None, threads=None):
    edges = Edges(np.asarray(source), np.asarray(target))
    ids, complete = number(edges, vertices, threads)
    return edges, ids, complete


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from([LOWEST, LOWEST + 1, -1, 0, 5, 10**10, HIGHEST]), min_size=1, max_size=30))
def test_hashed_ids_get_their_rank(ends):
    ends = [*ends, 10**17]
    edges, ids, complete = numbered(ends, ends[::-1], threads=2)
    different = sorted(set(ends))
    assert complete
    assert ids.to_ids().tolist() == different
    assert edges.source.tolist() == [different.index(i) for i in ends]
    assert edges.target.tolist() == [different.index(i) for i in ends[::-1]]
    assert edges.source.dtype == np.uint32


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_the_hash_table_grows_from_either_end_of_the_edges(threads):
    rng = np.random.default_rng(7)
    source = rng.integers(LOWEST, HIGHEST, 300_000)
    target = rng.integers(LOWEST, HIGHEST, 300_000)
    source[100], source[::7], target[::2], target[5] = LOWEST, 12345, source[::2], HIGHEST
    edges, ids, _ = numbered(source, target, threads=threads)
    different = sorted({*source.tolist(), *target.tolist()})
    assert len(different) > 3 * table.SMALLEST
    assert ids.to_ids().tolist() == different
    assert np.array_equal(ids.to_ids(edges.source), source)
    assert np.array_equal(ids.to_ids(edges.target), target)


def test_ids_that_fall_on_one_place_of_the_table_are_told_apart():
    keys = np.arange(8_000_000, dtype=np.uint64)
    home = mix.py_func(keys) & np.uint64(table.SMALLEST - 1)
    crowd = np.array([*np.flatnonzero(home == table.SMALLEST - 1)[:40], 10**15])
    edges, ids, _ = numbered(np.tile(crowd, 50), np.tile(crowd[::-1], 50), threads=3)
    assert ids.to_ids().tolist() == crowd.tolist()
    assert edges.source.tolist() == list(range(len(crowd))) * 50


def test_the_lowest_id_is_found_in_a_table_that_marks_free_places_with_it():
    crowd = np.array([LOWEST, *range(0, 10**12, 10**8)])
    edges, ids, _ = numbered(crowd, crowd)
    assert ids.to_ids(edges.source).tolist() == crowd.tolist()
    assert ids.find([LOWEST, LOWEST + 1]).tolist() == [0, -1]
    edges, ids, _ = numbered(crowd[1:], crowd[1:])
    assert ids.find([LOWEST]).tolist() == [-1]


@pytest.mark.parametrize("base", [LOWEST, -5, 0, 1, 70_000, 2**40, HIGHEST - 9])
def test_a_run_of_integers_is_kept_as_its_start_alone(base):
    ends = [base + k for k in range(10)]
    g = Graph.from_edges(ends, ends[::-1])
    assert isinstance(g.ids, RangeIds)
    assert (g.ids.base, len(g.ids), g.ids.nbytes) == (base, 10, 0)


@pytest.mark.parametrize("base", [LOWEST, -5, 0, 1, 2**40, HIGHEST - 9])
def test_numbers_that_no_edge_names_are_squeezed_out(base):
    g = Graph.from_edges([base, base + 9, base], [base + 4, base, base + 4])
    assert isinstance(g.ids, IntegerIds)
    assert g.ids.to_ids().tolist() == [base, base + 4, base + 9]
    assert g.out.neighbours.tolist() == [1, 1, 0]
    assert g.out.offsets.tolist() == [0, 2, 2, 3]


def test_small_ids_are_kept_in_small_arrays():
    assert Graph.from_edges([0, 5], [2**32 - 1, 5]).ids.arrays["values"].dtype == np.uint32
    assert Graph.from_edges([-1, 5], [2**31 - 1, 5]).ids.arrays["values"].dtype == np.int32
    assert Graph.from_edges([-1, 5], [2**31, 5]).ids.arrays["values"].dtype == np.int64


def test_a_count_of_vertices_keeps_the_isolated_ones_and_bounds_the_ids():
    g = Graph.from_edges([2], [1], vertices=np.int64(5))
    assert (g.vertices, g.out_degrees.tolist(), g.ids.to_ids().tolist()) == (5, [0, 0, 1, 0, 0], [0, 1, 2, 3, 4])
    for ends, count, wrong in (([5], 5, 5), ([-1], 5, -1), ([0], 0, 0), ([HIGHEST], 5, HIGHEST)):
        with pytest.raises(IdError, match=f"edge names vertex {wrong}\n  expected: ids from 0 to {count - 1}"):
            Graph.from_edges(ends, ends, vertices=count)
    for count in (-1, 2**63, 10**30):
        with pytest.raises(IdError, match=f"{count} .*given\n  expected: a count"):
            Graph.from_edges([], [], vertices=count)
    for run in (range(2**63, 2**63 + 2), range(LOWEST - 1, LOWEST + 3), range(LOWEST, HIGHEST), range(10**30)):
        with pytest.raises(IdError, match="given\n  expected: a count"):
            Graph.from_edges([], [], vertices=run)
    with pytest.raises(IdError, match="counts integer ids"):
        Graph.from_edges(["a"], ["b"], vertices=2)


@pytest.mark.parametrize(
    ("ends", "listed", "wrong"),
    [
        ([1, 2], [1, 3], "vertex 2,"),
        ([1, 2], ["1", "2"], "vertex 1,"),
        (["a"], ["b"], "vertex 'a',"),
        (["1"], [1], "vertex '1',"),
        ([10**15], [], "vertex 1000000000000000,"),
    ],
)
def test_an_edge_outside_the_listed_vertices_is_refused(ends, listed, wrong):
    with pytest.raises(IdError, match=wrong) as caught:
        Graph.from_edges(ends, ends, vertices=listed)
    assert f"one of the {len(listed)} listed ids" in str(caught.value)


def test_listed_vertices_are_numbered_in_order_and_once():
    g = Graph.from_edges([10**12, -4], [7, 7], vertices=[7, 10**12, -4, 99, 7, 99])
    assert g.ids.to_ids().tolist() == [-4, 7, 99, 10**12]
    assert g.neighbours(99).tolist() == []
    assert g.neighbours(10**12).tolist() == [7]
    assert Graph.from_edges([2, 3], [3, 2], vertices=range(5)).vertices == 5


@pytest.mark.parametrize("start", [LOWEST, -3, 0, 70_000, HIGHEST - 9])
def test_a_run_of_vertices_bounds_the_ids_at_both_ends(start):
    run = range(start, start + 10)
    g = Graph.from_edges([start + 2, start + 9], [start, start], vertices=run)
    assert g.ids == RangeIds(10, start)
    assert g.neighbours(start + 9).tolist() == [start]
    for outside in (start - 1, start + 10):
        if LOWEST <= outside <= HIGHEST:
            with pytest.raises(IdError, match=f"edge names vertex {outside}\n"):
                Graph.from_edges([outside, start], [start, start], vertices=run)
    assert Graph.from_edges([], [], vertices=range(5, 2)).vertices == 0
    assert Graph.from_edges([6], [4], vertices=range(4, 9, 2)).ids.to_ids().tolist() == [4, 6, 8]


def test_text_and_integers_do_not_mix():
    for source, target in (([1], ["a"]), (["a"], [1])):
        with pytest.raises(IdError, match="two kinds"):
            Graph.from_edges(source, target)
        for listed in (range(3), [1, 2], ["a", "b"]):
            with pytest.raises(IdError, match="not in the list"):
                Graph.from_edges(source, target, vertices=listed)

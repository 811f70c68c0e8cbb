"""Ids: from the user's to numbers and back."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arcflux.errors import IdError
from arcflux.graph import Graph
from arcflux.graph.ids import IntegerIds, RangeIds, TextIds, as_ids

LOWEST, HIGHEST = -(2**63), 2**63 - 1
integers = st.one_of(st.integers(-20, 20), st.integers(LOWEST, HIGHEST), st.sampled_from([LOWEST, HIGHEST]))
names = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=4)


def maps():
    return [RangeIds(5, base=-2), RangeIds(0), IntegerIds(np.array([-5, 7, 2**62])), TextIds.of(["bob", "", "ada"])]


@settings(max_examples=100, deadline=None)
@given(st.integers(LOWEST, HIGHEST), st.integers(0, 6), st.lists(integers, max_size=30))
def test_a_range_finds_what_it_holds_and_nothing_else(base, size, wanted):
    size = min(size, HIGHEST - base + 1)
    ids = RangeIds(size, base)
    held = list(range(base, base + size))
    wanted = [*wanted, *held, *(near for near in (base - 1, base + size) if LOWEST <= near <= HIGHEST)]
    assert ids.to_ids().tolist() == held
    assert ids.find(wanted).tolist() == [held.index(i) if i in held else -1 for i in wanted]


@settings(max_examples=100, deadline=None)
@given(st.sets(integers), st.lists(integers, max_size=30), st.sampled_from(["<i8", ">i8"]))
def test_integers_find_what_they_hold_and_nothing_else(held, wanted, kind):
    held = sorted(held)
    ids = IntegerIds(np.array(held, np.int64))
    wanted = np.array(wanted + held, kind)
    assert ids.to_ids().tolist() == held
    assert ids.find(wanted).tolist() == [held.index(i) if i in held else -1 for i in wanted.tolist()]


@settings(max_examples=100, deadline=None)
@given(st.sets(names, max_size=20), st.lists(names, max_size=12))
def test_text_finds_the_same_in_small_and_large_batches(held, wanted):
    ids = TextIds.of([*held, *held])
    held = sorted(held, key=str.encode)
    assert ids.to_ids().tolist() == held
    wanted = [*wanted[:8], *held[:8]]
    expected = [held.index(name) if name in held else -1 for name in wanted]
    assert ids.find(wanted).tolist() == expected
    assert ids.find(wanted * 20).tolist() == expected * 20
    assert ids.find(pa.array(wanted, pa.string())).tolist() == expected
    assert ids.to_ids(np.arange(len(held))[::-1]).tolist() == held[::-1]


@pytest.mark.parametrize("many", [1, 20])
def test_what_cannot_be_an_id_is_not_found(many):
    for ids in maps():
        strange = [2.0, None, True, b"ada", "\ud800", 2**63, 2**64, -(2**70), "2", "-2"]
        for value in strange:
            assert ids.find([value] * many).tolist() == [-1] * many, value
    assert TextIds.of(["1", "a"]).find(["a", 1] * many).tolist() == [1, -1] * many
    assert TextIds.of(["a", "a\0"]).find(["a\0", "a", "a\0\0"] * many).tolist() == [1, 0, -1] * many


def test_an_id_from_2_to_the_63_on_is_not_mistaken_for_the_largest():
    for ids in (IntegerIds(np.array([0, HIGHEST])), RangeIds(2, HIGHEST - 1), IntegerIds(np.array([-1, LOWEST])[::-1])):
        assert ids.find(np.array([2**63, 2**64 - 1], np.uint64)).tolist() == [-1, -1]
    assert IntegerIds(np.array([0, HIGHEST])).find(np.array([HIGHEST], np.uint64)).tolist() == [1]


def test_unknown_ids_are_key_errors_that_read_well():
    g = Graph.from_edges(["ada"], ["bob"])
    with pytest.raises(KeyError) as caught:
        g.neighbours("eve")
    assert isinstance(caught.value, IdError)
    assert str(caught.value) == (
        "vertex 'eve' is not in the graph\n  expected: one of its 2 text ids, such as 'ada', 'bob'"
    )
    with pytest.raises(IdError, match="vertex 8 is not in the graph"):
        Graph.from_edges([1], [2]).ids.to_numbers(np.array([1, 8, 9]))
    with pytest.raises(IdError, match="no vertices"):
        Graph.from_edges([], []).neighbours(0)
    for vertex in (1.0, None, True, "1", 2**63):
        with pytest.raises(IdError, match="is not in the graph"):
            Graph.from_edges([0, 1], [1, 2]).has_edge(0, vertex)
    with pytest.raises(IdError, match="shape"):
        Graph.from_edges([0, 1], [1, 2]).neighbours([0, 1])


def test_numbers_come_back_for_ids_given_in_any_way():
    ids = RangeIds(9)
    for given_ids in ([3, 4], (3, 4), np.array([3, 4], np.int8), np.array([3, 4], np.uint64), np.arange(9)[3:5]):
        assert ids.to_numbers(given_ids).tolist() == [3, 4]
    assert ids.to_numbers(3).tolist() == [3]
    assert ids.to_numbers([]).tolist() == []
    assert TextIds.of(["a"]).to_numbers("a").tolist() == [0]


def test_maps_are_equal_when_their_ids_are():
    assert RangeIds(3, 4) == IntegerIds(np.array([4, 5, 6], np.int32))
    assert RangeIds(3, 4) != RangeIds(3, 5)
    assert RangeIds(3) != RangeIds(4)
    assert TextIds.of(["1"]) != RangeIds(1, 1)
    assert TextIds.of(["b", "a"]) == TextIds.of(["a", "b", "a"])
    assert RangeIds(1) != 1
    assert repr(RangeIds(3)) == "RangeIds(3 integer ids)"


def test_bytes_are_counted():
    assert RangeIds(10**9).nbytes == 0
    assert IntegerIds(np.arange(0, 10, 3)).nbytes == 4 * 8
    assert TextIds.of(["ada", "bob", ""]).nbytes == 4 * 8 + 6


@pytest.mark.parametrize(
    ("values", "what"),
    [
        (np.array([2**63], np.uint64), "9223372036854775808 is not below 2\\^63"),
        ([2**64], "not text"),
        ([1.0, 2.0], "float64"),
        ([1, 2.5], "float64"),
        ([True], "bool"),
        ([1, "a"], "1 is of type int"),
        (["a", 1], "1 is of type int"),
        (["a", None], "None"),
        ([None, None], "None"),
        ([b"a"], "bytes"),
        ([1, None], "of type int"),
        ([[1, 2]], "shape"),
        (3.0, "shape"),
        ("ab", "shape"),
        (np.array(["2020-01-01"], "M8[D]"), "datetime64"),
        (np.ma.masked_array([1, 2], [0, 1]), "missing"),
    ],
)
def test_what_cannot_be_ids_is_refused(values, what):
    with pytest.raises(IdError, match=what):
        as_ids(values)
    with pytest.raises(IdError, match=what):
        Graph.from_edges([], [], vertices=values)


def test_text_that_utf8_cannot_hold_is_refused():
    with pytest.raises(IdError, match="UTF-8"):
        Graph.from_edges(["\ud800"], ["a"])
    with pytest.raises(IdError, match="null"):
        TextIds.of(["a", None])


def test_names_of_every_array_type_are_read():
    for ends in (["b", "a"], np.array(["b", "a"]), np.array(["b", "a"], object), pa.array(["b", "a"])):
        assert Graph.from_edges(ends, ends).ids.to_ids().tolist() == ["a", "b"]


@pytest.mark.parametrize("ids", [[3, 9, 4], ["b", "a", "c"], range(3)])
def test_ids_are_gone_through_in_the_order_of_vertices(ids):
    g = Graph.from_edges([ids[0]], [ids[1]], vertices=list(ids))
    assert list(g.ids) == g.ids.to_ids().tolist()
    assert set(g.ids) == set(ids)

"""A graph turned round, and one with every edge in both directions."""

from __future__ import annotations

import gc
import sys
import threading
import weakref

import numpy as np
import pytest

import arcflux as af


def graph():
    return af.Graph.from_edges([7, 7, 9, 5, 5], [9, 5, 7, 5, 9], columns={"weight": [1, 2, 3, 4, 5]})


def listed(g):
    return sorted(zip(*(side.tolist() for side in g.edge_list()[:2]), g.edge_list()[2]["weight"].tolist(), strict=True))


def test_reverse_turns_every_edge_and_copies_nothing():
    g = graph()
    r = g.reverse()
    assert listed(r) == sorted((b, a, w) for a, b, w in listed(g))
    assert np.shares_memory(r.out.neighbours, g.into.neighbours)
    assert np.shares_memory(r.into.neighbours, g.out.neighbours)
    assert np.shares_memory(r.in_columns["weight"], g.columns["weight"])
    assert g.reverse() is r
    assert r.reverse() is g
    assert r.in_degrees.tolist() == g.out_degrees.tolist()


def test_a_view_does_not_keep_its_graph_alive_and_stands_alone():
    g = graph()
    r, there, expected = g.reverse(), weakref.ref(g), listed(g)
    del g
    gc.collect()
    assert there() is None
    assert listed(r.reverse()) == expected
    assert r.reverse().reverse() is r


def test_both_ways_has_each_edge_twice_and_a_loop_once():
    g = graph()
    b = g.both_ways()
    assert not b.directed
    assert b.edges == g.edges
    assert b.arcs == 2 * g.arcs - 1
    assert listed(b) == sorted((min(a, c), max(a, c), w) for a, c, w in listed(g))
    assert g.both_ways() is b


def test_an_undirected_graph_is_its_own_views():
    g = af.load("cycle:4")
    assert g.reverse() is g
    assert g.both_ways() is g


@pytest.mark.parametrize("view", ["reverse", "both_ways"])
def test_threads_that_ask_at_once_get_the_same_view(view):
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(20):
            g, meeting, found = graph(), threading.Barrier(4), []

            def ask(g=g, meeting=meeting, found=found):
                meeting.wait()
                found.append(getattr(g, view)())

            threads = [threading.Thread(target=ask) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert len(found) == 4
            assert len(set(map(id, found))) == 1
    finally:
        sys.setswitchinterval(before)

"""INS, ONS, UDS and the lists of senders and receivers, against sets made by walking over all arcs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from part_graphs import graphs, patient
from part_oracles import ends_of, needs_of

import arcflux as af
from arcflux.errors import UsageError
from arcflux.partition import PARTITIONERS
from arcflux.partition.halo import Halo, by_node, ins, ons, uds


def check(parts, nodes, ends):
    halo, needs = Halo(parts, nodes, ends=ends), needs_of(parts, nodes, ends)
    number = parts.graph.out.neighbours.dtype
    for j in range(halo.count):
        assert halo.uds(j).tolist() == sorted(needs[j])
    for r in range(parts.k):
        owned = set(parts.owned(r).tolist())
        sent = halo.sends(r)
        assert [vertices.tolist() for vertices in sent] == [sorted(needs[j] & owned) for j in range(halo.count)]
        assert all(vertices.dtype == number for vertices in sent)
        assert not len(sent[nodes[r]])
        received = halo.receives(r)
        assert list(received) == [s for s in range(parts.k) if nodes[s] != nodes[r]]
        for s, vertices in received.items():
            assert vertices.tolist() == halo.sends(s)[nodes[r]].tolist()
            assert vertices.dtype == number
            assert nodes[halo.receiver(s, nodes[r])] == nodes[r]


@pytest.mark.parametrize("how", PARTITIONERS)
@settings(patient)
@given(st.data())
def test_lists_of_every_grouping(how, data):
    parts = af.partition(data.draw(graphs()), data.draw(st.integers(1, 6)), how)
    parts = data.draw(st.sampled_from([parts, parts.at_targets(), parts.at_sources()]))
    grouping = st.lists(st.integers(0, 3), min_size=parts.k, max_size=parts.k)
    nodes = data.draw(grouping.map(lambda given: np.unique(given, return_inverse=True)[1].tolist()))
    check(parts, nodes, data.draw(st.sampled_from(["sources", "targets", "both"])))


@pytest.mark.parametrize("how", PARTITIONERS)
@settings(patient)
@given(graph=graphs(), k=st.integers(1, 6))
def test_ins_and_ons_are_the_ends_of_the_arcs(how, graph, k):
    parts = af.partition(graph, k, how)
    for placed in (parts, parts.at_sources()):
        sources, targets = ends_of(placed)
        for i in range(k):
            assert ins(placed, i).tolist() == sorted(sources[i])
            assert ons(placed, i).tolist() == sorted(targets[i])
            assert set(placed.part(i).into.neighbours.tolist()) >= sources[i]


@pytest.mark.parametrize("how", PARTITIONERS)
@pytest.mark.parametrize("ranks_per_node", [1, 2, 5])
def test_a_larger_graph(how, ranks_per_node):
    parts = af.partition("kron:8", 7, how)
    nodes = by_node(7, ranks_per_node).tolist()
    check(parts, nodes, "sources")
    check(parts, nodes, "both")
    for node, vertices in enumerate(uds(parts, nodes)):
        assert vertices.tolist() == sorted(needs_of(parts, nodes, "sources")[node])


def test_more_nodes_than_bits_in_a_word():
    parts = af.partition("kron:8", 150, "random")
    check(parts, list(range(150)), "sources")
    check(parts, by_node(150, 2).tolist(), "sources")


def test_more_vertices_than_a_chunk_of_masks():
    graph = af.load("kron:14")
    for how in ("ranges", "random"):
        parts = af.partition(graph, 2, how)
        halo, source = Halo(parts), np.repeat(np.arange(graph.vertices), graph.out_degrees.astype(np.int64))
        crossing = parts.owner[source] != parts.owner[graph.out.neighbours]
        for r in range(2):
            expected = np.unique(source[crossing & (parts.owner[source] == r)])
            assert np.array_equal(halo.sends(r)[1 - r], expected)
            assert np.array_equal(halo.receives(1 - r)[r], expected)


def test_a_vertex_without_in_arcs_is_not_news_to_its_own_node():
    graph = af.Graph.from_edges([0, 2], [1, 3], vertices=4)
    parts = af.partition(graph, 2)
    assert parts.bounds.tolist() == [0, 2, 4]
    assert [u.tolist() for u in uds(parts)] == [[], []]


@pytest.mark.parametrize("nodes", [[0], [0, -1], [0.0, 1.0], [[0, 1]]])
def test_bad_nodes_are_told(nodes):
    with pytest.raises(UsageError, match="nodes is"):
        Halo(af.partition("path:4", 2), nodes)


@pytest.mark.parametrize("node", [2, -1, "x"])
def test_a_node_that_there_is_not(node):
    with pytest.raises(UsageError, match="node"):
        Halo(af.partition("path:8", 4), [0, 0, 1, 1]).uds(node)


def test_bad_ends_are_told():
    with pytest.raises(UsageError, match="ends is 'middle'"):
        Halo(af.partition("path:4", 2), ends="middle")

"""What parts say about themselves, against plain counting."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from part_graphs import graphs, patient
from part_oracles import arcs_of, ends_of, place

import arcflux as af
from arcflux.partition import PARTITIONERS


def check(parts):
    graph, k, found = parts.graph, parts.k, parts.statistics
    owner, where = parts.owner.tolist(), place(parts)
    arcs = [(u, v) for u, v, _ in arcs_of(graph)]
    counts = [sum(where(u, v) == i for u, v in arcs) for i in range(k)]
    owned = [{v for v in range(graph.vertices) if owner[v] == i} for i in range(k)]
    sources, targets = ends_of(parts)
    assert found.arcs == counts
    assert found.vertices == list(map(len, owned))
    assert found.edge_imbalance == pytest.approx(max(counts) * k / len(arcs) if arcs else 1.0)
    assert found.vertex_imbalance == pytest.approx(max(map(len, owned)) * k / graph.vertices)
    assert found.cut == sum(owner[u] != owner[v] for u, v in arcs)
    assert found.cut_share == pytest.approx(found.cut / max(1, len(arcs)))
    assert found.ins == list(map(len, sources))
    assert found.ons == list(map(len, targets))
    assert found.uds == [len(sources[i] - owned[i]) for i in range(k)]
    held = sum(len(sources[i] | targets[i] | owned[i]) for i in range(k))
    assert found.replication == pytest.approx(k if parts.duplicated else held / graph.vertices)
    assert json.loads(json.dumps(found.to_dict()))["cut"] == found.cut


@pytest.mark.parametrize("how", PARTITIONERS)
@settings(patient)
@given(graph=graphs(), k=st.integers(1, 7))
def test_of_every_partitioner(how, graph, k):
    parts = af.partition(graph, k, how)
    check(parts)
    check(parts.at_sources())


def test_of_more_parts_than_bits_in_a_word():
    check(af.partition("kron:7", 130, "random"))
    check(af.partition("kron:7", 64, "degree"))


def test_a_small_cut_is_what_mincut_is_for():
    graph = af.load("grid:32x32")
    cuts = {how: af.partition(graph, 4, how).statistics for how in ("random", "mincut")}
    assert cuts["mincut"].cut * 5 < cuts["random"].cut
    assert cuts["mincut"].edge_imbalance < 1.1

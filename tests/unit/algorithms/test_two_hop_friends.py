"""Two-hop friends against the oracle, NetworkX, and itself on other threads."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
from between_samples import Sample, patient, sample, samples
from hypothesis import given
from hypothesis import strategies as st

import arcflux as af
import oracles
from arcflux import trace
from arcflux.algorithms import two_hop_friends
from arcflux.errors import IdError, SpaceError, UsageError


@patient
@given(samples(most=16), st.sampled_from([1, 2, 3]), st.data())
def test_the_oracle(s: Sample, threads: int, data: Any) -> None:
    chosen = data.draw(st.none() | st.lists(st.sampled_from(s.ids)))
    result = two_hop_friends(s.graph, chosen, threads=threads)
    for v, name in enumerate(s.ids):
        right = oracles.two_hop(s.n, s.arcs, v)
        if chosen is None or name in chosen:
            assert result.friends(name).tolist() == [s.ids[w] for w in right]
            assert result["count"][v] == len(right)
        else:
            assert result["count"][v] == -1
    counted = two_hop_friends(s.graph, chosen, threads=threads, lists=False)
    assert np.array_equal(counted["count"], result["count"])


@pytest.mark.parametrize("spec", ["kron:9", "rmat:9,ef=2", "grid:90x90", "star:900", "complete:70", "urand:9,ef=1"])
def test_networkx_on_any_number_of_threads(spec: str) -> None:
    graph = af.load(spec)
    other = graph.to_networkx()
    some = range(0, graph.vertices, max(1, graph.vertices // 100))
    right = {
        v: sorted(w for w, d in nx.single_source_shortest_path_length(other, v, 2).items() if d == 2) for v in some
    }
    one, two, three = (two_hop_friends(graph, threads=threads) for threads in (1, 2, 3))
    assert {v: one.friends(v).tolist() for v in some} == right
    for other_threads in (two, three):
        for mine, theirs in zip(one.lists(), other_threads.lists(), strict=True):
            assert np.array_equal(mine, theirs)


def test_lists_in_ids() -> None:
    s = sample(5, [(0, 1), (1, 2), (1, 3), (3, 4), (2, 2)], directed=True, kind="text")
    chosen, offsets, friends = two_hop_friends(s.graph, ["v01", "v00", "v01", "v04"]).lists()
    assert chosen.tolist() == ["v00", "v01", "v04"]
    assert offsets.tolist() == [0, 2, 3, 3]
    assert friends.tolist() == ["v02", "v03", "v04"]


def test_a_fraction_of_the_vertices() -> None:
    graph = af.load("kron:8")
    result = two_hop_friends(graph, fraction=0.1, seed=3)
    assert len(result.chosen) == 26
    assert np.count_nonzero(result["count"] >= 0) == 26
    assert np.array_equal(two_hop_friends(graph, fraction=0.1, seed=3).chosen, result.chosen)
    assert not np.array_equal(two_hop_friends(graph, fraction=0.1, seed=4).chosen, result.chosen)
    whole = two_hop_friends(graph)
    for name in result.lists()[0].tolist():
        assert np.array_equal(result.friends(name), whole.friends(name))
    assert len(two_hop_friends(graph, fraction=0).chosen) == 0
    assert len(two_hop_friends(graph, fraction=1).chosen) == 256


def test_empty_graphs_and_no_vertices() -> None:
    assert two_hop_friends(sample(0, []).graph).lists()[2].tolist() == []
    assert two_hop_friends(sample(1, [(0, 0)]).graph)["count"].tolist() == [0]
    none = two_hop_friends(af.load("path:3"), [])
    assert none["count"].tolist() == [-1, -1, -1]
    assert [part.tolist() for part in none.lists()] == [[], [0], []]


def test_lists_that_do_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = af.load("star:1000")
    monkeypatch.setattr("arcflux.spmd.space.available", lambda: 999 * 998 * 4 - 1)
    with pytest.raises(SpaceError, match=r"997,002 friends; keeping them needs 3,988,008 bytes of memory \(3\.8 MiB"):
        two_hop_friends(graph)
    assert two_hop_friends(graph, lists=False)["count"].sum() == 999 * 998
    monkeypatch.setattr("arcflux.spmd.space.available", lambda: 999 * 998 * 4)
    assert len(two_hop_friends(graph).lists()[2]) == 999 * 998


def test_what_is_refused() -> None:
    graph = af.load("path:4")
    with pytest.raises(IdError, match="9"):
        two_hop_friends(graph, [9])
    with pytest.raises(UsageError, match="vertices is 0"):
        two_hop_friends(graph, 0)
    with pytest.raises(UsageError, match="both"):
        two_hop_friends(graph, [0], fraction=0.5)
    for wrong in (-0.1, 1.1, float("nan"), "half"):
        with pytest.raises(UsageError, match="fraction"):
            two_hop_friends(graph, fraction=wrong)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="not selected"):
        two_hop_friends(graph, [1]).friends(0)
    with pytest.raises(UsageError, match="counted"):
        two_hop_friends(graph, lists=False).friends(0)
    with pytest.raises(UsageError, match="threads"):
        two_hop_friends(graph, threads=0)


def test_progress_is_told() -> None:
    heard: list[Any] = []
    with trace.listen(heard.append):
        two_hop_friends(af.load("path:4"))
    names = {event.name: event.total for event in heard if isinstance(event, trace.Task) and event.finished}
    assert names["count two-hop friends"] == names["list two-hop friends"] == 4

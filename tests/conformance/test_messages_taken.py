"""Nodes take every message that is sent to them, and fields of edges arrive; kernels are interpreted."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from edge_programs import NAMES, check, graph_of
from program_fuzzer.interpret import interpreted

import arcflux as af
from arcflux.transports.local import LocalTransport

NODES: dict[str, dict[str, Any]] = {
    "two of one": {"parts": 2, "ranks_per_node": 1},
    "three of one": {"parts": 3, "ranks_per_node": 1},
    "two of two": {"parts": 4, "ranks_per_node": 2, "partition": "random"},
}


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> Counter[Any]:
    """By group of ranks, sender, receiver and tag: messages sent less messages taken."""
    counts: Counter[Any] = Counter()
    post, collect = LocalTransport.post, LocalTransport.collect

    def posted(self: Any, peer: int, parts: Any, tag: int = 0) -> None:
        counts[self._world, self.rank, peer, tag, "sent"] += 1  # each by one thread alone
        post(self, peer, parts, tag)

    def collected(self: Any, peer: int, tag: int = 0) -> Any:
        found = collect(self, peer, tag)
        counts[self._world, peer, self.rank, tag, "taken"] += 1
        return found

    monkeypatch.setattr(LocalTransport, "post", posted)
    monkeypatch.setattr(LocalTransport, "collect", collected)
    return counts


def assert_all_taken(counts: Counter[Any]) -> None:
    sent, taken = ({key[:-1]: n for key, n in counts.items() if key[-1] == end} for end in ("sent", "taken"))
    assert sent
    assert sent == taken


@pytest.mark.parametrize("nodes", NODES)
@pytest.mark.parametrize("name", NAMES)
def test_fields_of_edges_cross_nodes(name: str, nodes: str, left: Counter[Any]) -> None:
    with interpreted():
        check(name, graph_of(name, directed=True), **NODES[nodes])
    assert_all_taken(left)


@pytest.mark.filterwarnings("ignore:.*before it converged")
@pytest.mark.parametrize("nodes", NODES)
@pytest.mark.parametrize("exchange", ["readers", "owners", "allreduce", "mixed"])
def test_every_exchange_takes_what_is_sent(exchange: str, nodes: str, left: Counter[Any]) -> None:
    graph = af.load("kron:7")  # with vertices of high degree
    for program in (af.algorithms.Components, af.algorithms.PageRank):
        with interpreted():
            found = af.run(program, graph, exchange=exchange, max_supersteps=4, **NODES[nodes])
        plain = af.run(program, graph, debug=True, max_supersteps=4)
        for field, values in plain.values.items():
            assert found[field] == pytest.approx(values, rel=1e-12)
    assert_all_taken(left)

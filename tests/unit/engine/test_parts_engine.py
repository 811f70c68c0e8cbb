"""Parts on devices that differ: the same result, memory that is too small, bounds that move, lists that are right."""

import time

import numpy as np
import programs
import pytest

import arcflux as af
from arcflux import algorithms
from arcflux.devices import CPU, Virtual
from arcflux.engine.exchange import Lists, Traffic, packed, unpacked
from arcflux.errors import SpaceError, UsageError
from arcflux.partition.halo import Halo
from arcflux.transports import run_local

GRAPH = af.load("kron:10,weights=1-9")
SOURCE = int(np.argmax(GRAPH.out_degrees))


def test_a_part_that_does_not_fit_its_device_streams_through_it() -> None:
    graph = af.load("kron:13")
    plain = algorithms.pagerank(graph, tol=1e-9)
    devices = [Virtual(memory=450_000, bandwidth=1e9), CPU(1), CPU(1)]
    small = algorithms.pagerank(graph, tol=1e-9, devices=devices, ranks_per_node=2, rebalance="off")
    np.testing.assert_allclose(small["rank"], plain["rank"], rtol=1e-9)
    arcs = af.partition(graph, 3).part(0).arcs
    most = 4 * arcs * small.supersteps
    assert 0 < devices[0].transferred <= most
    assert devices[1].transferred == 0
    assert devices[0].held == 0


def test_what_fits_nowhere_is_refused_before_it_runs() -> None:
    with pytest.raises(SpaceError, match="bytes"):
        algorithms.pagerank(GRAPH, devices=[Virtual(memory=1000), CPU(1)])


@af.program
class Middle:
    """The median of what neighbours are, of which a worker needs as much memory as the longest row has."""

    x: af.f64

    def start(v):
        v.x = 1.0 * v.number
        return True

    def around(v, edges):
        v.x = af.median((u.x for u in edges), default=0.0)

    def update(v):
        return False


def test_what_a_worker_needs_counts_once_and_not_for_every_vertex():
    star = af.Graph.from_edges(np.zeros(2000, int), np.arange(1, 2001), directed=False)
    found = af.run(Middle, star, devices=[CPU(1), Virtual(memory=1 << 19)])
    assert found["x"].tolist() == [1000.5, *[0.0] * 2000]


@pytest.mark.parametrize("per_node", [None, 1, 2])
@pytest.mark.parametrize("how", ["auto", "local"])
def test_bounds_move_while_the_result_stays(per_node: int | None, how: str) -> None:
    """One of four devices is much slower: its part has to become smaller, and nothing may get lost on the way."""
    graph = af.load("kron:13,weights=1-255")
    source = int(np.argmax(graph.out_degrees))
    devices = [Virtual(slowdown=40.0, clock=time.thread_time), *(CPU(1) for _ in range(3))]
    spread = {"devices": devices, "ranks_per_node": per_node, "rebalance": how}
    run = algorithms.pagerank(graph, tol=1e-12, max_iter=60, **spread)
    np.testing.assert_allclose(run["rank"], algorithms.pagerank(graph, tol=1e-12, max_iter=60)["rank"], rtol=1e-9)
    if how == "auto" or per_node != 1:
        assert any(step.migration > 0 for step in run.history)
    assert all(len(step.part_seconds) == 4 for step in run.history)
    for program, options in ((algorithms.SSSP, {"source": source}), (algorithms.Components, {})):
        split = af.run(program, graph, **spread, **options)
        for name, values in af.run(program, graph, **options).values.items():
            np.testing.assert_array_equal(split.values[name], values)


def test_off_moves_nothing() -> None:
    devices = [Virtual(slowdown=20.0), CPU(1)]
    run = algorithms.pagerank(GRAPH, devices=devices, rebalance="off")
    assert all(step.planning == step.migration == 0 for step in run.history)


@pytest.mark.parametrize("how", ["ranges", "random", "grid", "degree"])
@pytest.mark.parametrize("per_node", [1, 2, 3])
def test_lists_are_those_of_the_whole_graph(how: str, per_node: int) -> None:
    """Ranks find their lists from their own arcs alone; the halo knows the whole graph."""
    parts = af.partition(GRAPH, 5, how)
    halo = Halo(parts, np.arange(5) // per_node)
    whole = parts.placement == "target"

    def work(transport: object) -> Lists:
        return Lists.of(transport, parts, parts.part(transport.rank), whole, None)

    found = run_local(5, work, ranks_per_node=per_node)
    for rank, lists in enumerate(found):
        sends = halo.sends(rank)
        told = {int(peer // per_node): vertices.tolist() for peer, vertices in lists.tell.items()}
        assert told == {node: sends[node].tolist() for node in told}
        for peer, vertices in lists.tell.items():
            assert found[peer].hear[rank].tolist() == vertices.tolist()
        for peer, vertices in lists.give.items():
            assert found[peer].take[rank].tolist() == vertices.tolist()
            assert (parts.owner[vertices] == peer).all()


@pytest.mark.parametrize("share", [0.0, 0.001, 0.03, 0.5, 1.0])
def test_messages_say_what_was_meant_in_as_few_bytes(share: float) -> None:
    random = np.random.default_rng(1)
    vertices = np.sort(random.choice(100_000, 5000, replace=False)).astype(np.uint32)
    chosen = np.arange(5000) < share * 5000
    random.shuffle(chosen)
    values, vectors = random.random(100_000), random.random((100_000, 3)).astype(np.float32)
    traffic = Traffic()
    message, _ = packed(vertices, chosen, lambda some: [values[some], vectors[some]], traffic)
    raw = np.concatenate([array.reshape(-1).view(np.uint8) for array in message])
    some, (numbers, rows) = unpacked(raw, vertices, [values, vectors])
    assert some.tolist() == vertices[chosen].tolist()
    assert numbers.tolist() == values[some].tolist()
    assert rows.tolist() == vectors[some].tolist()
    count = int(chosen.sum())
    places = 0 if count in (0, 5000) else min(4 * count, 625)
    assert (traffic.values, traffic.places, traffic.headers) == (20 * count, places, 8)
    assert len(raw) == traffic.total


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"parts": 2, "exchange": "telepathy"}, "exchange"),
        ({"parts": 2, "transport": "pigeon"}, "transport"),
        ({"parts": 2, "rebalance": "maybe"}, "rebalance"),
        ({"parts": 0}, "k is 0"),
        ({"parts": 2, "devices": [CPU(1)]}, "1 devices"),
        ({"devices": [Virtual(memory=1 << 20)] * 2}, "virtual has a memory of its own and is given twice"),
        ({"parts": 4, "ranks_per_node": [2, 2]}, "ranks_per_node is"),
        ({"transport": "mpi"}, "mpiexec"),
        ({"parts": af.partition("path:4", 2)}, "another graph"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        af.run(algorithms.BFS, GRAPH, source=SOURCE, **options)


def test_a_part_stops_at_the_limit_and_keeps_the_work() -> None:
    with pytest.warns(UserWarning, match="before it converged"):
        stopped = af.run(algorithms.BFS, GRAPH, source=SOURCE, parts=3, ranks_per_node=1, max_supersteps=1)
    assert not stopped.converged
    assert set(stopped["level"].tolist()) == {-1, 0, 1}
    with pytest.warns(UserWarning, match="before it converged"):
        timed = af.run(programs.Counts, GRAPH, rounds=1 << 40, parts=2, ranks_per_node=1, timeout=0.3)
    assert timed.supersteps > 0

"""What a run says of itself is what it did: the exchange, its bytes, where it ran, what it did not do."""

from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest

import arcflux as af
from arcflux import algorithms, trace
from arcflux.devices import CPU, Demand, Virtual
from arcflux.engine import part_worker
from arcflux.engine.balance import migrate
from arcflux.engine.exchange.model import Model
from arcflux.engine.own_part import OwnPart
from arcflux.engine.placing import place_part
from arcflux.errors import SpaceError
from arcflux.partition.parts import Parts
from arcflux.spmd.memory import leave_pages, mapped_file
from arcflux.transports import run_local

GRAPH = af.load("kron:11")
LARGE = af.load("kron:13")  # 64 KiB of ranks on each node: more than what transports gather whole
HIGH = 16  # times the mean in-degree


def crossed(result: af.Result) -> set[tuple[int, int]]:
    return {(step.bytes, step.more_bytes) for step in result.history}


# --- the exchange that is reported is the one that was run


@pytest.mark.parametrize("exchange", ["readers", "owners", "allreduce", "mixed"])
def test_results_name_the_exchange(exchange: str) -> None:
    result = af.run(algorithms.PageRank, GRAPH, parts=3, ranks_per_node=1, exchange=exchange, rebalance="off")
    assert (result.exchange, result.where, result.notes) == (exchange, "3 parts on 3 nodes", ())
    assert "3 parts on 3 nodes" in str(result)


@pytest.mark.parametrize("exchange", ["owners", "allreduce", "mixed"])
def test_an_exchange_that_the_program_does_not_allow_is_said_to_be_another(exchange: str) -> None:
    spread = {"parts": 3, "ranks_per_node": 1, "rebalance": "off", "deterministic": True}
    said: list[str] = []
    with trace.listen(lambda event: said.append(getattr(event, "text", ""))):
        result = af.run(algorithms.PageRank, GRAPH, exchange=exchange, **spread)
    assert not any("exchange is" in line for line in said)  # once is enough: in the notes, which summaries print
    plain = af.run(algorithms.PageRank, GRAPH, exchange="readers", **spread)
    assert result.exchange == "readers"
    assert [f"exchange is readers, not {exchange}" in said for said in result.notes] == [True]
    assert "deterministic" in result.notes[0]
    assert plain.notes == ()
    assert crossed(result) == crossed(plain)


def test_mixed_without_a_vertex_of_high_degree_is_owners_and_says_so() -> None:
    result = af.run(algorithms.PageRank, "grid:20x20", parts=2, ranks_per_node=1, exchange="mixed", rebalance="off")
    assert result.exchange == "owners"
    assert "not mixed: no vertex has more than 16 times the mean in-degree" in result.notes[0]


def test_compute_that_reads_old_state_and_any_that_may_be_nothing() -> None:
    @af.program
    class Nearer:
        near: af.i64

        def start(v):
            v.near = v.number
            return True

        def compute(v, u, old):
            if u.near < old.near:
                v.near = af.any(u.near)

        def update(v, old):
            return v.near != old.near

    result = af.run(Nearer, "path:6", parts=2, ranks_per_node=1, exchange="owners", rebalance="off")
    assert result.exchange == "readers"
    assert "compute reads the old state of v" in result.notes[0]


# --- bytes are those that the transport sent


@pytest.mark.parametrize(("graph", "nodes"), [(GRAPH, 2), (GRAPH, 4), (GRAPH, 5), (LARGE, 2), (LARGE, 3), (LARGE, 4)])
def test_allreduce_sends_what_the_transport_sends(graph: af.Graph, nodes: int) -> None:
    """Small arrays go from every node to every other; of large ones each node reduces a slice, and gives it to all."""
    result = af.run(algorithms.PageRank, graph, parts=nodes, ranks_per_node=1, exchange="allreduce")
    times = nodes * (nodes - 1) if nodes * 8 * graph.vertices <= 64 << 10 else 2 * (nodes - 1)
    assert crossed(result) == {(times * 8 * graph.vertices, 0)}


def test_one_rank_of_a_node_reduces_for_all_of_them() -> None:
    result = af.run(algorithms.PageRank, GRAPH, parts=4, ranks_per_node=2, exchange="allreduce")
    assert crossed(result) == {(2 * 8 * GRAPH.vertices, 0)}


def test_allreduce_of_a_frontier_sends_flags_besides() -> None:
    source = int(np.argmax(LARGE.out_degrees))
    options = {"parts": 3, "ranks_per_node": 1, "exchange": "allreduce"}
    result = af.run(algorithms.SSSP, af.load("kron:13,weights=1-9"), source=source, direction="pull", **options)
    assert crossed(result) == {(4 * 8 * LARGE.vertices, 3 * 2 * LARGE.vertices)}  # a byte for each is a small array


def contributions(graph: af.Graph, nodes: int, left_out: np.ndarray) -> int:
    """For every node, targets of its arcs that another one owns, when arcs are where they start."""
    owner = af.partition(graph, nodes).owner
    source, target, _ = graph.edge_numbers()
    if not graph.directed:
        source, target = np.concatenate([source, target]), np.concatenate([target, source])
    there = owner[source].astype(np.int64) * graph.vertices + target
    reached = np.unique(there[(owner[source] != owner[target]) & ~left_out[target]])
    return len(reached)


@pytest.mark.parametrize("nodes", [2, 3, 4])
def test_owners_and_mixed_send_what_their_definitions_say(nodes: int) -> None:
    spread = {"parts": nodes, "ranks_per_node": 1, "partition": "ranges", "rebalance": "off"}
    high = LARGE.in_degrees > HIGH * LARGE.in_degrees.mean()
    none = np.zeros(LARGE.vertices, bool)
    owners = af.run(algorithms.PageRank, LARGE, exchange="owners", **spread)
    mixed = af.run(algorithms.PageRank, LARGE, exchange="mixed", **spread)
    headers = 8 * nodes * (nodes - 1)
    assert 10 < high.sum() < 1000
    # To owners from contributors, and an empty message to each reader: arcs are where they start.
    assert crossed(owners) == {(8 * contributions(LARGE, nodes, none), 2 * headers)}
    reduced = nodes * (nodes - 1) * int(high.sum())  # a small array, which every node sends to every other
    assert crossed(mixed) == {(8 * (contributions(LARGE, nodes, high) + reduced), 2 * headers)}
    assert crossed(mixed) != crossed(owners)


def test_nothing_crosses_within_a_node() -> None:
    for exchange in ("readers", "owners", "allreduce", "mixed"):
        result = af.run(algorithms.PageRank, GRAPH, parts=3, exchange=exchange, rebalance="off")
        assert crossed(result) == {(0, 0)}
        assert (result.exchange, result.where) == (exchange, "3 parts on one node")


# --- where a run ran


def test_parts_of_one_machine_are_workers_on_shared_memory() -> None:
    result = af.run(algorithms.PageRank, GRAPH, parts=3)
    assert (result.exchange, result.where, result.notes) == ("shared", "3 workers on shared memory", ())
    assert not any(step.part_seconds for step in result.history)
    other = af.run(algorithms.PageRank, GRAPH, parts=3, partition="random")
    assert "parts by random have no effect" in other.notes[0]


@pytest.mark.parametrize("asked", [{"exchange": "readers"}, {"ranks_per_node": 2}, {"devices": [CPU(1)] * 3}])
def test_parts_are_parts_when_an_exchange_nodes_or_devices_are_asked_for(asked: dict[str, object]) -> None:
    result = af.run(algorithms.PageRank, GRAPH, parts=3, **asked)
    assert result.exchange == "readers"
    assert all(len(step.part_seconds) == 3 for step in result.history)


def test_a_run_without_parts_says_nothing_of_them() -> None:
    result = af.run(algorithms.PageRank, GRAPH)
    assert (result.exchange, result.where, result.notes) == ("", "", ())


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"partition": "grid"}, ("there are no parts: no effect of partition='grid'",)),
        ({"exchange": "owners", "ranks_per_node": 2},
         ("there are no parts: no effect of exchange='owners' and ranks_per_node=2",)),
        ({"rebalance": "local"}, ("there are no parts: no effect of rebalance='local'",)),
        ({"partition": "ranges", "exchange": "auto", "rebalance": "off"}, ()),
    ],
)  # fmt: skip
def test_what_is_asked_of_parts_that_are_not_there_is_said(asked: dict[str, object], said: tuple[str, ...]) -> None:
    result = af.run(algorithms.BFS, GRAPH, source=0, **asked)
    assert result.notes == said
    assert (result["level"] == af.bfs(GRAPH, 0)["level"]).all()


# --- bounds that cannot move, and what moving them costs


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"exchange": "owners"}, "with exchange owners, in-edges of a vertex are at several parts"),
        ({"exchange": "allreduce"}, "with exchange allreduce"),
        ({"partition": "random"}, "parts by random are no ranges of vertices"),
        ({"exchange": "owners", "rebalance": "off"}, ""),
        ({}, ""),
    ],
)
def test_where_bounds_cannot_move_it_is_said(asked: dict[str, str], said: str) -> None:
    result = af.run(algorithms.PageRank, GRAPH, **{"parts": 3, "ranks_per_node": 1, "rebalance": "auto", **asked})
    assert [each.partition(": ")[2].startswith(said) for each in result.notes] == [True] * bool(said)


@pytest.mark.parametrize(("bandwidth", "expected"), [(123e6, 123e6), (None, 1e9)])
def test_moves_are_weighed_with_the_bandwidth_that_was_measured(
    bandwidth: float | None, expected: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    plain = migrate.Balance
    calibration = None if bandwidth is None else SimpleNamespace(exchange={"local": {"bandwidth": bandwidth}})
    monkeypatch.setenv("ARCFLUX_PLAN", "1")
    monkeypatch.setattr(import_module("arcflux.plan.calibration"), "load_calibration", lambda: calibration)
    monkeypatch.setattr(migrate, "Balance", lambda *given: seen.append(given[3]) or plain(*given))
    devices = [CPU(1), CPU(1)]
    af.run(algorithms.PageRank, GRAPH, devices=devices, ranks_per_node=1)
    assert [prices.network for prices in seen] == [expected]


# --- a push pays for what it moves


@pytest.mark.parametrize("direction", ["push", "pull"])
def test_a_device_without_room_takes_the_edges_that_a_direction_reads(direction: str) -> None:
    """A search pushes every edge of what it reaches once; a pull reads all rows that do not fit in every superstep."""
    source = int(np.argmax(LARGE.out_degrees))
    device = Virtual(memory=600_000, bandwidth=1e12)
    result = af.run(algorithms.BFS, LARGE, source=source, devices=[device], direction=direction)
    reached = result["level"] >= 0
    if direction == "push":
        assert device.transferred == 4 * int(LARGE.out_degrees[reached].sum())
    else:
        assert device.transferred % result.supersteps == 0
        assert 0 < device.transferred // result.supersteps < 4 * LARGE.arcs


# --- what start returns


def test_start_that_has_no_effect_is_warned_of() -> None:
    @af.program
    class Spilled:
        level: af.f64
        sparse = False

        def start(v):
            v.level = 1.0
            return v.number == 0

        def init(v):
            v.level = 0.0

        def compute(v, u):
            v.level += u.level

        def update(v, old, step):
            v.level = 0.5 * v.level
            return step < 2

    with pytest.warns(UserWarning, match=r"what start returns has no effect: update writes v\.level.*`sparse = True`"):
        af.run(Spilled, "path:4")


def test_start_that_counts_or_says_true_is_not_warned_of() -> None:
    af.run(algorithms.BFS, "path:4", source=0)
    af.run(algorithms.PageRank, "path:4")


def test_a_model_is_chosen_once_for_all_ranks() -> None:
    from arcflux.compile.lower import lower

    parts = af.partition(GRAPH, 2)
    plain = lower(algorithms.PageRank, {})
    found = {asked: Model.choose(asked, plain, parts) for asked in ("auto", "readers", "owners", "allreduce", "mixed")}
    assert [model.name for model in found.values()] == ["readers", "readers", "owners", "allreduce", "mixed"]
    assert [model.parts.placement for model in found.values()] == ["target", "target", "source", "target", "source"]
    assert all(not model.note for model in found.values())


# --- where edges lie


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> af.Graph:
    path = tmp_path_factory.mktemp("placed") / "large.arcflux"
    LARGE.save(path)
    return af.load(path)


SPREAD = {"parts": 4, "ranks_per_node": 2, "exchange": "readers", "rebalance": "off"}
STATE = 1 << 19  # more than what a node has once of PageRank on these vertices


def test_a_node_without_room_refuses_edges_that_are_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARCFLUX_NODE_MEMORY", str(STATE + LARGE.arcs))  # of 4 bytes each, a node has half
    with pytest.raises(SpaceError, match="does not fit into the memory of its 4 devices and nodes"):
        af.run(algorithms.PageRank, LARGE, **SPREAD)
    monkeypatch.setenv("ARCFLUX_NODE_MEMORY", str(STATE + 3 * LARGE.arcs))
    assert af.run(algorithms.PageRank, LARGE, **SPREAD).notes == ()


def test_one_node_without_room_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Node 0 has most of the edges; together there would be room."""
    monkeypatch.setenv("ARCFLUX_NODE_MEMORY", str(STATE + 2 * LARGE.arcs))
    bounds = np.array([0, 7900, 8000, 8100, LARGE.vertices])
    parts = Parts(LARGE, 4, "ranges", bounds=bounds)
    with pytest.raises(SpaceError, match="node 0 has no room for what its devices do not hold"):
        af.run(algorithms.PageRank, LARGE, **{**SPREAD, "parts": parts})


def test_what_a_node_has_no_room_for_stays_in_the_file(stored: af.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = af.run(algorithms.PageRank, LARGE)
    assert af.run(algorithms.PageRank, stored, **SPREAD).notes == ()
    left = []
    monkeypatch.setattr(part_worker, "leave_pages", lambda array, *rows: left.append((len(array), *rows)))
    monkeypatch.setenv("ARCFLUX_NODE_MEMORY", str(STATE))
    found = af.run(algorithms.PageRank, stored, **SPREAD)
    np.testing.assert_allclose(found["rank"], plain["rank"], rtol=1e-9)
    assert [said.partition(",")[0] for said in found.notes] == ["in-edges that stay in the mapped file"]
    assert all(f"part {part} " in found.notes[0] for part in range(4))
    assert len(left) == 4 * found.supersteps
    assert all(0 < begin < end <= size for size, begin, end in left)


def test_parts_of_a_node_have_even_shares_and_devices_come_first(stored: af.Graph) -> None:
    """Two parts of a node: a device with room for everything asks nothing of it, and the other gets all there is."""

    def work(transport: object, limit: str) -> tuple[int, int]:
        parts = af.partition(stored, 2)
        own = OwnPart.take(parts, None, transport, [])
        offsets = own.part.into.offsets
        device = Virtual(memory=1 << 22) if transport.rank and limit == "device" else CPU(1)
        placed, _ = place_part(own, Demand(offsets, 4, 0), device, transport, shared=1000)
        return placed.host_bytes, 4 * int(offsets[-1] - offsets[0])

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARCFLUX_NODE_MEMORY", "201000")
        (first, _), (second, _) = run_local(2, lambda transport: work(transport, "none"))
        assert 190_000 < first + second <= 200_000
        assert abs(first - second) < 10_000
        (first, _), (second, whole) = run_local(2, lambda transport: work(transport, "device"))
        assert 190_000 < first <= 200_000
        assert second == 0 < whole


def test_pages_of_a_file_are_left_and_come_back(stored: af.Graph) -> None:
    neighbours = stored.out.neighbours
    assert mapped_file(neighbours) is not None
    assert mapped_file(LARGE.out.neighbours) is None
    before = neighbours.copy()
    leave_pages(neighbours, 100, len(neighbours) - 100)
    np.testing.assert_array_equal(neighbours, before)
    leave_pages(before, 0, len(before))  # not of a file: nothing happens
    np.testing.assert_array_equal(neighbours, before)

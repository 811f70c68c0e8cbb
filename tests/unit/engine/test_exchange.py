"""Messages between nodes, and the lists of who tells whom, held against their definitions on small graphs."""

import threading
from functools import cache
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from program_fuzzer.interpret import interpreted

import arcflux as af
from arcflux import trace
from arcflux.engine.exchange import Lists, Traffic, packed, unpacked
from arcflux.engine.exchange.base import Meter
from arcflux.engine.exchange.cut_edges import CutEdges
from arcflux.engine.exchange.lists import known_lists, serves
from arcflux.engine.exchange.messages import HEADER
from arcflux.engine.exchange.own_nodes import with_own_nodes
from arcflux.transports import run_local
from arcflux.transports.base import Counts, Transport


@pytest.mark.parametrize("size", [0, 1, 2, 3, 7, 8, 9])
def test_every_choice_of_a_few_vertices_arrives(size: int) -> None:
    vertices = np.arange(size, dtype=np.uint32) * 3 + 5
    values = np.arange(100) * 10
    for bits in product([False, True], repeat=size):
        chosen, traffic = np.array(bits, bool), Traffic()
        message, told = packed(vertices, chosen, lambda some: [values[some]], traffic)
        raw = np.concatenate([array.reshape(-1).view(np.uint8) for array in message])
        some, (found,) = unpacked(raw, vertices, [values])
        assert some.tolist() == vertices[chosen].tolist()
        assert found.tolist() == values[vertices[chosen]].tolist()
        if any(bits):
            assert told.tolist() == some.tolist()
        count = sum(bits)
        places = 0 if count in (0, size) else min(4 * count, -(-size // 8))
        assert (traffic.headers, traffic.places, traffic.values) == (HEADER, places, 8 * count)
        assert traffic.total == len(raw) == HEADER + places + 8 * count


@pytest.mark.parametrize("size", [96, 100, 112, 200])
def test_places_take_as_few_bytes_as_they_can(size: int) -> None:
    vertices = np.arange(size, dtype=np.uint32)
    for count in range(1, size):
        traffic = Traffic()
        packed(vertices, np.arange(size) < count, lambda some: [], traffic)
        assert traffic.places == min(4 * count, -(-size // 8))


def test_a_message_about_nobody_has_no_values_of_any_kind() -> None:
    vertices = np.arange(4, dtype=np.uint32)
    message, _ = packed(vertices, np.zeros(4, bool), lambda some: [np.ones(3)], Traffic())
    raw = np.concatenate([array.reshape(-1).view(np.uint8) for array in message])
    some, (numbers, rows) = unpacked(raw, vertices, [np.ones(9), np.ones((9, 2))])
    assert (len(raw), len(some), numbers.shape, rows.shape) == (HEADER, 0, (0,), (0, 2))


@pytest.mark.parametrize("nodes", [[0, 0, 1, 1, 1], [0, 1, 2, 0, 1], [0, 1, 1, 2, 2]])
def test_one_rank_of_each_node_hears_an_owner(nodes: list[int]) -> None:
    for owner in range(5):
        for node in set(nodes):
            hearing = [rank for rank in range(5) if nodes[rank] == node and serves(np.array(nodes), rank, owner)]
            assert len(hearing) == 1
    heard = [[owner for owner in range(5) if serves(np.array(nodes), rank, owner)] for rank in range(5)]
    assert all(heard)  # the mates of a node share the work


GRAPH = af.load("kron:6,ef=6")


@pytest.mark.parametrize("how", ["ranges", "random", "grid", "degree"])
@pytest.mark.parametrize("per_node", [1, 2, 4])
@pytest.mark.parametrize("some_high", [False, True])
def test_everybody_is_told_what_the_node_reads_and_once(how: str, per_node: int, some_high: bool) -> None:
    """Of a vertex that is not everywhere: each node that has it as a source hears of it, from its owner alone."""
    parts = af.partition(GRAPH, 4, how)
    whole = parts.placement == "target" and not some_high
    high = (np.arange(GRAPH.vertices) % 5 == 0) if some_high else None
    everywhere = set(np.flatnonzero(high).tolist()) if some_high else set()

    def work(transport: object) -> Lists:
        return Lists.of(transport, parts, parts.part(transport.rank), whole, high)

    found = run_local(4, work, ranks_per_node=per_node)
    node = [rank // per_node for rank in range(4)]
    if per_node == 4:
        assert all(not (lists.tell or lists.hear or lists.give or lists.take or lists.read) for lists in found)
        return
    held = [[parts.part(rank) for rank in range(4) if node[rank] == n] for n in sorted(set(node))]
    read = [set().union(*(set(_sources(part)) for part in there)) for there in held]
    reached = [set().union(*(set(part.targets.tolist()) for part in there)) for there in held]
    for rank, lists in enumerate(found):
        own = set(parts.owned(rank).tolist()) - everywhere
        for n in set(node) - {node[rank]}:
            peers = [peer for peer in lists.tell if node[peer] == n]
            assert len(peers) == 1
            assert lists.tell[peers[0]].tolist() == sorted(own & read[n])
            assert found[peers[0]].hear[rank].tolist() == sorted(own & read[n])
            taken = [v for peer in lists.take if node[peer] == n for v in lists.take[peer].tolist()]
            assert sorted(taken) == ([] if whole else sorted(own & reached[n]))
        assert all(node[peer] != node[rank] for peer in [*lists.tell, *lists.hear, *lists.give, *lists.take])
        assert [set(np.flatnonzero(flags).tolist()) for flags in lists.read] == read
        for peer, vertices in lists.give.items():
            assert found[peer].take[rank].tolist() == vertices.tolist()


def _sources(part: object) -> list[int]:
    offsets, neighbours = part.into
    return neighbours[int(offsets[0]) : int(offsets[-1])].tolist()


# --- whole runs, interpreted


@af.program
class Everything:
    """Every reduction at once but any, with which messages have to come together at their target."""

    sum: af.i64
    product: af.i64
    least: af.i64
    most: af.f64
    either: af.u8
    both: af.u8
    row: af.i64[2]

    def start(v):
        v.sum = v.number
        v.most = 0.5 * v.number
        v.either = 1
        v.both = 7
        v.least = v.number + 3
        v.row[0] = v.number
        return True

    def init(v):
        v.sum = 0
        v.product = 1
        v.either = 0
        v.both = 255
        v.row[0] = 0
        v.row[1] = 1

    def compute(v, u, edge):
        v.sum += u.sum + edge.weight
        v.product *= 1 + u.least % 2
        v.least = min(v.least, u.least - 1)
        v.most = max(v.most, u.most + edge.weight)
        v.either |= (u.either << (u.number % 3)) & 255
        v.both &= u.both | 1
        v.row += u.row

    def update(v, step):
        v.sum = v.sum % 100
        v.row[0] = v.row[0] % 50
        v.row[1] = v.row[1] % 7
        return step < 3


@af.program
class Ripples:
    """Who was reached in the superstep before tells all neighbours how often; the counts differ with every copy."""

    sparse = True
    count: af.i64
    seen: af.i64
    least: af.i64

    def start(v):
        v.least = v.number
        v.seen = 1
        return v.number % 11 == 3

    def init(v):
        v.count = 0

    def compute(v, u):
        v.count += u.seen
        v.least = min(v.least, u.least)

    def update(v, old, step):
        if v.count == 0:
            return False
        v.seen = (v.seen + v.count) % 97
        return v.least < old.least or (v.number + step) % 3 == 0


@af.program
class Single:
    """One message, and one reduction."""

    x: af.i64

    def start(v):
        v.x = v.number
        return True

    def init(v):
        v.x = 1

    def compute(v, u):
        v.x += u.x

    def update(v, step):
        v.x = v.x % 1000
        return step < 3


@af.program
class Chosen:
    """Any message will do; all of a superstep say the same."""

    sparse = True
    at: af.i64

    def start(v):
        v.at = 0 if v.number == 1 else -1
        return v.number == 1

    def wants(v):
        return v.at < 0

    def compute(v, step):
        v.at = af.any(step + 1)

    def update(v, old):
        return v.at != old.at


GRAPHS = {
    "small": af.load("kron:4,ef=4,weights=1-9"),
    # Who has sent receives nothing more, and must not send again.
    "one way": af.Graph.from_edges(np.arange(19), np.arange(1, 20), columns={"weight": np.ones(19)}),
}


@cache
def plainly(program: str, graph: str) -> af.Result:
    return af.run(globals()[program], GRAPHS[graph], debug=True, max_supersteps=4)


@pytest.mark.filterwarnings("ignore:.*before it converged")
@pytest.mark.parametrize("direction", ["pull", "push"])
@pytest.mark.parametrize("exchange", ["readers", "owners", "allreduce", "mixed"])
@pytest.mark.parametrize("how", ["ranges", "random", "grid", "duplicate"])
def test_nodes_reduce_together_what_one_would(how: str, exchange: str, direction: str) -> None:
    spread = {"parts": 4, "partition": how, "exchange": exchange, "direction": direction}
    runs = [(Everything, "small", 1), (Ripples, "one way", 1), (Single, "small", 1), (Chosen, "small", 1)]
    for program, graph, per_node in [*runs, (Ripples, "small", 2)][: 5 if exchange == "mixed" else 4]:
        plain = plainly(program.name, graph)
        with interpreted():
            run = af.run(program, GRAPHS[graph], **spread, ranks_per_node=per_node, max_supersteps=4)
        for name, values in plain.values.items():
            assert run.values[name].tolist() == values.tolist(), (program.name, name)
        assert [step.frontier for step in run.history] == [step.frontier for step in plain.history]


@af.program
class Couples:
    """The least and the most of pairs, many of whose first elements are equal, and a sum behind them by name."""

    least: af.i64
    at_least: af.i64
    most: af.i64
    at_most: af.i64
    total: af.i64

    def start(v):
        v.least = v.number % 3
        v.at_least = v.number * 5 % 7
        v.most = v.number % 2
        v.at_most = v.number * 5 % 11
        v.total = v.number
        return True

    def init(v):
        v.least = 9
        v.at_least = 99
        v.most = -1
        v.at_most = -1
        v.total = 0

    def compute(v, u):
        v.least, v.at_least = min((v.least, v.at_least), (u.least, u.at_least))
        v.most, v.at_most = max((v.most, v.at_most), (u.most, u.at_most))
        v.total += u.total

    def update(v):
        return True


@pytest.mark.filterwarnings("ignore:.*before it converged")
@pytest.mark.parametrize("exchange", ["readers", "owners", "allreduce", "mixed"])
@pytest.mark.parametrize("how", ["ranges", "random", "duplicate"])
def test_nodes_reduce_tuples_as_one_would(how: str, exchange: str) -> None:
    for graph in ("small", "one way"):
        plain = plainly("Couples", graph)
        with interpreted():
            run = af.run(
                Couples, GRAPHS[graph], parts=3, partition=how, exchange=exchange, ranks_per_node=1, max_supersteps=4
            )
        for name, values in plain.values.items():
            assert run.values[name].tolist() == values.tolist(), (graph, name)


@af.program
class Still:
    """Dense, and of the two values that it sends the first never changes."""

    one: af.i64
    other: af.i64
    x: af.i64

    def start(v):
        v.one = 1
        v.other = v.number
        return True

    def init(v):
        v.x = 0

    def compute(v, u):
        v.x += u.one
        v.x += 3 * u.other

    def update(v):
        v.other = v.x % 101
        return True


@pytest.mark.filterwarnings("ignore:.*before it converged")
@pytest.mark.parametrize("exchange", ["readers", "owners"])
def test_a_vertex_is_told_when_any_of_its_messages_changes(exchange: str) -> None:
    with interpreted():
        run = af.run(Still, GRAPHS["small"], parts=2, exchange=exchange, ranks_per_node=1, max_supersteps=4)
    assert run["x"].tolist() == plainly("Still", "small")["x"].tolist()


@af.program
class Search:
    """Levels from a source."""

    source: af.vertex
    level: af.i64

    def start(v, p):
        v.level = 0 if v.number == p.source else 99
        return v.number == p.source

    def compute(v, u):
        v.level = min(v.level, u.level + 1)

    def update(v, old):
        return v.level < old.level


@pytest.mark.filterwarnings("ignore:.*before it converged")
@pytest.mark.parametrize("ranks_per_node", [1, 2])
def test_a_run_that_goes_on_elsewhere_has_the_frontier_of_the_nodes_before(tmp_path: Path, ranks_per_node: int) -> None:
    whole = af.run(Search, GRAPHS["one way"], debug=True, source=0)
    folder = tmp_path / "run"
    with interpreted():
        nodes = {"parts": 4, "ranks_per_node": ranks_per_node, "max_supersteps": 7}
        af.run(Search, GRAPHS["one way"], source=0, checkpoint=folder, **nodes)
        last = af.run(Search, GRAPHS["one way"], source=0, checkpoint=folder, threads=1)
    assert last["level"].tolist() == whole["level"].tolist() == list(range(20))
    assert [step.frontier for step in last.history] == [step.frontier for step in whole.history]


# Vertices 0 to 18 and 20 to 38 are read by the other half; 19 and 39 by themselves.
HALVES = af.Graph.from_edges(np.arange(40), [v if v in (19, 39) else (v + 20) % 40 for v in range(40)])


@pytest.mark.parametrize("source", [0, 5, 18, 19, 20, 39])
def test_one_of_many_is_told_wherever_it_stands(source: int) -> None:
    """A frontier of one vertex, of many that others may read: the first, among and behind them."""
    parts = af.partition(HALVES, 2)
    assert len(parts.owned(0)) == 20
    plain = af.run(Search, HALVES, source=source, debug=True)
    with interpreted():
        run = af.run(Search, HALVES, source=source, parts=parts, ranks_per_node=1, exchange="readers", direction="push")
    assert run["level"].tolist() == plain["level"].tolist()


def test_lists_are_kept_but_for_those_without_replicated_vertices() -> None:
    parts, high = af.partition(GRAPH, 4, "ranges"), np.arange(GRAPH.vertices) % 5 == 0

    def work(transport: object) -> tuple[Lists, ...]:
        part = parts.part(transport.rank)
        asked = [known_lists(transport, parts, part, False, some) for some in (None, high, None)]
        return *asked, Lists.of(transport, parts, part, False, high)

    for first, replicated, again, expected in run_local(4, work, ranks_per_node=2):
        assert again is first
        assert {peer: told.tolist() for peer, told in replicated.tell.items()} == {
            peer: told.tolist() for peer, told in expected.tell.items()
        }
        assert any(len(first.tell[peer]) > len(told) for peer, told in expected.tell.items())


def test_a_meter_counts_what_is_sent_while_it_is_open() -> None:
    sent = Counts()
    for linked in (False, True):  # as GPUs are, past the transport that counts
        meter = Meter(sent, linked)
        assert meter.taken() == (0, 0)
        sent.add(5, near=False)
        for _ in range(2):
            with meter:
                sent.add(50, near=False)
                meter.traffic.values += 30
                meter.traffic.places += 3
                meter.traffic.headers += HEADER
            sent.add(7, near=False)
        assert meter.taken() == (60, 2 * (3 + HEADER) if linked else 40)
        assert meter.taken() == (0, 0)
        assert meter.sent == sent.bytes
        with meter:  # a superstep in which nothing but messages of no vertices went
            meter.traffic.headers += HEADER
        assert meter.taken() == (0, HEADER if linked else 0)
        with meter:
            sent.add(11, near=False)
        assert meter.taken() == (0, 0 if linked else 11)


@pytest.mark.parametrize(("arcs", "kind"), [((1 << 32) - 1, np.uint32), ((1 << 32) + 1, np.uint64)])
def test_places_of_cut_edges_have_numbers_that_hold_them(arcs: int, kind: type) -> None:
    cut = object.__new__(CutEdges)
    cut.worker = SimpleNamespace(graph=SimpleNamespace(arcs=arcs))  # a graph that no test can build
    places = cut._arcs(np.array([0, arcs - 1]), against=False)
    assert places.dtype == kind
    assert places.tolist() == [0, arcs - 1]


def test_ranks_that_become_nodes_of_their_own_are_told_of_once() -> None:
    said: list[tuple[str, int]] = []
    first: list[int] = []

    def work(ranks: Transport) -> list[int]:
        if ranks.rank == 0:
            first.append(threading.get_ident())
        assert with_own_nodes(ranks, [False] * 3) is ranks
        split = with_own_nodes(ranks, [False, True, False])
        assert with_own_nodes(ranks, [False, True, False]) is split
        return list(split.node_of)

    def hear(event: trace.Event) -> None:
        if isinstance(event, trace.Note):
            said.append((event.text, threading.get_ident()))

    with trace.listen(hear):
        assert run_local(3, work) == [[0, 1, 0]] * 3
    ((text, thread),) = said
    assert "becomes a node of its own" in text
    assert [thread] == first

"""The traversal on grids of parts: against sets in plain Python, the program, and what its messages must add up to."""

from math import ceil, log2

import numpy as np
import pytest
from grid_oracles import GRIDS, cases, traversal
from hypothesis import given, settings
from hypothesis import strategies as st

import arcflux as af
import oracles
from arcflux.algorithms.bfs_grid import search as search_module
from arcflux.algorithms.bfs_grid import searched_on_grid
from arcflux.algorithms.bfs_grid.block import Span, block_of
from arcflux.algorithms.bfs_grid.check import broken
from arcflux.algorithms.bfs_grid.search import Search
from arcflux.engine.front import checked_options
from arcflux.engine.worker import Cores, Worker
from arcflux.errors import IdError, UsageError
from arcflux.partition.grid import shape
from arcflux.spmd.team import Team
from arcflux.transports import collectives, run_local
from arcflux.transports.local import LocalTransport

PATIENT = settings(max_examples=40, deadline=None)


def a_core(graph, transport):
    """A worker that is a rank with one core."""
    every = range(transport.size)
    return Worker(graph, Cores(Team(1)), transport, transport.rank, every, [1.0] * len(every), [])


@PATIENT
@given(
    cases(), st.sampled_from(list(GRIDS)), st.sampled_from(["log", "wave"]), st.sampled_from(["auto", "push", "pull"]),
    st.sampled_from([None, 1, 2, 3]),
)  # fmt: skip
def test_levels_predecessors_and_owners_equal_the_oracle(case, k, scan, direction, ranks_per_node):
    graph, arcs, root = case
    options = {"scan": scan, "direction": direction, "ranks_per_node": ranks_per_node}
    found = af.bfs(graph, root, parts=k, partition="grid", **options)
    level, before, history = traversal(graph.vertices, arcs, root, *GRIDS[k])
    assert found["level"].tolist() == level == oracles.bfs_levels(graph.vertices, arcs, root)
    assert found.numbers("parent").tolist() == before
    assert [(step.frontier, step.assigned) for step in found.history] == history
    assert [step.changed for step in found.history] == [sum(owned) for _, owned in history]
    assert found.converged
    found.validate().raise_for_failure()


@pytest.mark.parametrize("spec", ["kron:11", "rmat:10", "grid:40x30", "urand:10,ef=2", "star:300"])
@pytest.mark.parametrize("k", [1, 4, 6, 9, 16])
def test_larger_graphs_equal_the_program(spec, k):
    graph = af.load(spec)
    source = int(np.argmax(graph.out_degrees))
    expected, parts = af.bfs(graph, source), af.partition(graph, k, "grid")
    for scan in ("log", "wave"):
        found = af.bfs(graph, source, parts=parts, scan=scan)
        np.testing.assert_array_equal(found["level"], expected["level"])
        assert [step.frontier for step in found.history] == [step.frontier for step in expected.history]
        assert {name: a.dtype for name, a in found.values.items()} == {
            name: a.dtype for name, a in expected.values.items()
        }
        assert found.references == expected.references
        assert found.name == expected.name
        found.validate().raise_for_failure()


def test_of_several_predecessors_the_largest_is_taken_in_any_order_of_edges():
    starts, ends = [0] * 5 + [5, 1, 3], [1, 2, 3, 4, 5, 6, 6, 6]
    for directed in (True, False):
        for sort in (True, False):
            graph = af.Graph.from_edges(starts, ends, directed=directed, sort=sort)
            assert af.bfs(graph, 0, parts=1, partition="grid")["parent"].tolist() == [0, 0, 0, 0, 0, 0, 5]
            # Two rows: sources 0 to 2 come first, and own what they find.
            assert af.bfs(graph, 0, parts=4, partition="grid")["parent"].tolist() == [0, 0, 0, 0, 0, 0, 1]


def test_edges_of_a_frontier_are_counted_once():
    graph = af.load("kron:9")
    source = int(np.argmax(graph.out_degrees))
    found = af.bfs(graph, source, parts=9, partition="grid")
    degrees = [int(graph.out_degrees[found["level"] == step.number].sum()) for step in found.history]
    assert [step.edges for step in found.history] == degrees


def test_ids_of_the_user_and_lone_vertices():
    graph = af.Graph.from_edges(["b", "c"], ["c", "b"], vertices=["a", "b", "c", "d"])
    found = af.bfs(graph, "b", parts=4, partition="grid")
    assert found.to_dict("level") == {"a": -1, "b": 0, "c": 1, "d": -1}
    assert found.to_dict("parent") == {"a": None, "b": "b", "c": "b", "d": None}
    with pytest.raises(IdError):
        af.bfs(graph, "x", parts=4, partition="grid")
    with pytest.raises(IdError):
        af.bfs(af.Graph.from_edges([], []), 0, parts=4, partition="grid")
    alone = af.bfs(af.Graph.from_edges([0], [0]), 0, parts=16, partition="grid")
    assert (alone["level"].tolist(), alone["parent"].tolist()) == ([0], [0])


@pytest.mark.parametrize("k", [1, 4, 6, 9, 16])
def test_a_rank_has_the_levels_of_its_row_and_its_column_and_owns_what_nobody_else_does(k):
    graph = af.load("kron:9")
    source = int(np.argmax(graph.out_degrees))
    level = af.bfs(graph, source)["level"]
    parts = af.partition(graph, k, "grid")
    rows, columns = shape(k)
    taken = checked_options("auto", 1, None, None)

    def work(transport):
        search = Search(a_core(graph, transport), parts, source, "log", taken)
        search.run(lambda: False)
        return search

    owners = np.zeros(graph.vertices, int)
    for rank, search in enumerate(run_local(k, work)):
        column, row = divmod(rank, rows)
        assert (search.block.row, search.block.column) == (row, column) == parts.place(rank)
        for span, ranges, i, held in (
            (search.block.sources, rows, row, search.source_level),
            (search.block.targets, columns, column, search.level),
        ):
            assert (span.begin, span.end) == (i * graph.vertices // ranges, (i + 1) * graph.vertices // ranges)
            np.testing.assert_array_equal(held[span.begin - span.base :], level[span.begin : span.end])
        bits = np.unpackbits(search.assigned.view(np.uint8), bitorder="little")
        owners[search.block.targets.base + np.flatnonzero(bits)] += 1
    np.testing.assert_array_equal(owners, (level > 0).astype(int))


def test_rows_and_columns_are_made_once(monkeypatch):
    graph = af.load("kron:6")
    some, others = af.partition(graph, 4, "grid"), af.partition(graph, 4, "grid")
    taken, made = checked_options("auto", 1, None, None), []
    split = LocalTransport.split

    def counted(self, colour, key):
        made.append(self.rank)
        return split(self, colour, key)

    monkeypatch.setattr(LocalTransport, "split", counted)

    def work(transport):
        for parts in (some, others, some):
            found = Search(a_core(graph, transport), parts, 1, "log", taken).run(lambda: False)
            broken(transport, parts, 1, found.level, found.parent, 10)

    run_local(4, work)
    assert sorted(made) == [0, 0, 1, 1, 2, 2, 3, 3]


def test_the_arcs_of_a_cell_are_those_from_its_row_to_its_column():
    graph = af.load("rmat:8")
    parts = af.partition(graph, 6, "grid")
    seen = []
    for rank in range(6):
        block = block_of(parts, rank)
        assert block_of(parts, rank) is block
        offsets = block.out.offsets.astype(np.int64)
        sources = np.repeat(np.arange(block.sources.size), np.diff(offsets)) + block.sources.base
        assert all(block.sources.begin <= u < block.sources.end for u in sources)
        assert all(block.targets.begin <= v < block.targets.end for v in block.out.neighbours)
        seen += zip(sources.tolist(), block.out.neighbours.tolist(), strict=True)
    whole = np.repeat(np.arange(graph.vertices), graph.out_degrees.astype(np.int64))
    assert sorted(seen) == sorted(zip(whole.tolist(), graph.out.neighbours.tolist(), strict=True))


@pytest.mark.parametrize("p", [1, 2, 3, 4])
@pytest.mark.parametrize("scan", ["log", "wave"])
def test_bytes_between_nodes_are_those_of_the_bitmaps(p, scan):
    graph = af.load("kron:10")
    found = af.bfs(graph, int(np.argmax(graph.out_degrees)), parts=p * p, partition="grid", ranks_per_node=1, scan=scan)
    sizes = [8 * Span(i * 1024 // p, (i + 1) * 1024 // p).words for i in range(p)]
    scans = sum(p - 2**k for k in range(ceil(log2(p)))) if scan == "log" else p - 1
    length = ceil(log2(p)) if scan == "log" else p - 1
    told = p * p * (p * p - 1) * 16
    for step in found.history:
        assert step.bytes == sum(size * (scans + 2 * (p - 1)) for size in sizes)
        assert step.more_bytes == p * scans * 16 + told
        assert (step.path_messages, step.path_bytes) == (length, length * max(sizes))
        assert len(step.part_seconds) == p * p
        assert step.seconds > 0
        assert step.exchange_seconds > 0


def test_nothing_crosses_between_nodes_when_there_is_one():
    found = af.bfs(af.load("kron:8"), 1, parts=9, partition="grid")
    assert {(step.bytes, step.more_bytes) for step in found.history} == {(0, 0)}


def test_the_frontier_is_added_up_during_the_contraction(monkeypatch):
    events = {}

    def noted(name, call):
        def wrapped(*args):
            events.setdefault(args[0].rank if name == "scan" else args[0]._transport.rank, []).append(name)
            return call(*args)

        return wrapped

    begin = collectives.Pending.__init__

    def started(self, transport, values, operation):
        events.setdefault(transport.rank, []).append("start")
        begin(self, transport, values, operation)

    monkeypatch.setattr(collectives.Pending, "__init__", started)
    monkeypatch.setattr(collectives.Pending, "wait", noted("wait", collectives.Pending.wait))
    # One column, so that a rank of the group is a rank of the run.
    monkeypatch.setitem(search_module.SCANS, "log", noted("scan", search_module.SCANS["log"]))
    found = af.bfs(af.load("path:3"), 0, parts=1, partition="grid")
    assert events == {0: ["start", "scan", "wait"] * found.supersteps}


def test_a_search_that_is_stopped_says_so():
    graph = af.load("path:50")
    with pytest.warns(UserWarning, match="BFS stopped after 3 supersteps") as caught:
        found = af.bfs(graph, 0, parts=4, partition="grid", max_supersteps=3)
    assert not found.converged
    assert found["level"].tolist() == [0, 1, 2, 3] + [-1] * 46
    assert found["parent"].tolist() == [0, 0, 1, 2] + [-1] * 46
    assert len(caught) == 1
    with pytest.warns(UserWarning, match="after 1 superstep "):
        assert af.bfs(graph, 0, parts=4, partition="grid", timeout=0)["level"].max() == 1
    with pytest.warns(UserWarning, match="after 0 supersteps"):
        assert af.bfs(graph, 7, parts=4, partition="grid", max_supersteps=0)["level"].max() == 0


def test_which_runs_are_searches_on_a_grid():
    graph = af.load("kron:6")
    source = int(np.argmax(graph.out_degrees))
    grid = {"parts": 4, "partition": "grid"}

    def is_traversal(**options):
        return isinstance(af.bfs(graph, source, **options).history[0], search_module.Iteration)

    assert is_traversal(**grid)
    assert is_traversal(**grid, threads=1, exchange="auto", deterministic=False, debug=False, transport="local")
    assert is_traversal(parts=af.partition(graph, 6, "grid"))
    assert is_traversal(partition="grid", transport="local")
    for options in (
        {"parts": 4}, {"parts": 7, "partition": "grid"}, {**grid, "deterministic": True}, {**grid, "threads": 2},
        {**grid, "exchange": "owners"}, {**grid, "debug": True}, {"parts": af.partition(graph, 4)}, {},
        {"partition": "grid"}, {**grid, "given": {"level": [0]}},
    ):  # fmt: skip
        assert not searched_on_grid(options)
        with pytest.raises(UsageError, match="scan="):
            af.bfs(graph, source, scan="wave", **options)
    assert not is_traversal()
    assert not is_traversal(parts=7, partition="grid")


def test_wrong_options_are_refused():
    graph = af.load("path:6")
    grid = {"parts": 4, "partition": "grid"}
    for wrong, said in (
        ({"scan": "tree"}, "scan is 'tree'"), ({"direction": "up"}, "direction"), ({"max_supersteps": -1}, "max_super"),
        ({"timeout": -1}, "timeout"), ({"transport": "pigeon"}, "transport"), ({"ranks_per_node": 0}, "ranks_per_node"),
        ({"parts": 0}, "k is 0"), ({"parts": af.partition("path:7", 4, "grid")}, "another graph"),
        ({"speed": 9}, "speed"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=said):
            af.bfs(graph, 0, **{**grid, **wrong})

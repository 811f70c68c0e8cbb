"""Every program gives the same result on any parts of a graph: number, partitioner, nodes, direction, exchange."""

import warnings

import numpy as np
import programs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from program_fuzzer.interpret import interpreted
from test_back_ends import PROGRAMS, graphs, options

import arcflux as af
from arcflux import algorithms

HOW = ["ranges", "grid", "random", "degree", "mincut", "duplicate"]
EXCHANGES = ["auto", "readers", "owners", "allreduce", "mixed"]


def same(program: object, one: af.Result, other: af.Result) -> None:
    """Integers are identical; floats agree to rounding, which has another order on parts."""
    assert other.converged == one.converged
    narrow = any(values.dtype == np.float32 for values in one.values.values())
    close = {"rtol": 1e-4, "atol": 1e-6} if narrow else {"rtol": 1e-9, "atol": 1e-15}
    for name, values in one.values.items():
        if values.dtype.kind == "f":
            np.testing.assert_allclose(other[name], values, **close)
        elif (program.name, name) != ("BFS", "parent"):
            np.testing.assert_array_equal(other[name], values)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_parts_give_what_the_whole_gives(program: object, data: st.DataObject) -> None:
    graph = data.draw(graphs())
    if program is algorithms.Components and graph.directed:
        return
    whole = af.run(program, graph, debug=True, **options(program))
    spread = {
        "parts": data.draw(st.sampled_from([1, 2, 3, 4, 7, 16])),
        "partition": data.draw(st.sampled_from(HOW)),
        "exchange": data.draw(st.sampled_from(EXCHANGES)),
        "ranks_per_node": data.draw(st.sampled_from([None, 1, 2, 3])),
        "direction": data.draw(st.sampled_from(["auto", "push", "pull"])),
    }
    split = af.run(program, graph, **spread, **options(program))
    if program not in (programs.DeltaRank, algorithms.SSSP):
        assert split.supersteps == whole.supersteps
    same(program, whole, split)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_deterministic_parts_give_the_bits_of_the_whole(program: object, data: st.DataObject) -> None:
    graph = data.draw(graphs())
    if program is algorithms.Components and graph.directed:
        return
    whole = af.run(program, graph, deterministic=True, **options(program))
    split = af.run(
        program, graph, deterministic=True, parts=data.draw(st.sampled_from([2, 3, 5, 16])),
        partition=data.draw(st.sampled_from(HOW)), ranks_per_node=data.draw(st.sampled_from([None, 1, 2])),
        direction=data.draw(st.sampled_from(["auto", "push", "pull"])), **options(program),
    )  # fmt: skip
    for name, values in whole.values.items():
        assert values.tobytes() == split.values[name].tobytes()
    if "priority" not in program.functions:
        assert [step.residual for step in whole.history] == [step.residual for step in split.history]


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("k", [4, 16])
def test_larger_graphs(how: str, k: int) -> None:
    graph = af.load("kron:11,weights=1-255")
    source = int(np.argmax(graph.out_degrees))
    for nodes in (None, 1, 3):
        spread = {"parts": k, "partition": how, "ranks_per_node": nodes}
        algorithms.bfs(graph, source, **spread).validate().raise_for_failure()
        algorithms.sssp(graph, source, **spread).validate().raise_for_failure()
        rank = algorithms.pagerank(graph, tol=1e-9, **spread)["rank"]
        np.testing.assert_allclose(rank, algorithms.pagerank(graph, tol=1e-9)["rank"], rtol=1e-9)


@af.program
class Drawn:
    """Sums over the edges that chance leaves, by what v is in the graph: its number and degrees, no field of it."""

    x: af.i64
    rounds: int = 3

    def start(v):
        v.x = v.number
        return True

    def init(v):
        v.x = 1

    def compute(v, u, edge, step):
        if u.number != v.number and af.random(edge, step) < 0.7:
            v.x += u.x % 5 * v.in_degree + (v.number + v.out_degree) % 3

    def update(v, p, step):
        return step + 1 < p.rounds


@af.program
class Percolated:
    """The smallest number that reaches a vertex over the edges that chance leaves."""

    x: af.u32

    def start(v):
        v.x = v.number
        return True

    def compute(v, u, edge):
        if af.random(edge, 1) < 0.6:
            v.x = min(v.x, u.x + v.number // 30)


@pytest.mark.parametrize("exchange", ["owners", "allreduce", "mixed"])
@pytest.mark.parametrize("direction", ["pull", "push"])
@pytest.mark.parametrize("program", [Drawn, Percolated], ids=lambda p: p.name)
def test_what_v_is_in_the_graph_is_known_in_every_node(program: object, direction: str, exchange: str) -> None:
    leaves, both = np.arange(1, 90), (np.zeros(89, int), np.arange(1, 90) // 2)
    graph = af.Graph.from_edges(np.concatenate([leaves, *both]), np.concatenate([both[0], leaves, leaves]))
    whole = af.run(program, graph, debug=True)
    with interpreted():
        split = af.run(
            program, graph, parts=3, ranks_per_node=1, exchange=exchange, direction=direction, rebalance="off"
        )
    assert split.exchange == exchange
    assert (split["x"] == whole["x"]).all()


def test_only_what_changed_and_is_read_crosses_between_nodes() -> None:
    """Counted against the definition: for every node, its sources owned elsewhere that changed in the superstep."""
    graph = af.load("kron:9,weights=1-255")
    source = int(np.argmax(graph.out_degrees))
    parts = af.partition(graph, 4)
    levels = af.run(algorithms.SSSP, graph, source=source, direction="pull")
    spread = af.run(algorithms.SSSP, graph, source=source, parts=parts, ranks_per_node=2, direction="pull",
                    rebalance="off")  # fmt: skip
    assert levels.supersteps == spread.supersteps
    node = parts.owner // 2
    offsets, neighbours = graph.into
    expected = np.zeros(spread.supersteps, np.int64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        states = [
            af.run(algorithms.SSSP, graph, source=source, direction="pull", max_supersteps=k)["distance"]
            for k in range(spread.supersteps + 1)
        ]
    for there in (0, 1):
        rows = [neighbours[offsets[v] : offsets[v + 1]] for v in np.flatnonzero(node == there)]
        uds = np.setdiff1d(np.unique(np.concatenate(rows)), np.flatnonzero(node == there))
        for k in range(spread.supersteps):
            expected[k] += 8 * np.count_nonzero(states[k + 1][uds] != states[k][uds])
    assert [step.bytes for step in spread.history] == expected.tolist()

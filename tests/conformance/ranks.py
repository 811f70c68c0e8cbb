"""What every rank of an MPI job does to see that programs give on parts what they give alone; see test_ranks.py."""

import sys
import warnings
from contextlib import ExitStack
from functools import cache
from unittest import mock

import around_programs as around
import numpy as np
import programs
from totalling import Everything, Reached, compare, everything, reached

import arcflux as af
from arcflux import algorithms
from arcflux.engine import dense
from arcflux.transports import current
from arcflux.transports.base import Transport

warnings.simplefilter("error")
LOOKING = [around.Labels, around.Closing, around.Everything, around.Hops, around.Settling]
PROGRAMS = [*programs.ALL, *LOOKING, algorithms.BFS, algorithms.SSSP, algorithms.PageRank]


@cache
def graphs() -> list[af.Graph]:
    """Small multigraphs with self-loops and isolated vertices, and one that is not so small; the same on every rank."""
    random = np.random.default_rng(5)
    made = []
    for n, arcs, directed in ((1, 0, True), (9, 30, True), (12, 30, False), (300, 3000, True)):
        ends = random.integers(0, n, (2, arcs))
        weight = random.integers(0, 10, arcs).astype(np.int32)
        made.append(af.Graph.from_edges(*ends, columns={"weight": weight}, vertices=n, directed=directed))
    return made


@cache
def alone_on(number: int, turn: int) -> af.Result:
    """What a program gives alone, once for all ways to spread it."""
    graph, program = graphs()[number], PROGRAMS[turn]
    options = {"source": 0} if "source" in program.parameters else {}
    return af.run(program, graph, debug=graph.vertices < 100, transport="local", parts=1, **options)


def check(number: int, turn: int, **spread: object) -> None:
    graph, program, alone = graphs()[number], PROGRAMS[turn], alone_on(number, turn)
    options = {"source": 0} if "source" in program.parameters else {}
    split = af.run(program, graph, **spread, **options)
    where = f"{program.name}, {graph.vertices} vertices, {spread}"
    assert split.converged, where
    for name, values in alone.values.items():
        if values.dtype.kind == "f":
            narrow = any(field.dtype == np.float32 for field in alone.values.values())
            close = {"rtol": 1e-4, "atol": 1e-6} if narrow else {"rtol": 1e-9, "atol": 1e-15}
            np.testing.assert_allclose(split.values[name], values, err_msg=where, **close)
        elif (program.name, name) not in (("BFS", "parent"),):
            np.testing.assert_array_equal(split.values[name], values, err_msg=where)


def results_stay(graph: af.Graph, per_node: int | None) -> None:
    """A result, or a piece of it, stays what it is while others are found: their memory is shared and used again."""
    expected = [algorithms.bfs(graph, s, transport="local", parts=1)["level"].copy() for s in range(6)]
    pieces = {}
    for source in range(6):
        result = algorithms.bfs(graph, source, ranks_per_node=per_node)
        if source % 2:
            pieces[source] = result["level"][3:]
        del result
    for source, piece in pieces.items():
        np.testing.assert_array_equal(piece, expected[source][3:])


def large_ones(ranks: Transport, per_node: int | None) -> None:
    """Whatever one rank has tried alone, all choose the same way through a large graph: blocks, runs, or neither."""
    random = np.random.default_rng(7)
    far = af.Graph.from_edges(*random.integers(0, 140_000, (2, 200_000)), vertices=140_000, directed=False)
    small = {"_CACHE": 0, "_ARCS": 0, "_MANY": 0, "scattered": lambda graph: True}
    with ExitStack() as stack:
        for name, value in small.items():
            stack.enter_context(mock.patch.object(dense, name, value))
        stack.enter_context(mock.patch.object(dense.Dense, "_large", lambda self: self.graph is far))
        for graph in (far, af.load("grid:30x300")):
            if ranks.rank == 0:
                algorithms.pagerank(graph, threads=ranks.size, transport="local")
            ranks.barrier()
            split = algorithms.pagerank(graph, ranks_per_node=per_node)["rank"]
            np.testing.assert_allclose(split, algorithms.pagerank(graph, transport="local")["rank"], rtol=1e-9)


def totals(graph: af.Graph, per_node: int | None) -> None:
    """Totals are those of one process, and have the same bits where that is asked for."""
    _, past, _ = everything(graph, 5)
    for choice in ({}, {"exchange": "owners"}, {"exchange": "allreduce"}, {"direction": "push"}):
        compare(af.run(Everything, graph, ranks_per_node=per_node, **choice), past)
        compare(af.run(Reached, graph, source=0, ranks_per_node=per_node, **choice), reached(graph)[1])
    for program, options in ((Everything, {}), (Reached, {"source": 0})):
        alone = af.run(program, graph, deterministic=True, transport="local", parts=1, **options)
        split = af.run(program, graph, deterministic=True, ranks_per_node=per_node, **options)
        for name in alone.totals:
            a, b = (np.array([step.totals[name] for step in each.history]) for each in (alone, split))
            assert a.tobytes() == b.tobytes(), name


def main() -> None:
    per_node = int(sys.argv[1]) or None
    ranks = current(ranks_per_node=per_node)
    assert ranks is not None
    choices = [
        {"partition": how, "exchange": exchange, "direction": way}
        for how, exchange, way in (
            ("ranges", "auto", "auto"),
            ("ranges", "readers", "push"),
            ("ranges", "owners", "pull"),
            ("grid", "auto", "auto"),
            ("random", "mixed", "push"),
            ("degree", "allreduce", "pull"),
        )
    ]
    for number in range(len(graphs())):
        for turn in range(len(PROGRAMS)):
            for choice in choices if number == 1 else [choices[(turn + number) % len(choices)]]:
                check(number, turn, ranks_per_node=per_node, **choice)
    large_ones(ranks, per_node)
    totals(af.load("kron:11,ef=3,directed=true"), per_node)
    graph = af.load("kron:9")
    results_stay(graph, per_node)
    source = int(np.argmax(graph.out_degrees))
    for call in (
        lambda **more: algorithms.connected_components(graph, **more),
        lambda **more: algorithms.triangles(graph, **more),
        lambda **more: algorithms.triangles(graph, partition="duplicate", **more),
        lambda **more: algorithms.clustering(graph, **more),
        lambda **more: algorithms.two_hop_friends(graph, fraction=0.1, **more),
        lambda **more: algorithms.label_propagation(graph, **more),
        lambda **more: algorithms.betweenness_centrality(graph, sources=[source], **more),
        lambda **more: algorithms.sssp(graph, source, weight=None, **more),
    ):
        alone, split = call(parts=1, transport="local"), call(ranks_per_node=per_node)
        for name, values in alone.values.items():
            np.testing.assert_array_equal(values, split.values[name])
    whole = algorithms.betweenness_centrality(graph, parts=1, transport="local")["centrality"]
    for how in ("random", "duplicate"):
        split = algorithms.betweenness_centrality(graph, partition=how, ranks_per_node=per_node)["centrality"]
        np.testing.assert_allclose(split, whole, rtol=1e-9, atol=1e-15)
    # Without a seed every process samples others: the ranks have to agree on one sample.
    guess = algorithms.betweenness_centrality(graph, k=20, ranks_per_node=per_node)
    np.testing.assert_array_equal(guess["centrality"], ranks.broadcast(guess["centrality"], 0))
    guess.validate().raise_for_failure()
    print(f"rank {ranks.rank} of {ranks.size}: the same")


if __name__ == "__main__":
    main()

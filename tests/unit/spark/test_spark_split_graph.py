"""Graphs that are built in parts: what comes of them, that nobody holds all edges, and what runs on them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import arcflux as af
from arcflux.errors import WholeGraphError
from arcflux.spark.split_graph import split_graph
from arcflux.transports import run_local
from arcflux.transports.rendezvous import Rendezvous
from arcflux.transports.tcp import run_tcp

RANKS = Path(__file__).with_name("spark_split_ranks.py")
OPTIONS = [
    {},
    {"directed": False},
    {"deduplicate": "sum"},
    {"directed": False, "deduplicate": "first"},
    {"drop_self_loops": True},
    {"symmetrise": True, "drop_self_loops": True, "deduplicate": "min"},
]


def edges_of(ids, n, m, seed):
    random = np.random.default_rng(seed)
    ends = random.integers(0, n, (2, m))
    if ids == "scattered":
        ends = ends * 10**15 - 5 * 10**15
    if ids == "text":
        ends = np.array([[f"vé{v}" for v in end] for end in ends], object).reshape(2, m)
    return ends[0], ends[1], random.integers(1, 9, m)


def built(start, size, nodes, ids, edges, options):
    """What each rank has: the graph, its part, and how many edges it was given."""
    source, target, weight = edges
    cuts = [0, *sorted(np.random.default_rng(3).integers(0, len(source) + 1, size - 1).tolist()), len(source)]

    def work(transport):
        own = slice(*cuts[transport.rank : transport.rank + 2])
        graph = split_graph(
            transport, source[own], target[own], {"weight": weight[own]}, text=ids == "text", **options
        )  # fmt: skip
        return graph, graph.kept["parts", size, "ranges"].part(transport.rank), own.stop - own.start

    return start(size, work, ranks_per_node=nodes)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("ids", ["dense", "scattered", "text"])
def test_the_same_graph_as_of_all_edges(ids, options):
    edges = edges_of(ids, 40, 300, seed=len(options))
    whole = af.Graph.from_edges(*edges[:2], columns={"weight": edges[2]}, **options)
    found = built(run_local, 4, 2, ids, edges, options)
    for graph, part, given in found:
        assert graph.ids == whole.ids
        assert (graph.vertices, graph.edges, graph.arcs) == (whole.vertices, whole.edges, whole.arcs)
        assert (graph.directed, graph.changes, graph.number_type) == (whole.directed, whole.changes, whole.number_type)
        assert np.array_equal(graph.in_offsets, whole.into.offsets)
        assert np.array_equal(graph.out_offsets, whole.out.offsets)
        assert given < len(edges[0])
        assert part.arcs < whole.arcs
    assert np.array_equal(np.concatenate([part.into.neighbours for _, part, _ in found]), whole.into.neighbours)
    columns = np.concatenate([part.in_columns["weight"] for _, part, _ in found])
    assert np.array_equal(columns, whole.in_columns["weight"])


@pytest.mark.parametrize(("n", "m"), [(1, 0), (1, 1), (2, 1), (5, 3), (900, 5000)])
@pytest.mark.parametrize("ids", ["dense", "text"])
def test_few_edges_and_many_over_sockets(ids, n, m):
    edges = edges_of(ids, n, m, seed=m)
    whole = af.Graph.from_edges(*edges[:2])
    found = built(run_tcp, 3, 1, ids, edges, {})
    assert all(graph.ids.to_ids().tolist() == whole.ids.to_ids().tolist() for graph, _, _ in found)
    assert np.array_equal(np.concatenate([part.into.neighbours for _, part, _ in found]), whole.into.neighbours)
    if m > 100:  # parts are about even
        assert max(part.arcs for _, part, _ in found) < 0.4 * m


def test_what_asks_for_all_edges_is_refused():
    (graph, _, _), *_ = built(run_local, 2, 1, "dense", edges_of("dense", 9, 30, seed=1), {})
    with pytest.raises(WholeGraphError, match=r"(?s)out-edges of all vertices.*build='whole'"):
        graph.out  # noqa: B018
    with pytest.raises(WholeGraphError, match="in-edges of all vertices"):
        graph.into  # noqa: B018
    with pytest.raises(WholeGraphError, match="values of the edge column 'weight'"):
        graph.columns["weight"]
    with pytest.raises(WholeGraphError, match="part 1 is asked for"):
        graph.kept["parts", 2, "ranges"].part(1)
    assert list(graph.columns) == ["weight"]
    assert graph.weighted
    assert graph.column_types == {"weight": np.dtype(np.int64)}


@pytest.mark.parametrize("nodes", [1, 2])
def test_runs_on_ranks_that_are_processes(nodes):
    edges = np.random.default_rng(4).integers(0, 60, (2, 400)).tolist()
    with Rendezvous(3, ranks_per_node=nodes) as meeting:
        environment = {
            **os.environ, "MEETING": json.dumps([*meeting.address, meeting.token.hex()]), "EDGES": json.dumps(edges),
            "ARCFLUX_THREADS": "1",
        }  # fmt: skip
        ranks = [
            subprocess.Popen([sys.executable, str(RANKS), str(rank)], env=environment, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
            for rank in range(3)
        ]  # fmt: skip
        try:
            said = [rank.communicate(timeout=300) for rank in ranks]
        finally:
            for rank in ranks:
                rank.kill()
                rank.wait()
    assert [rank.returncode for rank in ranks] == [0, 0, 0], said[0][1][-3000:]
    told = [json.loads(out.splitlines()[-1]) for out, _ in said]
    for one in told:
        assert {name for name, right in one["answers"].items() if not right} == set()
        assert len(one["answers"]) == 21
    assert sum(one["held"] for one in told) == told[0]["arcs"]
    assert max(one["held"] for one in told) < 0.5 * told[0]["arcs"]

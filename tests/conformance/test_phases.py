"""Programs with phases give in every way to run what plain Python gives, superstep by superstep."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from phased import PHASED, Hubs, Peeled, Waves

import arcflux as af

GRAPHS = {
    "directed": af.Graph.from_edges(
        [0, 1, 2, 2, 3, 5, 5, 0, 4, 4], [1, 2, 0, 3, 4, 5, 1, 1, 2, 3],
        columns={"weight": [3, 1, 2, 5, 1, 1, 4, 2, 2, 7]}, vertices=8,
    ),
    "undirected": af.load("kron:6,ef=3,weights=1-9"),
    "hub": af.Graph.from_edges(
        [*range(1, 40), 0, 3, 4, 0, 41], [0] * 39 + [5, 7, 8, 0, 3], columns={"weight": np.arange(44) % 5 + 1},
        vertices=43,
    ),
    "several chunks": af.load("urand:n=2600,m=8000,directed,weights=1-9"),
    "one vertex": af.Graph.from_edges([], [], columns={"weight": np.zeros(0, int)}, vertices=1),
    "no vertices": af.Graph.from_edges([], [], columns={"weight": np.zeros(0, int)}, vertices=0),
}  # fmt: skip
WAYS = {
    "auto": {},
    "one thread": {"threads": 1},
    "push": {"direction": "push"},
    "pull": {"direction": "pull", "threads": 3},
    "deterministic": {"deterministic": True},
    "shared memory": {"parts": 3},
    "nodes": {"parts": 4, "ranks_per_node": 2},
    "nodes, pushed": {"parts": 3, "ranks_per_node": 1, "direction": "push"},
    "owners": {"parts": 4, "ranks_per_node": 2, "exchange": "owners"},
    "allreduce": {"parts": 3, "ranks_per_node": 1, "exchange": "allreduce"},
    "allreduce, any owners": {"parts": 4, "ranks_per_node": 2, "exchange": "allreduce", "partition": "random"},
    "mixed": {"parts": 4, "ranks_per_node": 2, "exchange": "mixed"},
    "mixed, pushed": {"parts": 3, "ranks_per_node": 1, "exchange": "mixed", "direction": "push"},
    "any owners": {"parts": 3, "ranks_per_node": 1, "partition": "random"},
    "grid": {"parts": 4, "ranks_per_node": 2, "partition": "grid"},
    "nodes, deterministic": {"parts": 3, "ranks_per_node": 1, "deterministic": True},
    "parts of one node": {"parts": 2, "exchange": "readers"},
    "devices": {"devices": [af.devices.Virtual(slowdown=1.0), af.devices.CPU(1)]},
}
_known = {}


def parameters(program, graph):
    return {"source": 0} if program is Waves else {}


def plain(program, name):
    """The run in plain Python, once for each graph."""
    if (program.name, name) not in _known:
        graph = GRAPHS[name]
        _known[program.name, name] = af.run(program, graph, debug=True, **parameters(program, graph))
    return _known[program.name, name]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("program", PHASED, ids=lambda program: program.name)
@pytest.mark.parametrize("name", ["directed", "undirected", "hub"])
def test_every_way_to_run_gives_what_plain_python_gives(program, name, way):
    same(program, name, WAYS[way])


@pytest.mark.parametrize("way", ["auto", "nodes"])
@pytest.mark.parametrize("program", PHASED, ids=lambda program: program.name)
@pytest.mark.parametrize("name", ["several chunks", "one vertex"])
def test_on_graphs_of_other_sizes(program, name, way):
    same(program, name, WAYS[way])


def same(program, name, options):
    graph, expected = GRAPHS[name], plain(program, name)
    found = af.run(program, graph, **options, **parameters(program, graph))
    for field in expected.values:
        np.testing.assert_allclose(found[field], expected[field], rtol=1e-12, err_msg=field)
    assert found.converged
    assert found.iterations == expected.iterations
    told = [(step.number, step.phase, step.changed) for step in found.history]
    assert told == [(step.number, step.phase, step.changed) for step in expected.history]
    for one, other in zip([found, *found.history], [expected, *expected.history], strict=True):
        assert one.totals.keys() == other.totals.keys()
        for total, value in other.totals.items():
            np.testing.assert_allclose(one.totals[total], value, rtol=1e-12, err_msg=total)


def test_no_vertices():
    for options in ({}, {"debug": True}, {"parts": 2, "ranks_per_node": 1}):
        result = af.run(Peeled, GRAPHS["no vertices"], **options)
        assert result.converged
        assert (result.iterations, result.supersteps) == (1, 0)


def test_peeling_leaves_the_k_core():
    graph = GRAPHS["undirected"]
    there = graph.to_networkx()
    there.remove_edges_from(nx.selfloop_edges(there))
    core = set(nx.k_core(there, 4))
    assert 0 < len(core) < graph.vertices
    gone = af.run(Peeled, graph, k=4)["gone"]
    assert {v for v in range(graph.vertices) if not gone[v]} == core


def test_deterministic_bits_do_not_depend_on_where():
    runs = [af.run(Hubs, GRAPHS["several chunks"], deterministic=True, **how)["hub"]
            for how in ({"threads": 1}, {"threads": 3}, {"parts": 3, "ranks_per_node": 1})]  # fmt: skip
    assert all(np.array_equal(runs[0], other) for other in runs[1:])


@af.program
class Degrees:
    """What vertices that v points to have for degrees, which are those of the graph also against its edges."""

    ins: af.i64
    outs: af.i64

    @af.phase(edges="against")
    class back:
        def around(v, edges):
            v.ins = sum(u.in_degree for u in edges if u.out_degree != 1)
            for u in edges:
                v.outs += u.out_degree * v.in_degree

        def update(v):
            return False

    def iteration(run):
        run.back()
        return False


def test_degrees_of_neighbours_against_edges():
    graph = GRAPHS["directed"]
    source, target, _ = graph.edge_numbers()
    ins, outs = graph.in_degrees.astype(int), graph.out_degrees.astype(int)
    some = np.bincount(source, ins[target] * (outs[target] != 1), graph.vertices)
    every = np.bincount(source, outs[target], graph.vertices) * ins
    for options in ({"debug": True}, {"threads": 1}, {"parts": 3, "ranks_per_node": 1}):
        found = af.run(Degrees, graph, **options)
        np.testing.assert_array_equal(found["ins"], some)
        np.testing.assert_array_equal(found["outs"], every)


def test_history_knows_phases_and_columns():
    result = af.run(Hubs, GRAPHS["directed"], rounds=2)
    assert [step.phase for step in result.history] == ["authorities", "hubs", "scale"] * 2
    assert [step.direction for step in result.history[:3]] == ["pull", "pull", "none"]
    assert result.column("changed").tolist() == [step.changed for step in result.history]
    assert result.column("edges")[2] == result.history[2].edges == 0
    assert result.iterations == 2
    assert "authorities" in result.history._repr_html_()

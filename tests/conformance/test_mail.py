"""Programs with mail give what slow oracles give, and the same bits on threads, parts and nodes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from mailing import MAILED, Contracted, Roots, Walk, Wedges, walked

import arcflux as af

WAYS = {
    "one thread": {"threads": 1},
    "three threads": {"threads": 3},
    "parts of a node": {"parts": 3},
    "parts on nodes": {"parts": 4, "ranks_per_node": 2},
    "any owners": {"parts": 3, "ranks_per_node": 1, "partition": "random"},
    "any owners of a node": {"parts": 3, "partition": "random"},
    "a grid, reduced": {"parts": 4, "partition": "grid", "ranks_per_node": 2, "exchange": "owners"},
    "deterministic": {"parts": 2, "deterministic": True, "ranks_per_node": 1},
    "devices": {"devices": [af.devices.Virtual(slowdown=1.0), af.devices.CPU(1)]},
}
GRAPH = af.load("kron:6,ef=4,weights=1-9")
DIRECTED = af.load("urand:n=70,m=300,directed,weights=1-9")
_plain: dict[str, af.Result] = {}


def plain(program: af.program) -> af.Result:
    """The run in plain Python, once."""
    if program.name not in _plain:
        _plain[program.name] = af.run(program, DIRECTED, debug=True)
    return _plain[program.name]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("program", MAILED, ids=lambda program: program.name)
def test_every_way_to_run_gives_the_bits_of_plain_python(program: af.program, way: str) -> None:
    found, want = af.run(program, DIRECTED, **WAYS[way]), plain(program)
    for name, values in want.values.items():
        assert found.values[name].tobytes() == values.tobytes(), name
    assert [step.changed for step in found.history] == [step.changed for step in want.history]
    assert dict(found.totals) == dict(want.totals)
    assert found.converged
    assert want.converged


@pytest.mark.parametrize("graph", [GRAPH, DIRECTED], ids=["undirected", "directed"])
@pytest.mark.parametrize("more", [{"threads": 2}, {"parts": 3, "partition": "random", "ranks_per_node": 1}], ids=str)
def test_walks_are_those_of_the_oracle(graph: af.Graph, more: dict[str, object]) -> None:
    found = af.run(Walk, graph, seed=5, each=4, length=7, **more)
    visits, last = walked(graph, each=4, length=7, seed=5)
    assert found["visits"].tolist() == visits
    assert found["last"].tolist() == last


def test_pointers_jump_to_the_root() -> None:
    found = af.run(Roots, "path:1000", threads=2)
    assert not found["root"].any()
    assert found.supersteps < 12


def test_wedges_close_where_there_is_a_triangle() -> None:
    graph = af.Graph.from_edges([0, 1, 2, 2, 3, 4, 1], [1, 2, 0, 3, 4, 2, 4], directed=False)
    found = af.run(Wedges, graph)
    rows = [set(row.tolist()) for row in np.split(graph.out.neighbours, graph.out.offsets[1:-1].astype(int))]
    want = [sum(b in rows[a] for a, b in itertools.combinations(sorted(row), 2)) for row in rows]
    assert found["closed"].tolist() == want == af.triangles(graph)["triangles"].tolist()


def test_contraction_adds_what_a_table_adds() -> None:
    found = af.run(Contracted, DIRECTED, parts=2, ranks_per_node=1)
    sources, targets = _arcs(DIRECTED)
    weights = DIRECTED.columns["weight"]
    inside, outside = np.zeros(70), np.zeros(70)
    for u, v, weight in zip(sources, targets, weights, strict=True):
        (inside if u % 5 == v % 5 else outside)[u % 5] += weight
    np.testing.assert_allclose(found["inside"], inside)
    np.testing.assert_allclose(found["outside"], outside)


def _arcs(graph: af.Graph) -> tuple[np.ndarray, np.ndarray]:
    return np.repeat(np.arange(graph.vertices), graph.out_degrees.astype(int)), graph.out.neighbours.astype(int)


def test_bytes_between_nodes_are_those_of_the_records() -> None:
    """A record of walks has 12 bytes, and 8 say for whom it is."""
    found = af.run(Walk, GRAPH, parts=2, ranks_per_node=1)
    alone = af.run(Walk, GRAPH, parts=2)
    assert alone.history[0].bytes == alone.history[0].more_bytes == 0
    for step in found.history:
        assert step.bytes % 12 == 0
        assert step.more_bytes >= step.bytes // 12 * 8
        assert step.bytes <= 12 * step.edges
    assert sum(step.bytes for step in found.history) > 0
    assert [step.edges for step in found.history] == [step.edges for step in alone.history]


@pytest.mark.parametrize("graph", ["path:1", "path:2"])
def test_tiny_graphs(graph: str) -> None:
    for program in (Walk, Roots):
        want = af.run(program, graph, debug=True)
        found = af.run(program, graph, threads=2)
        for name, values in want.values.items():
            assert found[name].tolist() == values.tolist()


def test_a_graph_without_vertices() -> None:
    graph = af.Graph.from_edges([], [], vertices=0)
    assert len(af.run(Walk, graph)["visits"]) == 0


def test_limits_end_a_run_before_its_mail() -> None:
    with pytest.warns(UserWarning, match="before it converged"):
        found = af.run(Walk, GRAPH, max_supersteps=2)
    assert not found.converged
    assert found.supersteps == 2
    with pytest.warns(UserWarning, match="before it converged"):
        want = af.run(Walk, GRAPH, max_supersteps=2, debug=True)
    assert found["visits"].tolist() == want["visits"].tolist()

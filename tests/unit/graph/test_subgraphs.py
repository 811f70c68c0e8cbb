"""Parts of graphs, sizes and degrees by id, against NetworkX."""

import networkx as nx
import numpy as np
import pytest

import arcflux as af
from arcflux.errors import IdError, UsageError

NAMES = ["ada", "bob", "cy", "dan", "eve"]


def graphs(directed):
    rng = np.random.default_rng(int(directed))
    for _ in range(10):
        ends = rng.integers(0, 5, (2, 9))
        ids = [NAMES[k] for k in ends[0]], [NAMES[k] for k in ends[1]]
        columns = {"weight": rng.integers(0, 9, 9)}
        yield af.Graph.from_edges(*ids, vertices=NAMES, directed=directed, columns=columns, sort=bool(rng.integers(2)))


def listed(graph):
    sources, targets, columns = graph.edge_list()
    return sorted(zip(sources.tolist(), targets.tolist(), columns["weight"].tolist(), strict=True))


@pytest.mark.parametrize("directed", [False, True])
def test_induced_subgraphs_have_ids_columns_and_loops(directed):
    for graph in graphs(directed):
        part = graph.subgraph(["eve", "ada", "bob"])
        assert list(part.ids) == ["ada", "bob", "eve"]
        inside = {"ada", "bob", "eve"}
        assert listed(part) == [edge for edge in listed(graph) if {edge[0], edge[1]} <= inside]
        assert (part.directed, part.sorted) == (directed, graph.sorted)
        assert graph.subgraph([]).vertices == 0
        with pytest.raises(IdError, match="'zoe' is not in the graph"):
            graph.subgraph(["zoe"])


@pytest.mark.parametrize("directed", [False, True])
def test_some_edges(directed):
    for graph in graphs(directed):
        heavy = graph.edge_subgraph(graph.columns["weight"] > 4)
        assert listed(heavy) == [edge for edge in listed(graph) if edge[2] > 4]
        assert heavy.vertices == 5
        with pytest.raises(UsageError, match="a flag for each arc"):
            graph.edge_subgraph([0, 1])


def test_integer_ids_with_gaps():
    graph = af.Graph.from_edges([10, 30, 30], [30, 70, 10])
    assert graph.subgraph([70, 30]).edge_list()[0].tolist() == [30]
    assert graph.subgraph(np.array([10, 30])).edges == 2


def test_undirected_graphs_are_those_of_networkx():
    for graph in graphs(True):
        for reciprocal in (False, True):
            expected = nx.DiGraph(graph.to_networkx()).to_undirected(reciprocal=reciprocal)
            made = graph.to_undirected(reciprocal)
            ends = zip(*(end.tolist() for end in made.edge_list()[:2]), strict=True)
            assert {frozenset(pair) for pair in ends} == {frozenset(edge) for edge in expected.edges}
            assert made.edges == expected.number_of_edges()
            assert made.vertices == 5
        assert graph.to_undirected(deduplicate=None).edges == graph.edges
    assert (undirected := next(graphs(False))).to_undirected() is undirected


@pytest.mark.parametrize("directed", [False, True])
def test_sizes_and_degrees_by_id(directed):
    for graph in graphs(directed):
        there = graph.to_networkx()
        assert len(graph) == 5
        for name in NAMES:
            assert graph.degree(name) == there.degree(name)
            assert sorted(graph.neighbours(name).tolist()) == sorted(v for _, v in there.edges(name))
            if directed:
                assert (graph.in_degree(name), graph.out_degree(name)) == (
                    there.in_degree(name),
                    there.out_degree(name),
                )
                assert sorted(graph.in_neighbours(name).tolist()) == sorted(u for u, _ in there.in_edges(name))
            else:
                assert graph.in_degree(name) == graph.out_degree(name) == graph.degree(name)
        assert "ada" in graph
        assert not any(wrong in graph for wrong in ("zoe", 3, None, [], ["ada", "bob"], 2.5))
    assert af.Graph.from_edges([], [], vertices=0)
    assert 3 in af.load("path:5")
    assert 7 not in af.load("path:5")

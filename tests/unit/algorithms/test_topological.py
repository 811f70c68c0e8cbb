"""Orders, longest paths and condensations of directed graphs against NetworkX."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from library_samples import PROGRAM, drawn, multi, same_everywhere, simple

import arcflux as af
from arcflux.errors import GraphError


def acyclic(seed, n=14):
    graph = drawn(seed, directed=True, n=n)
    sources, targets, places = graph.edge_numbers()
    order = np.random.default_rng(seed).permutation(graph.vertices)
    apart = sources != targets
    ends = np.stack([order[sources[apart]], order[targets[apart]]])
    swap = order[ends[0]] > order[ends[1]]
    ends[:, swap] = ends[::-1, swap]
    weights = graph.columns["weight"][places][apart] - 2
    return af.Graph.from_edges(*ends, vertices=graph.vertices, columns={"weight": weights})


@pytest.mark.parametrize("seed", range(30))
def test_small_graphs_without_cycles(seed):
    graph = acyclic(seed)
    found = af.topological_sort(graph)
    for number, generation in enumerate(nx.topological_generations(simple(graph, directed=True))):
        assert set(np.flatnonzero(found["generation"] == number)) == set(generation)
    assert found.validate()
    length = af.dag_longest_path_length(graph)
    assert length == nx.dag_longest_path_length(multi(graph))
    path = af.dag_longest_path(graph)
    best = [max(data["weight"] for data in multi(graph)[u][v].values()) for u, v in pairwise(path)]
    assert sum(best) == length
    same_everywhere(af.topological_sort, graph, PROGRAM[1:3])


@pytest.mark.parametrize("seed", range(30))
def test_cycles_are_named_and_condensed(seed):
    graph = drawn(seed, directed=True)
    there = simple(graph, directed=True)
    loops = bool((graph.edge_numbers()[0] == graph.edge_numbers()[1]).any())
    if loops or not nx.is_directed_acyclic_graph(there):
        with pytest.raises(GraphError, match="has a cycle"):
            af.topological_sort(graph)
    small = af.condensation(graph)
    expected = nx.condensation(there)
    assert (small.vertices, small.edges) == (expected.number_of_nodes(), expected.number_of_edges())
    label = af.strongly_connected_components(graph)["component"]
    assert list(small.ids) == sorted(set(label.tolist()))
    assert af.topological_sort(small).validate()
    between = sum(label[u] != label[v] for u, v in zip(*map(list, graph.edge_numbers()[:2]), strict=True))
    assert small.columns["count"].sum() == between


def test_refusals_and_nothing():
    for call in (af.topological_sort, af.dag_longest_path, af.condensation):
        with pytest.raises(GraphError, match="undirected"):
            call("path:3")
    empty = af.Graph.from_edges([], [], vertices=0)
    assert (af.dag_longest_path(empty), af.dag_longest_path_length(empty)) == ([], 0.0)
    graph = af.Graph.from_edges([0, 1], [1, 2], columns={"cost": [2, 3], "weight": [-1, -1]})
    assert af.dag_longest_path_length(graph, weight="cost") == 5
    assert af.dag_longest_path(graph) == [0]
    assert [rule.name for rule in af.validate.topological_order(graph, [1, 0, 2]).failures] == ["edges"]
    assert [rule.name for rule in af.validate.topological_order(graph, [0, 1, 3]).failures] == ["positions"]

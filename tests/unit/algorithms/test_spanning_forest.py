"""Spanning forests against NetworkX, scipy and igraph, in every way to run."""

import igraph
import networkx as nx
import numpy as np
import pytest
from library_samples import NATIVE, drawn, multi, same_everywhere
from scipy.sparse.csgraph import minimum_spanning_tree as scipy_tree

import arcflux as af
from arcflux.errors import GraphError, WeightError


def chosen_edges(found):
    """The chosen edges as (low, high, weight), by number."""
    graph = found.graph
    sources, targets, places = graph.edge_numbers()
    picked = found.edges["chosen"][places]
    weights = graph.columns["weight"][places]
    return sorted(zip(sources[picked].tolist(), targets[picked].tolist(), weights[picked].tolist(), strict=True))


@pytest.mark.parametrize("seed", range(40))
def test_small_multigraphs_have_the_forest_of_kruskal(seed):
    graph = drawn(seed)
    found = af.minimum_spanning_tree(graph)
    expected = nx.minimum_spanning_edges(multi(graph), data=True, keys=False)
    # NetworkX takes edges in the order of its nodes' dicts; ties there are those of the first place here.
    assert sum(edge[2] for edge in chosen_edges(found)) == sum(data["weight"] for _, _, data in expected)
    found.validate().raise_for_failure()
    heavy = af.maximum_spanning_tree(graph)
    expected = nx.maximum_spanning_edges(multi(graph), data=True, keys=False)
    assert heavy.totals["weight"] == sum(data["weight"] for _, _, data in expected)
    heavy.validate().raise_for_failure()
    np.testing.assert_array_equal(found["tree"], af.connected_components(graph)["component"])


@pytest.mark.parametrize(
    "spec", ["kron:9,ef=4,weights=1-9", "urand:n=300,m=420,weights=1-99", "grid:12x15,weights=1-3"]
)
def test_larger_graphs_everywhere(spec):
    graph = af.load(spec)
    found = same_everywhere(af.minimum_spanning_tree, graph, NATIVE)
    found.validate().raise_for_failure()
    sources, targets, places = graph.edge_numbers()
    weights = graph.columns["weight"][places]
    apart = sources != targets
    pairs = np.stack([sources, targets], 1)[apart].tolist()
    there = igraph.Graph(n=graph.vertices, edges=pairs)
    tree = there.spanning_tree(weights=weights[apart].tolist(), return_tree=False)
    assert found.totals["weight"] == weights[apart][tree].sum()
    simple = af.Graph.from_edges(sources, targets, columns={"weight": weights}, directed=False, deduplicate="min")
    assert found.totals["weight"] == scipy_tree(simple.to_scipy()).sum()
    own = found.pairs()
    assert len(own[0]) == len(tree)
    assert (np.diff(graph.columns["weight"][found.places]) >= 0).all()
    assert found.subgraph().edges == len(tree)


def test_ties_go_to_the_edge_that_comes_first():
    graph = af.Graph.from_edges([0, 0, 1, 2], [1, 2, 2, 3], columns={"weight": [1, 1, 1, 1]}, directed=False)
    expected = list(nx.minimum_spanning_edges(graph.to_networkx(), data=False))
    assert [ends.tolist() for ends in af.minimum_spanning_tree(graph).pairs()] == [
        list(ends) for ends in zip(*expected, strict=True)
    ]


def test_weights_of_all_kinds_and_none():
    ends, kinds = ([0, 1, 2], [1, 2, 0]), ([-3, 2, 0], [2**62, -(2**62), 5], [0.5, -np.inf, 1.0], [True, False, False])
    for weights in kinds:
        graph = af.Graph.from_edges(*ends, columns={"weight": np.array(weights)}, directed=False)
        left_out = int(np.argmax(graph.columns["weight"][graph.edge_numbers()[2]]))
        assert not af.minimum_spanning_tree(graph).edges["chosen"][graph.edge_numbers()[2]][left_out]
    assert af.minimum_spanning_tree("path:4").totals["weight"] == 3
    assert af.minimum_spanning_tree(af.Graph.from_edges([], [], vertices=3, directed=False))["tree"].tolist() == [
        0,
        1,
        2,
    ]
    assert af.minimum_spanning_tree(af.Graph.from_edges([], [], vertices=0, directed=False))["tree"].size == 0


@pytest.mark.parametrize("weights", [[2**64 - 1, 2**63, 7], [2**63 - 1] * 3, [-(2**63), 5, -(2**63)], [-1, 3, -9]])
def test_totals_do_not_wrap_around(weights):
    dtype = np.uint64 if max(weights) >= 2**63 else np.int64
    graph = af.Graph.from_edges([0, 1, 2], [1, 2, 3], columns={"weight": np.array(weights, dtype)}, directed=False)
    for call in (af.minimum_spanning_tree, af.maximum_spanning_tree):
        found = call(graph)
        assert found.totals["weight"] == sum(weights)
        found.validate().raise_for_failure()


@pytest.mark.parametrize(
    "drawn_by", [lambda rng, m: rng.random(m), lambda rng, m: rng.integers(-(2**62), 2**62, m),
                 lambda rng, m: rng.integers(-9, 9, m) * 2**40 + 3, lambda rng, m: rng.integers(-3, 3, m)],
)  # fmt: skip
@pytest.mark.parametrize("edges", [300, 4000])
def test_weights_that_32_bits_tell_apart_or_not_in_one_batch_and_in_two(drawn_by, edges):
    rng = np.random.default_rng(edges)
    source, target = rng.integers(0, 250, (2, edges))
    columns = {"weight": drawn_by(rng, edges)}
    graph = af.Graph.from_edges(source, target, columns=columns, directed=False, vertices=250)
    same_everywhere(af.minimum_spanning_tree, graph, NATIVE).validate().raise_for_failure()
    af.maximum_spanning_tree(graph, threads=2).validate().raise_for_failure()


def test_refusals():
    graph = af.Graph.from_edges([0], [1], columns={"cost": [1.0]}, directed=False)
    with pytest.raises(GraphError, match="directed"):
        af.minimum_spanning_tree(af.Graph.from_edges([0], [1]))
    with pytest.raises(WeightError, match="no column 'weigth'"):
        af.minimum_spanning_tree(graph, weight="weigth")
    with pytest.raises(WeightError, match="NaN"):
        af.minimum_spanning_tree(af.Graph.from_edges([0], [1], columns={"weight": [np.nan]}, directed=False))


def test_the_check_finds_what_is_wrong():
    graph = af.Graph.from_edges([0, 1, 2], [1, 2, 0], columns={"weight": [3, 1, 2]}, directed=False)
    broken = {rule.name for rule in af.validate.spanning_forest(graph, [True] * 6).failures}
    assert broken == {"acyclic"}
    heavy = af.maximum_spanning_tree(graph).edges["chosen"]
    assert [rule.name for rule in af.validate.spanning_forest(graph, heavy).failures] == ["weight"]
    assert "spans" in {rule.name for rule in af.validate.spanning_forest(graph, [False] * 6).failures}

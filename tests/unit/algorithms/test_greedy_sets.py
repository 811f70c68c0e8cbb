"""Independent sets, colours and matchings: by their definitions, by the greedy algorithms one at a time, everywhere."""

import networkx as nx
import numpy as np
import pytest
from library_samples import PROGRAM, UNDIRECTED, drawn, multi, same_everywhere, simple

import arcflux as af
from arcflux.errors import GraphError, UsageError


def is_maximal_independent(there, inside):
    return not any(inside[u] and inside[v] for u, v in there.edges) and all(
        inside[v] or any(inside[u] for u in there[v]) for v in there
    )


@pytest.mark.parametrize("seed", range(20))
def test_small_multigraphs(seed):
    graph, there = drawn(seed), simple(drawn(seed))
    inside = af.maximal_independent_set(graph, seed=seed)
    assert is_maximal_independent(there, inside["inside"])
    inside.validate().raise_for_failure()
    color = af.greedy_color(graph)
    assert color.to_dict("color") == nx.greedy_color(multi(graph))
    color.validate().raise_for_failure()
    mate = af.maximal_matching(graph, seed=seed)
    pairs = {tuple(sorted((v, int(u)))) for v, u in enumerate(mate["mate"]) if u >= 0}
    assert nx.is_maximal_matching(there, pairs)
    assert 2 * len(pairs) == (mate["mate"] >= 0).sum()
    mate.validate().raise_for_failure()


@pytest.mark.parametrize("spec", UNDIRECTED)
def test_larger_graphs_everywhere(spec):
    graph = af.load(spec)
    there = simple(graph)
    inside = same_everywhere(af.maximal_independent_set, graph, PROGRAM, seed=3)
    assert is_maximal_independent(there, inside["inside"])
    color = same_everywhere(af.greedy_color, graph, PROGRAM)
    assert color.to_dict("color") == nx.greedy_color(multi(graph))
    mate = same_everywhere(af.maximal_matching, graph, PROGRAM, seed=3)
    mate.validate().raise_for_failure()
    assert (mate["mate"] >= 0).sum() / 2 >= len(nx.max_weight_matching(there, maxcardinality=True)) / 2


def test_more_colours_than_a_word_has_bits():
    found = af.greedy_color("complete:130")
    assert sorted(found["color"].tolist()) == list(range(130))


def test_seeds_matter_and_plain_python_agrees():
    graph = af.load("urand:n=60,m=150")
    one, other = (af.maximal_independent_set(graph, seed=seed)["inside"] for seed in (1, 2))
    assert (one != other).any()
    for call in (af.maximal_independent_set, af.maximal_matching, af.greedy_color):
        found = call(graph, debug=True)
        for name in found.values:
            np.testing.assert_array_equal(found.values[name], call(graph).values[name])
    by_chance = [af.greedy_color(graph, "random_sequential", seed=seed) for seed in (1, 2)]
    assert (by_chance[0]["color"] != by_chance[1]["color"]).any()
    assert all(found.validate() for found in by_chance)


def test_vertices_that_have_to_be_inside():
    graph = af.load("grid:5x5")
    found = af.maximal_independent_set(graph, nodes=[7, 17])
    assert found["inside"][[7, 17]].all()
    assert found.validate()
    with pytest.raises(UsageError, match="7 and 8, which are neighbours"):
        af.maximal_independent_set(graph, nodes=[8, 7])


def test_directed_graphs():
    directed = af.Graph.from_edges([0, 1, 2], [1, 2, 0])
    for call in (af.maximal_independent_set, af.maximal_matching):
        with pytest.raises(GraphError, match="directed"):
            call(directed)
    assert sorted(af.greedy_color(directed)["color"].tolist()) == [0, 1, 2]
    with pytest.raises(UsageError, match="strategy is 'DSATUR'"):
        af.greedy_color("path:3", "DSATUR")


def test_checks_find_what_is_wrong():
    assert [rule.name for rule in af.validate.independent_set("path:3", [True, True, False]).failures] == [
        "independent"
    ]
    assert not af.validate.coloring("path:3", [0, 0, 1])
    assert [rule.name for rule in af.validate.coloring("path:3", [0, 3, 0]).failures] == ["range"]
    assert [rule.name for rule in af.validate.matching("path:4", [-1, -1, 3, 2]).failures] == ["maximal"]
    assert [rule.name for rule in af.validate.matching("path:4", [2, 3, 0, 1]).failures] == ["pairs"]

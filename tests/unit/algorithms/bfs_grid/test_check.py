"""MapGraph's own validation: wrong searches are found, and counted as plain Python counts them."""

import pytest
from grid_oracles import GRIDS, cases
from hypothesis import given, settings
from hypothesis import strategies as st

import arcflux as af
from arcflux.errors import UsageError


def counts(n, arcs, root, level, parent):
    """How many chains, arcs out of the tree and arcs down more than one level are wrong."""

    def arrives(v):
        for _ in range(n):
            if v == root:
                return True
            if parent[v] < 0:
                return False
            v = parent[v]
        return v == root

    tree = [v for v in range(n) if parent[v] >= 0]
    inside = set(tree)
    leaving = [(u, v) for u, v, *_ in arcs if u in inside]
    return (
        sum(not arrives(v) for v in tree),
        sum(v not in inside for _, v in leaving),
        sum(v in inside and level[v] > level[u] + 1 for u, v in leaving),
    )


@settings(max_examples=60, deadline=None)
@given(cases(most=20), st.sampled_from(list(GRIDS)), st.sampled_from([None, 1, 2]), st.data())
def test_any_levels_and_parents_are_judged_as_plain_python_does(case, k, ranks_per_node, data):
    graph, arcs, root = case
    n = graph.vertices
    level = data.draw(st.lists(st.integers(-1, n - 1), min_size=n, max_size=n))
    parent = data.draw(st.lists(st.integers(-1, n - 1), min_size=n, max_size=n))
    if data.draw(st.booleans()):
        parent[root] = root
    report = af.validate.grid_bfs(graph, root, level, parent, k, ranks_per_node=ranks_per_node)
    found = tuple(report[name].count for name in ("grid-chain", "grid-span", "grid-level"))
    assert found == counts(n, arcs, root, level, parent)
    for name in ("grid-chain", "grid-span", "grid-level"):
        assert len(report[name].offences) == min(10, report[name].count)


@pytest.mark.parametrize(
    ("field", "vertex", "value", "rule"),
    [
        ("parent", 2, 3, "grid-chain"),
        ("parent", 4, -1, "grid-span"),
        ("level", 4, 5, "grid-level"),
        ("parent", 3, 0, "parent-edge"),
        ("level", 0, 1, "source"),
    ],
)
def test_validate_of_a_result_finds_it(field, vertex, value, rule):
    result = af.bfs(af.load("path:6"), 0, parts=4, partition="grid", ranks_per_node=2)
    assert result.validate().ok
    result.values[field][vertex] = value
    assert not result.validate()[rule].passed


def test_a_long_cycle_ends():
    n = 1000
    graph = af.load(f"cycle:{n}")
    level = [min(v, n - v) for v in range(n)]
    round_and_round = [(v + 1) % n for v in range(n)]
    report = af.validate.grid_bfs(graph, 0, level, round_and_round, parts=9)
    assert report["grid-chain"].count == 0  # from everywhere it goes on to the source, n - 1 steps at most
    round_and_round[n - 1] = 1
    report = af.validate.grid_bfs(graph, 0, level, round_and_round, parts=9)
    assert report["grid-chain"].count == n - 1
    assert report["grid-chain"].offences[0].vertex == 1


def test_offences_name_the_users_ids():
    graph = af.Graph.from_edges(["a", "b", "c"], ["b", "c", "d"], vertices=["a", "b", "c", "d"])
    report = af.validate.grid_bfs(graph, "a", [0, 1, 2, -1], ["a", "a", "b", None], parts=4)
    (offence,) = report["grid-span"].offences
    assert (offence.vertex, offence.found) == ("d", "outside the tree")
    assert "c -> d" in offence.expected


def test_what_is_no_grid_is_refused():
    with pytest.raises(UsageError, match="7 parts"):
        af.validate.grid_bfs(af.load("path:4"), 0, [0, 1, 2, 3], [0, 0, 1, 2], parts=7)
    with pytest.raises(UsageError, match="by ranges"):
        af.validate.grid_bfs(
            af.load("path:4"), 0, [0, 1, 2, 3], [0, 0, 1, 2], parts=af.partition("path:4", 4, "ranges")
        )

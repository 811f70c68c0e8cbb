"""Graph.from_edges against a graph made of dicts and lists."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from plain_graph import DoesNotFitError, given_edges

from arcflux.errors import GraphError
from arcflux.graph import Graph, build


def rows_of(adjacency, columns):
    """Adjacency as a list of rows of (neighbour, values)."""
    offsets = adjacency.offsets.tolist()
    values = [list(column) for column in columns.values()]
    arcs = [(int(v), tuple(column[i] for column in values)) for i, v in enumerate(adjacency.neighbours)]
    return [arcs[begin:end] for begin, end in pairwise(offsets)]


def exact(rows):
    """Rows with every value as its type and bytes, so that NaN equals NaN and 0.0 is not -0.0."""
    return [[(v, [(x.dtype, "nan" if x != x else x.tobytes()) for x in values]) for v, values in row] for row in rows]


def check(edges):
    """Build, and compare everything with the plain graph."""
    try:
        plain = edges.plain()
    except DoesNotFitError:
        with pytest.raises(GraphError, match="sum over parallel edges does not fit"):
            Graph.from_edges(*edges.ends, columns=edges.columns, **edges.options)
        return
    g = Graph.from_edges(*edges.ends, columns=edges.columns, **edges.options)
    assert g.ids.to_ids().tolist() == plain.ids
    assert exact(rows_of(g.out, g.columns)) == exact(plain.rows)
    assert exact(rows_of(g.into, g.in_columns)) == exact(plain.in_rows)
    assert (g.vertices, g.edges, g.arcs) == (len(plain.ids), plain.edges, sum(map(len, plain.rows)))
    assert g.out_degrees.tolist() == [len(row) for row in plain.rows]
    assert g.in_degrees.tolist() == [len(row) for row in plain.in_rows]
    assert (g.changes.edges_given, g.changes.self_loops_dropped) == (len(edges.source), plain.loops_dropped)
    assert g.changes.parallel_edges_merged == plain.merged
    assert not g.changes.symmetrised
    assert g.sorted == edges.options["sort"]


@settings(max_examples=200, deadline=None)
@given(given_edges())
def test_a_graph_has_the_rows_columns_ids_and_counts_of_the_plain_one(edges):
    check(edges)


@settings(max_examples=60, deadline=None)
@given(given_edges())
def test_tiny_buckets_change_nothing(edges):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "_BUCKET_ARCS", 3)
        check(edges)


@settings(max_examples=60, deadline=None)
@given(given_edges())
def test_edges_come_back_out_in_the_users_ids(edges):
    edges.options |= {"deduplicate": None, "sort": True}
    g = Graph.from_edges(*edges.ends, columns=edges.columns, **edges.options)
    source, target, columns = g.edge_list()
    assert len(source) == g.edges
    if not g.directed:
        assert all(a <= b for a, b in zip(source, target, strict=True))
    again = Graph.from_edges(source, target, columns=columns, directed=g.directed, vertices=g.ids.to_ids())
    assert again.equals(g)


@settings(max_examples=60, deadline=None)
@given(given_edges())
def test_neighbours_and_has_edge_speak_the_users_ids(edges):
    edges.columns = {}
    plain = edges.plain()
    g = Graph.from_edges(*edges.ends, **edges.options)
    for u, row in enumerate(plain.rows):
        assert g.neighbours(plain.ids[u]).tolist() == [plain.ids[v] for v, _ in row]
        for v in range(len(plain.ids)):
            assert g.has_edge(plain.ids[u], plain.ids[v]) == (v in dict(row))


@pytest.mark.parametrize("directed", [True, False])
def test_parallel_edges_keep_their_input_order_in_the_columns(directed):
    source, target = np.tile([0, 1, 2, 1], 500), np.tile([1, 0, 2, 2], 500)
    g = Graph.from_edges(source, target, columns={"order": np.arange(2000)}, directed=directed, threads=3)
    order = np.split(g.columns["order"], g.out.offsets[1:-1].astype(int))
    if directed:
        assert order[0].tolist() == list(range(0, 2000, 4))
        assert order[1].tolist() == [*range(1, 2000, 4), *range(3, 2000, 4)]
    else:
        both = sorted([*range(0, 2000, 4), *range(1, 2000, 4)])
        assert order[0].tolist() == both
        assert order[1].tolist() == [*both, *range(3, 2000, 4)]
        assert order[2].tolist() == [*range(3, 2000, 4), *range(2, 2000, 4)]


def test_symmetrise_is_undirected_and_says_so():
    g = Graph.from_edges([0, 1, 1], [1, 0, 1], symmetrise=True)
    assert not g.directed
    assert g.equals(Graph.from_edges([0, 1, 1], [1, 0, 1], directed=False))
    assert g.changes.symmetrised
    assert g.changes.lines() == ["every edge was added in the other direction too"]
    assert not Graph.from_edges([0], [1], directed=False, symmetrise=True).changes.symmetrised


def test_numbers_do_not_depend_on_the_order_of_the_edges():
    ids = np.array([5, -3, 10**15, 7, 5, -3, 42, 2**62])
    shuffled = np.random.default_rng(3).permutation(len(ids))
    one, other = (Graph.from_edges(ends, np.roll(ends, 1)) for ends in (ids, ids[shuffled]))
    assert one.ids.to_ids().tolist() == other.ids.to_ids().tolist() == sorted(set(ids.tolist()))


@pytest.mark.parametrize("drop", [True, False])
@pytest.mark.parametrize("directed", [True, False])
def test_only_self_loops(directed, drop):
    g = Graph.from_edges([3, 900_000_000_000], [3, 900_000_000_000], directed=directed, drop_self_loops=drop)
    assert g.ids.to_ids().tolist() == [3, 900_000_000_000]
    assert g.edges == g.arcs == (0 if drop else 2)
    assert g.changes.self_loops_dropped == (2 if drop else 0)
    dense = Graph.from_edges([2, 4], [2, 4], directed=directed, drop_self_loops=drop)
    assert dense.ids.to_ids().tolist() == [2, 4]


@pytest.mark.parametrize("directed", [True, False])
def test_graphs_of_nothing_and_of_one(directed):
    nothing = Graph.from_edges([], [], directed=directed, columns={"weight": []})
    assert (nothing.vertices, nothing.edges, nothing.into.offsets.tolist()) == (0, 0, [0])
    assert [ends.tolist() for ends in nothing.edge_list()[:2]] == [[], []]
    one = Graph.from_edges([], [], vertices=1, directed=directed)
    assert (one.vertices, one.edges, one.neighbours(0).tolist(), one.has_edge(0, 0)) == (1, 0, [], False)
    lonely = Graph.from_edges([], [], vertices=["b", "", "a"], directed=directed)
    assert lonely.ids.to_ids().tolist() == ["", "a", "b"]
    assert lonely.neighbours("").tolist() == []


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ({"source": [0], "target": [1, 2]}, "1 sources and 2 targets"),
        ({"deduplicate": "mean"}, "deduplicate is 'mean'"),
        ({"deduplicate": "min", "sort": False}, "deduplicate needs sorted neighbours"),
        ({"columns": {"w": [1, 2]}}, "has shape"),
        ({"columns": {"w": 1}}, "has shape"),
        ({"columns": {"no name": [1]}}, "named 'no name'"),
        ({"columns": {1: [1]}}, "named 1"),
        ({"columns": {"w": ["x"]}}, "holds <U1"),
        ({"columns": {"w": [None]}}, "holds object"),
        ({"columns": {"w": [1j]}}, "holds complex128"),
        ({"columns": {"w": np.zeros(1, np.longdouble)}}, "holds "),
        ({"columns": {"w": np.zeros(1, np.float16)}}, "holds float16"),
        ({"columns": {"w": np.zeros(1, "M8[s]")}}, "holds datetime64"),
        ({"columns": {"w": np.ma.masked_array([1], [True])}}, "missing"),
    ],
)
def test_what_makes_no_graph_is_refused(arguments, what):
    with pytest.raises(GraphError, match=what):
        Graph.from_edges(**({"source": [0], "target": [1]} | arguments))


def test_columns_in_another_byte_order_are_read():
    g = Graph.from_edges([0, 0], [2, 1], columns={"w": np.array([3, 5], ">i4"), "f": np.array([0.5, 1], ">f8")})
    assert g.columns["w"].tolist() == [5, 3]
    assert g.columns["f"].tolist() == [1, 0.5]
    assert g.columns["w"].dtype == np.int32

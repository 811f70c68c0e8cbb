"""Conversion of NetworkX's dicts, by kernels and in Python, against a loop over them."""

import os
import subprocess
import sys
import tracemalloc

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arcflux.integrations.networkx import dicts, objects
from arcflux.integrations.networkx.convert import convert_from_nx

KINDS = (nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph)


class Named:
    """A node with a hash and an equality of its own, which count how often they are asked for."""

    asked = 0

    def __init__(self, name):
        self.name = name

    def __hash__(self):
        type(self).asked += 1
        return hash(("named", self.name))

    def __eq__(self, other):
        type(self).asked += 1
        return isinstance(other, Named) and self.name == other.name


# -1 and -2 have one hash, and so have 2**61 and 2: these are told apart in Python alone.
LABELS = {
    "plain": list(range(8)),
    "mixed": [5, -3, "a", (1, 2), 2.5, "", frozenset([1]), b"x"],
    "alike": [-1, -2, 2**61 + 1, 2, 0, 1, "b", 7],
    "named": [Named(k) for k in range(8)],
}
numbers = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False)
weights = st.none() | st.integers(-9, 9) | st.floats(-9, 9) | st.booleans() | numbers


def walked(rows, multigraph):
    """Ends and data of all arcs in the order of the dicts."""
    number = {node: k for k, node in enumerate(rows)}
    found = []
    for u, row in rows.items():
        for v, data in row.items():
            found += [(number[u], number[v], one) for one in (data.values() if multigraph else [data])]
    return found


@st.composite
def graphs(draw, values=weights):
    graph = draw(st.sampled_from(KINDS))()
    labels = LABELS[draw(st.sampled_from(sorted(LABELS)))]
    graph.add_nodes_from(labels[: draw(st.integers(0, 8))])
    pairs = st.tuples(st.sampled_from(labels), st.sampled_from(labels), values)
    for u, v, weight in draw(st.lists(pairs, max_size=30)):
        graph.add_edge(u, v, **({} if weight is None else {"weight": weight}), colour="red")
    graph.remove_nodes_from(list(graph)[: draw(st.integers(0, 1))])
    return graph


def check(graph):
    found, expected = convert_from_nx(graph), walked(graph._adj, graph.is_multigraph())
    assert found.nodes == list(graph)
    assert list(zip(found.tails.tolist(), found.graph.out.neighbours.tolist(), strict=True)) == [
        (u, v) for u, v, _ in expected
    ]
    assert found.graph.edges == graph.number_of_edges()
    if graph.is_directed():
        into = [(v, u) for u, v, _ in walked(graph._pred, graph.is_multigraph())]
        offsets, neighbours = found.reverse.out
        heads = np.repeat(np.arange(len(graph)), np.diff(offsets).astype(np.int64))
        assert list(zip(neighbours.tolist(), heads.tolist(), strict=True)) == into
    for default in (1, 0.5, -7):
        values = np.array([data.get("weight", default) for _, _, data in expected], None if expected else np.int64)
        column = found.column("weight", default)
        assert column.dtype == values.dtype
        assert column.tobytes() == values.tobytes()


@settings(max_examples=300, deadline=None)
@given(graphs())
def test_arrays_are_what_a_loop_finds(graph):
    check(graph)


@settings(max_examples=100, deadline=None)
@given(graphs())
def test_python_finds_what_kernels_do(graph):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dicts, "possible", lambda: False)
        check(graph)


@pytest.mark.parametrize("kind", KINDS)
def test_kernels_read_all_plain_objects_and_call_no_node(kind, monkeypatch):
    graph = kind()
    nodes = LABELS["named"] + LABELS["mixed"]
    graph.add_weighted_edges_from((u, v, 2.5) for u in nodes for v in nodes)
    monkeypatch.setattr(dicts, "_by_python", None)
    monkeypatch.setattr(dicts, "_columns_by_python", lambda graph, defaults, arcs: dict(defaults))
    Named.asked = 0
    found = convert_from_nx(graph, {"weight": 1})
    assert Named.asked == 8  # each hash once, for the table
    assert found.column("weight").tolist() == [2.5] * found.graph.arcs


@pytest.mark.parametrize("kind", KINDS)
def test_graphs_of_several_blocks(kind):
    rng = np.random.default_rng(2)
    graph = kind()
    ends = rng.integers(0, 300, (2, 2 * objects.BLOCK + 77)).tolist()
    graph.add_weighted_edges_from((f"n{u}", f"n{v}", k) for k, (u, v) in enumerate(zip(*ends, strict=True)))
    check(graph)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [int, "n{}".format])
@pytest.mark.parametrize("attributes", [None, {"weight": 1}])
def test_conversion_takes_hardly_more_memory_than_what_it_makes(kind, name, attributes):
    graph = kind()
    graph.add_nodes_from(map(name, range(2000)))
    ends = np.random.default_rng(1).integers(0, 2000, (2, 20_000 if kind in KINDS[::2] else 40_000)).tolist()
    graph.add_weighted_edges_from((name(u), name(v), 2.5) for u, v in zip(*ends, strict=True))
    convert_from_nx(graph, attributes)  # compiles
    tracemalloc.start()
    made = convert_from_nx(graph, attributes)
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 1.05 * (sum(array.nbytes for array in (*made.graph.out, *made._columns.values())) + 8 * len(graph))
    assert peak < 1.3 * kept


def test_a_row_of_another_class_and_a_view_are_read_in_python():
    class Row(dict):
        pass

    class Rows(nx.Graph):
        adjlist_inner_dict_factory = Row

    graph = Rows([(0, 1), (1, 2), (2, 2)])
    check(graph)
    check(nx.path_graph(6).subgraph([1, 2, 4, 5]))
    check(nx.freeze(nx.gnp_random_graph(9, 0.5, seed=1)))


@pytest.mark.parametrize("value", [2**63, "heavy", None, [1], 2**64, np.float32(0.5), np.int64(3), True])
def test_a_value_that_is_no_plain_number_is_left_to_numpy(value):
    graph = nx.path_graph(4)
    graph.edges[1, 2]["weight"] = value
    expected = np.array([1, 1, value, value, 1, 1]) if type(value) is not list else np.empty(0, object)
    if expected.dtype.kind in "iufb":
        found = convert_from_nx(graph, {"weight": 1}).column("weight")
        assert found.dtype == expected.dtype
        assert found.tolist() == expected.tolist()
    else:
        with pytest.raises(NotImplementedError):
            convert_from_nx(graph, {"weight": 1})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("change", [lambda graph: graph.add_edge(0, 3), lambda graph: graph.remove_edge(1, 2)])
def test_attributes_of_a_graph_that_has_changed_since_are_refused(kind, change):
    graph = nx.path_graph(4, create_using=kind)
    found = convert_from_nx(graph)
    change(graph)
    with pytest.raises(RuntimeError, match="changed after"):
        found.column("weight")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("change", [lambda graph: graph.add_edge(0, 3), lambda graph: graph.remove_edge(1, 2)])
def test_rows_that_change_under_the_kernel_are_noticed(kind, change, monkeypatch):
    graph, call = nx.path_graph(4, create_using=kind), dicts.call

    def changing(walk, *arguments):
        if walk is objects.fill_neighbours:
            change(graph)
        call(walk, *arguments)

    monkeypatch.setattr(dicts, "call", changing)
    with pytest.raises(RuntimeError, match="changed while"):
        convert_from_nx(graph)


def test_a_neighbour_that_is_no_node_is_an_error():
    graph = nx.path_graph(3)
    graph._adj[1][7] = {}
    with pytest.raises(KeyError):
        convert_from_nx(graph)


PUBLIC = """
import sys
import arcflux, numba, networkx as nx, numpy as np
from arcflux.integrations.networkx import kernels
sys.version_info = (3, 13, 0, "final", 0)
from arcflux.integrations.networkx import dicts, objects
sys.version_info = real = sys.implementation.version
assert not objects._HASHED
from arcflux.integrations.networkx.convert import convert_from_nx
for nodes, by_kernel in ((list(range(9)), True), (["a", "b", 3, -9], True), ([1.5, (2, 3), 4], False)):
    graph = nx.complete_graph(nodes)
    with_loop = nx.Graph(graph)
    with_loop.add_edge(nodes[1], nodes[1])
    number = {node: k for k, node in enumerate(nodes)}
    expected = [number[v] for row in with_loop._adj.values() for v in row]
    python, dicts._by_python = dicts._by_python, None if by_kernel else dicts._by_python
    found = convert_from_nx(with_loop)
    dicts._by_python = python
    assert found.graph.out.neighbours.tolist() == expected and found.graph.edges == with_loop.number_of_edges()
print("same")
"""


@pytest.mark.skipif(not objects._HASHED, reason="the other tests use it already")
def test_without_hashes_of_dicts_those_of_plain_nodes_are_taken(tmp_path):
    environment = {**os.environ, "ARCFLUX_CACHE": str(tmp_path)}
    made = subprocess.run([sys.executable, "-c", PUBLIC], env=environment, capture_output=True, text=True, check=False)
    assert made.stdout.strip() == "same", made.stderr

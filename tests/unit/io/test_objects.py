"""Graphs of other libraries, in and out, against what those libraries say of them."""

import subprocess
import sys

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import arcflux as af
from arcflux.errors import FormatError, GraphError, IdError, MissingExtraError, UsageError
from arcflux.io import objects
from arcflux.io.objects import read_object


def edges_of(graph):
    source, target, columns = graph.edge_list()
    return sorted(zip(source.tolist(), target.tolist(), *(column.tolist() for column in columns.values()), strict=True))


@st.composite
def graphs(draw):
    ids = draw(
        st.one_of(
            st.integers(0, 8).map(lambda n: list(range(n))),
            st.lists(st.integers(-(2**63), 2**63 - 1), unique=True, max_size=8),
            st.lists(st.text("abc", min_size=1, max_size=3), unique=True, max_size=8),
        )
    )
    pairs = draw(st.lists(st.tuples(st.sampled_from(ids), st.sampled_from(ids)), max_size=25)) if ids else []
    columns = {}
    if pairs and draw(st.booleans()):
        size = {"min_size": len(pairs), "max_size": len(pairs)}
        columns["weight"] = np.array(draw(st.lists(st.integers(-100, 100), **size)), np.int64)
        columns["cost"] = np.array(draw(st.lists(st.floats(allow_nan=False), **size)), np.float64)
    kind = object if ids and isinstance(ids[0], str) else np.int64
    source, target = (np.array([pair[side] for pair in pairs], kind) for side in (0, 1))
    vertices = np.array(ids, kind)
    return af.Graph.from_edges(source, target, columns=columns, vertices=vertices, directed=draw(st.booleans()))


# --- there and back ------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=40)
@given(graphs())
def test_networkx_there_and_back(graph):
    there = objects.to_networkx(graph)
    assert (there.number_of_nodes(), there.number_of_edges()) == (graph.vertices, graph.edges)
    assert there.is_directed() == graph.directed
    assert af.load(there).equals(graph)


@settings(deadline=None, max_examples=40)
@given(graphs())
def test_igraph_there_and_back(graph):
    there = objects.to_igraph(graph)
    assert (there.vcount(), there.ecount(), there.is_directed()) == (graph.vertices, graph.edges, graph.directed)
    assert af.load(there).equals(graph)


@settings(deadline=None, max_examples=40)
@given(graphs())
def test_tables_there_and_back(graph):
    assert af.load(objects.to_arrow(graph)).equals(graph)
    for frame in (objects.to_pandas(graph), objects.to_polars(graph)):
        assert list(frame.columns) == ["source", "target", *graph.columns]
        vertices = graph.ids.to_ids()
        assert af.load(frame, directed=graph.directed, vertices=vertices).equals(graph)


@settings(deadline=None, max_examples=40)
@given(graphs())
def test_scipy_is_the_adjacency_matrix(graph):
    matrix = objects.to_scipy(graph)
    expected = np.zeros((graph.vertices, graph.vertices))
    sources = np.repeat(np.arange(graph.vertices), graph.out_degrees.astype(int))
    np.add.at(expected, (sources, graph.out.neighbours.astype(int)), graph.columns.get("weight", 1))
    assert (matrix.astype(float).toarray() == expected).all()
    back = af.load(matrix)
    assert back.arcs == graph.arcs
    assert back.weighted == graph.weighted


# --- arrays and lists -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "edges"),
    [
        (np.array([[5, 7], [7, 9]]), [(5, 7), (7, 9)]),
        (np.array([[5, 7, 1], [7, 9, 2]]), [(5, 7, 1), (7, 9, 2)]),
        (np.array([[5, 7, 0.5], [7, 9, 2]]), [(5, 7, 0.5), (7, 9, 2.0)]),
        (np.array([["a", "b"], ["b", "c"]]), [("a", "b"), ("b", "c")]),
        (np.array([["a", "b", 3], ["b", "c", 4]], object), [("a", "b", 3), ("b", "c", 4)]),
        (np.empty((0, 2), int), []),
        (([1, 2], [2, 3]), [(1, 2), (2, 3)]),
        ((np.array([1, 2]), np.array([2, 3]), [0.5, 1]), [(1, 2, 0.5), (2, 3, 1.0)]),
        ((pd.Series(["a"]), pd.Series(["b"])), [("a", "b")]),
        ((pl.Series([1]), pl.Series([2])), [(1, 2)]),
        ([(1, 2), (2, 3)], [(1, 2), (2, 3)]),
        ([["a", "b", 1.5]], [("a", "b", 1.5)]),
        ([], []),
    ],
)
def test_arrays_and_lists(source, edges):
    graph = af.load(source)
    assert edges_of(graph) == edges
    assert graph.directed
    assert graph.assumptions


@pytest.mark.parametrize(
    ("source", "error", "words"),
    [
        (np.zeros((4, 4)), FormatError, "csr_array"),
        (np.arange(6), FormatError, "shape"),
        (np.zeros((3, 2)), IdError, "float64"),
        (np.array([[0.5, 1, 2]]), IdError, "fractions"),
        (np.array([[np.nan, 1, 2]]), IdError, "fractions"),
        (np.array([["a", "b", "c"]]), GraphError, "weight"),
        (((0, 1), (1, 2)), UsageError, "list"),
        (([1],), UsageError, "sources"),
        (([1, 2], [3]), GraphError, "2 sources and 1 targets"),
        (([1], [2], ["x"]), GraphError, "weights"),
        (([1], [2], [[1, 2]]), GraphError, "weight"),
        ([(1, 2), (3,)], FormatError, "item 1"),
        ([1, 2], FormatError, "item 0"),
        ([np.array([1, 2]), np.array([2, 3])], FormatError, "tuple"),
        ([(1, "a")], IdError, "two kinds"),
        ([(1, 2), ("a", 3)], IdError, "int, str"),
        ([(1.5, 2)], IdError, "float"),
        ([(True, False)], IdError, "bool"),
        ([(None, 1)], IdError, "NoneType"),
        ([(2**70, 1)], IdError, "64 bits"),
        (object(), UsageError, "__arrow_c_stream__"),
        (7, UsageError, "NetworkX"),
        ({1: [2]}, UsageError, "NetworkX"),
        (pl.Series([1]), FormatError, "Series"),
    ],
)
def test_what_is_no_graph(source, error, words):
    with pytest.raises(error) as caught:
        af.load(source)
    assert words in str(caught.value)


# --- scipy ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"])
def test_scipy_in_every_layout(kind):
    dense = np.array([[0, 2, 0], [0, 0, 3], [4, 0, 0]])
    for matrix in (sparse.coo_array(dense).asformat(kind), sparse.coo_matrix(dense).asformat(kind)):
        graph = af.load(matrix)
        assert edges_of(graph) == [(0, 1, 2), (1, 2, 3), (2, 0, 4)]
        assert matrix.toarray().tolist() == dense.tolist()


def test_scipy_values():
    pair = ([0, 0, 1], [1, 1, 0])
    graph = af.load(sparse.coo_array(([1.0, 1.0, 0.0], pair), shape=(5, 5)))
    assert edges_of(graph) == [(0, 1, 1.0), (0, 1, 1.0), (1, 0, 0.0)]
    assert graph.vertices == 5
    assert not af.load(sparse.coo_array(([True] * 3, pair), shape=(5, 5))).columns
    with pytest.raises(FormatError, match="square"):
        af.load(sparse.coo_array((2, 3)))
    with pytest.raises(GraphError, match="complex"):
        af.load(sparse.coo_array(np.array([[0, 1j], [0, 0]])))


# --- NetworkX and igraph ----------------------------------------------------------------------------------------------


def test_networkx_kinds():
    karate = af.load(nx.karate_club_graph())
    assert (karate.vertices, karate.edges, karate.directed) == (34, 78, False)
    assert sorted(nx.karate_club_graph().edges(data="weight")) == edges_of(karate)
    multi = nx.MultiDiGraph([(1, 2), (1, 2), (2, 2)])
    multi.add_node(9)
    graph = af.load(multi)
    assert edges_of(graph) == [(1, 2), (1, 2), (2, 2)]
    assert graph.ids.to_ids().tolist() == [1, 2, 9]
    assert af.load(nx.Graph()).vertices == 0
    assert af.load(nx.path_graph(0, create_using=nx.DiGraph)).directed


def test_networkx_attributes():
    graph = nx.Graph()
    graph.add_edge("a", "b", weight=1, length=2.5, road="A1", **{"two words": 1})
    graph.add_edge("b", "c", weight=2, length=3, road="A2", lanes=2)
    with pytest.raises(FormatError, match=r"\('a', 'b'\) has no attribute 'lanes'"):
        af.load(graph)
    chosen = af.load(graph, columns=["length", "weight"])
    assert list(chosen.columns) == ["length", "weight"]
    graph.edges["a", "b"]["lanes"] = 1
    graph.edges["b", "c"]["two words"] = 1
    loaded = read_object(graph)
    assert list(loaded.edges.columns) == ["weight", "length", "lanes"]
    assert sum("road" in said or "two words" in said for said in loaded.assumptions) == 2
    for wrong in (["colour"], "weight"):
        with pytest.raises(UsageError):
            af.load(graph, columns=wrong)
    with pytest.raises(GraphError, match="road"):
        af.load(graph, columns=["road"])


def test_networkx_ids_of_two_kinds():
    for nodes in ([1, "a"], [(0, 1), (1, 1)], [1.5, 2.5]):
        with pytest.raises(IdError) as caught:
            af.load(nx.path_graph(nodes))
        assert "convert_node_labels_to_integers" in caught.value.remedy


def test_igraph_names():
    graph = igraph.Graph.TupleList([("a", "b", 3), ("b", "c", 4)], edge_attrs=["weight"])
    assert edges_of(af.load(graph)) == [("a", "b", 3), ("b", "c", 4)]
    graph.vs["name"] = ["x", "x", "y"]
    loaded = af.load(graph)
    assert loaded.ids.to_ids().tolist() == [0, 1, 2]
    assert any("repeats" in said for said in loaded.assumptions)
    graph.es["weight"] = [None, 1]
    with pytest.raises(FormatError, match=r"edge \(0, 1\) has no attribute 'weight'"):
        af.load(graph)
    assert not af.load(graph, columns=[]).columns


# --- tables -----------------------------------------------------------------------------------------------------------


class Exporter:
    """Nothing but Arrow's protocol, as other libraries offer it."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def test_frames_and_streams():
    columns = {"from": ["a", "b"], "to": ["b", "c"], "weight": [1.5, 2.5]}
    table = pa.table(columns)
    for source in (
        table,
        table.to_batches()[0],
        table.to_reader(),
        Exporter(table),
        pd.DataFrame(columns, index=[7, 9]),
        pd.DataFrame(columns).astype({"from": "category"}),
        pl.DataFrame(columns),
        pl.DataFrame(columns).with_columns(pl.col("from").cast(pl.Categorical)),
    ):
        graph = af.load(source)
        assert edges_of(graph) == [("a", "b", 1.5), ("b", "c", 2.5)]


def test_frame_options():
    frame = pd.DataFrame({"x": [1], "y": [2], "z": [3], "name": ["n"]})
    loaded = read_object(frame, source="y", target="z", columns=["x"])
    assert (loaded.edges.source.tolist(), loaded.edges.target.tolist()) == ([2], [3])
    with pytest.raises(UsageError, match="colour"):
        read_object(frame, colour="red")
    with pytest.raises(UsageError, match="no options"):
        read_object([(1, 2)], delimiter=";")
    with pytest.raises(FormatError, match="DataFrame"):
        read_object(pd.DataFrame({"source": [1, "a", 2.5], "target": [1, 2, 3]}))
    with pytest.raises(IdError, match="double"):
        read_object(pd.DataFrame({"source": [1.0, np.nan], "target": [1, 2]}).fillna(0))


def test_a_library_that_is_not_installed(monkeypatch):
    graph = af.Graph.from_edges([0], [1])
    for name in ("networkx", "igraph", "pandas", "polars"):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(MissingExtraError, match=name):
            getattr(objects, f"to_{name}")(graph)


def test_nothing_heavy_is_imported():
    code = (
        "import sys, arcflux.io.objects, arcflux.io.matrix, arcflux.io.metis, arcflux.io.dimacs, arcflux.io.ldbc, "
        "arcflux.io.gap; print(*{'numba', 'scipy', 'pyarrow', 'networkx', 'pandas'} & set(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"

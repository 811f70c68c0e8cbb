"""LDBC Graphalytics graphs: three files there and back, what each may leave unsaid, and what is refused."""

import re
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import arcflux as af
from arcflux import trace
from arcflux.errors import FormatError, IdError
from arcflux.io import ldbc

PROPERTIES = """\
# Properties file
graph.example.vertex-file = example.v
graph.example.edge-file = example.e
graph.example.meta.vertices = 4
graph.example.meta.edges = 2
graph.example.directed = false
graph.example.edge-properties.names = weight
graph.example.edge-properties.types = real
graph.example.algorithms = bfs, sssp
graph.example.bfs.source-vertex = 6
"""
VERTICES = "2\n4\n6\n10\n"
EDGES = "2 4 1.5\n6 10 7\n"


def graph_files(folder, properties=PROPERTIES, vertices=VERTICES, edges=EDGES):
    for suffix, text in ((".properties", properties), (".v", vertices), (".e", edges)):
        if text is not None:
            (folder / f"example{suffix}").write_text(text)
    return folder / "example.e"


def edges_of(graph):
    source, target, columns = graph.edge_list()
    return sorted(zip(source.tolist(), target.tolist(), *(column.tolist() for column in columns.values()), strict=True))


@st.composite
def graphs(draw):
    ids = draw(st.lists(st.integers(-(2**63), 2**63 - 1), unique=True, max_size=10))
    pairs = draw(st.lists(st.tuples(st.sampled_from(ids), st.sampled_from(ids)), max_size=25)) if ids else []
    columns = {}
    kind = draw(st.sampled_from(["none", "int", "float"]))
    size = {"min_size": len(pairs), "max_size": len(pairs)}
    if kind == "int":
        columns["weight"] = np.array(draw(st.lists(st.integers(-1000, 1000), **size)), np.int32)
    elif kind == "float":
        columns["weight"] = np.array(draw(st.lists(st.floats(), **size)), np.float64)
    source, target = np.array(pairs, np.int64).reshape(-1, 2).T
    vertices = np.array(ids, np.int64)
    return af.Graph.from_edges(source, target, columns=columns, vertices=vertices, directed=draw(st.booleans()))


@settings(deadline=None, max_examples=60)
@given(graphs(), st.sampled_from([".e", ".v", ".properties"]))
def test_there_and_back(graph, suffix):
    with tempfile.TemporaryDirectory() as folder:
        graph.save(Path(folder, f"g{suffix}"))
        assert sorted(path.name for path in Path(folder).iterdir()) == ["g.e", "g.properties", "g.v"]
        back = af.load(Path(folder, f"g{suffix}"))
    if not graph.edges and graph.columns:
        assert (back.vertices, back.directed, list(back.columns)) == (graph.vertices, graph.directed, ["weight"])
    else:
        assert back.equals(graph)


@pytest.mark.parametrize("suffix", [".e", ".v", ".properties"])
def test_any_of_the_three_names_the_graph(tmp_path, suffix):
    graph = af.load(graph_files(tmp_path).with_suffix(suffix))
    assert edges_of(graph) == [(2, 4, 1.5), (6, 10, 7.0)]
    assert (graph.vertices, graph.directed) == (4, False)


def test_without_properties_the_rest_is_assumed(tmp_path):
    graph = af.load(graph_files(tmp_path, properties=None, edges="2|4\n6|10\n"))
    assert edges_of(graph) == [(2, 4), (6, 10)]
    assert graph.directed
    assert any("no .properties" in said for said in graph.assumptions)
    assert af.load(graph_files(tmp_path, properties=None)).weighted


def test_weights_are_real_even_when_whole(tmp_path):
    graph = af.load(graph_files(tmp_path, edges="2 4 1\n6 10 7\n"))
    assert graph.columns["weight"].dtype == np.float64


def test_text_ids_are_numbered_and_it_is_said(tmp_path):
    heard = []
    with trace.listen(lambda event: heard.append(getattr(event, "text", ""))):
        af.Graph.from_edges(["b"], ["a"]).save(tmp_path / "g.e")
    assert edges_of(af.load(tmp_path / "g.e")) == [(1, 0)]
    assert any("numbers vertices from 0" in text for text in heard)


WRONG = {
    "no vertices": ({"vertices": None}, "example.v", 0, "no file of vertices"),
    "no edges": ({"edges": None}, "example.e", 0, "no file"),
    "vertex count": ({"vertices": "2\n4\n6\n10\n12\n"}, "example.properties", 0, "promise 4 vertices, and there are 5"),
    "edge count": ({"edges": "2 4 1\n"}, "example.properties", 0, "promise 2 edges, and there are 1"),
    "two on a line": ({"vertices": "2\n4 6\n10\n"}, "example.v", 2, "more than one"),
    "text vertex": ({"vertices": "2\nfour\n"}, "example.v", 2, "no integer"),
    "vertex twice": ({"vertices": "2\n4\n6\n2\n"}, "example.v", 0, "vertex 2 is listed twice"),
    "no weight": ({"edges": "2 4 1\n6 10\n"}, "example.e", 2, "2 fields where 3"),
    "directed perhaps": ({"properties": "graph.g.directed = perhaps\n"}, "example.properties", 1, "perhaps"),
    "count in words": ({"properties": "\ngraph.g.meta.edges = two\n"}, "example.properties", 2, "two"),
    "another folder": ({"properties": "graph.g.edge-file = ../x.e\n"}, "example.properties", 1, "../x.e"),
    "an absolute path": ({"properties": "graph.g.vertex-file = /etc/x\n"}, "example.properties", 1, "/etc/x"),
    "two weights": (
        {"properties": "graph.g.edge-properties.names = weight, cost\n"}, "example.properties", 1, "weight, cost"
    ),
    "text weights": (
        {"properties": "graph.g.edge-properties.names = w\ngraph.g.edge-properties.types = text\n"},
        "example.properties", 2, "text",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_bad_files_are_refused_with_the_line(tmp_path, name):
    files, path, line, words = WRONG[name]
    with pytest.raises(FormatError, match=re.escape(words)) as caught:
        ldbc.read(graph_files(tmp_path, **files))
    assert (caught.value.path, caught.value.line) == (str(tmp_path / path), line)


def test_an_edge_of_an_unlisted_vertex(tmp_path):
    with pytest.raises(IdError, match="12"):
        af.load(graph_files(tmp_path, edges="2 4 1\n6 12 1\n"))


def test_the_remedy_for_a_missing_file(tmp_path):
    with pytest.raises(FormatError) as caught:
        ldbc.read(graph_files(tmp_path, vertices=None))
    assert ".txt" in caught.value.remedy

"""METIS files: there and back, every weight format, and one bad file after another."""

import re
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import arcflux as af
from arcflux.errors import ArcfluxError, FormatError, GraphError, WeightError
from arcflux.io import metis


def file(folder, text, name="g.graph"):
    path = folder / name
    path.write_text(text)
    return path


def edges_of(graph):
    source, target, columns = graph.edge_list()
    return sorted(zip(source.tolist(), target.tolist(), *(column.tolist() for column in columns.values()), strict=True))


def adjacency(text):
    """Plain-Python reading of an unweighted file without comments: the edges, each once."""
    lines = text.split("\n")
    n, _ = map(int, lines[0].split())
    return sorted({tuple(sorted((u, int(v)))) for u, line in enumerate(lines[1 : n + 1], 1) for v in line.split()})


@st.composite
def simple_graphs(draw):
    n = draw(st.integers(0, 12))
    possible = [(u, v) for u in range(1, n + 1) for v in range(u + 1, n + 1)]
    pairs = draw(st.lists(st.sampled_from(possible), unique=True)) if possible else []
    columns = {}
    if draw(st.booleans()):
        value = st.integers(-(2**63) + 1, 2**63 - 1)
        columns["weight"] = np.array(draw(st.lists(value, min_size=len(pairs), max_size=len(pairs))), np.int64)
    source, target = np.array(pairs, np.int64).reshape(-1, 2).T
    return af.Graph.from_edges(source, target, columns=columns, vertices=np.arange(1, n + 1), directed=False)


@settings(deadline=None, max_examples=60)
@given(simple_graphs())
def test_there_and_back(graph):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "g.graph")
        graph.save(path)
        back = af.load(path)
        text = path.read_text()
    assert back.equals(graph)
    if not graph.columns:
        assert adjacency(text) == edges_of(graph)


def test_many_vertices_and_packed(tmp_path, monkeypatch):
    monkeypatch.setattr(metis, "_PIECE", 100)
    rng = np.random.default_rng(1)
    graph = af.Graph.from_edges(
        *rng.integers(1, 5000, (2, 20000)), directed=False, deduplicate="first", drop_self_loops=True,
        vertices=np.arange(1, 5001),
    )  # fmt: skip
    graph.save(tmp_path / "g.metis.gz")
    for threads in (1, 2):
        assert af.load(tmp_path / "g.metis.gz", threads=threads).equals(graph)


def test_the_manuals_examples(tmp_path):
    plain = "7 11\n5 3 2\n1 3 4\n5 4 2 1\n2 3 6 7\n1 3 6\n5 4 7\n6 4\n"
    expected = [(1, 2), (1, 3), (1, 5), (2, 3), (2, 4), (3, 4), (3, 5), (4, 6), (4, 7), (5, 6), (6, 7)]
    assert edges_of(af.load(file(tmp_path, plain))) == expected
    weighted = (
        "7 11 001\n5 1 3 2 2 1\n1 1 3 2 4 1\n5 3 4 2 2 2 1 2\n2 1 3 2 6 2 7 5\n1 1 3 3 6 2\n5 2 4 2 7 6\n6 6 4 5\n"
    )
    graph = af.load(file(tmp_path, weighted))
    assert edges_of(graph)[:3] == [(1, 2, 1), (1, 3, 2), (1, 5, 1)]
    assert graph.columns["weight"].dtype == np.int64
    several = (
        "7 11 010 3\n1 2 0 5 3 2\n0 2 2 1 3 4\n4 1 1 5 4 2 1\n2 2 3 2 3 6 7\n1 1 1 1 3 6\n2 2 1 5 4 7\n1 2 1 6 4\n"
    )
    graph = af.load(file(tmp_path, several))
    assert edges_of(graph) == expected
    assert any("left out" in said for said in graph.assumptions)


@pytest.mark.parametrize(
    ("text", "edges"),
    [
        ("2 1 0\n2\n1\n", [(1, 2)]),
        ("2 1 100\n9 2\n9 1\n", [(1, 2)]),
        ("2 1 110\n9 8 2\n9 8 1\n", [(1, 2)]),
        ("2 1 111 2\n9 8 7 2 5\n9 8 7 1 5\n", [(1, 2, 5)]),
        ("2 1 11\n8 2 5\n8 1 5\n", [(1, 2, 5)]),
        ("% top\n2 1\n% between\n2\n%\n1\n\n\n", [(1, 2)]),
        ("3 1\r\n3\r\n\r\n1", [(1, 3)]),
        ("2 2\n2 2\n1 1\n", [(1, 2), (1, 2)]),
    ],
)
def test_formats(tmp_path, text, edges):
    graph = af.load(file(tmp_path, text))
    assert edges_of(graph) == edges
    assert not graph.directed


WRONG = {
    "only comments": ("% nothing\n", 0, "no header"),
    "one number": ("3\n", 1, "1 words"),
    "five numbers": ("1 0 0 1 1\n\n", 1, "5 words"),
    "text": ("three 3\n", 1, "three"),
    "weight code 2": ("1 0 2\n\n", 1, "'2'"),
    "weight code 1000": ("1 0 1000\n\n", 1, "'1000'"),
    "weights of nothing": ("1 0 1 2\n\n", 1, "2 weights"),
    "no weights of something": ("1 0 10 0\n\n", 1, "0 weights"),
    "too few lines": ("% c\n3 1\n2\n1\n", 2, "3 vertices, and 2 lines"),
    "too many lines": ("2 1\n2\n% c\n1\n\n1\n", 6, "more lines"),
    "too many neighbours": ("3 1\n2 3\n1 3\n1 2\n", 1, "1 edges, and the lines list 6"),
    "too few neighbours": ("3 5\n2 3\n1 3\n1 2\n", 1, "5 edges, and the lines list 6"),
    "neighbour too large": ("2 1\n2\n% c\n3\n", 4, "vertex 2 is out of range"),
    "neighbour zero": ("2 1\n0\n1\n", 2, "vertex 1 is out of range"),
    "self-loop": ("2 1\n1 2\n1\n", 2, "its own neighbour"),
    "no weight": ("2 1 1\n2 5\n1\n", 3, "without a weight"),
    "no vertex weight": ("2 1 10\n5 2\n\n", 3, "too few numbers"),
    "float weight": ("2 1 1\n2 0.5\n1 0.5\n", 2, "no integer"),
    "not listed back": ("3 1\n2\n3\n\n", 2, "vertex 1 lists 2, and vertex 2 does not list 1"),
    "listed back twice": ("3 2\n2\n1 1\n2\n", 3, "vertex 2 lists 1, and vertex 1 does not list 2"),
    "another weight back": ("2 1 1\n2 5\n1 6\n", 2, "with the weight 5"),
    "only one way, all downwards": ("3 1\n\n1\n2\n", 3, "vertex 2 lists 1"),
}


@pytest.mark.parametrize("name", WRONG)
def test_bad_files_are_refused_with_the_line(tmp_path, name):
    text, line, words = WRONG[name]
    with pytest.raises(FormatError, match=re.escape(words)) as caught:
        metis.read(file(tmp_path, text))
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("graph", "words"),
    [
        (af.Graph.from_edges([1], [2]), "directed"),
        (af.Graph.from_edges([1, 2], [2, 2], directed=False), "self-loops"),
        (af.Graph.from_edges([1, 2], [2, 1], directed=False), "parallel"),
        (af.Graph.from_edges([1, 1, 1], [3, 2, 3], directed=False, sort=False), "parallel"),
    ],
)
def test_what_the_format_cannot_say(tmp_path, graph, words):
    with pytest.raises(GraphError, match=words) as caught:
        graph.save(tmp_path / "g.graph")
    assert caught.value.remedy
    assert not list(tmp_path.iterdir())


def test_float_weights_are_refused(tmp_path):
    graph = af.Graph.from_edges([1], [2], directed=False, columns={"weight": [0.5]})
    with pytest.raises(WeightError, match="integer"):
        graph.save(tmp_path / "g.graph")


tokens = st.sampled_from(["%", "\n", "\n", " ", " ", "1", "2", "3", "-1", "0", "x", "\t", "\r", "9" * 20])


@settings(deadline=None, max_examples=200)
@given(
    st.one_of(
        st.binary(max_size=200),
        st.tuples(
            st.sampled_from(["", "2 1\n", "3 2\n", "3 2 1\n", "2 1 011 2\n", "9999999999999 1\n"]),
            st.lists(tokens, max_size=40),
        ).map(lambda parts: (parts[0] + "".join(parts[1])).encode()),
    )
)
def test_no_text_raises_anything_else(content):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "g.graph")
        path.write_bytes(content)
        with suppress(ArcfluxError):
            metis.read(path)

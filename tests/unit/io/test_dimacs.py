"""DIMACS shortest-path files: there and back, and one bad file after another."""

import re
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import arcflux as af
from arcflux import trace
from arcflux.errors import ArcfluxError, FormatError, SpaceError, WeightError
from arcflux.io import dimacs


def file(folder, text, name="g.gr"):
    path = folder / name
    path.write_text(text)
    return path


def edges_of(graph):
    source, target, columns = graph.edge_list()
    return sorted(zip(source.tolist(), target.tolist(), *(column.tolist() for column in columns.values()), strict=True))


@st.composite
def graphs(draw):
    n = draw(st.integers(1, 12))
    ends = st.integers(1, n)
    arcs = draw(st.lists(st.tuples(ends, ends, st.integers(-(2**31) + 1, 2**31 - 1)), max_size=30))
    source, target, weight = np.array(arcs, np.int64).reshape(-1, 3).T
    columns = {"weight": weight.astype(np.int32)}
    return af.Graph.from_edges(source, target, columns=columns, vertices=np.arange(1, n + 1))


@settings(deadline=None, max_examples=60)
@given(graphs())
def test_there_and_back(graph):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "g.gr")
        graph.save(path)
        assert af.load(path).equals(graph)
        lines = [line.split() for line in path.read_text().splitlines()]
    assert lines[0] == ["p", "sp", str(graph.vertices), str(graph.edges)]
    assert sorted((int(u), int(v), int(w)) for letter, u, v, w in lines[1:] if letter == "a") == edges_of(graph)


def test_a_file_as_they_are(tmp_path):
    text = "c 9th DIMACS\nc\np sp 6 4\nc graph contains 6 nodes\r\na 1 2 17\nc between\na 1 3 10\na  2 4 2\n a 4 1 1"
    graph = af.load(file(tmp_path, text))
    assert edges_of(graph) == [(1, 2, 17), (1, 3, 10), (2, 4, 2), (4, 1, 1)]
    assert (graph.vertices, graph.directed) == (6, True)
    assert graph.columns["weight"].dtype == np.int32


def test_no_arcs(tmp_path):
    assert af.load(file(tmp_path, "p sp 3 0\n")).vertices == 3


def test_undirected_and_unweighted_are_said(tmp_path):
    heard = []
    with trace.listen(lambda event: heard.append(getattr(event, "text", ""))):
        af.Graph.from_edges([5], [7], directed=False).save(tmp_path / "g.gr")
    assert edges_of(af.load(tmp_path / "g.gr")) == [(1, 2, 1), (2, 1, 1)]
    assert sum("two arcs" in text or "gets 1" in text or "numbers vertices" in text for text in heard) == 3


def test_float_weights_are_refused(tmp_path):
    with pytest.raises(WeightError, match="integer"):
        af.Graph.from_edges([1], [2], columns={"weight": [0.5]}).save(tmp_path / "g.gr")


WRONG = {
    "only comments": ("c nothing\n", 0, "no header"),
    "another problem": ("p max 3 2\nn 1 s\n", 1, "p max"),
    "no problem": ("a 1 2 3\n", 1, "a 1 2 3"),
    "two words": ("c\np sp 3\n", 2, "p sp 3"),
    "text": ("p sp 3 many\n", 1, "many"),
    "too few": ("p sp 3 2\na 1 2 1\n", 1, "promises 2 entries, and 1 follow"),
    "too many": ("p sp 3 1\na 1 2 1\na 2 1 1\n", 1, "promises 1 entries, and 2 follow"),
    "out of range": ("p sp 3 2\na 1 2 1\nc\na 2 4 1\n", 4, "index 4"),
    "zero": ("p sp 3 1\na 0 2 1\n", 2, "index 0"),
    "no weight": ("p sp 3 1\na 1 2\n", 2, "fields"),
    "another letter": ("p sp 3 1\ne 1 2 3\n", 2, "'e'"),
    "a second problem": ("p sp 3 1\na 1 2 3\np sp 3 1\n", 3, "'p'"),
}


@pytest.mark.parametrize("name", WRONG)
def test_bad_files_are_refused_with_the_line(tmp_path, name):
    text, line, words = WRONG[name]
    with pytest.raises(FormatError, match=re.escape(words)) as caught:
        dimacs.read(file(tmp_path, text))
    assert caught.value.line == line


def test_a_count_that_no_machine_holds(tmp_path):
    with pytest.raises(SpaceError):
        dimacs.read(file(tmp_path, f"p sp {10**15} 1\na 1 2 3\n"))


tokens = st.sampled_from(["c", "a", "p", "\n", "\n", " ", " ", "1", "2", "3", "-1", "0", "0.5", "\t", "\r", "9" * 20])


@settings(deadline=None, max_examples=200)
@given(
    st.one_of(
        st.binary(max_size=200),
        st.tuples(
            st.sampled_from(["", "p sp 3 1\n", "p sp 3 2\na 1 2 3\n", "c\np sp 9999999999999 1\n"]),
            st.lists(tokens, max_size=40),
        ).map(lambda parts: (parts[0] + "".join(parts[1])).encode()),
    )
)
def test_no_text_raises_anything_else(content):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "g.gr")
        path.write_bytes(content)
        with suppress(ArcfluxError):
            dimacs.read(path)

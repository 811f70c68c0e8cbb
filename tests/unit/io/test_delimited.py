"""The general case of text: names, quotes, many columns; what it refuses, and on which line."""

import re
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from io_samples import AWKWARD_NAMES, NAMES, PLAIN_NAMES, edges_of, graphs

import arcflux as af
from arcflux.errors import FormatError
from arcflux.io.delimited import _tidy
from arcflux.io.layout import Layout


@pytest.fixture
def load(tmp_path):
    def loading(text, name="g.csv", **options):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return af.load(path, **options)

    return loading


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("ada,bob\nbob,eve\n", "g.csv", [("ada", "bob"), ("bob", "eve")]),
        ("source,target,weight\nada,bob,2\n", "g.csv", [("ada", "bob", 2)]),
        ('"a,b","c ""d"""\n"#1",x\n', "g.csv", [("#1", "x"), ("a,b", 'c "d"')]),
        ('"New  York"   Boston 2\nx y  3\n', "g.txt", [("New  York", "Boston", 2), ("x", "y", 3)]),
        ("a  b \r\n\r\n  # no\n\t \n c\td", "g.txt", [("a", "b"), ("c", "d")]),
        ("a\tb c\td\n", "g.tsv", [("a", "b c")]),
        ("\t\tb\n#\n", "g.tsv", [("", "")]),
        ("a,b,1,2.5\nc,d,3,nan\n", "g.csv", [("a", "b", 1, 2.5), ("c", "d", 3, np.nan)]),
        ("a,b,true\nc,d,false\n", "g.csv", [("a", "b", True), ("c", "d", False)]),
        ("1,2,3,4\n5,6,7,8.5\n", "g.csv", [(1, 2, 3, 4.0), (5, 6, 7, 8.5)]),
        ("1 2 3 4 # why\n5 6 7 8\n", "g.txt", [(1, 2, 3, 4), (5, 6, 7, 8)]),
        ("w,source,target\n0.5,a,b\n", "g.csv", [("a", "b", 0.5)]),
        ("x,to,w,from\nq,1,0.5,2\n", "g.csv", [(2, 1, 0.5)]),
        ("Äpfel,日本\n🐱,é\n", "g.csv", [("Äpfel", "日本"), ("🐱", "é")]),
        ("a,b\0c\n", "g.csv", [("a", "b\0c")]),
        ("NA,null\nnan,\n", "g.csv", [("NA", "null"), ("nan", "")]),
        ("a,b,,\nc,d,,\n", "g.csv", [("a", "b"), ("c", "d")]),
        ("a,b,inf\nc,d,-Infinity\n", "g.csv", [("a", "b", np.inf), ("c", "d", -np.inf)]),
    ],
)
def test_names_quotes_and_columns(load, text, name, expected):
    assert repr(edges_of(load(text, name))) == repr(expected)


def test_names_of_columns(load):
    assert list(load("a,b,cost,time\nx,y,1,2\n", header=True).columns) == ["cost", "time"]
    assert list(load("source,target,unit price,n\nx,y,1,2\n").columns) == ["weight", "n"]
    assert list(load("source,target,n,n\nx,y,1,2\n").columns) == ["weight", "column4"]
    assert list(load("x,y,1,2,3\n").columns) == ["weight", "column4", "column5"]
    assert list(load("x,y,1,2,3\n", weights=False).columns) == []
    headed = load("Src,Dst,n\nx,y,1\n").assumptions
    assert headed[1:] == (
        "line 1 names the columns (header=False reads it as an edge)",
        "an edge goes from column 'Src' to column 'Dst'",
        "column n (int64)",
        "parallel edges are kept",
        "edges count alike unless weight='n' is asked for",
    )


ROWS = 100_000


@pytest.mark.parametrize("threads", [None, 1])
@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("a,b\n\n# c\nd\n", 4, "Expected 2 columns, got 1"),
        ("a,b\nd\nx,y,z\n", 1, "Expected 3 columns, got 2"),
        ("#\n\nsource,target\n\na,b\n\nc,d,e\n", 5, "Expected 3 columns, got 2"),
        ("1,2,3,4\n" * ROWS + "\n \nx,2,3,4\n", ROWS + 3, "invalid value 'x'"),
        ("1,2,3,4\n" * ROWS + "1,2,3\n", ROWS + 1, "Expected 4 columns, got 3"),
        ("a,b,1\nc,d,\n", 2, "no value in column 'weight'"),
        ("s,t,n,m\n1,2,3,4\n\n1,,3,4\n", 4, "no value in column 't'"),
        ("a,b,1\nc,d,NA\n", 2, "no value in column 'weight'"),
        ("a,b,1\nc,d,x\n", 2, "'x' is not a number, in column 'weight'"),
        ("source,target,weight\na,b,one\n\nc,d,2\n", 2, "'one' is not a number, in column 'weight'"),
        (b"a,b\ncaf\xe9,d\n", 2, "invalid UTF8"),
        ("1,2,3,4\n1,9223372036854775808,3,4\n", 2, "invalid value '9223372036854775808'"),
    ],
)
def test_the_line_of_what_is_wrong(load, tmp_path, text, line, said, threads):
    with pytest.raises(FormatError) as caught:
        load(text, threads=threads)
    assert (caught.value.line, caught.value.path) == (line, str(tmp_path / "g.csv"))
    assert said in caught.value.what
    assert caught.value.remedy


def test_too_many_columns(load):
    assert load("a,b" + ",1" * 998 + "\n").edges == 1
    with pytest.raises(FormatError, match="a line has 1,001 fields"):
        load("a,b" + ",1" * 999 + "\n")


def test_insisting(load):
    with pytest.raises(FormatError, match=r"g\.csv:1: 'a' is not an integer source id"):
        load("a,b\n", ids="integer")
    with pytest.raises(FormatError, match=r"g\.csv:1: .*invalid value 'a'"):
        load("a,b,1,2\n", ids="integer")
    for text in ("a,b\n", "a,b,x\n", "1,2,x\n"):
        with pytest.raises(FormatError, match="weights=True, and no number follows the ends"):
            load(text, weights=True)
    assert load("a,b,2\n", weights=True).weighted


@settings(deadline=None, max_examples=120)
@given(
    graphs(names=NAMES) | graphs(names=AWKWARD_NAMES),
    st.sampled_from(["csv", "tsv", "csv.gz"]),
    st.sampled_from([None, True, False]),
)
def test_names_there_and_back(graph, suffix, header):
    breaks = graph.ids.kind == "text" and any(re.search(r"[\r\n]", name) for name in graph.ids.to_ids())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"g.{suffix}")
        if breaks:
            with pytest.raises(FormatError, match="cannot stand in a file like this") as caught:
                graph.save(path, header=header)
            assert caught.value.remedy == "write a .parquet or a store"
            assert not list(Path(folder).iterdir())
        else:
            graph.save(path, header=header)
            assert af.load(path).equals(graph)


@settings(deadline=None, max_examples=60)
@given(graphs(names=PLAIN_NAMES))
def test_plain_names_between_blanks(graph):
    with tempfile.TemporaryDirectory() as folder:
        graph.save(Path(folder, "g.el"))
        assert af.load(Path(folder, "g.el")).equals(graph)


@pytest.mark.parametrize("name", ["a b", "", 'say "x"', "#1", "%", "a\u00a0b", "tab\there", "line\nbreak"])
def test_names_that_blanks_cannot_keep(tmp_path, name):
    with pytest.raises(FormatError, match="cannot stand in a file like this") as caught:
        af.Graph.from_edges([name], ["z"]).save(tmp_path / "g.el")
    assert repr(name) in caught.value.what
    assert "store" in caught.value.remedy
    assert not list(tmp_path.iterdir())


def test_names_that_look_like_something_else(tmp_path):
    for edge in (["1", "2"], ["source", "target"], ["u", "v"], ["a,b", "c"], ["nan", "NULL"]):
        graph = af.Graph.from_edges([edge[0]], [edge[1]])
        for name in ("g.el", "g.csv", "g.tsv"):
            graph.save(tmp_path / name)
            assert edges_of(af.load(tmp_path / name)) == [tuple(edge)]


def test_blanks_take_no_time_to_tidy():
    layout = Layout("", ["source", "target"], False, {}, (0, 1), False, False, 0, 1, False)
    for noise in (b" " * 10**6, b"\t \r" * 10**6, b"a" + b" " * 10**6 + b"b", b'"' * 10**6, b" #" * 10**6):
        assert len(_tidy(noise, layout, "#%")) <= len(noise)
        assert len(_tidy(noise, Layout(",", *list(vars(layout).values())[1:]), "#%")) <= len(noise)

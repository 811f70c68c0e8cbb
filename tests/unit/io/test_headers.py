"""What is a header, and what is an edge: text above numbers, words for ends, and what a file cannot say."""

import json

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import arcflux as af
from arcflux.errors import FormatError
from arcflux.io.columns import end_columns, names_columns


def loaded(folder, text, name="g.csv", **options):
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return af.load(path, **options)


def ids(graph):
    return graph.ids.to_ids().tolist()


@pytest.mark.parametrize("head", ["follower,followee,weight", "a_person,b_person,weight", "Who,Whom,How much"])
def test_text_above_a_column_of_numbers_is_a_header(tmp_path, head):
    graph = loaded(tmp_path, f"{head}\nalice,bob,3\nbob,carol,4.5\n")
    assert ids(graph) == ["alice", "bob", "carol"]
    (column,) = graph.columns.values()
    assert column.tolist() == [3.0, 4.5]
    assert any("line 1 names the columns" in said for said in graph.assumptions)


@pytest.mark.parametrize("ends", [("source", "target"), ("from", "to"), ("boat", "port")])
@pytest.mark.parametrize("names", [("1", "2", "3"), ("ada", "bob", "eve")])
def test_row_numbers_without_a_name_are_no_end_and_rename_nothing(tmp_path, ends, names):
    """As pandas and R write tables: edges were right, and the weights were the targets."""
    edges = pd.DataFrame({ends[0]: names[:2], ends[1]: names[1:], "weight": [0.5, 2.5]})
    graph = loaded(tmp_path, edges.to_csv())
    source, target, columns = graph.edge_list()
    assert [*zip(map(str, source), map(str, target), columns["weight"].tolist(), strict=True)] == [
        (*names[:2], 0.5),
        (*names[1:], 2.5),
    ]
    assert columns["column1"].tolist() == [0, 1]


@pytest.mark.parametrize("head", ["a,b,load,load,weight", "source,target,in kg,,weight", "from,to,column5,,weight"])
def test_a_name_that_cannot_be_kept_leaves_the_others(tmp_path, head):
    graph = loaded(tmp_path, f"{head}\n1,2,7,8,0.5\n2,3,7,8,2.5\n")
    assert graph.columns["weight"].tolist() == [0.5, 2.5]
    assert sorted(column.tolist()[0] for column in graph.columns.values()) == [0.5, 7, 8]


@pytest.mark.parametrize("mark", [",", ";", "|", "\t", " "])
@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize("start", ["", "\ufeff", "# made by hand\n\n"])
@pytest.mark.parametrize("ends", [("1", "2"), ("ada", "bob"), ("7", "bob")])
def test_any_delimiter_quotes_and_a_byte_order_mark(tmp_path, mark, quote, start, ends):
    rows = [("fan", "star", "score"), (*ends, "0.5"), (*ends, "2")]
    text = start + "".join(mark.join(f"{quote}{word}{quote}" for word in row) + "\n" for row in rows)
    graph = loaded(tmp_path, text, "g.csv" if mark == "," else "g.txt")
    assert sorted(map(str, ids(graph))) == sorted(ends)
    assert sorted(graph.columns["score"].tolist()) == [0.5, 2.0]


@pytest.mark.parametrize(
    "head", ["src,dst", "from,to", "follower,followee", "FromNodeId,ToNodeId", "sender,receiver", "user_id,item_id"]
)
def test_known_words_above_names_are_a_header(tmp_path, head):
    assert ids(loaded(tmp_path, f"{head}\nalice,bob\nbob,carol\n")) == ["alice", "bob", "carol"]


def test_words_that_are_names_again_below_are_an_edge(tmp_path):
    graph = loaded(tmp_path, "parent,child\nchild,toy\n")
    assert ids(graph) == ["child", "parent", "toy"]
    assert any("line 1 is an edge (header=True" in said for said in graph.assumptions)


def test_what_the_user_says_goes_first(tmp_path):
    text = "follower,followee,weight\nalice,bob,3\n"
    assert ids(loaded(tmp_path, text, header=False)) == ["alice", "bob", "followee", "follower"]
    assert ids(loaded(tmp_path, "ada,bob\ncy,dan\n", header=True)) == ["cy", "dan"]
    assert ids(loaded(tmp_path, "ada,bob\ncy,dan\n")) == ["ada", "bob", "cy", "dan"]


def test_a_first_edge_without_a_weight_is_no_header(tmp_path):
    with pytest.raises(FormatError, match=r":1: there is no value in column 'weight'"):
        loaded(tmp_path, "ada,bob,NA\nbob,cy,3\n")


def test_weights_before_the_ends_and_other_columns(tmp_path):
    graph = loaded(tmp_path, "cost,sender,recipient,note\n3,ada,bob,x\n4,bob,cy,y\n")
    assert ids(graph) == ["ada", "bob", "cy"]
    assert graph.columns["cost"].tolist() == [3, 4]
    assert "an edge goes from column 'sender' to column 'recipient'" in graph.assumptions


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("follower,followed,Weight\n1,2,3\n", "weight='Weight' is asked for"),
        ("Source,Target,Type,Id,Label,Weight\n1,2,Directed,0,,1.5\n", "weight='Weight' is asked for"),
        ("user,movie,rating\n1,2,4.5\n", "weight='rating' is asked for"),
        ("source,target,cost,length\n1,2,3,4\n", "weight= names a column"),
        ("source,target,weight\n1,2,3\n", None), ("source,target,weight,cost\n1,2,3,4\n", None), ("a,b\n1,2\n", None),
    ],
)  # fmt: skip
def test_columns_that_no_algorithm_takes_by_itself_are_told(tmp_path, text, said):
    """PageRank of a file with the column Weight takes all edges alike, though the file looks weighted."""
    told = [line for line in loaded(tmp_path, text).assumptions if line.startswith("edges count alike")]
    assert told == ([] if said is None else [f"edges count alike unless {said}"])


@pytest.mark.parametrize(
    ("header", "told"),
    [
        ("source,target,Trust Score", ["column 'Trust Score' is called weight"]),
        ("source,target,weight,Time (s)", ["column 'Time (s)' is called column4"]),
        ("source,target,weight,time", []), ("follower,followee,", []),
    ],
)  # fmt: skip
@pytest.mark.parametrize("row", ["ada,bob,3,4", "1,2,3,4"])
def test_columns_that_are_called_otherwise_are_told(tmp_path, header, told, row):
    """A third column without a usable name is the weight, which distances then go by."""
    row = ",".join(row.split(",")[: len(header.split(","))])
    assert [said for said in loaded(tmp_path, f"{header}\n{row}\n").assumptions if "called" in said] == told


@pytest.mark.parametrize("text", ["to,from\n1,2\n", "target,source,weight\n1,2,5\n", "to,from\nada,bob\n"])
def test_ends_in_the_other_order_are_told(tmp_path, text):
    graph = loaded(tmp_path, text)
    low, high = ids(graph)
    assert af.bfs(graph, high)["level"].tolist() == [1, 0]
    assert af.bfs(graph, low)["level"].tolist() == [0, -1]
    first, second = text.partition("\n")[0].split(",")[:2]
    assert f"an edge goes from column {second!r} to column {first!r}" in graph.assumptions


@pytest.mark.parametrize("comment", ["# source target weight", "% follower followee cost", "#source,target,weight"])
def test_names_in_a_comment_are_no_edge_and_cost_no_weights(tmp_path, comment):
    graph = loaded(tmp_path, f"{comment}\nada bob 3\nbob cy 4\n", "g.txt", comments="#%")
    assert ids(graph) == ["ada", "bob", "cy"]
    assert graph.columns["weight"].tolist() == [3, 4]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_of_a_table_are_found_by_their_words(make):
    frame = make({"cost": [0.5, 1.5], "FollowerID": ["ada", "bob"], "FolloweeID": ["bob", "cy"]})
    graph = af.load(frame)
    assert ids(graph) == ["ada", "bob", "cy"]
    assert graph.columns["cost"].tolist() == [0.5, 1.5]


def test_a_parquet_file_with_other_names(tmp_path):
    pq.write_table(pa.table({"w": [1, 2], "origin": ["a", "b"], "dest": ["b", "c"]}), tmp_path / "g.parquet")
    assert ids(af.load(tmp_path / "g.parquet")) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("options", "vertices"), [([], 3), (["--no-header"], 5), (["--header"], 3)], ids=["found", "no", "yes"]
)
def test_the_command_line(tmp_path, capsys, options, vertices):
    from arcflux.cli import main

    (tmp_path / "g.csv").write_text("follower,followee,weight\nalice,bob,3\nbob,carol,4\n")
    with pytest.raises(SystemExit) as left:
        main(["info", str(tmp_path / "g.csv"), "--json", *options])
    assert left.value.code == 0
    assert json.loads(capsys.readouterr().out)["vertices"] == vertices


NAMES = st.text("abcdefghijklmnopqrstuvwxyz", min_size=2, max_size=6).filter(
    lambda word: word not in ("nan", "inf", "na", "null", "infinity")
)
NUMBERS = st.one_of(st.integers(-99, 99).map(str), st.floats(-9, 9).map("{:.3f}".format))


@given(st.tuples(NAMES, NAMES, NAMES), st.lists(st.tuples(NAMES, NAMES, NUMBERS), min_size=1, max_size=9))
def test_any_words_above_weights_are_a_header_and_weighted_edges_never_are(head, rows):
    assert names_columns(head, rows)
    assert not names_columns(rows[0], rows[1:]) or end_columns(rows[0]) is not None


@given(st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=9))
def test_names_above_names_are_an_edge_unless_they_are_words_for_ends(rows):
    assert names_columns(rows[0], rows[1:]) <= (end_columns(rows[0]) is not None)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(NAMES, NAMES, NUMBERS), min_size=2, max_size=9), st.sampled_from([",", ";", "\t", "|"]))
def test_a_file_with_a_header_is_the_file_without(tmp_path_factory, rows, mark):
    folder = tmp_path_factory.mktemp("headed")
    body = "".join(mark.join(row) + "\n" for row in rows)
    plain = loaded(folder, body, "plain.csv", delimiter=mark, header=False)
    headed = loaded(folder, mark.join(("fan", "star", "weight")) + "\n" + body, "headed.csv", delimiter=mark)
    assert ids(plain) == ids(headed)
    assert plain.columns["weight"].tolist() == headed.columns["weight"].tolist()

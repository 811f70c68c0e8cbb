"""Edge lists: what the first lines decide, what is said about it, packed files, and graphs there and back."""

import bz2
import gzip
import tempfile
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from io_samples import INT64, edges_of, graphs, values

import arcflux as af
from arcflux.errors import FormatError, IdError, SpaceError, UsageError
from arcflux.io import scan

DIRECTION = "directed: a line is one direction (directed=False reads both)"
KEPT = "parallel edges are kept"


@pytest.fixture
def load(tmp_path):
    def loading(text, name="g.txt", **options):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return af.load(path, **options)

    return loading


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("1 2 5\n2 3 7\n", "g.el"),
        ("1\t2\t5\r\n2\t3\t7\r\n", "g.tsv"),
        ("1 ,2, 5\n2,3,7", "g.csv"),
        ("1;2;5\n\n2;3;7\n\n", "g.txt"),
        ("1|2|5\n 2 | 3 | 7 \n", "g.edges"),
        ("# hello\n% world\n\n1 2 5 # why\n#\n  # 9 9 9\n2\t3\t 7", "g.edgelist"),
        ("\ufeff1 2 5\n2 3 7\n", "g.wel"),
        ("\ufeffsource,target,weight\n1,2,5\n2,3,7\n", "G.CSV"),
        ('"from","to","weight"\n1,2,5\n2,3,7\n', "g.csv"),
        ("from;to;what is this\n1;2;5\n2;3;7\n", "g.csv"),
        ("a b weight\n\n# between\n1 2 5\n2 3 7\n", "g.txt"),
        ("weight,target,source\n5,2,1\n7,3,2\n", "g.csv"),
        ("to from weight\n2 1 5\n3 2 7\n", "g.txt"),
        ('"1","2","5"\n"2","3","7"\n', "g.csv"),
        ("+1 002 5\n2 +3 7\n", "g.txt"),
        ("1 2\t5\n2\t3 7\n", "g.txt"),
    ],
)
def test_two_edges_in_every_dress(load, text, name):
    graph = load(text, name)
    assert edges_of(graph) == [(1, 2, 5), (2, 3, 7)]
    assert graph.weighted
    assert graph.name == name
    assert graph.directed


def test_what_was_decided_is_said(load):
    assert load("1 2\n").assumptions == (DIRECTION, "not weighted", KEPT)
    assert load("1 2 3\n").assumptions == (DIRECTION, "weighted: column 3 is 'weight' (int32)", KEPT)
    assert load("1 2 .5\n").assumptions[1] == "weighted: column 3 is 'weight' (float64)"
    headed = "line 3 names the columns (header=False reads it as an edge)"
    assert load("#\n\na b cost\n1 2 3\n").assumptions[1:3] == (headed, "weighted: column 3 is 'cost' (int32)")
    assert load("1 2 3 4\n", weights=False).assumptions[1] == "not weighted: further columns are left out"
    assert load("a b 3 x\n").assumptions[2] == "left out, being text or not named like a variable: 'column4'"
    for graph in (load("1 2\n", directed=False), load("a,b\n", directed=True), load("# arcflux undirected\n1 2\n")):
        assert not any(text.startswith(("directed", "undirected")) for text in graph.assumptions)
    assert not load("# arcflux undirected\n1 2\n").directed


def test_options_rule_over_what_looks_likely(load):
    assert edges_of(load("source target\na b\n", header=False)) == [("a", "b"), ("source", "target")]
    assert edges_of(load("1 2\n3 4\n", header=True)) == [(3, 4)]
    assert edges_of(load("01 2\n", ids="text")) == [("01", "2")]
    assert edges_of(load("x y\n01 2\n", ids="text")) == [("01", "2"), ("x", "y")]
    assert edges_of(load("1,5 2\n", delimiter=" ", ids="text")) == [("1,5", "2")]
    assert edges_of(load("1:2:3\n", delimiter=":")) == [(1, 2, 3)]
    assert edges_of(load("1\t2\n", delimiter="\t")) == [(1, 2)]
    assert edges_of(load("1 2 x\n3 4 y\n", weights=False)) == [(1, 2), (3, 4)]
    assert edges_of(load("1,2,3,4\n5,6\n", weights=False)) == [(1, 2), (5, 6)]
    assert edges_of(load("; no\n1 2\n", comments=";")) == [(1, 2)]
    assert edges_of(load("#1 2\n", comments="")) == [("#1", "2")]
    assert edges_of(load("u v\nv w\n")) == [("u", "v"), ("v", "w")]
    assert edges_of(load("u v\n1 2\n")) == [(1, 2)]
    for wrong in (
        {"ids": "foo"},
        {"delimiter": "--"},
        {"delimiter": "é"},
        {"delimiter": "1"},
        {"comments": "é"},
        {"comments": "#1"},
    ):
        with pytest.raises(UsageError):
            load("1 2\n", **wrong)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("1 2\n3\n", 2, "1 field where 2 belong"),
        ("1 2\n3 four\n5 6\n", 2, "'four' is not an integer target id"),
        ("one 2\n3 4\n", 1, "'one' is not an integer source id"),
        ("1 2 3\n1 2\n", 2, "2 fields where 3 belong"),
        ("1 2\n1 2 3\n", 1, "2 fields where 3 belong"),
        ("1 2 3\n1 2 three\n", 2, "'three' is not a number"),
        ("1 2 3\n1 2 1_000\n", 2, "'1_000' is not a number"),
        ("# c\n1 9223372036854775808\n", 2, "not within 64 bits"),
        ("1 2\n" * 300 + "3 x\n", 301, "'x' is not an integer target id"),
        ("a b\n\n1 2\n3 x\n", 4, "'x' is not an integer target id"),
        ("1,2\n3,,4\n", 1, "2 fields where 3 belong"),
    ],
)
def test_a_slip_is_an_error_with_its_line(load, tmp_path, text, line, said):
    with pytest.raises(FormatError) as caught:
        load(text)
    assert said in caught.value.what
    assert (caught.value.line, caught.value.path) == (line, str(tmp_path / "g.txt"))
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("0 1 heavy\n1 2 light\n", 1, "heavy"),
        ("# weights\n0 1 5\n1 2 light\n", 3, "light"),
        ("ada bob heavy\n", 1, "heavy"),
        ("# names\n\nada bob 4\nbob eve light\n", 4, "light"),
        ("0 1 5\n" * 300 + "2 3 light\n", 301, "light"),
    ],
)
@pytest.mark.parametrize("name", ["g.wel", "g.wel.gz"])
def test_a_word_is_no_weight_of_a_wel_file(load, text, line, word, name):
    data = gzip.compress(text.encode()) if name.endswith(".gz") else text
    with pytest.raises(FormatError, match=f"'{word}' is not a number") as error:
        load(data, name)
    assert error.value.line == line
    assert load(data, name, weights=False).columns == {}


def test_weights_of_a_wel_file_below_a_header(load):
    assert load("source target weight\n0 1 5\n", "g.wel").columns["weight"].tolist() == [5]


@pytest.mark.parametrize(
    ("text", "name", "line"),
    [("1.5 2\n2.5 1.5\n", "g.el", 1), ("# a\n1.0 2.0 3\n", "g.wel", 2), ("src,dst\n7.,8.\n1.5,2\n", "g.csv", 2)],
)
def test_ids_that_are_numbers_and_not_whole_are_asked_for_by_name(load, text, name, line):
    with pytest.raises(FormatError, match="is a number and no integer id") as error:
        load(text, name)
    assert error.value.line == line
    assert "ids='text'" in error.value.remedy
    assert load(text, name, ids="text").arcs in (1, 2)


def test_names_that_look_like_numbers_among_others_are_names(load):
    assert sorted(load("v1.5 2.0\n2.0 v3\n").ids.to_ids().tolist()) == ["2.0", "v1.5", "v3"]


def test_files_without_edges(load):
    for text in ("\n", "# only\n\n", "source,target\n", "source target\n\n# end\n", "\ufeff"):
        with pytest.raises(FormatError, match=r"no edges") as caught:
            load(text)
        assert ("header" in caught.value.what) == ("source" in text)
    with pytest.raises(FormatError, match="the file is empty"):
        load("")
    with pytest.raises(FormatError, match="weights=True"):
        load("1 2\n", weights=True)


def test_the_sample_reaches_behind_long_lines_and_comments(load):
    assert edges_of(load("source target\n" + "# long\n" * 20_000 + "1 2\n")) == [(1, 2)]
    assert edges_of(load("source target\n" + "#" * 300_000 + "\n1 2\n")) == [(1, 2)]
    name = "x" * 200_000
    assert edges_of(load(f"source target\n{name} b\n")) == [(name, "b")]


def test_what_the_first_line_promises(load):
    assert load("# arcflux directed ids=-3..1\n0 1\n").ids.to_ids().tolist() == [-3, -2, -1, 0, 1]
    assert load("# arcflux undirected ids=0..-1\n").vertices == 0
    for end in (-(2**63), 2**63 - 1):
        assert load(f"# arcflux directed ids={end}..{end}\n").ids.to_ids().tolist() == [end]
    assert load("# arcflux directed ids=integer\n# isolated: [9, -9]\n0 1\n").ids.to_ids().tolist() == [-9, 0, 1, 9]
    assert load('# arcflux directed ids=text\n# isolated: ["a b", ""]\n').ids.to_ids().tolist() == ["", "a b"]
    assert load("# arcflux directed\n# isolated: [9, -9]\n0 eve\n").ids.to_ids().tolist() == ["-9", "0", "9", "eve"]
    assert load("# isolated: nobody wrote this\n1 2\n").vertices == 2
    with pytest.raises(SpaceError, match="graph of 9,000,000,000,000,000,000 vertices needs"):
        load("# arcflux directed ids=1..9000000000000000000\n1 2\n")
    with pytest.raises(FormatError, match="promises ids"):
        load("# arcflux directed ids=0..9999999999999999999\n1 2\n")
    with pytest.raises(IdError):
        load("# arcflux directed ids=0..1\n0 2\n")
    for damaged in ("1 2", "[1.5]", '["a"]', "[9223372036854775808]", "{}", "[true]", "[[1]]", "[" * 9000):
        with pytest.raises(FormatError, match=r"g\.txt:2: the list of isolated vertices is damaged"):
            load(f"# arcflux directed ids=integer\n# isolated: {damaged}\n1 2\n")
    for weights in ("1 2 300", "1 2 0.5"):
        with pytest.raises(FormatError, match="promises values of int8"):
            load(f"# arcflux directed columns=weight:int8\n{weights}\n")


PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress, ".zst": zstandard.ZstdCompressor(write_checksum=True).compress}


@pytest.mark.parametrize("suffix", PACKERS)
def test_packed(load, tmp_path, suffix):
    text = "".join(f"{k} {k * k}\n" for k in range(5000)).encode()
    whole = PACKERS[suffix](text)
    assert load(whole, f"g.el{suffix.upper()}").edges == 5000
    assert load(PACKERS[suffix](text[:-10]) + PACKERS[suffix](text[-10:]), f"g.el{suffix}").edges == 5000
    spoilt = bytearray(whole)
    spoilt[len(whole) // 2] ^= 0xFF
    trailed = whole + b"1 2\n" if suffix != ".bz2" else b"BZ"  # bzip2 ignores what follows the end
    for damaged in (whole[:-1], whole[: len(whole) // 2], whole[:3], bytes(spoilt), b"1 2\n", trailed):
        with pytest.raises(FormatError, match="damaged or cut short") as caught:
            load(damaged, f"g.el{suffix}")
        assert caught.value.path == str(tmp_path / f"g.el{suffix}")
    with pytest.raises(FormatError, match="the archive is empty"):
        load(PACKERS[suffix](b""), f"g.el{suffix}")


@settings(deadline=None, max_examples=200)
@given(
    graphs(names=None), st.sampled_from(["el", "tsv", "csv", "txt.gz", "CSV.ZST"]), st.sampled_from([None, True, False])
)
def test_there_and_back(graph, suffix, header):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"g.{suffix}")
        graph.save(path, header=header)
        back = af.load(path)
        assert [file.name for file in Path(folder).iterdir()] == [path.name]
    assert back.equals(graph)
    assert back.edges == graph.edges


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_foreign_files_keep_their_values(data):
    """Without Arcflux's first line types may widen, as said in the assumptions, and values stay."""
    size = data.draw(st.integers(1, 20))
    source, target = (data.draw(st.lists(INT64, min_size=size, max_size=size)) for _ in range(2))
    weights = data.draw(values(np.dtype(data.draw(st.sampled_from(["i1", "u4", "i8", "f8"]))), size))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "g.txt")
        rows = zip(source, target, weights.tolist(), strict=True)
        path.write_text("".join(f"{s} {t} {w!r}\n" for s, t, w in rows))
        found = edges_of(af.load(path))
    expected = sorted(zip(source, target, weights.tolist(), strict=True))
    assert [edge[:2] for edge in found] == [edge[:2] for edge in expected]
    assert np.array_equal(np.sort([e[2] for e in found]), np.sort(weights), equal_nan=True)


def test_what_lies_between_edges_is_no_value(load):
    def full_of_noise(size, kind, **how):
        return np.full(size, 1e300 if kind is np.float64 else 999, kind)

    with mock.patch.object(scan, "empty", full_of_noise):
        for kind, weight in (("int8", 5), ("float32", 0.5)):
            text = f"# arcflux directed columns=weight:{kind}\n" + f"# no edge\n1 2 {weight}\n" * 9
            assert load(text).columns["weight"].tolist() == [weight] * 9


def test_options_of_writing(tmp_path):
    graph = af.Graph.from_edges([1, 2], [2, 3], columns={"weight": [5, 7]})
    graph.save(tmp_path / "g.el", delimiter=";", header=True)
    lines = (tmp_path / "g.el").read_text().splitlines()
    assert lines[1:] == ['"source";"target";"weight"', "1;2;5", "2;3;7"]
    assert lines[0] == "# arcflux directed ids=1..3 delimiter=semicolon header=yes columns=weight:int64"
    assert af.load(tmp_path / "g.el").equals(graph)
    graph.save(tmp_path / "G.CSV")
    assert (tmp_path / "G.CSV").read_text().splitlines()[1:] == ['"source","target","weight"', "1,2,5", "2,3,7"]
    with pytest.raises(UsageError, match="delimiter is 'ab'"):
        graph.save(tmp_path / "g.el", delimiter="ab")
    with pytest.raises(UsageError, match="delimitre= is no option"):
        graph.save(tmp_path / "g.el", delimitre=";")
    assert af.load(tmp_path / "g.el").equals(graph)

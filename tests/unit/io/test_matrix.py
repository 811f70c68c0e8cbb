"""Matrix Market: against scipy's reader and writer, there and back, and one bad file after another."""

import gzip
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import arcflux as af
from arcflux import trace
from arcflux.errors import ArcfluxError, FormatError, SpaceError
from arcflux.io import matrix

BANNER = "%%MatrixMarket matrix coordinate"


def file(folder, text, name="m.mtx"):
    path = folder / name
    path.write_text(text)
    return path


def edges_of(graph):
    source, target, columns = graph.edge_list()
    return sorted(zip(source.tolist(), target.tolist(), *(column.tolist() for column in columns.values()), strict=True))


@st.composite
def graphs(draw, weights=("none", "int", "float")):
    n = draw(st.integers(1, 12))
    ends = st.integers(1, n)
    pairs = draw(st.lists(st.tuples(ends, ends), max_size=30))
    kind = draw(st.sampled_from(weights))
    columns = {}
    if kind == "int":
        value = st.integers(1 - 2**31, 2**31 - 1)
        columns["weight"] = np.array(draw(st.lists(value, min_size=len(pairs), max_size=len(pairs))), np.int32)
    elif kind == "float":
        value = st.floats(allow_nan=False)
        columns["weight"] = np.array(draw(st.lists(value, min_size=len(pairs), max_size=len(pairs))), np.float64)
    source, target = np.array(pairs, np.int64).reshape(-1, 2).T
    return af.Graph.from_edges(
        source, target, columns=columns, vertices=np.arange(1, n + 1), directed=draw(st.booleans())
    )


@settings(deadline=None, max_examples=60)
@given(graphs())
def test_there_and_back(graph):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "g.mtx")
        graph.save(path)
        back = af.load(path)
    assert back.equals(graph)


@settings(deadline=None, max_examples=40)
@given(graphs(weights=("int",)))
def test_scipy_reads_what_is_written(graph):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "g.mtx")
        graph.save(path)
        read = scipy.sparse.coo_array(scipy.io.mmread(path))
    offsets, neighbours = graph.out
    sources = np.repeat(np.arange(graph.vertices), np.diff(offsets).astype(int))
    expected = scipy.sparse.coo_array(
        (graph.columns["weight"].astype(np.int64), (sources, neighbours.astype(int))), shape=read.shape
    )
    assert (abs(read.toarray() - expected.toarray()) == 0).all()


@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric"])
@pytest.mark.parametrize("field", ["real", "integer"])
def test_reads_what_scipy_writes(tmp_path, symmetry, field):
    rng = np.random.default_rng(5)
    dense = np.triu(rng.integers(0, 5, (30, 30)) * (rng.random((30, 30)) < 0.2), 1)
    full = {"general": dense, "symmetric": dense + dense.T, "skew-symmetric": dense - dense.T}[symmetry]
    full = full.astype(float) / 8 if field == "real" else full
    path = tmp_path / "m.mtx"
    scipy.io.mmwrite(path, scipy.sparse.coo_array(full), symmetry=symmetry)
    graph = af.load(path)
    result = np.zeros_like(full)
    sources = np.repeat(np.arange(30), graph.out_degrees.astype(int))
    result[sources, graph.out.neighbours.astype(int)] = graph.columns["weight"]
    assert (result == full).all()
    assert graph.directed == (symmetry != "symmetric")
    assert graph.columns["weight"].dtype.kind == ("f" if field == "real" else "i")
    assert graph.ids.to_ids().tolist() == list(range(1, 31))


def test_pattern_packed_comments_and_isolated_vertices(tmp_path):
    path = tmp_path / "m.mtx.gz"
    text = f"{BANNER} Pattern General\r\n% a comment\r\n\r\n  4 4 2\r\n% another\r\n1 2\r\n\r\n 4 1 \r\n"
    path.write_bytes(gzip.compress(text.encode()))
    graph = af.load(path)
    assert edges_of(graph) == [(1, 2), (4, 1)]
    assert (graph.vertices, graph.directed, dict(graph.columns)) == (4, True, {})
    assert any("directed" in said for said in graph.assumptions)


@pytest.mark.parametrize("suffix", [".mtx.gz", ".mtx.bz2", ".mtx.zst"])
def test_writes_packed(tmp_path, suffix):
    graph = af.Graph.from_edges([1, 2], [2, 3])
    graph.save(tmp_path / f"g{suffix}")
    assert not (tmp_path / f"g{suffix}").read_bytes().startswith(b"%%")
    assert af.load(tmp_path / f"g{suffix}").equals(graph)


def test_rectangular_is_bipartite(tmp_path):
    graph = af.load(file(tmp_path, f"{BANNER} pattern general\n2 3 2\n1 1\n2 3\n"))
    assert edges_of(graph) == [(1, 3), (2, 5)]
    assert graph.vertices == 5
    assert any("rectangular" in said for said in graph.assumptions)


def test_skew_symmetric_has_the_negated_arc_back(tmp_path):
    graph = af.load(file(tmp_path, f"{BANNER} integer skew-symmetric\n3 3 2\n2 1 -2147483648\n3 1 4\n"))
    assert edges_of(graph) == [(1, 2, 2147483648), (1, 3, -4), (2, 1, -2147483648), (3, 1, 4)]


def test_integers_beyond_32_bits_and_reals_that_look_whole(tmp_path):
    graph = af.load(file(tmp_path, f"{BANNER} integer general\n2 2 1\n1 2 9007199254740993\n"))
    assert graph.columns["weight"].tolist() == [9007199254740993]
    graph = af.load(file(tmp_path, f"{BANNER} real general\n2 2 1\n1 2 7\n"))
    assert graph.columns["weight"].dtype == np.float64


def test_no_entries(tmp_path):
    graph = af.load(file(tmp_path, f"{BANNER} real symmetric\n3 3 0"))
    assert (graph.vertices, graph.edges) == (3, 0)
    assert graph.weighted


def test_other_ids_are_renumbered_and_it_is_said(tmp_path):
    graph = af.Graph.from_edges(["b", "a"], ["c", "c"], columns={"cost": [1, 2], "weight": [3, 4]})
    heard = []
    with trace.listen(lambda event: heard.append(getattr(event, "text", ""))):
        graph.save(tmp_path / "g.mtx")
    assert edges_of(af.load(tmp_path / "g.mtx")) == [(1, 3, 4), (2, 3, 3)]
    assert any("numbers vertices from 1" in text for text in heard)
    assert any("cost left out" in text for text in heard)


WRONG = {
    "no banner": ("1 2\n2 3\n", 1, "banner"),
    "array": ("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n", 1, "array"),
    "complex": (f"{BANNER} complex general\n1 1 1\n1 1 0 1\n", 1, "complex"),
    "hermitian": (f"{BANNER} complex hermitian\n1 1 1\n1 1 0 1\n", 1, "hermitian"),
    "pattern skew": (f"{BANNER} pattern skew-symmetric\n2 2 1\n2 1\n", 1, "skew"),
    "a word too many": (f"{BANNER} real general more\n1 1 0\n", 1, "banner"),
    "no size": (f"{BANNER} real general\n% only comments\n", 0, "no header"),
    "two sizes": (f"{BANNER} real general\n3 3\n", 2, "2 words"),
    "negative size": (f"{BANNER} real general\n%\n3 3 -1\n", 3, "-1"),
    "size in digits of another script": (f"{BANNER} real general\n٣ 3 1\n", 2, "header"),
    "too few": (f"{BANNER} pattern general\n3 3 3\n1 2\n2 3\n", 2, "promises 3 entries, and 2 follow"),
    "too many": (f"{BANNER} pattern general\n3 3 1\n1 2\n2 3\n", 2, "promises 1 entries, and 2 follow"),
    "row out of range": (f"{BANNER} pattern general\n3 3 2\n1 2\n% c\n\n4 3\n", 6, "index 4"),
    "column zero": (f"{BANNER} pattern general\n3 3 2\n1 2\n1 0\n", 4, "index 0"),
    "negative": (f"{BANNER} pattern general\n3 3 2\n1 2\n1 -1\n", 4, "index -1"),
    "no value": (f"{BANNER} real general\n3 3 1\n1 2\n", 3, "2 fields where 3"),
    "a value too many": (f"{BANNER} pattern general\n3 3 1\n1 2 0.5\n", 3, "3 fields where 2"),
    "not a number": (f"{BANNER} real general\n3 3 1\n1 2 much\n", 3, "much"),
    "fraction of an integer": (f"{BANNER} integer general\n3 3 2\n1  2   3 \n1 3 0.5\n", 4, "integer"),
    "rectangular and symmetric": (f"{BANNER} pattern symmetric\n3 2 1\n1 2\n", 2, "symmetric"),
    "skew diagonal": (f"{BANNER} real skew-symmetric\n3 3 2\n2 1 1\n\n2 2 1\n", 5, "diagonal"),
}


@pytest.mark.parametrize("name", WRONG)
def test_bad_files_are_refused_with_the_line(tmp_path, name):
    text, line, words = WRONG[name]
    with pytest.raises(FormatError) as caught:
        matrix.read(file(tmp_path, text))
    assert words in str(caught.value)
    assert caught.value.line == line
    assert caught.value.path == str(tmp_path / "m.mtx")


def test_a_count_that_no_machine_holds(tmp_path):
    for count in (10**13, 10**18 - 1):
        with pytest.raises(SpaceError, match="vertices"):
            matrix.read(file(tmp_path, f"{BANNER} pattern general\n{count} {count} 1\n1 1\n"))
    with pytest.raises(FormatError):
        matrix.read(file(tmp_path, f"{BANNER} pattern general\n{10**30} 1 1\n1 1\n"))


@pytest.mark.parametrize("content", [b"", b"\n", b"\x1f\x8b\x08", b"%%MatrixMarket"])
def test_empty_or_cut_short(tmp_path, content):
    for name in ("m.mtx", "m.mtx.gz"):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(FormatError):
            matrix.read(path)
    with pytest.raises(FormatError, match="no such file"):
        matrix.read(tmp_path / "missing.mtx")


def test_nothing_half_written_remains(tmp_path, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    graph = af.Graph.from_edges([1, 2], [2, 3])
    graph.save(tmp_path / "g.mtx")
    before = (tmp_path / "g.mtx").read_bytes()
    monkeypatch.setattr("pyarrow.csv.CSVWriter", full)
    with pytest.raises(SpaceError):
        af.Graph.from_edges([1], [2]).save(tmp_path / "g.mtx")
    assert (tmp_path / "g.mtx").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["g.mtx"]


tokens = st.sampled_from(["%", "\n", " ", "1", "2", "3", "-1", "0.5", "nan", "e", "\t", "\r", "9" * 20, "x"])


@settings(deadline=None, max_examples=200)
@given(
    st.one_of(
        st.binary(max_size=200),
        st.lists(tokens, max_size=40).map(lambda words: "".join(words).encode()),
        st.tuples(
            st.sampled_from(["real", "integer", "pattern", "complex"]),
            st.sampled_from(["general", "symmetric", "skew-symmetric"]),
            st.lists(tokens, max_size=40),
        ).map(lambda parts: f"{BANNER} {parts[0]} {parts[1]}\n3 3 2\n{' '.join(parts[2])}".encode()),
    )
)
def test_no_text_raises_anything_else(content):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m.mtx")
        path.write_bytes(content)
        with suppress(ArcfluxError):
            matrix.read(path)

"""Tables of edges: Parquet, Feather and Arrow, there and back; kinds of text; and what is refused."""

import decimal
import json
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import arcflux as af
from arcflux.errors import ArcfluxError, FormatError, GraphError, IdError, SpaceError, UsageError
from arcflux.io import tables

SUFFIXES = [".parquet", ".feather", ".arrow"]


def edges_of(graph):
    source, target, columns = graph.edge_list()
    return sorted(zip(source.tolist(), target.tolist(), *(column.tolist() for column in columns.values()), strict=True))


integers = st.lists(st.integers(-(2**63), 2**63 - 1), unique=True, max_size=8)
runs = st.tuples(st.integers(-5, 5), st.integers(0, 8)).map(lambda run: list(range(run[0], run[0] + run[1])))
names = st.lists(st.text(st.characters(codec="utf-8"), max_size=3), unique=True, max_size=8)


@st.composite
def graphs(draw):
    ids = draw(st.one_of(integers, runs, names))
    pairs = draw(st.lists(st.tuples(st.sampled_from(ids), st.sampled_from(ids)), max_size=25)) if ids else []
    columns = {}
    for name in draw(st.lists(st.sampled_from(["weight", "cost", "day"]), unique=True)):
        kind = draw(st.sampled_from([np.int8, np.uint64, np.float32, np.float64, np.bool_]))
        columns[name] = np.array(draw(st.lists(st.integers(0, 1), min_size=len(pairs), max_size=len(pairs))), kind)
    kind = object if ids and isinstance(ids[0], str) else np.int64
    source, target = (np.array([pair[side] for pair in pairs], kind) for side in (0, 1))
    vertices = np.array(ids, kind)
    return af.Graph.from_edges(source, target, columns=columns, vertices=vertices, directed=draw(st.booleans()))


@settings(deadline=None, max_examples=60)
@given(graphs(), st.sampled_from(SUFFIXES))
def test_there_and_back(graph, suffix):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"g{suffix}")
        graph.save(path)
        assert af.load(path).equals(graph)


@pytest.mark.parametrize(
    "names",
    [("source", "target"), ("src", "dst"), ("From", "To"), ("u", "v"), ("head", "tail"), ("a", "b")],
)
def test_the_ends_are_found_by_name(tmp_path, names):
    table = pa.table({names[0]: [1, 2], names[1]: [2, 3], "weight": [0.5, 1.5], "note": ["x", "y"]})
    order = [*names, "weight", "note"] if names == ("a", "b") else ["note", "weight", names[1], names[0]]
    path = tmp_path / "e.parquet"
    pq.write_table(table.select(order), path)
    graph = af.load(path)
    assert edges_of(graph) == [(1, 2, 0.5), (2, 3, 1.5)]
    assert graph.directed
    assert repr(names[0]) in graph.assumptions[0]
    assert any("'note'" in said for said in graph.assumptions)


def test_the_ends_are_named():
    table = pa.table({"source": [1], "target": [2], "x": [3], "y": [4]})
    loaded = tables.read_table(table, source="x", target="y", columns=["target"])
    assert (loaded.edges.source.tolist(), list(loaded.edges.columns)) == ([3], ["target"])
    for wrong in ({"source": "x"}, {"source": "x", "target": "x"}, {"columns": ["z"]}, {"columns": "x"}):
        with pytest.raises(UsageError, match="'x'"):
            tables.read_table(table, **wrong)


def test_arrow_streams_and_feather(tmp_path):
    table = pa.table({"source": [1, 2], "target": [2, 3]})
    with pa.OSFile(str(tmp_path / "s.arrow"), "wb") as out, pa.ipc.new_stream(out, table.schema) as stream:
        stream.write_table(table)
    pyarrow.feather.write_feather(table, str(tmp_path / "f.feather"), compression="zstd")
    for name in ("s.arrow", "f.feather"):
        assert edges_of(af.load(tmp_path / name)) == [(1, 2), (2, 3)]


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
)
def test_kinds_of_text(kind):
    one, other = (pa.array(names, kind) for names in (["ada", "bob"], ["bob", "eve"]))
    assert edges_of(af.load(pa.table({"source": one, "target": other}))) == [("ada", "bob"), ("bob", "eve")]


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.uint16(), pa.int32(), pa.uint64(), pa.dictionary(pa.int8(), pa.int64())]
)
def test_kinds_of_integers(kind):
    one, other = (pa.array(ids, pa.int64()) for ids in ([1, 2], [2, 5]))
    pair = [ids.dictionary_encode() if pa.types.is_dictionary(kind) else ids.cast(kind) for ids in (one, other)]
    assert edges_of(af.load(pa.table(pair, names=["u", "v"]))) == [(1, 2), (2, 5)]


def test_kinds_of_columns():
    table = pa.table(
        {
            "u": [1],
            "v": [2],
            "half": pa.array([np.float16(0.5)]),
            "money": [decimal.Decimal("1.25")],
            "flag": [True],
            "two words": [1],
            "day": pa.array([1], pa.date32()),
            "__index_level_0__": [9],
        }
    )
    loaded = tables.read_table(table)
    kinds = {name: str(column.dtype) for name, column in loaded.edges.columns.items()}
    assert kinds == {"half": "float32", "money": "float64", "flag": "bool"}
    assert any("two words" in said and "day" in said for said in loaded.assumptions)
    with pytest.raises(GraphError):
        tables.read_table(table, columns=["two words"])
    with pytest.raises(GraphError):
        tables.read_table(table, columns=["day"])


def test_no_rows():
    for kind in (pa.int64(), pa.string(), pa.null(), pa.float64()):
        empty = pa.array([], kind)
        assert len(tables.read_table(pa.table({"source": empty, "target": empty})).edges) == 0


def test_a_missing_id_or_value_names_its_row():
    with pytest.raises(FormatError, match=r"row 1 .* column 'v'"):
        tables.read_table(pa.table({"u": [1, 2], "v": [2, None]}))
    table = pa.table({"u": [1, 2, 3], "v": [2, 3, 4], "weight": [1.0, None, 2.0]})
    with pytest.raises(FormatError, match=r"row 1 .* column 'weight'"):
        tables.read_table(table)
    assert len(tables.read_table(table, columns=[]).edges) == 3


@pytest.mark.parametrize(
    ("columns", "error", "words"),
    [
        ({"u": [1.0], "v": [2.0]}, IdError, "double"),
        ({"u": [True], "v": [False]}, IdError, "bool"),
        ({"u": [b"x"], "v": [b"y"]}, IdError, "binary"),
        ({"u": [[1]], "v": [[2]]}, IdError, "list"),
        ({"u": [1], "v": ["2"]}, IdError, "two kinds"),
        ({"u": pa.array([2**63], pa.uint64()), "v": [1]}, IdError, "2\\^63"),
        ({"u": [1]}, FormatError, "1 columns"),
    ],
)
def test_what_cannot_be_ids(columns, error, words):
    with pytest.raises(error, match=words) as caught:
        af.load(pa.table(columns))
    assert caught.value.expected


def test_two_columns_of_one_name():
    with pytest.raises(FormatError, match="two named 'u'"):
        tables.read_table(pa.table([[1], [2], [3]], names=["u", "v", "u"]))


@pytest.mark.parametrize(
    "stated",
    [
        "{",
        "[]",
        "{}",
        '{"directed": true}',
        '{"directed": true, "first": "x", "vertices": 1}',
        '{"directed": true, "isolated": [1.5, "x"]}',
        '{"directed": true, "isolated": 7}',
        json.dumps({"directed": True, "first": 0, "vertices": 10**15}),
    ],
)
def test_damaged_metadata(stated):
    table = pa.table({"u": [1], "v": [2]}).replace_schema_metadata({"arcflux": stated})
    with pytest.raises((FormatError, SpaceError, IdError)):
        tables.read_table(table)


def test_columns_named_as_the_ends(tmp_path):
    graph = af.Graph.from_edges([1], [2], columns={"source": [1]})
    with pytest.raises(GraphError, match="named source or target"):
        graph.save(tmp_path / "g.parquet")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_no_damaged_file_raises_anything_else(tmp_path, suffix):
    path = tmp_path / f"g{suffix}"
    graph = af.Graph.from_edges(["ada", "bob", "eve"], ["bob", "eve", "ada"], columns={"weight": [1.0, 2.0, 3.0]})
    graph.save(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(3)
    for cut in (0, 1, 6, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(FormatError):
            tables.read(path)
    for _ in range(300):
        content = bytearray(whole)
        content[rng.integers(len(whole))] = rng.integers(256)
        path.write_bytes(content)
        with suppress(ArcfluxError):
            tables.read(path)


def test_what_is_unpacked_is_given_back_with_its_address_space(tmp_path):
    """Arrow's own allocator keeps it: under ulimit -v nothing could be loaded after a file that is too large."""
    numbers = pa.array(np.arange(1 << 16))
    table = pa.table({"source": numbers, "target": numbers})
    with pa.OSFile(str(tmp_path / "packed.arrow"), "wb") as file:
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        with pa.ipc.new_file(file, table.schema, options=options) as writer:
            writer.write_table(table)
    program = (
        "import sys, pyarrow as pa; from pathlib import Path; from arcflux.io import tables\n"
        "table = tables._open_table(Path(sys.argv[1]), 1)\n"
        "assert table.num_rows == 1 << 16 and pa.default_memory_pool().max_memory() < 1 << 16"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "packed.arrow")], check=True)

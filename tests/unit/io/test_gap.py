"""The GAP suite's binaries: there and back, against a plain-Python writer of the layout, and damaged ones."""

import os
import struct
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import arcflux as af
from arcflux import trace
from arcflux.errors import ArcfluxError, FormatError, UsageError, WeightError
from arcflux.io import gap


def serialized(directed, rows, back=None):
    """The bytes of a graph: rows[v] are the neighbours of v, or pairs of neighbour and weight."""
    data = struct.pack("<?qq", directed, sum(map(len, rows)), len(rows))
    for side in (rows, back) if directed else (rows,):
        places = np.concatenate([[0], np.cumsum([len(row) for row in side])]).astype("<i8")
        data += places.tobytes() + np.array([arc for row in side for arc in row], "<i4").tobytes()
    return data


def file(folder, content, name="g.sg"):
    path = folder / name
    path.write_bytes(content)
    return path


@st.composite
def graphs(draw, weighted):
    n = draw(st.integers(0, 10))
    ends = st.integers(0, n - 1)
    arcs = draw(st.lists(st.tuples(ends, ends, st.integers(-(2**31), 2**31 - 1)), max_size=30)) if n else []
    source, target, weight = np.array(arcs, np.int64).reshape(-1, 3).T
    columns = {"weight": weight.astype(np.int32)} if weighted else {}
    return af.Graph.from_edges(source, target, columns=columns, vertices=n, directed=draw(st.booleans()))


@settings(deadline=None, max_examples=60)
@given(st.one_of(graphs(weighted=True), graphs(weighted=False)))
def test_there_and_back(graph):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "g.wsg" if graph.weighted else "g.sg")
        graph.save(path)
        content = path.read_bytes()
        back = af.load(path)
    assert back.equals(graph)
    assert back.edges == graph.edges
    sides = []
    for (offsets, neighbours), columns in ((graph.out, graph.columns), (graph.into, graph.in_columns)):
        arcs = list(zip(neighbours.tolist(), columns["weight"].tolist(), strict=True) if graph.weighted else neighbours)
        sides.append([arcs[offsets[v] : offsets[v + 1]] for v in range(graph.vertices)])
    assert content == serialized(graph.directed, *sides)


@pytest.mark.parametrize("weighted", [False, True])
def test_unsorted_rows_are_sorted_with_their_weights(tmp_path, weighted):
    rows, back = [[2, 1], [], [0, 1]], [[2], [0, 2], [0]]
    if weighted:
        rows, back = ([[(v, 10 * u + v) for v in row] for u, row in enumerate(side)] for side in (rows, back))
    graph = af.load(file(tmp_path, serialized(True, rows, back), "g.wsg" if weighted else "g.sg"))
    assert graph.out.neighbours.tolist() == [1, 2, 0, 1]
    assert graph.sorted
    if weighted:
        assert graph.columns["weight"].tolist() == [1, 2, 20, 21]


def test_undirected_with_a_self_loop(tmp_path):
    graph = af.load(file(tmp_path, serialized(False, [[0, 1], [0], []])))
    assert (graph.vertices, graph.edges, graph.directed) == (3, 2, False)


WHOLE = serialized(True, [[1], [2], []], [[], [0], [1]])
DAMAGED = {
    "no header": WHOLE[:10],
    "neither directed nor not": b"\2" + WHOLE[1:],
    "cut short": WHOLE[:-1],
    "only one side": serialized(False, [[1], [0]])[:-1].replace(b"\0", b"\1", 1),
    "too long": WHOLE + b"\0",
    "negative counts": struct.pack("<?qq", False, -1, 3) + bytes(32),
    "countless": struct.pack("<?qq", False, 2**62, 2**62) + bytes(32),
    "too many vertices": struct.pack("<?qq", False, 0, 2**31),
    "offsets that fall": WHOLE[:17] + struct.pack("<qqqq", 0, 2, 1, 2) + WHOLE[49:],
    "offsets that start late": WHOLE[:17] + struct.pack("<qqqq", 1, 1, 2, 2) + WHOLE[49:],
    "offsets that end early": WHOLE[:17] + struct.pack("<qqqq", 0, 1, 1, 1) + WHOLE[49:],
    "neighbour too large": WHOLE[:49] + struct.pack("<ii", 1, 3) + WHOLE[57:],
    "neighbour negative": WHOLE[:49] + struct.pack("<ii", -1, 2) + WHOLE[57:],
    "one direction of an undirected edge": serialized(False, [[1], [2], []]),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_files_are_refused(tmp_path, name):
    with pytest.raises(FormatError) as caught:
        gap.open_graph(file(tmp_path, DAMAGED[name]))
    assert caught.value.path == str(tmp_path / "g.sg")
    assert caught.value.expected


def test_two_weights_of_an_undirected_edge(tmp_path):
    assert af.load(file(tmp_path, serialized(False, [[(1, 5)], [(0, 5)]]), "g.wsg")).edges == 1
    with pytest.raises(FormatError, match="undirected"):
        af.load(file(tmp_path, serialized(False, [[(1, 5)], [(0, 6)]]), "g.wsg"))


def test_the_wrong_suffix(tmp_path):
    with pytest.raises(FormatError, match="bytes"):
        af.load(file(tmp_path, WHOLE, "g.wsg"))
    with pytest.raises(FormatError, match="no such file"):
        gap.open_graph(tmp_path / "missing.sg")


def test_options_that_would_change_it_are_refused(tmp_path):
    with pytest.raises(UsageError):
        af.load(file(tmp_path, WHOLE), symmetrise=True)


@pytest.mark.parametrize("weights", [None, [0.5], [2**31]])
def test_weights_that_do_not_fit(tmp_path, weights):
    graph = af.Graph.from_edges([0], [1], columns=None if weights is None else {"weight": weights})
    with pytest.raises(WeightError):
        graph.save(tmp_path / "g.wsg")
    assert not list(tmp_path.iterdir())


def test_what_is_left_out_is_said(tmp_path):
    heard = []
    with trace.listen(lambda event: heard.append(getattr(event, "text", ""))):
        af.Graph.from_edges([7], [9], columns={"weight": [3]}).save(tmp_path / "g.sg")
    assert sum("left out" in text or "numbers vertices from 0" in text for text in heard) == 2


@settings(deadline=None, max_examples=200)
@given(st.integers(0, len(WHOLE) - 1), st.integers(0, 255))
def test_no_flipped_byte_raises_anything_else(place, value):
    with tempfile.TemporaryDirectory() as folder:
        content = bytearray(WHOLE)
        content[place] = value
        try:
            graph = gap.open_graph(file(Path(folder), bytes(content)))
        except ArcfluxError:
            return
        assert graph.out.neighbours.max() < graph.vertices


def test_a_file_that_becomes_shorter_while_it_is_read(tmp_path, monkeypatch):
    """It is told, where it used to be read for ever."""
    af.load("kron:8").save(tmp_path / "g.sg")
    offsets = gap._offsets

    def cutting(file, path, *sizes):
        found = offsets(file, path, *sizes)
        os.truncate(path, file.tell() + 5)
        file.seek(file.tell())
        return found

    monkeypatch.setattr(gap, "_offsets", cutting)
    with pytest.raises(FormatError, match="became shorter"):
        af.load(tmp_path / "g.sg")

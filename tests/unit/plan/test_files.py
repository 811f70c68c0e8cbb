"""The shape of a graph by its file: how many vertices and arcs, and of what kind, without loading it."""

import gzip

import plan_machine
import pytest

import arcflux as af
from arcflux.errors import FormatError
from arcflux.plan.files import _vertices, peek
from arcflux.plan.sample import measure_shape, shape_of

calibration = plan_machine.calibration
SPECS = {"kron:13": "skewed", "urand:13": "flat", "grid:120x120": "near"}


def kind(graph):
    """Deep, with hubs, or neither."""
    return "near" if graph.depth > 30 else "skewed" if graph.top > 16 * graph.mean_degree else "flat"


@pytest.fixture(params=SPECS)
def graph(request):
    return af.load(request.param)


@pytest.fixture
def unloaded(monkeypatch):
    """Nothing may be loaded."""
    import arcflux.algorithms  # which take `load` from where it is now
    import arcflux.io

    def refused(*given, **options):
        raise AssertionError("the file was loaded")

    monkeypatch.setattr(arcflux.io, "load", refused)


@pytest.mark.parametrize("suffix", [".arcflux", ".sg", ".mtx", ".gr", ".graph", ".txt", ".csv", ".txt.gz", ".parquet"])
def test_files_are_looked_at_and_not_loaded(graph, suffix, tmp_path, unloaded):
    path = tmp_path / f"graph{suffix}"
    graph.save(path)
    found = shape_of(path)
    exact = suffix in (".arcflux", ".sg", ".mtx", ".gr", ".graph")
    if exact:
        assert found.vertices == graph.vertices
    assert found.vertices == pytest.approx(graph.vertices, rel=0.05)
    assert found.arcs == (graph.arcs if exact else pytest.approx(graph.arcs, rel=0.05))
    assert found.notes
    assert "was not loaded" in found.notes[0]
    if suffix not in (".mtx", ".gr", ".graph", ".txt.gz", ".parquet"):  # of which only the start is looked at
        assert kind(found.sketch()) == SPECS[graph.name]


def test_a_store_says_what_its_graph_does(graph, tmp_path, unloaded):
    graph.save(tmp_path / "g.arcflux")
    found, known = shape_of(tmp_path / "g.arcflux").sketch(), measure_shape(graph).sketch()
    assert found.hot == pytest.approx(known.hot, rel=0.25)
    assert found.local == pytest.approx(known.local, abs=0.3)


def test_memory_of_a_file_is_that_of_its_graph(calibration, graph, tmp_path):
    for suffix in (".arcflux", ".txt", ".sg"):
        graph.save(tmp_path / f"g{suffix}")
        expected = af.estimate("bfs", graph).memory
        assert af.estimate("bfs", tmp_path / f"g{suffix}").memory == pytest.approx(expected, rel=0.05)


def test_names_are_counted_by_how_often_they_come_again(tmp_path, unloaded):
    lines = [f"person-{k % 997},person-{(k * 7919) % 991}" for k in range(60_000)]
    (tmp_path / "names.csv").write_text("source,target\n" + "\n".join(lines) + "\n")
    found = shape_of(tmp_path / "names.csv")
    assert found.vertices == pytest.approx(997, rel=0.1)
    assert found.arcs == pytest.approx(60_000, rel=0.02)


@pytest.mark.parametrize(("distinct", "drawn"), [(1000, 5000), (100_000, 50_000), (50, 10_000)])
def test_sparse_ids(distinct, drawn):
    import numpy as np

    ids = np.random.default_rng(1).choice(10**12, distinct)[np.random.default_rng(2).integers(0, distinct, drawn)]
    assert _vertices(ids, drawn * 4) == pytest.approx(distinct, rel=0.1)


def test_packed_files_and_small_ones(tmp_path, unloaded):
    text = "".join(f"{k} {k + 1}\n" for k in range(400_000))
    with gzip.open(tmp_path / "long.txt.gz", "wt") as file:
        file.write(text)
    assert shape_of(tmp_path / "long.txt.gz").arcs == pytest.approx(400_000, rel=0.25)
    (tmp_path / "two.txt").write_text("0 1\n1 2")
    found = shape_of(tmp_path / "two.txt")
    assert (found.vertices, found.arcs) == (3, 2)


def test_what_is_not_there_or_broken(tmp_path):
    with pytest.raises(FormatError):
        shape_of(tmp_path / "nowhere.txt")
    (tmp_path / "empty.txt").write_text("")
    with pytest.raises(FormatError, match="empty"):
        shape_of(tmp_path / "empty.txt")
    (tmp_path / "bad.sg").write_bytes(b"\x07" * 40)
    with pytest.raises(FormatError):
        shape_of(tmp_path / "bad.sg")
    (tmp_path / "x.unknown").write_text("1 2\n")
    assert peek(tmp_path / "x.unknown") is None
    with pytest.raises(FormatError):
        shape_of(tmp_path / "x.unknown")

"""load and save: the suffix decides, options are checked, and a finished graph is not built another way."""

import os
import threading
from pathlib import Path

import numpy as np
import pytest
from io_samples import edges_of

import arcflux as af
from arcflux import trace
from arcflux.errors import FormatError, SpaceError, StoreError, UsageError
from arcflux.io import FORMATS, loaded


@pytest.fixture
def edges(tmp_path):
    path = tmp_path / "g.txt"
    path.write_text("0 1 5\n1 2 7\n1 2 8\n2 2 9\n")
    return path


def test_what_is_done_to_the_edges_is_asked_for_and_said(edges):
    graph = af.load(edges)
    assert edges_of(graph) == [(0, 1, 5), (1, 2, 7), (1, 2, 8), (2, 2, 9)]
    assert (graph.directed, graph.changes.lines()) == (True, [])
    assert edges_of(af.load(edges, deduplicate="max", drop_self_loops=True)) == [(0, 1, 5), (1, 2, 8)]
    assert "parallel edges are kept" in graph.assumptions
    assert "parallel edges are kept" not in af.load(edges, deduplicate="max").assumptions
    both = af.load(edges, symmetrise=True)
    assert (both.directed, both.edges, both.arcs) == (False, 4, 7)
    assert both.changes.lines() == ["every edge was added in the other direction too"]
    assert af.load(edges, directed=False).equals(both)
    assert af.load(edges, vertices=10).vertices == 10
    heard = []
    with trace.listen(lambda event: heard.append(event.text) if isinstance(event, trace.Note) else None):
        af.load(edges, deduplicate="first")
    said = [text for text in heard if "compiling" not in text]
    assert said == [
        "g.txt: directed: a line is one direction (directed=False reads both); weighted: column 3 is 'weight' (int32); "
        "ids 0 to 2; 1 parallel edges were merged"
    ]


@pytest.mark.parametrize("directed", [True, False])
def test_a_direction_that_is_given_is_not_assumed(edges, tmp_path, directed):
    af.load(edges).save(tmp_path / "g.parquet")
    for source in (edges, np.array([[0, 1]]), [("a", "b")]):
        assert any(text.startswith("directed") for text in af.load(source).assumptions)
        graph = af.load(source, directed=directed)
        assert graph.directed == directed
        assert not any(text.startswith(("directed", "undirected")) for text in graph.assumptions)
    assert not any(text.startswith("directed") for text in af.load(tmp_path / "g.parquet").assumptions)


@pytest.mark.parametrize(
    "options",
    [{"directed": True}, {"directed": False}, {"symmetrise": True}, {"deduplicate": "sum"}, {"drop_self_loops": True},
     {"vertices": 9}, {"vertices": np.arange(9)}, {"vertices": []}],
    ids=str,
)  # fmt: skip
def test_a_finished_graph_is_not_built_another_way(edges, tmp_path, options):
    graph = af.load(edges)
    graph.save(tmp_path / "g.arcflux")
    for source in (tmp_path / "g.arcflux", str(tmp_path / "g.arcflux"), "path:5", graph):
        with pytest.raises(UsageError, match=f"finished graph, which {next(iter(options))} cannot change") as caught:
            af.load(source, **options)
        assert caught.value.exit_code == 2
        assert caught.value.remedy
        assert af.load(source, symmetrise=False, drop_self_loops=False, threads=1).vertices in (3, 5)
    assert af.load(graph) is graph


def test_options_that_do_not_exist(edges, tmp_path):
    with pytest.raises(UsageError, match=r"delimitre= is no option for .*g\.txt") as caught:
        af.load(edges, delimitre=",")
    assert caught.value.expected == "delimiter=, header=, weights=, ids=, comments="
    assert caught.value.remedy == "did you mean delimiter=?"
    graph = af.load(edges)
    for name in ("g.arcflux", "g.mtx", "g.parquet", "g.sg"):
        graph.save(tmp_path / name)
        with pytest.raises(UsageError, match="delimiter= is no option"):
            af.load(tmp_path / name, delimiter=",")
        with pytest.raises(UsageError, match="colour= is no option"):
            graph.save(tmp_path / name, colour="red")
    for source in ("path:5", graph, [(1, 2)]):
        with pytest.raises(UsageError, match="delimiter"):
            af.load(source, delimiter=",")
    with pytest.raises(UsageError):
        af.load(object())
    with pytest.raises(UsageError, match="threads is 0"):
        af.load(edges, threads=0)


def test_suffixes(edges, tmp_path):
    graph = af.load(edges, directed=False, deduplicate="first", drop_self_loops=True)
    for suffix, module in FORMATS.items():
        target = tmp_path / "out" / f"{suffix[1:]}{suffix.upper() if module != 'ldbc' else suffix}"
        graph.save(target)
        back = af.load(target)
        assert (back.arcs, back.vertices) == (graph.arcs, graph.vertices), suffix
    graph.save(tmp_path / "no suffix")
    assert (tmp_path / "no suffix" / "manifest.json").exists()
    graph.save(tmp_path / "dotted.name.v2.el.gz")
    assert af.load(str(tmp_path / "dotted.name.v2.el.gz")).equals(graph)
    long = tmp_path / ("x" * 240 + ".el.gz")
    graph.save(long)
    assert af.load(long).equals(graph)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("absent.el", "no such file"),
        ("absent.arcflux", "no such store"),
        ("absent", "no such file, folder or generator"),
        ("absent.xyz", "no such file, folder or generator"),
        ("kron", "no such file, folder or generator"),
        ("x" * 5000, "no such file, folder or generator"),
        ("x" * 5000 + ".el", "no such file"),
        ("a\0b.el", "no such file"),
        ("\ud800.el", "no such file"),
        ("\ud800", "no such file, folder or generator"),
        ("here.xyz", "the suffix .xyz names no format"),
        ("here", r"the suffix \(none\) names no format"),
        ("here.gz", r"the suffix \(none\) names no format"),
        ("folder", "this is not a store"),
        ("folder.el", "this is not a store"),
        ("empty.el", "the file is empty"),
        ("empty.el.gz", "the file is empty"),
    ],
)
def test_what_is_not_there(tmp_path, monkeypatch, name, said):
    monkeypatch.chdir(tmp_path)
    for file in ("here.xyz", "here", "here.gz", "empty.el", "empty.el.gz"):
        Path(file).write_text("" if "empty" in file else "1 2\n")
    Path("folder").mkdir()
    Path("folder.el").mkdir()
    with pytest.raises(FormatError, match=said) as caught:
        af.load(name)
    assert caught.value.path == name
    assert caught.value.expected or caught.value.remedy
    assert isinstance(caught.value, StoreError) == ("store" in said)


def test_saving_where_no_format_is(tmp_path, monkeypatch):
    graph = af.load("path:3")
    with pytest.raises(FormatError, match=r"the suffix \.xyz names no format"):
        graph.save(tmp_path / "g.xyz")
    for target in (tmp_path / ("x" * 300 + ".el"), tmp_path / ("x" * 300) / "g.el", tmp_path / ("x" * 300) / "g"):
        with pytest.raises(SpaceError, match="File name too long"):
            graph.save(target)
    assert not list(tmp_path.iterdir())
    (tmp_path / "mine.txt").write_text("mine")
    monkeypatch.chdir(tmp_path)
    for target in (".", "", ".."):
        with pytest.raises(StoreError, match="would be lost"):
            graph.save(target)


def test_a_file_that_may_not_be_read(edges, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(FormatError, match="may not be read"):
        af.load(edges)


def test_mode_and_owner_of_what_is_written(tmp_path):
    mask = os.umask(0o027)
    try:
        af.load("path:3").save(tmp_path / "g.el")
        af.load("path:3").save(tmp_path / "g")
    finally:
        os.umask(mask)
    assert (tmp_path / "g.el").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "g").stat().st_mode & 0o777 == 0o750


def test_writing_twice_at_once(tmp_path):
    """Two writers of one name: one of them wins, and the file is whole."""
    graphs = [af.load("path:2000"), af.load("cycle:3000")]
    for name in ("g.el", "g.csv.gz"):
        writers = [threading.Thread(target=graph.save, args=(tmp_path / name,)) for graph in graphs]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        assert any(af.load(tmp_path / name).equals(graph) for graph in graphs)
    assert {file.name for file in tmp_path.iterdir()} == {"g.el", "g.csv.gz"}


@pytest.mark.parametrize("name", ["g.el", "g.csv.gz", "g"])
def test_interrupted_the_moment_the_neighbour_is_there(tmp_path, monkeypatch, name):
    graph = af.load("path:3")
    make_file, make_folder = Path.touch, Path.mkdir

    def stop(made):
        if made.name.startswith(f".{name}"):
            raise KeyboardInterrupt

    monkeypatch.setattr(Path, "touch", lambda path, **given: stop(make_file(path, **given) or path))
    monkeypatch.setattr(Path, "mkdir", lambda path, **given: stop(make_folder(path, **given) or path))
    with pytest.raises(KeyboardInterrupt):
        graph.save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_replacing_cleans_up(tmp_path):
    target = tmp_path / "g.el"
    target.write_text("old")

    def write(error):
        with loaded.replacing(target) as work:
            work.write_text("half")
            assert work.parent == tmp_path
            raise error

    for error, raised in [
        (KeyboardInterrupt(), KeyboardInterrupt),
        (OSError("no number"), SpaceError),
        (ValueError(), ValueError),
    ]:
        with pytest.raises(raised):
            write(error)
        assert target.read_text() == "old"
        assert [file.name for file in tmp_path.iterdir()] == ["g.el"]

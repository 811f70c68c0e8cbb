"""A file of vertices, and rows that are written with progress."""

from pathlib import Path

import pytest

import arcflux as af
from arcflux import trace
from arcflux.cli import main
from arcflux.errors import FormatError, IdError
from arcflux.io import rows


def put(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_a_vertex_file_keeps_vertices_without_an_edge(tmp_path: Path) -> None:
    edges = put(tmp_path / "g.txt", "5 7\n7 9\n")
    graph = af.load(edges, vertices=put(tmp_path / "all.v", "# all\n9\n7\n5\n-2\n"))
    assert graph.ids.to_ids().tolist() == [-2, 5, 7, 9]
    assert graph.edges == 2
    names = put(tmp_path / "n.txt", "ada bob\n")
    assert af.load(names, vertices=put(tmp_path / "n.v", "ada\nbob\nzoe\n")).vertices == 3


def test_bad_vertex_files(tmp_path: Path) -> None:
    edges = put(tmp_path / "g.txt", "5 7\n")
    with pytest.raises(IdError, match="names vertex 7, which is not in the list"):
        af.load(edges, vertices=put(tmp_path / "few.v", "5\n"))
    with pytest.raises(FormatError, match="a line has 2 ids"):
        af.load(edges, vertices=put(tmp_path / "two.v", "5 7\n"))
    with pytest.raises(FormatError, match="no such file"):
        af.load(edges, vertices=tmp_path / "none.v")
    (tmp_path / "noise.v").write_bytes(b"\xff\xfe\n")
    with pytest.raises(FormatError, match="not UTF-8"):
        af.load(edges, vertices=tmp_path / "noise.v")


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edges, every = put(tmp_path / "g.txt", "5 7\n"), put(tmp_path / "all.v", "5\n6\n7\n")
    with pytest.raises(SystemExit) as ended:
        main(["info", str(edges), "--vertices", str(every), "--json"])
    assert ended.value.code == 0
    assert '"vertices": 3' in capsys.readouterr().out


def test_rows_are_written_in_pieces_and_tell_how_far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "_BATCH", 100)
    graph = af.load("path:351")
    done: list[int] = []

    def hear(event: trace.Event) -> None:
        if isinstance(event, trace.Task) and event.name.startswith("write "):
            done.append(event.done)

    with trace.listen(hear):
        graph.save(tmp_path / "g.csv")
        graph.save(tmp_path / "g.mtx.gz")
    assert [*done] == [0, 100, 200, 300, 350, 350] * 2
    assert af.load(tmp_path / "g.csv").equals(graph)
    assert af.load(tmp_path / "g.mtx.gz").edges == 350

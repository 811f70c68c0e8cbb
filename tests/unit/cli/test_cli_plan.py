"""arcflux plan: the table, JSON, a picture, and what it refuses."""

import json
from pathlib import Path

import pytest
from command_line import failing

import arcflux as af


def test_table_and_json(run):
    code, out, err = run("plan", "bfs", "kron:25", "--on", "sci-k20", "--devices", "16,25,36")
    assert (code, err) == (0, "")
    found = af.plan("bfs", "kron:25", on="sci-k20", devices=[16, 25, 36])
    assert out == f"{found}\n"
    assert out.startswith("predicted: bfs on kron:25")
    code, out, _ = run("plan", "bfs", "kron:25", "--on", "sci-k20", "--devices", "16,25,36", "--json")
    rows = json.loads(out)["rows"]
    assert [row["devices"] for row in rows] == [16, 25, 36]
    assert [row["gteps"] for row in rows] == pytest.approx([15.2, 18.2, 20.5], rel=0.15)
    assert json.loads(out)["label"] == "predicted"


def test_a_described_graph_and_a_picture(run):
    code, out, _ = run("plan", "pagerank", "1000,8000,uniform", "--on", "dgx1", "--plot", "plan.png", "--json")
    assert code == 0
    assert json.loads(out)["graph"] == {
        "name": "uniform",
        "vertices": 1000,
        "arcs": 8000,
        "depth": pytest.approx(4.32, abs=0.01),
    }
    assert Path("plan.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "exit_code", "says"),
    [
        (("pagerank", "kron:10", "--on", "cray"), 2, "names no machine"),
        (("pagerank", "kron:10", "--on", "dgx1", "--nodes", 0), 2, "nodes is '0'"),
        (("sorting", "kron:10", "--on", "dgx1"), 2, "names no algorithm"),
        (("pagerank", "10,x", "--on", "dgx1"), 2, "arcs is 'x'"),
        (("pagerank", "kron:10", "--on", "none.toml"), 3, "cannot be read"),
    ],
)
def test_refusals(run, arguments, exit_code, says):
    code, error, _ = failing(run, "plan", *arguments)
    assert code == exit_code
    assert says in error["what"]


def test_calibrate_and_explain(run, monkeypatch, tmp_path):
    from dataclasses import replace

    from arcflux.plan import calibrate as calibrating
    from arcflux.plan.work import WORKS

    monkeypatch.setenv("ARCFLUX_CACHE", str(tmp_path / "cache"))
    code, error, _ = failing(run, "calibrate", "--show")
    assert (code, error["what"]) == (2, "this machine has not been measured")
    said = json.loads(run("--quiet", "explain", "bfs", "kron:8", "--json")[1])
    assert any("has not been measured" in note for note in said["notes"])
    graphs = tuple(map(calibrating.Subject, ("kron:6", "urand:6", "grid:40x40")))
    main = tuple(work for work in WORKS.values() if work.main)  # the others take long to compile
    monkeypatch.setattr(calibrating, "QUICK", replace(calibrating.QUICK, graphs=graphs, tries=1, works=main))
    code, out, _ = run("--quiet", "calibrate", "--quick", "--plot", "memory.png")
    assert code == 0
    assert "barrier" in out
    assert Path("memory.png").read_bytes().startswith(b"\x89PNG")
    kept = json.loads(run("calibrate", "--show", "--json")[1])
    assert kept["notes"] == []
    assert Path(kept["path"]).exists()
    code, out, _ = run("--quiet", "explain", "bfs", "kron:8", "--run", "--json")
    found = json.loads(out)
    assert found["predicted_seconds"] > 0
    assert found["measured"]["measured_supersteps"] == len(found["measured"]["supersteps"])
    code, out, _ = run("--quiet", "explain", "bfs", "kron:8", "--run", "--plot", "both.png")
    assert Path("both.png").read_bytes().startswith(b"\x89PNG")
    assert failing(run, "explain", "bfs", "kron:8", "--plot", "both.png")[0] == 2
    Path("roads.txt").write_text("1 2\n2 3\n3 1\n3 4\n")
    found = json.loads(run("--quiet", "explain", "pagerank", "roads.txt", "--json")[1])
    assert found["graph"]["arcs"] == 4
    assert any("was not loaded" in note for note in found["notes"])
    found = json.loads(run("--quiet", "explain", "pagerank", "roads.txt", "--run", "--threads", "1", "--json")[1])
    assert found["measured"]["measured_supersteps"] > 0
    parts = ("--parts", "4", "--nodes", "2")
    assert json.loads(run("--quiet", "explain", "bfs", "kron:12", *parts, "--json")[1])["predicted_crossing_bytes"] > 0
    assert json.loads(run("calibrate", "--forget", "--json")[1]) == {"forgotten": 0}  # tests keep no runs
    assert "predicted: bfs on kron:8" in out
    assert "measured: " in out
    assert failing(run, "explain", "bfs", "1000,8000", "--run")[0] == 2
    assert failing(run, "explain", "bfs", "kron:8", "--run", "--on", "dgx1")[0] == 2
    assert json.loads(run("explain", "pagerank", "1000,8000", "--on", "dgx1", "--json")[1])["machine"] == "dgx1"


def test_options_of_loading(run):
    Path("roads.txt").write_text("1 2\n2 3\n3 1\n3 4\n")
    found = {
        way: json.loads(run("plan", "pagerank", "roads.txt", way, "--on", "dgx1", "--json")[1])["graph"]["arcs"]
        for way in ("--directed", "--undirected")
    }
    assert found == {"--directed": 4, "--undirected": 8}
    failing(run, "plan", "pagerank", "kron:6", "--directed", "--on", "dgx1")  # a spec says it itself

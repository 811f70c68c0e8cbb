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

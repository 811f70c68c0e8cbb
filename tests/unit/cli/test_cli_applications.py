"""`arcflux run` with the applications of the HIVE study: every one runs, checks, and says what a person wants."""

import json

import numpy as np
import pytest

import arcflux as af
from arcflux.applications.registry import APPLICATIONS

NEEDS = {
    "geolocate": ["--set", "locations=@places.csv"],
    "local_clustering": ["--set", "seeds=0,5"],
    "vertex_nomination": ["--set", "seeds=0,5"],
    "random_walks": ["--set", "walk_length=5"],
    "node2vec": ["--set", "dimensions=4", "--set", "walk_length=5"],
    "deepwalk": ["--set", "dimensions=4", "--set", "walk_length=5"],
    "graphsage": ["--set", "features=@x.npy", "--set", "children=2"],
    "maximum_flow": ["--source", "0", "--set", "sink=8", "--set", "capacity=weight"],
    "minimum_cut": ["--source", "0", "--set", "sink=8", "--set", "capacity=weight"],
    "fused_lasso": ["--set", "signal=signal.txt"],
    "match_graphs": ["--set", "other=grid:3x3,weights=1-9", "--set", "seeds=0:0,1:1"],
    "classify": ["--set", "pattern=path:3,weights=1-9", "--set", "edges=weight"],
}
SAYS = {
    "louvain": "modularity", "leiden": "communities", "random_walks": "million a second", "graph_search": "walks",
    "scan_statistics": "edges around vertex", "vertex_nomination": "nominated", "local_clustering": "conductance",
    "geolocate": "located", "graphsage": "rows", "node2vec": "rows", "deepwalk": "rows", "maximum_flow": "edges, ",
    "minimum_cut": "on the source's side", "fused_lasso": "above the minimum", "project": "the heaviest of",
    "match_graphs": "disagreements", "classify": "found ",
}  # fmt: skip


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "places.csv").write_text("1,2\n" + "nan,nan\n" * 8)
    np.save(tmp_path / "x.npy", np.eye(9))
    (tmp_path / "signal.txt").write_text("0\n1\n5\n" * 3)


@pytest.mark.parametrize("name", APPLICATIONS)
@pytest.mark.parametrize("where", [[], ["--parts", "2", "--ranks-per-node", "1"]], ids=["threads", "nodes"])
def test_every_application_runs_and_says_what_matters(run, name, where):
    entry = APPLICATIONS[name]
    check = ["--validate"] * entry.checked
    code, out, err = run("run", name, "grid:3x3,weights=1-9", *NEEDS.get(name, []), *where, *check)
    assert code == 0, err
    assert SAYS[name] in out
    assert not entry.checked or ": ok, " in out
    assert getattr(af, name) is entry.call
    assert name in af.__all__


def test_highlights_and_arrays_in_json(run):
    code, out, _ = run("run", "graphsage", "grid:3x3", *NEEDS["graphsage"], "--json")
    found = json.loads(out)
    assert (code, found["parameters"]) == (0, {"features": "of shape 9x9", "children": 2})
    assert found["highlights"]["rows"].startswith("9 of 256 numbers")


def test_walks_are_written(run):
    assert run("run", "walks", "path:4", "--set", "walk_length=3", "--out", "w.npy", "--top", "2")[0] == 0
    assert np.load("w.npy").shape == (4, 3)


def test_files_that_are_not_there_or_not_numbers_are_told(run, tmp_path):
    assert "no such file" in run("run", "geolocate", "path:3", "--set", "locations=@none.csv")[2]
    (tmp_path / "bad.csv").write_text("a,b\n")
    assert "bad.csv" in run("run", "geolocate", "path:3", "--set", "locations=@bad.csv")[2]
    np.savez(tmp_path / "w.npz", *[np.ones((9, 2))] * 2, *[np.ones((4, 2))] * 2)
    assert run("run", "graphsage", "grid:3x3", "--set", "features=@x.npy", "--set", "weights=@w.npz")[0] == 0


def test_plans_take_parameters(run):
    code, out, _ = run("plan", "graphsage", "kron:20", "--on", "dgx1", "--set", "batch=4096", "--moves", "peer")
    assert code == 0
    assert "with: batch 4,096, children 16" in out
    assert "direct access" in out
    code, _, err = run("plan", "random_walks", "kron:20", "--on", "dgx1", "--set", "walks")
    assert code != 0
    assert "NAME=VALUE" in err

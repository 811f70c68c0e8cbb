"""Benchmarks that are named after the papers' experiments run with few arguments, and keep what they print."""

import json

import pytest

import bfs_grid
import hive
from measure import save


def test_what_a_search_does_not_reach_is_counted(tmp_path, capsys):
    out = tmp_path / "grid.json"
    small = ["--strong", "kron:7", "--sides", "1", "2", "--weak", "4", "--roots", "2", "--direction", "push"]
    bfs_grid.main([*small, "--json", str(out)])
    kept = json.loads(out.read_text())
    assert kept["machine"]
    graph = bfs_grid.af.load("kron:7")
    for row in kept["strong"]:
        for scan in ("log", "wave"):
            found = row[scan]
            assert [here + away for here, away in zip(found["traversed"], found["unreached"], strict=True)] == [
                graph.arcs
            ] * 2
    roots = bfs_grid.roots_of(graph, 2)
    reached = [graph.out_degrees[bfs_grid.af.bfs(graph, root)["level"] >= 0].sum() for root in roots]
    assert kept["strong"][0]["log"]["traversed"] == reached
    assert "cf. table I" in capsys.readouterr().out


def test_an_application_is_counted_beside_its_formula(tmp_path, capsys):
    out = tmp_path / "hive.json"
    hive.main(["--graph", "kron:6,weights=1-9", "--nodes", "1,2", "--only", "random_walks", "--out", str(out)])
    alone, both = json.loads(out.read_text())["entries"]["random_walks"]["rows"]
    assert alone["bytes"] == alone["study_bytes"] == 0
    assert both["study_bytes"] == 24 * both["given"]["walks"] / 2  # 24 W / p
    assert both["our_class"] == both["study_class"] == "poor"
    assert "the study: Very poor" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        hive.main(["--only", "nothing"])


def test_results_are_kept_where_they_are_asked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for where, path in (("one", "results/one.json"), ("there/two.json", "there/two.json"), (tmp_path / "3", "3")):
        save(where, {"found": 1})
        assert json.loads((tmp_path / path).read_text())["found"] == 1

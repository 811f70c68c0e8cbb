"""benchmarks/library.py: peers are compared on the same graph, and rows are printed and written."""

import json
from pathlib import Path

import numpy as np
import pytest

import arcflux as af
import library


def test_a_small_run_has_a_row_for_each_function(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["minimum_spanning_tree", "bridges", "jaccard_coefficient", "transitivity"]
    path = tmp_path / "library.json"
    library.main(["--graphs", "grid:5x5,weights=1-9", "--only", *names, "--trials", "1", "--json", str(path)])
    printed = capsys.readouterr().out
    assert all(f"{name} on grid:5x5" in printed for name in names)
    results = json.loads(path.read_text())["results"]["grid:5x5,weights=1-9"]
    assert list(results) == names
    assert all({"arcflux", "networkx", "igraph"} <= set(row) for row in results.values())


def test_peers_have_the_same_graph() -> None:
    peers = library.Peers(af.load("kron:6,weights=1-9"))
    assert peers.networkx.number_of_edges() == peers.igraph.ecount() == peers.own.edges == len(peers.pairs)
    tree = af.minimum_spanning_tree(peers.own)
    calls = library.candidates("minimum_spanning_tree", peers, {})
    assert tree.totals["weight"] == calls["scipy"]().sum()
    assert tree.totals["weight"] == np.sum(peers.weights[calls["igraph"]()])

"""The figures of Lux that benchmarks/lux.py makes."""

import json

import arcflux as af
import lux


def test_every_spread_of_devices_over_nodes_is_predicted_and_one_is_picked():
    rows = lux.sweep("xstream", [1, 2, 4])
    here = [row for row in rows if (row["algorithm"], row["graph"]) == ("pagerank", "HW")]
    sizes = {(row["nodes"], row["devices_of_a_node"]) for row in here}
    assert sizes == {(1, 1), (1, 2), (2, 1), (1, 4), (2, 2), (4, 1)}
    assert {row["direction"] for row in here} == {"pull", "push"}
    picked = [row for row in here if row["picked"]]
    assert len(picked) == 1
    assert picked[0]["seconds"] == min(row["seconds"] for row in here if row["fits"])


def test_pull_and_push_are_measured_superstep_by_superstep(tmp_path, capsys):
    lux.main(["--devices", "1", "--graph", "kron:8", "--runs", "1", "--out", str(tmp_path / "lux.json")])
    kept = json.loads((tmp_path / "lux.json").read_text())
    assert len(kept["measured"]["pagerank"]["pull"]) == len(kept["measured"]["pagerank"]["push"]) == 10
    assert len(kept["measured"]["components"]["pull"]) == len(kept["measured"]["components"]["push"]) > 1
    assert "figure 19, measured on kron:8" in capsys.readouterr().out


def test_what_is_measured_are_the_algorithms(tmp_path):
    graph = af.load("kron:8")
    labels = af.run(lux.Components, graph, direction="push").to_numpy("label")
    assert (labels == af.connected_components(graph).to_numpy()).all()

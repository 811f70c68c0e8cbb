"""Lux's model as benchmarks/lux_model.py fits it: what was put in comes out, and what is left out is left out."""

import json
from types import SimpleNamespace

import pytest

import lux_model
from lux_model import Gamma, Seen, counted, fitted, predicted


def seen(program, arcs, nodes, devices, formula, gamma):
    transfer = gamma.transfer * formula
    return Seen(program, "g", arcs, nodes, devices, gamma.compute[program] * arcs, transfer, formula, formula)


def test_what_was_put_in_comes_out_whatever_the_sizes():
    gamma = Gamma({"pagerank": 3e-9, "components": 7e-9}, 2e-9)
    runs = [
        seen(program, arcs, nodes, devices, 800 * (nodes - 1) * devices, gamma)
        for program in gamma.compute
        for arcs in (1_000, 50_000)
        for nodes, devices in ((1, 1), (1, 2), (2, 2), (4, 1))
    ]
    found = fitted(runs)
    assert found.compute == pytest.approx(gamma.compute)
    assert found.transfer == pytest.approx(gamma.transfer)
    one = seen("components", 10_000, 4, 2, 4_000, gamma)
    assert predicted(found, one) == pytest.approx((7e-9 * 10_000 / 8, 2e-9 * 4_000))  # equations 14 and 13 by hand


def test_iterations_of_a_push_with_few_vertices_in_the_frontier_do_not_count():
    history = [SimpleNamespace(frontier=size) for size in (1000, 51, 50, 49, 1)]
    assert [one.frontier for one in counted(history, 1000, "push")] == [1000, 51]
    assert len(counted(history, 1000, "pull")) == 5


def test_it_runs_and_sends_what_equation_13_says(tmp_path, capsys):
    sizes = ["1x1", "2x1", "2x2"]
    out = tmp_path / "model.json"
    lux_model.main(["--fit", "kron:8", "--predict", "grid:20x20", "--sizes", *sizes, "--runs", "1", "--out", str(out)])
    table = json.loads(out.read_text())["rows"]
    assert {(row["nodes"], row["devices"]) for row in table} == {(1, 1), (2, 1), (2, 2)}
    for row in table:
        assert row["moved"] <= row["formula"]  # what did not change is not sent
        if (row["program"], row["graph"]) == ("pagerank", "kron:8"):
            assert row["moved"] == row["formula"]
        assert (row["formula"] > 0) == (row["nodes"] > 1)
    assert "figure 20" in capsys.readouterr().out

"""benchmarks/dialects.py: all forms of all algorithms are in the table and the JSON, and kernels are compared."""

import json
from pathlib import Path

import pytest

import arcflux as af
import dialects
from dialect_programs import ALGORITHMS, FORMS


def test_a_small_run_has_a_row_for_each_algorithm(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = "kron:6,weights=1-9,directed=false"
    dialects.main(["--graph", spec, "--trials", "1", "--threads", "1", "--json", str(tmp_path / "dialects.json")])
    printed = capsys.readouterr().out
    assert all(f"\n{name}" in printed for name in ALGORITHMS)
    assert "the slowest form takes" in printed
    (written,) = tmp_path.iterdir()
    kept = json.loads(written.read_text())
    results = kept.get("results", kept)
    assert set(results["algorithms"]) == set(ALGORITHMS)
    for row in results["algorithms"].values():
        assert list(row) == list(FORMS)
        assert all(len(one["all"]) == 1 and one["median"] > 0 and one["same_kernels"] for one in row.values())
        assert row["native"]["times_native"] == 1.0


def test_kernels_that_differ_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def other(name: str) -> dict[str, object]:
        return {form: af.algorithms.PageRank if form == "msg" else af.algorithms.BFS for form in FORMS}

    monkeypatch.setattr(dialects, "forms", other)
    told = dialects.same_kernels("pagerank", af.load("path:4"))
    assert told == {"native": True, "gas": True, "emv": True, "msg": False}
    row = {form: {"best": 1.0, "times_native": 1.0, "same_kernels": told[form]} for form in FORMS}
    assert "differ: msg" in dialects.table({"pagerank": row})

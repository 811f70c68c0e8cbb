"""benchmarks/plug.py: tables, JSON and pictures of a small run."""

import json
from pathlib import Path

import pytest

import plug


def test_a_small_run_writes_tables_json_and_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    plug.main(
        ["--scale", "6", "--trials", "1", "--only", "pipeline,caching", "--folder", "pictures", "--json", "small"]
    )
    printed = capsys.readouterr().out
    assert "Figure 10" in printed
    kept = json.loads(Path("results/small.json").read_text())
    assert [row["graph"] for row in kept["caching"]] == ["road-like", "social", "synthetic"]
    for row in kept["caching"]:
        assert row["with cache"] <= row["downloaded, off"]
        assert row["asynchronous"] <= row["skipping"] <= row["synchronisations"]
    assert {path.name for path in Path("pictures").iterdir()} == {"pipeline.svg", "caching.svg"}
    assert Path("pictures/caching.svg").read_text().startswith("<svg")


def test_an_experiment_that_there_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        plug.main(["--only", "figure_99"])
    assert "figure_99 is none of" in capsys.readouterr().err

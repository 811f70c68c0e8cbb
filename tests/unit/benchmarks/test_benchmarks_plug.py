"""benchmarks/plug.py: tables, JSON and pictures of a small run."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import plug
import plug_figures


def test_a_small_run_writes_tables_json_and_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib", reason="the extra `plot` is not installed")
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
    assert {path.name for path in Path("pictures").iterdir()} == {"figure-10.svg", "figure-11.svg"}
    assert "road-like" in _text(Path("pictures/figure-11.svg"))


def _text(path: Path) -> str:
    """What a picture says: matplotlib keeps it in comments, beside the outlines of the letters."""
    return " ".join(re.findall(r"<!-- (.*?) -->", path.read_text()))


def _rows() -> dict[str, list[dict[str, Any]]]:
    """Tables as the experiments make them."""
    names = ("SSSP-BF, four sources", "PageRank, 10 iterations")
    return {
        "acceleration": [{"algorithm": name, "plain Python": 9.0, "cpu": 1.0, "virtual:4": 2.0, "virtual:16": 3.0,
                          "times, cpu": 9.0} for name in names],
        "pipeline": [{"algorithm": name, "none": 4.0, "fixed block": 3.0, "Lemma 1": 2.5, "best": 2.0}
                     for name in names],
        "balance": [{"case": case, "way": way, "seconds": k + 1.0} for case in ("1: a", "2: b")
                    for k, way in enumerate(("not balanced", "balanced", "ideal"))],
        "isolation": [{"way": way, "seconds, 11 iterations": 2.0} for way in ("one daemon", "a new one each time")],
        "cost_ratio": [{"algorithm": name, "workers": k, "seconds": 4 / k, "middleware and devices": 0.7}
                       for name in names for k in (1, 2, 4)],
        "block_counts": [{"algorithm": name, "triplets": 1000, "blocks": 2**k, "seconds": 2.0 + abs(k - 3),
                          "model": 2.0 + k, "chosen": k == 3, "Lemma 1": k == 1} for name in names for k in range(7)],
        "caching": [{"graph": graph, "downloaded, off": 100, "with cache": 1, "bytes, eager": 9, "bytes, lazy": 3,
                     "synchronisations": 8, "skipping": 4, "asynchronous": 1} for graph in ("road-like", "social")],
        "hand_over": [{"what": "a request", "value": 1.0}],
    }  # fmt: skip


def test_every_figure_of_the_paper_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra `plot` is not installed")
    rows = _rows()
    assert rows.keys() == plug.EXPERIMENTS.keys()
    for name in rows:
        plug_figures.draw(name, rows[name], tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {f"figure-{k}.svg" for k in range(8, 16)}
    said = {k: _text(tmp_path / f"figure-{k}.svg") for k in range(8, 16)}
    assert all(f"Figure {k}" in text for k, text in said.items())
    assert {"s_opt", "equation 1", "Lemma 1", "measured"} <= set(
        re.split("(s_opt|equation 1|Lemma 1|measured)", said[15])
    )
    assert said[15].count("1,000 triplets") == 2  # one U for each algorithm
    assert "ideal" in said[12]
    assert "0.625" in said[10]  # Lemma 1 over none


def test_an_experiment_that_there_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        plug.main(["--only", "figure_99"])
    assert "figure_99 is none of" in capsys.readouterr().err

"""benchmarks/phases.py: both ways to call phases are in the table and the JSON, and are what their names say."""

import json
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import phases
from arcflux.engine.phases.fused import Fused


def test_a_small_run_measures_all_ways(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    launched: list[int] = []
    iterate = Fused.iterate

    def counted(self: Fused, *given: Any) -> Any:
        found = iterate(self, *given)
        launched.append(len(found.phases))
        return found

    arguments = ["--graphs", "grid:6x6", "--threads", "1", "--trials", "1", "--json", str(tmp_path / "phases.json")]
    with mock.patch.object(Fused, "iterate", counted):
        phases.main(arguments)
    printed = capsys.readouterr().out
    names = ["HITS, launches", "HITS, fused", "PageRank", "Katz"]
    assert all(name in printed for name in names)
    kept = json.loads((tmp_path / "phases.json").read_text())
    (rows,) = [row for title, row in kept.get("results", kept).items() if "grid:6x6" in title]
    assert sum(launched) == 2 * 2001  # two rounds of a run of 1000 iterations, and its last phase
    assert set(names) <= set(rows.get("rows", rows))

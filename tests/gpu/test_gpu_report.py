"""The report of `make test-gpu`: it has the doctor's findings, the tests and the times, and says what went wrong."""

import json

import pytest

import gpu_report
from arcflux.gpu import api

pytestmark = pytest.mark.skipif(not api.simulated(), reason="on a GPU, this is what is being run")


def reported(monkeypatch, tmp_path, test):
    (tmp_path / "test_of_gpu.py").write_text(test)
    out = tmp_path / "made" / "report.json"
    monkeypatch.setattr("sys.argv", ["gpu_report", "--out", str(out), "--tests", str(tmp_path), "--scale", "3"])
    code = gpu_report.main()
    return code, json.loads(out.read_text())


def test_all_is_well(monkeypatch, tmp_path, capsys):
    code, found = reported(monkeypatch, tmp_path, "def test_one(): pass\n")
    assert code == 0
    assert found["simulated"]
    assert found["doctor"]["gpu"]["usable"]
    assert found["tests"] == {"exit_code": 0, "passed": 1, "output": ""}
    assert [row["algorithm"] for row in found["times"]] == ["pagerank", "bfs", "sssp"]
    assert all(row["same"] and row["cuda:0 seconds"] > 0 for row in found["times"])
    assert "1 passed, 0 failed; times: all agree with cores" in capsys.readouterr().out


def test_a_test_fails_and_programs_cannot_run(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(gpu_report, "RUNS", (("pagerank", {"alpha": 7}),))
    code, found = reported(monkeypatch, tmp_path, "def test_one(): assert 1 == 2\n")
    assert code == 1
    assert found["tests"]["failed"] == 1
    assert "assert 1 == 2" in found["tests"]["output"]
    assert "UsageError" in found["times"]["error"]
    assert "not all agree" in capsys.readouterr().out


def test_no_gpu(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("arcflux.checkup._trial", lambda index: {"works": False, "error": "the fan fell off"})
    code, found = reported(monkeypatch, tmp_path, "")
    assert (code, found["tests"], found["times"]) == (10, None, None)
    assert "no GPU can be used: the fan fell off" in capsys.readouterr().err

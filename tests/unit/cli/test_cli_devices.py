"""`arcflux run --devices` on a machine without a GPU: what is said, and that `auto` runs all the same."""

import json

import pytest
from command_line import failing

from arcflux.devices import choose
from arcflux.errors import MissingExtraError


@pytest.fixture
def bare(monkeypatch):
    """No driver, whatever this machine has."""
    monkeypatch.delenv("NUMBA_ENABLE_CUDASIM", raising=False)
    monkeypatch.setattr("arcflux.gpu.driver._LIBRARIES", ("libcuda-of-nobody.so",))
    monkeypatch.setattr("arcflux.gpu.api.cuda", lambda: None)
    monkeypatch.setattr(choose, "_warnings", set())


def test_no_driver(run, bare):
    code, error, _ = failing(run, "run", "bfs", "path:4", "--source", 0, "--devices", "cuda")
    assert (code, error["class"]) == (10, "DeviceError")
    assert error["what"] == "there is no CUDA driver on this machine"


def test_no_extra(run, bare, monkeypatch):
    def missing():
        raise MissingExtraError("numba-cuda", "cuda", "a run on a GPU")

    monkeypatch.setattr("arcflux.gpu.api.cuda", missing)
    code, error, _ = failing(run, "run", "bfs", "path:4", "--source", 0, "--devices", "cuda:0")
    assert (code, error["remedy"]) == (6, "pip install 'arcflux[cuda]'")


def test_auto_says_so_once_and_runs(run, bare):
    code, out, err = run("run", "bfs", "path:4", "--source", 0, "--devices", "auto", "--repeat", 2, "--json")
    found = json.loads(out)
    assert code == 0
    assert err.count("runs on cores: there is no CUDA driver") == 1
    assert len(found["warnings"]) == 1
    assert "spread" not in found
    code, out, err = run("run", "bfs", "path:4", "--source", 0, "--devices", "auto", "--json")
    assert (code, err) == (0, "")


def test_cores_by_name_are_as_without_a_name(run):
    code, out, err = run("run", "bfs", "path:4", "--source", 0, "--devices", "cpu", "--json")
    assert (code, err) == (0, "")
    assert "spread" not in json.loads(out)


def test_debug_needs_no_gpu(run, bare):
    code, out, _ = run("run", "bfs", "path:4", "--source", 0, "--devices", "cuda", "--debug", "--json")
    assert (code, json.loads(out)["converged"]) == (0, True)


def test_names_of_nothing(run):
    code, error, _ = failing(run, "run", "bfs", "path:4", "--source", 0, "--devices", "gpu0")
    assert (code, error["what"]) == (2, "devices is 'gpu0'")


def test_algorithms_that_are_no_programs(run, bare):
    code, error, _ = failing(run, "run", "triangles", "complete:4", "--devices", "cuda")
    assert (code, error["what"]) == (10, "there is no CUDA driver on this machine")
    code, out, err = run("run", "triangles", "complete:4", "--devices", "auto", "--validate", "--json")
    assert (code, "spread" in json.loads(out)) == (0, False)
    assert err.count("runs on cores: there is no CUDA driver") == 1
    code, out, _ = run("run", "label_propagation", "path:4", "--devices", "cpu", "--json")
    assert (code, "spread" in json.loads(out)) == (0, False)

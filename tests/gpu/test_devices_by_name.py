"""`devices="cuda"`, by call and by command line: one GPU, several, cores beside, for programs and algorithms."""

import json

import numpy as np
import pytest

import arcflux as af
from arcflux.algorithms.registry import ALGORITHMS
from arcflux.cli import main
from arcflux.devices import CPU, Cuda, named
from arcflux.errors import DeviceError
from arcflux.gpu import api

GRAPH = af.load("grid:3x4,weights=1-9")


@pytest.fixture
def two(monkeypatch):
    """A machine with two GPUs."""
    if not api.simulated():
        pytest.skip("only the simulator has as many GPUs as one likes")
    monkeypatch.setenv("ARCFLUX_SIMULATED_GPUS", "2")


def test_names_in_the_simulator(two):
    assert [device.name for device in named("cuda")] == ["cuda:0", "cuda:1"]
    assert [type(device) for device in named("cpu+cuda:1")] == [Cuda, CPU]
    with pytest.raises(DeviceError, match="there is no GPU 2"):
        named("cuda:0-2")


@pytest.mark.parametrize("devices", ["cuda", "cuda:1", "cpu+cuda:0", "auto"])
def test_a_program(two, devices):
    found = af.run(af.algorithms.BFS, GRAPH, source=0, devices=devices)
    assert found["level"].tolist() == af.bfs(GRAPH, 0)["level"].tolist()
    parts = {"cuda": 2, "cuda:1": 1, "cpu+cuda:0": 2, "auto": 2}[devices]
    assert {len(step.part_seconds) for step in found.history} == {parts}


@pytest.mark.parametrize(
    ("algorithm", "options", "field"),
    [
        (af.bfs, {"source": 0}, "level"),
        (af.sssp, {"source": 0}, "distance"),
        (af.multi_source_sssp, {"sources": [0, 11]}, "distance"),
        (af.connected_components, {"method": "min-label"}, "component"),
        (af.pagerank, {"tol": 1e-3}, "rank"),
        (af.pagerank_delta, {"tol": 1e-3}, "rank"),
    ],
)
def test_algorithms(algorithm, options, field):
    on_gpu, on_cores = (algorithm(GRAPH, **options, **where)[field] for where in ({"devices": "cuda"}, {}))
    np.testing.assert_allclose(on_gpu, on_cores, rtol=1e-9, atol=1e-12)


def test_memory_is_given_back_also_when_a_run_fails(monkeypatch):
    from arcflux.gpu import executor

    gpu = Cuda(0)
    af.run(af.algorithms.BFS, GRAPH, source=0, devices=[gpu])
    assert gpu.held == 0
    rooms = []
    real = api.within
    monkeypatch.setattr(api, "within", lambda memory: rooms.append(memory) or real(memory))

    def failing(self, values):
        assert rooms[-1].held > 0
        raise RuntimeError("a kernel failed")

    monkeypatch.setattr(executor.OnGpu, "_publish", failing)
    with pytest.raises(RuntimeError, match="a kernel failed"):
        af.run(af.algorithms.BFS, GRAPH, source=0, devices=[gpu])
    assert (gpu.held, rooms[-1].held) == (0, 0)


def command(capsys, *arguments):
    with pytest.raises(SystemExit) as left:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return left.value.code, out, err


def test_the_command_line(two, capsys):
    code, out, _ = command(capsys, "run", "bfs", "path:5", "--source", 0, "--devices", "cuda", "--validate", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["spread"]["devices"] == ["cuda:0", "cuda:1"]
    assert found["spread"]["parts"] == 2
    code, out, _ = command(capsys, "run", "bfs", "path:5", "--source", 0, "--devices", "cuda:0")
    assert "1 part by ranges on cuda:0" in out


def test_the_command_line_refuses(capsys):
    code, _, err = command(capsys, "run", "bfs", "path:5", "--source", 0, "--devices", "cuda:3")
    assert (code, "there is no GPU 3" in err) == (10, True)
    code, _, err = command(capsys, "run", "bfs", "path:5", "--source", 0, "--devices", "gpu")
    assert (code, "devices is 'gpu'" in err) == (2, True)


GIVEN = {
    "bfs": ["--source", 0],
    "sssp": ["--source", 0],
    "multi_source_sssp": ["--set", "sources=0,11"],
    "pagerank": ["--set", "tol=0.001"],
    "pagerank_delta": ["--set", "tol=0.01"],
    "betweenness_centrality": ["--set", "sources=0,5"],
    "label_propagation": ["--set", "max_iter=2"],
    "collaborative_filtering": ["--set", "iterations=2"],
    "two_hop_friends": ["--set", "fraction=0.5"],
    "k_hop": ["--set", "sources=0"],
    "fast_random_projection": ["--set", "dimension=4"],
}


@pytest.mark.parametrize("devices", ["cuda", "cpu+cuda"])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_command_line_takes_devices_for_every_algorithm(name, devices, capsys):
    where = ["--devices", devices, "--json"]
    said = GIVEN.get(name, [])
    checked = ["--validate"] if ALGORITHMS[name].checked and name != "pagerank_delta" else []
    code, out, err = command(capsys, "run", name, "grid:3x4,weights=1-9", *said, *where, *checked)
    if ALGORITHMS[name].cores:
        assert code != 0
        assert "has no kernels for a device of kind 'cuda'" in out + err
        return
    assert code == 0, err
    found = json.loads(out)["spread"]
    assert found["devices"] == (["cuda:0"] if devices == "cuda" else ["cuda:0", "cpu"])
    programs = ("bfs", "sssp", "multi_source_sssp", "pagerank", "pagerank_delta", "collaborative_filtering", "hits",
                "core_number", "strongly_connected_components", "katz_centrality", "eigenvector_centrality",
                "closeness_centrality", "harmonic_centrality", "eccentricity", "maximal_independent_set",
                "greedy_color", "maximal_matching", "k_hop", "fast_random_projection")  # fmt: skip
    assert found["partition"] == ("ranges" if name in programs else "duplicate")

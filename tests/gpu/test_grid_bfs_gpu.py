"""MapGraph's traversal with its cells on GPUs: every superstep finds what it finds on cores."""

import numpy as np
import pytest
from samples import shapes

import arcflux as af
from arcflux.devices.cuda import Cuda
from arcflux.errors import SpaceError, UsageError
from arcflux.gpu import api

SHAPES = {**shapes(), "kron": af.load("kron:7,ef=6"),
          "unsorted": af.Graph.from_edges([0, 0, 2, 1, 3, 0], [3, 1, 0, 2, 2, 2], sort=False)}  # fmt: skip


@pytest.fixture(autouse=True)
def six(monkeypatch: pytest.MonkeyPatch) -> None:
    if not api.simulated():
        pytest.skip("only the simulator has as many GPUs as one likes")
    monkeypatch.setenv("ARCFLUX_SIMULATED_GPUS", "6")


def search(graph: af.Graph, k: int, **more: object) -> af.Result:
    return af.bfs(graph, 0, parts=k, partition="grid", **more)


def steps(result: af.Result) -> list[tuple[object, ...]]:
    return [(s.direction, s.frontier, s.changed, s.edges, s.assigned, s.bytes) for s in result.history]


def same(graph: af.Graph, k: int, **more: object) -> None:
    cores, there = search(graph, k, **more), search(graph, k, devices=f"cuda:0-{k - 1}", **more)
    for field in ("level", "parent"):
        np.testing.assert_array_equal(there[field], cores[field])
    assert steps(there) == steps(cores)


@pytest.mark.parametrize("shape", SHAPES)
def test_one_gpu(shape: str) -> None:
    same(SHAPES[shape], 1)


@pytest.mark.parametrize("direction", ["push", "pull"])
@pytest.mark.parametrize(("k", "scan"), [(4, "log"), (6, "wave")])
def test_several_gpus_in_either_direction(k: int, scan: str, direction: str) -> None:
    same(SHAPES["undirected"], k, scan=scan, direction=direction)


def test_hubs_are_the_work_of_blocks_and_schedules_make_no_difference() -> None:
    from arcflux.gpu.simulator import shuffled

    with shuffled(3):
        same(SHAPES["star"], 1, direction="push")
        same(SHAPES["skewed"], 2)


def test_its_own_rules_hold() -> None:
    assert search(SHAPES["kron"], 4, devices="cuda:0-3").validate().ok


def test_what_stands_in_the_way() -> None:
    with pytest.raises(UsageError, match="there are 4 parts and 1 devices"):
        search(SHAPES["star"], 4, devices="cuda:0")
    with pytest.raises(SpaceError, match="has no room for vertices and bitmaps"):
        search(SHAPES["star"], 1, devices=[Cuda(0, memory=1200)])

"""Algorithms that are no vertex programs on GPUs and cores together: what cores give alone, integers and bits alike."""

import numpy as np
import pytest
from samples import shapes

import arcflux as af
from arcflux import algorithms
from arcflux.algorithms import betweenness
from arcflux.devices import CPU, Cuda, Virtual
from arcflux.engine.worker import Worker
from arcflux.errors import SpaceError, UsageError
from arcflux.gpu import api

NONE = np.zeros(0, np.int64)
SHAPES = {
    **shapes(),
    "empty": af.Graph.from_edges(NONE, NONE, vertices=0, directed=False),
    "complete": af.load("complete:12"),
    "kron": af.load("kron:5,ef=4"),
    "unsorted": af.Graph.from_edges([0, 0, 2, 1, 3, 0], [3, 1, 0, 2, 2, 2], sort=False),
}
pytestmark = pytest.mark.skipif(not api.simulated(), reason="only the simulator has as many GPUs as one likes")


def some(graph: af.Graph) -> list[int]:
    return list(range(0, graph.vertices, max(1, graph.vertices // 3)))


CALLS = {
    "triangles": lambda graph, **o: algorithms.triangles(graph, **o),
    "clustering": lambda graph, **o: algorithms.clustering(graph, **o),
    "components": lambda graph, **o: algorithms.weakly_connected_components(graph, **o),
    "labels": lambda graph, **o: algorithms.label_propagation(graph, 3, **o),
    "betweenness": lambda graph, **o: algorithms.betweenness_centrality(graph, sources=some(graph), **o),
    "two-hop": lambda graph, **o: algorithms.two_hop_friends(graph, **o),
}


def same(cores: af.Result, found: af.Result) -> None:
    for name, values in cores.values.items():
        assert found.values[name].dtype == values.dtype
        np.testing.assert_array_equal(found.values[name], values)
    assert [(s.frontier, s.changed) for s in found.history] == [(s.frontier, s.changed) for s in cores.history]
    if isinstance(cores, algorithms.TwoHopFriends):
        np.testing.assert_array_equal(found.offsets, cores.offsets)
        np.testing.assert_array_equal(found.neighbours, cores.neighbours)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", CALLS)
def test_cores_take_a_share(name: str, shape: str) -> None:
    graph = SHAPES[shape]
    if name == "triangles":
        if graph.directed:
            return
        assert algorithms.triangle_count(graph, devices="cpu+cuda") == algorithms.triangle_count(graph)
    same(CALLS[name](graph), CALLS[name](graph, devices="cpu+cuda"))


@pytest.mark.parametrize("cores", ["0.01", "1000"])
@pytest.mark.parametrize("name", CALLS)
def test_shares_may_be_empty(name: str, cores: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARCFLUX_GPU_CORES", cores)
    graph = SHAPES["complete"]
    same(CALLS[name](graph), CALLS[name](graph, devices=[CPU(2), Cuda(0)]))


@pytest.mark.parametrize("name", CALLS)
def test_two_gpus_and_two_teams_of_cores(name: str) -> None:
    graph = SHAPES["kron"]
    same(CALLS[name](graph), CALLS[name](graph, devices=[CPU(2), Cuda(0), CPU(1), Cuda(0)], parts=4))


@pytest.mark.parametrize("devices", ["cuda:0-1", "cuda:1", "auto", "cpu+cuda:1"])
@pytest.mark.parametrize("name", CALLS)
def test_devices_by_their_names(name: str, devices: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARCFLUX_SIMULATED_GPUS", "2")
    for shape in ("one", "loops") if name != "triangles" else ("complete",):
        same(CALLS[name](SHAPES[shape]), CALLS[name](SHAPES[shape], devices=devices))


@pytest.mark.parametrize("partition", ["auto", "ranges", "duplicate"])
@pytest.mark.parametrize("name", CALLS)
def test_whatever_says_nothing_about_how_to_split_will_do(name: str, partition: str) -> None:
    graph = SHAPES["kron"]
    same(CALLS[name](graph, threads=1), CALLS[name](graph, devices="cuda:0", partition=partition))


def test_both_do_some_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    shares = []
    plain = Worker.share
    monkeypatch.setattr(Worker, "share", lambda self, total: shares.append(plain(self, total)) or shares[-1])
    algorithms.connected_components(SHAPES["complete"], devices=[Cuda(0), CPU(3)])
    assert sorted(shares) == [(0, 3), (3, 12)]


def test_predecessors_of_shortest_paths() -> None:
    cores, found = (algorithms.sssp(SHAPES["skewed"], 0, **more) for more in ({}, {"devices": "cpu+cuda"}))
    for field in ("distance", "predecessor"):
        np.testing.assert_array_equal(found[field], cores[field])


@pytest.mark.parametrize("batch", [3, 64])
@pytest.mark.parametrize("many", [2.0, betweenness.MANY_PATHS])
def test_few_sources_are_added_in_their_order(batch: int, many: float, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = SHAPES["undirected"]
    cores = algorithms.betweenness_centrality(graph, sources=[0, 3, 7, 0, 9], endpoints=True)
    monkeypatch.setattr(betweenness, "_SOURCES", batch)
    monkeypatch.setattr(betweenness, "MANY_PATHS", many)  # with 2, powers are needed here
    found = algorithms.betweenness_centrality(graph, sources=[0, 3, 7, 0, 9], endpoints=True, devices="cpu+cuda")
    same(cores, found)


def test_many_sources_have_lanes() -> None:
    graph = af.load("grid:3x6")
    same(*(algorithms.betweenness_centrality(graph, **more) for more in ({}, {"devices": "cpu+cuda"})))
    same(*(algorithms.betweenness_centrality(graph, sources=[], **more) for more in ({}, {"devices": "cpu+cuda"})))


@pytest.mark.parametrize(("k", "direction"), [(2, "auto"), (4, "push"), (4, "pull")])
def test_cells_of_a_grid(k: int, direction: str) -> None:
    devices = [Cuda(0), CPU(1), CPU(1), Cuda(0)][:k]
    where = {"parts": k, "partition": "grid", "direction": direction}
    for shape in ("undirected", "loops", "star"):
        cores, found = (af.bfs(SHAPES[shape], 0, **where, **more) for more in ({}, {"devices": devices}))
        for field in ("level", "parent"):
            np.testing.assert_array_equal(found[field], cores[field])
        assert [(s.direction, s.changed, s.assigned) for s in found.history] == [
            (s.direction, s.changed, s.assigned) for s in cores.history
        ]
    two = af.bfs(SHAPES["star"], 0, partition="grid", devices="cpu+cuda")
    assert two.validate().ok
    assert {len(step.assigned) for step in two.history} == {2}


def test_what_is_refused() -> None:
    graph = SHAPES["undirected"]
    with pytest.raises(SpaceError, match=r"cuda:0 has no room for .*: [\d,]+ bytes are needed"):
        algorithms.triangles(graph, devices=[Cuda(0, memory=1100), CPU(1)])
    with pytest.raises(UsageError, match="this is no vertex program"):
        algorithms.triangles(graph, devices=[Cuda(0), Virtual(2.0)])
    with pytest.raises(UsageError, match="this is no vertex program"):
        algorithms.label_propagation(graph, devices=[CPU(1), CPU(1)])
    with pytest.raises(UsageError, match="there are 3 parts and 2 devices"):
        algorithms.connected_components(graph, devices="cpu+cuda", parts=3)


def test_how_many_cores_a_gpu_counts_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARCFLUX_GPU_CORES", "none")
    with pytest.raises(UsageError, match="ARCFLUX_GPU_CORES is 'none'"):
        algorithms.two_hop_friends(SHAPES["path"], devices="cpu+cuda")


def test_cores_that_fail_end_the_work_of_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    from arcflux.algorithms.components import cpu

    def failing(self: object) -> None:
        raise RuntimeError("a core failed")

    monkeypatch.setattr(cpu.Forest, "sample", failing)
    with pytest.raises(RuntimeError, match="a core failed"):
        algorithms.connected_components(SHAPES["undirected"], devices="cpu+cuda")

"""Algorithms that are no vertex programs give on GPUs what they give on cores: integers and bits alike."""

import re
from collections.abc import Callable

import numpy as np
import pytest
from samples import shapes

import arcflux as af
from arcflux import algorithms
from arcflux.algorithms import betweenness
from arcflux.algorithms.sssp import work as trace_back
from arcflux.devices.cuda import Cuda
from arcflux.engine.launch import launch
from arcflux.errors import SpaceError, UsageError
from arcflux.gpu import api
from arcflux.gpu.room import Room

NONE = np.zeros(0, np.int64)
SHAPES = {
    **shapes(),
    "empty": af.Graph.from_edges(NONE, NONE, vertices=0, directed=False),
    "edgeless": af.Graph.from_edges(NONE, NONE, vertices=5, directed=False),
    "complete": af.load("complete:12"),  # rows are long enough for a warp
    "hub": af.Graph.from_edges([0] * 50, list(range(1, 51)), directed=False),
    "unsorted": af.Graph.from_edges([0, 0, 2, 1, 3, 0], [3, 1, 0, 2, 2, 2], sort=False),
}
UNDIRECTED = [name for name, graph in SHAPES.items() if not graph.directed]


def same(one: af.Result, other: af.Result) -> None:
    for name, values in one.values.items():
        assert other.values[name].dtype == values.dtype
        np.testing.assert_array_equal(other.values[name], values)


@pytest.mark.parametrize("shape", UNDIRECTED)
def test_triangles(shape: str) -> None:
    graph = SHAPES[shape]
    found = algorithms.triangles(graph, devices="cuda")
    same(algorithms.triangles(graph), found)
    assert found.validate().ok
    assert algorithms.triangle_count(graph, devices="cuda") == found["triangles"].sum() // 3


@pytest.mark.parametrize("shape", SHAPES)
def test_clustering(shape: str) -> None:
    same(algorithms.clustering(SHAPES[shape]), algorithms.clustering(SHAPES[shape], devices="cuda"))


@pytest.mark.parametrize("shape", SHAPES)
def test_components(shape: str) -> None:
    graph = SHAPES[shape]
    call = algorithms.weakly_connected_components if graph.directed else algorithms.connected_components
    same(call(graph), call(graph, devices="cuda"))


@pytest.mark.parametrize("shape", SHAPES)
def test_label_propagation(shape: str) -> None:
    graph = SHAPES[shape]
    cores = algorithms.label_propagation(graph, 3)
    found = algorithms.label_propagation(graph, 3, devices="cuda")
    same(cores, found)
    assert found.converged == cores.converged
    assert [(s.frontier, s.changed) for s in found.history] == [(s.frontier, s.changed) for s in cores.history]


@pytest.mark.parametrize("shape", SHAPES)
def test_betweenness_has_the_bits_of_cores(shape: str) -> None:
    graph = SHAPES[shape]
    some = list(range(0, graph.vertices, max(1, graph.vertices // 2)))
    cores = algorithms.betweenness_centrality(graph, sources=some)
    same(cores, algorithms.betweenness_centrality(graph, sources=some, devices="cuda"))


def test_betweenness_from_many_sources_with_endpoints() -> None:
    graph = af.load("grid:2x8")
    same(*(algorithms.betweenness_centrality(graph, endpoints=True, **more) for more in ({}, {"devices": "cuda"})))


@pytest.mark.parametrize("shape", ["undirected", "skewed"])
def test_betweenness_of_more_paths_than_a_float_can_count(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = SHAPES[shape]
    cores = algorithms.betweenness_centrality(graph, sources=[0, 3])
    monkeypatch.setattr(betweenness, "MANY_PATHS", 2.0)  # so that powers are needed here
    same(cores, algorithms.betweenness_centrality(graph, sources=[0, 3], devices="cuda"))


@pytest.mark.parametrize("shape", SHAPES)
def test_two_hop_friends(shape: str) -> None:
    graph = SHAPES[shape]
    cores, found = algorithms.two_hop_friends(graph), algorithms.two_hop_friends(graph, devices="cuda")
    same(cores, found)
    np.testing.assert_array_equal(found.offsets, cores.offsets)
    np.testing.assert_array_equal(found.neighbours, cores.neighbours)


def test_two_hop_friends_of_some_counted_only() -> None:
    graph = SHAPES["undirected"]
    some = graph.ids.to_ids(np.arange(0, graph.vertices, 5))
    same(*(algorithms.two_hop_friends(graph, some, lists=False, **more) for more in ({}, {"devices": "cuda"})))


@pytest.mark.parametrize("shape", ["loops", "parallel", "skewed", "undirected"])
@pytest.mark.parametrize("whole", [True, False])
def test_predecessors(shape: str, whole: bool) -> None:
    graph = SHAPES[shape]
    if not whole:
        graph = graph.with_columns({"weight": graph.columns["weight"] / 3})
    cores, found = algorithms.sssp(graph, 0), algorithms.sssp(graph, 0, devices="cuda")
    same(cores, found)
    assert found.validate().ok


# --- schedules, several GPUs, memory


CALLS = {
    "triangles": lambda **o: algorithms.triangles(SHAPES["complete"], **o),
    "clustering": lambda **o: algorithms.clustering(SHAPES["skewed"], **o),
    "components": lambda **o: algorithms.connected_components(SHAPES["undirected"], **o),
    "weak components": lambda **o: algorithms.weakly_connected_components(SHAPES["star"], **o),
    "labels": lambda **o: algorithms.label_propagation(SHAPES["hub"], 2, **o),
    "directed labels": lambda **o: algorithms.label_propagation(SHAPES["skewed"], 2, **o),
    "betweenness": lambda **o: algorithms.betweenness_centrality(SHAPES["undirected"], sources=[0, 3], **o),
    "two-hop": lambda **o: algorithms.two_hop_friends(SHAPES["skewed"], **o),
    "sssp": lambda **o: algorithms.sssp(SHAPES["skewed"], 0, **o),
}


@pytest.mark.skipif(not api.simulated(), reason="only the simulator's schedules can be shuffled")
@pytest.mark.parametrize("name", CALLS)
def test_the_schedule_makes_no_difference(name: str) -> None:
    from arcflux.gpu.simulator import shuffled

    cores = CALLS[name]()
    for seed in (1, 2, 3) if "components" in name else (1,):
        with shuffled(seed):
            same(cores, CALLS[name](devices="cuda"))


@pytest.mark.parametrize("name", CALLS)
def test_two_gpus_share_the_work(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if not api.simulated():
        pytest.skip("only the simulator has as many GPUs as one likes")
    monkeypatch.setenv("ARCFLUX_SIMULATED_GPUS", "2")
    same(CALLS[name](), CALLS[name](devices="cuda", parts=2))


@pytest.mark.parametrize("name", [name for name in CALLS if name != "sssp"])
def test_what_does_not_fit_is_told_in_bytes(name: str) -> None:
    gpu = Cuda(0, memory=1100)
    with pytest.raises(SpaceError, match=r"cuda:0 has no room for .*: [\d,]+ bytes are needed") as told:
        CALLS[name](devices=[gpu])
    assert re.search(r"[\d,]+ of the 1,100 that it may use are left", told.value.what)
    assert told.value.remedy
    assert gpu.held == 0


def fixed(call: Callable[[Cuda], object], monkeypatch: pytest.MonkeyPatch) -> int:
    """The bytes that vertices and scratch take: they are told before edges are asked for."""
    reserved = []

    def enough(room: Room, array: object) -> None:
        raise InterruptedError

    with monkeypatch.context() as patched:
        patched.setattr(Room, "reserve", lambda room, nbytes, what: reserved.append(nbytes))
        patched.setattr(Room, "edges", enough)
        with pytest.raises(InterruptedError):
            call(Cuda(0))
    return 1024 + sum(reserved)


PREDECESSORS = SHAPES["skewed"].with_columns({"weight": SHAPES["skewed"].columns["weight"] / 3})
DISTANCES = algorithms.sssp(PREDECESSORS, 0)["distance"]


def preceding(gpu: Cuda) -> np.ndarray:
    """The predecessors of shortest paths; the search itself is a vertex program."""
    roots = np.zeros(1, np.int64)
    where = {"devices": [gpu]}
    return launch(PREDECESSORS, where, lambda worker: trace_back(worker, DISTANCES, np.inf, roots)).answer[0]


IN_LITTLE_ROOM = {
    **{name: lambda gpu, call=call: call(devices=[gpu]) for name, call in CALLS.items() if name != "sssp"},
    "predecessors": preceding,
    "grid": lambda gpu: af.bfs(SHAPES["undirected"], 0, parts=1, partition="grid", devices=[gpu]),
}


@pytest.mark.parametrize("name", IN_LITTLE_ROOM)
def test_edges_that_do_not_fit_are_mapped(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mapped = []
    call, plain_mapped = IN_LITTLE_ROOM[name], api.mapped
    least = fixed(call, monkeypatch)
    whole = call(Cuda(0))
    monkeypatch.setattr(api, "mapped", lambda array: (mapped.append(array.nbytes), plain_mapped(array))[1])
    little = call(Cuda(0, memory=least + 100))
    assert mapped
    if isinstance(whole, af.Result):
        same(whole, little)
    else:
        np.testing.assert_array_equal(whole, little)


def test_memory_is_given_back_also_when_a_kernel_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    from arcflux.algorithms.components.cuda import Forest

    rooms = []
    real = api.within
    monkeypatch.setattr(api, "within", lambda memory: rooms.append(memory) or real(memory))

    def failing(self: Forest) -> None:
        assert rooms[-1].held > 0
        raise RuntimeError("a kernel failed")

    monkeypatch.setattr(Forest, "sample", failing)
    with pytest.raises(RuntimeError, match="a kernel failed"):
        CALLS["components"](devices="cuda")
    assert [memory.held for memory in rooms] == [0] * len(rooms)


def test_items_are_recommended_by_a_search_on_a_gpu() -> None:
    rated = algorithms.collaborative_filtering(af.load("ratings:12x6,per=3"), factors=2, iterations=3)
    assert algorithms.recommend(rated, 0, 3, devices="cuda") == algorithms.recommend(rated, 0, 3)


def test_a_split_is_refused() -> None:
    graph = SHAPES["undirected"]
    with pytest.raises(UsageError, match="there are 3 parts and 1 devices"):
        algorithms.connected_components(graph, devices="cuda", parts=3)
    with pytest.raises(UsageError, match="each device has the whole graph"):
        algorithms.two_hop_friends(graph, devices="cuda", parts=1, partition="mincut")
    same(algorithms.triangles(graph), algorithms.triangles(graph, devices="cpu"))

"""Algorithms as users call them give on a GPU what they give on cores."""

import importlib
import warnings
from collections.abc import Callable

import numpy as np
import pytest
from samples import shapes

import arcflux as af
from arcflux import algorithms
from arcflux.devices.cuda import Cuda

dependencies = importlib.import_module("arcflux.algorithms.betweenness").dependencies
GRAPH = shapes()["skewed"]
CALLS: dict[str, Callable[..., af.Result]] = {
    "pagerank": lambda **o: algorithms.pagerank(GRAPH, max_supersteps=3, **o),
    "weighted pagerank": lambda **o: algorithms.pagerank(GRAPH, weight="weight", max_supersteps=3, **o),
    "personal pagerank": lambda **o: algorithms.pagerank(GRAPH, personalization={1: 1.0}, max_supersteps=3, **o),
    "pagerank by deltas": lambda **o: algorithms.pagerank_delta(GRAPH, tol=1e-2, **o),
    "bfs": lambda **o: algorithms.bfs(GRAPH, 0, **o),
    "sssp": lambda **o: algorithms.sssp(GRAPH, 0, **o),
    "dependencies": lambda **o: dependencies(GRAPH, 0, **o),
}


@pytest.mark.parametrize("name", CALLS)
def test_algorithms_give_what_they_give_on_cores(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # some are stopped before they converge
        cores, there = CALLS[name](), CALLS[name](devices=[Cuda(0)])
    for field, values in cores.values.items():
        if values.dtype.kind == "f":
            np.testing.assert_allclose(there[field], values, rtol=1e-9, atol=1e-15)
        elif (name, field) != ("bfs", "parent"):
            np.testing.assert_array_equal(there[field], values)


@pytest.mark.parametrize("devices", ["cuda", "cpu+cuda"])
def test_a_graph_without_vertices(devices: str) -> None:
    none = np.zeros(0, np.int64)
    graph = af.Graph.from_edges(none, none, columns={"weight": np.zeros(0)}, vertices=0, directed=False)
    assert len(algorithms.pagerank(graph, devices=devices)["rank"]) == 0
    assert len(algorithms.pagerank_delta(graph, devices=devices)["rank"]) == 0
    assert len(algorithms.connected_components(graph, "min-label", devices=devices)["component"]) == 0
    assert algorithms.collaborative_filtering(graph, iterations=2, devices=devices)["factors"].size == 0
    assert algorithms.triangle_count(graph, devices=devices) == 0

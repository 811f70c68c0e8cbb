"""Kernels that do all rounds in one launch give the same on any number of threads, and what the programs give."""

from __future__ import annotations

from typing import Any

import igraph
import numpy as np
import pytest

import arcflux as af
from arcflux.engine import worker

CALLS = (af.core_number, af.maximal_independent_set, af.greedy_color, af.strongly_connected_components)


def fan(leaves: int) -> af.Graph:
    """A vertex that leads to more than a worker's stack holds, all of which lead to another: trimmed from both ends."""
    middle = np.arange(2, leaves + 2)
    ends = np.concatenate([np.zeros(leaves, int), middle]), np.concatenate([middle, np.ones(leaves, int)])
    return af.Graph.from_edges(*ends)


def bowties(count: int) -> af.Graph:
    """A cycle that leads to many cycles, many that lead to it, and many beside it: components of all three sets."""
    ring = np.arange(30)
    sources, targets = [ring], [(ring + 1) % 30]
    for k in range(count):
        own = 30 + 7 * k + np.arange(7)
        sources.append(own)
        targets.append(np.roll(own, -1))
        if k % 3 < 2:
            sources.append([own[0], 3][:: 1 if k % 3 else -1][:1])
            targets.append([own[0], 3][:: 1 if k % 3 else -1][1:])
    return af.Graph.from_edges(np.concatenate(sources), np.concatenate(targets))


GRAPHS = {
    "kron": lambda: af.load("kron:10,ef=8"), "grid": lambda: af.load("grid:20x30"), "path": lambda: af.load("path:100"),
    "star": lambda: af.load("star:6000"), "sparse": lambda: af.load("urand:n=2000,m=2000"),
    "directed": lambda: af.load("urand:n=2000,m=2600,directed"), "fan": lambda: fan(6000),
    "bowties": lambda: bowties(300),
}  # fmt: skip


def without_loops(graph: af.Graph) -> af.Graph:
    sources, targets, _ = graph.edge_numbers()
    kind: dict[str, Any] = {"directed": graph.directed, "drop_self_loops": True, "vertices": graph.vertices}
    return af.Graph.from_edges(sources, targets, **kind)


@pytest.mark.parametrize("name", GRAPHS)
def test_threads_and_programs_agree(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "SERIAL_VISITS", 1)  # as if threads were worth waking
    monkeypatch.setattr("arcflux.algorithms.strong_components.cpu.SERIAL_VISITS", 1)
    graph = without_loops(GRAPHS[name]())
    for call in CALLS:
        if graph.directed and call is af.maximal_independent_set:
            continue
        (field,) = (known := call(graph, direction="push")).values
        assert known.supersteps > 0
        for threads in (1, 2, 3):
            found = call(graph, threads=threads)
            assert found.supersteps == 0  # a kernel, and no program
            np.testing.assert_array_equal(found[field], known[field], err_msg=f"{call.__name__} threads={threads}")


@pytest.mark.parametrize(
    "spec", ["kron:13,ef=16", "urand:n=40000,m=130000", "grid:150x150", "urand:n=30000,m=60000,directed"]
)
def test_levels_of_much_and_of_little_work(spec: str) -> None:
    graph = without_loops(af.load(spec))
    sources, targets, _ = graph.edge_numbers()
    there = igraph.Graph(n=graph.vertices, edges=np.stack([sources, targets], 1).tolist(), directed=graph.directed)
    expected = there.coreness(mode="all")
    for threads in (1, 2, 3, 2, 3):
        assert af.core_number(graph, threads=threads)["core"].tolist() == expected

"""The edges that a frontier is said to have, which direction is chosen by, are the out-edges of its vertices."""

from contextlib import ExitStack

import numpy as np
import pytest
from program_fuzzer.ways import Way
from test_several_chunks import small_chunks

import arcflux as af
from arcflux.engine import loop
from arcflux.engine import parts as engine_parts  # noqa: F401 - so that all rooms with a chunk are there


@af.program
class Levels:
    """A search from the first vertex."""

    level: af.i64

    def start(v):
        v.level = 0 if v.number == 0 else 1000000
        return v.number == 0

    def compute(v, u):
        v.level = min(v.level, u.level + 1)

    def update(v, old):
        return v.level < old.level


@af.program
class Claimed:
    """The same, of which who has a level wants no more: the direction is chosen by the edges that are unexplored."""

    sparse = True
    level: af.i64

    def start(v):
        v.level = 0 if v.number == 0 else -1
        return v.number == 0

    def wants(v):
        return v.level < 0

    def compute(v, u):
        v.level = af.any(u.level + 1)

    def update(v):
        return v.level >= 0


WAYS = [
    Way({"direction": "pull", "threads": 2}),
    Way({"direction": "auto", "threads": 2}, patches=("teams",)),
    Way({"direction": "pull", "threads": 1}, patches=("patterns",)),
    Way({"direction": "auto", "threads": 2}, patches=("patterns", "teams")),
    Way({"direction": "push", "threads": 2}, patches=("patterns", "teams")),
    Way({"direction": "pull", "parts": 2}),
    Way({"direction": "auto", "parts": 3, "ranks_per_node": 1}),
    Way({"direction": "push", "parts": 2, "ranks_per_node": 2}),
]


def reached(graph: af.Graph) -> np.ndarray:
    """The level of each vertex, by sweeps over all edges."""
    sources, targets = (np.asarray(each, int) for each in graph.edge_numbers()[:2])
    if not graph.directed:
        sources, targets = np.concatenate([sources, targets]), np.concatenate([targets, sources])
    level = np.full(graph.vertices, 1000000)
    level[0] = 0
    for _ in range(min(graph.vertices, 99)):
        np.minimum.at(level, targets, level[sources] + 1)
    return level


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("spec", ["grid:9x7", "kron:6", "rmat:6"])
def test_they_are_those_of_its_vertices(way: Way, spec: str) -> None:
    graph = af.load(spec)
    level = reached(graph)
    with way.active() as options:
        found = af.run(Levels, graph, **options)
    degrees = np.diff(graph.out.offsets.astype(int))
    assert [step.frontier for step in found.history] == [int((level == k).sum()) for k in range(len(found.history))]
    assert [step.edges for step in found.history] == [int(degrees[level == k].sum()) for k in range(len(found.history))]
    assert [step.changed for step in found.history] == [int((level == k + 1).sum()) for k in range(len(found.history))]


def test_those_of_many_vertices_are_estimated_from_a_sample() -> None:
    """A pull after a push of more vertices than are looked at one by one."""
    spokes = np.arange(1, 2001)
    graph = af.Graph.from_edges(np.concatenate([0 * spokes, spokes, spokes]),
                                np.concatenate([spokes, spokes % 2000 + 1, (spokes + 1) % 2000 + 1]))  # fmt: skip
    with ExitStack() as stack:
        stack.enter_context(small_chunks())
        options = stack.enter_context(Way({"direction": "auto", "threads": 2}).active())
        found = af.run(Levels, graph, **options)
    assert [step.direction for step in found.history[:2]] == ["push", "pull"]
    assert found.history[1].frontier == 2000
    assert found.history[1].edges == pytest.approx(4000, rel=0.1)


@pytest.mark.parametrize("threads", [2, 3])
def test_workers_that_waited_choose_as_the_first_one_does(threads: int) -> None:
    """It goes along a path alone, and comes to a vertex of so many edges that all are needed, and push is right."""
    draw, begin = np.random.default_rng(5), 6
    hub, blob = np.arange(begin, begin + 400), draw.integers(begin, begin + 1600, (2, 10_000))
    sources = np.concatenate([np.arange(begin - 1), np.full(400, begin - 1), blob[0]])
    targets = np.concatenate([np.arange(1, begin), hub, blob[1]])
    graph = af.Graph.from_edges(sources, targets, vertices=begin + 1600)
    with Way({"direction": "auto", "threads": threads}).active() as options:
        found = af.run(Claimed, graph, **options)
    assert [step.direction for step in found.history[:7]] == ["push"] * 6 + ["pull"]
    level = reached(graph)
    assert found["level"].tolist() == np.where(level < 1000000, level, -1).tolist()


# Edges that no search from the first vertices reaches: as long as they are unexplored, push is right.
BLOB = np.random.default_rng(7).integers(1000, 2000, (2, 30_000))


@pytest.mark.parametrize("alone_first", [True, False])
def test_workers_that_waited_know_of_the_last_frontier_and_of_unexplored_edges(alone_first: bool) -> None:
    """Few vertices are found for each edge, so push is right; one that knew of no edges would take it for many."""
    hub = 0 if alone_first else 1
    fan = np.arange(301, 501)
    sources = np.concatenate([np.full(200, hub), fan, fan])
    targets = np.concatenate([fan, np.arange(501, 901)])
    if not alone_first:  # together, then the first worker alone with the 200 edges of the hub, and together again
        sources, targets = np.append(sources, np.zeros(300, int)), np.append(targets, np.arange(1, 301))
    sources, targets = np.append(sources, BLOB[0]), np.append(targets, BLOB[1])
    graph = af.Graph.from_edges(sources, targets, vertices=2000)
    with Way({"direction": "auto", "threads": 2}).active() as options:
        found = af.run(Claimed, graph, **options)
    edges = [step.edges for step in found.history]
    assert edges == [200, 400, 0] if alone_first else edges == [300, 200, 400, 0]
    assert {step.direction for step in found.history} == {"push"}
    level = reached(graph)
    assert found["level"].tolist() == np.where(level < 1000000, level, -1).tolist()


@pytest.mark.parametrize("threads", [1, 2])
def test_a_launch_knows_of_frontier_and_unexplored_edges(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each launch is over when the clock is looked at, after its first superstep."""
    monkeypatch.setattr(loop._clock, "first", (0, float("inf")))
    monkeypatch.setattr(loop._clock, "rate", 1e9)
    monkeypatch.setattr(loop, "_BRIEF_SECONDS", 1e-8)
    monkeypatch.setattr(loop.Loop, "_may_be_brief", lambda self, begun: True)
    launches, read = [], loop.Loop._read
    monkeypatch.setattr(loop.Loop, "_read", lambda self: launches.append(read(self)) or launches[-1])
    fan = np.arange(1, 201)
    graph = af.Graph.from_edges(np.concatenate([0 * fan, fan, fan, BLOB[0]]),
                                np.concatenate([fan, np.arange(201, 601), BLOB[1]]), vertices=2000)  # fmt: skip
    with Way({"direction": "auto", "threads": threads}).active() as options:
        found = af.run(Claimed, graph, **options)
    assert len(launches) == len(found.history) == 3
    assert [step.direction for step in found.history] == ["push"] * 3

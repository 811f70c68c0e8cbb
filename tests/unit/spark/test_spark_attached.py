"""Spark attached to a daemon: frames in, frames out, the same values as without Spark."""

import numpy as np
import pytest

import arcflux as af
from arcflux import spark
from arcflux.errors import UsageError

EDGES = [(int(s), int(t)) for s, t in np.random.default_rng(3).integers(-20, 30, (120, 2))]


def values(frame, field=None):
    field = field or frame.columns[1]
    return {row["vertex"]: row[field] for row in frame.collect()}


def plain(result, field):
    return dict(zip(result.ids.tolist(), result[field].tolist(), strict=True))


@pytest.fixture(scope="module")
def graph():
    source, target = zip(*EDGES, strict=True)
    return af.Graph.from_edges(source, target)


@pytest.fixture(scope="module")
def plug(session):
    with spark.plug(session) as made:
        yield made


@pytest.fixture(scope="module")
def loaded(plug, frame_of):
    return plug.graph(frame_of(EDGES), "src", "dst")


def test_pagerank_in_one_line(frame_of, graph):
    ranks = spark.pagerank(frame_of(EDGES), source="src", target="dst", tolerance=1e-12, max_iterations=200)
    assert ranks.columns == ["vertex", "rank"]
    found, expected = values(ranks), plain(af.pagerank(graph, tolerance=1e-12, max_iterations=200), "rank")
    assert found.keys() == expected.keys()
    assert all(abs(found[v] - expected[v]) < 1e-12 for v in expected)


def test_one_load_many_runs(loaded, graph):
    assert (loaded.vertices, loaded.edges) == (graph.vertices, graph.edges)
    source = EDGES[0][0]
    assert values(loaded.bfs(source), "level") == plain(af.bfs(graph, source), "level")
    assert values(loaded.weakly_connected_components()) == plain(af.weakly_connected_components(graph), "component")
    said = loaded.explain()
    assert "out of Spark" in said
    assert "by Spark's JVM" in said
    assert "bfs" in said
    assert "supersteps" in said
    assert "back" in said

"""Spark Connect, whose client has no JVM at hand: what works does it as elsewhere, what does not is said."""

import numpy as np
import pytest

import arcflux as af
from arcflux import spark
from arcflux.errors import UsageError

EDGES = [(int(s), int(t)) for s, t in np.random.default_rng(11).integers(0, 40, (150, 2))]


@pytest.fixture(scope="module")
def graph():
    return af.Graph.from_edges(*zip(*EDGES, strict=True))


@pytest.fixture(scope="module")
def edges(remote):
    return remote.createDataFrame(EDGES, "src bigint, dst bigint")


def values(frame):
    return {row[0]: row[1] for row in frame.collect()}


def plain(result, field):
    return dict(zip(result.ids.tolist(), result[field].tolist(), strict=True))


def test_attached(remote, edges, graph):
    with spark.plug(remote) as plug:
        assert plug.slices == 2
        loaded = plug.graph(edges, "src", "dst")
        assert values(loaded.bfs(EDGES[0][0])) == plain(af.bfs(graph, EDGES[0][0]), "level")
        assert values(loaded.weakly_connected_components()) == plain(af.weakly_connected_components(graph), "component")
        assert "Spark Connect has no JVM at hand" in loaded.explain()
        with pytest.raises(UsageError, match="packing='arrow'"), spark.plug(remote, packing="jvm") as other:
            other.graph(edges)


def test_barrier_tasks_meet_by_themselves(remote, edges, graph):
    with spark.plug(remote, way="barrier", ranks_per_node=1) as plug:
        loaded = plug.graph(edges)
        ranks = values(loaded.pagerank(tol=1e-12, max_iter=200))
        expected = plain(af.pagerank(graph, tol=1e-12, max_iter=200), "rank")
        assert ranks.keys() == expected.keys()
        assert all(abs(ranks[v] - expected[v]) < 1e-12 for v in expected)
        assert "barrier stage" in loaded.explain()
        with pytest.raises(Exception, match="1000 is not in the graph"):
            loaded.bfs(1000)


def test_the_faithful_way_is_refused(remote):
    with pytest.raises(UsageError, match="all messages go by the driver"):
        spark.plug(remote, way="faithful")


def test_a_store_is_read(remote, tmp_path, graph):
    graph.save(tmp_path / "graph.arcflux")
    spark.register(remote)
    frame = remote.read.format("arcflux").load(str(tmp_path / "graph.arcflux"))
    assert sorted(map(tuple, frame.collect())) == sorted(EDGES)

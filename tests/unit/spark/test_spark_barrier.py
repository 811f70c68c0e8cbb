"""The engine in a barrier stage: the same values, whatever the nodes; and what happens when tasks fail."""

import numpy as np
import pytest

import arcflux as af
from arcflux import spark
from arcflux.errors import RankError, UsageError
from arcflux.spark.barrier import BarrierPlug

EDGES = [(int(s), int(t)) for s, t in np.random.default_rng(5).integers(0, 40, (150, 2))]


def values(frame, field=None):
    return {row["vertex"]: row[field or frame.columns[1]] for row in frame.collect()}


def plain(result, field):
    return dict(zip(result.ids.tolist(), result[field].tolist(), strict=True))


@pytest.fixture(scope="module")
def graph():
    return af.Graph.from_edges(*zip(*EDGES, strict=True))


@pytest.mark.parametrize("ranks_per_node", [None, 1])
def test_the_same_values_as_without_spark(session, frame_of, graph, ranks_per_node):
    with BarrierPlug(session, workers=2, ranks_per_node=ranks_per_node) as plug:
        loaded = plug.graph(frame_of(EDGES), "src", "dst")
        found = loaded.bfs(EDGES[0][0])
        assert values(found, "level") == plain(af.bfs(graph, EDGES[0][0]), "level")
        ranks = values(loaded.run("pagerank", tol=1e-12, max_iter=200))
        expected = plain(af.pagerank(graph, tol=1e-12, max_iter=200), "rank")
        assert all(abs(ranks[v] - expected[v]) < 1e-12 for v in expected)
        assert values(loaded.weakly_connected_components()) == plain(af.weakly_connected_components(graph), "component")
        assert "barrier stage" in loaded.explain()


@af.program
class Fails:
    """Divides by zero in its third superstep, if it was told so."""

    hop: af.i64

    def start(v, p):
        v.hop = 0
        return True

    def compute(v, u, edge):
        v.hop = max(v.hop, u.hop + 1)

    def update(v, old):
        return v.hop > old.hop and v.hop < 3


def test_text_and_a_program(session, frame_of):
    rows = [(f"v{s}", f"v{t}") for s, t in EDGES]
    graph = af.Graph.from_edges(*zip(*rows, strict=True))
    with spark.plug(session, way="barrier", workers=2) as plug:
        found = plug.graph(frame_of(rows, "src string, dst string")).run(Fails)
        assert values(found) == plain(af.run(Fails, graph), "hop")


def dying(task, mark, times):
    """What a task does, whose process is killed in its first attempts, after it has met the others."""

    def run(batches):
        import os

        def brought(held, transport):
            transport.superstep = 4
            transport.barrier()
            tried = len(os.listdir(mark))
            if transport.rank == 1 and tried < times:
                open(os.path.join(mark, str(tried)), "w").close()
                os.kill(os.getpid(), 9)
            return type(task)._brought(task, held, transport)

        task._brought = brought
        return task(batches)

    return run


@pytest.fixture
def killed(monkeypatch, tmp_path):
    def with_times(times):
        import arcflux.spark.barrier as barrier

        made = barrier.RunRank
        monkeypatch.setattr(barrier, "RunRank", lambda *given: dying(made(*given), str(tmp_path), times))

    return with_times


def test_a_killed_task_is_tried_again_with_all_others(session, frame_of, graph, killed):
    killed(1)
    with spark.plug(session, way="barrier", workers=2) as plug:
        found = plug.graph(frame_of(EDGES)).bfs(EDGES[0][0])
        assert values(found, "level") == plain(af.bfs(graph, EDGES[0][0]), "level")


def test_a_task_that_always_dies_is_an_error_with_its_rank(session, frame_of, killed):
    killed(100)
    with spark.plug(session, way="barrier", workers=2) as plug:
        loaded = plug.graph(frame_of(EDGES))
        with pytest.raises(RankError, match=r"rank 1 .* in superstep 4"):
            loaded.bfs(EDGES[0][0])


def test_what_the_barrier_way_cannot_do_is_said(session, frame_of):
    with pytest.raises(UsageError, match="workers is 3"):
        spark.plug(session, way="barrier", workers=3)
    with pytest.raises(UsageError, match="device, packing or slices"):
        spark.plug(session, way="barrier", device="cuda:0")
    with pytest.raises(UsageError, match="workers is 2, and the way is 'attached'"):
        spark.plug(session, workers=2)
    with spark.plug(session, way="barrier") as plug, pytest.raises(UsageError, match="vertices are given"):
        plug.graph(frame_of(EDGES), vertices=frame_of([(1,)], "id bigint"))

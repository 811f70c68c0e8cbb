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
        assert ("in parts: one rank has" in loaded.explain()) == (ranks_per_node == 1)


def test_what_sees_all_edges_gets_the_whole_graph_on_every_host(session, frame_of, graph):
    expected = plain(af.label_propagation(graph, max_iter=3), "label")
    with BarrierPlug(session, workers=2, ranks_per_node=1) as plug:
        loaded = plug.graph(frame_of(EDGES), "src", "dst")
        with pytest.warns(UserWarning, match=r"label_propagation: .* so that every host has the whole graph"):
            assert values(loaded.label_propagation(max_iter=3)) == expected
        assert "in parts" not in loaded.explain()
        assert values(loaded.label_propagation(max_iter=3)) == expected  # and is not tried in parts again
    with BarrierPlug(session, workers=2, ranks_per_node=1, build="whole") as plug:
        assert values(plug.graph(frame_of(EDGES)).label_propagation(max_iter=3)) == expected
    with BarrierPlug(session, workers=2, ranks_per_node=1, build="parts") as plug:
        loaded = plug.graph(frame_of(EDGES))
        with pytest.raises(RankError, match=r"(?s)all vertices are asked for.*build='whole'"):
            loaded.label_propagation(max_iter=3)


@af.program
class Hops:
    """The longest way to a vertex, of three edges at most."""

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
    for nodes in (None, 1):
        with spark.plug(session, way="barrier", workers=2, ranks_per_node=nodes) as plug:
            found = plug.graph(frame_of(rows, "src string, dst string")).run(Hops)
            assert values(found) == plain(af.run(Hops, graph), "hop")


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


@pytest.mark.parametrize("way", ["barrier", "faithful"])
def test_no_edge_one_edge_and_more_tasks_than_vertices(session, frame_of, way):
    with spark.plug(session, way=way, workers=2) as plug:
        for rows in ([], [(5, 5)], [(1, 2)]):
            ends = np.array(rows, np.int64).reshape(-1, 2)
            expected = plain(af.run(Hops, af.Graph.from_edges(ends[:, 0], ends[:, 1])), "hop")
            assert values(plug.graph(frame_of(rows)).run(Hops)) == expected


@pytest.mark.parametrize(
    ("rows", "schema", "options", "said"),
    [
        ([(1, 2), (2, None)], "src bigint, dst bigint", {}, r"(?s)column dst has 1 nulls.*dropna"),
        ([(1, 2, None)], "src bigint, dst bigint, w double", {"weight": "w"}, "column w has 1 nulls"),
        ([(1, "x")], "src bigint, dst string", {}, "src is bigint and column dst is string"),
        ([(1, 2)], "src bigint, dst bigint", {"target": "dest"}, "one of source and target is missing"),
        ([(1, 2)], "src bigint, dst bigint", {"weight": "w"}, "no column 'w'"),
    ],
)
def test_bad_frames_are_refused_before_the_stage(session, frame_of, rows, schema, options, said):
    with spark.plug(session, way="barrier") as plug, pytest.raises(UsageError, match=said):
        plug.graph(frame_of(rows, schema), **options)


@pytest.mark.parametrize("way", ["barrier", "faithful"])
@pytest.mark.parametrize(
    ("what", "arguments", "said"),
    [
        (af.algorithms.BFS, {"sauce": 1}, "no parameter 'sauce'"),
        (af.algorithms.BFS, {}, "BFS needs source="),
        (af.algorithms.PageRank, {"damping": "x"}, "parameter damping is 'x'"),
    ],
)
def test_wrong_parameters_are_refused_before_the_stage(session, frame_of, way, what, arguments, said):
    with spark.plug(session, way=way) as plug:
        graph = plug.graph(frame_of(EDGES))
        with pytest.raises(UsageError, match=said):
            graph.run(what, **arguments)
        assert len(plug._frames) == 1  # no stage was made: that of the edges is all there is


def test_what_the_barrier_way_cannot_do_is_said(session, frame_of):
    with pytest.raises(UsageError, match="workers is 3"):
        spark.plug(session, way="barrier", workers=3)
    with pytest.raises(UsageError, match=r"(?s)device is 'cuda:0', and the way 'barrier'.*way='attached'"):
        spark.plug(session, way="barrier", device="cuda:0")
    with pytest.raises(UsageError, match=r"(?s)workers is 2, and the way 'attached'.*way='barrier'"):
        spark.plug(session, workers=2)
    for way in ("by boat", None, ["barrier"]):
        with pytest.raises(UsageError, match="way is "):
            spark.plug(session, way=way)
    with pytest.raises(UsageError, match="build is 'half'"):
        spark.plug(session, way="barrier", build="half")
    with pytest.raises(UsageError, match=r"(?s)skipping is False.*skip"):
        spark.plug(session, way="faithful", skipping=False)
    for way in ("barrier", "faithful"):
        with spark.plug(session, way=way) as plug, pytest.raises(UsageError, match=f"vertices are given, .* '{way}'"):
            plug.graph(frame_of(EDGES), vertices=frame_of([(1,)], "id bigint"))

"""Spark attached to a daemon: frames in, frames out, the same values as without Spark."""

import numpy as np
import pytest

import arcflux as af
from arcflux import spark
from arcflux.errors import ArcfluxError, RankError, UsageError

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


def near(found, expected, by=1e-9):
    return found.keys() == expected.keys() and all(abs(found[v] - expected[v]) <= by for v in expected)


def test_pagerank_in_one_line(frame_of, graph):
    ranks = spark.pagerank(frame_of(EDGES), source="src", target="dst", tol=1e-12, max_iter=200)
    assert ranks.columns == ["vertex", "rank"]
    assert near(values(ranks), plain(af.pagerank(graph, tol=1e-12, max_iter=200), "rank"))


def test_one_load_many_runs(loaded, graph):
    assert (loaded.vertices, loaded.edges) == (graph.vertices, graph.edges)
    source = EDGES[0][0]
    assert values(loaded.bfs(source), "level") == plain(af.bfs(graph, source), "level")
    assert values(loaded.weakly_connected_components()) == plain(af.weakly_connected_components(graph), "component")
    assert values(loaded.label_propagation(max_iter=5)) == plain(af.label_propagation(graph, max_iter=5), "label")
    said = loaded.explain()
    for word in ("out of Spark", "by Spark's JVM", "build", "bfs", "supersteps", "back"):
        assert word in said
    assert "pagerank" in dir(loaded)
    with pytest.raises(AttributeError, match="no_such"):
        loaded.no_such()


@pytest.mark.parametrize("packing", ["jvm", "arrow"])
def test_text_weights_and_no_direction(session, frame_of, packing):
    rows = [(f"v{s}é", f"v{t}é", float(abs(s - t)) + 0.5) for s, t in EDGES]
    frame = frame_of(rows, "a string, b string, w double", partitions=3)
    found = spark.sssp(frame, rows[0][0], source="a", target="b", weight="w", directed=False, packing=packing)
    source, target, weight = zip(*rows, strict=True)
    graph = af.Graph.from_edges(source, target, columns={"weight": weight}, directed=False)
    expected = af.sssp(graph, rows[0][0])
    assert found.dtypes[0] == ("vertex", "string")
    assert near(values(found, "distance"), plain(expected, "distance"))


@pytest.mark.parametrize(("kind", "bits"), [("int", 31), ("smallint", 15), ("tinyint", 7)])
def test_ids_keep_their_type(plug, frame_of, kind, bits):
    top = 2**bits - 1
    frame = frame_of([(0, top), (top, -top - 1)], f"src {kind}, dst {kind}")
    levels = plug.graph(frame, "src", "dst").bfs(0)
    assert levels.dtypes[0] == ("vertex", kind)
    assert values(levels, "level") == {0: 0, top: 1, -top - 1: 2}


def test_a_cached_frame_is_read_by_columns(plug, frame_of, graph):
    frame = frame_of(EDGES).cache()
    frame.count()
    found = values(plug.graph(frame, "src", "dst").weakly_connected_components())
    assert found == plain(af.weakly_connected_components(graph), "component")
    frame.unpersist()


def test_parquet_files_are_read_without_spark(plug, frame_of, graph, tmp_path):
    frame_of(EDGES, partitions=3).write.parquet(str(tmp_path / "edges"))
    loaded = plug.graph(str(tmp_path / "edges"))
    assert values(loaded.weakly_connected_components()) == plain(af.weakly_connected_components(graph), "component")
    assert "Parquet" in loaded.explain()
    with pytest.raises(UsageError, match="there is no"):
        plug.graph(str(tmp_path / "nothing"), "src", "dst")


def test_vertices_without_edges(plug, frame_of):
    loaded = plug.graph(frame_of([(1, 2)]), "src", "dst", vertices=frame_of([(2,), (7,), (9,)], "id bigint"))
    assert values(loaded.bfs(1), "level").keys() == {1, 2, 7, 9}


@af.program
class Farthest:
    """The largest id, times the edge's factor, that reaches a vertex along edges."""

    seen: af.f64

    def start(v, p):
        v.seen = float(v.number)
        return True

    def compute(v, u, edge):
        v.seen = max(v.seen, u.seen * edge.factor)

    def update(v, old):
        return v.seen > old.seen


def test_a_program_with_columns_of_edges(plug, frame_of):
    rows = [(s, t, 0.5) for s, t in EDGES]
    loaded = plug.graph(frame_of(rows, "src bigint, dst bigint, factor double"), columns=["factor"])
    source, target, factor = zip(*rows, strict=True)
    graph = af.Graph.from_edges(source, target, columns={"factor": factor})
    assert near(values(loaded.run(Farthest)), plain(af.run(Farthest, graph), "seen"))


def test_vectors_are_arrays(plug, frame_of):
    rows = [(u, 100 + m, float(1 + (u * m) % 5)) for u in range(6) for m in range(5)]
    loaded = plug.graph(frame_of(rows, "user bigint, item bigint, rating double"), weight="rating", directed=False)
    found = loaded.collaborative_filtering(factors=3, iterations=2)
    assert found.dtypes[1][1].startswith("array<")
    assert {len(row[1]) for row in found.collect()} == {len(found.first()[1])}


def test_an_application(plug, frame_of):
    rows = [(s, t) for side in (0, 10) for s in range(side, side + 5) for t in range(side, s)] + [(0, 10)]
    found = values(plug.graph(frame_of(rows), "src", "dst", directed=False).louvain())
    assert [len({found[v] for v in range(side, side + 5)}) for side in (0, 10)] == [1, 1]
    assert found[0] != found[10]


@pytest.mark.parametrize(
    ("schema", "rows", "options", "said"),
    [
        ("src bigint, dst bigint", [(1, 2)], {"source": "src", "target": "dest"}, "no column 'dest'"),
        ("src bigint, dst bigint", [(1, 2)], {"source": "src"}, "one of source and target is missing"),
        ("p bigint, q bigint", [(1, 2)], {}, "known to be the ends"),
        ("src bigint, dst string", [(1, "x")], {}, "src is bigint and column dst is string"),
        ("src double, dst double", [(1.0, 2.0)], {}, "src is double"),
        ("src bigint, dst bigint, w string", [(1, 2, "x")], {"weight": "w"}, "w is string"),
        ("src bigint, dst bigint", [(1, 2)], {"columns": "src"}, "columns is 'src'"),
        ("src bigint, dst bigint", [(1, 2)], {"way": "by boat"}, "way is 'by boat'"),
        ("src bigint, dst bigint", [(1, 2)], {"packing": "box"}, "packing is 'box'"),
    ],
)
def test_bad_frames_are_refused_before_any_job(session, schema, rows, options, said):
    with pytest.raises(UsageError, match=said):
        spark.pagerank(session.createDataFrame(rows, schema), **options)


def test_what_is_no_frame_is_refused(session):
    with pytest.raises(UsageError, match="edges are list"):
        spark.pagerank([(1, 2)])
    with pytest.raises(UsageError, match="session is"):
        spark.plug("session")
    with pytest.raises(UsageError, match="what to run is 'pagerang'"):
        spark.run(session.createDataFrame([(1, 2)], "src bigint, dst bigint"), "pagerang")


@pytest.mark.parametrize("packing", ["jvm", "arrow"])
def test_null_ids_are_refused(session, frame_of, packing):
    with pytest.raises(UsageError, match=r"(?s)column dst has 1 nulls.*dropna"):
        spark.pagerank(frame_of([(1, 2), (2, None)]), packing=packing)


@pytest.mark.parametrize("packing", ["jvm", "arrow"])
@pytest.mark.parametrize("rows", [[], [(5, 5)], [(1, 2)]])
@pytest.mark.parametrize("kind", ["bigint", "string"])
def test_no_edge_and_one_edge(frame_of, packing, rows, kind):
    rows = [tuple(map(str if kind == "string" else int, row)) for row in rows]
    frame = frame_of(rows, f"src {kind}, dst {kind}", partitions=4)
    for run in (spark.weakly_connected_components, spark.pagerank):
        assert values(run(frame, packing=packing)).keys() == {v for row in rows for v in row}


@pytest.mark.parametrize("way", ["attached", "barrier", "faithful"])
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"directed": "no"}, "directed is 'no'"),
        ({"deduplicate": "most"}, "deduplicate is 'most'"),
        ({"symmetrize": True}, r"(?s)no option 'symmetrize'.*did you mean symmetrise"),
    ],
)
def test_options_that_make_no_sense_are_refused_before_any_job(session, frame_of, way, options, said):
    frame = frame_of([(1, 2)])
    with spark.plug(session, way=way) as plug, pytest.raises(ArcfluxError, match=said) as caught:
        plug.graph(frame, **options)
    assert not isinstance(caught.value, RankError)


@pytest.mark.parametrize("way", ["attached", "barrier", "faithful"])
def test_names_of_columns_may_have_any_signs(session, frame_of, way):
    frame = frame_of([(1, 2)]).withColumnsRenamed({"src": "a.b", "dst": "c`d"}).selectExpr("2.0D as `w``w`", "*")
    with spark.plug(session, way=way) as plug:
        graph = plug.graph(frame, "a.b", "c`d", weight="w`w")
        assert values(graph.run(af.algorithms.SSSP, source=1), "distance") == {1: 0, 2: 2.0}


def test_a_closed_plug_says_so(session, frame_of):
    with spark.plug(session) as made:
        loaded = made.graph(frame_of([(1, 2)]))
    with pytest.raises(UsageError, match="the plug was closed"):
        loaded.pagerank()

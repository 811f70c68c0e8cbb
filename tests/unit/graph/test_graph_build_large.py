"""Graphs that fill several slices and buckets, against NumPy and SciPy; and the kernels' 64-bit paths."""

import numpy as np
import pytest
import scipy.sparse

from arcflux.errors import SpaceError
from arcflux.graph import Adjacency, Graph, build
from arcflux.graph.edges import Edges, Options


def random_edges(edges=1 << 17, vertices=100_000):
    rng = np.random.default_rng(11)
    return rng.integers(0, vertices, edges), rng.integers(0, vertices, edges)


def shapes():
    """Names, and the ends of the edges."""
    few = np.random.default_rng(5).integers(0, 50, (2, (1 << 17) + 3))
    leaves = np.random.default_rng(6).permutation(np.arange(1, 200_001))
    return {
        "random": random_edges(),
        "few vertices, many parallel edges": (few[0], few[1]),
        "star out": (np.zeros(200_000, np.int64), leaves),
        "star in": (leaves, np.zeros(200_000, np.int64)),
        "all edges equal": (np.full(1 << 17, 3), np.full(1 << 17, 1)),
        "all loops equal": (np.full(1 << 17, 2), np.full(1 << 17, 2)),
        "path": (np.arange(299_999)[::-1], np.arange(1, 300_000)[::-1]),
    }


def by_numpy(source, target, vertices, directed, sort, drop=False):
    """Offsets, neighbours and each arc's edge, by stable sorting."""
    edge = np.arange(len(source))
    if not directed:
        both = np.ones((len(source), 2), bool)
        both[source == target, 1] = False
        source, target = (np.stack(ends, 1)[both] for ends in ((source, target), (target, source)))
        edge = np.stack([edge, edge], 1)[both]
    if drop:
        stays = source != target
        source, target, edge = source[stays], target[stays], edge[stays]
    order = np.lexsort((target, source)) if sort else np.argsort(source, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=vertices))])
    return offsets, target[order], edge[order]


def assert_arcs(adjacency, edge, expected):
    assert np.array_equal(adjacency.offsets, expected[0])
    assert np.array_equal(adjacency.neighbours, expected[1])
    assert np.array_equal(edge, expected[2])


@pytest.mark.parametrize("sort", [True, False])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("shape", list(shapes()))
def test_every_shape_equals_a_stable_sort(shape, directed, sort):
    source, target = shapes()[shape]
    vertices = int(max(source.max(), target.max())) + 1
    columns = {"edge": np.arange(len(source))}
    graphs = [
        Graph.from_edges(source, target, columns=columns, vertices=vertices, directed=directed, sort=sort, threads=n)
        for n in (1, 2, 3, 7)
    ]
    expected = by_numpy(source, target, vertices, directed, sort)
    for g in graphs:
        assert_arcs(g.out, g.columns["edge"], expected)
    if directed:
        sources = np.repeat(np.arange(vertices), np.diff(expected[0]))
        order = np.argsort(expected[1], kind="stable")
        into = graphs[0].into
        assert np.array_equal(into.neighbours, sources[order])
        assert np.array_equal(graphs[0].in_columns["edge"], expected[2][order])
        assert np.array_equal(np.diff(into.offsets), np.bincount(target, minlength=vertices))


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize("shape", ["random", "few vertices, many parallel edges", "star in", "all edges equal"])
def test_merging_by_sum_equals_scipy(shape, threads):
    source, target = shapes()[shape]
    weight = np.random.default_rng(1).integers(-9, 9, len(source))
    g = Graph.from_edges(source, target, columns={"weight": weight}, vertices=int(target.max() + source.max()) + 1,
                         deduplicate="sum", threads=threads)  # fmt: skip
    matrix = scipy.sparse.coo_array((weight, (source, target)), (g.vertices, g.vertices)).tocsr()
    matrix.sum_duplicates()
    assert np.array_equal(g.out.offsets, matrix.indptr)
    assert np.array_equal(g.out.neighbours, matrix.indices)
    assert np.array_equal(g.columns["weight"], matrix.data)
    assert g.changes.parallel_edges_merged == len(source) - matrix.nnz


@pytest.mark.parametrize("drop", [True, False])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("sort", [True, False])
def test_the_kernels_work_on_64_bit_numbers_and_origins(monkeypatch, directed, sort, drop):
    monkeypatch.setattr(build, "_index_type", lambda size: np.uint64)
    source, target = random_edges(1 << 16, 70_000)
    source[:500] = target[:500]
    edges = Edges(source.astype(np.uint64), target.astype(np.uint64), {"edge": np.arange(len(source))})
    built = build.build(edges, 70_000, Options(directed, None, drop, sort))
    assert built.neighbours.dtype == np.uint64
    adjacency = Adjacency(built.offsets, built.neighbours)
    assert_arcs(adjacency, built.columns["edge"], by_numpy(source, target, 70_000, directed, sort, drop))
    loops = int((source == target).sum())
    assert (built.loops, built.dropped_loops) == ((0, loops) if drop else (loops, 0))
    g = Graph(adjacency, directed=directed, columns=built.columns, loops=built.loops)
    assert g.edges == len(source) - built.dropped_loops
    assert g.into.neighbours.dtype == np.uint64
    assert np.array_equal(g.in_degrees, np.bincount(g.out.neighbours.astype(int), minlength=70_000))


@pytest.mark.parametrize("kind", [np.uint32, np.uint64])
def test_merging_and_squeezing_work_on_both_widths(kind):
    source, target = (ends.astype(kind) for ends in random_edges(1 << 16, 300))
    source *= kind(2)
    edges = Edges(source, target, {"edge": np.arange(len(source), dtype=np.float32)})
    options = Options(deduplicate="max", drop_self_loops=True)
    built = build.build(edges, 600, options)
    last = {(int(a), int(b)): float(i) for i, (a, b) in enumerate(zip(source, target, strict=True)) if a != b}
    kept = build.drop_unnamed(built, options)
    named = sorted({*source.tolist(), *target.tolist()})
    assert kept.tolist() == named
    ends = np.repeat(kept, np.diff(built.offsets).astype(int)).tolist(), kept[built.neighbours].tolist()
    assert dict(zip(zip(*ends, strict=True), built.columns["edge"].tolist(), strict=True)) == last
    assert built.merged == len(source) - built.dropped_loops - len(last)


@pytest.mark.parametrize("directed", [True, False])
def test_places_between_slices_mean_nothing(directed):
    source, target = random_edges(3000, 500)
    source[1000:1500] = target[2200:2300] = 10**9
    starts, counts = np.array([0, 1500, 2300], np.uint64), np.array([1000, 700, 700], np.uint64)
    edges = Edges(source.copy(), target.copy(), {"edge": np.arange(3000)}, starts, counts)
    place = edges.places()
    assert place.tolist() == [*range(1000), *range(1500, 2200), *range(2300, 3000)]
    assert len(edges) == 2400
    g = Graph.assemble(edges, Options(directed), vertices=500)
    assert g.changes.edges_given == g.edges == 2400
    expected = by_numpy(source[place], target[place], 500, directed, True)
    assert_arcs(g.out, g.columns["edge"], (*expected[:2], place[expected[2]]))


@pytest.mark.parametrize("threads", [1, 3])
def test_arrays_that_belong_to_the_builder_are_used_up_and_the_graph_is_the_same(threads):
    source, target = random_edges(1 << 19, 1000)
    ends = [build.empty(len(source), np.uint32) for _ in range(2)]
    ends[0][:], ends[1][:] = source, target
    g = Graph.assemble(Edges(*ends, ours=True), Options(threads=threads))
    assert g.equals(Graph.from_edges(source, target))
    assert not ends[0].any(), "the pages were given back"


def test_a_graph_too_big_for_any_machine_says_so():
    for options in ({}, {"drop_self_loops": True}):
        with pytest.raises(SpaceError, match="bytes of memory"):
            Graph.from_edges([0], [1], vertices=10**17, **options)


def test_rows_are_cut_into_runs_of_about_as_many_arcs():
    offsets = np.array([0, 0, 10, 10, 20, 20, 40, 40], np.uint64)
    bounds = build.row_bounds(offsets, 4)
    assert bounds[0] == 0
    assert bounds[-1] == 7
    assert np.diff(offsets[bounds]).tolist() == [10, 10, 20, 0]
    assert build.row_bounds(np.zeros(4, np.uint64), 3).tolist() == [0, 0, 0, 3]

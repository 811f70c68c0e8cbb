"""Bad bytes in stores give the right result or an error, never a crash; and `verify` is not fooled."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from crafted_stores import RIGHT, flip, outcome, put
from io_samples import change_manifest, store_sample

import arcflux as af
from arcflux.errors import ChecksumError, StoreError, UsageError
from arcflux.io import store
from arcflux.spmd import memory

FAMILIES = ("values", "types", "files", "flips")
SCRIPT = Path(__file__).parent / "crafted_stores.py"


@pytest.mark.parametrize(
    ("family", "every"),
    [
        *((family, 9) for family in FAMILIES),
        *((f"parts-{family}", 29) for family in FAMILIES),
        *(pytest.param(family, 1, marks=pytest.mark.chaos) for family in FAMILIES),
        *(pytest.param(f"parts-{family}", 1, marks=pytest.mark.chaos) for family in FAMILIES),
        pytest.param("graphs", 1, marks=pytest.mark.chaos),  # by all algorithms, whose compiling takes minutes
    ],
)
def test_crafted_stores(tmp_path, family, every):
    command = [sys.executable, str(SCRIPT), str(tmp_path), family, str(every)]
    dirty = {**os.environ, "MALLOC_PERTURB_": "90"}  # what nobody has written yet is not zero
    done = subprocess.run(command, capture_output=True, text=True, timeout=4 * 3600, check=False, env=dirty)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def directed(tmp_path):
    store.write(af.load("rmat:6,weights=1-9"), tmp_path / "d", reverse=True)
    return tmp_path / "d"


@pytest.fixture
def undirected(tmp_path):
    store.write(af.load("kron:6,weights=1-9"), tmp_path / "u")
    return tmp_path / "u"


def array_of(folder, name):
    return np.load(folder / f"{name}.npy")


def test_verify_finds_in_edges_that_are_not_the_out_edges(directed):
    store.verify(directed)
    neighbours, offsets = array_of(directed, "in_neighbours"), array_of(directed, "in_offsets")
    rolled = neighbours.copy()
    row = int(np.argmax(np.diff(offsets.astype(int)) > 1))
    rolled[int(offsets[row])] = 0 if neighbours[int(offsets[row])] else 1
    rolled[int(offsets[row]) : int(offsets[row + 1])].sort()
    put(directed, "in_neighbours", rolled)
    assert af.load(directed).in_degrees.sum() == len(neighbours)
    with pytest.raises(StoreError, match="the in-edges are not the out-edges"):
        store.verify(directed)


def test_verify_finds_values_of_in_edges_that_are_others(directed):
    put(directed, "in_column.weight", np.roll(array_of(directed, "in_column.weight"), 1))
    with pytest.raises(StoreError, match=r"the in-edges are not the out-edges.*column weight"):
        store.verify(directed)


@af.program
class Told:
    """What an edge is told by its reverse."""

    x: af.i64
    kept: af.edge(af.i64, 1)

    def along(edge, u):
        edge.kept = edge.reverse.kept + u.number

    def compute(v, edge):
        v.x += edge.kept

    def update(v, step):
        return step < 2


@pytest.mark.parametrize(("kind", "name"), [("undirected", "neighbours"), ("directed", "in_neighbours")])
def test_an_edge_that_has_no_reverse_is_named(request, kind, name):
    """Of an undirected graph every edge has one, unless somebody wrote the store so."""
    folder = request.getfixturevalue(kind)
    neighbours = array_of(folder, name)
    put(folder, name, np.zeros_like(neighbours))
    for way in ({"threads": 2}, {"parts": 2, "ranks_per_node": 1}, {"debug": True}):
        with pytest.raises(af.errors.GraphError, match=r"the edge from 0 to \d+ has no reverse"):
            af.run(Told, folder, **way)


def test_a_matching_ends_where_vertices_point_round_in_a_circle(tmp_path):
    """Of three arcs that make a circle none has a reverse, so no two vertices point to each other."""
    store.write(af.load("cycle:3"), tmp_path / "g")
    put(tmp_path / "g", "offsets", np.array([0, 2, 4, 6], array_of(tmp_path / "g", "offsets").dtype))
    put(tmp_path / "g", "neighbours", np.array([1, 1, 2, 2, 0, 0], array_of(tmp_path / "g", "neighbours").dtype))
    for way in ({"threads": 2}, {"parts": 2, "ranks_per_node": 1}, {"debug": True}):
        with pytest.raises(af.errors.GraphError, match="an edge in one direction only"):
            af.maximal_matching(af.load(tmp_path / "g"), **way)


@pytest.mark.parametrize("algorithm", [af.bridges, af.biconnected_components])
def test_blocks_of_edges_that_do_not_come_back(tmp_path, algorithm):
    """The last vertex is met first by another root than the one that it belongs to."""
    store.write(af.load("complete:5"), tmp_path / "g")
    put(tmp_path / "g", "neighbours", np.full_like(array_of(tmp_path / "g", "neighbours"), 4))
    with pytest.raises(af.errors.GraphError, match="an edge in one direction only"):
        dict(algorithm(af.load(tmp_path / "g")).edges)


def test_a_colour_that_a_neighbour_has_not_yet_is_no_place_in_memory(tmp_path):
    """A vertex is painted that one before it has not told, because there is no arc from that; it had what was there."""
    n = 1 << 17
    store.write(af.Graph.from_edges([0, 1, 2], [1, 2, 0], vertices=n, directed=False), tmp_path / "g")
    neighbours = array_of(tmp_path / "g", "neighbours")
    put(tmp_path / "g", "neighbours", np.array([2, 2, 0, 0, 1, 1], neighbours.dtype))
    af.greedy_color(af.load("path:9"), threads=2)  # compiled

    def paint():
        before = memory.borrow(n, np.int64)
        before.fill(1 << 50)
        memory.give_back([before])
        return int(af.greedy_color(af.load(tmp_path / "g"), threads=2)["color"].max()) < 3

    assert outcome(paint, True) == RIGHT


def test_rows_that_are_not_sorted_are_found_before_the_first_use(directed):
    neighbours, offsets = array_of(directed, "neighbours"), array_of(directed, "offsets")
    row = int(np.argmax(np.diff(offsets.astype(int)) > 1))
    at = int(offsets[row])
    neighbours[[at, at + 1]] = neighbours[[at + 1, at]]
    put(directed, "neighbours", neighbours)
    for act in (store.verify, lambda folder: af.load(folder).out):
        with pytest.raises(StoreError, match=r"neighbours\.npy: .* comes before"):
            act(directed)


def test_an_unsorted_graph_may_be_unsorted(tmp_path):
    graph = af.Graph.from_edges([0, 0, 0], [2, 1, 2], sort=False)
    graph.save(tmp_path / "g")
    store.verify(tmp_path / "g")
    assert af.load(tmp_path / "g").equals(graph)


def test_verify_finds_an_undirected_graph_with_one_direction(undirected):
    store.verify(undirected)
    neighbours, offsets = array_of(undirected, "neighbours"), array_of(undirected, "offsets")
    row = int(np.argmax(np.diff(offsets.astype(int)) > 1))
    begin, end = int(offsets[row]), int(offsets[row + 1])
    free = np.setdiff1d(np.arange(len(offsets) - 1), [*neighbours[begin:end], row])
    neighbours[begin] = free[0]
    neighbours[begin:end].sort()
    put(undirected, "neighbours", neighbours)
    with pytest.raises(StoreError, match="in one direction only"):
        store.verify(undirected)


def test_verify_finds_weights_that_differ_by_direction(undirected):
    weight = array_of(undirected, "column.weight")
    weight[0] += 1
    put(undirected, "column.weight", weight)
    with pytest.raises(StoreError, match="in one direction only, by the values of column weight"):
        store.verify(undirected)


def test_verify_counts_self_loops(tmp_path):
    store.write(af.Graph.from_edges([0, 0, 1], [0, 1, 2], directed=False), tmp_path / "g")
    store.verify(tmp_path / "g")
    change_manifest(tmp_path / "g", edges=4)
    with pytest.raises(StoreError, match="1 self-loops, and the manifest counts 4 edges"):
        store.verify(tmp_path / "g")


def test_a_flipped_bit_is_found_before_the_first_run_and_every_time(undirected):
    flip(undirected, "neighbours", 200, 0)
    graph = af.load(undirected)  # which reads none of it
    assert (graph.vertices, graph.weighted) == (len(array_of(undirected, "offsets")) - 1, True)
    assert "weight" in graph.columns
    for _ in range(2):
        with pytest.raises(ChecksumError, match=r"neighbours\.npy"):
            af.pagerank(graph)
    assert graph.columns["weight"].min() > 0


def test_arrays_that_nobody_uses_are_not_looked_at(directed):
    flip(directed, "column.weight", 200, 0)
    flip(directed, "in_neighbours", 200, 0)
    graph = af.load(directed)
    assert graph.out.neighbours.sum() > 0
    for use in (lambda: graph.columns["weight"], lambda: graph.into, lambda: graph.check()):
        with pytest.raises(ChecksumError):
            use()


def test_trust_skips_the_looks(undirected, tmp_path):
    flip(undirected, "column.weight", 200, 0)
    assert af.load(undirected, trust=True).columns["weight"].any()
    with pytest.raises(ChecksumError):
        af.load(undirected, trust=False).columns["weight"]
    (tmp_path / "g.el").write_text("0 1\n")
    with pytest.raises(UsageError, match="trust= is no option"):
        af.load(tmp_path / "g.el", trust=True)


def test_a_store_from_before_there_were_sums_is_checked_by_its_sha256(undirected):
    manifest = json.loads((undirected / "manifest.json").read_text())
    del manifest["checksum"]
    for entry in manifest["arrays"].values():
        del entry["sum64"]
    (undirected / "manifest.json").write_text(json.dumps(manifest))
    assert af.load(undirected).out.neighbours.any()
    store.verify(undirected)
    flip(undirected, "neighbours", 200, 3)
    with pytest.raises(ChecksumError):
        assert af.load(undirected).out


def test_every_bit_of_the_manifest_is_right_or_found(tmp_path):
    """A base of ids, a name, a count: a flipped bit of any changes nothing, or is told."""
    graph = af.Graph.from_edges([10, 11, 12], [11, 12, 12], name="base", directed=False)
    store.write(graph, tmp_path / "g")
    right = (tmp_path / "g" / "manifest.json").read_bytes()
    for at in range(len(right)):
        wrong = bytearray(right)
        wrong[at] ^= 1 << at % 7
        (tmp_path / "g" / "manifest.json").write_bytes(wrong)
        try:
            back = af.load(tmp_path / "g")
            assert (back.name, back.edges, back.changes) == (graph.name, graph.edges, graph.changes)
            assert back.equals(graph)
        except StoreError:
            continue


@pytest.mark.parametrize("name", ["manifest.json", "neighbours.npy"])
@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_a_pipe_or_a_link_is_refused_at_once(undirected, name, kind):
    file = undirected / name
    os.rename(file, undirected.parent / "away")
    if kind == "pipe":
        os.mkfifo(file)
    else:
        file.symlink_to(undirected.parent / "away")
    for act in (af.load, store.verify):
        with pytest.raises(StoreError, match="no plain file"):
            act(undirected)


def test_a_pipe_is_no_graph(tmp_path):
    for name in ("g.el", "g.sg", "g.parquet", "g.mtx"):
        os.mkfifo(tmp_path / name)
        with pytest.raises(af.errors.FormatError, match="no plain file"):
            af.load(tmp_path / name)


def test_names_that_are_not_utf8_are_told_before_they_are_read(tmp_path):
    store.write(store_sample(), tmp_path / "g")
    put(tmp_path / "g", "ids.data", np.frombuffer(b"adabob\xff\xfe!", np.uint8))
    with pytest.raises(StoreError, match="not UTF-8"):
        af.load(tmp_path / "g").ids.to_ids()

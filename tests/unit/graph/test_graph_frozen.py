"""A graph does not change, and holds on to nothing of its maker's."""

import threading

import numpy as np
import pytest

from arcflux.graph import Adjacency, Graph
from arcflux.graph.card import facts, histogram

SIZE = 1 << 18  # arrays of this size are memory maps


def example(**options):
    columns = {"weight": np.array([3.0, 1.0, 2.0]), "kind": np.array([1, 2, 3], np.int8)}
    return Graph.from_edges([5, 5, 900_000_000_000], [-2, 5, -2], columns=columns, **options)


def arrays_of(g):
    return [*g.out, *g.into, *g.columns.values(), *g.in_columns.values(), *g.ids.arrays.values()]


@pytest.mark.parametrize(
    "options", [{}, {"directed": False}, {"deduplicate": "sum"}, {"vertices": [5, -2, 9 * 10**11]}]
)
def test_every_array_is_read_only(options):
    for array in arrays_of(example(**options)):
        assert not array.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            array[:1] = 0
    big = Graph.from_edges(
        np.arange(SIZE), np.arange(SIZE)[::-1], columns={"w": np.zeros(SIZE)}, **{**options, "vertices": None}
    )
    assert not any(array.flags.writeable for array in arrays_of(big))


@pytest.mark.parametrize("name", ["name", "edges", "ids", "directed", "columns", "vertices", "_out", "new"])
def test_no_attribute_can_be_set_or_deleted(name):
    g = example()
    with pytest.raises(AttributeError):
        setattr(g, name, 1)
    with pytest.raises(AttributeError):
        delattr(g, name)
    with pytest.raises(TypeError):
        g.columns["weight"] = 1
    with pytest.raises(TypeError):
        g.in_columns["weight"] = 1
    assert g.equals(example())


@pytest.mark.parametrize("size", [10, SIZE])
@pytest.mark.parametrize(
    ("kind", "step"), [(np.uint32, 1), (np.uint64, 1), (np.int64, 1), (np.uint64, 10**10), (np.int64, 10**10)]
)
def test_the_users_arrays_are_neither_kept_nor_written_to(kind, step, size):
    rng = np.random.default_rng(1)
    given = [rng.permutation(size).astype(kind) * kind(step) for _ in range(2)]
    column, listed = rng.random(size), np.arange(size, dtype=kind) * kind(step)
    before = [array.copy() for array in (*given, column, listed)]
    for options in ({}, {"vertices": listed}, {"sort": False}, {"directed": False, "deduplicate": "max"}):
        g = Graph.from_edges(*given, columns={"w": column}, **options)
        for mine, was in zip((*given, column, listed), before, strict=True):
            assert mine.flags.writeable
            assert np.array_equal(mine, was)
            assert not any(np.shares_memory(mine, array) for array in arrays_of(g))


def test_what_a_graph_hands_out_can_be_written_to_without_changing_it():
    for g in (example(), example(directed=False), Graph.from_edges([1, 2], [2, 1])):
        before = [array.copy() for array in arrays_of(g)]
        source, target, columns = g.edge_list()
        handed = [source, target, *columns.values(), g.out_degrees, g.in_degrees, g.neighbours(g.ids.to_ids()[0])]
        handed += [g.ids.to_ids(), g.ids.to_ids([0]), g.ids.find([0]), *g.edge_numbers()]
        for array in handed:
            if array.flags.writeable:
                array[:] = 0
        assert all(np.array_equal(a, b) for a, b in zip(arrays_of(g), before, strict=True))


def test_in_edges_are_built_once_even_by_many_threads():
    source = np.random.default_rng(1).integers(0, 1000, SIZE)
    g = Graph.from_edges(source, source[::-1])
    found = []
    threads = [threading.Thread(target=lambda: found.append(g.into)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert all(adjacency is found[0] for adjacency in found)
    undirected = Graph.from_edges([0], [1], directed=False)
    assert undirected.into is undirected.out


def test_memory_counts_every_array_once_it_is_there():
    g = example()
    before = g.memory
    assert before == 4 * 8 + 3 * 4 + 3 * 8 + 3 * 1 + 3 * 8
    assert g.into.neighbours.nbytes == 12
    assert g.memory == before + 4 * 8 + 3 * 4 + 3 * 8 + 3 * 1
    undirected = example(directed=False)
    before = undirected.memory
    assert undirected.into.neighbours.nbytes
    assert undirected.memory == before


@pytest.mark.parametrize(
    "other",
    [
        {"source": [0, 2]},
        {"target": [2, 2]},
        {"source": [10, 11], "target": [11, 12]},
        {"vertices": 4},
        {"directed": False},
        {"columns": {"w": np.array([1.0, 3.0])}},
        {"columns": {"w": np.array([1.0, 2.0], np.float32)}},
        {"columns": {"v": np.array([1.0, 2.0])}},
        {"columns": {}},
        {"columns": {"w": np.array([1.0, 2.0]), "v": np.array([1.0, 2.0])}},
    ],
)
def test_equal_means_the_same_vertices_ids_edges_columns_and_types(other):
    arguments = {"source": [0, 1], "target": [1, 2], "columns": {"w": np.array([1.0, 2.0])}}
    g = Graph.from_edges(**arguments)
    assert g.equals(Graph.from_edges(**arguments, name="named", threads=1))
    changed = Graph.from_edges(**(arguments | other))
    assert not g.equals(changed)
    assert not changed.equals(g)


def test_equal_takes_nan_for_nan():
    one, other = (Graph.from_edges([0], [1], columns={"w": [np.nan]}) for _ in range(2))
    assert one.equals(other)


def test_a_graph_of_given_adjacency_counts_its_edges():
    offsets, neighbours = np.array([0, 2, 3], np.uint64), np.array([0, 1, 0], np.uint32)
    assert Graph(Adjacency(offsets, neighbours), directed=True).edges == 3
    undirected = Graph(Adjacency(offsets, neighbours), directed=False, loops=1)
    assert (undirected.edges, undirected.changes.edges_given) == (2, 2)


def test_the_card_says_what_the_graph_is():
    g = example(name="<b>", drop_self_loops=True)
    assert repr(g).startswith("<Graph <b>: 3 vertices, 2 edges, directed, columns weight, kind, ")
    assert "1 self-loops were dropped" in str(g)
    assert "<b><b></b>" not in g._repr_html_()
    assert "&lt;b&gt;" in g._repr_html_()
    assert facts(g)["changes"] == {
        "edges_given": 3, "self_loops_dropped": 1, "parallel_edges_merged": 0, "symmetrised": False,
    }  # fmt: skip
    star = Graph.from_edges([0] * 8 + [1] * 3 + [2], np.arange(12), vertices=20)
    assert [row["vertices"] for row in histogram(star)] == [17, 1, 1, 0, 1]
    assert histogram(star)[-1] == {"first": 8, "last": 15, "vertices": 1}
    assert histogram(Graph.from_edges([], [])) == []

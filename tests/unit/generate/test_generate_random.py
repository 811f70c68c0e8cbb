"""Uniform graphs, small worlds, ratings, and the permutation that deals vertex numbers."""

import math
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
from generated import pairs, same_as
from hypothesis import given
from hypothesis import strategies as st

from arcflux import generate
from arcflux.errors import UsageError
from arcflux.generate import kernels
from arcflux.generate.recursive import cells
from arcflux.spmd.pool import run
from arcflux.spmd.random import permute


def _near(count, total, share, sigmas=5):
    return abs(count - total * share) <= sigmas * math.sqrt(total * share * (1 - share))


@pytest.mark.parametrize("width", range(13))
@pytest.mark.parametrize("key", [0, 1, 0x9E3779B97F4A7C15, (1 << 64) - 1])
def test_permute_is_a_bijection(width, key):
    images = [int(permute(np.uint64(key), np.uint64(x), np.uint64(width))) for x in range(1 << width)]
    assert sorted(images) == list(range(1 << width))


@given(st.integers(0, (1 << 64) - 1), st.integers(1, 1 << 63))
def test_below_is_the_high_word_of_the_product(word, count):
    assert int(kernels.below(np.uint64(word), np.uint64(count))) == word * count >> 64


def test_more_than_32_bits_of_vertices():
    recipe = SimpleNamespace(edges=50_000, seed=1)
    source, target = np.zeros(recipe.edges, np.uint64), np.zeros(recipe.edges, np.uint64)
    for kernel, items, *args in (
        cells(recipe, 41, (0.25, 0.25, 0.25, 0.25), shuffle=True),
        (kernels.flat, recipe.edges, np.uint64(1), np.uint64(1 << 41)),
    ):
        run(kernel, 4, np.uint64(items), *args, source, target)
        for ends in (source, target):
            assert ends.max() < 1 << 41
            assert abs(float(ends.mean()) / 2**40 - 1) < 0.02


def test_uniform_ends_are_uniform():
    n, m = 1000, 200_000
    graph = generate.uniform(vertices=n, edges=m, directed=True, simple=False)
    for degrees in (graph.out_degrees, graph.in_degrees):
        statistic = ((degrees - m / n) ** 2).sum() / (m / n)
        assert abs(statistic - n) < 5 * math.sqrt(2 * n)
    assert _near(int((pairs(graph)[0] == pairs(graph)[1]).sum()), m, 1 / n)


def test_uniform_by_scale_and_by_count_are_the_same():
    assert generate.uniform(9, 8).equals(generate.uniform(vertices=512, edges=4096))
    graph = generate.uniform(9)
    assert (graph.vertices, graph.changes.edges_given, graph.directed) == (512, 8192, False)


@pytest.mark.parametrize("arguments", [{}, {"scale": 3, "vertices": 8}, {"vertices": 0, "edges": 3}, {"scale": -1}])
def test_bad_uniform(arguments):
    with pytest.raises(UsageError):
        generate.uniform(**arguments)


@pytest.mark.parametrize(("n", "k"), [(5, 2), (5, 4), (20, 6), (7, 0), (1, 0)])
def test_an_unrewired_ring_is_the_lattice(n, k):
    assert same_as(generate.watts_strogatz(n, k, 0.0), nx.watts_strogatz_graph(n, k, 0.0))


@pytest.mark.parametrize("p", [0.1, 0.5, 1.0])
def test_rewiring_moves_far_ends(p):
    n, k = 20_000, 6
    graph = generate.watts_strogatz(n, k, p)
    sources, targets = pairs(graph)
    assert (sources != targets).all()
    assert graph.changes.edges_given == n * k // 2
    distance = np.minimum((sources - targets) % n, (targets - sources) % n)
    assert _near(int((distance > k // 2).sum()) // 2, n * k // 2, p * (1 - k / n))
    assert graph.out_degrees.min() >= (k // 2 if p < 1 else 1)


@pytest.mark.parametrize(("n", "k"), [(10, 3), (10, 10), (10, 12), (0, 2), (10, -2), (10, 2.0)])
def test_bad_rings(n, k):
    with pytest.raises(UsageError):
        generate.watts_strogatz(n, k)


@pytest.mark.parametrize("kind", ["ws", "rmat"])
@pytest.mark.parametrize("rewire", [0.0, 0.1, 1.0])
def test_worlds_are_joined_by_the_part_rewired(kind, rewire):
    graph = generate.small_worlds(50, 256, k=8, rewire=rewire, kind=kind)
    sources, targets, _ = graph.edge_numbers()
    between = int((sources // 256 != targets // 256).sum())
    given = graph.changes.edges_given
    assert (graph.vertices, given) == (50 * 256, 50 * 256 * 4)
    # Edges between worlds hardly ever meet, so merging takes next to nothing away from them.
    assert _near(between, given, rewire, sigmas=6) or (rewire == 1 and between > 0.98 * given)
    assert rewire or between == 0


def test_worlds_without_rewiring_are_rings():
    graph = generate.small_worlds(3, 7, k=4, p=0.0, rewire=0.0)
    assert same_as(graph, nx.disjoint_union_all([nx.watts_strogatz_graph(7, 4, 0.0)] * 3))


def test_rmat_worlds_each_have_a_hub():
    graph = generate.small_worlds(20, 512, k=16, rewire=0.0, kind="rmat")
    assert (graph.out_degrees.reshape(20, 512).argmax(axis=1) == 0).all()


def test_a_single_world_is_not_rewired():
    assert generate.small_worlds(1, 500, k=6, p=0.3, rewire=1.0).equals(generate.watts_strogatz(500, 6, 0.3))


@pytest.mark.parametrize("arguments", [{"kind": "er"}, {"kind": "rmat", "size": 100}, {"rewire": 1.5}, {"k": 7}])
def test_bad_worlds(arguments):
    with pytest.raises(UsageError):
        generate.small_worlds(**{"worlds": 3, "size": 64, **arguments})


def test_ratings_are_bipartite_in_range_and_skewed():
    users, items = 3000, 400
    graph = generate.ratings(users, items, per_user=20)
    sources, targets, places = graph.edge_numbers()
    assert (sources < users).all()
    assert (targets >= users).all()
    rating = graph.columns["weight"]
    assert (rating.dtype, rating.min() >= 1, rating.max() <= 5) == (np.float32, True, True)
    assert abs(float(rating.mean()) - 3) < 0.05
    assert 0.8 < float(rating.std()) < 1.2
    popularity = np.sort(graph.out_degrees[users:])[::-1]
    assert popularity[: items // 10].sum() > 0.35 * popularity.sum()
    assert popularity.argmax() == 0 != int(graph.out_degrees[users:].argmax())
    assert (graph.out_degrees[:users] <= 20).all()
    assert len(places) == graph.edges


def test_ratings_agree_in_both_directions():
    graph = generate.ratings(300, 50)
    sources, targets = pairs(graph)
    order, mirrored = np.lexsort((targets, sources)), np.lexsort((sources, targets))
    weight = graph.columns["weight"]
    assert np.array_equal(weight[order], weight[mirrored])


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_ratings_have_a_low_rank(noise):
    users, items, rank = 200, 50, 4
    graph = generate.ratings(users, items, ratings=users * 3000, rank=rank, low=-100.0, high=100.0, noise=noise)
    assert graph.edges == users * items
    matrix = graph.columns["weight"][: users * items].reshape(users, items).astype(np.float64)
    inside = (np.abs(matrix) < 100).all(axis=1)
    left, values, right = np.linalg.svd(matrix[inside])
    fitted = (left[:, :rank] * values[:rank]) @ right[:rank]
    error = math.sqrt(float(((matrix[inside] - fitted) ** 2).mean()))
    assert inside.sum() > users // 4
    assert error < 1e-4 if noise == 0 else 0.8 * noise < error < 1.05 * noise


@pytest.mark.parametrize(
    "arguments", [{"low": 5, "high": 1}, {"rank": 0}, {"noise": -1}, {"items": 0}, {"users": 0, "ratings": 3}]
)
def test_bad_ratings(arguments):
    with pytest.raises(UsageError):
        generate.ratings(**{"users": 10, "items": 10, **arguments})


def test_a_stopped_launch_writes_nothing():
    control = np.full(16, 1 << 62, np.int64)
    source, target = np.full(10, 77, np.uint32), np.full(10, 77, np.uint32)
    kernels.flat(0, 1, control, np.uint64(10), np.uint64(1), np.uint64(5), source, target)
    assert (source == 77).all()
    assert (target == 77).all()

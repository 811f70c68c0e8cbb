"""Factors follow equations 3 to 5 of the Lux paper, recover what has low rank, and recommend what is not rated yet."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

import arcflux as af
from arcflux.algorithms import collaborative_filtering, predict, recommend
from arcflux.errors import GraphError, UsageError

USERS, ITEMS = 30, 20


def ratings(rank: int = 2, share: float = 0.6) -> tuple[af.Graph, NDArray, NDArray]:
    """A graph of some of the elements of a matrix of low rank, the matrix, and which elements are in the graph."""
    random = np.random.default_rng(7)
    matrix = 3 + random.normal(size=(USERS, rank)) @ random.normal(size=(rank, ITEMS))
    known = random.random(matrix.shape) < share
    user, item = np.nonzero(known)
    graph = af.Graph.from_edges(
        user, item + USERS, columns={"weight": matrix[known]}, vertices=USERS + ITEMS, directed=False
    )
    return graph, matrix, known


def descended(first: NDArray, matrix: NDArray, known: NDArray, rate: float, drawn: float, steps: int) -> NDArray:
    """Equations 3, 4 and 5, for whole matrices."""
    p, q = first[:USERS].astype(float), first[USERS:].astype(float)
    for _ in range(steps):
        error = np.where(known, matrix - p @ q.T, 0.0)
        p, q = p + rate * (error @ q - drawn * p), q + rate * (error.T @ p - drawn * q)
    return np.vstack([p, q])


def test_supersteps_are_the_equations() -> None:
    graph, matrix, known = ratings()
    first = collaborative_filtering(graph, factors=5, rate=0.0, iterations=1)["factors"]
    result = collaborative_filtering(graph, factors=5, rate=0.004, regularisation=0.3, iterations=20)
    np.testing.assert_allclose(result["factors"], descended(first, matrix, known, 0.004, 0.3, 20), rtol=1e-5, atol=1e-5)
    before = descended(first, matrix, known, 0.004, 0.3, 19)
    error = (matrix - before[:USERS] @ before[USERS:].T)[known]
    assert result.residual == pytest.approx(np.sqrt((error**2).mean()), rel=1e-4)
    assert result.supersteps == 20
    assert result.converged


def test_a_matrix_of_low_rank_is_recovered_where_nothing_was_known() -> None:
    graph, matrix, known = ratings()
    result = collaborative_filtering(graph, factors=4, regularisation=0.0, rate=0.005, iterations=4000)
    errors = [step.residual for step in result.history]
    assert errors[-1] < 0.01 < 1.0 < errors[0]
    assert all(after < before for before, after in pairwise(errors[:100]))
    user, item = np.nonzero(~known)
    wrong = predict(result, user, item + USERS) - matrix[~known]
    assert np.sqrt((wrong**2).mean()) < 0.1
    assert predict(result, 0, USERS) == pytest.approx(matrix[0, 0], abs=0.3)


def test_every_back_end_agrees() -> None:
    graph, _, _ = ratings()
    options = {"factors": 3, "iterations": 6, "seed": 4}
    once = collaborative_filtering(graph, **options, threads=1)
    plain = collaborative_filtering(graph, **options, debug=True)
    np.testing.assert_allclose(plain["factors"], once["factors"], rtol=1e-5, atol=1e-6)
    assert plain.residual == pytest.approx(once.residual, rel=1e-5)
    for threads in (2, 3):
        np.testing.assert_array_equal(
            collaborative_filtering(graph, **options, threads=threads)["factors"], once["factors"]
        )
        pushed = collaborative_filtering(graph, **options, threads=threads, direction="push")
        np.testing.assert_allclose(pushed["factors"], once["factors"], rtol=1e-5, atol=1e-6)
        assert {step.direction for step in pushed.history} == {"push"}


def test_the_same_on_any_number_of_threads_when_there_are_many_chunks() -> None:
    graph = af.load("ratings:5000x800,per=8")
    results = [collaborative_filtering(graph, factors=7, iterations=4, threads=threads) for threads in (1, 2, 3)]
    for result in results[1:]:
        np.testing.assert_array_equal(result["factors"], results[0]["factors"])
    pushed = collaborative_filtering(graph, factors=7, iterations=4, threads=2, direction="push")
    np.testing.assert_allclose(pushed["factors"], results[0]["factors"], rtol=1e-4, atol=1e-5)


def test_first_factors_are_random_by_seed() -> None:
    graph = af.load("ratings:3000x500,per=4")
    first = {
        seed: collaborative_filtering(graph, rate=0.0, iterations=1, seed=seed)["factors"] for seed in (1, 2, 2**63)
    }
    assert not (first[1] == first[2]).any(axis=1).all()
    for values in first.values():
        assert len(np.unique(values)) > values.size // 2
        spread = (values.max() - values.min()) / np.sqrt(12)
        assert values.std() == pytest.approx(spread, rel=0.03)  # uniform
        assert abs(np.corrcoef(values.T) - np.eye(8)).max() < 0.1


def test_recommendations_are_unrated_items_best_first() -> None:
    users = ["ada", "ada", "bob", "bob", "eve", "dan"]
    items = ["x", "y", "y", "z", "z", "far"]
    graph = af.Graph.from_edges(users, items, columns={"stars": [5, 4, 4, 1, 2, 5]}, directed=False)
    result = collaborative_filtering(graph, factors=2, iterations=300, weight="stars")
    assert result.graph is graph
    assert list(result.values) == ["factors"]
    found = recommend(result, "ada")
    assert [name for name, _ in found] == ["z"]  # x and y are rated, far is not linked
    assert found[0][1] == pytest.approx(predict(result, "ada", "z"))
    assert recommend(result, "far") == []
    ranked = recommend(result, "eve", 2)
    assert {name for name, _ in ranked} == {"x", "y"}
    assert ranked[0][1] >= ranked[1][1]
    assert len(recommend(result, "eve", 1)) == 1


def test_parallel_edges_count_twice_and_isolated_vertices_shrink() -> None:
    twice = af.Graph.from_edges([0, 0], [1, 1], columns={"weight": [2.0, 2.0]}, vertices=3, directed=False)
    once = af.Graph.from_edges([0], [1], columns={"weight": [2.0]}, vertices=3, directed=False)
    options = {"factors": 2, "iterations": 1, "regularisation": 0.0}
    a = collaborative_filtering(twice, rate=0.01, **options)["factors"]
    b = collaborative_filtering(once, rate=0.02, **options)["factors"]
    np.testing.assert_allclose(a, b, rtol=1e-6)
    drawn = collaborative_filtering(once, rate=0.5, factors=2, iterations=1, regularisation=0.5)["factors"]
    np.testing.assert_allclose(drawn[2], 0.75 * b[2], rtol=1e-6)


def test_graphs_without_edges() -> None:
    for vertices in (0, 3):
        none = np.zeros(0, np.int64)
        graph = af.Graph.from_edges(none, none, columns={"weight": np.zeros(0)}, vertices=vertices, directed=False)
        assert collaborative_filtering(graph, factors=2, iterations=2)["factors"].shape == (vertices, 2)


def test_what_cannot_be_learned_from_is_refused() -> None:
    with pytest.raises(GraphError, match="directed"):
        collaborative_filtering(af.Graph.from_edges([0], [1], columns={"weight": [1]}))
    with pytest.raises(GraphError, match="no edge column 'stars'"):
        collaborative_filtering(ratings()[0], weight="stars")
    with pytest.raises(UsageError, match="grew without end"):
        collaborative_filtering(ratings()[0], rate=1.0, iterations=60)

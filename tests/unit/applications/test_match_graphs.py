"""Matching of graphs: planted matchings, scipy's, the assignment problem inside, and properties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment, quadratic_assignment
from scipy.sparse import csr_array

import arcflux as af
from arcflux.applications.match_graphs import _Search
from arcflux.engine.launch import launch
from arcflux.errors import UsageError, WeightError

NOTHING = csr_array((1, 1))


def assigned(values: np.ndarray) -> np.ndarray:
    sparse = csr_array(values)
    graph = af.load("path:2")
    return launch(graph, {}, lambda worker: _Search(worker, sparse, sparse, NOTHING).assigned(sparse)).answer


@given(st.integers(1, 25), st.integers(0, 9), st.floats(0, 1), st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_the_auction_finds_the_best_assignment(n: int, most: int, density: float, seed: int) -> None:
    draw = np.random.default_rng(seed)
    values = draw.integers(0, most + 1, (n, n)) * (draw.random((n, n)) < density)
    mate = assigned(values.astype(float))
    assert sorted(mate) == list(range(n))
    best = values[linear_sum_assignment(values, maximize=True)].sum()
    assert values[np.arange(n), mate].sum() == best


@pytest.mark.parametrize(("rho", "seeds"), [(1.0, 10), (0.9, 10), (0.7, 20)])
@pytest.mark.parametrize("start", ["sparse", "barycenter"])
def test_correlated_graphs_are_matched(rho: float, seeds: int, start: str) -> None:
    a, b = af.generate.correlated_pair(150, 0.1, rho, seed=4)
    order = np.random.default_rng(3).permutation(150)
    source, target, _ = b.edge_numbers()
    moved = af.Graph.from_edges(order[source], order[target], vertices=150, directed=False)
    found = af.match_graphs(a, moved, {v: int(order[v]) for v in range(seeds)}, start=start)
    assert (found["match"] == order).mean() > 0.97
    assert found.validate()
    if rho == 1.0:
        assert found.disagreements == 0


def test_it_is_as_good_as_scipy_s() -> None:
    a, b = af.generate.correlated_pair(60, 0.2, 0.8, seed=9)
    known = np.arange(8)
    ours = af.match_graphs(a, b, list(zip(known.tolist(), known.tolist(), strict=True)), start="barycenter")
    theirs = quadratic_assignment(
        a.to_scipy().toarray(), b.to_scipy().toarray(),
        options={"maximize": True, "partial_match": np.stack([known, known], 1), "rng": np.random.default_rng(1)},
    )  # fmt: skip
    assert ours.score >= theirs.fun


def test_directed_graphs_and_weights() -> None:
    draw = np.random.default_rng(1)
    ends, weight = draw.integers(0, 40, (2, 300)), draw.integers(1, 9, 300)
    order = draw.permutation(40)
    a = af.Graph.from_edges(*ends, vertices=40, columns={"weight": weight})
    b = af.Graph.from_edges(*order[ends], vertices=40, columns={"weight": weight})
    found = af.match_graphs(a, b, {v: int(order[v]) for v in range(5)})
    assert (found["match"] == order).all()
    assert found.disagreements == 0
    heavy = [g.with_columns({"weight": g.columns["weight"] * 4}) for g in (a, b)]
    again = af.match_graphs(*heavy, {v: int(order[v]) for v in range(5)})
    assert (again["match"] == order).all()
    assert again.score == 16 * found.score


def test_the_same_on_any_number_of_workers() -> None:
    a, b = af.generate.correlated_pair(80, 0.15, 0.8)
    seeds = "0:0,1:1,2:2,3:3,4:4,5:5"
    alone = af.match_graphs(a, b, seeds, threads=1)["match"]
    for where in ({"threads": 3}, {"parts": 2}, {"parts": 2, "ranks_per_node": 1}):
        assert (af.match_graphs(a, b, seeds, **where)["match"] == alone).all(), where


def test_nothing_to_do_and_nothing_known() -> None:
    path = af.load("path:3")
    assert af.match_graphs(path, path, [(0, 2), (1, 1), (2, 0)])["match"].tolist() == [2, 1, 0]
    assert af.match_graphs("star:5", "star:5", start="barycenter")["match"][0] == 0
    assert af.match_graphs("path:0", "path:0").score == 0


@pytest.mark.parametrize("weight", [2.0**40, 1e100, 1e-100])
def test_auctions_of_weights_of_any_size_end(weight: float) -> None:
    a, b = af.generate.correlated_pair(40, p=0.15, rho=1.0)
    heavy = [one.with_columns({"weight": [weight] * one.arcs}) for one in (a, b)]
    assert af.match_graphs(*heavy, [(v, v) for v in range(10)])["match"].tolist() == list(range(40))


def test_bad_input_is_refused() -> None:
    path = af.load("path:3")
    for arguments, match in (
        (("path:4", [(0, 0)]), "3 and 4 vertices"),
        ((path,), "no seeds"),
        ((path, [(0, 0), (0, 1)]), "several seeds"),
        ((path, "0-1"), "seeds is"),
        ((path, [0, 1]), "seeds is"),
    ):
        with pytest.raises(UsageError, match=match):
            af.match_graphs(path, *arguments)
    with pytest.raises(Exception, match="7"):
        af.match_graphs(path, path, [(7, 0)])
    for tol in (-1.0, float("nan"), float("inf")):
        with pytest.raises(UsageError, match="tol is"):
            af.match_graphs(path, path, [(0, 0)], tol=tol)
    for weight in (1e200, 1e-200):
        other = path.with_columns({"weight": [weight] * path.arcs})
        with pytest.raises(WeightError, match="products of two are added up"):
            af.match_graphs(other, other, [(0, 0)])
    with pytest.raises(UsageError, match="start is"):
        af.match_graphs(path, path, start="random")
    with pytest.raises(WeightError):
        af.match_graphs(path, path, [(0, 0)], weight="length")


def test_the_validator_notices() -> None:
    path = af.load("path:4")
    assert not af.validate.graph_matching(path, path, [0, 0, 1, 2], 0)["partners"].passed
    assert not af.validate.graph_matching(path, path, [3, 2, 1, 0], 0, seeds=[(0, 0)])["seeds"].passed
    assert not af.validate.graph_matching(path, path, [1, 0, 2, 3], 0)["disagreements"].passed

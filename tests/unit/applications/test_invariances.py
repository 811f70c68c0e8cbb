"""What makes no difference: how vertices are numbered, and by what all weights are multiplied."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import arcflux as af
from arcflux.applications.graphsage import random_weights

FEATURES = np.random.default_rng(1).normal(size=(64, 4))
PLACES = np.where(np.arange(64)[:, None] % 4, np.nan, np.random.default_rng(2).uniform(-60, 60, (64, 2)))
SAGE = random_weights(4, 5, 5)
SEEDS = [7, 20]


def graph_of(order: np.ndarray, times: float = 1.0) -> af.Graph:
    """A graph of 64 vertices with other numbers, and its weights times a number."""
    graph = af.load("urand:n=64,m=300,weights=1-99,seed=4")
    source, target, places = graph.edge_numbers()
    weight = graph.columns["weight"][places].astype(np.float64) * times + 0.5 * times * (places % 7)
    columns = {"weight": weight, "capacity": graph.columns["weight"][places]}
    return af.Graph.from_edges(order[source], order[target], vertices=64, directed=False, columns=columns)


def clusters(graph: af.Graph, order: np.ndarray, rho: float = 1e-4, **how: object) -> np.ndarray:
    found = af.local_clustering(graph, order[SEEDS].tolist(), rho=rho, **how)
    return np.stack([found.scores_of(k) for k in range(2)], 1)


CALLS: dict[str, Callable[[af.Graph, np.ndarray], np.ndarray]] = {
    "scan_statistics": lambda g, _: af.scan_statistics(g)["statistic"],
    "wedges": lambda g, _: af.scan_statistics(g, method="wedges")["statistic"],
    "vertex_nomination": lambda g, order: af.vertex_nomination(g, order[SEEDS].tolist())["distance"],
    "geolocate": lambda g, order: unit(af.geolocate(g, PLACES[np.argsort(order)])),
    "graphsage": lambda g, order: af.graphsage(g, FEATURES[np.argsort(order)], SAGE, children=None)["embedding"],
    "push": lambda g, order: clusters(g, order, 1e-12),
    "fista": lambda g, order: clusters(g, order, method="fista", tol=1e-12),
    "fused_lasso": lambda g, order: af.fused_lasso(g, FEATURES[np.argsort(order), 0], 0.01)["signal"],
    "classify": lambda g, order: af.classify(
        g, "cycle:4,weights=1-9", FEATURES[np.argsort(order)], FEATURES[:4], edges=["weight"]
    )["log_probability"],
    "minimum_cut": lambda g, order: af.minimum_cut(g, *order[SEEDS].tolist())["side"],
}


def unit(found: af.Result) -> np.ndarray:
    """Places as points of a sphere, of which none is at an edge."""
    up, across = np.radians(found["latitude"]), np.radians(found["longitude"])
    return np.stack([np.cos(up) * np.cos(across), np.cos(up) * np.sin(across), np.sin(up)], 1)


@pytest.mark.parametrize("name", CALLS)
def test_numbering(name: str) -> None:
    plain, order = np.arange(64), np.random.default_rng(3).permutation(64)
    one, other = CALLS[name](graph_of(plain), plain), CALLS[name](graph_of(order), order)
    assert np.ptp(np.nan_to_num(one)) > 0
    assert other[order] == pytest.approx(one, abs=1e-5 if name == "graphsage" else 1e-7, nan_ok=True)


def test_numbering_of_both_graphs_that_are_matched() -> None:
    a, b = af.generate.correlated_pair(80, p=0.15, rho=0.95)
    order = np.random.default_rng(1).permutation(80)
    moved = af.Graph.from_edges(*(order[ends] for ends in b.edge_numbers()[:2]), vertices=80, directed=False)
    found = af.match_graphs(a, moved, [(v, int(order[v])) for v in range(8)])
    assert found["match"].tolist() == order.tolist()


@pytest.mark.parametrize("find", [af.louvain, af.leiden])
def test_numbering_and_weights_of_communities(find) -> None:
    graph = af.load("planted:5x30,in=0.5,out=0.01")
    source, target, _ = graph.edge_numbers()
    order = np.random.default_rng(2).permutation(150)
    columns = {"weight": np.full(len(source), 1 / 3)}
    moved = af.Graph.from_edges(order[source], order[target], directed=False, columns=columns, vertices=150)
    one, other = find(graph, weight=None), find(moved)
    assert other.modularity == pytest.approx(one.modularity, abs=1e-12)
    assert {frozenset(order[list(some)].tolist()) for some in one.sets()} == {frozenset(some) for some in other.sets()}


@pytest.mark.parametrize("times", [3.0, 0.1, 2.0**40])
def test_weights_times_a_number(times: float) -> None:
    plain = np.arange(64)
    one, other = graph_of(plain), graph_of(plain, times)
    near, far = (af.vertex_nomination(g, SEEDS)["distance"] for g in (one, other))
    assert far == pytest.approx(times * near)
    for rho, how in ((1e-12, {}), (1e-4, {"method": "fista", "tol": 1e-12 / times**0.5})):  # both hold rho * degree
        scores = [clusters(g, plain, rho / t, **how) for g, t in ((one, 1.0), (other, times))]
        assert scores[1] == pytest.approx(scores[0], abs=1e-7)
    signal = FEATURES[:, 0]
    flat = [af.fused_lasso(g, signal, 0.01 / t)["signal"] for g, t in ((one, 1.0), (other, times))]
    assert flat[1] == pytest.approx(flat[0], abs=1e-9)
    shared = [af.project(g, method="product").projection.columns["weight"] for g in (one, other)]
    assert shared[1] == pytest.approx(times**2 * shared[0])
    same = af.match_graphs(other, other, [(v, v) for v in range(12)], start="sparse")
    assert (same["match"] == af.match_graphs(one, one, [(v, v) for v in range(12)])["match"]).all()
    if times == 2.0**40:
        steps = [af.random_walks(g, walk_length=9, p=0.5, q=2.0).walks for g in (one, other)]
        assert (steps[0] == steps[1]).all()

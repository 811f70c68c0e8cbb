"""Projections against scipy, NetworkX, known answers, and properties."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import arcflux as af
from arcflux.errors import SpaceError, UsageError, WeightError
from arcflux.spmd import space

METHODS = ("count", "product", "jaccard", "overlap", "newman")


def pairs(graph: af.Graph) -> dict[tuple[int, int], float]:
    source, target, places = graph.edge_numbers()
    return dict(
        zip(zip(source.tolist(), target.tolist(), strict=True), graph.columns["weight"][places].tolist(), strict=True)
    )


@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_it_is_the_product_of_matrices(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 15))
    ends = st.integers(0, n - 1)
    edges = data.draw(st.lists(st.tuples(ends, ends, st.integers(0, 5)), min_size=1, max_size=60))
    source, target, weight = map(list, zip(*edges, strict=True))
    directed = data.draw(st.booleans())
    graph = af.Graph.from_edges(source, target, vertices=n, directed=directed, columns={"weight": weight})
    method, onto = data.draw(st.sampled_from(METHODS)), data.draw(st.sampled_from(["targets", "sources"]))
    chosen = data.draw(st.none() | st.lists(ends, min_size=1))
    found = af.project(graph, onto, method, vertices=chosen)
    assert found.validate().ok, found.validate()
    assert found.projection.sorted


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("count", nx.bipartite.weighted_projected_graph),
        ("newman", nx.bipartite.collaboration_weighted_projected_graph),
        ("jaccard", lambda g, nodes: nx.bipartite.overlap_weighted_projected_graph(g, nodes, jaccard=True)),
        ("overlap", lambda g, nodes: nx.bipartite.overlap_weighted_projected_graph(g, nodes, jaccard=False)),
    ],
)
def test_it_is_networkx_s_of_a_bipartite_graph(method, expected) -> None:
    graph = nx.bipartite.random_graph(25, 30, 0.15, seed=3)
    theirs = expected(graph, list(range(25)))
    ours = pairs(af.project(graph, method=method, vertices=range(25)).projection)
    known = {(min(u, v), max(u, v)): w for u, v, w in theirs.edges(data="weight")}
    assert ours.keys() == known.keys()
    assert all(ours[pair] == pytest.approx(known[pair]) for pair in known)


def test_a_star_becomes_a_complete_graph_and_weights_sum_to_pairs() -> None:
    assert pairs(af.project("star:6").projection) == {(u, v): 1 for u in range(1, 6) for v in range(u + 1, 6)}
    graph = af.load("kron:8")
    degrees = graph.out_degrees.astype(np.int64)
    assert af.project(graph).projection.columns["weight"].sum() == (degrees * (degrees - 1)).sum()


@pytest.mark.parametrize("method", METHODS)
def test_the_same_on_any_number_of_workers(method: str) -> None:
    graph = af.load("rmat:8,weights=1-9")
    alone = af.project(graph, "sources", method, threads=1)
    for where in ({"threads": 3}, {"parts": 2}, {"parts": 3, "ranks_per_node": 1}):
        other = af.project(graph, "sources", method, **where)
        assert other.projection.equals(alone.projection), where
    assert other.sent["rows"] > 0


def test_relabelling_changes_nothing() -> None:
    graph = af.load("ratings:40x30,per=5")
    order = np.random.default_rng(0).permutation(70)
    source, target, _ = graph.edge_numbers()
    other = af.Graph.from_edges(order[source], order[target], vertices=70, directed=False)
    back = np.argsort(order)
    found = {tuple(sorted((back[u], back[v]))): w for (u, v), w in pairs(af.project(other).projection).items()}
    assert found == pairs(af.project(graph).projection)


def test_what_does_not_fit_is_refused_before_it_is_begun(monkeypatch) -> None:
    graph = af.load("star:2000")
    af.project(graph)
    monkeypatch.setattr(space, "available", lambda: 1 << 20)
    with pytest.raises(SpaceError, match="1,997,001 edges"):
        af.project(graph)


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(UsageError, match="onto is"):
        af.project("path:3", "both")
    with pytest.raises(UsageError, match="method is"):
        af.project("path:3", method="cosine")
    with pytest.raises(WeightError):
        af.project("path:3", method="product", weight="length")
    with pytest.raises(Exception, match="99"):
        af.project("path:3", vertices=[99])
    negative = af.Graph.from_edges([0, 0], [1, 2], columns={"weight": [-1, 2]})
    with pytest.raises(WeightError, match="-1"):
        af.project(negative, method="product")
    with pytest.raises(WeightError, match="products of two may sum to infinity"):
        af.project(negative.with_columns({"weight": [1e200, 1.0]}), method="product")

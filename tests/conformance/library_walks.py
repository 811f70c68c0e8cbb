"""The second half of the table: centralities, communities, matchings, flows, walks and embeddings."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import comb
from typing import Any

import networkx as nx
import numpy as np
from library_model import Model, Refused
from library_table import Drawn, Rng, case, holds, same, undirected

import arcflux as af
import oracles

# --- degrees


@case
def density(m: Model, rng: Rng) -> Drawn:
    return {}, len(m.edges) / (m.n * (m.n - 1) / (1 if m.directed else 2)) if m.n > 1 else 0.0


@case
def degree_centrality(m: Model, rng: Rng) -> Drawn:
    ends = ["both", "in", "out"][rng.integers(3)]
    out, into = (np.bincount([edge[k] for edge in m.edges], minlength=m.n) for k in (0, 1))
    degree = {"both": out + into, "in": into, "out": out}[ends] if m.directed else out + into
    return {"ends": ends}, {"centrality": degree / (m.n - 1) if m.n > 1 else np.ones(m.n)}


@case
def reciprocity(m: Model, rng: Rng) -> Drawn:
    if not m.directed or not m.edges:
        raise Refused
    links = {(u, v) for u, v, _ in m.edges}
    return {}, sum((v, u) in links and u != v for u, v in links) / max(1, len(links))


@case
def degree_assortativity_coefficient(m: Model, rng: Rng) -> Drawn:
    x, y = (["in", "out"][k] for k in rng.integers(0, 2, 2))
    out, into = (np.bincount([edge[k] for edge in m.edges], minlength=m.n) for k in (0, 1))
    if m.directed:
        first, second = ({"in": into, "out": out}[k] for k in (x, y))
        pairs = np.array([(first[u], second[v]) for u, v, _ in m.edges], float).reshape(-1, 2)
    else:
        degree = out + into
        pairs = np.array([(degree[u], degree[v]) for u, v, _ in m.arcs], float).reshape(-1, 2)
    flat = len(pairs) == 0 or np.ptp(pairs, axis=0).min() == 0
    return {"x": x, "y": y}, np.nan if flat else np.corrcoef(pairs.T)[0, 1]


# --- centralities that are vectors


@case
def pagerank(m: Model, rng: Rng) -> Drawn:
    weight, alpha = m.weight(rng), float(rng.choice([0.5, 0.85]))
    share = {v: float(rng.integers(1, 4)) for v in m.some(rng)} if m.n and rng.integers(2) else None
    given: dict[str, Any] = {"alpha": alpha, "weight": weight, "tol": 1e-13, "max_iter": 2000}
    given |= {"dangling": ["redistribute", "drop"][rng.integers(2)], "eager": bool(rng.integers(4) == 0)}
    if share is not None:
        given["personalization"] = {m.ids[v]: value for v, value in share.items()}
    rank = oracles.pagerank(m.n, m.arcs, alpha, 1e-15, 250, given["dangling"], share, bool(weight) and m.weighted)
    return given, {"rank": rank} if m.n else {"rank": []}


@case
def pagerank_delta(m: Model, rng: Rng) -> Drawn:
    rank = oracles.pagerank(m.n, m.arcs, 0.85, 1e-15, 250, "drop")
    return {"tol": 1e-14}, lambda found: np.testing.assert_allclose(found["rank"], rank, atol=1e-9)


@case
def katz_centrality(m: Model, rng: Rng) -> Drawn:
    weight = m.weight(rng)
    table = m.weights(weight)
    radius = np.abs(np.linalg.eigvals(table)).max(initial=0.0)
    alpha, normalized = 0.5 / max(radius, 1.0), bool(rng.integers(2))
    known = np.linalg.solve(np.eye(m.n) - alpha * table.T, np.ones(m.n))
    given = {"alpha": alpha, "weight": weight, "normalized": normalized, "tol": 1e-13}
    return given, {"centrality": known / np.linalg.norm(known) if normalized and m.n else known}


@case
def eigenvector_centrality(m: Model, rng: Rng) -> Drawn:
    weight = m.weight(rng)
    table = m.weights(weight)

    def check(found: Any) -> None:
        x = found["centrality"]
        if found.converged and m.n:
            moved = x + table.T @ x
            np.testing.assert_allclose(moved / np.linalg.norm(moved), x, atol=1e-6)

    return {"weight": weight, "tol": 1e-9, "max_iter": 300}, check


@case
def hits(m: Model, rng: Rng) -> Drawn:
    def check(found: Any) -> None:
        hub, authority = found["hub"], found["authority"]
        if found.converged and m.edges:
            np.testing.assert_allclose([hub.sum(), authority.sum()], 1)
            lead = m.count @ authority
            np.testing.assert_allclose(lead / lead.sum(), hub, atol=1e-5)

    return {"max_iter": 1000, "tol": 1e-10}, check


@case
def voterank(m: Model, rng: Rng) -> Drawn:
    turns, links = int(rng.integers(1, m.n + 2)), m.count.astype(int)

    def check(found: list[Any]) -> None:
        """Each that is elected has the most votes of those left, to rounding; and votes are over at the end."""
        order = [m.number(ident) for ident in found]
        assert len(set(order)) == len(order) <= turns
        mean = Fraction(len(m.edges) * (1 if m.directed else 2), max(1, m.n))
        ability = [Fraction(1)] * m.n
        for k in range(turns):
            votes = [sum((int(links[v, u]) * ability[u] for u in range(m.n)), Fraction(0)) for v in range(m.n)]
            left = [votes[v] for v in range(m.n) if v not in order[:k]]
            best = max(left, default=Fraction(0))
            if k >= len(order):
                assert best < 1e-9
                return
            assert votes[order[k]] > best - Fraction(1, 10**9)
            ability[order[k]] = Fraction(0)
            for u in range(m.n):
                if links[order[k], u]:
                    ability[u] = max(Fraction(0), ability[u] - int(links[order[k], u]) / mean)

    return {"number_of_nodes": turns}, check


# --- communities


@case
def label_propagation(m: Model, rng: Rng) -> Drawn:
    rounds = int(rng.integers(1, 8))
    label = oracles.label_propagation(m.n, m.edges, rounds, m.directed)
    return {"max_iter": rounds}, lambda found: same(found["label"].tolist(), [m.ids[v] for v in label])


def labelled(m: Model, rng: Rng) -> tuple[Any, str | None, Any]:
    weight = m.weight(rng)
    return rng.integers(0, 3, m.n), weight, m.strengths(weight)


@case
def modularity(m: Model, rng: Rng) -> Drawn:
    label, weight, table = labelled(m, rng)
    resolution = float(rng.choice([0.5, 1.0, 2.0]))
    return {"community": label, "weight": weight, "resolution": resolution}, quality(table, label, resolution)


def quality(table: Any, label: Any, resolution: float = 1.0) -> float:
    whole = table.sum()
    parts = [label == k for k in np.unique(label)]
    return (
        sum(table[p][:, p].sum() / whole - resolution * (table[p].sum() / whole) ** 2 for p in parts) if whole else 0.0
    )


@case
def coverage(m: Model, rng: Rng) -> Drawn:
    label, weight, table = labelled(m, rng)
    within = table[label[:, None] == label[None, :]].sum()
    return {"community": label, "weight": weight}, within / table.sum() if table.sum() else 0.0


@case
def conductance(m: Model, rng: Rng) -> Drawn:
    label, weight, table = labelled(m, rng)
    known = {}
    for k in np.unique(label):
        inside = label == k
        least = min(table[inside].sum(), table[~inside].sum())
        known[int(k)] = table[inside][:, ~inside].sum() / least if least else np.nan

    def check(found: dict[Any, float]) -> None:
        assert list(found) == list(known)
        np.testing.assert_allclose(list(found.values()), list(known.values()))

    return {"community": label, "weight": weight}, check


def communities(name: str) -> None:
    def drawn(m: Model, rng: Rng) -> Drawn:
        weight = m.weight(rng)
        table = m.strengths(weight)

        def check(found: Any) -> None:
            label = found["community"]
            assert np.isclose(found.modularity, quality(table, label))
            assert found.modularity >= quality(table, np.arange(m.n)) - 1e-9
            holds(found)
            if name == "leiden":
                inside = [(u, v) for u, v, w in m.edges if label[u] == label[v] and (w > 0 or table[u, v] > 0)]
                groups = oracles.components(m.n, inside)
                assert len(set(groups)) == len(set(label.tolist()))

        return {"weight": weight, "seed": int(rng.integers(9))}, check

    case(drawn, name)


communities("louvain")
communities("leiden")


def two_divisions(name: str) -> None:
    def drawn(m: Model, rng: Rng) -> Drawn:
        one, other = rng.integers(0, 3, m.n), rng.integers(0, 4, m.n)
        table = np.array([[np.sum((one == a) & (other == b)) for b in range(4)] for a in range(3)])
        return {"one": one, "other": other}, (rand if name == "adjusted_rand_index" else information)(table)

    case(drawn, name)


def rand(table: Any) -> float:
    both, rows, columns = (sum(comb(int(k), 2) for k in part.ravel()) for part in
                           (table, table.sum(axis=1), table.sum(axis=0)))  # fmt: skip
    pairs = comb(int(table.sum()), 2)
    expected = rows * columns / pairs if pairs else 0.0
    return 1.0 if (rows + columns) / 2 == expected else (both - expected) / ((rows + columns) / 2 - expected)


def information(table: Any) -> float:
    def entropy(part: Any) -> float:
        share = part[part > 0] / max(1, part.sum())
        return float(-(share * np.log(share)).sum())

    one, other, joint = entropy(table.sum(axis=1)), entropy(table.sum(axis=0)), entropy(table.ravel())
    return 2 * (one + other - joint) / (one + other) if one + other > 0 else 1.0


two_divisions("adjusted_rand_index")
two_divisions("normalized_mutual_information")


@case
def local_clustering(m: Model, rng: Rng) -> Drawn:
    some, weight, method = m.some(rng), m.weight(rng), ["push", "fista"][rng.integers(2)]
    given = {"seeds": m.named(some), "weight": weight, "method": method, "rho": 1e-3}
    if m.directed:
        raise Refused(given)
    return given, holds


# --- sets, colours, matchings


@case
def greedy_color(m: Model, rng: Rng) -> Drawn:
    def check(found: Any) -> None:
        color = found["color"]
        assert all(color[u] != color[v] for u, v, _ in m.edges if u != v)
        assert all(color[v] <= m.both[v].sum() for v in range(m.n))
        if strategy == "largest_first" and not m.directed:
            assert dict(enumerate(color.tolist())) == nx.greedy_color(m.multi, strategy)

    strategy = ["largest_first", "random_sequential"][rng.integers(2)]
    return {"strategy": strategy, "seed": int(rng.integers(9))}, check


@case
def maximal_independent_set(m: Model, rng: Rng) -> Drawn:
    undirected(m)

    def check(found: Any) -> None:
        inside = found["inside"]
        assert not any(inside[u] and inside[v] for u, v in m.simple.edges)
        assert all(inside[v] or any(inside[u] for u in m.simple[v]) for v in range(m.n))

    return {"seed": int(rng.integers(99))}, check


def mates(m: Model, found: Any) -> set[tuple[int, int]]:
    mate = found.numbers("mate").tolist()
    assert all(u < 0 or (mate[u] == v and m.both[u, v]) for v, u in enumerate(mate))
    return {(v, u) for v, u in enumerate(mate) if u > v}


@case
def maximal_matching(m: Model, rng: Rng) -> Drawn:
    undirected(m)
    return {"seed": int(rng.integers(99))}, lambda found: same(nx.is_maximal_matching(m.simple, mates(m, found)), True)


@case
def maximum_bipartite_matching(m: Model, rng: Rng) -> Drawn:
    there = nx.Graph(m.simple)
    if m.loops or not nx.is_bipartite(there):
        raise Refused
    size = len(nx.max_weight_matching(there, maxcardinality=True))
    return {}, lambda found: same(len(mates(m, found)), size)


@case
def match_graphs(m: Model, rng: Rng) -> Drawn:
    seeds = [(ident, ident) for ident in m.ids]

    def check(found: Any) -> None:
        assert sorted(found.numbers("match").tolist()) == list(range(m.n))
        assert found.numbers("match").tolist() == list(range(m.n))

    return {"other": m.graph, "seeds": seeds}, check


# --- flows


def flow(name: str) -> None:
    def drawn(m: Model, rng: Rng) -> Drawn:
        s, t = m.one(rng), m.one(rng)
        if s == t:
            raise Refused({"source": m.ids[s], "sink": m.ids[t], "capacity": None})
        capacity = m.weight(rng) if m.weighted else None
        there = nx.DiGraph()
        there.add_nodes_from(range(m.n))
        table = m.weights(capacity)
        there.add_edges_from((u, v, {"capacity": table[u, v]}) for u, v in zip(*np.nonzero(m.near), strict=True))
        value = nx.maximum_flow_value(there, s, t)

        def check(found: Any) -> None:
            assert np.isclose(found.value, value)
            side = found["side"].astype(bool)
            assert side[s]
            assert not side[t]
            assert np.isclose(table[side][:, ~side].sum(), value)
            holds(found)

        given = {"source": m.ids[s], "sink": m.ids[t], "capacity": capacity}
        return {**given, "method": ["highest", "rounds"][rng.integers(2)]}, check

    case(drawn, name)


flow("maximum_flow")
flow("minimum_cut")


@case
def fused_lasso(m: Model, rng: Rng) -> Drawn:
    y, penalty, l1, weight = (
        rng.normal(0, 3, m.n),
        float(rng.choice([0, 0.5, 9])),
        float(rng.choice([0, 1])),
        m.weight(rng),
    )
    table = np.triu(m.strengths(weight), 1)

    def price(x: Any) -> float:
        jumps = (table * np.abs(x[:, None] - x[None, :])).sum()
        return float(((x - y) ** 2).sum() / 2 + penalty * jumps + l1 * np.abs(x).sum())

    def check(found: Any) -> None:
        x = found["signal"]
        least = price(x)
        assert np.isclose(least, found.objective)
        for step in (1e-4, 1e-2, 1.0):  # it is convex: what is least nearby is least
            moves = [np.eye(m.n)[v] for v in range(m.n)] + [(x == value).astype(float) for value in set(x.tolist())]
            moves += [rng.normal(size=m.n) for _ in range(5)]
            assert all(price(x + sign * step * move) > least - 1e-9 for move in moves for sign in (1, -1))

    return {"signal": y, "penalty": penalty, "l1": l1, "weight": weight}, check


# --- walks and embeddings


def follows(m: Model, rows: Any, allowed: Any) -> None:
    for row in rows.tolist():
        walk = [v for v in row if v >= 0]
        assert row == walk + [-1] * (len(row) - len(walk))
        assert all(allowed[u, v] > 0 for u, v in itertools.pairwise(walk))
        assert len(walk) == len(row) or not allowed[walk[-1]].any()


@case
def random_walks(m: Model, rng: Rng) -> Drawn:
    some, weight = m.some(rng), m.weight(rng)
    given = {
        "starts": m.named(some),
        "walk_length": int(rng.integers(1, 7)),
        "weight": weight,
        "seed": int(rng.integers(9)),
    }
    given |= {"p": float(rng.choice([0.5, 1])), "q": float(rng.choice([1, 2])), "distributed": bool(rng.integers(2))}

    def check(found: Any) -> None:
        rows = found.numbers_of_walks
        follows(m, rows, m.weights(weight))
        assert rows[:, 0].tolist() == some
        assert found["visits"].tolist() == np.bincount(rows[rows >= 0], minlength=m.n).tolist()

    return given, check


@case
def graph_search(m: Model, rng: Rng) -> Drawn:
    some, scores = m.some(rng), rng.random(m.n)

    def check(found: Any) -> None:
        for row in found.numbers_of_walks.tolist():
            walk = [v for v in row if v >= 0]
            assert all(m.count[u, v] > 0 for u, v in itertools.pairwise(walk))

    return {"scores": scores, "starts": m.named(some), "walk_length": 4}, check


def vectors(name: str, **given: Any) -> None:
    def drawn(m: Model, rng: Rng) -> Drawn:
        def check(found: Any) -> None:
            rows = found["embedding"]
            assert rows.shape[0] == m.n
            assert np.isfinite(rows).all()
            if name == "fast_random_projection":
                assert not rows[m.both.sum(axis=1) == 0].any() or m.loops

        return {**given, "seed": int(rng.integers(9))}, check

    case(drawn, name)


for name in ("node2vec", "deepwalk"):
    vectors(name, dimensions=3, walk_length=4, walks_per_vertex=2, window=2)
vectors("fast_random_projection", dimension=8)


@case
def graphsage(m: Model, rng: Rng) -> Drawn:
    features, weights = rng.normal(size=(m.n, 3)), [rng.normal(size=(3, 2)), rng.normal(size=(3, 2)),
                                                    rng.normal(size=(4, 2)), rng.normal(size=(4, 2))]  # fmt: skip
    walk = m.count + np.diag((m.count.sum(axis=1) == 0).astype(float))
    walk /= walk.sum(axis=1, keepdims=True)

    def layer(x: Any, own: Any, near: Any) -> Any:
        made = np.maximum(np.concatenate([x @ own, walk @ x @ near], axis=1), 0)
        length = np.linalg.norm(made, axis=1, keepdims=True)
        return np.divide(made, length, out=np.zeros_like(made), where=length > 0)

    known = layer(layer(features, *weights[:2]), *weights[2:])
    given = {"features": features, "weights": weights, "children": None}
    return given, lambda found: np.testing.assert_allclose(found["embedding"], known, atol=1e-5)


@case
def geolocate(m: Model, rng: Rng) -> Drawn:
    places = np.where(rng.random((m.n, 1)) < 0.4, rng.uniform(-60, 60, (m.n, 2)), np.nan)
    known = ~np.isnan(places[:, 0])
    label = np.array(oracles.components(m.n, m.edges), int)

    def check(found: Any) -> None:
        holds(found)
        np.testing.assert_allclose(np.stack([found["latitude"], found["longitude"]], 1)[known], places[known])
        reached = [known[label == label[v]].any() for v in range(m.n)]
        assert (~np.isnan(found["latitude"])).tolist() == reached

    return {"locations": places}, check


@case
def classify(m: Model, rng: Rng) -> Drawn:
    pattern = af.Graph.from_edges([0, 1], [1, 2], directed=m.directed)

    def check(found: Any) -> None:
        rows = found["log_probability"]
        assert rows.shape == (m.n, 3)
        np.testing.assert_allclose(np.exp(rows).sum(axis=0), 1, rtol=1e-6)

    if not m.n:
        raise Refused({"pattern": pattern})
    return {"pattern": pattern}, check

"""What every algorithm and application says of a small graph: by definition, by another library, or a property.

Each function is named like the public one; it draws arguments and returns them with what is expected: values by field,
a value, or a function that checks the result. An algorithm that refuses such a graph has `Refused`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice, pairwise
from math import inf, log, sqrt
from typing import Any

import networkx as nx
import numpy as np
from library_model import Model, Refused

import arcflux as af
import oracles

Drawn = tuple[dict[str, Any], Any]
Rng = np.random.Generator
TABLE: dict[str, Callable[[Model, Rng], Drawn]] = {}


def case(function: Callable[[Model, Rng], Drawn], name: str = "") -> Callable[[Model, Rng], Drawn]:
    TABLE[name or function.__name__] = function
    return function


def undirected(m: Model) -> None:
    if m.directed:
        raise Refused


def directed(m: Model) -> None:
    if not m.directed:
        raise Refused


def holds(result: Any) -> None:
    """Its own validator agrees, which shares no code with the algorithm."""
    result.validate().raise_for_failure()


# --- searches and paths


@case
def bfs(m: Model, rng: Rng) -> Drawn:
    s = m.one(rng)
    return {"source": m.ids[s]}, {"level": levels(m.distances()[s]), "parent": parents(m, [s], m.distances()[s], None)}


def levels(distance: Any) -> Any:
    return np.where(np.isfinite(distance), distance, -1)


def parents(m: Model, sources: list[int], distance: Any, weight: str | None) -> Callable[[Any], None]:
    """A check that each vertex's parent lies on a shortest path to it, and that parents lead back to a source."""

    def check(found: Any) -> None:
        lengths = m.lengths(weight)
        for v, u in enumerate(found.tolist()):
            if not np.isfinite(distance[v]):
                assert u == -1
            elif u == v or u == -1:
                assert v in sources
            else:
                assert np.isclose(distance[u] + lengths[u, v], distance[v], rtol=1e-12)
                seen = {v}
                while u not in sources:
                    assert u not in seen
                    seen.add(u)
                    u = int(found[u])

    return check


@case
def sssp(m: Model, rng: Rng) -> Drawn:
    s, weight = m.one(rng), m.weight(rng)
    d = m.distances(weight)[s]
    given = {"source": m.ids[s], "weight": weight, "delta": [None, 0.3, 2.0][rng.integers(3)]}
    return given, {"distance": d, "predecessor": parents(m, [s], d, weight)}


@case
def multi_source_sssp(m: Model, rng: Rng) -> Drawn:
    some, weight = m.some(rng), m.weight(rng)
    d = m.distances(weight)[some].min(axis=0)
    return {"sources": m.named(some), "weight": weight}, {"distance": d, "predecessor": parents(m, some, d, weight)}


@case
def vertex_nomination(m: Model, rng: Rng) -> Drawn:
    some, weight = m.some(rng), m.weight(rng)
    table = m.distances(weight)
    d = table[some].min(axis=0)

    def nearest(found: Any) -> None:
        for v, s in enumerate(found.tolist()):
            assert (s == -1) == (d[v] == inf)
            assert s == -1 or (s in some and np.isclose(table[s, v], d[v]))

    place = np.empty(m.n)
    place[np.lexsort((np.arange(m.n), d))] = np.arange(m.n)
    expected = {"distance": d, "nearest": nearest, "predecessor": parents(m, some, d, weight)}
    if not weight or not m.weighted or all(w == int(w) for _, _, w in m.edges):
        expected["rank"] = place  # else sums in another order may tie or not
    return {"seeds": m.named(some), "weight": weight}, expected


@case
def k_hop(m: Model, rng: Rng) -> Drawn:
    some, k = m.some(rng), int(rng.integers(4))
    d = m.distances()[some].min(axis=0)
    return {"sources": m.named(some), "k": k}, {"hops": np.where(d <= k, d, -1)}


@case
def ego_graph(m: Model, rng: Rng) -> Drawn:
    s, radius, center, both = m.one(rng), int(rng.integers(3)), bool(rng.integers(2)), bool(rng.integers(2))
    expected = nx.ego_graph(m.multi, s, radius, center, both)

    def check(found: af.Graph) -> None:
        assert {m.number(ident) for ident in found.ids.to_ids().tolist()} == set(expected)
        assert found.edges == expected.number_of_edges()

    return {"n": m.ids[s], "radius": radius, "center": center, "undirected": both}, check


def ends(m: Model, rng: Rng) -> tuple[int, int, str | None, dict[str, Any]]:
    s, t, weight = m.one(rng), m.one(rng), m.weight(rng)
    return s, t, weight, {"source": m.ids[s], "target": m.ids[t], "weight": weight}


def path_check(m: Model, s: int, t: int, weight: str | None) -> Callable[[Any], None]:
    d, lengths = m.distances(weight)[s, t], m.lengths(weight)
    if d == inf:
        raise Refused({"source": m.ids[s], "target": m.ids[t], "weight": weight})

    def check(found: list[Any]) -> None:
        path = [m.number(ident) for ident in found]
        assert (path[0], path[-1]) == (s, t)
        assert np.isclose(sum(lengths[u, v] for u, v in pairwise(path)), d)

    return check


@case
def shortest_path(m: Model, rng: Rng) -> Drawn:
    s, t, weight, given = ends(m, rng)
    return given, path_check(m, s, t, weight)


@case
def astar_path(m: Model, rng: Rng) -> Drawn:
    s, t, weight, given = ends(m, rng)
    check, left = path_check(m, s, t, weight), m.distances(weight)[:, t]
    estimate = {m.ids[v]: float(min(left[v], 99)) * float(rng.random()) for v in range(m.n)}
    return {**given, "heuristic": [None, estimate, lambda u, _: estimate[u]][rng.integers(3)]}, check


@case
def shortest_path_length(m: Model, rng: Rng) -> Drawn:
    s, t, weight, given = ends(m, rng)
    return given, m.distances(weight)[s, t]


@case
def has_path(m: Model, rng: Rng) -> Drawn:
    s, t, _, given = ends(m, rng)
    del given["weight"]
    return given, bool(np.isfinite(m.distances()[s, t]))


@case
def k_shortest_paths(m: Model, rng: Rng) -> Drawn:
    s, t, weight, given = ends(m, rng)
    k, lengths = int(rng.integers(0, 6)), m.lengths(weight)
    there = nx.from_numpy_array((lengths < inf).astype(int), create_using=nx.DiGraph)
    nx.set_edge_attributes(there, {(u, v): lengths[u, v] for u, v in there.edges}, "length")
    expected = [[s]][:k] if s == t else []
    if s != t and nx.has_path(there, s, t):
        expected = list(islice(nx.shortest_simple_paths(there, s, t, weight="length"), k))

    def check(found: list[list[Any]]) -> None:
        paths = [[m.number(ident) for ident in path] for path in found]
        assert len({tuple(path) for path in paths}) == len(paths)
        assert all(len(set(path)) == len(path) and (path[0], path[-1]) == (s, t) for path in paths)
        totals = [[sum(lengths[u, v] for u, v in pairwise(path)) for path in some] for some in (paths, expected)]
        np.testing.assert_allclose(totals[0], totals[1])

    return {**given, "k": k}, check


@case
def distance_matrix(m: Model, rng: Rng) -> Drawn:
    some, weight = m.some(rng), m.weight(rng)
    return {"sources": m.named(some), "weight": weight}, m.distances(weight)[some]


@case
def all_pairs_distances(m: Model, rng: Rng) -> Drawn:
    weight = m.weight(rng)

    def check(found: Any) -> None:
        blocks = list(found)
        assert [ident for ids, _ in blocks for ident in ids.tolist()] == m.ids
        np.testing.assert_allclose(np.concatenate([np.empty((0, m.n)), *(rows for _, rows in blocks)]), whole)

    whole = m.distances(weight)
    return {"weight": weight, "block": [None, 1, 3][rng.integers(3)]}, check


# --- distances of whole graphs


def far(m: Model) -> Any:
    return m.distances().max(axis=1, initial=0.0)


@case
def eccentricity(m: Model, rng: Rng) -> Drawn:
    return {}, {"eccentricity": far(m)}


def of_the_whole(name: str, value: Callable[[Any], float]) -> None:
    def drawn(m: Model, rng: Rng) -> Drawn:
        if not m.n:
            raise Refused
        found = value(far(m))
        return {}, found if name in ("diameter", "radius") else [m.ids[v] for v in np.flatnonzero(far(m) == found)]

    case(drawn, name)


for name in ("diameter", "periphery"):
    of_the_whole(name, lambda values: values.max())
for name in ("radius", "center"):
    of_the_whole(name, lambda values: values.min())


@case
def average_shortest_path_length(m: Model, rng: Rng) -> Drawn:
    weight = m.weight(rng)
    if not m.n:
        raise Refused
    return {"weight": weight}, m.distances(weight).sum() / max(1, m.n * (m.n - 1))


def closeness(m: Model) -> tuple[Any, Any, Any]:
    d = m.distances()
    met = np.isfinite(d) & ~np.eye(m.n, dtype=bool)
    return (
        met.sum(axis=0),
        np.where(met, d, 0).sum(axis=0),
        np.divide(1, d, out=np.zeros_like(d), where=met).sum(axis=0),
    )


@case
def closeness_centrality(m: Model, rng: Rng) -> Drawn:
    (reached, total, _), improved = closeness(m), bool(rng.integers(2))
    plain = np.divide(reached, total, out=np.zeros(m.n), where=total > 0)
    return {"wf_improved": improved}, {"centrality": plain * reached / max(1, m.n - 1) if improved else plain}


@case
def harmonic_centrality(m: Model, rng: Rng) -> Drawn:
    return {}, {"centrality": closeness(m)[2]}


@case
def approximate_closeness(m: Model, rng: Rng) -> Drawn:
    reached, _, _ = closeness(m)

    def check(found: Any) -> None:
        for field in ("centrality", "harmonic", "reached"):  # few vertices may share a register
            assert not (found[field] > 0)[reached == 0].any()
        assert (found["reached"] < 3 * reached + 1).all()

    return {"seed": int(rng.integers(99))}, check


@case
def betweenness_centrality(m: Model, rng: Rng) -> Drawn:
    given = {"normalized": bool(rng.integers(2)), "endpoints": bool(rng.integers(2))}
    known = nx.betweenness_centrality(m.simple, **given) if m.n else {}
    return given, {"centrality": [known[v] for v in range(m.n)]}


@case
def edge_betweenness_centrality(m: Model, rng: Rng) -> Drawn:
    normalized, d = bool(rng.integers(2)), m.distances()
    count = np.where(np.eye(m.n, dtype=bool), 0, m.count)
    paths = np.eye(m.n)
    for step in range(1, m.n):
        paths = np.where(d == step, np.where(d == step - 1, paths, 0) @ count, paths)
    scale = (1 / (m.n * (m.n - 1)) if m.n > 1 else 1.0) if normalized else 1.0
    scale *= 1.0 if m.directed else 2.0 if normalized else 1.0

    def share(u: int, v: int) -> float:
        both = [(u, v)] if m.directed else [(u, v), (v, u)]
        met = [
            paths[s, a] * paths[b, t] / paths[s, t]
            for a, b in both for s in range(m.n) for t in range(m.n)
            if s != t and d[s, t] < inf and d[s, a] + 1 + d[b, t] == d[s, t]
        ]  # fmt: skip
        return 0.0 if u == v else sum(met) * scale / (1 if m.directed else 2)

    return {"normalized": normalized}, lambda found: same_edges(m, found.edges["centrality"], share)


def same_edges(m: Model, found: Any, value: Callable[[int, int], float]) -> None:
    known = sorted((u, v, value(u, v)) for u, v in m.sides())
    np.testing.assert_allclose([row[2] for row in m.by_edge(found)], [row[2] for row in known], atol=1e-12)


# --- components, cores, cuts


@case
def connected_components(m: Model, rng: Rng) -> Drawn:
    undirected(m)
    given = {"method": ["sampled", "min-label"][rng.integers(2)]}
    return given, {"component": oracles.components(m.n, m.edges)}


@case
def weakly_connected_components(m: Model, rng: Rng) -> Drawn:
    return {}, {"component": oracles.components(m.n, m.edges)}


@case
def strongly_connected_components(m: Model, rng: Rng) -> Drawn:
    reach = np.isfinite(m.distances())
    return {}, {"component": (reach & reach.T).argmax(axis=1) if m.n else []}


@case
def condensation(m: Model, rng: Rng) -> Drawn:
    directed(m)
    reach = np.isfinite(m.distances())
    label = (reach & reach.T).argmax(axis=1) if m.n else np.empty(0, int)
    between: dict[tuple[int, int], int] = {}
    for u, v, _ in m.edges:
        if label[u] != label[v]:
            between[label[u], label[v]] = between.get((label[u], label[v]), 0) + 1

    def check(found: af.Graph) -> None:
        names = [m.number(ident) for ident in found.ids.to_ids().tolist()]
        assert names == sorted(set(label.tolist()))
        rows = zip(*(side.tolist() for side in found.edge_numbers()), strict=True)
        assert {(names[u], names[v]): int(found.columns["count"][k]) for u, v, k in rows} == between

    return {}, check


@case
def topological_sort(m: Model, rng: Rng) -> Drawn:
    directed(m)
    if m.loops or not nx.is_directed_acyclic_graph(m.simple):
        raise Refused
    generation = np.zeros(m.n)
    for number, vertices in enumerate(nx.topological_generations(m.simple)):
        generation[list(vertices)] = number
    position = np.empty(m.n)
    position[np.lexsort((np.arange(m.n), generation))] = np.arange(m.n)
    return {}, {"position": position, "generation": generation}


def longest(m: Model, rng: Rng) -> tuple[str | None, float]:
    directed(m)
    weight = m.weight(rng)
    if m.loops or not nx.is_directed_acyclic_graph(m.simple):
        raise Refused
    there = m.multi if weight else nx.MultiDiGraph(m.simple)
    return weight, nx.dag_longest_path_length(there, weight="weight" if weight and m.weighted else None) if m.n else 0


@case
def dag_longest_path_length(m: Model, rng: Rng) -> Drawn:
    weight, length = longest(m, rng)
    return {"weight": weight}, length


@case
def dag_longest_path(m: Model, rng: Rng) -> Drawn:
    weight, length = longest(m, rng)

    def check(found: list[Any]) -> None:
        path = [m.number(ident) for ident in found]
        best = m.lengths(weight, most=True)
        assert np.isclose(sum(best[u, v] for u, v in pairwise(path)), length)

    return {"weight": weight}, check


@case
def core_number(m: Model, rng: Rng) -> Drawn:
    if m.loops:
        raise Refused
    core, left, links = np.zeros(m.n), set(range(m.n)), m.count + m.count.T if m.directed else m.count
    for k in range(1, 99):
        while gone := [v for v in left if links[v, list(left)].sum() < k]:
            left -= set(gone)
        core[list(left)] = k
    return {}, {"core": core}


@case
def k_core(m: Model, rng: Rng) -> Drawn:
    if m.loops:
        raise Refused
    k, most = int(rng.integers(4)), bool(rng.integers(2))
    core = core_number(m, rng)[1]["core"]
    inside = np.flatnonzero(core >= (core.max(initial=0) if most else k))

    def check(found: af.Graph) -> None:
        assert {m.number(ident) for ident in found.ids.to_ids().tolist()} == set(inside.tolist())
        assert found.edges == sum(u in inside and v in inside for u, v, _ in m.edges)

    return {"k": None if most else k}, check


@case
def articulation_points(m: Model, rng: Rng) -> Drawn:
    undirected(m)
    return {}, {"articulation": np.isin(np.arange(m.n), list(nx.articulation_points(m.simple)))}


@case
def biconnected_components(m: Model, rng: Rng) -> Drawn:
    undirected(m)
    groups = list(nx.biconnected_components(m.simple))

    def check(found: Any) -> None:
        made: dict[int, set[int]] = {}
        for u, v, label in m.by_edge(found.edges["component"]):
            assert (label < 0) == (u == v)
            if u != v:
                made.setdefault(int(label), set()).update((u, v))
        assert sorted(map(sorted, made.values())) == sorted(map(sorted, groups))
        assert found["components"].tolist() == [sum(v in group for group in groups) for v in range(m.n)]

    return {}, check


@case
def bridges(m: Model, rng: Rng) -> Drawn:
    undirected(m)
    known = {frozenset(pair) for pair in nx.bridges(m.simple)} if m.n else set()
    once = {frozenset((u, v)) for u, v, _ in m.edges if m.count[u, v] == 1}
    return {}, lambda found: same_edges(m, found.edges["chosen"], lambda u, v: frozenset((u, v)) in known & once)


def spanning(name: str, sign: int) -> None:
    def drawn(m: Model, rng: Rng) -> Drawn:
        undirected(m)
        edges = nx.minimum_spanning_edges(nx.MultiGraph([(u, v, {"w": sign * w}) for u, v, w in m.data()]), weight="w")
        total = sign * sum(data["w"] for *_, data in edges)

        def check(found: Any) -> None:
            chosen = [(u, v) for u, v, flag in m.by_edge(found.edges["chosen"]) if flag]
            assert nx.is_forest(nx.MultiGraph(chosen)) if chosen else True
            assert oracles.components(m.n, chosen) == oracles.components(m.n, m.edges)
            weights = [w for (_, _, w), (_, _, flag) in zip(m.by_edge(m.column()), m.by_edge(found.edges["chosen"]),
                                                             strict=True) if flag]  # fmt: skip
            assert len(weights) == len(chosen)
            assert np.isclose(found.totals["weight"], total)
            holds(found)

        return {}, check

    case(drawn, name)


spanning("minimum_spanning_tree", 1)
spanning("maximum_spanning_tree", -1)


# --- triangles and neighbours


@case
def triangles(m: Model, rng: Rng) -> Drawn:
    undirected(m)
    return {}, {"triangles": oracles.triangles(m.n, m.edges)}


@case
def triangle_count(m: Model, rng: Rng) -> Drawn:
    undirected(m)
    return {}, sum(oracles.triangles(m.n, m.edges)) // 3


def coefficients(m: Model) -> list[float]:
    return oracles.local_clustering(m.n, m.edges, m.directed)


@case
def clustering(m: Model, rng: Rng) -> Drawn:
    return {}, {"clustering": coefficients(m)}


@case
def average_clustering(m: Model, rng: Rng) -> Drawn:
    zeros = bool(rng.integers(2))
    kept = [c for c in coefficients(m) if zeros or c > 0]
    return {"count_zeros": zeros}, sum(kept) / max(1, len(kept))


@case
def transitivity(m: Model, rng: Rng) -> Drawn:
    undirected(m)
    return {}, nx.transitivity(m.simple)


@case
def triad_census(m: Model, rng: Rng) -> Drawn:
    directed(m)
    return {}, lambda found: same(found, nx.triadic_census(m.simple))


def same(found: Any, known: Any) -> None:
    assert found == known, (found, known)


@case
def scan_statistics(m: Model, rng: Rng) -> Drawn:
    undirected(m)
    known = [nx.ego_graph(m.simple, v).number_of_edges() for v in range(m.n)]
    return {"method": ["intersection", "wedges"][rng.integers(2)]}, {"statistic": known, "degree": m.near.sum(axis=1)}


@case
def edge_support(m: Model, rng: Rng) -> Drawn:
    undirected(m)
    there = m.simple
    return {}, lambda found: same_edges(
        m, found.edges["support"], lambda u, v: len(set(there[u]) & set(there[v])) if u != v else 0
    )


@case
def k_truss(m: Model, rng: Rng) -> Drawn:
    undirected(m)
    k = int(rng.integers(0, 6))
    kept = nx.k_truss(m.simple, k)
    return {"k": k}, lambda found: same_edges(m, found.edges["chosen"], lambda u, v: u != v and kept.has_edge(u, v))


@case
def truss_number(m: Model, rng: Rng) -> Drawn:
    undirected(m)
    trusses = {k: nx.k_truss(m.simple, k) for k in range(2, m.n + 2)}

    def most(u: int, v: int) -> int:
        return max((k for k, kept in trusses.items() if u != v and kept.has_edge(u, v)), default=0)

    return {}, lambda found: same_edges(m, found.edges["truss"], most)


def similarity(m: Model, u: int, v: int, measure: str) -> float:
    one, other = set(m.simple[u]), set(m.simple[v])
    both = one & other
    if measure == "adamic_adar":
        return sum(1 / log(len(m.simple[w])) for w in both if len(m.simple[w]) > 1)
    if measure == "resource_allocation":
        return sum(1 / len(m.simple[w]) for w in both)
    whole = {"jaccard": len(one | other), "overlap": min(len(one), len(other)),
             "cosine": sqrt(len(one) * len(other))}[measure]  # fmt: skip
    return len(both) / whole if whole else 0.0


MEASURES = {
    "jaccard": "jaccard_coefficient", "overlap": "overlap_coefficient", "cosine": "cosine_similarity",
    "adamic_adar": "adamic_adar_index", "resource_allocation": "resource_allocation_index",
}  # fmt: skip


def of_pairs(measure: str) -> None:
    def drawn(m: Model, rng: Rng) -> Drawn:
        undirected(m)
        pairs = [(u, v) for u in range(m.n) for v in range(m.n)][:: int(rng.integers(1, 4))]
        return {"pairs": [m.named(pair) for pair in pairs]}, [similarity(m, u, v, measure) for u, v in pairs]

    case(drawn, MEASURES[measure])


for name in MEASURES:
    of_pairs(name)


@case
def most_similar(m: Model, rng: Rng) -> Drawn:
    undirected(m)
    measure, k = list(MEASURES)[rng.integers(5)], int(rng.integers(1, 5))

    def check(found: Any) -> None:
        for v in range(m.n):
            near = [similarity(m, v, w, measure) for w in range(m.n) if w != v and set(m.simple[v]) & set(m.simple[w])]
            best = [*sorted(near, reverse=True)[:k], *[0.0] * k][:k]
            np.testing.assert_allclose(found[1][v], best, rtol=1e-12)
            mine = [similarity(m, v, int(w), measure) if w >= 0 else 0.0 for w in found[0][v]]
            np.testing.assert_allclose(mine, best, rtol=1e-12)

    return {"k": k, "measure": measure}, check


@case
def two_hop_friends(m: Model, rng: Rng) -> Drawn:
    some = m.some(rng)
    friends = {v: oracles.two_hop(m.n, m.arcs, v) for v in some}

    def check(found: Any) -> None:
        assert found["count"].tolist() == [len(friends[v]) if v in friends else -1 for v in range(m.n)]
        for v, known in friends.items():
            assert [m.number(ident) for ident in found.friends(m.ids[v]).tolist()] == known

    return {"vertices": m.named(some)}, check


@case
def project(m: Model, rng: Rng) -> Drawn:
    method = ["count", "product", "jaccard", "overlap", "newman"][rng.integers(5)]
    onto = ["targets", "sources"][rng.integers(2)]
    table = (m.weights() if method == "product" else (m.count > 0).astype(float)).T
    links = (m.count > 0).T
    if onto == "sources":
        table, links = table.T, links.T
    degree = links.sum(axis=0)  # of those between: how many they join
    reach = links.sum(axis=1)
    if method == "newman":
        table, other = table * np.divide(1, degree - 1, out=np.zeros(m.n), where=degree > 1), table
    else:
        other = table
    value, common = table @ other.T, links.astype(int) @ links.T.astype(int)

    def check(found: Any) -> None:
        made = found.projection
        rows = {(u, v): float(made.columns["weight"][k]) for u, v, k in
                zip(*(side.tolist() for side in made.edge_numbers()), strict=True)}  # fmt: skip
        assert set(rows) == {(u, v) for u in range(m.n) for v in range(u + 1, m.n) if common[u, v]}
        for (u, v), weight in rows.items():
            if method in ("jaccard", "overlap"):
                both = reach[u] + reach[v] - common[u, v] if method == "jaccard" else min(reach[u], reach[v])
                assert np.isclose(weight, common[u, v] / both)
            else:
                assert np.isclose(weight, value[u, v])

    return {"onto": onto, "method": method}, check

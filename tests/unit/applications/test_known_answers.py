"""Answers that are known from elsewhere: printed by Gunrock for a food web, or by a formula.

The food web is that of Chesapeake Bay (Baird, Ulanowicz 1989; a graph of the tenth DIMACS challenge): 39 compartments,
170 edges. The HIVE study's applications print their results on it.
"""

from __future__ import annotations

import numpy as np
import pytest

import arcflux as af
from arcflux.applications.geolocate.places import unit_vectors
from arcflux.validate.clusters import kkt_residual

# Of each compartment, those of a larger number that it has an edge to.
ROWS = """
0: 6 7 10 11 12 21 22 33 34 36 38; 1: 6 7 8 10 11 12 21 22 34 35 38; 2: 13 14 15 16 17 35 38; 3: 16 35 36 38;
4: 5 33 34 38; 5: 6 34 38; 6: 7 8 10 11 12 34 38; 7: 8 9 19 20 21 22 23 34 37 38; 8: 9 34 35 38; 9: 34 35 38;
10: 18 34 35 38; 11: 18 25 34 35 37 38; 12: 34 35 37 38; 13: 24 25 26 27 28 35 38; 14: 18 24 25 26 27 28 35 38;
15: 18 26 35 38; 16: 35 38; 17: 18 24 25 26 28 31 35 38; 18: 32 35 37 38; 19: 35 37 38; 20: 32 35 37 38;
21: 26 27 29 30 31 32 34 35 37 38; 22: 29 31 32 34 35 37 38; 23: 35 37 38; 24: 35 37 38; 25: 35 37 38;
26: 29 35 37 38; 27: 35 37 38; 28: 35 37 38; 29: 35 37 38; 30: 31 35 37 38; 31: 35 37 38; 32: 35 37 38; 33: 36;
34: 35 36
"""
NAN = float("nan")


@pytest.fixture(scope="module")
def web() -> af.Graph:
    rows = [row.split(":") for row in ROWS.replace("\n", " ").split(";")]
    pairs = [(int(v), int(u)) for v, others in rows for u in others.split()]
    assert len(pairs) == 170
    return af.Graph.from_edges(*map(list, zip(*pairs, strict=True)), directed=False)


def test_nominations(web: af.Graph) -> None:
    found = af.vertex_nomination(web, [21, 15, 5, 23, 3, 29, 22, 26, 33, 4])
    printed = "1 1 1 0 0 0 1 1 2 2 2 2 2 1 1 0 1 1 1 2 2 0 0 0 2 2 0 1 2 0 1 1 1 0 1 1 1 1 1"
    assert found["distance"].tolist() == [float(far) for far in printed.split()]


@pytest.mark.parametrize("method", ["intersection", "wedges"])
def test_scan_statistics(web: af.Graph, method: str) -> None:
    found = af.scan_statistics(web, method=method)
    assert (found.maximum, found.vertex, found["triangles"].sum() // 3) == (104, 38, 194)
    assert found["statistic"].sum() == 3 * 194 + 2 * 170


def test_projections(web: af.Graph) -> None:
    made = af.project(web).projection
    weight = dict(zip(zip(*(ends.tolist() for ends in made.edge_numbers()[:2]), strict=True),
                      made.columns["weight"][made.edge_numbers()[2]].tolist(), strict=True))  # fmt: skip
    assert made.arcs == 1372
    printed = {(0, 1): 9, (0, 2): 1, (0, 3): 2, (35, 38): 28, (36, 38): 2, (37, 38): 18}
    assert {pair: weight[pair] for pair in printed} == printed


def test_locations(web: af.Graph) -> None:
    """Gunrock's medians are those of degrees: ours are near them, and their distances add up to no more."""
    known = {
        0: (37.7449063493, -122.009432884), 1: (37.8668048274, -122.257973253), 3: (37.869112506, -122.25910604),
        5: (37.6431858915, -121.816156983), 10: (37.8652346572, -122.250634008), 18: (38.2043433677, -114.300341275),
        20: (36.7582225593, -118.167916598), 21: (33.9774659389, -114.886512278), 29: (39.2598884729, -106.804662071),
        30: (37.880443573, -122.230147039), 38: (9.4276164485, -110.640705659),
    }  # fmt: skip
    shown = np.full((39, 2), NAN)
    shown[list(known)] = list(known.values())
    found = af.geolocate(web, shown, rounds=2)
    assert found.validate().ok
    at = np.stack([found["latitude"], found["longitude"]], 1)
    assert at[2] == pytest.approx(known[38])  # its only neighbour that is known
    for v, printed in {
        35: (37.864429, -122.199409),
        36: (37.807079, -122.134163),
        37: (37.053719, -115.913628),
    }.items():
        near = unit_vectors(shown[[u for u in web.neighbours(v) if u in known]])
        ours, theirs = (np.arccos(np.clip(near @ one, -1, 1)).sum() for one in unit_vectors(np.array([at[v], printed])))
        assert ours <= theirs + 1e-9
        assert at[v] == pytest.approx(printed, abs=0.1)


def test_scores_of_a_local_cluster(web: af.Graph) -> None:
    alpha, rho = 0.15, 1e-3
    found = af.local_clustering(web, [0], alpha=alpha, rho=rho, method="fista", tol=1e-12)
    assert len(found.members) == 33
    assert 0.6708 < found.scores.sum() < 0.6722  # where Gunrock stops, and what its steps come near
    assert kkt_residual(web.to_scipy().astype(float), 0, found.scores_of(0), alpha, rho) <= 1e-11


@pytest.mark.parametrize("find", [af.louvain, af.leiden])
def test_pairs_of_cliques_are_joined_beyond_the_resolution_limit(find) -> None:
    """30 cliques of 5 in a ring: pairs have 0.88788, single ones 0.87576."""
    found = [find("cliques:30x5", seed=seed).modularity for seed in range(4)]
    assert min(found) > (0.87576 + 2 * 0.88788) / 3
    assert max(found) <= 1 - 1 / 22 - 2 / 30 + 1e-12


def test_levels_keep_modularity_exactly() -> None:
    """The graph of communities has the modularity of the communities."""
    graph = af.load("lfr:600,weights=1-9")
    for level in af.louvain(graph).levels:
        source, target, places = graph.edge_numbers()
        weight = graph.columns["weight"][places]
        coarse = af.Graph.from_edges(
            level[source], level[target], directed=False, columns={"weight": weight}, vertices=int(level.max()) + 1,
        )  # fmt: skip
        assert af.modularity(coarse, np.arange(coarse.vertices)) == pytest.approx(
            af.modularity(graph, level), abs=1e-14
        )


@pytest.mark.parametrize(("rho", "seeds"), [(1.0, 10), (0.9, 10), (0.7, 20)])
def test_correlated_pairs_are_matched(rho: float, seeds: int) -> None:
    a, b = af.generate.correlated_pair(150, p=0.1, rho=rho)
    found = af.match_graphs(a, b, [(v, v) for v in range(seeds)])
    assert found["match"].tolist() == list(range(150))


def test_a_large_q_never_leaves_a_clique() -> None:
    """Who came along an edge of a clique stays: no vertex outside of it is adjacent to the one before."""
    graph = af.load("cliques:6x5")
    rows = af.random_walks(graph, walk_length=30, walks_per_vertex=5, q=1e12).numbers_of_walks // 5
    inside = rows[rows[:, 0] == rows[:, 1]]
    assert len(inside) > 50
    assert (inside == inside[:, :1]).all()


def test_sampled_layers_of_a_complete_graph_with_a_vertex_s_own_features() -> None:
    """On a cycle with features of two colours each vertex has neighbours of the other: no sample can differ."""
    x = np.tile([[1.0, 0.0], [0.0, 1.0]], (4, 1))
    one = np.eye(2, dtype=np.float32)
    w = [one, one, np.eye(4, dtype=np.float32), np.eye(4, dtype=np.float32)]
    for how in ({"children": None}, {"children": 2}, {"children": 3, "share_samples": True}):
        found = af.graphsage("cycle:8", x, w, **how)["embedding"]
        assert found[0] == pytest.approx([0.5, 0, 0, 0.5, 0, 0.5, 0.5, 0], abs=1e-6)
        assert found[1] == pytest.approx([0, 0.5, 0.5, 0, 0.5, 0, 0, 0.5], abs=1e-6)

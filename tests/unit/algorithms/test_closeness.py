"""Closeness, harmonic centrality and eccentricity against plain searches, NetworkX and igraph, wherever they run."""

import igraph
import networkx as nx
import numpy as np
import pytest

import arcflux as af


def sample(seed, directed, vertices=150):
    rng = np.random.default_rng(seed)
    return af.Graph.from_edges(
        rng.integers(0, vertices, 3 * vertices), rng.integers(0, vertices, 3 * vertices), vertices=vertices,
        directed=directed,
    )  # fmt: skip


def distances(graph):
    """Levels of plain searches from every vertex: a row for each source, -1 where it does not reach."""
    rows, (offsets, neighbours) = [], graph.out
    for source in range(graph.vertices):
        level = {source: 0}
        queue = [source]
        for u in queue:
            for v in neighbours[int(offsets[u]) : int(offsets[u + 1])].tolist():
                if v not in level:
                    level[v] = level[u] + 1
                    queue.append(v)
        rows.append([level.get(v, -1) for v in range(graph.vertices)])
    return np.array(rows)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("options", [{}, {"parts": 3}, {"threads": 1}])
def test_sums_are_those_of_plain_searches(directed, options):
    graph = sample(1, directed)
    table = distances(graph)
    met = table > 0
    harmonic = np.where(met, 1.0 / np.where(met, table, 1), 0.0).sum(axis=0)
    assert np.allclose(af.harmonic_centrality(graph, **options)["centrality"], harmonic)
    reached, total = met.sum(axis=0), np.where(met, table, 0).sum(axis=0)
    plain = np.divide(reached, total, out=np.zeros(len(total)), where=total > 0)
    assert np.allclose(af.closeness_centrality(graph, wf_improved=False, **options)["centrality"], plain)
    improved = plain * reached / (graph.vertices - 1)
    assert np.allclose(af.closeness_centrality(graph, **options)["centrality"], improved)
    far = np.where((table >= 0).all(axis=1), table.max(axis=1), np.inf)
    assert np.array_equal(af.eccentricity(graph, **options)["eccentricity"], far)


def test_it_is_what_other_libraries_say():
    graph = af.load("ws:200,k=4,p=0.2,seed=2")
    other = graph.to_networkx()
    found = af.closeness_centrality(graph)["centrality"]
    assert np.allclose(found, list(nx.closeness_centrality(other).values()))
    own = graph.to_igraph()
    assert isinstance(own, igraph.Graph)
    assert np.allclose(found, own.closeness())
    assert af.eccentricity(graph)["eccentricity"].tolist() == own.eccentricity()


def test_plain_python_agrees_and_batches_end_where_they_should():
    for vertices in (1, 2, 61, 62, 63, 125, 255, 256, 257, 520):
        graph = af.load(f"path:{vertices}")
        expected = [max(v, vertices - 1 - v) for v in range(vertices)]
        assert af.eccentricity(graph)["eccentricity"].tolist() == expected
    graph = sample(3, True, 70)
    assert np.array_equal(
        af.harmonic_centrality(graph, debug=True)["centrality"], af.harmonic_centrality(graph)["centrality"]
    )


def test_loops_and_parallel_edges_make_no_difference():
    plain = af.Graph.from_edges([0, 1], [1, 2])
    other = af.Graph.from_edges([0, 0, 1, 1, 2], [1, 1, 2, 1, 2])
    assert np.array_equal(af.closeness_centrality(plain)["centrality"], af.closeness_centrality(other)["centrality"])
    assert af.closeness_centrality(af.Graph.from_edges([], [], vertices=3))["centrality"].tolist() == [0, 0, 0]

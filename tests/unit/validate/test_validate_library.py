"""The library's results: what the algorithms give passes, and one value that is changed is refused, at its place."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csgraph

import arcflux as af
from arcflux.errors import UsageError


def graph_of(seed: int, directed: bool, loops: bool = True) -> af.Graph:
    """A small multigraph whose ids are not its vertex numbers; rows in no order in every third."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 14))
    source, target = rng.integers(0, n, (2, int(rng.integers(n, 3 * n))))
    ids = [f"v{v:02}" for v in range(n)] if seed % 2 else (np.arange(n) * 10 + 5).tolist()
    ends = [[ids[v] for v in end] for end in (source.tolist(), target.tolist())]
    return af.Graph.from_edges(
        *ends, vertices=ids, directed=directed, sort=seed % 3 > 0, drop_self_loops=not loops,
        columns={"weight": rng.integers(1, 5, len(source))},
    )  # fmt: skip


# Each: how it is called, whether the graph is directed (both: None), and the values to change: of vertices or of edges.
CALLS: dict[str, tuple[Any, bool | None, str]] = {
    "strong_components": (lambda g: af.strongly_connected_components(g), True, "component"),
    "core_number": (lambda g: af.core_number(g), None, "core"),
    "edge_support": (lambda g: af.edge_support(g), False, "edges:support"),
    "truss_number": (lambda g: af.truss_number(g), False, "edges:truss"),
    "k_truss": (lambda g: af.k_truss(g, 3), False, "edges:chosen"),
    "biconnected_components": (lambda g: af.biconnected_components(g), False, "edges:component"),
    "hubs": (lambda g: af.hits(g, tol=1e-10, max_iter=10_000), None, "hub"),
    "authorities": (lambda g: af.hits(g, tol=1e-10, max_iter=10_000, normalized=False), None, "authority"),
    "katz": (lambda g: af.katz_centrality(g, alpha=0.05, tol=1e-10), None, "centrality"),
    "weighted katz": (
        lambda g: af.katz_centrality(g, alpha=0.01, tol=1e-10, weight="weight", normalized=False, beta=0.5),
        None, "centrality",
    ),
    "eigenvector": (lambda g: af.eigenvector_centrality(g, tol=1e-9, max_iter=10_000), False, "centrality"),
    "weighted eigenvector": (
        lambda g: af.eigenvector_centrality(g, tol=1e-9, max_iter=10_000, weight="weight"), False, "centrality"
    ),
    "closeness": (lambda g: af.closeness_centrality(g), None, "centrality"),
    "plain closeness": (lambda g: af.closeness_centrality(g, wf_improved=False), None, "centrality"),
    "harmonic": (lambda g: af.harmonic_centrality(g), None, "centrality"),
    "eccentricity": (lambda g: af.eccentricity(g), None, "eccentricity"),
    "label_propagation": (lambda g: af.label_propagation(g, max_iter=4), None, "label"),
    "clustering": (lambda g: af.clustering(g), None, "clustering"),
    "two_hop_friends": (lambda g: af.two_hop_friends(g), None, "count"),
    "some two_hop_friends": (lambda g: af.two_hop_friends(g, g.ids.to_ids()[1:3].tolist(), lists=False), None, "count"),
    "k_hop": (lambda g: af.k_hop(g, g.ids.to_ids()[:2], 2), None, "hops"),
    "edge_betweenness": (lambda g: af.edge_betweenness_centrality(g), None, "edges:centrality"),
    "sampled edge_betweenness": (
        lambda g: af.edge_betweenness_centrality(g, k=2, seed=3, normalized=False), None, "edges:centrality"
    ),
    "fast_random_projection": (
        lambda g: af.fast_random_projection(g, 5, (0.5, 1.0), -0.5, seed=7), None, "embedding"
    ),
}  # fmt: skip


def changed(result: Any, field: str, rng: Any) -> Any:
    """The result with one of its values changed: another number from 0 on, or the label of another vertex."""
    where, _, name = field.rpartition(":")
    values = np.array(result.edges[name] if where else result.values[name])
    place = int(rng.integers(len(values)))
    if values.dtype == np.bool_:
        values[place] ^= True
    elif name in ("component", "label"):
        values = values.astype(np.int64)
        values[place] += 1 if values[place] < 1 else -1
    else:
        values[place] = values[place] + 1 if np.isfinite(values[place]).all() else 0
    if where:
        return replace(result, edges={**{key: result.edges[key] for key in result.edges}, name: values})
    return replace(result, values={**result.values, name: values})


@pytest.mark.parametrize("name", CALLS)
def test_results_pass_and_a_changed_value_is_refused(name: str) -> None:
    call, directed, field = CALLS[name]
    refused = tried = 0
    for seed in range(20):
        graph = graph_of(seed, bool(seed % 4 < 2) if directed is None else directed, loops="core" not in name)
        result = call(graph)
        assert result.converged or name == "label_propagation"
        report = result.validate()
        assert report.ok, f"{seed}: {report}"
        if len(result.edges[field[6:]] if ":" in field else result.values[field]):
            tried += 1
            refused += not changed(result, field, np.random.default_rng(seed)).validate().ok
    # A label of a component is any name: another one of its own for a component of one vertex says the same.
    assert refused == tried or (field.endswith("component") and refused > tried / 2), f"{refused} of {tried}"


def test_factors_pass_and_others_are_refused() -> None:
    graph = af.load("ratings:12x8,per=3")
    for options in ({}, {"iterations": 120, "rate": 0.002, "seed": 5}, {"factors": 3, "regularisation": 0.2}):
        result = af.collaborative_filtering(graph, **options)
        assert result.validate().ok, options
        factors = np.array(result["factors"])
        factors[4, 1] += 0.02
        report = replace(result, values={"factors": factors}).validate()
        assert [offence.vertex for offence in report["rows"].offences] == [graph.ids.to_ids()[4]]
        assert not af.validate.collaborative_filtering(graph, result["factors"], rate=0.002, seed=2).ok


@pytest.mark.parametrize("name", [name for name in CALLS if name != "label_propagation"])
def test_of_nothing_nothing_is_wrong(name: str) -> None:
    call, directed, _ = CALLS[name]
    if "two_hop" in name or name == "k_hop":
        call = {"k_hop": lambda g: af.k_hop(g, [])}.get(name, af.two_hop_friends)
    graph = af.Graph.from_edges([], [], vertices=0, directed=bool(directed))
    assert call(graph).validate().ok


def test_strong_components_may_have_any_names_but_not_be_joined_or_torn() -> None:
    graph = af.Graph.from_edges([0, 1, 2, 2], [1, 2, 1, 3])
    assert af.validate.strong_components(graph, ["a", "b", "b", "c"]).ok
    torn = af.validate.strong_components(graph, [0, 1, 2, 3])
    assert [rule.name for rule in torn.failures] == ["together"]
    assert [offence.vertex for offence in torn["together"].offences] == [2]
    joined = af.validate.strong_components(graph, [0, 1, 1, 1])
    assert [rule.name for rule in joined.failures] == ["apart"]
    assert [offence.vertex for offence in joined["apart"].offences] == [3]


def test_biconnected_components_are_told_what_is_wrong() -> None:
    # Two triangles that share the vertex 2, and a bridge from 4 to 5.
    graph = af.Graph.from_edges([0, 1, 2, 2, 3, 4, 4], [1, 2, 0, 3, 4, 2, 5], directed=False)
    right = np.array(af.biconnected_components(graph).edges["component"])

    def broken(**labels: int) -> list[str]:
        own = right.copy()
        for edge, label in labels.items():
            u, v = int(edge[1]), int(edge[2])
            rows = np.repeat(np.arange(6), graph.out_degrees.astype(np.int64))
            ends = graph.out.neighbours
            own[((rows == u) & (ends == v)) | ((rows == v) & (ends == u))] = label
        return [rule.name for rule in af.validate.biconnected_components(graph, own).failures]

    assert broken() == []
    assert broken(e45=-1) == ["edges"]
    assert broken(e01=77) == ["biconnected", "largest"]
    both = int(right[0])  # the second triangle and the bridge in the first one's component
    assert broken(e23=both, e34=both, e24=both) == ["biconnected"]
    assert broken(e45=both) == ["connected", "largest"]
    apart = af.Graph.from_edges([0, 2], [1, 3], directed=False)
    assert [rule.name for rule in af.validate.biconnected_components(apart, [0] * 4).failures] == ["connected"]
    own = right.copy()
    own[0] += 50
    assert "arcs" in [rule.name for rule in af.validate.biconnected_components(graph, own).failures]


def test_hops_that_are_too_few_or_too_many_are_told_apart() -> None:
    graph = af.load("path:6")
    assert af.validate.k_hop(graph, [0], [0, 1, 2, 3, -1, -1], k=3).ok
    for hops, rules in (
        ([0, 1, 2, -1, -1, -1], ["edges"]), ([0, 1, 2, 3, 3, -1], ["in-edge"]), ([0, 1, 2, 3, 4, -1], ["range"]),
        ([0, 1, 2, 0, -1, -1], ["range", "edges"]), ([1, 1, 2, 3, -1, -1], ["range"]),
    ):  # fmt: skip
        report = af.validate.k_hop(graph, [0], hops, k=3)
        assert [rule.name for rule in report.failures][: len(rules)] == rules, str(report)


def test_a_search_from_some_vertices_checks_these_alone() -> None:
    graph = af.load("grid:20x20")
    values = np.array(af.closeness_centrality(graph)["centrality"])
    values[7] *= 2
    assert af.validate.closeness(graph, values, vertices=[1, 399]).ok
    assert not af.validate.closeness(graph, values, vertices=[7]).ok
    values[:] = 1.0  # any sample notices
    assert not af.validate.closeness(graph, values).ok


def test_the_lists_of_friends_are_checked_too() -> None:
    result = af.two_hop_friends("grid:4x4", [3, 5, 9])
    assert result.validate().ok
    friends = result.neighbours.copy()
    friends[0] = 15
    report = replace(result, neighbours=friends).validate()
    assert [rule.name for rule in report.failures] == ["lists"]
    assert [offence.vertex for offence in report["lists"].offences] == [3]


def test_what_has_another_shape_is_refused() -> None:
    with pytest.raises(UsageError, match="embedding has shape"):
        af.validate.fast_random_projection("path:3", [1.0, 2.0, 3.0])
    with pytest.raises(UsageError, match="tolerance"):
        af.validate.hits("path:2", [0.5, 0.5], [0.5, 0.5], tolerance=-1.0)
    with pytest.raises(UsageError, match="core has shape"):
        af.validate.core_number("path:2", [1])


@pytest.mark.parametrize("name", ["strong_components", "closeness", "harmonic", "eccentricity"])
def test_scipy_searches_with_narrow_indices(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With those of 64 bits, scipy 1.11 finds no components without an error, and refuses to search."""
    widths = set()

    def watched(search: Any) -> Any:
        def call(matrix: Any, **how: Any) -> Any:
            widths.update((matrix.indices.dtype.itemsize, matrix.indptr.dtype.itemsize))
            return search(matrix, **how)

        return call

    for search in ("connected_components", "dijkstra"):
        monkeypatch.setattr(csgraph, search, watched(getattr(csgraph, search)))
    run, _, field = CALLS[name]
    graph = graph_of(3, directed=True)
    assert getattr(af.validate, name)(graph, run(graph)[field])
    assert widths == {4}

"""The oracles against NetworkX, dense linear algebra and examples worked by hand."""

from collections import Counter
from collections.abc import Sequence
from math import inf, nan
from typing import Any, Literal, NamedTuple

import networkx as nx
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import oracles
from oracles import Edge, both_ways


class Multigraph(NamedTuple):
    """A vertex count and edges, which a test reads as directed or as undirected ones."""

    n: int
    edges: list[Edge]


@st.composite
def multigraph_strategy(draw: st.DrawFn) -> Multigraph:
    """Small multigraphs with self-loops, parallel edges and isolated vertices; some edges have weights.

    The weights are quarters, among them 0, so that sums of them are exact and shortest paths tie.
    """
    n = draw(st.integers(1, 9))
    vertex = st.integers(0, n - 1)
    weight = st.integers(0, 12).map(lambda quarters: quarters / 4)
    edge = st.tuples(vertex, vertex) | st.tuples(vertex, vertex, weight)
    # Lists left to choose their own size are mostly short, and sparse graphs seldom have tied shortest paths.
    size = draw(st.integers(0, 3 * n))
    return Multigraph(n, draw(st.lists(edge, min_size=size, max_size=size)))


multigraphs = multigraph_strategy()
few_dozen = settings(max_examples=60, deadline=None)
either_direction = pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])


def arcs(graph: Multigraph, directed: bool) -> list[Edge]:
    return graph.edges if directed else both_ways(graph.edges)


def to_networkx(graph: Multigraph, directed: bool) -> Any:
    result = nx.MultiDiGraph() if directed else nx.MultiGraph()
    result.add_nodes_from(range(graph.n))
    for u, v, *weight in graph.edges:
        result.add_edge(u, v, weight=weight[0] if weight else 1.0)
    return result


def to_simple_networkx(graph: Multigraph, directed: bool) -> Any:
    simple = (nx.DiGraph if directed else nx.Graph)(to_networkx(graph, directed))
    simple.remove_edges_from(list(nx.selfloop_edges(simple)))
    return simple


def adjacency_matrix(graph: Multigraph, directed: bool) -> Any:
    """The 0-1 matrix of the simple graph: row u, column v is 1 where u has an edge to v."""
    matrix = np.zeros((graph.n, graph.n), dtype=int)
    for u, v, *_ in graph.edges:
        matrix[u, v] = 1
        if not directed:
            matrix[v, u] = 1
    np.fill_diagonal(matrix, 0)
    return matrix


def by_vertex(n: int, values: dict[int, Any], default: Any = None) -> list[Any]:
    return [values.get(v, default) for v in range(n)]


class TestBothWays:
    def test_reverses_all_but_self_loops(self) -> None:
        edges: list[Edge] = [(0, 1, 2.5), (1, 1, 4.0), (0, 1), (2, 1), (2, 2)]
        assert sorted(both_ways(edges)) == [
            (0, 1),
            (0, 1, 2.5),
            (1, 0),
            (1, 0, 2.5),
            (1, 1, 4.0),
            (1, 2),
            (2, 1),
            (2, 2),
        ]

    @few_dozen
    @given(multigraphs)
    def test_matches_networkx(self, graph: Multigraph) -> None:
        expected = to_networkx(graph, directed=False).to_directed().edges(data="weight")
        assert Counter(oracles.weighted_edges(both_ways(graph.edges))) == Counter(expected)


class TestBreadthFirstSearch:
    # 0 reaches 3 by way of 2 and of 1; 4 reaches 3 but is not reached; 5 is isolated.
    diamond: Sequence[Edge] = [(0, 2), (0, 1), (2, 3), (1, 3), (4, 3), (3, 0), (3, 3), (0, 2)]

    def test_levels_of_a_diamond(self) -> None:
        assert oracles.bfs_levels(6, self.diamond, 0) == [0, 1, 1, 2, -1, -1]

    def test_parents_of_a_diamond(self) -> None:
        assert oracles.bfs_parents(6, self.diamond, 0) == [0, 0, 0, 1, -1, -1]

    def test_parent_is_the_smallest_one_a_level_nearer(self) -> None:
        # 0 also points at 4, but from the same level.
        assert oracles.bfs_parents(5, [(3, 2), (3, 1), (1, 0), (2, 4), (1, 4), (0, 4)], 3) == [1, 3, 3, 3, 1]

    @either_direction
    @few_dozen
    @given(multigraphs)
    @example(Multigraph(1, []))
    @example(Multigraph(1, [(0, 0), (0, 0)]))
    def test_levels_match_networkx(self, directed: bool, graph: Multigraph) -> None:
        reference = to_networkx(graph, directed)
        for source in range(graph.n):
            lengths = nx.single_source_shortest_path_length(reference, source)
            assert oracles.bfs_levels(graph.n, arcs(graph, directed), source) == by_vertex(graph.n, lengths, -1)

    @either_direction
    @few_dozen
    @given(multigraphs)
    @example(Multigraph(1, [(0, 0)]))
    def test_parents_match_networkx(self, directed: bool, graph: Multigraph) -> None:
        reference = to_networkx(graph, directed)
        for source in range(graph.n):
            # Every shortest path to a vertex ends in a valid parent.
            parents = {
                v: min(path[-2] for path in nx.all_shortest_paths(reference, source, v))
                for v in nx.descendants(reference, source)
            }
            expected = by_vertex(graph.n, parents | {source: source}, -1)
            assert oracles.bfs_parents(graph.n, arcs(graph, directed), source) == expected


class TestShortestPaths:
    # The detour by 1 is lighter than the direct edge to 2, of which there are two.
    detour: Sequence[Edge] = [(0, 2, 5.0), (0, 2, 4.0), (0, 1, 1.0), (1, 2, 0.5), (2, 3), (4, 0, 0.0), (2, 2, 0.0)]

    def test_detour(self) -> None:
        assert oracles.sssp(5, self.detour, 0) == [0.0, 1.0, 1.5, 2.5, inf]

    def test_lightest_parallel_edge(self) -> None:
        assert oracles.sssp(2, [(0, 1, 3.0), (0, 1, 2.0), (0, 1, 4.0)], 0) == [0.0, 2.0]

    def test_infinite_weight_is_no_edge(self) -> None:
        assert oracles.sssp(3, [(0, 1, inf), (1, 2, 1.0)], 0) == [0.0, inf, inf]

    def test_nearest_source(self) -> None:
        assert oracles.multi_source_sssp(5, self.detour, [1, 4, 1]) == [0.0, 0.0, 0.5, 1.5, 0.0]

    def test_no_source(self) -> None:
        assert oracles.multi_source_sssp(2, [(0, 1)], []) == [inf, inf]

    @pytest.mark.parametrize("weight", [-1.0, -1e-300, nan])
    def test_rejects_negative_weight_even_if_unreachable(self, weight: float) -> None:
        with pytest.raises(ValueError, match="non-negative"):
            oracles.sssp(3, [(0, 1, 1.0), (2, 2, weight)], 0)
        with pytest.raises(ValueError, match="non-negative"):
            oracles.multi_source_sssp(3, [(0, 1, 1.0), (2, 2, weight)], [0, 1])

    @either_direction
    @few_dozen
    @given(multigraphs)
    @example(Multigraph(1, []))
    def test_sssp_matches_networkx(self, directed: bool, graph: Multigraph) -> None:
        reference = to_networkx(graph, directed)
        for source in range(graph.n):
            lengths = nx.single_source_dijkstra_path_length(reference, source)
            assert oracles.sssp(graph.n, arcs(graph, directed), source) == by_vertex(graph.n, lengths, inf)

    @either_direction
    @few_dozen
    @given(multigraphs, st.data())
    def test_multi_source_sssp_matches_networkx(self, directed: bool, graph: Multigraph, data: st.DataObject) -> None:
        sources = data.draw(st.lists(st.integers(0, graph.n - 1), min_size=1, max_size=4))
        lengths = nx.multi_source_dijkstra_path_length(to_networkx(graph, directed), set(sources))
        actual = oracles.multi_source_sssp(graph.n, arcs(graph, directed), sources)
        assert actual == by_vertex(graph.n, lengths, inf)


def personalizations(n: int) -> st.SearchStrategy[dict[int, float] | None]:
    masses = st.dictionaries(st.integers(0, n - 1), st.integers(0, 4).map(float))
    return st.none() | masses.filter(lambda mass: sum(mass.values()) > 0)


def solved_pagerank(
    graph: Multigraph, damping: float, dangling: str, personalization: dict[int, float] | None, weighted: bool
) -> Any:
    """The fixed point of the PageRank equation as the solution of a linear system."""
    flow = np.zeros((graph.n, graph.n))
    for u, v, *weight in graph.edges:
        flow[v, u] += weight[0] if weighted and weight else 1.0
    teleport = np.array(by_vertex(graph.n, personalization, 0.0)) if personalization else np.ones(graph.n)
    teleport /= teleport.sum()
    out_weight = flow.sum(axis=0)
    flow[:, out_weight > 0] /= out_weight[out_weight > 0]
    if dangling == "redistribute":
        flow[:, out_weight == 0] = teleport[:, np.newaxis]
    return np.linalg.solve(np.eye(graph.n) - damping * flow, (1 - damping) * teleport)


class TestPageRank:
    def test_redistributes_dangling_rank(self) -> None:
        # x0 = 0.15/2 + 0.85 x1/2 and x0 + x1 = 1.
        assert oracles.pagerank(2, [(0, 1)]) == pytest.approx([20 / 57, 37 / 57], abs=1e-11)

    def test_drops_dangling_rank(self) -> None:
        # x0 = 0.15/2 and x1 = 0.15/2 + 0.85 x0.
        assert oracles.pagerank(2, [(0, 1)], dangling="drop") == pytest.approx([0.075, 0.13875], abs=1e-11)

    def test_first_iteration_counts_parallel_edges_and_self_loops(self) -> None:
        # Vertex 0 starts with 1/4, of which two quarters go to 1, one to 2 and one back to itself.
        edges: list[Edge] = [(0, 1), (0, 1), (0, 2), (0, 0)]
        ranks = oracles.pagerank(4, edges, damping=0.5, max_iterations=1, dangling="drop")
        assert ranks == pytest.approx([0.125 + 0.03125, 0.125 + 0.0625, 0.125 + 0.03125, 0.125], abs=1e-15)

    def test_first_iteration_follows_weights(self) -> None:
        # Vertex 0 splits its 1/3 as 3 to 1; vertex 1 only has an edge of weight 0, so it is dangling as 2 is.
        edges: list[Edge] = [(0, 1, 3.0), (0, 2), (1, 0, 0.0)]
        ranks = oracles.pagerank(3, edges, damping=0.6, max_iterations=1, weighted=True)
        teleported = 0.4 / 3 + 0.6 * (2 / 3) / 3
        assert ranks == pytest.approx([teleported, teleported + 0.15, teleported + 0.05], abs=1e-15)

    def test_stops_once_the_change_is_within_tolerance(self) -> None:
        edges: list[Edge] = [(0, 1), (1, 2), (2, 0), (0, 2)]
        first, second = (oracles.pagerank(3, edges, tolerance=0.0, max_iterations=k) for k in (1, 2))
        change = sum(abs(b - a) for a, b in zip(first, second, strict=True))
        assert oracles.pagerank(3, edges, tolerance=change * 1.01) == second
        assert oracles.pagerank(3, edges, tolerance=change * 0.99) != second

    def test_rejects_unknown_dangling_rule(self) -> None:
        with pytest.raises(ValueError, match="dangling"):
            oracles.pagerank(1, [], dangling="ignore")  # type: ignore[arg-type]

    def test_rejects_negative_weight_only_if_weighted(self) -> None:
        assert oracles.pagerank(2, [(0, 1, -1.0)]) == oracles.pagerank(2, [(0, 1)])
        with pytest.raises(ValueError, match="non-negative"):
            oracles.pagerank(2, [(0, 1, -1.0)], weighted=True)

    def test_rejects_personalization_without_mass(self) -> None:
        with pytest.raises(ZeroDivisionError):
            oracles.pagerank(2, [(0, 1)], personalization={})

    @either_direction
    @few_dozen
    @given(multigraphs, st.sampled_from([0.0, 0.5, 0.85, 0.95]), st.booleans(), st.data())
    def test_matches_networkx(
        self, directed: bool, graph: Multigraph, damping: float, weighted: bool, data: st.DataObject
    ) -> None:
        personalization = data.draw(personalizations(graph.n))
        actual = oracles.pagerank(
            graph.n, arcs(graph, directed), damping, personalization=personalization, weighted=weighted
        )
        expected = nx.pagerank(
            to_networkx(graph, directed),
            damping,
            personalization,
            max_iter=1000,
            tol=1e-12,
            weight="weight" if weighted else None,
        )
        assert actual == pytest.approx(by_vertex(graph.n, expected), abs=1e-9)

    @pytest.mark.parametrize("dangling", ["redistribute", "drop"])
    @few_dozen
    @given(multigraphs, st.sampled_from([0.5, 0.85, 0.95]), st.booleans(), st.data())
    @example(Multigraph(1, []), 0.85, False, None)
    @example(Multigraph(1, [(0, 0)]), 0.85, False, None)
    def test_solves_the_linear_system(
        self,
        dangling: Literal["redistribute", "drop"],
        graph: Multigraph,
        damping: float,
        weighted: bool,
        data: st.DataObject | None,
    ) -> None:
        personalization = data.draw(personalizations(graph.n)) if data else None
        actual = oracles.pagerank(
            graph.n, graph.edges, damping, dangling=dangling, personalization=personalization, weighted=weighted
        )
        expected = solved_pagerank(graph, damping, dangling, personalization, weighted)
        assert actual == pytest.approx(expected, abs=1e-10)


class TestComponents:
    def test_smallest_vertex_names_the_component(self) -> None:
        assert oracles.components(7, [(6, 5), (5, 1), (4, 1), (3, 3), (2, 0), (2, 0)]) == [0, 1, 0, 3, 1, 1, 1]

    @few_dozen
    @given(multigraphs)
    @example(Multigraph(1, []))
    def test_matches_networkx(self, graph: Multigraph) -> None:
        expected = {v: min(part) for part in nx.connected_components(to_networkx(graph, False)) for v in part}
        assert oracles.components(graph.n, graph.edges) == by_vertex(graph.n, expected)
        assert oracles.components(graph.n, both_ways(graph.edges)) == by_vertex(graph.n, expected)


class TestBetweenness:
    # Two shortest paths from 0 to 3, one of them along parallel edges; 3 leads on to 4.
    diamond: Sequence[Edge] = [(0, 1), (0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (3, 3)]

    def test_ties_share_the_credit(self) -> None:
        # 1 and 2 each have half of the pairs (0, 3) and (0, 4); 3 has (0, 4), (1, 4) and (2, 4).
        assert oracles.betweenness(5, self.diamond) == [0.0, 1.0, 1.0, 3.0, 0.0]

    def test_from_some_sources(self) -> None:
        assert oracles.betweenness(5, self.diamond, sources=[0]) == [0.0, 1.0, 1.0, 1.0, 0.0]
        assert oracles.betweenness(5, self.diamond, sources=[2, 2]) == [0.0, 0.0, 0.0, 2.0, 0.0]
        assert oracles.betweenness(5, self.diamond, sources=[]) == [0.0] * 5

    def test_normalized_divides_by_the_ordered_pairs_of_others(self) -> None:
        assert oracles.betweenness(5, self.diamond, normalized=True) == [0.0, 1 / 12, 1 / 12, 3 / 12, 0.0]

    @pytest.mark.parametrize("normalized", [False, True])
    @few_dozen
    @given(multigraphs)
    @example(Multigraph(1, [(0, 0)]))
    @example(Multigraph(2, [(0, 1), (1, 0)]))
    def test_matches_networkx_directed(self, normalized: bool, graph: Multigraph) -> None:
        expected = nx.betweenness_centrality(to_simple_networkx(graph, directed=True), normalized=normalized)
        actual = oracles.betweenness(graph.n, graph.edges, normalized=normalized)
        assert actual == pytest.approx(by_vertex(graph.n, expected), abs=1e-12)

    @few_dozen
    @given(multigraphs)
    def test_counts_undirected_pairs_from_both_ends(self, graph: Multigraph) -> None:
        expected = nx.betweenness_centrality(to_simple_networkx(graph, directed=False), normalized=False)
        actual = oracles.betweenness(graph.n, both_ways(graph.edges))
        assert actual == pytest.approx([2 * score for score in by_vertex(graph.n, expected)], abs=1e-12)

    @pytest.mark.parametrize("normalized", [False, True])
    @few_dozen
    @given(multigraphs, st.data())
    def test_matches_networkx_from_some_sources(self, normalized: bool, graph: Multigraph, data: st.DataObject) -> None:
        sources = data.draw(st.lists(st.integers(0, graph.n - 1), max_size=4))
        simple = to_simple_networkx(graph, directed=True)
        expected = nx.betweenness_centrality_subset(simple, sources, list(simple), normalized=normalized)
        actual = oracles.betweenness(graph.n, graph.edges, sources, normalized)
        assert actual == pytest.approx(by_vertex(graph.n, expected), abs=1e-12)


class TestLabelPropagation:
    def test_mutual_neighbour_counts_twice_if_directed(self) -> None:
        # 0 sees 1 once, and 2 along both directions.
        edges: list[Edge] = [(0, 1), (0, 2), (2, 0)]
        assert oracles.label_propagation(3, edges, 1, directed=True) == [2, 0, 0]
        assert oracles.label_propagation(3, edges, 1, directed=False) == [1, 0, 0]

    def test_in_neighbours_count_if_directed(self) -> None:
        assert oracles.label_propagation(3, [(2, 0), (1, 0)], 1, directed=True) == [1, 0, 0]

    def test_parallel_edges_count_once(self) -> None:
        for directed in (True, False):
            assert oracles.label_propagation(3, [(0, 2), (0, 2), (0, 1)], 1, directed) == [1, 0, 0]

    def test_self_loop_has_no_vote(self) -> None:
        for directed in (True, False):
            assert oracles.label_propagation(3, [(0, 0), (0, 1), (2, 2)], 1, directed) == [1, 0, 2]

    def test_synchronous_labels_oscillate_along_an_edge(self) -> None:
        for iterations, expected in enumerate([[0, 1], [1, 0], [0, 1], [1, 0]]):
            assert oracles.label_propagation(2, [(0, 1)], iterations, directed=False) == expected

    def test_two_triangles_and_a_bridge(self) -> None:
        # First everyone ties and takes its smallest neighbour, then 0 and 1 see {0, 0} and {1, 0}, 2 sees {1, 0, 2},
        # 3 sees {0, 3, 3}, and so on.
        edges: list[Edge] = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3)]
        assert oracles.label_propagation(6, edges, 1, directed=False) == [1, 0, 0, 2, 3, 3]
        assert oracles.label_propagation(6, edges, 2, directed=False) == [0, 0, 0, 3, 2, 2]
        assert oracles.label_propagation(6, edges, 3, directed=False) == [0, 0, 0, 2, 2, 2]
        assert oracles.label_propagation(6, edges, 4, directed=False) == [0, 0, 0, 2, 2, 2]

    @either_direction
    @few_dozen
    @given(multigraphs, st.integers(0, 6))
    @example(Multigraph(1, []), 3)
    def test_matches_a_vote_by_matrix_product(self, directed: bool, graph: Multigraph, iterations: int) -> None:
        adjacency = adjacency_matrix(graph, directed)
        ballots = adjacency + adjacency.T if directed else adjacency
        labels = np.arange(graph.n)
        for _ in range(iterations):
            # Row v holds the votes v receives for every label; argmax takes the first, smallest, of equals.
            votes = ballots @ np.eye(graph.n, dtype=int)[labels]
            labels = np.where(votes.any(axis=1), votes.argmax(axis=1), labels)
        assert oracles.label_propagation(graph.n, graph.edges, iterations, directed) == labels.tolist()


class TestTriangles:
    def test_complete_graph_with_a_tail(self) -> None:
        edges: list[Edge] = [(0, 1), (0, 2), (3, 0), (1, 2), (3, 1), (2, 3), (3, 2), (1, 1), (0, 1), (3, 4)]
        assert oracles.triangles(5, edges) == [3, 3, 3, 3, 0]

    @few_dozen
    @given(multigraphs)
    @example(Multigraph(1, [(0, 0), (0, 0)]))
    def test_matches_networkx_and_closed_walks(self, graph: Multigraph) -> None:
        actual = oracles.triangles(graph.n, graph.edges)
        assert actual == by_vertex(graph.n, nx.triangles(to_simple_networkx(graph, directed=False)))
        closed_walks = np.linalg.matrix_power(adjacency_matrix(graph, directed=False), 3).diagonal()
        assert actual == (closed_walks // 2).tolist()


class TestLocalClustering:
    # 0 has the out-neighbour 1, the in-neighbour 2 and the mutual neighbour 3.
    star: Sequence[Edge] = [(0, 1), (2, 0), (0, 3), (3, 0)]

    @pytest.mark.parametrize(
        ("among", "directed_share", "undirected_share"),
        [
            ([], 0.0, 0.0),
            ([(1, 2)], 1 / 6, 1 / 3),
            ([(1, 2), (2, 1)], 2 / 6, 1 / 3),
            ([(1, 2), (1, 2), (0, 1)], 1 / 6, 1 / 3),
            ([(1, 1), (0, 0), (1, 4)], 0.0, 0.0),
            ([(1, 2), (3, 2), (1, 3)], 3 / 6, 1.0),
            ([(1, 2), (2, 1), (3, 2), (2, 3), (1, 3), (3, 1)], 1.0, 1.0),
        ],
    )
    def test_share_of_joined_pairs(self, among: list[Edge], directed_share: float, undirected_share: float) -> None:
        edges = [*self.star, *among]
        assert oracles.local_clustering(5, edges, directed=True)[0] == pytest.approx(directed_share)
        assert oracles.local_clustering(5, edges, directed=False)[0] == pytest.approx(undirected_share)

    def test_zero_with_fewer_than_two_neighbours(self) -> None:
        # 0 and 1 are each other's only neighbour, though by several edges; 2 has only itself, 3 nobody.
        for directed in (True, False):
            assert oracles.local_clustering(4, [(0, 1), (1, 0), (0, 0), (2, 2)], directed) == [0.0] * 4

    @either_direction
    @few_dozen
    @given(multigraphs)
    @example(Multigraph(1, []))
    def test_matches_induced_submatrix(self, directed: bool, graph: Multigraph) -> None:
        adjacency = adjacency_matrix(graph, directed)
        expected = [0.0] * graph.n
        for v in range(graph.n):
            neighbours = np.flatnonzero(adjacency[v] | adjacency[:, v])
            if len(neighbours) > 1:
                joined = adjacency[np.ix_(neighbours, neighbours)]
                # The mean over the ordered pairs, among which the empty diagonal is not counted.
                expected[v] = joined.sum() / (joined.size - len(neighbours))
        assert oracles.local_clustering(graph.n, graph.edges, directed) == pytest.approx(expected)

    @few_dozen
    @given(multigraphs)
    def test_undirected_matches_networkx(self, graph: Multigraph) -> None:
        expected = nx.clustering(to_simple_networkx(graph, directed=False))
        actual = oracles.local_clustering(graph.n, graph.edges, directed=False)
        assert actual == pytest.approx(by_vertex(graph.n, expected))


class TestTwoHop:
    def test_neither_itself_nor_direct_neighbours(self) -> None:
        # From 0: 1 and 2 are direct, 2 also by way of 1; 1 leads back to 0; 4 is reached twice, 5 is three away;
        # 3 leads to 0 and is reached in two hops itself.
        edges: list[Edge] = [(0, 1), (0, 2), (1, 2), (1, 0), (2, 4), (1, 4), (4, 5), (3, 0), (2, 3), (0, 0), (0, 1)]
        assert oracles.two_hop(7, edges, 0) == [3, 4]
        assert oracles.two_hop(7, edges, 6) == []

    @either_direction
    @few_dozen
    @given(multigraphs)
    @example(Multigraph(1, [(0, 0)]))
    def test_matches_networkx(self, directed: bool, graph: Multigraph) -> None:
        reference = to_networkx(graph, directed)
        for v in range(graph.n):
            expected = sorted(nx.descendants_at_distance(reference, v, 2))
            assert oracles.two_hop(graph.n, arcs(graph, directed), v) == expected


def test_graph_without_vertices() -> None:
    assert oracles.pagerank(0, []) == []
    assert oracles.components(0, []) == []
    assert oracles.betweenness(0, [], normalized=True) == []
    assert oracles.label_propagation(0, [], 2, directed=True) == []
    assert oracles.triangles(0, []) == []
    assert oracles.local_clustering(0, [], directed=False) == []

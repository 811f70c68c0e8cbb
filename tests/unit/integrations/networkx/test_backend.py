"""The NetworkX backend against NetworkX itself: signatures, values, order, errors, data. No entry point is needed."""

import inspect
import math
import subprocess
import sys

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import arcflux as af
from _arcflux_networkx import FUNCTIONS, SETTINGS, get_info
from arcflux.integrations.networkx.convert import convert_from_nx, convert_to_nx
from arcflux.integrations.networkx.gains import BEGINNING, CONVERSION, GAINS, WEIGHTS, size_of, worth_it
from arcflux.integrations.networkx.graph import BackendGraph
from arcflux.integrations.networkx.interface import backend

registered = nx.utils.backends._registered_algorithms


def plain(result):
    """A result with its order: dicts as lists of items, generators as lists, graphs as what they hold."""
    if isinstance(result, nx.Graph):
        rows = [(node, list(row.items())) for node, row in result._adj.items()]
        return type(result), result.graph, list(result._node.items()), rows
    if isinstance(result, dict):
        return [(node, plain(value)) for node, value in result.items()]
    if inspect.isgenerator(result) or isinstance(result, (zip, type(iter([])))):
        return [plain(item) for item in result]
    if isinstance(result, tuple):
        return tuple(map(plain, result))
    if isinstance(result, float):
        return pytest.approx(result, rel=1e-5, abs=1e-7, nan_ok=True)
    return result


def outcome(function, graph, *args, **kwargs):
    """What a call gives, or the class and the message of what it raises."""
    try:
        with np.errstate(all="ignore"):
            return plain(function(graph, *args, **kwargs))
    except (nx.NetworkXException, ValueError, KeyError, ZeroDivisionError) as error:
        return type(error), str(error)


def agree(name, graph, *args, **kwargs):
    """Whether the backend took the call, whose outcome is then NetworkX's."""
    expected = outcome(getattr(nx, name), graph, *args, **kwargs)
    try:
        found = outcome(getattr(backend, name), convert_from_nx(graph), *args, **kwargs)
    except NotImplementedError:  # it is left to NetworkX
        return False
    assert found == expected, (name, args, kwargs)
    return True


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_signature_is_that_of_networkx(name):
    own, theirs = inspect.signature(getattr(backend, name)), inspect.signature(registered[name].orig_func)
    assert [(one.name, one.default, one.kind) for one in own.parameters.values()] == [
        (one.name, one.default, one.kind) for one in theirs.parameters.values()
    ]
    assert getattr(backend, name).__doc__


def test_the_table_of_functions_is_what_the_modules_have():
    from importlib import import_module

    for module in set(FUNCTIONS.values()):
        names = {name for name, home in FUNCTIONS.items() if home == module}
        public = import_module(f"arcflux.integrations.networkx.functions.{module}").__all__
        assert names == {name for name in public if name in registered}


def test_the_entry_points_are_what_they_say():
    from importlib import import_module
    from pathlib import Path

    tomllib = pytest.importorskip("tomllib" if sys.version_info >= (3, 11) else "tomli")
    written = tomllib.loads((Path(__file__).resolve().parents[4] / "pyproject.toml").read_text())
    for group, expected in (("networkx.backends", backend), ("networkx.backend_info", get_info)):
        module, _, name = written["project"]["entry-points"][group]["arcflux"].partition(":")
        assert getattr(import_module(module), name) is expected
    assert get_info()["functions"].keys() == FUNCTIONS.keys()
    assert get_info()["default_config"] == SETTINGS


def test_networkx_imports_nothing_of_arcflux_and_arcflux_nothing_of_networkx():
    for first, second in (("_arcflux_networkx", "arcflux"), ("arcflux", "networkx")):
        code = f"import {first}, sys; print({second!r} in sys.modules, 'numpy' in sys.modules)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.split()[0] == "False"
        assert first == "arcflux" or done.stdout.split()[1] == "False"


# Arguments besides the graph; "source" and "target" are nodes of it.
CALLS = [
    *((name, {}) for name in FUNCTIONS if registered[name].orig_func.__code__.co_argcount == 1),
    ("pagerank", {}), ("pagerank", {"weight": None, "alpha": 0.5, "tol": 1e-9}), ("betweenness_centrality", {}),
    ("betweenness_centrality", {"k": 3, "seed": 7}),
    ("betweenness_centrality", {"normalized": False, "endpoints": True}),
    ("betweenness_centrality", {"k": 3, "seed": 1, "normalized": False}), ("k_core", {}), ("k_core", {"k": 2}),
    ("k_shell", {}), ("k_crust", {}), ("k_corona", {"k": 2}), ("k_truss", {"k": 3}), ("k_truss", {"k": 4}),
    ("triangles", {}), ("clustering", {}), ("average_clustering", {}), ("average_clustering", {"count_zeros": False}),
    ("katz_centrality", {"alpha": 0.02}),
    ("katz_centrality", {"alpha": 0.005, "weight": "weight", "normalized": False}),
    ("eigenvector_centrality", {"max_iter": 3}), ("closeness_centrality", {}),
    ("closeness_centrality", {"wf_improved": False}), ("closeness_centrality", {"u": "source"}),
    ("harmonic_centrality", {}), ("eccentricity", {}), ("eccentricity", {"v": "source"}), ("diameter", {}),
    ("radius", {}), ("periphery", {}), ("average_shortest_path_length", {}), ("wiener_index", {}),
    ("condensation", {}), ("node_connected_component", {"n": "source"}), ("reciprocity", {}),
    ("reciprocity", {"nodes": "source"}), ("single_source_shortest_path_length", {"source": "source"}),
    ("single_source_shortest_path_length", {"source": "source", "cutoff": 1.5}),
    ("single_target_shortest_path_length", {"target": "source"}), ("single_source_shortest_path", {"source": "source"}),
    ("single_target_shortest_path", {"target": "source", "cutoff": 2}), ("all_pairs_shortest_path_length", {}),
    ("all_pairs_shortest_path", {"cutoff": 2}), ("has_path", {"source": "source", "target": "target"}),
    ("shortest_path_length", {}), ("shortest_path_length", {"source": "source"}),
    ("shortest_path_length", {"target": "target"}), ("shortest_path_length", {"source": "source", "target": "target"}),
    ("shortest_path_length", {"source": "source", "weight": "weight"}),
    ("single_source_dijkstra", {"source": "source"}), ("single_source_dijkstra", {"source": "source", "cutoff": 4}),
    ("single_source_dijkstra", {"source": "source", "target": "target"}),
    ("single_source_dijkstra_path", {"source": "source"}), ("single_source_dijkstra_path_length", {"source": "source"}),
    ("single_source_dijkstra_path_length", {"source": "nobody"}),
    ("dijkstra_path", {"source": "source", "target": "target"}),
    ("dijkstra_path_length", {"source": "source", "target": "target"}), ("all_pairs_dijkstra", {}),
    ("all_pairs_dijkstra_path", {"cutoff": 3}), ("all_pairs_dijkstra_path_length", {}),
    ("multi_source_dijkstra", {"sources": "pair"}), ("multi_source_dijkstra_path", {"sources": "pair"}),
    ("multi_source_dijkstra_path_length", {"sources": "pair", "cutoff": 2}),
    ("bfs_edges", {"source": "source"}), ("bfs_edges", {"source": "source", "reverse": True, "depth_limit": 2}),
    ("bfs_tree", {"source": "source"}), ("bfs_predecessors", {"source": "source"}),
    ("bfs_successors", {"source": "source"}), ("bfs_successors", {"source": "source", "depth_limit": 1}),
    ("bfs_layers", {"sources": "source"}), ("descendants_at_distance", {"source": "source", "distance": 2}),
    ("descendants", {"source": "source"}), ("ancestors", {"source": "source"}), ("ancestors", {"source": "nobody"}),
    ("minimum_spanning_edges", {}), ("minimum_spanning_edges", {"data": False}), ("maximum_spanning_edges", {}),
    ("minimum_spanning_tree", {}), ("maximum_spanning_tree", {"weight": "cost"}),
    ("edge_betweenness_centrality", {}), ("edge_betweenness_centrality", {"k": 2, "seed": 3, "normalized": False}),
    ("edge_betweenness_centrality", {"k": 2, "seed": 3}), ("bridges", {}), ("has_bridges", {}), ("triadic_census", {}),
    ("jaccard_coefficient", {"ebunch": "pairs"}), ("adamic_adar_index", {"ebunch": "pairs"}),
    ("resource_allocation_index", {"ebunch": "pairs"}), ("preferential_attachment", {"ebunch": "pairs"}),
    ("jaccard_coefficient", {"ebunch": "strangers"}), ("greedy_color", {}), ("dag_longest_path_length", {}),
    ("dag_longest_path_length", {"weight": "cost", "default_weight": 2}), ("degree_assortativity_coefficient", {}),
    ("degree_assortativity_coefficient", {"x": "in", "y": "in"}),
]  # fmt: skip


def test_every_function_is_compared():
    assert {name for name, _ in CALLS} | {"hits"} == set(FUNCTIONS)


def graphs(seed):
    """Graphs of all four kinds with awkward nodes, loops, weights that tie, and data."""
    rng = np.random.default_rng(seed)
    for kind in (nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph):
        for loops in (False, True):
            n = int(rng.integers(2, 14))
            names = [*range(n // 2), *(f"n{k}" for k in range(n - n // 2 - 1)), ("a", frozenset({1}))]
            order = [names[k] for k in rng.permutation(n)]
            graph = kind(title="sample")
            graph.add_nodes_from((node, {"rank": k}) for k, node in enumerate(order))
            for _ in range(int(rng.integers(0, 3 * n))):
                u, v = rng.integers(0, n, 2)
                if u != v or loops:
                    graph.add_edge(order[u], order[v], weight=int(rng.integers(0, 4)), cost=float(rng.integers(1, 4)))
            yield graph


def suits(name, graph, arguments):
    """Whether NetworkX takes the graph, and the backend the call."""
    try:
        backend_takes = backend.can_run(name, (graph,), arguments)
    except TypeError:
        return False
    if backend_takes is not True:
        return False
    try:
        getattr(nx, name)(graph, **arguments)
    except nx.NetworkXNotImplemented as error:
        return "self loops" in str(error)
    except Exception:
        return True
    return True


@pytest.mark.parametrize("seed", range(6))
def test_values_order_errors_and_data_are_those_of_networkx(seed):
    compared = 0
    for graph in graphs(seed):
        nodes = list(graph)
        names = {
            "source": nodes[0],
            "target": nodes[-1],
            "pair": [nodes[-1], nodes[0]],
            "nobody": "nobody",
            "pairs": [(nodes[0], nodes[-1]), (nodes[-1], nodes[1])],
            "strangers": [(nodes[0], "nobody")],
        }
        for name, arguments in CALLS:
            call = {
                key: names.get(value, value) if isinstance(value, str) else value for key, value in arguments.items()
            }
            if suits(name, graph, call):
                compared += agree(name, graph, **call)
    assert compared > 300


@settings(max_examples=60, deadline=None)
@given(
    edges=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from([0, 1, 1, 2, 0.5])), max_size=40),
    directed=st.booleans(),
)
def test_dijkstra_settles_ties_in_the_order_of_networkx(edges, directed):
    graph = (nx.DiGraph if directed else nx.Graph)()
    graph.add_nodes_from([3, 1])
    graph.add_weighted_edges_from(edges)
    assert agree("multi_source_dijkstra", graph, [1, 3])
    assert agree("single_source_dijkstra_path_length", graph, 3, cutoff=1)


def test_hits_agree_where_they_are_unique():
    graph = nx.gnm_random_graph(40, 200, seed=3, directed=True)
    for found, expected in zip(backend.hits(convert_from_nx(graph)), nx.hits(graph), strict=True):
        assert list(found) == list(expected)
        assert found == pytest.approx(expected, abs=1e-5)


def test_errors_of_iterations_are_those_of_networkx():
    graph = nx.gnm_random_graph(30, 90, seed=1)
    converted = convert_from_nx(graph)
    for name, arguments in (
        ("pagerank", {"max_iter": 0}), ("pagerank", {"max_iter": 2, "tol": 1e-12}), ("hits", {"max_iter": 0}),
        ("katz_centrality", {"alpha": 5.0, "max_iter": 20}), ("eigenvector_centrality", {"max_iter": 1}),
    ):  # fmt: skip
        with pytest.raises(nx.PowerIterationFailedConvergence):
            getattr(backend, name)(converted, **arguments)
    with pytest.raises(nx.NodeNotFound, match="Source nobody is not in G"):
        backend.single_source_shortest_path_length(converted, "nobody")
    with pytest.raises(nx.NetworkXPointlessConcept):
        backend.is_connected(convert_from_nx(nx.Graph()))
    with pytest.raises(ZeroDivisionError):
        backend.pagerank(converted, personalization={0: 0})


def test_weights_that_are_no_numbers_are_left_to_networkx():
    graph = nx.Graph([(0, 1, {"weight": "heavy"})])
    with pytest.raises(NotImplementedError, match="weight"):
        convert_from_nx(graph, edge_attrs={"weight": 1})
    graph = nx.Graph([(0, 1, {"weight": -1})])
    for name, arguments in (("pagerank", ()), ("single_source_dijkstra", (0,))):
        with pytest.raises(NotImplementedError):
            getattr(backend, name)(convert_from_nx(graph), *arguments)


def test_what_cannot_be_run_is_said():
    graph = nx.path_graph(4)
    for name, arguments in (
        ("betweenness_centrality", {"weight": "weight"}), ("pagerank", {"dangling": {0: 1}}),
        ("clustering", {"weight": "weight"}), ("bfs_edges", {"source": 0, "sort_neighbors": sorted}),
        ("dijkstra_path", {"source": 0, "target": 1, "weight": lambda u, v, d: 1}), ("hits", {"normalized": False}),
        ("diameter", {"usebounds": True}), ("minimum_spanning_edges", {"algorithm": "prim"}),
    ):  # fmt: skip
        assert isinstance(backend.can_run(name, (graph,), arguments), str)
    assert backend.can_run("clustering", (nx.DiGraph(),), {}) is not True
    assert backend.can_run("pagerank", (graph,), {}) is True


def test_a_class_that_shows_other_edges_than_it_holds_is_left_to_networkx():
    class Complement(nx.Graph):
        def __getitem__(self, node):
            return {other: {} for other in self._adj if other != node and other not in self._adj[node]}

    class Named(nx.MultiDiGraph):
        name = "named"

    assert backend.can_run("core_number", (Complement([(0, 1)]),), {}) == "a Complement has other edges than its dicts"
    for graph in (Named(), nx.path_graph(4).subgraph([1]), nx.DiGraph().reverse(copy=False)):
        assert backend.can_run("core_number", (graph,), {}) is True
    assert backend.can_run("core_number", (convert_from_nx(nx.path_graph(3)),), {}) is True


def test_small_graphs_are_not_worth_converting_unless_they_are_converted():
    small, large = nx.path_graph(20), nx.path_graph(20_000)
    assert isinstance(backend.should_run("pagerank", (small,), {}), str)
    assert backend.should_run("pagerank", (large,), {}) is True
    assert isinstance(backend.should_run("degree_centrality", (large,), {}), str)
    large.__networkx_cache__["backends"] = {"arcflux": {"key": convert_from_nx(large)}}
    assert backend.should_run("degree_centrality", (large,), {}) is True
    assert backend.should_run("pagerank", (convert_from_nx(small),), {}) is True


def test_every_function_has_its_gain_and_what_gains_nothing_stays_with_networkx():
    assert GAINS.keys() == FUNCTIONS.keys()
    graph = nx.gnm_random_graph(300, 3000, seed=1)
    answers = {name: worth_it(name, {"G": graph, "ebunch": [(0, 1)]}, True) for name in FUNCTIONS}
    assert answers["k_truss"] is True
    assert answers["dijkstra_path"] == "it looks at less than conversion would"
    assert answers["jaccard_coefficient"] == "the graph is too small to be worth it"  # of one pair
    assert worth_it("jaccard_coefficient", {"G": graph, "ebunch": list(graph.edges)}, True) is True


def test_a_call_is_taken_from_where_the_gain_is_more_than_it_costs():
    call, gain = GAINS["single_source_dijkstra_path_length"]
    for weight, own in ((None, CONVERSION), ("weight", CONVERSION + WEIGHTS)):
        least = 1000 * (call + BEGINNING) / (gain - own)
        for nodes in (int(least / 3) - 2, int(least / 3) + 3):  # a path has two arcs for each node
            given = {"G": nx.path_graph(nodes), "weight": weight}
            expected = True if nodes > least / 3 else "the graph is too small to be worth it"
            assert worth_it("single_source_dijkstra_path_length", given, False) == expected
    assert size_of("diameter", {"G": nx.path_graph(10)}) == 10 * (10 + 18)
    assert size_of("betweenness_centrality", {"G": nx.path_graph(10), "k": 2}) == 2 * (10 + 18)


def test_a_graph_of_arcflux_goes_in_without_being_converted():
    made = BackendGraph.of(af.Graph.from_edges(["b", "a", "a"], ["c", "b", "c"], columns={"weight": [1.0, 2.0, 5.0]}))
    assert backend.single_source_dijkstra_path(made, "a") == {"a": ["a"], "b": ["a", "b"], "c": ["a", "b", "c"]}
    back = convert_to_nx(made)
    assert nx.utils.graphs_equal(
        back, nx.DiGraph([("b", "c", {"weight": 1.0}), ("a", "b", {"weight": 2.0}), ("a", "c", {"weight": 5.0})])
    )
    several = BackendGraph.of(af.Graph.from_edges([0, 0], [1, 1]))
    assert several.is_multigraph()
    assert convert_to_nx(several).number_of_edges() == 2


def test_views_and_attributes_are_read_as_they_are():
    graph = nx.path_graph(5)
    nx.set_edge_attributes(graph, {(0, 1): 3}, "weight")
    view = graph.subgraph([0, 1, 3])
    assert convert_from_nx(view).graph.edges == 1
    assert convert_from_nx(view, edge_attrs={"weight": 7}).column("weight", 7).tolist() == [3, 3]
    assert convert_from_nx(graph).column("weight").tolist() == [3, 3, 1, 1, 1, 1, 1, 1]
    turned = nx.DiGraph([(0, 1), (1, 2)]).reverse(copy=False)
    assert plain(backend.descendants(convert_from_nx(turned), 2)) == {0, 1}
    graph = nx.path_graph(3)
    converted = convert_from_nx(graph)
    graph.add_edge(0, 2)
    with pytest.raises(RuntimeError, match="changed after it was converted"):
        converted.column("weight")


def test_an_earlier_conversion_gives_its_rows_to_a_later_one():
    graph = nx.path_graph(4)
    first = convert_from_nx(graph)
    graph.__networkx_cache__["backends"] = {"arcflux": {"key": first}}
    assert convert_from_nx(graph, edge_attrs={"weight": 1}).graph is first.graph


def test_settings_say_where_it_runs(monkeypatch):
    asked = {}

    def core_number(graph, **options):
        asked.update(options)
        return real(graph, **options)

    real = af.core_number
    monkeypatch.setattr("arcflux.integrations.networkx.settings._settings", lambda: {**SETTINGS, "parts": 2})
    monkeypatch.setattr(af, "core_number", core_number)
    assert backend.core_number(convert_from_nx(nx.complete_graph(4))) == dict.fromkeys(range(4), 3)
    assert asked == {"parts": 2}
    assert math.isclose(sum(backend.pagerank(convert_from_nx(nx.complete_graph(4))).values()), 1)

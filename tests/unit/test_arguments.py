"""Wrong arguments: every public call either works or raises what errors.py promises, never an error from the depths."""

import atexit
import inspect
import math
import os
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from tempfile import NamedTemporaryFile
from typing import Any, NamedTuple

import numpy as np
import pytest

import arcflux as af
from arcflux import algorithms, generate, trace, validate
from arcflux.errors import ArcfluxError, ProgramError, SpaceError, UsageError, WeightError

HUGE = 1 << 63
BAD: list[Any] = [
    None, "x", "", b"x", -1, 0, 1.5, math.nan, math.inf, -math.inf, HUGE, -HUGE - 1, 10**400, True, 1j,
    [], {}, (), [None], ["x"], [math.nan], [[1], [2, 3]], [HUGE], {"x": "y"}, {0: math.nan}, object(), print, int,
    np.array([1.5, math.nan]), np.zeros((2, 2)), np.array(None), np.int64(-1), np.float32("nan"),
    np.timedelta64(1, "s"), np.datetime64("NaT"), np.ma.masked_array([0, 1, 1, 0, 1], [1, 0, 0, 0, 0]), range(10**18),
]  # fmt: skip
# What native algorithms take of it.
WHERE = ["threads", "parts", "partition", "transport", "ranks_per_node", "devices"]
# What algorithms pass on to af.run.
OPTIONS = [
    "deterministic", "debug", "devices", "direction", "exchange", "given", "max_supersteps", "partition", "parts",
    "progress", "ranks_per_node", "rebalance", "threads", "timeout", "transport",
]  # fmt: skip


@af.program
class Small:
    """One of each kind of parameter."""

    source: af.vertex
    whole: int = 2
    real: float = 0.5
    truth: bool = True
    tolerance: float = 0.1
    x: af.f64

    def start(v):
        v.x = 1.0
        return True

    def init(v):
        v.x = 0.0

    def compute(v, u):
        v.x += u.x

    def update(v, p, step):
        v.x = v.x * p.real if p.truth and v.number != p.source else 0.0
        return step + 1 < p.whole

    def residual(v, old):
        return abs(v.x - old.x)


class Call(NamedTuple):
    """A call that works, and the names of its arguments."""

    call: Callable[..., Any]
    right: dict[str, Any]
    more: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        parameters = inspect.signature(self.call).parameters.values()
        return [p.name for p in parameters if p.kind is not p.VAR_KEYWORD and p.kind is not p.VAR_POSITIONAL] + list(
            self.more
        )

    def given(self, name: str, value: Any) -> Any:
        """Call it with one argument replaced."""
        parameters = inspect.signature(self.call).parameters
        first = [n for n, p in parameters.items() if p.kind is p.POSITIONAL_ONLY]
        all_of = {**self.right, name: value}
        return self.call(*(all_of.pop(n) for n in first), **all_of)


@cache
def graph() -> af.Graph:
    return af.Graph.from_edges([0, 1, 2, 3, 0], [1, 2, 3, 4, 2], columns={"weight": [1, 2, 3, 1, 2]}, directed=False)


@cache
def written() -> str:
    """A file with a graph."""
    with NamedTemporaryFile("w", suffix=".csv", delete=False) as file:
        file.write("source,target,weight\n0,1,2\n1,2,3\n")
    atexit.register(os.unlink, file.name)
    return file.name


@cache
def ratings() -> af.Graph:
    return af.load("ratings:8x6,per=3")


@cache
def result() -> af.Result:
    return af.pagerank(graph())


@cache
def factors() -> af.Result:
    return af.collaborative_filtering(ratings(), factors=2, iterations=2)


def applied() -> dict[str, dict[str, Any]]:
    """What applications need, and what keeps them quick."""
    quick = {"dimensions": 2, "walk_length": 3, "walks_per_vertex": 1}
    return {
        "random_walks": {"walk_length": 3}, "graph_search": {"walk_length": 3}, "scan_statistics": {},
        "vertex_nomination": {"seeds": [0]}, "local_clustering": {"seeds": [0], "rho": 1e-3},
        "geolocate": {"locations": [[0.0, 0.0]] + [[math.nan] * 2] * 4}, "node2vec": quick, "deepwalk": quick,
        "graphsage": {"features": np.ones((5, 2)), "weights": [np.ones((2, 2))] * 2 + [np.ones((4, 2))] * 2,
                      "children": 2},
        "maximum_flow": {"source": 0, "sink": 4, "capacity": "weight"},
        "minimum_cut": {"source": 0, "sink": 4, "capacity": "weight"}, "project": {},
        "fused_lasso": {"signal": [0.0, 0.0, 1.0, 1.0, 2.0]}, "match_graphs": {"other": graph()},
        "classify": {"pattern": graph()},
    }  # fmt: skip


PAIR = {"source": 0, "target": 3}
LIBRARY: dict[str, dict[str, Any]] = {
    **{key: {} for key in (
        "adamic_adar_index", "all_pairs_distances", "approximate_closeness", "articulation_points",
        "average_clustering", "average_shortest_path_length", "biconnected_components", "bridges", "center",
        "condensation", "cosine_similarity", "dag_longest_path", "dag_longest_path_length",
        "degree_assortativity_coefficient", "degree_centrality", "density", "diameter", "distance_matrix",
        "edge_betweenness_centrality", "edge_support", "fast_random_projection", "greedy_color",
        "jaccard_coefficient", "k_core", "k_truss", "maximal_independent_set", "maximal_matching",
        "maximum_bipartite_matching",
        "maximum_spanning_tree", "minimum_spanning_tree", "most_similar", "overlap_coefficient", "periphery",
        "radius", "reciprocity", "resource_allocation_index", "topological_sort", "transitivity", "triad_census",
        "truss_number", "voterank",
    )},
    **dict.fromkeys(("shortest_path", "shortest_path_length", "has_path", "astar_path"), PAIR),
    "k_shortest_paths": {**PAIR, "k": 2}, "k_hop": {"sources": [0]}, "ego_graph": {"n": 0},
    "conductance": {"community": [0] * 5}, "coverage": {"community": [0] * 5},
}  # fmt: skip
DIVISIONS = ("adjusted_rand_index", "normalized_mutual_information")


def calls() -> dict[str, Call]:
    """Every public call, by a name to read."""
    g, some = {"graph": graph()}, tuple(OPTIONS)
    level, parent = [0, 1, 1, 2, 3], [0, 0, 0, 2, 3]
    made = {
        "run": Call(af.run, {"program": Small, **g, "source": 0}, ("source", "whole", "real", "truth", "tolerance")),
        "program": Call(Small, {}, ("source", "whole", "real", "truth", "tolerance")),
        "load": Call(af.load, {"source": "path:4"}),
        "load a file": Call(af.load, {"source": written()}),
        "partition": Call(af.partition, {**g, "k": 2}),
        "plan": Call(af.plan, {"algorithm": "pagerank", **g, "on": "dgx1"}),
        "estimate": Call(af.estimate, {"algorithm": "pagerank", **g, "on": "dgx1"}),
        "predict": Call(algorithms.predict, {"result": factors(), "users": [0], "items": [8]}),
        "recommend": Call(algorithms.recommend, {"result": factors(), "vertex": 0}),
        "from_edges": Call(af.Graph.from_edges, {"source": [0, 1], "target": [1, 2]}),
        "with_columns": Call(graph().with_columns, {"columns": {"weight": graph().columns["weight"]}}),
    }
    needs = {"bfs": {"source": 0}, "sssp": {"source": 0}, "multi_source_sssp": {"sources": [0]}}
    for name in ("bfs", "connected_components", "multi_source_sssp", "pagerank", "pagerank_delta", "sssp",
                 "core_number", "hits", "strongly_connected_components", "katz_centrality", "eigenvector_centrality",
                 "closeness_centrality", "harmonic_centrality", "eccentricity"):  # fmt: skip
        made[name] = Call(getattr(af, name), {**g, **needs.get(name, {})}, some)
    made |= {name: Call(getattr(af, name), {**g, **given}) for name, given in LIBRARY.items()}
    made |= {name: Call(getattr(af, name), {"one": [0, 1], "other": [1, 1]}) for name in DIVISIONS}
    made["collaborative_filtering"] = Call(af.collaborative_filtering, {"graph": ratings(), "iterations": 2}, some)
    made["modularity"] = Call(af.modularity, {**g, "community": [0] * graph().vertices})
    for name in ("betweenness_centrality", "clustering", "label_propagation", "leiden", "louvain", "triangle_count",
                 "triangles", "two_hop_friends", "weakly_connected_components"):  # fmt: skip
        made[name] = Call(getattr(af, name), g, tuple(WHERE))
    for name, given in applied().items():
        made[name] = Call(getattr(af, name), {**g, **given}, some if name == "vertex_nomination" else tuple(WHERE))
    made["spatial_median"] = Call(af.spatial_median, {"points": [[0, 0], [1, 1], [2, 0]]})
    sizes = {"scale": 3, "vertices": 5, "rows": 2, "columns": 2, "users": 4, "items": 4, "worlds": 2, "size": 12}
    for name in (
        "complete",
        "cycle",
        "grid",
        "kronecker",
        "path",
        "ratings",
        "rmat",
        "small_worlds",
        "star",
        "uniform",
    ):
        call = getattr(generate, name)
        wanted = [n for n, p in inspect.signature(call).parameters.items() if p.default is p.empty]
        more = {"scale": 3} if name == "uniform" else {"per_user": 2} if name == "ratings" else {}
        made[f"generate.{name}"] = Call(call, {n: sizes[n] for n in wanted} | more)
    made["generate.watts_strogatz"] = Call(generate.watts_strogatz, {"vertices": 20, "k": 4})
    lfr = {"vertices": 60, "degree": (3, 6), "community": (10, 20)}
    more = {
        "correlated": {"vertices": 5}, "correlated_pair": {"vertices": 5}, "genrmf": {"side": 2, "frames": 2},
        "lfr": lfr, "lfr_communities": lfr, "planted_partition": {"groups": 2, "size": 3},
        "random_geometric": {"vertices": 20}, "coordinates": {"vertices": 5},
        "ring_of_cliques": {"cliques": 3, "size": 3}, "is_spec": {"text": "kron:3"},
        "stochastic_block_model": {"sizes": [2, 3], "p": [[0.5, 0.1], [0.1, 0.5]]},
    }  # fmt: skip
    made |= {f"generate.{name}": Call(getattr(generate, name), given) for name, given in more.items()}
    made["generate.from_spec"] = Call(generate.from_spec, {"text": "path:4"})
    made["generate.parse"] = Call(generate.parse, {"text": "path:4"})
    right = {
        "betweenness": {**g, "sources": [0], "centrality": [0.0] * 5},
        "bfs": {**g, "source": 0, "level": level, "parent": parent},
        "components": {**g, "component": [0] * 5},
        "grid_bfs": {**g, "source": 0, "level": level, "parent": parent, "parts": 1},
        "ldbc": {"algorithm": "pr", "got": {0: 1.0}, "expected": {0: 1.0}},
        "pagerank": {**g, "rank": result()["rank"]},
        "read_ldbc_output": {"path": "there is no such file"},
        "biconnected_components": {**g, "component": [0] * graph().arcs},
        "closeness": {**g, "centrality": [1.0] * 5, "vertices": [0]},
        "clustering": {**g, "clustering": [0.0] * 5},
        "collaborative_filtering": {"graph": ratings(), "factors": factors()["factors"], "rate": 0.01},
        "core_number": {**g, "core": [1] * 5},
        "eccentricity": {**g, "eccentricity": [1.0] * 5, "vertices": [0]},
        "edge_betweenness": {**g, "centrality": [0.0] * graph().arcs, "sources": [0]},
        "edge_support": {**g, "support": [0] * graph().arcs},
        "eigenvector": {**g, "centrality": [0.5] * 5},
        "fast_random_projection": {**g, "embedding": np.zeros((5, 2))},
        "harmonic": {**g, "centrality": [1.0] * 5, "vertices": [0]},
        "hits": {**g, "hub": [0.2] * 5, "authority": [0.2] * 5},
        "k_hop": {**g, "sources": [0], "hops": [0, 1, 1, 2, -1]},
        "katz": {**g, "centrality": [0.5] * 5},
        "label_propagation": {**g, "label": [0] * 5, "rounds": 1},
        "strong_components": {**g, "component": [0] * 5},
        "truss_number": {**g, "truss": [2] * graph().arcs},
        "two_hop_friends": {**g, "vertices": [0], "count": [1, -1, -1, -1, -1]},
        "embedding": {**g, "rows": np.zeros((5, 2))},
        "geolocation": {**g, "known": np.zeros((5, 2)), "places": np.zeros((5, 2)), "rounds": [0] * 5},
        "scan_statistics": {**g, "statistic": [3, 3, 4, 2, 1]},
        "search": {**g, "rows": [[0, 1]], "scores": [1] * 5},
        "walks": {**g, "rows": [[0, 1]]},
        "sssp": {**g, "source": 0, "distance": [0, 1, 2, 5, 6]},
        "triangles": {**g, "total": 1, "per_vertex": [1, 1, 1, 0, 0]},
        "classification": {**g, "log_probability": np.zeros((5, 5)), "pattern": g["graph"]},
        "coloring": {**g, "color": [0, 1, 2, 0, 1]}, "communities": {**g, "community": [0] * 5},
        "graph_matching": {**g, "other": g["graph"], "match": [0, 1, 2, 3, 4], "disagreements": 0},
        "independent_set": {**g, "inside": [1, 0, 0, 0, 0]}, "matching": {**g, "mate": [-1] * 5},
        "local_clusters": {**g, "found": None}, "projection": {**g, "projected": g["graph"]},
        "maximum_matching": {"graph": af.load("path:4"), "mate": [1, 0, 3, 2], "side": [0, 1, 0, 1]},
        "articulation_points": {**g, "articulation": [False] * 5}, "bridges": {**g, "chosen": [True] * 10},
        "k_truss": {**g, "chosen": [True] * 10, "k": 3},
        "maximum_flow": {**g, "source": 0, "sink": 4, "capacity": "weight", "value": 1.0, "side": [True] + [False] * 4},
        "fused_lasso": {**g, "signal": [0.0] * 5, "found": [0.0] * 5, "penalty": 1.0, "dual": [0.0] * 10},
        "spanning_forest": {**g, "chosen": [True] * 10}, "topological_order": {**g, "position": [0, 1, 2, 3, 4]},
    }  # fmt: skip
    made |= {f"validate.{name}": Call(getattr(validate, name), given) for name, given in right.items()}
    for name in ("subgraph", "edge_subgraph", "to_scipy", "to_undirected", "has_edge", "neighbours", "__contains__"):
        needed = {
            "subgraph": {"vertices": [0]}, "edge_subgraph": {"chosen": [True] * 10},
            "has_edge": {"source": 0, "target": 1}, "neighbours": {"vertex": 0},
        }  # fmt: skip
        made[f"Graph.{name}"] = Call(getattr(graph(), name), needed.get(name, {}))
    for name in ("__getitem__", "numbers", "to_numpy", "to_dict", "top", "save"):
        needed = {"__getitem__": {"field": "rank"}, "numbers": {"field": "rank"}, "save": {"path": "/nowhere/x.csv"}}
        made[f"Result.{name}"] = Call(getattr(result(), name), needed.get(name, {}))
    return made


NAMES = [
    "run", "program", "load", "load a file", "partition", "plan", "estimate", "predict", "recommend", "from_edges",
    "with_columns",
    "bfs", "connected_components", "multi_source_sssp", "pagerank", "pagerank_delta", "sssp",
    "core_number", "hits", "strongly_connected_components", "katz_centrality", "eigenvector_centrality",
    "closeness_centrality", "harmonic_centrality", "eccentricity", *LIBRARY, *DIVISIONS,
    "collaborative_filtering", "betweenness_centrality", "clustering", "label_propagation", "leiden", "louvain",
    "deepwalk", "geolocate", "graph_search", "graphsage", "local_clustering", "node2vec", "random_walks",
    "scan_statistics", "spatial_median", "vertex_nomination",
    "classify", "fused_lasso", "match_graphs", "maximum_flow", "minimum_cut", "project",
    "validate.embedding", "validate.geolocation", "validate.scan_statistics", "validate.search", "validate.walks",
    "modularity", "triangle_count", "triangles", "two_hop_friends", "weakly_connected_components", "generate.complete",
    "generate.cycle",
    "generate.grid", "generate.kronecker", "generate.path", "generate.ratings", "generate.rmat",
    "generate.small_worlds", "generate.star", "generate.uniform", "generate.watts_strogatz", "generate.from_spec",
    "generate.parse", "validate.betweenness", "validate.bfs", "validate.components", "validate.grid_bfs",
    *(f"validate.{name}" for name in (
        "biconnected_components", "closeness", "clustering", "collaborative_filtering", "core_number", "eccentricity",
        "edge_betweenness", "edge_support", "eigenvector", "fast_random_projection", "harmonic", "hits", "k_hop",
        "katz", "label_propagation", "strong_components", "truss_number", "two_hop_friends",
    )),
    "validate.ldbc", "validate.pagerank", "validate.read_ldbc_output", "validate.sssp", "validate.triangles",
    *(f"generate.{name}" for name in (
        "correlated", "correlated_pair", "genrmf", "lfr", "lfr_communities", "planted_partition", "random_geometric",
        "coordinates", "ring_of_cliques", "is_spec", "stochastic_block_model",
    )),
    *(f"validate.{name}" for name in (
        "articulation_points", "bridges", "classification", "coloring", "communities", "fused_lasso", "graph_matching",
        "independent_set", "matching", "local_clusters",
        "projection", "k_truss", "maximum_flow", "maximum_matching", "spanning_forest", "topological_order",
    )),
    *(f"Graph.{name}" for name in (
        "subgraph", "edge_subgraph", "to_scipy", "to_undirected", "has_edge", "neighbours", "__contains__",
    )),
    "Result.__getitem__", "Result.numbers", "Result.to_numpy", "Result.to_dict", "Result.top", "Result.save",
]  # fmt: skip


def shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 40 else text[:37] + "..."


@pytest.mark.parametrize("name", NAMES)
def test_wrong_arguments_get_an_error_of_ours(name: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a few of the values are file names
    call, raw = calls()[name], []
    for argument in call.names:
        for value in BAD:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    call.given(argument, value)
                except ArcfluxError:
                    pass
                except Exception as error:
                    raw.append(f"{argument}={shown(value)}: {type(error).__name__}: {str(error)[:90]}")
    assert not raw, f"{len(raw)} of {name}:\n" + "\n".join(raw)


def test_every_public_call_is_tried() -> None:
    assert set(NAMES) == set(calls())
    public = {n for n in af.__all__ if inspect.isfunction(getattr(af, n))}
    words = {"any", "dot", "edge", "emv", "first", "gas", "intersect", "last", "mail", "median", "mode", "msg"}
    words |= {"neighbour", "out_edge", "phase", "program", "random", "send"}
    words |= {"topk", "total"}  # of programs
    words |= {"calibrate", "load_parts", "save"}  # write folders
    assert public - words <= set(NAMES)
    for module in (generate, validate):
        functions = {n for n in module.__all__ if inspect.isfunction(getattr(module, n))}
        assert {f"{module.__name__.removeprefix('arcflux.')}.{n}" for n in functions} <= set(NAMES)


def test_swapped_arguments_say_what_was_meant() -> None:
    with pytest.raises(UsageError, match=r"(?s)program is .*Graph.*try: .*af\.run\(program, graph\)"):
        af.run(graph(), Small)
    with pytest.raises(UsageError, match="int is no graph"):
        af.bfs(0, graph())
    with pytest.raises(UsageError, match="float is no graph"):
        af.pagerank(0.85, graph())


@pytest.mark.parametrize("value", [HUGE, -HUGE - 1, np.uint64(HUGE)])
def test_parameters_of_more_than_64_bits_are_refused(value: Any) -> None:
    with pytest.raises(UsageError, match=r"(?s)Small's parameter whole is .*64 bits"):
        af.run(Small, graph(), source=0, whole=value)
    assert Small(whole=HUGE - 1).parameters["whole"].value == HUGE - 1


def test_defaults_are_held_to_their_kind() -> None:

    with pytest.raises(ProgramError, match="parameter whole is 9223372036854775808"):

        @af.program
        class Wide:
            whole: int = 9223372036854775808
            x: af.f64

            def start(v):
                return True

            def compute(v, u):
                v.x += u.x

            def update(v):
                return False


def test_a_number_is_no_file(tmp_path: Any) -> None:
    """1 would be the standard output, which would be closed."""
    for call in (validate.read_ldbc_output, result().save):
        with pytest.raises(UsageError, match="path is 1"):
            call(1)


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: repr(bad)[:20])
@pytest.mark.parametrize("name", ["graph.save", "parts.save", "parts.plot", "parts.part", "parts.owned", "load_parts"])
def test_methods_refuse_what_is_no_path_and_no_part(name: str, bad: Any, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    parts = af.partition("path:9", 2)
    called = {"graph": parts.graph, "parts": parts}.get(name.split(".")[0], af)
    with suppress(ArcfluxError):
        getattr(called, name.split(".")[-1])(bad)
        assert isinstance(bad, str) or bad in (0, True)  # text is a path, and there are parts 0 and 1


@pytest.mark.parametrize("bad", [None, 3, b"x.svg", object()], ids=lambda bad: type(bad).__name__)
def test_a_plan_is_drawn_into_a_file(bad: Any) -> None:
    """A stranger takes None for "show it"."""
    with pytest.raises(UsageError, match=r"(?s)target is .*the path of a file"):
        af.plan("bfs", "kron:10", on="dgx1").plot(bad)


def test_a_span_of_time_is_no_number() -> None:
    """NumPy has it among its integers."""
    with pytest.raises(UsageError, match=r"tol is .*timedelta64"):
        af.pagerank(graph(), tol=np.timedelta64(3))


BEYOND = range(10**15)
FEW = {"graph": af.load("path:5")}
MASKED = np.ma.masked_array([0, 1, 1, 0, 1], [1, 0, 0, 0, 0])
NO_NUMBERS = [
    "-1", np.datetime64("NaT"), np.timedelta64(1, "s"), 1j, np.zeros(5, complex), np.zeros(5, "M8[s]"), MASKED,
]  # fmt: skip


@pytest.mark.parametrize("value", [*NO_NUMBERS, {0: [1]}, {0: "1"}], ids=lambda value: repr(value)[:24])
@pytest.mark.parametrize(
    ("name", "argument"),
    [
        ("pagerank", "personalization"), ("pagerank", "nstart"), ("hits", "nstart"), ("katz_centrality", "beta"),
        ("katz_centrality", "nstart"), ("eigenvector_centrality", "nstart"), ("fast_random_projection",
        "iteration_weights"),
    ],
)  # fmt: skip
def test_what_numpy_would_make_a_number_of_is_none(name: str, argument: str, value: Any) -> None:
    with pytest.raises(UsageError, match=argument):
        getattr(af, name)(graph(), **{argument: value})


def test_masked_values_are_not_taken_for_what_is_under_the_mask() -> None:
    for call in (
        lambda: af.k_hop(graph(), MASKED), lambda: af.conductance(graph(), MASKED), lambda: af.estimate(
            "bfs", graph(), parts=5, speeds=MASKED), lambda: algorithms.predict(factors(), MASKED, [8] * 5),
    ):  # fmt: skip
        with pytest.raises(UsageError, match="masked"):
            call()


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("hits", {"tol": -1}, "from 0 on"), ("hits", {"tol": math.nan}, "from 0 on"),
        ("katz_centrality", {"tol": math.nan}, "from 0 on"), ("eigenvector_centrality", {"tol": -1e-9}, "from 0 on"),
        ("katz_centrality", {"alpha": math.inf}, "finite"), ("bfs", {"source": 0, "partition": "grdi"}, "did you mean"),
        ("estimate", {"algorithm": "bfs", "parts": 2, "speeds": range(10**18)}, "for each part"),
        ("node2vec", {"dimensions": 2, "walk_length": 3, "negative": 1 << 31}, "at most 1000"),
        ("match_graphs", {"other": FEW["graph"], "seeds": BEYOND}, "fit into memory"),
    ],
)  # fmt: skip
def test_numbers_that_no_run_can_reach_are_refused(name: str, given: dict[str, Any], expected: str) -> None:
    with pytest.raises(UsageError, match=expected):
        getattr(af, name)(graph=graph(), **given)


@pytest.mark.parametrize("given", [{"rate": -1.0}, {"regularisation": -0.1}, {"rate": math.nan}])
def test_factors_do_not_climb(given: dict[str, Any]) -> None:
    """With a rate below 0 the error grew, and the result was marked as converged."""
    with pytest.raises(UsageError, match="from 0 on"):
        af.collaborative_filtering(ratings(), **given)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("katz_centrality", {"beta": 1e308}), ("katz_centrality", {"alpha": 1e308}),
        ("fast_random_projection", {"iteration_weights": [1.7e308] * 4}),
    ],
)  # fmt: skip
def test_sums_that_are_no_floats_have_not_converged(name: str, given: dict[str, Any]) -> None:
    with pytest.warns(UserWarning, match="before it converged"):
        result = getattr(af, name)(graph(), **given)
    assert not result.converged


def test_large_first_values_lead_to_the_same_vector() -> None:
    """Their sum is no float, and the vector was all zeros, marked as converged."""
    usual = af.eigenvector_centrality(graph())["centrality"]
    for first in (1e308, [1e308] * 5, dict.fromkeys(range(5), 1e308)):
        np.testing.assert_allclose(af.eigenvector_centrality(graph(), nstart=first)["centrality"], usual)


def test_a_column_that_is_not_there_is_no_matrix_of_ones() -> None:
    with pytest.raises(WeightError, match=r"(?s)no edge column 'wieght'.*weight"):
        graph().to_scipy("wieght")
    assert af.load("path:3").to_scipy().dtype == np.bool_  # without weights, as ever


def test_what_is_undirected_refuses_what_is_directed_refuses() -> None:
    for bad in ({"reciprocal": "x"}, {"deduplicate": 5}):
        for one in (graph(), af.Graph.from_edges([0], [1])):
            with pytest.raises(ArcfluxError, match=next(iter(bad))):
                one.to_undirected(**bad)


@pytest.mark.parametrize("name", ["graph.save", "parts.save", "load_parts", "Checkpoint"])
@pytest.mark.parametrize(("bad", "why"), [("a\0b", "no character is 0"), ("\ud800.csv", "half of a surrogate pair")])
def test_a_path_that_no_file_can_have_is_refused(name: str, bad: str, why: str) -> None:
    parts = af.partition("path:9", 2)
    called = {"graph": parts.graph, "parts": parts}.get(name.split(".")[0], af)
    with pytest.raises(UsageError, match=why):
        getattr(called, name.split(".")[-1])(bad)


@pytest.mark.parametrize(
    "ends", [([0], [10**9]), ([-1], [0]), ([0, 1], [0]), (["x"], [0]), ([0.5], [0]), (0, 0)], ids=str
)
def test_arcs_of_vertices_that_are_not_there_are_at_no_part(ends: Any) -> None:
    """Kernels would read behind their tables."""
    parts = af.partition("path:9", 2)
    assert parts.where([0, 8], [1, 7]).tolist() == [0, 1]
    assert parts.where([], []).tolist() == []
    with pytest.raises(UsageError):
        parts.where(*ends)


@pytest.mark.parametrize("word", ["neighbour", "out_edge"])
def test_words_of_programs_say_where_they_belong(word: str) -> None:
    for bad in (*BAD, graph()):
        with pytest.raises(UsageError, match=rf"af\.{word} was called outside of a program"):
            getattr(af, word)(bad, 0)


@pytest.mark.parametrize(
    "bad", [np.zeros(2), np.array(["along"]), object(), 1, "x"], ids=["numbers", "words", "object", "number", "word"]
)
def test_a_phase_has_its_edges_by_name(bad: Any) -> None:
    with pytest.raises(UsageError, match="a phase has edges="):
        af.phase(edges=bad)


@pytest.mark.parametrize("given", [{"limits": 3}, {"limits": np.zeros(2)}, {"key": 1.5}], ids=str)
def test_a_job_is_checked_before_it_is_sent(given: dict[str, Any]) -> None:
    client = af.Client("http://127.0.0.1:9", "token", timeout=0.1)
    with pytest.raises(UsageError, match=next(iter(given))):
        client.submit("graph", "bfs", **given)
    with pytest.raises(UsageError, match="ident"):
        client.status("\ud800")


def test_a_graph_equals_nothing_else() -> None:
    assert not any(af.load("path:2").equals(bad) for bad in BAD)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("bfs", {"source": BEYOND}), ("betweenness_centrality", {"sources": BEYOND}), ("k_hop", {"sources": BEYOND}),
        ("pagerank", {"personalization": BEYOND}), ("modularity", {"community": BEYOND}),
        ("jaccard_coefficient", {"pairs": BEYOND}), ("astar_path", {"source": 0, "target": BEYOND}),
    ],
)  # fmt: skip
def test_values_beyond_memory_are_refused(name: str, given: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="fit into memory"):
        getattr(af, name)(**FEW, **given)


def test_ids_beyond_memory_are_refused() -> None:
    with pytest.raises(SpaceError, match="vertex ids"):
        FEW["graph"].has_edge(BEYOND, 0)


@pytest.mark.parametrize("values", [{0: "x"}, {0: None}, {0: [1, 2]}, {0: 10**400}])
@pytest.mark.parametrize("name", ["hits", "katz_centrality", "eigenvector_centrality", "pagerank", "astar_path"])
def test_numbers_by_id_that_are_none_are_refused(name: str, values: Any) -> None:
    given = {"source": 0, "target": 3, "heuristic": values} if name == "astar_path" else {"nstart": values}
    with pytest.raises(UsageError):
        getattr(af, name)(**FEW, **given)


LONG = "x" * 5000


@pytest.mark.parametrize(
    "call",
    [
        lambda: af.load(LONG), lambda: af.load(f"{LONG}.e"), lambda: af.load_parts(LONG),
        lambda: FEW["graph"].save(LONG), lambda: FEW["graph"].save(f"{LONG}.csv"),
        lambda: af.plan("bfs", LONG, on="dgx1"), lambda: af.estimate("bfs", LONG, on="dgx1"),
        lambda: validate.read_ldbc_output(LONG), lambda: result().save(f"{LONG}.csv"),
    ],
)  # fmt: skip
def test_names_longer_than_the_system_has_are_no_files(call: Any) -> None:
    with pytest.raises(ArcfluxError):
        call()


def test_a_checkpoint_that_cannot_be_written_is_told_and_the_run_goes_on() -> None:
    notes: list[Any] = []
    with trace.listen(notes.append), pytest.warns(UserWarning, match="before it converged"):
        found = af.run(algorithms.Components, **FEW, checkpoint=LONG, max_supersteps=2)
    assert found.supersteps == 2
    assert any("was not kept" in getattr(note, "text", "") for note in notes)


def test_a_tolerance_below_which_gains_cannot_fall_is_refused() -> None:
    """5e-324 times 0.85 is 5e-324."""
    with pytest.raises(UsageError, match="tol is 5e-324"):
        af.pagerank_delta(**FEW, tol=5e-324)
    assert af.pagerank_delta(**FEW, tol=2.3e-308).converged


DEEP: Any = []
for _ in range(90):
    DEEP = [DEEP]
ODD: list[Any] = [
    "x",
    -1,
    1.5,
    math.nan,
    None,
    [None],
    ["x"],
    DEEP,
    np.zeros((2, 2)),
    np.array([1.5, math.nan]),
    {0: 1},
]


def odd_calls() -> dict[str, Callable[[Any], Any]]:
    """Calls that are less often made, each with one argument to be given."""
    g, parts = graph(), af.partition("path:9", 2)
    directed = af.Graph.from_edges([0, 1, 2], [1, 2, 0])
    drawing = af.Medusa()
    return {
        "to_undirected(reciprocal)": lambda odd: directed.to_undirected(reciprocal=odd),
        "to_undirected(deduplicate)": lambda odd: directed.to_undirected(deduplicate=odd),
        "from_edges(deduplicate)": lambda odd: af.Graph.from_edges([0], [1], deduplicate=odd),
        "subgraph": g.subgraph, "edge_subgraph": g.edge_subgraph, "to_scipy": g.to_scipy,
        "has_edge": lambda odd: g.has_edge(odd, 0),
        "save(delimiter)": lambda odd: g.save("x.csv", delimiter=odd),
        "save(header)": lambda odd: g.save("x.csv", header=odd),
        "load(comments)": lambda odd: af.load("there.el", comments=odd),
        "load(ids)": lambda odd: af.load("there.el", ids=odd),
        "where(sources)": lambda odd: parts.where(odd, [0]), "where(targets)": lambda odd: parts.where([0], odd),
        "column(name)": result().column, "column(missing)": lambda odd: result().column("none", odd),
        "Jobs(quantum)": lambda odd: af.Jobs(g, quantum=odd).close(),
        "AddEdge": lambda odd: (drawing.AddEdge(0, 1, weight=odd), drawing.graph()),
        "devices.named": af.devices.named,
        "random_weights": af.applications.random_weights,
        "random_weights(seed)": lambda odd: af.applications.random_weights(2, 2, 2, seed=odd),
        "random_weights(combine)": lambda odd: af.applications.random_weights(2, 2, 2, odd),
    }  # fmt: skip


@pytest.mark.parametrize("name", odd_calls())
def test_odd_arguments_get_an_error_of_ours(name: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.el").write_text("0 1\n")
    call = odd_calls()[name]
    for value in ODD:
        with suppress(ArcfluxError):
            call(value)


def test_weights_beyond_memory_are_refused() -> None:
    for size in (10**9, 10**15, HUGE - 1):
        with pytest.raises(SpaceError):
            af.applications.random_weights(size)
    with pytest.raises(SpaceError):
        af.graphsage(
            **FEW, features=np.ones((5, 2)), weights=af.applications.random_weights(2, 4, 4), children=HUGE - 1
        )


@pytest.mark.parametrize("tiny", [5e-324, 1e-309])
def test_chances_and_distances_of_next_to_nothing(tiny: float) -> None:
    """What is divided by them is infinite."""
    assert generate.planted_partition(3, 4, p_in=tiny, p_out=tiny).edges == 0
    assert generate.stochastic_block_model([4, 4], [[tiny, 1], [1, tiny]]).edges == 16
    assert generate.random_geometric(20, tiny).edges == 0
    for option in ({"alpha": tiny}, {"rho": tiny}):
        with suppress(ArcfluxError):
            assert len(af.local_clustering(**FEW, seeds=[0], max_iter=100, **option).seeds) == 1

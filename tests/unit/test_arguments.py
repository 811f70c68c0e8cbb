"""Wrong arguments: every public call either works or raises what errors.py promises, never an error from the depths."""

import inspect
import math
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

import arcflux as af
from arcflux import algorithms, generate, validate
from arcflux.errors import ArcfluxError, ProgramError, UsageError

HUGE = 1 << 63
BAD: list[Any] = [
    None, "x", "", b"x", -1, 0, 1.5, math.nan, math.inf, -math.inf, HUGE, -HUGE - 1, 10**400, True, 1j,
    [], {}, (), [None], ["x"], [math.nan], [[1], [2, 3]], [HUGE], {"x": "y"}, {0: math.nan}, object(), print, int,
    np.array([1.5, math.nan]), np.zeros((2, 2)), np.array(None), np.int64(-1), np.float32("nan"),
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
        "jaccard_coefficient", "k_truss", "maximal_independent_set", "maximal_matching", "maximum_bipartite_matching",
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
        "embedding": {**g, "rows": np.zeros((5, 2))},
        "geolocation": {**g, "known": np.zeros((5, 2)), "places": np.zeros((5, 2)), "rounds": [0] * 5},
        "scan_statistics": {**g, "statistic": [3, 3, 4, 2, 1]},
        "search": {**g, "rows": [[0, 1]], "scores": [1] * 5},
        "walks": {**g, "rows": [[0, 1]]},
        "sssp": {**g, "source": 0, "distance": [0, 1, 2, 5, 6]},
        "triangles": {**g, "total": 1, "per_vertex": [1, 1, 1, 0, 0]},
    }
    made |= {f"validate.{name}": Call(getattr(validate, name), given) for name, given in right.items()}
    for name in ("__getitem__", "numbers", "to_numpy", "to_dict", "top", "save"):
        needed = {"__getitem__": {"field": "rank"}, "numbers": {"field": "rank"}, "save": {"path": "/nowhere/x.csv"}}
        made[f"Result.{name}"] = Call(getattr(result(), name), needed.get(name, {}))
    return made


NAMES = [
    "run", "program", "load", "partition", "plan", "estimate", "predict", "recommend", "from_edges", "with_columns",
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
    "validate.ldbc", "validate.pagerank", "validate.read_ldbc_output", "validate.sssp", "validate.triangles",
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


@pytest.mark.parametrize("name", ["graph.save", "parts.save", "load_parts"])
def test_a_path_with_a_0_in_it_is_refused(name: str) -> None:
    parts = af.partition("path:9", 2)
    called = {"graph": parts.graph, "parts": parts}.get(name.split(".")[0], af)
    with pytest.raises(UsageError, match="no character is 0"):
        getattr(called, name.split(".")[-1])("a\0b")


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


def test_a_graph_equals_nothing_else() -> None:
    assert not any(af.load("path:2").equals(bad) for bad in BAD)

"""Which calls the backend takes: those that it can run at all, and those in which it wins time."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any

import networkx as nx

from _arcflux_networkx import FUNCTIONS
from arcflux.integrations.networkx.gains import worth_it
from arcflux.integrations.networkx.graph import BackendGraph
from arcflux.integrations.networkx.settings import always

__all__ = ["can_run", "should_run"]

Arguments = Mapping[str, Any]
Rule = Callable[[Arguments], str]


def can_run(name: str, args: Any, kwargs: Any) -> bool | str:
    """True, or why a call with these arguments is left to NetworkX.

    Examples
    --------
    >>> import networkx as nx
    >>> can_run("betweenness_centrality", (nx.path_graph(3),), {"weight": "length"})
    'paths are measured in edges'
    """
    given = _bound(name, args, kwargs)
    if not _holds_its_edges(given["G"]):
        return f"a {type(given['G']).__name__} has other edges than its dicts"
    for attribute in ("weight", "distance"):
        if callable(given.get(attribute)):
            return f"{attribute} is a function"
    rule = _RULES.get(name)
    return (rule(given) or True) if rule is not None else True


def _holds_its_edges(graph: Any) -> bool:
    """Whether the edges of a graph are those in its dicts: what its class says of neighbours is NetworkX's own."""
    if not isinstance(graph, nx.Graph):
        return True
    kinds = (nx.MultiGraph, nx.MultiDiGraph) if graph.is_multigraph() else (nx.Graph, nx.DiGraph)
    own, base = type(graph), kinds[graph.is_directed()]
    return all(getattr(own, name) is getattr(base, name) for name in ("adj", "__getitem__", "__iter__", "neighbors"))


def _bound(name: str, args: Any, kwargs: Any) -> Arguments:
    found = _signature(name).bind(*args, **kwargs)
    found.apply_defaults()
    return found.arguments


@cache
def _signature(name: str) -> inspect.Signature:
    module = import_module(f"arcflux.integrations.networkx.functions.{FUNCTIONS[name]}")
    return inspect.signature(getattr(module, name))


def _pagerank(given: Arguments) -> str:
    if given["dangling"] is not None:
        return "dangling nodes have weights of their own"
    alpha = given["alpha"]
    return "" if 0 <= alpha < 1 else f"alpha is {alpha}, which is not from 0 to below 1"


def _hits(given: Arguments) -> str:
    return "" if given["normalized"] else "without normalizing, values are those of ARPACK's vectors"


def _betweenness(given: Arguments) -> str:
    return "" if given["weight"] is None else "paths are measured in edges"


def _clustering(given: Arguments) -> str:
    if given["weight"] is not None:
        return "edges count alike"
    return _simple(given)


def _simple(given: Arguments) -> str:
    graph = given["G"]
    return "the graph is directed or has parallel edges" if graph.is_directed() or graph.is_multigraph() else ""


def _one_way(given: Arguments) -> str:
    graph = given["G"]
    return "" if graph.is_directed() and not graph.is_multigraph() else "edges have no direction, or are parallel"


def _sorted(given: Arguments) -> str:
    return "" if given["sort_neighbors"] is None else "sort_neighbors is a function"


def _lengths(given: Arguments) -> str:
    if given["weight"] is None:
        return ""
    if given["method"] == "bellman-ford":
        return "the order of lengths is that of Bellman and Ford"
    return "paths to a target are looked for backwards" if given["source"] is None is not given["target"] else ""


def _distances(given: Arguments) -> str:
    if given.get("weight") is not None or given.get("distance") is not None:
        return "distances are measured in edges"
    if given.get("usebounds") or given.get("sp") is not None or given.get("method") not in (None, "unweighted"):
        return "distances are found by searches from all nodes"
    some = given.get("nbunch") is not None or given.get("sources") is not None
    return "distances of some nodes alone" if some else ""


def _spanning(given: Arguments) -> str:
    if given["algorithm"] != "kruskal" or given["ignore_nan"]:
        return "edges are taken by Kruskal's algorithm, and none is left out"
    return _simple(given)


def _truss(given: Arguments) -> str:
    return "" if isinstance(given["k"], int) else "k is no whole number"


def _edge_betweenness(given: Arguments) -> str:
    if given["weight"] is not None:
        return "paths are measured in edges"
    return "edges are parallel" if given["G"].is_multigraph() else ""


def _assortativity(given: Arguments) -> str:
    if given["weight"] is not None or given["nodes"] is not None:
        return "degrees of all nodes count edges"
    return "" if {given["x"], given["y"]} <= {"in", "out"} else "a degree is 'in' or 'out'"


def _coloring(given: Arguments) -> str:
    if given["strategy"] != "largest_first" or given["interchange"]:
        return "nodes are coloured by degree, the largest first, and once"
    return "only successors keep a node from a colour" if given["G"].is_directed() else ""


def _bridges(given: Arguments) -> str:
    return "" if given["root"] is None else "bridges of all components are found"


def _links(given: Arguments) -> str:
    if given["ebunch"] is None:
        return "all pairs that are not joined come in the order of sets"
    return _simple(given)


def _census(given: Arguments) -> str:
    return "" if given["nodelist"] is None else "triples of all nodes are counted"


_RULES: dict[str, Rule] = {
    "edge_betweenness_centrality": _edge_betweenness,
    "degree_assortativity_coefficient": _assortativity,
    "greedy_color": _coloring,
    "bridges": _bridges,
    "has_bridges": _bridges,
    "triadic_census": _census,
    **dict.fromkeys((name for name, module in FUNCTIONS.items() if module == "links"), _links),
    "pagerank": _pagerank,
    "hits": _hits,
    "betweenness_centrality": _betweenness,
    "clustering": _clustering,
    "average_clustering": _clustering,
    "transitivity": _simple,
    **dict.fromkeys(("bfs_edges", "bfs_tree", "bfs_predecessors", "bfs_successors"), _sorted),
    "shortest_path_length": _lengths,
    "k_truss": _truss,
    "reciprocity": _one_way,
    "overall_reciprocity": _one_way,
    **dict.fromkeys((name for name, module in FUNCTIONS.items() if module == "distances"), _distances),
    **dict.fromkeys((name for name, module in FUNCTIONS.items() if module == "trees"), _spanning),
}


def should_run(name: str, args: Any, kwargs: Any) -> bool | str:
    """True, or why a call is left to NetworkX although it could be run: it would take longer here.

    Examples
    --------
    >>> import networkx as nx
    >>> should_run("pagerank", (nx.path_graph(3),), {})
    'the graph is too small to be worth it'
    """
    given = _bound(name, args, kwargs)
    graph = given["G"]
    if always() or isinstance(graph, BackendGraph):
        return True
    converted = bool((getattr(graph, "__networkx_cache__", None) or {}).get("backends", {}).get("arcflux"))
    return worth_it(name, given, converted)

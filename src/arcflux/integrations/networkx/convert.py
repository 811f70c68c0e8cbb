"""From NetworkX's dicts to arrays, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import networkx as nx

from arcflux.graph import Graph
from arcflux.integrations.networkx.dicts import columns_of, is_plain, rows_of
from arcflux.integrations.networkx.graph import BackendGraph

__all__ = ["convert_from_nx", "convert_to_nx"]


def convert_from_nx(
    graph: Any,
    edge_attrs: Mapping[str, Any] | None = None,
    node_attrs: Mapping[str, Any] | None = None,
    preserve_edge_attrs: bool = False,
    preserve_node_attrs: bool = False,
    preserve_graph_attrs: bool = False,
    preserve_all_attrs: bool = False,
    name: str | None = None,
    graph_name: str | None = None,
) -> Any:
    """A graph of NetworkX's as arrays; NetworkX calls it, and keeps what it gives in the graph's cache.

    `edge_attrs`, names of edge attributes with a default for edges without them, are read at once. Whatever else a
    function needs is read from the graph when it does. `name` and `graph_name` say for which argument of what it is.

    Examples
    --------
    >>> import networkx as nx
    >>> g = convert_from_nx(nx.path_graph(["a", "b", "c"]), edge_attrs={"weight": 1})
    >>> g.graph.vertices, g.graph.edges, g.find("c"), g.column("weight").tolist()
    (3, 2, 2, [1, 1, 1, 1])
    """
    if isinstance(graph, BackendGraph):
        return graph
    made = _structure(graph)
    if edge_attrs:
        for key, column in columns_of(graph, dict(edge_attrs), made.graph.arcs).items():
            made.keep(key, edge_attrs[key], column)
    return made


def _structure(graph: Any) -> BackendGraph:
    """Nodes and rows: those of an earlier conversion, for other attributes, if NetworkX still keeps it."""
    cache = getattr(graph, "__networkx_cache__", None) or {}
    for earlier in cache.get("backends", {}).get("arcflux", {}).values():
        if isinstance(earlier, BackendGraph):
            return earlier
    directed, multigraph = graph.is_directed(), graph.is_multigraph()
    nodes = list(graph._adj)
    plain = is_plain(nodes)
    rows = rows_of(graph._adj, nodes, plain=plain, multigraph=multigraph)
    made = Graph(rows.arcs, directed=directed, loops=0 if directed else rows.loops, sorted=False)
    found = BackendGraph(made, nodes, multigraph=multigraph, origin=graph)
    found.plain = plain
    return found


def convert_to_nx(result: Any, *, name: str | None = None) -> Any:
    """The graph of NetworkX's that a converted one came from, or one made of it; any other result as it is.

    Examples
    --------
    >>> import networkx as nx
    >>> path = nx.path_graph(3)
    >>> convert_to_nx(convert_from_nx(path)) is path
    True
    """
    if not isinstance(result, BackendGraph):
        return result
    if result.origin is not None:
        return result.origin
    made = (result.given or result.graph).to_networkx()
    kinds = nx.MultiDiGraph if result.is_directed() else nx.MultiGraph
    return kinds(made) if result.multigraph and not made.is_multigraph() else made

"""A NetworkX graph as Arcflux has it: vertices are numbers in the order of the nodes, rows in the order of the dicts.

The order of NetworkX's results is that in which it walks its dictionaries. So rows keep this order instead of being
sorted, and kernels.py walks them alike.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import cached_property
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from arcflux.graph import Graph
from arcflux.integrations.networkx.dicts import columns_of, is_plain, rows_of

__all__ = ["BackendGraph"]

Array = NDArray[Any]


class BackendGraph:
    """What `convert_from_nx` gives, and NetworkX keeps in the cache of the graph that it came from.

    graph: vertices are the numbers 0 .. n-1; nodes: the node of each number; origin: the graph of NetworkX, whose
    attributes are read when a function asks for them. As with NetworkX's own cache, it must not be changed by hand
    (``G[u][v]["weight"] = 2``) between its conversion and its use.

    Examples
    --------
    >>> import arcflux as af
    >>> g = BackendGraph.of(af.Graph.from_edges(["ada", "bob"], ["bob", "eve"]))
    >>> len(g), "bob" in g, list(g), g.is_directed()
    (3, True, ['ada', 'bob', 'eve'], True)
    """

    __networkx_backend__ = "arcflux"

    def __init__(self, graph: Graph, nodes: list[Any], *, multigraph: bool, origin: Any = None) -> None:
        self.graph, self.nodes, self.multigraph, self.origin = graph, nodes, multigraph, origin
        self.given: Graph | None = None  # the graph of Arcflux's that it was made of, in its own ids
        self._columns: dict[tuple[Any, Any], Array] = {}
        self._weighed: dict[tuple[Any, Any], Graph | None] = {}

    @classmethod
    def of(cls, graph: Graph) -> BackendGraph:
        """A graph of Arcflux's, to be given to functions of NetworkX without being converted."""
        pairs = np.stack(graph.edge_numbers()[:2])
        parallel = np.unique(pairs, axis=1).shape[1] < pairs.shape[1]
        loops = 0 if graph.directed else 2 * graph.edges - graph.arcs
        numbered = Graph(graph.out, directed=graph.directed, columns=graph.columns, loops=loops, sorted=graph.sorted)
        made = cls(numbered, graph.ids.to_ids().tolist(), multigraph=parallel)
        made.given = graph
        return made

    # --- what NetworkX itself asks

    def is_directed(self) -> bool:
        """Whether edges have directions."""
        return self.graph.directed

    def is_multigraph(self) -> bool:
        """Whether there can be parallel edges."""
        return self.multigraph

    def number_of_nodes(self) -> int:
        """How many nodes there are."""
        return len(self.nodes)

    def number_of_edges(self) -> int:
        """How many edges there are."""
        return self.graph.edges

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.nodes)

    def __contains__(self, node: object) -> bool:
        return self.find(node) is not None

    # --- nodes and numbers

    @cached_property
    def plain(self) -> bool:
        """Whether the nodes are the numbers themselves."""
        return is_plain(self.nodes)

    @cached_property
    def index(self) -> dict[Hashable, int]:
        """The number of each node."""
        return dict(zip(self.nodes, range(len(self.nodes)), strict=True))

    def find(self, node: Any) -> int | None:
        """The number of a node; None when it is not in the graph, or can be in none."""
        try:
            return self.index.get(node)
        except TypeError:
            return None

    def nodes_of(self, numbers: Array) -> list[Any]:
        """The nodes of numbers."""
        listed: list[int] = numbers.tolist()
        return listed if self.plain else list(map(self.nodes.__getitem__, listed))

    def by_node(self, values: Array) -> dict[Any, Any]:
        """A dict from all nodes, in their order, to Python's numbers."""
        return dict(zip(self.nodes, values.tolist(), strict=True))

    def chosen(self, values: Array, nodes: Any) -> Any:
        """The value of one node, or a dict of some, or of all: NetworkX's `nbunch`."""
        if nodes is None:
            return self.by_node(values)
        one = self.find(nodes)
        if one is not None:
            return values[one].item()
        return {node: values[number].item() for node, number in self.bunch(nodes)}

    def bunch(self, nodes: Any) -> Iterator[tuple[Any, int]]:
        """Some nodes and their numbers; those that are not in the graph are left out, as ``G.nbunch_iter`` does."""
        try:
            listed = iter(nodes)
        except TypeError as error:
            raise nx.NetworkXError(f"Node {nodes} is not in the graph.") from error
        for node in listed:
            try:
                number = self.index.get(node)
            except TypeError as error:
                raise nx.NetworkXError(f"Node {node} in sequence nbunch is not a valid node.") from error
            if number is not None:
                yield node, number

    # --- edges

    def column(self, name: Any, default: Any = 1) -> Array:
        """An edge attribute in the order of the arcs; edges without it have the default."""
        key = name, default
        if key not in self._columns:
            if self.origin is None:
                known = self.graph.columns
                self._columns[key] = known[name] if name in known else np.full(self.graph.arcs, default)
            else:
                self._columns[key] = columns_of(self.origin, {name: default}, self.graph.arcs)[name]
        return self._columns[key]

    def keep(self, name: Any, default: Any, column: Array) -> None:
        """Keep an attribute that was read along with the graph."""
        self._columns[name, default] = column

    def weighed(self, name: Any, default: Any = 1) -> Graph | None:
        """The graph with an attribute as its column `weight`; None when that is 1 on all edges, or not asked for."""
        if name is None:
            return None
        if (name, default) not in self._weighed:
            column = self.column(name, default)
            alike = bool((column == 1).all())
            self._weighed[name, default] = None if alike else self.graph.with_columns({"weight": column})
        return self._weighed[name, default]

    @cached_property
    def reverse(self) -> Graph:
        """The graph turned round, its rows in the order of NetworkX's dicts of predecessors."""
        if not self.graph.directed or self.origin is None:
            return self.graph.reverse()
        rows = rows_of(self.origin._pred, self.nodes, plain=self.plain, multigraph=self.multigraph)
        return Graph(rows.arcs, directed=True, sorted=False)

    @cached_property
    def tails(self) -> Array:
        """The source of each arc."""
        offsets, neighbours = self.graph.out
        return np.repeat(np.arange(len(self), dtype=neighbours.dtype), np.diff(offsets).astype(np.int64))

    @cached_property
    def loops_at(self) -> Array:
        """How many self-loops each vertex has."""
        return np.bincount(self.tails[self.tails == self.graph.out.neighbours], minlength=len(self))

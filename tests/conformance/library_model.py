"""Small awkward graphs in plain Python, beside the same ones of Arcflux, for tests of the whole library."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import networkx as nx
import numpy as np

import arcflux as af

Edge = tuple[int, int, float]


class Refused(Exception):
    """The algorithm does not take such a graph: called with these arguments, it has to say so by an error of ours."""


class Skipped(Exception):
    """There is nothing to ask of such a graph."""


@dataclass(frozen=True)
class Model:
    """Vertices are 0 to n - 1, in the order of the graph's ids; an undirected edge is listed once."""

    graph: af.Graph
    edges: list[Edge]
    weighted: bool

    @property
    def n(self) -> int:
        return self.graph.vertices

    @property
    def directed(self) -> bool:
        return self.graph.directed

    @cached_property
    def ids(self) -> list[Any]:
        return list(self.graph.ids.to_ids().tolist())

    @cached_property
    def arcs(self) -> list[Edge]:
        """Edges in each of their directions; an undirected loop is one arc."""
        back = [] if self.directed else [(v, u, w) for u, v, w in self.edges if u != v]
        return [*self.edges, *back]

    @cached_property
    def count(self) -> Any:
        """How many arcs lead from u to v."""
        return self._sum(1.0)

    def weights(self, weight: str | None = "weight") -> Any:
        """The sum of their weights."""
        return self._sum() if weight and self.weighted else self.count

    def strengths(self, weight: str | None = "weight") -> Any:
        """The symmetric matrix of communities: directions forgotten, a loop twice."""
        found = np.zeros((self.n, self.n))
        for u, v, w in self.edges:
            found[u, v] += w if weight and self.weighted else 1.0
            found[v, u] += w if weight and self.weighted else 1.0
        return found

    def _sum(self, each: float | None = None) -> Any:
        found = np.zeros((self.n, self.n))
        for u, v, w in self.arcs:
            found[u, v] += w if each is None else each
        return found

    @cached_property
    def near(self) -> Any:
        """Whether an arc leads from u to another vertex v."""
        return (self.count > 0) & ~np.eye(self.n, dtype=bool)

    @cached_property
    def both(self) -> Any:
        return self.near | self.near.T

    @cached_property
    def loops(self) -> bool:
        return any(u == v for u, v, _ in self.edges)

    @cached_property
    def simple(self) -> Any:
        """NetworkX's graph without loops and parallel edges."""
        made = nx.DiGraph() if self.directed else nx.Graph()
        made.add_nodes_from(range(self.n))
        made.add_edges_from((u, v) for u, v, _ in self.edges if u != v)
        return made

    @cached_property
    def multi(self) -> Any:
        made = nx.MultiDiGraph() if self.directed else nx.MultiGraph()
        made.add_nodes_from(range(self.n))
        made.add_weighted_edges_from(self.edges if self.weighted else [(u, v, 1) for u, v, _ in self.edges])
        return made

    def lengths(self, weight: str | None = None, *, most: bool = False) -> Any:
        """The least (or largest) weight of the arcs from u to v, inf where there are none."""
        found = np.full((self.n, self.n), np.inf)
        for u, v, w in self.arcs:
            length = w if weight and self.weighted else 1.0
            found[u, v] = max(length, found[u, v]) if most and found[u, v] < np.inf else min(length, found[u, v])
        return found

    def distances(self, weight: str | None = None) -> Any:
        """Floyd's and Warshall's."""
        found = self.lengths(weight)
        np.fill_diagonal(found, 0.0)
        for k in range(self.n):
            found = np.minimum(found, found[:, k, None] + found[None, k, :])
        return found

    def one(self, rng: np.random.Generator) -> int:
        """Some vertex."""
        if not self.n:
            raise Skipped
        return int(rng.integers(self.n))

    def some(self, rng: np.random.Generator) -> list[int]:
        """Different vertices, one at least."""
        return rng.permutation(self.n)[: self.one(rng) + 1].tolist()

    def weight(self, rng: np.random.Generator) -> str | None:
        """The column to use: that of the weights, or none."""
        return "weight" if self.weighted and rng.integers(3) else None

    def named(self, vertices: Any) -> list[Any]:
        return [self.ids[v] for v in vertices]

    def data(self) -> list[Edge]:
        return [(u, v, w if self.weighted else 1.0) for u, v, w in self.edges]

    def column(self) -> Any:
        return self.graph.columns["weight"] if self.weighted else np.ones(self.graph.arcs)

    def number(self, ident: Any) -> int:
        return -1 if ident is None else self.ids.index(ident)

    def by_edge(self, values: Any) -> list[tuple[int, int, float]]:
        """A value for each arc of the graph as a sorted list of edges with theirs."""
        sources, targets, places = self.graph.edge_numbers()
        return sorted(zip(sources.tolist(), targets.tolist(), np.asarray(values)[places].tolist(), strict=True))

    def sides(self) -> list[tuple[int, int]]:
        """The edges as `by_edge` names them: of an undirected one the smaller number first."""
        return [(u, v) if self.directed or u <= v else (v, u) for u, v, _ in self.edges]


def drawn(seed: int) -> Model:
    """A multigraph with loops, isolated vertices, weights that tie and are 0, and ids of each kind."""
    rng = np.random.default_rng(seed)
    directed, kind = bool(seed % 2), ("whole", "sparse", "text")[seed // 2 % 3]
    n = int(rng.choice([0, 1, 2, 3, 5, 8, 12], p=[0.04, 0.06, 0.1, 0.1, 0.2, 0.25, 0.25]))
    ends = rng.integers(0, max(n, 1), (2, int(rng.integers(0, 3 * n + 1)) if n else 0))
    shape = int(rng.integers(6))
    if shape == 0:  # no loops, no cycles
        ends = np.sort(ends[:, ends[0] != ends[1]], axis=0)
    elif shape == 1:  # two sides
        ends = np.stack([ends[0] // 2 * 2, ends[1] // 2 * 2 + 1])[:, (ends[1] // 2 * 2 + 1) < n]
    elif shape == 2:  # a long way
        ends = np.concatenate([ends[:, : n // 4], [np.arange(max(n - 1, 0)), np.arange(1, max(n, 1))]], axis=1)
    elif shape == 3:  # everything near everything
        ends = np.concatenate([ends, np.array(np.nonzero(~np.eye(n, dtype=bool)))], axis=1)
    count = ends.shape[1]
    weight = [rng.integers(0, 4, count), rng.choice([0.0, 0.1, 0.2, 0.5, 3.0], count), rng.random(count)][seed % 5 % 3]
    weighted = bool(rng.random() < 0.8)
    ids: Any = np.arange(n)
    if kind == "sparse":
        ids = rng.permutation(np.arange(n) * 7 - 20)
    elif kind == "text":
        ids = np.array([f"{'äbc'[k % 3]}{k * 37 % 101}" for k in rng.permutation(n)], dtype=object)
    graph = af.Graph.from_edges(
        ids[ends[0]], ids[ends[1]], vertices=n if kind == "whole" else ids, directed=directed,
        columns={"weight": weight} if weighted else None, sort=seed % 3 > 0,
    )  # fmt: skip
    place = {ident: number for number, ident in enumerate(graph.ids.to_ids().tolist())}
    pairs = [(place[ids[u]], place[ids[v]]) for u, v in ends.T.tolist()] if n else []
    return Model(graph, [(u, v, w) for (u, v), w in zip(pairs, weight.tolist(), strict=True)], weighted)

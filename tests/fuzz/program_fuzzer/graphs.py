"""Random graphs of awkward shapes: multi-edges, self-loops, isolated and dangling vertices, hubs, meshes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

import arcflux as af

__all__ = ["GraphSpec", "random_graph"]

# Columns that every graph has: whole numbers from 0 to 9, and eighths from -4 to 4.
WEIGHT, LENGTH = (0, 9), (-4.0, 4.0)


@dataclass(frozen=True)
class GraphSpec:
    """A graph as plain lists, which can be printed, and made smaller. `ids` are given when they are no numbers.

    `types` are those of the columns.
    """

    vertices: int
    edges: tuple[tuple[int, int], ...]
    weight: tuple[int, ...]
    length: tuple[float, ...]
    directed: bool = True
    ids: tuple[int, ...] | tuple[str, ...] = ()
    types: tuple[str, str] = ("int32", "float64")

    @cached_property
    def graph(self) -> af.Graph:
        """The graph as Arcflux has it, with what it keeps from one run to the next."""
        return self.build()

    def build(self) -> af.Graph:
        """The graph as Arcflux has it, new."""
        text = isinstance(self.ids[0], str) if self.ids else False
        names = np.array(self.ids or range(self.vertices), np.str_ if text else np.int64)
        ends = np.array(self.edges, np.int64).reshape(-1, 2)
        columns = {"weight": np.array(self.weight, self.types[0]), "length": np.array(self.length, self.types[1])}
        vertices: Any = names if self.ids else self.vertices
        return af.Graph.from_edges(
            names[ends[:, 0]], names[ends[:, 1]], columns=columns, vertices=vertices, directed=self.directed
        )

    def arcs(self) -> Iterator[tuple[int, int, int, float]]:
        """Source, target, weight and length of every arc: an edge without direction is two, unless it is a loop."""
        for (source, target), weight, length in zip(self.edges, self.weight, self.length, strict=True):
            yield source, target, weight, length
            if not self.directed and source != target:
                yield target, source, weight, length

    def reverses(self) -> list[int]:
        """The place in :meth:`arcs` of the reverse of each arc: the first u -> v of the first v -> u; -1 for none."""
        ends = [(u, v) for u, v, _, _ in self.arcs()]
        places: dict[tuple[int, int], list[int]] = {}
        for place, both in enumerate(ends):
            places.setdefault(both, []).append(place)
        found = []
        for place, (u, v) in enumerate(ends):
            others = places.get((v, u), [])
            k = places[u, v].index(place)
            found.append(others[k] if k < len(others) else -1)
        return found

    def without(self, edges: set[int]) -> GraphSpec:
        """The same without the edges of these places."""
        left = [k for k in range(len(self.edges)) if k not in edges]
        picked = ([column[k] for k in left] for column in (self.edges, self.weight, self.length))
        edges_left, weight, length = map(tuple, picked)
        return replace(self, edges=edges_left, weight=weight, length=length)

    def without_vertex(self, vertex: int) -> GraphSpec:
        """The same without a vertex and its edges; those after it move down."""
        cut = self.without({k for k, ends in enumerate(self.edges) if vertex in ends})
        moved = tuple((a - (a > vertex), b - (b > vertex)) for a, b in cut.edges)
        ids = self.ids[:vertex] + self.ids[vertex + 1 :]
        return replace(cut, vertices=self.vertices - 1, edges=moved, ids=ids)

    def source(self) -> str:
        """The expression that makes the graph, to paste."""
        ends = [list(side) for side in zip(*self.edges, strict=True)] or [[], []]
        if self.ids:
            ends = [[self.ids[v] for v in side] for side in ends]
        vertices = f"np.array({list(self.ids)})" if self.ids else str(self.vertices)
        kind = "np.str_" if self.ids and isinstance(self.ids[0], str) else "np.int64"
        return (
            f"af.Graph.from_edges(\n    np.array({ends[0]}, {kind}), np.array({ends[1]}, {kind}),\n"
            f"    columns={{'weight': np.array({list(self.weight)}, np.{self.types[0]}), "
            f"'length': np.array({list(self.length)}, np.{self.types[1]})}},\n"
            f"    vertices={vertices}, directed={self.directed},\n)"
        )


def random_graph(draw: random.Random, medium: bool = False) -> GraphSpec:
    """A small graph, of up to 30 vertices and 60 edges; or one that spans several chunks and pieces."""
    shape = draw.choice(_MEDIUM if medium else _SMALL)
    vertices, edges = shape(draw)
    directed = draw.random() < 0.6
    weight = tuple(draw.randint(*WEIGHT) for _ in edges)
    length = tuple(draw.randint(8 * int(LENGTH[0]), 8 * int(LENGTH[1])) / 8 for _ in edges)
    ids: tuple[int, ...] | tuple[str, ...] = ()
    if draw.random() < 0.3:
        stride, shift = draw.choice([(7, 3), (1000003, -5), (2, 1 << 40)])
        ids = tuple(shift + stride * v for v in range(vertices))
    elif draw.random() < 0.15:
        ids = tuple(f"vertex {v:05}" for v in range(vertices))
    types = ("int32", "float64")
    if draw.random() < 0.4:
        whole = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
        types = (draw.choice(whole), draw.choice(["float32", "float64"]))
    return GraphSpec(vertices, tuple(edges), weight, length, directed, ids, types)


Shape = tuple[int, list[tuple[int, int]]]


def _scattered(draw: random.Random) -> Shape:
    vertices = draw.randint(2, 24)
    edges = [(draw.randrange(vertices), draw.randrange(vertices)) for _ in range(draw.randint(0, 50))]
    return vertices, edges


def _parallel(draw: random.Random) -> Shape:
    vertices = draw.randint(1, 5)
    return vertices, [(draw.randrange(vertices), draw.randrange(vertices)) for _ in range(draw.randint(1, 30))]


def _star(draw: random.Random) -> Shape:
    leaves = draw.randint(1, 25)
    spokes = [(0, k) if draw.random() < 0.5 else (k, 0) for k in range(1, leaves + 1)]
    return leaves + 1 + draw.randint(0, 2), spokes


def _path(draw: random.Random) -> Shape:
    vertices = draw.randint(2, 14)
    return vertices, [(k, k + 1) for k in range(vertices - 1)]


def _mesh(draw: random.Random) -> Shape:
    wide, high = draw.randint(2, 6), draw.randint(2, 5)
    return wide * high, _grid(wide, high)


def _tiny(draw: random.Random) -> Shape:
    vertices = draw.choice([0, 1, 1, 2, 5])
    loops = [(0, 0)] * draw.randint(0, 2) if vertices == 1 else []
    return vertices, loops


def _skewed(draw: random.Random) -> Shape:
    vertices = draw.randint(4, 30)
    ends = [int(vertices * draw.random() ** 3) for _ in range(2 * draw.randint(10, 60))]
    return vertices, list(zip(ends[::2], ends[1::2], strict=True))


def _wide(draw: random.Random) -> Shape:
    """More vertices than a small chunk has, and hubs that more than one chunk of edges leave."""
    vertices, power = draw.randint(70, 200), draw.choice([1, 1, 4])
    ends = [int(vertices * draw.random() ** power) for _ in range(2 * draw.randint(60, 300))]
    return vertices, list(zip(ends[::2], ends[1::2], strict=True))


def _medium_scattered(draw: random.Random) -> Shape:
    vertices = draw.randint(1000, 3000)
    ends = [int(vertices * draw.random() ** draw.choice([1, 1, 3])) for _ in range(2 * draw.randint(2000, 8000))]
    return vertices, list(zip(ends[::2], ends[1::2], strict=True))


def _medium_mesh(draw: random.Random) -> Shape:
    wide = draw.randint(30, 60)
    return wide * 40, _grid(wide, 40)


def _medium_star(draw: random.Random) -> Shape:
    leaves = draw.randint(1100, 2100)
    return leaves + 1, [(0, k) if k % 3 else (k, 0) for k in range(1, leaves + 1)]


def _medium_path(draw: random.Random) -> Shape:
    vertices, step = draw.randint(150, 280), draw.choice([1, 1, 2])
    ends = [(k, k + step) for k in range(vertices - step)]
    return vertices, [(b, a) for a, b in ends] if draw.random() < 0.3 else ends


def _grid(wide: int, high: int) -> list[tuple[int, int]]:
    across = [(y * wide + x, y * wide + x + 1) for y in range(high) for x in range(wide - 1)]
    return across + [(y * wide + x, (y + 1) * wide + x) for y in range(high - 1) for x in range(wide)]


_SMALL = [_scattered, _scattered, _scattered, _skewed, _skewed, _parallel, _star, _path, _mesh, _tiny, _wide]
_MEDIUM = [_medium_scattered, _medium_scattered, _medium_mesh, _medium_star, _medium_path]

"""Bridges and articulation points are judged by their definition: what falls apart without an edge, or a vertex."""

import random

import numpy as np
import pytest

import arcflux as af


def components(vertices: set[int], edges: list[tuple[int, int]]) -> int:
    """How many components some vertices and the edges between them have."""
    found, left = 0, set(vertices)
    while left:
        found, reached = found + 1, {left.pop()}
        while reached:
            at = reached.pop()
            near = {u + v - at for u, v in edges if at in (u, v) and {u, v} <= vertices} & left
            left -= near
            reached |= near
    return found


def drawn(seed: int) -> tuple[int, list[tuple[int, int]]]:
    """Few vertices and edges, of which some are loops and some parallel."""
    draw = random.Random(seed)
    vertices = draw.randint(1, 8)
    edges = [(draw.randrange(vertices), draw.randrange(vertices)) for _ in range(draw.randint(0, vertices + 2))]
    return vertices, edges + draw.sample(edges, len(edges) // 4)


@pytest.mark.parametrize("first", range(0, 120, 30))
def test_what_falls_apart_without_a_vertex_or_an_edge(first: int) -> None:
    for seed in range(first, first + 30):
        n, edges = drawn(seed)
        graph = af.Graph.from_edges([u for u, _ in edges], [v for _, v in edges], vertices=n, directed=False)
        everyone, whole = set(range(n)), components(set(range(n)), edges)
        single = {v for v in everyone if not any(v in edge and edge != (v, v) for edge in edges)}
        points = [components(everyone - {v}, edges) > whole - (v in single) for v in range(n)]
        apart = {edge: components(everyone, [*edges[:k], *edges[k + 1 :]]) > whole for k, edge in enumerate(edges)}
        apart |= {(v, u): falls for (u, v), falls in apart.items()}
        offsets, neighbours = graph.out
        ends = [(u, int(v)) for u in range(n) for v in neighbours[int(offsets[u]) : int(offsets[u + 1])]]
        bridges = [apart[edge] for edge in ends]
        assert af.validate.articulation_points(graph, points).ok, seed
        assert af.validate.bridges(graph, bridges).ok, seed
        for right, check in ((points, af.validate.articulation_points), (bridges, af.validate.bridges)):
            for k in range(len(right)):
                wrong = np.array(right)
                wrong[k] = not wrong[k]
                (rule,) = check(graph, wrong).rules
                assert rule.count == 1, seed
                assert rule.offences[0].vertex == (k if right is points else ends[k][0])

"""Small graphs of awkward shapes, and what it takes to run every program on them."""

import numpy as np
import programs

import arcflux as af
from arcflux import algorithms

PROGRAMS = [*programs.ALL, programs.Someone, algorithms.PageRank, algorithms.BFS, algorithms.SSSP,
            algorithms.Components, algorithms.CollaborativeFiltering]  # fmt: skip


def _graph(vertices: int, pairs: list[tuple[int, int]], directed: bool = True) -> af.Graph:
    sources, targets = [a for a, _ in pairs], [b for _, b in pairs]
    weights = [(3 * a + 5 * b) % 7 for a, b in pairs]
    return af.Graph.from_edges(
        np.array(sources, np.int64), np.array(targets, np.int64), columns={"weight": np.array(weights, np.int32)},
        vertices=vertices, directed=directed,
    )  # fmt: skip


def shapes() -> dict[str, af.Graph]:
    """By name; the vertex 0 is always there."""
    star = [(0, k) for k in range(1, 60)] + [(k, 0) for k in range(1, 60, 2)]
    skewed = [(k % 7 * k % 41, k % 3) for k in range(90)] + [(k % 5, k % 43) for k in range(60)]
    return {
        "one": _graph(1, []),
        "isolated": _graph(5, [(0, 1)]),
        "path": _graph(6, [(k, k + 1) for k in range(5)]),
        "star": _graph(60, star),
        "loops": _graph(7, [(0, 0), (0, 0), (0, 1), (1, 1), (1, 0), (1, 2), (2, 0), (6, 0)]),
        "parallel": _graph(5, [(0, 1)] * 9 + [(1, 2)] * 3 + [(2, 0), (3, 1), (1, 4)]),
        "skewed": _graph(43, skewed),
        "undirected": _graph(43, skewed, directed=False),
    }


def options(program: object, graph: af.Graph) -> dict[str, object]:
    found: dict[str, object] = {}
    if "source" in program.parameters:
        found["source"] = 0
    if program is programs.DeltaRank:
        found["tolerance"] = 1e-2
    if program is algorithms.PageRank:
        found["max_supersteps"] = 4
    if program is algorithms.CollaborativeFiltering:
        found["iterations"] = 2
    return found

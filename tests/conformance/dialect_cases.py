"""The six algorithms of benchmarks/dialect_programs on a graph: how each is run, and what oracles say comes out."""

from dataclasses import dataclass
from typing import Any

import numpy as np

import arcflux as af
import oracles
from dialect_programs import ALGORITHMS, FORMS, forms
from dialect_programs.hops import FAR

__all__ = ["ALGORITHMS", "FORMS", "Case", "case", "sample"]


@dataclass(frozen=True)
class Case:
    """An algorithm on a graph: its parameters, its field, and what that has to be."""

    name: str
    graph: af.Graph
    given: dict[str, Any]
    expected: np.ndarray

    def check(self, form: str, **way: Any) -> af.Result:
        """Run one form in one way; it has to be what the oracle says."""
        result = af.run(forms(self.name)[form], self.graph, **self.given, **way)
        field = ALGORITHMS[self.name].FIELD
        assert list(result.values) == [field]
        np.testing.assert_allclose(result[field], self.expected, rtol=1e-9, atol=1e-12, err_msg=f"{form}, {way}")
        return result


def sample(n: int, edges: int, seed: int) -> af.Graph:
    """A simple undirected graph with whole weights; some vertices may have no edge."""
    drawn = np.random.default_rng(seed).integers(0, n, (2, edges))
    source, target = np.unique(np.sort(drawn[:, drawn[0] != drawn[1]], axis=0), axis=1)
    weight = 1.0 + (3 * source + 5 * target) % 7
    return af.Graph.from_edges(source, target, columns={"weight": weight}, vertices=n, directed=False)


def case(name: str, graph: af.Graph) -> Case:
    """What an algorithm has to give on a simple undirected graph of at least four vertices."""
    n = graph.vertices
    source = np.repeat(np.arange(n), graph.out_degrees.astype(int))
    weight = graph.columns["weight"].tolist()
    edges = list(zip(source.tolist(), graph.out.neighbours.tolist(), weight, strict=True))  # both ways
    given: dict[str, Any] = {}
    if name == "pagerank":
        expected: Any = oracles.pagerank(n, edges, dangling="drop", tolerance=1e-15)
        given = {"tolerance": 1e-13}
    elif name == "bfs":
        expected = [FAR if level < 0 else level for level in oracles.bfs_levels(n, edges, 3)]
        given = {"source": 3}
    elif name == "sssp, four sources":
        expected = np.transpose([oracles.sssp(n, edges, k) for k in (0, 3, 1, 2)])
        given = {"sources": (0, 3, 1, 2)}
    elif name == "components":
        expected = oracles.components(n, edges)
    elif name == "label propagation":
        expected = oracles.label_propagation(n, edges, 15, directed=False)
    else:
        expected, given = _reached(n, edges), {"words": 2}
    return Case(name, graph, given, np.array(expected))


def _reached(n: int, edges: list[tuple[int, int, float]]) -> np.ndarray:
    """Bits of the selected vertices that are at most two hops away."""
    bits = np.zeros((n, 2), np.int64)
    out = oracles.successors(n, edges)
    for k, v in enumerate(range(0, min(n, 640), 10)):
        for w in {v, *out[v], *oracles.two_hop(n, edges, v)}:
            bits[w, k // 32] |= 1 << k % 32
    return bits

"""Programs with fields of edges, and what a few loops over lists of arcs give for each of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import arcflux as af

Array = NDArray[Any]


def messy(directed: bool, seed: int = 1) -> af.Graph:
    """A graph with parallel edges, self-loops and vertices without edges; every edge both ways."""
    draw = np.random.default_rng(seed)
    s, t = draw.integers(0, 23, 70), draw.integers(0, 23, 70)
    if directed:
        loops = s == t
        s, t = np.concatenate([s, t[~loops]]), np.concatenate([t, s[~loops]])
    weight = draw.integers(1, 9, len(s)).astype(np.float64)
    return af.Graph.from_edges(s, t, columns={"weight": weight}, vertices=25, directed=directed)


def one_way(seed: int = 3) -> af.Graph:
    draw = np.random.default_rng(seed)
    s, t = draw.integers(0, 20, 60), draw.integers(0, 20, 60)
    return af.Graph.from_edges(s, t, columns={"weight": draw.integers(1, 9, 60).astype(float)}, vertices=22)


class Arcs:
    """The arcs of a graph as lists, in the order of its out-edges, and which is the reverse of which."""

    def __init__(self, graph: af.Graph) -> None:
        offsets, neighbours = (array.tolist() for array in graph.out)
        self.ends = [
            (u, int(v)) for u in range(graph.vertices) for v in neighbours[int(offsets[u]) : int(offsets[u + 1])]
        ]
        self.weight = graph.columns["weight"].tolist()
        places: dict[tuple[int, int], list[int]] = {}
        for place, ends in enumerate(self.ends):
            places.setdefault(ends, []).append(place)
        seen: dict[tuple[int, int], int] = {}
        self.reverse = []
        for place, (u, v) in enumerate(self.ends):
            k = seen[u, v] = seen.get((u, v), -1) + 1
            others = places.get((v, u), [])
            self.reverse.append(place if u == v else others[k] if k < len(others) else -1)


# --- every vertex sends, and the reverse edge is read


@af.program
class Echo:
    """What an edge had comes back along its reverse."""

    rounds: int = 5
    x: af.i64
    echo: af.edge(af.i64, 3)
    last: af.edge(af.i32)

    def start(v):
        v.x = v.number % 5
        return True

    def along(edge, u, v, step):
        if (u.x + step) % 3 == 0:
            return
        edge.echo = (edge.reverse.echo * 2 + edge.echo + u.x - v.x + int(edge.weight)) % 1009
        edge.last = step + 1

    def init(v):
        v.x = 0

    def compute(v, u, edge):
        v.x += edge.echo + u.x + 7 * edge.last

    def update(v, p, step):
        v.x = v.x % 101
        return step + 1 < p.rounds


def echo(graph: af.Graph, first: Array | None = None, rounds: int = 5) -> tuple[list[int], list[int], list[int]]:
    arcs = Arcs(graph)
    x = [v % 5 for v in range(graph.vertices)]
    echo_, last = [3] * len(arcs.ends) if first is None else first.tolist(), [0] * len(arcs.ends)
    for step in range(rounds):
        now, mark = list(echo_), list(last)
        for a, (u, v) in enumerate(arcs.ends):
            if (x[u] + step) % 3 != 0:
                now[a] = (echo_[arcs.reverse[a]] * 2 + echo_[a] + x[u] - x[v] + int(arcs.weight[a])) % 1009
                mark[a] = step + 1
        sums = [0] * graph.vertices
        for a, (u, v) in enumerate(arcs.ends):
            sums[v] += now[a] + x[u] + 7 * mark[a]
        echo_, last, x = now, mark, [s % 101 for s in sums]
    return x, echo_, last


# --- only changed vertices send, some take no messages, and what is not crossed stays


@af.program
class Ripple:
    """A wave that counts on every edge how often it passed, and takes along what the way back counted.

    Some vertices are deaf from the start, some turn deaf: what was counted on their edges stays.
    """

    sparse = True
    most: int = 6
    hits: af.i64
    deaf: af.flag
    passed: af.edge(af.i64[2])

    def start(v):
        v.deaf = v.number % 7 == 3
        v.hits = 1 if v.number % 6 == 0 else 0
        return v.number % 6 == 0

    def wants(v):
        return not v.deaf

    def along(edge, u, v, step):
        edge.passed[0] += 1
        edge.passed[1] = (edge.passed[1] + edge.reverse.passed[0] + u.hits + 3 * v.hits + step) % 1000003

    def compute(v, u, edge):
        v.hits += edge.passed[0] + edge.passed[1] % 5

    def update(v, old, p, step):
        v.deaf = old.deaf or (v.number % 5 == 1 and v.hits > 2)
        return v.hits != old.hits and step + 1 < p.most


def ripple(graph: af.Graph, most: int = 6) -> tuple[list[int], list[list[int]]]:
    arcs, n = Arcs(graph), graph.vertices
    hits, active = [int(v % 6 == 0) for v in range(n)], {v for v in range(n) if v % 6 == 0}
    passed = [[0, 0] for _ in arcs.ends]
    deaf = {v for v in range(n) if v % 7 == 3}
    step = 0
    while active:
        now, sums, got = [list(p) for p in passed], [0] * n, set()
        for a, (u, v) in enumerate(arcs.ends):
            if u in active and v not in deaf:
                now[a][0] += 1
                now[a][1] = (passed[a][1] + passed[arcs.reverse[a]][0] + hits[u] + 3 * hits[v] + step) % 1000003
                sums[v] += now[a][0] + now[a][1] % 5
                got.add(v)
        new = [hits[v] + sums[v] for v in range(n)]
        active = {v for v in got if new[v] != hits[v] and step + 1 < most}
        passed, hits, step = now, new, step + 1
        deaf |= {v for v in got if v % 5 == 1 and hits[v] > 2}
    return hits, passed


# --- vectors, matrices, one direction


@af.program
class Matrices:
    """A vector goes through a matrix of each edge, which wears out."""

    rounds: int = 3
    x: af.f64[2]
    m: af.edge(af.f64[2, 3])
    y: af.edge(af.f64[3], 0.5)

    def start(v):
        v.x[0] = v.number % 4
        v.x[1] = 1.0
        return True

    def along(edge, u):
        for j in range(3):
            edge.y[j] = edge.y[j] * 0.5 + u.x[0] * edge.m[0, j] + u.x[1] * edge.m[1, j]
        edge.m[0, 1] = edge.m[0, 1] * 0.5
        edge.m = edge.m * 0.75

    def init(v):
        v.x = 0.0

    def compute(v, edge):
        v.x[0] += edge.y[0] + edge.y[1]
        v.x[1] += edge.y[2] * edge.m[1, 2]

    def update(v, p, step):
        v.x = v.x * 0.125
        return step + 1 < p.rounds


def matrices(graph: af.Graph, m: Array) -> tuple[Array, Array, Array]:
    arcs = Arcs(graph)
    x = np.array([[v % 4, 1.0] for v in range(graph.vertices)])
    m, y = m.copy(), np.full((len(arcs.ends), 3), 0.5)
    for _ in range(3):
        sums = np.zeros_like(x)
        for a, (u, v) in enumerate(arcs.ends):
            y[a] = y[a] * 0.5 + x[u] @ m[a]
            m[a, 0, 1] *= 0.5
            m[a] *= 0.75
            sums[v] += [y[a, 0] + y[a, 1], y[a, 2] * m[a, 1, 2]]
        x = sums * 0.125
    return x, m, y


# --- phases along and against edges


@af.program
class Tide:
    """Along edges they fill, against them they empty; both see what the other left, and the reverse edge."""

    rounds: int = 3
    x: af.i64
    level: af.edge(af.i64, 2)
    mark: af.edge(af.i64)

    def start(v):
        v.x = v.number % 11
        return True

    @af.phase
    class flood:
        def along(edge, u, v):
            edge.level = (edge.level + u.x + 2 * edge.reverse.level) % 997

        def compute(v, edge):
            v.x += edge.level

        def update(v):
            v.x = v.x % 499
            return True

    @af.phase(edges="against")
    class ebb:
        def along(edge, u, v):
            edge.mark = (edge.mark + edge.level + u.x - v.x) % 499
            if u.number > v.number:
                edge.level = (edge.level + edge.reverse.level) % 997

        def compute(v, u, edge):
            v.x += edge.mark + edge.level + u.x

        def update(v):
            v.x = v.x % 499
            return True

    @af.phase(edges="against")
    class look:
        def compute(v, edge):
            v.x += edge.level + edge.reverse.mark

        def update(v):
            v.x = v.x % 499
            return True

    def iteration(run, g, p):
        run.flood()
        run.ebb()
        if run.iterations % 2:
            run.look()
        return run.iterations < p.rounds


def tide(graph: af.Graph, rounds: int = 3) -> tuple[list[int], list[int], list[int]]:
    arcs, n = Arcs(graph), graph.vertices
    x, level, mark = [v % 11 for v in range(n)], [2] * len(arcs.ends), [0] * len(arcs.ends)
    for k in range(rounds):
        level = [(level[a] + x[u] + 2 * level[arcs.reverse[a]]) % 997 for a, (u, _) in enumerate(arcs.ends)]
        sums = list(x)
        for a, (_, v) in enumerate(arcs.ends):
            sums[v] += level[a]
        x = [s % 499 for s in sums]
        # Against: v is where an arc begins, u where it ends.
        mark = [(mark[a] + level[a] + x[u] - x[v]) % 499 for a, (v, u) in enumerate(arcs.ends)]
        level = [(level[a] + level[arcs.reverse[a]]) % 997 if u > v else level[a] for a, (v, u) in enumerate(arcs.ends)]
        sums = list(x)
        for a, (v, u) in enumerate(arcs.ends):
            sums[v] += mark[a] + level[a] + x[u]
        x = [s % 499 for s in sums]
        if (k + 1) % 2:
            sums = list(x)
            for a, (v, _) in enumerate(arcs.ends):
                sums[v] += level[a] + mark[arcs.reverse[a]]
            x = [s % 499 for s in sums]
    return x, level, mark


def check(name: str, graph: af.Graph, **way: Any) -> af.Result:
    """Run one of the programs, and compare all that it leaves with what the loops give."""
    if name == "matrices":
        m = np.random.default_rng(5).random((graph.arcs, 2, 3))
        result = af.run(Matrices, graph, given={"m": m}, **way)
        expected = matrices(graph, m)
        for found, one in zip((result["x"], result.edges["m"], result.edges["y"]), expected, strict=True):
            assert found.shape == one.shape
            np.testing.assert_allclose(found, one, rtol=1e-12)
        return result
    program, oracle, fields = CASES[name]
    result = af.run(program, graph, **way)
    values, *of_edges = oracle(graph)
    assert result[next(iter(program.fields))].tolist() == values
    for field, one in zip(fields, of_edges, strict=True):
        assert result.edges[field].tolist() == one, field
    return result


CASES: dict[str, tuple[Any, Any, tuple[str, ...]]] = {
    "echo": (Echo, echo, ("echo", "last")),
    "ripple": (Ripple, ripple, ("passed",)),
    "tide": (Tide, tide, ("level", "mark")),
}
NAMES = (*CASES, "matrices")


def graph_of(name: str, directed: bool) -> af.Graph:
    """A graph for one of the programs."""
    return one_way() if name == "matrices" else messy(directed, seed=len(name))

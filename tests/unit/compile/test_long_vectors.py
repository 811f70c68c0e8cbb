"""Vectors of more than 256 elements, which kernels have in memory: they give what plain Python gives."""

import numpy as np
import pytest

import arcflux as af
from arcflux.errors import UsageError

LONG = 257


def turned(row, by):
    """Another vector, and the one that was given stays as it was."""
    before = row
    row = row * 2.0
    return row - before + by


@af.program
class Mixing:
    """What can be said of vectors: whole, by element, copied, exchanged, chosen, in helpers, in totals."""

    k: int = 8
    rounds: int = 2
    x: af.f64[k]
    whole: af.i16[k]
    seen: af.flag[k]
    low: af.f32[k]
    sum: af.total(af.f64[k])

    def start(v, p):
        for k in range(p.k):
            v.x[k] = (v.number * 7 + k) % 5
            v.low[k] = (v.number + k) % 11
        v.whole[v.number % p.k] = v.number + 1
        v.seen[v.number % p.k] = True
        return True

    def init(v):
        v.x = 0.0
        v.whole = 0

    def compute(v, u, old):
        v.x += u.x * 0.5
        v.whole += u.whole
        v.seen |= u.seen
        v.low = min(v.low, u.low)

    def update(v, old, g, p, step):
        before = v.x
        other = old.x
        v.x[3] = af.dot(before, other) % 8.0
        before, other = other, before
        chosen = before if v.number % 2 == 0 else other
        for k in range(3):
            last = chosen
            chosen = chosen + last[k] * before
        v.x = abs(turned(chosen, 2.0) - max(before, other)) // 2.0 + chosen[0]
        v.low = abs(-v.low)
        g.sum += v.x
        return step + 1 < p.rounds


@pytest.fixture(scope="module")
def graph() -> af.Graph:
    return af.load("kron:3,directed=true")


@pytest.fixture(scope="module")
def plain(graph: af.Graph) -> af.Result:
    return af.run(Mixing, graph, k=LONG, debug=True)


WAYS = {"pull": {"direction": "pull"}, "push": {"direction": "push"}, "deterministic": {"deterministic": True},
        "parts": {"parts": 3}, "grid": {"parts": 4, "partition": "grid"}}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_every_way_gives_what_plain_python_gives(graph: af.Graph, plain: af.Result, way: str) -> None:
    found = af.run(Mixing, graph, k=LONG, **WAYS[way])
    for name, values in plain.values.items():
        np.testing.assert_array_equal(found[name], values, name)
    np.testing.assert_array_equal(found.totals["sum"], plain.totals["sum"])


@af.program
class Nearest:
    """From many sources at once, sparse: one element is a source's distance."""

    k: int = 8
    dist: af.i32[k]

    def start(v, p):
        v.dist = 1000
        if v.number < p.k:
            v.dist[v.number % p.k] = 0
        return v.number < p.k

    def compute(v, u):
        v.dist = min(v.dist, u.dist + 1)

    def update(v, old, p):
        changed = False
        for k in range(p.k):
            if v.dist[k] < old.dist[k]:
                changed = True
        return changed


@pytest.mark.parametrize("direction", ["pull", "push", "auto"])
def test_searches_from_many_sources(direction: str) -> None:
    graph = af.load("grid:17x17")
    found = af.run(Nearest, graph, k=LONG, direction=direction)["dist"]
    rows, columns = np.divmod(np.arange(289), 17)
    apart = abs(rows[:, None] - rows[:LONG]) + abs(columns[:, None] - columns[:LONG])
    np.testing.assert_array_equal(found, apart)


@af.program
class Around:
    """Neighbourhoods that add up vectors, and keep the largest."""

    k: int = 8
    x: af.f32[k]
    most: af.f32[k]

    def start(v, p):
        for k in range(p.k):
            v.x[k] = (v.number * k) % 13
        return True

    def around(v, edges, p):
        total = v.x
        for u in edges:
            if u.number % 3 > 0:
                total = total + u.x
        v.most = af.topk(p.k, (u.x[5] for u in edges), default=-1.0)
        v.x = total

    def update(v):
        return False


def test_neighbourhoods(graph: af.Graph) -> None:
    plain, found = (af.run(Around, graph, k=LONG, debug=debug) for debug in (True, False))
    np.testing.assert_array_equal(found["x"], plain["x"])
    np.testing.assert_array_equal(found["most"], plain["most"])


@af.program
class Tables:
    """A matrix on every edge, and one that is a parameter."""

    weights: af.f64[20, 20] = tuple(tuple(float(i * j % 7) for j in range(20)) for i in range(20))
    x: af.f64
    m: af.edge(af.f64[20, 20], 1.0)

    def start(v):
        v.x = v.number
        return True

    def along(edge, u, p):
        for i in range(20):
            for j in range(20):
                edge.m[i, j] = edge.m[i, j] + u.x * p.weights[i, j]

    def compute(v, edge):
        v.x += edge.m[3, 19]

    def update(v, step):
        return step < 1


def test_matrices_of_edges(graph: af.Graph) -> None:
    plain, found = (af.run(Tables, graph, debug=debug) for debug in (True, False))
    np.testing.assert_array_equal(found["x"], plain["x"])
    np.testing.assert_array_equal(found.edges["m"], plain.edges["m"])


@pytest.mark.parametrize("k", [0, 4097])
def test_a_length_that_is_refused(graph: af.Graph, k: int) -> None:
    with pytest.raises(UsageError, match=rf"(?s)a vector of length {k}\b.*1 to 4096 elements"):
        af.run(Mixing, graph, k=k)

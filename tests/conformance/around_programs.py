"""Programs that look around, and graphs for them; test_neighbourhoods.py, ranks.py and tests/gpu run them."""

import random

import numpy as np

import arcflux as af


@af.program
class Labels:
    """Label propagation, of which every vertex looks around in every superstep."""

    rounds: int = 5
    label: af.ref

    def start(v):
        v.label = v.number
        return True

    def around(v, edges, old):
        v.label = af.mode((u.label for u in edges if u.number != v.number), default=old.label)

    def update(v, old, p, step):
        return v.label != old.label and step + 1 < p.rounds


@af.program
class SparseLabels:
    """The same, of which only those look again of whom a neighbour changed."""

    sparse = True
    label: af.ref

    def start(v):
        v.label = v.number
        return True

    def around(v, edges, old):
        v.label = af.mode((u.label for u in edges if u.number != v.number), default=old.label)

    def update(v, old):
        return v.label != old.label


@af.program
class Closing:
    """Triangles at each vertex, and what is in the middle of its neighbours."""

    corners: af.i64
    middle: af.f64

    def start(v):
        v.middle = 0.5 * (v.number % 7)
        return True

    def around(v, edges):
        twice = 0
        for u in edges:
            twice += af.intersect(v, u)
        v.corners = twice // 2
        v.middle = af.median((u.middle for u in edges), default=-1.0)

    def update(v):
        return False


@af.program
class Hops:
    """Distances, and a float that neighbours see as it was when it was last sent; with a residual."""

    sparse = True
    source: af.vertex
    hops: af.i32
    heat: af.f64

    def start(v, p):
        v.hops = 0 if v.number == p.source else 1000
        v.heat = 1.0
        return v.number == p.source

    def around(v, edges, old):
        v.hops = min(old.hops, min((u.hops + 1 for u in edges), default=1000))
        v.heat = 0.25 * sum(u.heat for u in edges) + v.hops

    def update(v, old):
        return v.hops < old.hops

    def residual(v, old):
        return 1.0 * abs(v.hops - old.hops)


@af.program
class Everything:
    """All that around may say."""

    rounds: int = 3
    k: int = 3
    x: af.f64
    y: af.f32
    count: af.i32
    top: af.f64[k]
    total: af.f64[2]
    pair: af.f64[2]
    kind: af.i64
    fine: af.flag
    some: af.flag
    best: af.ref
    order: af.i64
    small: af.u8

    def start(v):
        v.x = 1.0 * (v.number % 7) + 0.1
        v.y = 0.3 * (v.number % 5)
        v.pair[0] = 1.0
        v.pair[1] = 0.5 * v.number
        v.small = v.number % 200
        return True

    def around(v, edges, old, p, g, step):
        v.x = sum(u.x / u.out_degree * edge.weight for u, edge in edges if u.number != old.number) / 10
        v.y = max((u.y + 1 for u in edges), default=0.5)
        v.count = sum(1 for u in edges if any(w.number == u.number + 1 for w in edges))
        v.top = af.topk(p.k, (u.x * 2 - 3 for u in edges), default=-1.0)
        v.total = sum(u.pair for u in edges)
        v.kind = af.mode(((u.number % 3, edge.weight) for u, edge in edges), default=-7)
        v.fine = all(u.x > 0.5 for u in edges)
        v.some = any(u.x > 5.5 for u in edges if u.number % 2 == 0)
        v.small = af.mode((u.small for u in edges), default=9)
        best = 0.0
        v.best = -1
        for w, road in edges:
            if w.number == old.number:
                continue
            reach = w.x * road.weight
            if reach > best:
                best = reach
                v.best = w.number
            if best > 30.0 + step:
                break
        inverted = 0
        for u in edges:
            for w in edges:
                if u.number < w.number and u.y > w.y:
                    inverted += 1
        v.order = inverted + g.vertices

    def update(v, p, step):
        return step + 1 < p.rounds


@af.program
class Settling:
    """With init, wants and a vertex that rests: half of what it was, and half of the largest around it."""

    rounds: int = 6
    x: af.f64
    seen: af.i64

    def start(v):
        v.x = 1.0 * (v.number % 11)
        return True

    def init(v):
        v.seen = 0

    def around(v, edges, old):
        v.seen += sum(1 for u in edges if u.x > old.x)
        v.x = 0.5 * old.x + 0.5 * max((u.x for u in edges), default=old.x)

    def update(v, old, p, step):
        return v.x != old.x and step + 1 < p.rounds

    def wants(v):
        return v.x < 9.5

    def residual(v, old):
        return abs(v.x - old.x)


@af.program
class Spreading:
    """Distances that may be newer than the superstep: all ways lead to the same end."""

    monotone = True
    far: af.i64

    def start(v):
        v.far = 0 if v.number % 31 == 0 else 1000
        return True

    def around(v, edges, old):
        v.far = min(old.far, min((u.far + 1 for u in edges), default=1000))

    def update(v, old):
        return v.far != old.far


@af.program
class Wanting:
    """Sparse, with init and wants: a vertex keeps the first label that reaches it, and counts who had one."""

    sparse = True
    label: af.i64
    reached: af.i64

    def start(v):
        v.label = v.number if v.number % 17 == 3 else -1
        return v.number % 17 == 3

    def init(v):
        v.reached = 0

    def around(v, edges):
        v.reached = sum(1 for u in edges if u.label >= 0)
        v.label = max((u.label for u in edges), default=-1)

    def update(v):
        return v.label >= 0

    def wants(v):
        return v.label < 0


@af.program
class Counted:
    """A sparse program with totals: what vertices that rest brought in start counts once."""

    sparse = True
    looked: af.total(af.i64)
    weight: af.total(af.f64)
    x: af.i64

    def start(v, g):
        v.x = v.number % 9
        g.weight += 0.5 * v.x
        return v.number % 4 == 0

    def around(v, edges):
        v.x = max((u.x for u in edges), default=0)

    def update(v, old, g):
        g.looked += 1
        g.weight += 0.25 * v.x
        return v.x != old.x


@af.program
class Shared:
    """Around reads a total of the superstep before."""

    rounds: int = 4
    lost: af.total(af.f64)
    x: af.f64

    def start(v, g):
        v.x = 0.5 * (v.number % 5)
        g.lost += v.x
        return True

    def around(v, edges, g):
        v.x = g.lost / 64 + sum(0.125 * u.x for u in edges if u.x < g.lost)

    def update(v, g, p, step):
        g.lost += 0.5 * v.x
        return step + 1 < p.rounds


def near(a, b, most):
    """Whether two numbers are close to each other."""
    return abs(a - b) <= most


@af.program
class Chosen:
    """Helpers, sets of vertices, random numbers, early returns, and neither start nor update."""

    roots: af.vertices
    kind: af.i64
    luck: af.f64
    rooted: af.i64

    def around(v, edges, old, p):
        v.rooted = sum(1 for u in edges if u in p.roots)
        if v.rooted == 0:
            return
        v.kind = af.mode((u.number % 4 for u in edges if near(u.number, v.number, 12)), default=5)
        best, who = -1.0, 0
        for u, edge in edges:
            drawn = af.random(u, 3) + af.random(edge, 1, k=2)
            if drawn > best:
                best, who = drawn, u.number
        v.luck = best + who


@af.program
class Fading:
    """A vertex changes although its neighbours do not."""

    sparse = True
    x: af.f64

    def start(v):
        v.x = 1.0
        return v.number == 0

    def around(v, edges, old):
        v.x = 0.5 * old.x + 0.0 * sum(u.x for u in edges)

    def update(v, step):
        return v.number == 1 and step == 0


@af.program
class Farthest:
    """What is not there has no default."""

    x: af.f64

    def start(v):
        v.x = 1.0 * v.number
        return True

    def around(v, edges):
        v.x = max(u.x for u in edges)

    def update(v):
        return False


def scattered(n: int, edges: int, seed: int, directed: bool = False) -> tuple[af.Graph, list[tuple[int, int]]]:
    """A graph with a hub, some vertices alone, and its edges."""
    drawn = random.Random(seed)
    pairs = {(drawn.randrange(n), drawn.randrange(n)) for _ in range(edges)} | {(0, k) for k in range(1, n // 2)}
    listed = sorted({(min(p), max(p)) if not directed else p for p in pairs if p[0] != p[1]})
    source, target = zip(*listed, strict=True)
    return af.Graph.from_edges(source, target, directed=directed, vertices=range(n)), listed


def weighted(graph: af.Graph) -> af.Graph:
    return graph.with_columns({"weight": np.arange(graph.arcs) % 9 / 4 + 0.25})


@af.program
class Triangles:
    """The heaviest triangle at v, by numbers; how many there are, in each order; and the first that closes one."""

    count: af.i64
    heaviest: af.i64
    first: af.ref
    weight: af.f64

    def start(v):
        v.first = -1
        return True

    def around(v, edges):
        for u in edges:
            if u.number == v.number:
                continue
            for w, edge in af.intersect(v, u):
                if w.number == v.number or w.number == u.number:
                    continue
                v.count += 1
                v.heaviest = max(v.heaviest, 100 * u.number + w.number)
                v.weight += edge.weight
                if v.first < 0:
                    v.first = w.number
                    break

    def update(v):
        return False

"""Small programs that each use the contract in another way; every back end has to agree on them."""

import math

import arcflux as af

SHARE = 0.5


@af.program
class Reach:
    """Idempotent or on a flag; sparse without being told."""

    source: af.vertex
    seen: af.flag

    def start(v, p):
        v.seen = v.number == p.source
        return v.seen

    def compute(v, u):
        v.seen |= u.seen

    def update(v, old):
        return v.seen != old.seen


@af.program
class Widest:
    """Max over edges, a condition on the edge, a column of floats."""

    source: af.vertex
    sparse = True
    width: af.f64

    def start(v, p):
        v.width = math.inf if v.number == p.source else 0.0
        return v.number == p.source

    def compute(v, u, edge):
        if edge.weight > 1:
            v.width = max(v.width, min(u.width, edge.weight))

    def update(v, old):
        return v.width > old.width


@af.program
class Counts:
    """Several fields at once: sums of an int and a float, a minimum, locals, degrees, numbers, steps."""

    rounds: int = 3
    heads: af.i64
    mass: af.f64
    low: af.i32

    def start(v, g):
        v.heads = 1
        v.mass = 1.0 / g.vertices
        v.low = v.number
        return True

    def init(v):
        v.heads = 0
        v.mass = 0.0

    def compute(v, u, edge, step):
        share = u.mass / (u.out_degree + 1)
        v.heads += 1 if u.number % 2 == 0 else 2
        v.mass += share * edge.weight
        if u.low < 1000 and step < 100:
            v.low = min(v.low, u.low - 1)

    def update(v, old, p, step, g):
        v.mass = SHARE * v.mass + old.mass * (v.in_degree + 1) / (g.edges + 1)
        return step + 1 < p.rounds


@af.program
class DeltaRank:
    """PageRank by pushing changes (Lux, figure 5, started as its errata say): sums, and only changed vertices send."""

    damping: float = 0.85
    tolerance: float = 1e-6
    sparse = True
    rank: af.f64
    delta: af.f64

    def start(v, g, p):
        v.rank = (1.0 - p.damping) / g.vertices
        v.delta = v.rank
        return True

    def init(v):
        v.delta = 0.0

    def compute(v, u, p):
        v.delta += p.damping * u.delta / u.out_degree

    def update(v, p):
        v.rank = v.rank + v.delta
        return abs(v.delta) > p.tolerance


@af.program
class Bits:
    """Or and and on integers, and a product."""

    rounds: int = 2
    every: af.u32
    common: af.i64
    product: af.f64

    def start(v):
        v.every = 1 << (v.number % 20)
        v.common = v.number + 3
        v.product = 1.0 + v.number % 3
        return True

    def init(v):
        v.product = 1.0

    def compute(v, u):
        v.every |= u.every
        v.common &= u.common
        v.product *= u.product

    def update(v, step, p):
        v.product = min(v.product, 1000.0)
        return step + 1 < p.rounds


@af.program
class Differences:
    """Compute that reads old: the sum of how far the neighbours are."""

    rounds: int = 3
    x: af.f64

    def start(v):
        v.x = v.number * 0.25
        return True

    def init(v):
        v.x = 0.0

    def compute(v, u, old):
        v.x += abs(u.x - old.x)

    def update(v, old, step, p):
        v.x = (v.x + old.x) / (1 + v.in_degree)
        return step + 1 < p.rounds


ALL = [Reach, Widest, Counts, DeltaRank, Bits, Differences]

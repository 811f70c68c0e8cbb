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
class Steps:
    """What is sent depends on the superstep in which it is sent, and so does what init gives."""

    rounds: int = 4
    x: af.i64
    y: af.i64

    def start(v):
        v.y = v.number % 3 + 1
        return True

    def init(v, step):
        v.x = step

    def compute(v, u, step):
        v.x += u.y * step

    def update(v, step, p):
        v.y = v.x % 97
        return step + 1 < p.rounds


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


@af.program
class Vectors:
    """Whole vectors and elements: sums, locals, dot products, a parameter as length, scalars that meet vectors."""

    k: int = 5
    rate: float = 0.125
    rounds: int = 3
    x: af.f32["k"]
    grad: af.f32[k]
    square: af.f64
    part: af.f64[3]

    def start(v, p):
        for k in range(p.k):
            v.x[k] = (v.number + k) % 7 * 0.25
        v.part = 0.5
        v.part[v.number % 3] = 2.0
        return True

    def init(v):
        v.grad = 0.0
        v.part = 0.0
        v.square = 0.0

    def compute(v, u, edge, old, p):
        apart = u.x - old.x
        error = edge.weight * p.rate - af.dot(u.x, old.x) * 0.01
        v.grad += error * u.x
        if edge.weight > 3:
            v.grad += apart / (1 + abs(apart))
        v.square += af.dot(apart, apart)
        for k in range(3):
            v.part[k] += u.part[(k + u.number) % 3] * 0.25 + k

    def update(v, old, p, step):
        step_size = p.rate * v.grad
        v.grad = -v.grad
        v.x = (old.x + step_size) / (1 + v.in_degree) if v.in_degree > 2 else old.x
        v.x[0] = v.x[p.k - 1] - v.part[2] * 0.001
        v.part = min(max(v.part, old.part[0]), 9.5)
        return step + 1 < p.rounds

    def residual(v):
        return v.square


@af.program
class Extremes:
    """Minima, maxima and bits of vectors; sparse without being told."""

    low: af.i32[4]
    high: af.f64[3]
    seen: af.u8[2]
    on: af.flag[3]

    def start(v):
        for k in range(4):
            v.low[k] = (v.number * 5 + k) % 11
        v.high[v.number % 3] = v.number * 0.5
        v.seen[v.number % 2] = 1 << (v.number % 8)
        v.on[v.number % 3] = v.number % 4 == 0
        return True

    def compute(v, u):
        v.low = min(v.low, u.low)
        v.high = max(v.high, u.high - 0.25)
        v.seen |= u.seen
        v.on |= u.on

    def update(v, old):
        changed = False
        for k in range(2):
            changed = changed or v.seen[k] != old.seen[k] or v.on[k] != old.on[k]
        for k in range(3):
            changed = changed or v.high[k] > old.high[k]
        return changed or v.on[2] != old.on[2] or af.dot(v.low, v.low) != af.dot(old.low, old.low)


@af.program
class Sketch:
    """A sparse program by promise whose update writes a vector, and a histogram whose index is sent."""

    sparse = True
    source: af.vertex
    level: af.i32
    kinds: af.i64[4]
    sums: af.f32[2]

    def start(v, p):
        v.level = 0 if v.number == p.source else -1
        return v.number == p.source

    def init(v):
        v.kinds = 0

    def wants(v):
        return v.level < 0

    def compute(v, u):
        v.kinds[u.number % 4] += 1

    def update(v, step):
        if v.kinds[0] + v.kinds[1] + v.kinds[2] + v.kinds[3] == 0:
            return False
        v.level = step + 1
        v.sums = v.kinds[0] * 0.5 + v.sums
        v.sums[1] += v.kinds[3]
        return True


@af.program
class Wanting:
    """Every vertex sends, some no longer receive; init writes a field that nothing reduces."""

    rounds: int = 4
    x: af.f64
    seen: af.i64
    mark: af.i64[2]

    def start(v):
        v.x = v.number % 5
        return True

    def init(v, step):
        v.x = 0.0
        v.mark[0] += step + 1

    def wants(v):
        return v.x < 6.0

    def compute(v, u):
        v.x += u.x * 0.5

    def update(v, old, step, p):
        v.mark[1] += old.mark[0]
        v.seen += v.mark[0] - 2 * old.mark[0]
        v.x = v.x + old.x
        return step + 1 < p.rounds


@af.program
class Choosy:
    """Only some messages count, and any of them will do: the first neighbour in the frontier may send none."""

    sparse = True
    source: af.vertex
    level: af.i32
    by: af.i64

    def start(v, p):
        v.level = 0 if v.number == p.source else -1
        v.by = -1
        return v.number == p.source

    def wants(v):
        return v.level < 0

    def compute(v, u, edge):
        if edge.weight > 3:
            v.by = af.any(u.level)

    def update(v, step):
        if v.by < 0:
            return False
        v.level = step + 1
        return True


@af.program
class Forgetful:
    """Wants any message, as a search does, but forgets it at once: nothing tells that a vertex was taken."""

    source: af.vertex
    sparse = True
    count: af.i64
    parent: af.ref

    def start(v, p):
        v.parent = -1
        return v.number == p.source

    def wants(v):
        return v.parent < 0

    def compute(v, u):
        v.parent = af.any(u.number)

    def update(v, step):
        if v.parent < 0:
            return False
        v.parent = -1
        v.count += 1
        return step < 3


@af.program
class Someone:
    """Every vertex sends, and any of the messages will do: the smallest when a run is deterministic."""

    x: af.i64
    seen: af.i64

    def start(v):
        v.x = v.number * 7 % 11
        v.seen = -1
        return True

    def init(v):
        v.seen = -1

    def compute(v, u):
        v.seen = af.any(u.x)

    def update(v, step):
        return step < 2


@af.program
class Tenths:
    """Sums of narrow floats."""

    x: af.f32

    def start(v):
        v.x = 0.1
        return True

    def init(v):
        v.x = 0.0

    def compute(v, u):
        v.x += u.x

    def update(v):
        return False


ALL = [Choosy, Reach, Widest, Counts, DeltaRank, Bits, Differences, Forgetful, Steps, Vectors, Extremes,
       Sketch, Wanting]  # fmt: skip

"""Small programs that each use the contract in another way; every back end has to agree on them."""

import math

import numpy as np

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


@af.program
class Pooled:
    """Vertices without out-edges share what they have among all: a sum over all vertices in every superstep."""

    rounds: int = 5
    x: af.f64
    pool: af.total(af.f64)

    def start(v, g):
        v.x = (v.number + 1) / g.vertices
        g.pool += 0.5 / g.vertices
        return True

    def init(v):
        v.x = 0.0

    def compute(v, u):
        v.x += u.x / u.out_degree

    def update(v, g, p, step):
        v.x = 0.1 + 0.5 * v.x + 0.3 * g.pool / g.vertices
        g.pool += v.x if v.out_degree == 0 else 1.0 / g.vertices
        return step + 1 < p.rounds


def collatz(n):
    """How many steps of 3n + 1 lead to 1, at most 40."""
    steps = 0
    while n != 1:
        if steps == 40:
            break
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def ordered(a, b):
    """Two numbers, the smaller one first."""
    if b < a:
        return b, a
    return a, b


def share(u, p, part=SHARE):
    """A helper that reads fields, calls another, and has a default and a name of the module."""
    low, high = ordered(u.x, p.top)
    return part * low + (SHARE if high > p.top else 0.0)


@af.program
class Plain:
    """Helpers of the module, while, break, continue, early returns, several names at once, round, divmod, random."""

    rounds: int = 3
    top: float = 4.0
    x: af.f64
    n: af.i64
    few: af.i16

    def start(v):
        v.x = 0.25 * (v.number % 9)
        v.n = v.few = collatz(v.number + 1)
        return True

    def init(v, old):
        v.n = 0
        if old.n % 2 == 0:
            return
        v.n = 3

    def compute(v, u, edge, p, old, step):
        if u.n % 5 == 4:
            return
        chance = af.random(edge, step) * af.random(u, 0, seed=step)
        v.x = max(v.x, share(u, p) + 0.125 * share(u, p, part=0.25) + 0.125 * chance)
        for k in range(u.number % 4):
            if k == 2:
                continue
            v.n += collatz(k + old.few + 1)

    def update(v, old, p, step):
        tens, ones = divmod(v.n, 10)
        tens, ones = ones, tens
        v.x += af.random(v, step, k=tens, seed=p.rounds)
        v.few = round(v.x / 2) + tens + min(ones, 100) + math.trunc(-1.5)
        while True:
            if v.n < 100:
                return step + 1 < p.rounds
            v.n //= 2


@af.program
class Parents:
    """Distances and the smallest vertex before; sparse without being told."""

    source: af.vertex
    dist: af.f64
    parent: af.ref

    def start(v, p):
        v.dist = 0.0 if v.number == p.source else math.inf
        v.parent = v.number if v.number == p.source else -1
        return v.number == p.source

    def compute(v, u, edge):
        v.dist, v.parent = min((v.dist, v.parent), (u.dist + edge.weight, u.number))

    def update(v, old):
        return v.dist < old.dist


@af.program
class Triples:
    """Tuples of three fields of narrow types by max, anew in every superstep, under a condition, beside a sum."""

    rounds: int = 3
    width: af.f32
    hops: af.i16
    by: af.u8
    got: af.i64

    def start(v):
        v.width = 1.0 + v.number % 3
        return True

    def init(v):
        v.width = 0.0
        v.hops = -100

    def compute(v, u, edge):
        v.got += 1
        if u.number % 5 == 0:
            return
        v.width, v.hops, v.by = max(
            (v.width, v.hops, v.by), (min(u.width, 1.0 * edge.weight), u.hops % 50 - 1, u.number % 200)
        )

    def update(v, p, step):
        v.width += 1.0
        return step + 1 < p.rounds


@af.program
class Ends:
    """The first and the last message, also of several fields, also under a condition."""

    rounds: int = 3
    x: af.f64
    low: af.i64
    high: af.f32
    flag: af.flag

    def start(v):
        v.x = 0.5 * v.number
        v.low = -1
        return True

    def compute(v, u, edge):
        if u.number % 3 != 1:
            v.low = af.first(u.number + edge.weight)
        v.high, v.flag = af.last((u.x, u.x > 3.0))

    def update(v, p, step):
        v.x = v.high + 0.25 * v.low
        return step + 1 < p.rounds


ALL = [Plain, Parents, Triples, Ends, Choosy, Reach, Widest, Counts, DeltaRank, Bits, Differences, Forgetful, Steps,
       Vectors, Extremes, Sketch, Wanting, Pooled]  # fmt: skip

# --- what update answers says who sends next, and nothing else


@af.program
class WithinHops:
    """The last hop changes vertices that never send."""

    source: af.vertex
    k: int = 2
    hops: af.i64

    def start(v, p):
        v.hops = 0 if v.number == p.source else 1000
        return v.number == p.source

    def compute(v, u):
        v.hops = min(v.hops, u.hops + 1)

    def update(v, old, step, p):
        return v.hops < old.hops and step + 1 < p.k


@af.program
class EvenOnly:
    """Vertices of odd numbers take what comes, and pass nothing on."""

    source: af.vertex
    low: af.i64

    def start(v, p):
        v.low = v.number * 7 % 31
        return True

    def compute(v, u):
        v.low = min(v.low, u.low)

    def update(v, old):
        return v.low < old.low and v.number % 2 == 0


@af.program
class Latecomers:
    """Vertices that are silent at first have more to say than those that begin."""

    source: af.vertex
    high: af.i64

    def start(v, p):
        v.high = v.number
        return v.number % 3 == 1

    def compute(v, u):
        v.high = max(v.high, u.high)

    def update(v, old):
        return v.high > old.high


@af.program
class PathCounts:
    """Sums by promise: walks of exactly two edges are counted in vertices that answer False."""

    source: af.vertex
    k: int = 2
    sparse = True
    walks: af.i64
    total: af.i64

    def start(v, p):
        v.walks = 1 if v.number == p.source else 0
        return v.number == p.source

    def init(v):
        v.walks = 0

    def compute(v, u):
        v.walks += u.walks

    def update(v, step, p):
        return v.walks > 0 and step + 1 < p.k


@af.program
class Heard:
    """Counts the supersteps in which a message came, also one that compute passes over: sparse is a false promise."""

    source: af.vertex
    sparse = True
    low: af.i64
    heard: af.i64

    def start(v, p):
        v.low = v.number % 5
        return v.number % 2 == 0

    def compute(v, u, edge):
        if edge.weight > 3:
            v.low = min(v.low, u.low)

    def update(v, step):
        v.heard += 1
        return step < 3


@af.program
class Restless:
    """Answers True without a change, as long as messages come; sparse without being told."""

    source: af.vertex
    low: af.i64

    def start(v, p):
        v.low = v.number
        return v.number == p.source

    def compute(v, u):
        v.low = min(v.low, u.low)

    def update(v, step):
        return step < 3


@af.program
class Reset:
    """Init forgets, and a message may be no better than nothing."""

    source: af.vertex
    sparse = True
    best: af.i64
    sent: af.i64

    def start(v, p):
        v.best = v.number
        v.sent = 100 - v.number
        return True

    def init(v):
        v.best = 50

    def compute(v, u):
        v.best = min(v.best, u.sent)

    def update(v, step):
        return v.best < 50 and step < 2


@af.program
class Doubtful:
    """One of several messages, where others count without being taken; all that are taken say the same."""

    source: af.vertex
    sparse = True
    count: af.i64
    chosen: af.i64

    def start(v, p):
        v.chosen = -1
        return v.number % 2 == 0

    def compute(v, u):
        v.count += 1
        if u.number % 4 == 0:
            v.chosen = af.any(7)

    def update(v, old, step):
        return v.count > old.count and step < 2


@af.program
class InPlace:
    """Monotone: vertices without out-edges change, and have nobody to send to."""

    source: af.vertex
    sparse = True
    monotone = True
    low: af.i64

    def start(v, p):
        v.low = v.number * 5 % 17
        return True

    def compute(v, u):
        v.low = min(v.low, u.low)

    def update(v, old):
        return v.low < old.low and v.out_degree > 0


@af.program
class Own:
    """Compute asks for v's own number and degrees."""

    source: af.vertex
    near: af.i64
    below: af.i64

    def start(v):
        return True

    def init(v):
        v.near = 0

    def compute(v, u):
        v.near += v.number * 3 + v.in_degree - u.out_degree
        if u.number < v.number:
            v.below += v.out_degree

    def update(v, step):
        return step < 2


@af.program
class Insistent:
    """Whoever receives sends on, changed or not; those that nobody sends to any more are silent."""

    source: af.vertex
    low: af.i64

    def start(v):
        v.low = v.in_degree
        return True

    def compute(v, u):
        v.low &= 5

    def update(v):
        return True


@af.program
class Settling:
    """Its residual is that of the vertices of this superstep alone."""

    source: af.vertex
    sparse = True
    low: af.i64

    def start(v, p):
        v.low = 0 if v.number == p.source else 1000
        return v.number == p.source

    def compute(v, u):
        v.low = min(v.low, u.low + 1)

    def update(v, old):
        return v.low < old.low

    def residual(v, old):
        return abs(v.low - old.low)


ANSWERS = [Own, WithinHops, EvenOnly, Latecomers, PathCounts, Restless, Reset, Doubtful, Insistent, Settling]


@af.program
class Deaf:
    """By priority, or by supersteps when it pulls: nobody sends at first, so nothing happens."""

    source: af.vertex
    low: af.i64

    def start(v):
        v.low = v.in_degree
        return False

    def compute(v, u):
        v.low = min(v.low, u.low)

    def update(v, old):
        return v.low < old.low

    def priority(v):
        return v.low

    def wants(v):
        return v.low != 0


# --- numbers


@af.program
class Numbers:
    """What Python, NumPy and hardware do differently; c and d are given, and some of them are 0, or infinite."""

    a: af.i64
    b: af.i64
    c: af.f64
    d: af.f64
    h: af.f32
    s: af.u64
    t: af.u32
    quotient: af.f64
    root: af.f64
    logarithm: af.f64
    power: af.f64
    inverse: af.f64
    less: af.f64
    floats: af.f64
    narrow: af.f64
    integer: af.i64
    whole: af.i64
    left: af.i64
    right: af.i64
    raised: af.i64
    unsigned: af.u64
    signed: af.i64
    mixed: af.i64
    turned: af.u64
    below: af.flag

    def start(v):
        return True

    def compute(v, u):
        v.whole += 0

    def update(v):
        ratio = v.c / v.d if v.c != 0 or v.d != 0 else 0.0
        v.quotient = ratio if not math.isnan(ratio) else -1.0
        v.root = 0.0 if math.isnan(math.sqrt(v.c)) else math.sqrt(v.c)
        v.logarithm = math.log(abs(v.c))
        v.power = abs(v.c) ** v.d
        v.inverse = v.a**-1
        v.less = 1.0 if v.a**-1 > 0.4 else math.pow(2, v.b)
        rest = v.c // 3.0
        v.floats = -2.0 if math.isnan(rest) else rest
        v.narrow = v.h * 0.1 + v.a
        v.integer = v.a // (v.b * 2 + 1)
        v.whole = v.a % (v.b * 2 + 1)
        v.left = (v.a & 15) << (v.b & 31)
        v.right = v.a >> (v.b & 63)
        v.raised = (v.b & 3) ** (v.a & 7)
        v.unsigned = v.s // 3 + v.s % 7
        v.signed = v.t - (v.t + 5)
        v.mixed = min(v.s // 2, v.a)
        v.turned = ~v.s
        v.below = v.s > v.a
        return False


def numbers() -> tuple[af.Graph, dict[str, object]]:
    """A graph without edges that matter, and what the fields of Numbers are."""
    floats = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.7, 1e308, 1e-320, math.inf, -math.inf, 9.3e18]
    pairs = [(c, d) for c in floats for d in floats]
    n = len(pairs)
    cycle = lambda values, kind: np.array([values[k % len(values)] for k in range(n)], kind)  # noqa: E731
    given = {
        "a": cycle([0, 1, -1, 2, 7, -7, 2**53 + 1, 2**62, -(2**62), 2**63 - 1, -(2**63) + 1], np.int64),
        "b": cycle([0, 1, -2, 5, 31, 62, -64], np.int64),
        "c": np.array([c for c, _ in pairs]),
        "d": np.array([d for _, d in pairs]),
        "h": cycle([0.1, 1 / 3, 7.0, 3e38, -1e-40], np.float32),
        "s": cycle([0, 1, 2**53 + 1, 2**63 + 3, 2**64 - 1], np.uint64),
        "t": cycle([0, 1, 2**32 - 1], np.uint32),
    }
    return af.Graph.from_edges(np.arange(n), np.roll(np.arange(n), 1), vertices=n), given

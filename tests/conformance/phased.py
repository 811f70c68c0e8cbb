"""Programs with phases: each says something that only phases, or the way between them, can get wrong."""

from __future__ import annotations

import arcflux as af


@af.program
class Hubs:
    """Dense phases along and against edges, and one on none; degrees mean the same in all of them."""

    rounds: int = 3
    hub: af.f64
    authority: af.f64

    def start(v, g):
        v.hub = 1.0 / g.vertices
        return True

    @af.phase
    class authorities:
        def init(v):
            v.authority = 0.0

        def compute(v, u):
            v.authority += u.hub

        def update(v, old):
            return v.authority != old.authority

    @af.phase(edges="against")
    class hubs:
        def init(v):
            v.hub = 0.0

        def compute(v, u, edge):
            v.hub += u.authority * edge.weight / (1 + u.in_degree)

        def update(v, old):
            v.hub = v.hub / (1 + v.out_degree)
            return v.hub != old.hub

    @af.phase(edges=None)
    class scale:
        def update(v, g):
            v.authority = v.authority * 0.5
            return v.in_degree > 0

    def iteration(run, g, p):
        run.authorities()
        run.hubs()
        run.scale()
        return run.iterations < p.rounds


@af.program
class Waves:
    """Sparse phases with starts of their own, one superstep or until quiet, and fields that other phases change."""

    rounds: int = 3
    source: af.vertex
    hops: af.i64
    back: af.i64
    degree: af.i64
    x: af.f64

    def start(v, p):
        v.hops = 0 if v.number == p.source else 1000
        v.back = 1000
        v.degree = v.in_degree + 3 * v.out_degree
        return True

    @af.phase
    class out:
        def start(v):
            return v.hops < 1000

        def compute(v, u):
            v.hops = min(v.hops, u.hops + 1)

        def update(v, old):
            return v.hops < old.hops

    @af.phase(edges="against")
    class home:
        sparse = True

        def start(v):
            v.back = min(v.back, v.hops)
            return v.back < 7

        def compute(v, u):
            v.back = min(v.back, u.back + v.out_degree)

        def update(v, old):
            return v.back < old.back

    @af.phase(edges="both")
    class mean:
        def init(v):
            v.x = 0.0

        def compute(v, u, edge):
            v.x += u.degree * edge.weight

        def update(v, old):
            v.x = v.x + v.degree * 0.125
            return v.x != old.x

    @af.phase(edges=None)
    class forget:
        def update(v, step):
            v.hops = 1000 if v.number % 3 == 0 and v.hops > 0 else v.hops
            v.degree = v.degree + v.in_degree + step
            return v.hops == 1000

    def iteration(run, g, p):
        run.out(until="quiet")
        run.home()
        run.home(until="quiet")
        run.mean()
        forgotten = run.forget()
        return run.iterations < p.rounds and forgotten > 0


@af.program
class Peeled:
    """Sums in a sparse phase whose vertices stop wanting messages: what is left when degrees below k went."""

    k: int = 3
    left: af.i64
    gone: af.flag

    def start(v):
        v.left = v.out_degree
        return True

    @af.phase
    class peel:
        sparse = True

        def start(v, p):
            first = not v.gone and v.left < p.k
            if first:
                v.gone = True
            return first

        def wants(v):
            return not v.gone

        def compute(v, u):
            v.left += -1

        def update(v, p):
            v.gone = v.left < p.k
            return v.gone

    def iteration(run, g, p):
        run.peel(until="quiet")
        return False


@af.program
class Shares:
    """Totals that one phase writes and others read, in start too; one that nobody writes again stays."""

    x: af.f64
    first: af.total(af.f64)
    sum: af.total(af.f64)
    least: af.total(af.i64, "min")
    most: af.total(af.i64[2], "max")

    def start(v, g):
        v.x = 1.0 + v.number % 5
        g.first += v.x
        g.sum += 2.0 * v.x
        return True

    @af.phase
    class push:
        def init(v):
            v.x = 0.0

        def compute(v, u, g):
            v.x += 0.125 * u.x + g.first / 1024.0

        def update(v, g):
            g.most[v.number % 2] = max(g.most[v.number % 2], v.number)
            return v.x > 1.0

    @af.phase(edges="against")
    class divide:
        sparse = True

        def start(v, g):
            v.x = v.x / (1.0 + g.sum)
            g.least = min(g.least, v.number + 3)
            return v.number >= g.least

        def compute(v, u):
            v.x += u.x

        def update(v, old, g):
            g.sum += v.x
            return v.number % 2 == 0 and v.x > old.x

    @af.phase(edges=None)
    class add:
        def update(v, g):
            g.sum += v.x + 1.0
            g.least = min(g.least, 7 - v.number)
            return True

    def iteration(run, g, p):
        run.push()
        run.add()
        run.divide()
        run.divide()
        return run.iterations < 3 and g.least > -100000 and g.sum > 0.0


@af.program
class Routed:
    """Tuples in several phases: two begin with the same field, and the first and last senders are of one call."""

    rounds: int = 3
    far: af.f64
    hops: af.i32
    before: af.ref
    least: af.i64
    most: af.i64
    x: af.i32

    def start(v):
        v.far = 0.0 if v.number == 0 else 1000.0
        v.before = -1
        v.least = -1
        v.most = -1
        v.x = v.number * 7 % 5
        return True

    @af.phase
    class forth:
        def start(v):
            return v.far < 1000.0

        def compute(v, u, edge):
            v.far, v.hops, v.before = min((v.far, v.hops, v.before), (u.far + edge.weight, u.hops + 1, u.number))

        def update(v, old):
            return v.far < old.far or (v.far == old.far and v.hops < old.hops)

    @af.phase(edges="against")
    class ends:
        def compute(v, u):
            v.least = af.first(u.number)
            v.most, v.x = af.last((u.number, u.x))

        def update(v, old):
            return v.least != old.least or v.x != old.x

    @af.phase(edges="both")
    class back:
        def init(v):
            v.far = -1.0

        def compute(v, u):
            v.far, v.before = max((v.far, v.before), (u.far * 0.5 + u.x, u.number))

        def update(v, old):
            v.hops = v.hops // 2
            return v.far != old.far

    def iteration(run, g, p):
        run.forth(until="quiet")
        run.ends()
        run.back()
        return run.iterations < p.rounds


@af.program
class Looked:
    """Neighbourhoods in phases: all look, or those that hear; one that changes and says nothing is seen as it was."""

    rounds: int = 3
    label: af.ref
    x: af.i64
    middle: af.f64
    shared: af.i64
    moved: af.total(af.i64)

    def start(v):
        v.label = v.number
        v.x = v.number * 5 % 7
        return True

    @af.phase(edges="both")
    class vote:
        sparse = True

        def start(v, g):
            return v.number % 3 != 1 or g.moved > 3

        def around(v, edges, old):
            v.label = af.mode((u.label for u in edges), default=old.label)
            v.x = sum(u.x % 11 for u in edges)

        def update(v, old, g):
            if v.label != old.label:
                g.moved += 1
            return v.label != old.label or v.x % 2 != old.x % 2

    @af.phase(edges="against")
    class look:
        def around(v, edges):
            v.middle = af.median((1.0 * u.x * edge.weight for u, edge in edges), default=-1.0)
            v.shared = 0
            for u in edges:
                if u.label == v.label:
                    continue
                v.shared += af.intersect(v, u)

        def update(v, old):
            return v.middle != old.middle or v.shared != old.shared

    @af.phase
    class spread:
        def start(v):
            return v.x > 40

        def compute(v, u):
            v.x = max(v.x, u.x // 2)

        def update(v, old):
            return v.x > old.x

    def iteration(run, g, p):
        run.vote()
        run.vote()
        run.look()
        run.spread(until="quiet")
        return run.iterations < p.rounds and g.moved >= 0


@af.program
class Looking:
    """Neighbourhoods along, against and on both directions, between phases of messages."""

    x: af.i64
    y: af.i64
    z: af.i64

    def start(v):
        v.x = v.number * 7 % 5
        return True

    @af.phase
    class vote:
        def around(v, edges):
            v.y = af.mode((u.x for u in edges), default=-1)

        def update(v):
            return True

    @af.phase(edges="against")
    class back:
        def around(v, edges):
            sum_ = 0
            for u, edge in edges:
                sum_ += u.y * 3 + int(edge.weight)
            v.z = sum_

    @af.phase
    class plus:
        def compute(v, u):
            v.x += u.z % 3

        def update(v):
            return True

    @af.phase(edges="both")
    class most:
        def around(v, edges, old):
            v.y = max((u.x for u in edges if u.x > 2), default=old.y)

    def iteration(run, g, p):
        run.vote()
        run.back()
        run.plus()
        run.most()
        return run.iterations < 3


PHASED = (Hubs, Waves, Peeled, Shares, Routed, Looked, Looking)

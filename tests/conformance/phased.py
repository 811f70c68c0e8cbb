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


PHASED = (Hubs, Waves, Peeled, Shares)

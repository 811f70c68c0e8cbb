"""Programs with loops that do not end, in every function that is called in a superstep."""

import arcflux as af


@af.program
class InUpdate:
    """Dense; the loop is in the third superstep."""

    n: int = 10**18
    x: af.i64

    def start(v):
        v.x = v.number
        return True

    def init(v):
        v.x = 0

    def compute(v, u):
        v.x += u.x

    def update(v, old, p, step):
        v.x = v.x % 1009
        if step == 2:
            for k in range(p.n):
                v.x = (v.x + k) % 1000
        return True


@af.program
class InStart:
    n: int = 10**18
    x: af.i64

    def start(v, p):
        v.x = 3
        for k in range(p.n):
            v.x = (v.x + k) % 1000
        return True

    def compute(v, u):
        v.x = min(v.x, u.x)

    def update(v, old):
        return v.x < old.x


@af.program
class InCompute:
    """Sparse, with loops in loops: none of them is long by itself."""

    n: int = 10**5
    sparse = True
    x: af.i64

    def start(v):
        v.x = v.number
        return True

    def compute(v, u, p, step):
        more = 0
        if step == 1:
            for i in range(p.n):
                for j in range(p.n):
                    for k in range(p.n):
                        more = (more + i + j + k) % 1000
        v.x = min(v.x, u.x + more)

    def update(v, old):
        return v.x < old.x


@af.program
class InOrder:
    """By priority: vertices change in place."""

    n: int = 10**18
    source: af.vertex = 0
    x: af.i64

    def start(v, p):
        v.x = 0 if v.number == p.source else 10**9
        return v.number == p.source

    def priority(v, p):
        return v.x

    def compute(v, u, p):
        more = 1
        if u.x == 2:
            for k in range(p.n):
                more = 1 + (more + k) % 1000
        v.x = min(v.x, u.x + more)

    def update(v, old):
        return v.x < old.x


@af.program
class InAround:
    """Sees all its neighbours at once."""

    n: int = 10**18
    x: af.i64

    def start(v):
        v.x = v.number
        return True

    def around(v, edges, p, step):
        more = 0
        if step == 1:
            for k in range(p.n):
                more = (more + k) % 1000
        v.x = (sum(u.x for u in edges) + more) % 1009

    def update(v):
        return True


@af.program
class InReceive:
    """Mail to the next vertex."""

    n: int = 10**18
    x: af.i64
    letter: af.mail(af.i64)

    def start(v, g):
        v.x = v.number
        af.send((v.number + 1) % g.vertices, letter=v.x)
        return False

    def receive(v, letter, g, p, step):
        for r in letter:
            v.x = (v.x + r) % 1009
        if step == 2:
            for k in range(p.n):
                v.x = (v.x + k) % 1000
        af.send((v.number + 1) % g.vertices, letter=v.x)


@af.program
class InAlong:
    """Writes fields of edges."""

    n: int = 10**18
    x: af.i64
    kept: af.edge(af.i64)

    def start(v):
        v.x = v.number
        return True

    def along(edge, u, p, step):
        edge.kept = edge.kept + u.x
        if step == 2:
            for k in range(p.n):
                edge.kept = (edge.kept + k) % 1000

    def init(v):
        v.x = 0

    def compute(v, edge):
        v.x += edge.kept % 1009

    def update(v):
        v.x = v.x % 1009
        return True


@af.program
class InPhase:
    """Two phases, of which one does not end."""

    n: int = 10**18
    x: af.i64

    def start(v):
        v.x = v.number
        return True

    @af.phase
    class spread:
        def compute(v, u):
            v.x = max(v.x, u.x)

        def update(v):
            v.x = v.x + 1
            return True

    @af.phase(edges=None)
    class count:
        def update(v, p, step):
            if step == 1:
                for k in range(p.n):
                    v.x = (v.x + k) % 1000
            return True

    def iteration(run):
        run.spread()
        run.count()
        return run.iterations < 4


@af.program
class InStop:
    """What asks whether the run is over does not end."""

    n: int = 10**18
    x: af.i64
    sum: af.total(af.i64)

    def compute(v, u):
        v.x += 1

    def update(v, g):
        g.sum += v.x
        return True

    def stop(g, p, step):
        more = 0
        if step == 1:
            for k in range(p.n):
                more = (more + k) % 1000
        return g.sum + more < 0

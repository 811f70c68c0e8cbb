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

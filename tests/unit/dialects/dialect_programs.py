"""The same algorithms in every dialect, for tests and for benchmarks/dialects.py."""

import math

import arcflux as af

__all__ = ["DIALECTS", "FAR", "SSSP", "Degrees", "Hops", "PageRank"]

FAR = 1000000


class PageRank:
    """By name of the dialect."""

    @af.gas
    class gas:
        damping: float = 0.85
        tolerance: float = 1e-6
        rank: af.f64

        def start(v, g):
            v.rank = 1.0 / g.vertices
            return True

        def gather(v, u):
            return u.rank / u.out_degree

        def sum(a, b):
            return a + b

        def apply(v, gathered, g, p):
            v.rank = (1.0 - p.damping) / g.vertices + p.damping * gathered

        def residual(v, old):
            return abs(v.rank - old.rank)

    @af.msg
    class msg:
        damping: float = 0.85
        tolerance: float = 1e-6
        rank: af.f64

        def start(v, g):
            v.rank = 1.0 / g.vertices
            return True

        def MSGGen(u):
            return u.rank / u.out_degree

        def MSGMerge(a, b):
            return a + b

        def MSGApply(v, message, old, g, p):
            v.rank = (1.0 - p.damping) / g.vertices + p.damping * message
            return v.rank != old.rank

        def residual(v, old):
            return abs(v.rank - old.rank)


class SSSP:
    @af.gas
    class gas:
        source: af.vertex
        distance: af.f64

        def start(v, p):
            v.distance = 0.0 if v.number == p.source else math.inf
            return v.number == p.source

        def gather(v, u, edge):
            return u.distance + edge.weight

        def sum(a, b):
            return min(a, b)

        def apply(v, gathered):
            v.distance = min(v.distance, gathered)

        def scatter(v, old):
            return v.distance < old.distance

    @af.msg
    class msg:
        source: af.vertex
        distance: af.f64

        def start(v, p):
            v.distance = 0.0 if v.number == p.source else math.inf
            return v.number == p.source

        def MSGGen(u, edge):
            return u.distance + edge.weight

        def MSGMerge(a, b):
            return min(a, b)

        def MSGApply(v, message, old):
            v.distance = min(v.distance, message)
            return v.distance < old.distance


class Hops:
    """BFS; of gas with an early return, of msg with a message of another type than the field."""

    @af.gas
    class gas:
        source: af.vertex
        level: af.i32

        def start(v, p):
            v.level = 0 if v.number == p.source else FAR
            return v.number == p.source

        def gather(v, u) -> af.i32:
            if u.level >= FAR:
                return
            found = u.level + 1
            if found > FAR:
                return FAR
            return found

        def sum(a, b):
            return min(a, b)

        def apply(v, gathered):
            v.level = min(gathered, v.level)

        def scatter(v, old):
            found = v.level != old.level
            return found

    @af.msg
    class msg:
        sparse = True
        source: af.vertex
        level: af.i32

        def start(v, p):
            v.level = 0 if v.number == p.source else FAR
            return v.number == p.source

        def MSGGen(u) -> af.i64:
            return u.level + 1

        def MSGMerge(a, b):
            return min(a, b)

        def MSGApply(v, message):
            if v.level < FAR or message > FAR:
                return False
            v.level = int(message)
            return True


class Degrees:
    """In-degrees by counting messages; a self-loop sends none."""

    @af.gas
    class gas:
        count: af.i64

        def start(v):
            return True

        def gather(v, u):
            if u.number == v.number:
                return
            return 1

        def sum(a, b):
            return a + b

        def apply(v, gathered):
            v.count = gathered

    @af.msg
    class msg:
        count: af.i64

        def start(v):
            return True

        def MSGGen(u, v):
            if u.number != v.number:
                return 1

        def MSGMerge(a, b):
            return a + b

        def MSGApply(v, message, old):
            v.count = message
            return v.count != old.count


DIALECTS = ("gas", "msg")

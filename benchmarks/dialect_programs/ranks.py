"""PageRank (Lux, figure 4), until ranks move by less than the tolerance in all."""

import arcflux as af

__all__ = ["FIELD", "Emv", "Gas", "Msg", "Native"]

FIELD = "rank"


@af.program
class Native:
    damping: float = 0.85
    tolerance: float = 1e-6
    rank: af.f64

    def start(v, g):
        v.rank = 1.0 / g.vertices
        return True

    def init(v):
        v.rank = 0.0

    def compute(v, u):
        v.rank += u.rank / u.out_degree

    def update(v, old, g, p):
        v.rank = (1.0 - p.damping) / g.vertices + p.damping * v.rank
        return v.rank != old.rank

    def residual(v, old):
        return abs(v.rank - old.rank)


@af.gas
class Gas:
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


@af.emv
class Emv:
    damping: float = 0.85
    tolerance: float = 1e-6
    message: af.f64
    rank: af.f64

    def start(v, g):
        v.rank = 1.0 / g.vertices
        return True

    def SendRank(v, el):
        share = v.rank / v.out_degree
        for e in el:
            e.send(share)

    def Combiner(a, b):
        return a + b

    def UpdateRank(v, combined, old, g, p):
        v.rank = (1.0 - p.damping) / g.vertices + p.damping * combined
        if v.rank != old.rank:
            g.halt = False

    def residual(v, old):
        return abs(v.rank - old.rank)

    def iteration(run):
        run.InitMessageBuffer(0.0)
        run.ELIST.SendRank()
        run.Combiner()
        run.VERTEX.UpdateRank()


@af.msg
class Msg:
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

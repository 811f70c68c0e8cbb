"""Two-hop friends (G2, section V): which of the selected vertices reach a vertex in at most two hops.

Every tenth vertex is selected; the k-th of them is bit k % 32 of word k // 32.
"""

import arcflux as af

__all__ = ["FIELD", "Emv", "Gas", "Msg", "Native"]

FIELD = "reach"


@af.program
class Native:
    words: int = 4
    reach: af.i64[words]

    def start(v, p):
        if v.number % 10 == 0 and v.number // 320 < p.words:
            v.reach[v.number // 320 % p.words] = 1 << (v.number // 10 % 32)
        return True

    def compute(v, u):
        v.reach |= u.reach

    def update(v, step):
        return step + 1 < 2


@af.gas
class Gas:
    words: int = 4
    reach: af.i64[words]

    def start(v, p):
        if v.number % 10 == 0 and v.number // 320 < p.words:
            v.reach[v.number // 320 % p.words] = 1 << (v.number // 10 % 32)
        return True

    def gather(v, u):
        return u.reach

    def sum(a, b):
        return a | b

    def apply(v, gathered):
        v.reach = v.reach | gathered

    def scatter(v, step):
        return step + 1 < 2


@af.emv
class Emv:
    words: int = 4
    reach: af.i64[words]
    message: af.i64["words"]

    def start(v, p):
        if v.number % 10 == 0 and v.number // 320 < p.words:
            v.reach[v.number // 320 % p.words] = 1 << (v.number // 10 % 32)
        return True

    def Send(e):
        e.send(e.tail.reach)

    def Combiner(a, b):
        return a | b

    def Take(v, combined, step, g):
        v.reach = v.reach | combined
        if step + 1 < 2:
            g.halt = False

    def iteration(run):
        run.EDGE.Send()
        run.Combiner()
        run.VERTEX.Take()


@af.msg
class Msg:
    words: int = 4
    reach: af.i64[words]

    def start(v, p):
        if v.number % 10 == 0 and v.number // 320 < p.words:
            v.reach[v.number // 320 % p.words] = 1 << (v.number // 10 % 32)
        return True

    def MSGGen(u):
        return u.reach

    def MSGMerge(a, b):
        return a | b

    def MSGApply(v, message, step):
        v.reach = v.reach | message
        return step + 1 < 2

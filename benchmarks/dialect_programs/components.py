"""Connected components: the smallest number that reaches a vertex (Lux, section 3.4)."""

import arcflux as af

__all__ = ["FIELD", "Emv", "Gas", "Msg", "Native"]

FIELD = "component"


@af.program
class Native:
    component: af.u32

    def start(v):
        v.component = v.number
        return True

    def compute(v, u):
        v.component = min(v.component, u.component)

    def update(v, old):
        return v.component < old.component


@af.gas
class Gas:
    component: af.u32

    def start(v):
        v.component = v.number
        return True

    def gather(v, u):
        return u.component

    def sum(a, b):
        return min(a, b)

    def apply(v, gathered):
        v.component = min(v.component, gathered)

    def scatter(v, old):
        return v.component < old.component


@af.emv
class Emv:
    component: af.u32
    message: af.u32

    def start(v):
        v.component = v.number
        return True

    def Send(e):
        e.send(e.tail.component)

    def Combiner(a, b):
        return min(a, b)

    def Take(v, combined, old, g):
        v.component = min(v.component, combined)
        if v.component < old.component:
            g.halt = False

    def iteration(run):
        run.EDGE.Send()
        run.Combiner()
        run.VERTEX.Take()


@af.msg
class Msg:
    component: af.u32

    def start(v):
        v.component = v.number
        return True

    def MSGGen(u):
        return u.component

    def MSGMerge(a, b):
        return min(a, b)

    def MSGApply(v, message, old):
        v.component = min(v.component, message)
        return v.component < old.component

"""Breadth-first search: how many edges a vertex is from the source; FAR where no path leads."""

import arcflux as af

__all__ = ["FAR", "FIELD", "Emv", "Gas", "Msg", "Native"]

FIELD = "level"
FAR = 1_000_000


@af.program
class Native:
    source: af.vertex
    level: af.i32

    def start(v, p):
        v.level = 0 if v.number == p.source else FAR
        return v.number == p.source

    def compute(v, u):
        v.level = min(v.level, u.level + 1)

    def update(v, old):
        return v.level < old.level


@af.gas
class Gas:
    source: af.vertex
    level: af.i32

    def start(v, p):
        v.level = 0 if v.number == p.source else FAR
        return v.number == p.source

    def gather(v, u):
        return u.level + 1

    def sum(a, b):
        return min(a, b)

    def apply(v, gathered):
        v.level = min(v.level, gathered)

    def scatter(v, old):
        return v.level < old.level


@af.emv
class Emv:
    source: af.vertex
    level: af.i32
    message: af.i32

    def start(v, p):
        v.level = 0 if v.number == p.source else FAR
        return v.number == p.source

    def Send(e):
        e.send(e.tail.level + 1)

    def Combiner(a, b):
        return min(a, b)

    def Take(v, combined, old, g):
        v.level = min(v.level, combined)
        if v.level < old.level:
            g.halt = False

    def iteration(run):
        run.EDGE.Send()
        run.Combiner()
        run.VERTEX.Take()


@af.msg
class Msg:
    source: af.vertex
    level: af.i32

    def start(v, p):
        v.level = 0 if v.number == p.source else FAR
        return v.number == p.source

    def MSGGen(u):
        return u.level + 1

    def MSGMerge(a, b):
        return min(a, b)

    def MSGApply(v, message, old):
        v.level = min(v.level, message)
        return v.level < old.level

"""Shortest paths from four sources at once (GX-Plug, section V): a vector of four distances."""

import math

import arcflux as af

__all__ = ["FIELD", "Emv", "Gas", "Msg", "Native"]

FIELD = "distance"


@af.program
class Native:
    sources: af.i64[4] = (0, 1, 2, 3)  # numbers of vertices
    distance: af.f64[4]

    def start(v, p):
        first = False
        for k in range(4):
            v.distance[k] = 0.0 if v.number == p.sources[k] else math.inf
            first = first or v.number == p.sources[k]
        return first

    def compute(v, u, edge):
        v.distance = min(v.distance, u.distance + edge.weight)

    def update(v, old):
        for k in range(4):  # noqa: SIM110
            if v.distance[k] < old.distance[k]:
                return True
        return False


@af.gas
class Gas:
    sources: af.i64[4] = (0, 1, 2, 3)  # numbers of vertices
    distance: af.f64[4]

    def start(v, p):
        first = False
        for k in range(4):
            v.distance[k] = 0.0 if v.number == p.sources[k] else math.inf
            first = first or v.number == p.sources[k]
        return first

    def gather(v, u, edge):
        return u.distance + edge.weight

    def sum(a, b):
        return min(a, b)

    def apply(v, gathered):
        v.distance = min(v.distance, gathered)

    def scatter(v, old):
        for k in range(4):  # noqa: SIM110
            if v.distance[k] < old.distance[k]:
                return True
        return False


@af.emv
class Emv:
    sources: af.i64[4] = (0, 1, 2, 3)  # numbers of vertices
    distance: af.f64[4]
    message: af.f64[4]

    def start(v, p):
        first = False
        for k in range(4):
            v.distance[k] = 0.0 if v.number == p.sources[k] else math.inf
            first = first or v.number == p.sources[k]
        return first

    def Send(e):
        e.send(e.tail.distance + e.weight)

    def Combiner(a, b):
        return min(a, b)

    def Take(v, combined, old, g):
        v.distance = min(v.distance, combined)
        for k in range(4):
            if v.distance[k] < old.distance[k]:
                g.halt = False

    def iteration(run):
        run.EDGE.Send()
        run.Combiner()
        run.VERTEX.Take()


@af.msg
class Msg:
    sources: af.i64[4] = (0, 1, 2, 3)  # numbers of vertices
    distance: af.f64[4]

    def start(v, p):
        first = False
        for k in range(4):
            v.distance[k] = 0.0 if v.number == p.sources[k] else math.inf
            first = first or v.number == p.sources[k]
        return first

    def MSGGen(u, edge):
        return u.distance + edge.weight

    def MSGMerge(a, b):
        return min(a, b)

    def MSGApply(v, message, old):
        v.distance = min(v.distance, message)
        for k in range(4):  # noqa: SIM110
            if v.distance[k] < old.distance[k]:
                return True
        return False

"""The algorithms of GX-Plug's experiments in its own words: SSSP-BF from four sources, PageRank, components, labels."""

import math

import arcflux as af


@af.msg
class FourPaths:
    """Bellman-Ford from four sources at once."""

    a: af.vertex
    b: af.vertex
    c: af.vertex
    d: af.vertex
    dist: af.f64[4]

    def start(v, p):
        v.dist[0] = 0.0 if v.number == p.a else math.inf
        v.dist[1] = 0.0 if v.number == p.b else math.inf
        v.dist[2] = 0.0 if v.number == p.c else math.inf
        v.dist[3] = 0.0 if v.number == p.d else math.inf
        return v.number == p.a or v.number == p.b or v.number == p.c or v.number == p.d

    def MSGGen(u, edge):
        return u.dist + edge.weight

    def MSGMerge(a, b):
        return min(a, b)

    def MSGApply(v, message, old):
        v.dist = min(v.dist, message)
        nearer = False
        for k in range(4):
            nearer = nearer or v.dist[k] < old.dist[k]
        return nearer


@af.msg
class Ranks:
    """PageRank, for as many iterations as are asked for; what dangling vertices have goes to all."""

    damping: float = 0.85
    rank: af.f64
    lost: af.total(af.f64)

    def start(v, g):
        v.rank = 1.0 / g.vertices
        if v.out_degree == 0:
            g.lost += v.rank
        return True

    def MSGGen(u):
        return u.rank / u.out_degree

    def MSGMerge(a, b):
        return a + b

    def MSGApply(v, message, g, p, old):
        v.rank = (1.0 - p.damping + p.damping * g.lost) / g.vertices + p.damping * message
        if v.out_degree == 0:
            g.lost += v.rank
        return v.rank != old.rank


@af.msg
class Components:
    """The smallest number that can be reached."""

    component: af.i64

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


@af.msg
class Labels:
    """Label propagation: the label that most neighbours have, of several the smallest."""

    label: af.i64

    def start(v):
        v.label = v.number
        return True

    def MSGGen(u):
        return [u.label]

    def MSGMerge(a, b):
        return a + b

    def MSGApply(v, message, old):
        v.label = af.mode(message, default=old.label)
        return v.label != old.label

"""Programs with mail, each beside an oracle that shares no code with any back end; see test_mail.py."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

import arcflux as af


@af.program
class Walk:
    """Random walks: several start at each vertex; each goes on to a random neighbour until it is long enough."""

    seed: int = 1
    each: int = 3
    length: int = 6
    visits: af.i64
    last: af.i64
    walker: af.mail(walk=af.i64, hops=af.i32)

    def start(v, p):
        v.last = -1
        for k in range(p.each):
            af.send(v.number, walker=(v.number * p.each + k, 0))
        return False

    def receive(v, walker, p):
        for r in walker:
            v.visits += 1
            v.last = r.walk
            if r.hops < p.length and v.out_degree > 0:
                k = int(af.random(r.walk, r.hops, seed=p.seed) * v.out_degree)
                af.send(af.neighbour(v, k), walker=(r.walk, r.hops + 1))


def walked(graph, each=3, length=6, seed=1):
    """Visits of each vertex, and the last walk that came, of those in order: walk by walk in a list of positions."""
    rows = [row.tolist() for row in np.split(graph.out.neighbours, graph.out.offsets[1:-1].astype(int))]
    visits, last = [0] * graph.vertices, [-1] * graph.vertices
    # A queue in the order of senders, and of each sender in the order in which it received.
    here = [(walk // each, walk) for walk in range(each * graph.vertices)]
    for hops in range(length + 1):
        there = []
        for v, walk in here:
            visits[v] += 1
            last[v] = walk
            if hops < length and rows[v]:
                there.append((v, rows[v][int(af.random(walk, hops, seed=seed) * len(rows[v]))], walk))
        boxes = defaultdict(list)
        for _, to, walk in there:  # `here` is sorted by vertex, so `there` is by sender
            boxes[to].append(walk)
        here = [(v, walk) for v in sorted(boxes) for walk in boxes[v]]
    return visits, last


@af.program
class Roots:
    """Pointer jumping: the root of each vertex of a forest, in as many rounds as the depth has bits."""

    shift: int = 2
    root: af.ref
    ask: af.mail(af.i64)
    tell: af.mail(af.i64, "min")

    def start(v, p):
        v.root = v.number // p.shift
        af.send(v.root, ask=v.number)
        return False

    def receive(v, ask, tell, step):
        if step % 2 == 0:
            for who in ask:
                af.send(who, tell=v.root)
        elif tell != v.root:
            v.root = tell
            af.send(v.root, ask=v.number)


@af.program
class Wedges:
    """How many wedges close over each vertex: each pair of its neighbours asks whether there is an edge."""

    wedges: af.i64
    closed: af.i64
    wedge: af.mail(between=af.i64, end=af.i64)
    answer: af.mail(af.i64, "sum")

    def start(v):
        for j in range(v.out_degree):
            for k in range(v.out_degree):
                if j < k:
                    af.send(af.neighbour(v, j), wedge=(v.number, af.neighbour(v, k)))
        return False

    def receive(v, wedge, answer):
        v.closed += answer
        for r in wedge:
            v.wedges += 1
            k = 0
            while k < v.out_degree and af.neighbour(v, k) != r.end:
                k += 1
            if k < v.out_degree:
                af.send(r.between, answer=1)


@af.program
class Contracted:
    """The graph of groups: the weight within each, and that of arcs to others; of these, the last that came."""

    groups: int = 5
    group: af.ref
    inside: af.f64
    outside: af.f32
    last: af.i64
    arc: af.mail(to=af.i32, weight=af.f64)
    heavy: af.mail(af.f32, "max")
    some: af.mail(af.flag, "or")
    sent: af.total(af.i64)
    marked: af.flag
    most: af.f32

    def start(v, p):
        v.group = v.number % p.groups
        return True

    def around(v, edges, old, step):
        if step == 0:
            for u, edge in edges:
                af.send(u.group, arc=(old.group, edge.weight), heavy=edge.weight)

    def receive(v, arc, heavy, some):
        v.most = max(v.most, heavy)
        v.marked = v.marked or some
        for r in arc:
            v.last = r.to
            if r.to == v.number:
                v.inside += r.weight
            else:
                v.outside += r.weight
        if len(arc) % 2 == 1:
            af.send(v.number, some=v.number % 3 == 0)

    def update(v, g, step):
        g.sent += 1
        if step == 0:
            for k in range(v.out_degree):
                if af.out_edge(v, k).weight > 7:
                    af.send(af.neighbour(v, k), some=True)
        return False


MAILED = [Walk, Roots, Wedges, Contracted]

"""Programs of every form that blocks of triplets can have, by agents and by the native engine."""

import math
import warnings

import numpy as np
import pytest

import arcflux as af
from arcflux.algorithms import BFS
from arcflux.plug.upper import gas

DIRECTED = af.load("kron:6,weights=1-9,directed,seed=3")


@af.program
class Tree:
    """Distance and parent together: a tuple of which the smallest stays."""

    source: af.vertex
    dist: af.i64
    parent: af.i64

    def start(v, p):
        v.dist = 0 if v.number == p.source else 1 << 40
        v.parent = v.number
        return v.number == p.source

    def compute(v, u, edge):
        v.dist, v.parent = min((v.dist, v.parent), (u.dist + edge.weight, u.number))

    def update(v, old):
        return v.dist < old.dist or (v.dist == old.dist and v.parent < old.parent)


@af.program
class Closer:
    """A message is made of both ends: how much nearer the receiver could be."""

    source: af.vertex
    dist: af.f64
    gain: af.f64

    def start(v, p):
        v.dist = 0.0 if v.number == p.source else 1000.0
        return v.number == p.source

    def init(v):
        v.gain = 0.0

    def compute(v, u, edge, old):
        v.gain = max(v.gain, old.dist - u.dist - edge.weight)

    def update(v, old):
        v.dist = old.dist - v.gain
        return v.gain > 0.0


@af.program
class Flags:
    """Narrow types, or and product, sets of vertices, a total that stops it, and the step."""

    sources: af.vertices
    most: int = 4
    marks: af.u8
    odd: af.flag
    when: af.i32
    changed: af.total(af.i64)

    def start(v, p):
        v.marks = 1 if v in p.sources else 0
        v.odd = False
        v.when = 0
        return v in p.sources

    def compute(v, u):
        v.marks |= u.marks * 2
        v.odd |= u.number % 2 == 1

    def update(v, old, g, step):
        v.when = step if v.marks != old.marks or v.odd != old.odd else old.when
        g.changed += 1 if v.marks != old.marks else 0
        return v.marks != old.marks or v.odd != old.odd

    def stop(g, p, step):
        return step >= p.most or g.changed < 0


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize(
    ("program", "options", "fields"),
    [(Tree, {"source": 0}, ["dist", "parent"]), (Closer, {"source": 0}, ["dist"]), (BFS, {"source": 0}, ["level"]),
     (Flags, {"sources": [0, 5, 9]}, ["marks", "odd", "when"])],
    ids=["tuples", "both ends", "any", "flags"],
)  # fmt: skip
def test_programs_of_all_forms(lasting_folder, program, options, fields, workers):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = af.run(program, DIRECTED, threads=1, **options)
        for switches in ({}, {"cache": 9}, {"lazy": False}):
            found = gas.run(
                DIRECTED, program, workers=workers, partition="grid", folder=lasting_folder, lease=20.0, threads=1,
                **options, **switches,
            )  # fmt: skip
            for name in fields:
                assert np.array_equal(found[name], expected[name]), (name, switches)
    assert math.isfinite(found.seconds)

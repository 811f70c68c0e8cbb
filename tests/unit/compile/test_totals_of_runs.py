"""Totals of the kernel that sweeps meshes run by run, which a compiler reduces several at once."""

import math
from unittest import mock

import numpy as np
import pytest

import arcflux as af
from arcflux.engine import dense


@af.program
class Ranged:
    x: af.f64
    sum: af.total(af.f64)
    low: af.total(af.f64, "min")
    high: af.total(af.f64, "max")
    none: af.total(af.f64, "min")
    count: af.total(af.i64)

    def start(v):
        v.x = v.number % 7
        return True

    def init(v):
        v.x = 0.0

    def compute(v, u):
        v.x += u.x

    def update(v, g):
        g.sum += v.x
        g.low = min(g.low, v.x if v.number % 3 > 0 else math.nan)
        g.high = max(g.high, math.nan if v.number % 5 == 0 else v.x - 100.0)
        g.none = min(g.none, math.nan)
        if v.x > 10.0:
            g.count += 1
        return False


@pytest.mark.parametrize("options", [{"threads": 1}, {"threads": 3}, {"deterministic": True}], ids=str)
def test_totals_are_those_of_the_values(options: dict[str, object]) -> None:
    graph = af.load("grid:40x100")
    take = dense.Dense._take
    with (
        mock.patch.object(dense, "_MANY", 0),
        mock.patch.object(dense.Dense, "_take", lambda self, name: take(self, "even")),
    ):
        found = af.run(Ranged, graph, **options)
    x, number = found["x"], np.arange(graph.vertices)
    assert found.totals == {
        "sum": x.sum(),
        "low": x[number % 3 > 0].min(),
        "high": x[number % 5 > 0].max() - 100.0,
        "none": math.inf,
        "count": int((x > 10).sum()),
    }

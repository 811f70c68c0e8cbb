"""Programs with totals of every operation, and what they have to give, in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

import arcflux as af


@af.program
class Everything:
    """Dense: every operation, numbers and vectors, read in every function, written in start, ifs and loops."""

    k: int = 3
    tolerance: float = 1e-3
    norm = "max"
    x: af.f64
    n: af.i64
    sum: af.total(af.f64)
    count: af.total(af.i64)
    product: af.total(af.u64, "max")
    low: af.total(af.f64, "min")
    high: af.total(af.f64, "max")
    least: af.total(af.i64, "min")
    bits: af.total(af.i64, "or")
    common: af.total(af.u64, "and")
    some: af.total(af.flag, "or")
    every: af.total(af.flag, "and")
    row: af.total(af.f64[k])
    rows: af.total(af.i64[k], "min")
    first: af.total(af.i64)

    def start(v, g):
        v.x = 1.0 / (v.number + 1)
        g.sum += v.x
        g.first += 1
        if v.number % 2 == 0:
            g.count += 1
        g.row[1] += 0.5 * v.x
        return True

    def init(v, g):
        v.x = 0.01 * g.row[1] / g.vertices
        v.n = g.count % 3

    def compute(v, u, g):
        v.x += 0.25 * u.x / u.out_degree + 0.001 * g.sum / g.vertices
        v.n = max(v.n, (u.n + g.count) % 7)

    def update(v, old, g, p, step):
        v.x = v.x + 0.1 * g.sum / g.first
        g.sum += v.x
        if v.out_degree > 2:
            g.count += 1
        if v.number % 3 == 0:
            g.low = min(g.low, v.x)
        g.high = max(0.5 * v.x, g.high)
        g.least = min(g.least, v.n - v.number)
        g.product = max(g.product, v.number * 7 % 13)
        g.bits |= v.number % 4 * 2
        g.common &= v.number | 8
        g.some |= v.number == 1
        g.every &= v.number < 7
        g.row += v.x
        g.row[v.number % p.k] += 1.0
        for j in range(p.k):
            g.rows[j] = min(g.rows[j], v.number + j)
        return step < 20

    def residual(v, old):
        return abs(v.x - old.x)

    def stop(g, p, step):
        return step >= 4 and g.low < g.high * 100.0


def everything(graph: af.Graph, supersteps: int) -> tuple[dict[str, Any], list[dict[str, Any]], list[float]]:
    """Fields, totals of each superstep, and residuals; it never stops by itself."""
    n = graph.vertices
    number, sources, targets = np.arange(n), _sources(graph), graph.out.neighbours.astype(np.int64)
    x, label = 1.0 / (number + 1), np.zeros(n, np.int64)
    t: dict[str, Any] = {"sum": x.sum(), "count": int((number % 2 == 0).sum()), "first": n}
    t["row"] = np.array([0.0, 0.5 * x.sum(), 0.0])
    past, residuals = [], []
    for _ in range(supersteps):
        old = x
        x = np.full(n, 0.01 * t["row"][1] / n)
        sent = 0.25 * old / np.maximum(graph.out_degrees.astype(np.int64), 1)
        np.add.at(x, targets, sent[sources] + 0.001 * t["sum"] / n)
        x += 0.1 * t["sum"] / n
        message = (label[sources] + t["count"]) % 7
        label = np.full(n, t["count"] % 3)
        np.maximum.at(label, targets, message)
        t = {
            "sum": x.sum(), "count": int((graph.out_degrees > 2).sum()), "product": int((number * 7 % 13).max()),
            "low": x[::3].min(), "high": 0.5 * x.max(), "least": int((label - number).min()),
            "bits": int(np.bitwise_or.reduce(number % 4 * 2)), "common": int(np.bitwise_and.reduce(number | 8)),
            "some": n > 1, "every": n <= 7, "row": x.sum() + np.bincount(number % 3, minlength=3),
            "rows": np.arange(3), "first": n,
        }  # fmt: skip
        past.append(t)
        residuals.append(np.abs(x - old).max())
    return {"x": x, "n": label}, past, residuals


@af.program
class Reached:
    """Sparse: totals are of those that received, also when the message said nothing new."""

    source: af.vertex
    most: int = 1000
    hops: af.i64
    received: af.total(af.i64)
    sum: af.total(af.f64)
    farthest: af.total(af.i64, "max")
    quiet: af.total(af.flag, "and")

    def start(v, g, p):
        v.hops = 0 if v.number == p.source else 1000
        if v.number == p.source:
            g.received += 1
        return v.number == p.source

    def compute(v, u):
        v.hops = min(v.hops, u.hops + 1)

    def update(v, old, g):
        g.received += 1
        g.sum += 0.1 * v.hops
        g.farthest = max(g.farthest, v.hops)
        g.quiet &= v.hops == old.hops
        return v.hops < old.hops

    def stop(g, p):
        return g.received > p.most


def reached(graph: af.Graph, most: int = 1000) -> tuple[np.ndarray, list[dict[str, Any]]]:
    """Hops from vertex 0, and the totals of each superstep."""
    hops, active, past = np.full(graph.vertices, 1000), np.zeros(graph.vertices, bool), []
    sources, targets = _sources(graph), graph.out.neighbours.astype(np.int64)
    hops[0], active[0] = 0, True
    while active.any() and not (past and past[-1]["received"] > most):
        along = active[sources]
        received = np.zeros(graph.vertices, bool)
        received[targets[along]] = True
        new = hops.copy()
        np.minimum.at(new, targets[along], hops[sources[along]] + 1)
        active = new < hops
        least = int(np.iinfo(np.int64).min)
        past.append(
            {
                "received": int(received.sum()), "sum": float(0.1 * new[received].sum()), "quiet": not active.any(),
                "farthest": int(new[received].max(initial=least)),
            }
        )  # fmt: skip
        hops = new
    return hops, past


def _sources(graph: af.Graph) -> np.ndarray:
    return np.repeat(np.arange(graph.vertices), graph.out_degrees.astype(np.int64))


def compare(result: af.Result, past: list[dict[str, Any]]) -> None:
    """Whether the totals of a run are those."""
    assert result.supersteps == len(past)
    for step, wanted in zip(result.history, past, strict=True):
        assert step.totals.keys() == wanted.keys()
        for name, value in wanted.items():
            np.testing.assert_allclose(step.totals[name], value, rtol=1e-9, err_msg=f"{name} of {step.number}")
    for name, value in past[-1].items():
        np.testing.assert_allclose(result.totals[name], value, rtol=1e-9)
        assert type(result.totals[name]) is not np.ndarray or result.totals[name].shape == (3,)

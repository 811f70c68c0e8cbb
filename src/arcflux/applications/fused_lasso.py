"""The fused lasso on graphs: a signal that is constant on regions, as close to a noisy one as the penalty allows.

Also known as graph trend filtering of order 0, total variation denoising on a graph, the proximal operator of graph
total variation. It is solved exactly by maximum flows: A. Chambolle, J. Darbon, "On total variation minimization and
surface evolution using parametric maximum flows", 2009; and the study's "Sparse fused lasso". All vertices of a
component begin as one region, at its mean. One flow for all regions determines which part of each should be above its
mean at the price of its boundary; it becomes a region of its own, and the edges between pay their full price. A region
that is not split is final.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import arcflux as af
from arcflux.applications.arrays import numbers_of_vertices
from arcflux.applications.maximum_flow.network import Network
from arcflux.applications.maximum_flow.rounds import solver_of
from arcflux.applications.maximum_flow.solver import Solver
from arcflux.applications.traffic import told
from arcflux.applications.weights import edge_weights
from arcflux.checks import maybe, real, text
from arcflux.engine.call import graph_call
from arcflux.engine.launch import launch
from arcflux.engine.worker import Worker
from arcflux.errors import UsageError
from arcflux.graph import Graph

__all__ = ["FusedLasso", "fused_lasso"]

Array = NDArray[Any]
# Bits of the total flow.
_BITS = 58


@dataclass(frozen=True, repr=False)
class FusedLasso(af.Result):
    """The result of :func:`fused_lasso`: the fields `signal` and `region`.

    objective: the minimised value; gap: the most by which it can be above the minimum, proved by `dual`, the price on
    each arc (in the order of ``graph.columns``, negative against its direction); rounds: the number of flows.
    """

    objective: float = 0.0
    gap: float = 0.0
    dual: Array | None = field(default=None, repr=False)
    rounds: int = 0
    sent: Mapping[str, int] = field(default_factory=dict)

    def highlights(self) -> list[tuple[str, str]]:
        """Regions, the objective and the gap."""
        regions = f"{int(self.values['region'].max(initial=-1)) + 1:,}, in {self.rounds} rounds"
        certain = f"{self.objective:,.6g}, at most {self.gap:.2g} above the minimum"
        return [("regions", regions), ("objective", certain), *told(self.sent)]


@graph_call(signal=None, penalty=real, l1=real, weight=maybe(text), method=text)
def fused_lasso(
    graph: Graph,
    signal: str | Sequence[float],
    penalty: float = 1.0,
    *,
    l1: float = 0.0,
    weight: str | None = "weight",
    method: str = "highest",
    **where: Any,
) -> FusedLasso:
    """The signal x that minimises 1/2 |x - y|^2 + penalty * sum of w |x_u - x_v| over edges + l1 * sum of |x_v|.

    Parameters
    ----------
    signal
        y: a number for each vertex in the order of ``graph.ids``, or the path of a .npy or text file with them.
    penalty
        The price of a difference between neighbours: 0 leaves the signal, a large one its mean on each component.
    l1
        The price of being other than 0.
    weight
        The edge column w; 1 for each edge without such a column, or with None.
    method
        That of the flows, as for :func:`maximum_flow`: "highest" or "rounds". The signal is the same.
    **where
        The options of :func:`arcflux.run` that say where it runs: `threads`, `parts`, `transport`, `ranks_per_node`.

    Edges of a directed graph count as undirected ones; parallel edges add up. Numbers are kept to 58 bits of their sum,
    so that the result is exact but for rounding, and the same on any number of workers; ``result.gap`` proves it.

    Examples
    --------
    >>> import arcflux as af
    >>> af.fused_lasso("path:4", [0, 0, 10, 10], penalty=3)["signal"].tolist()
    [1.5, 1.5, 8.5, 8.5]
    """
    for name, value in (("penalty", penalty), ("l1", l1)):
        if not 0 <= value < math.inf:
            raise UsageError(f"{name} is {value!r}", expected="a number from 0 on")
    solver = solver_of(method)
    given = numbers_of_vertices("signal", signal, graph.vertices)
    rates = edge_weights(graph, weight)
    with np.errstate(over="ignore"):
        squares = float((given**2).sum())
        prices = penalty * (np.ones(graph.arcs) if rates is None else rates.astype(np.float64))
        whole = float(prices.sum())
    if squares == math.inf:
        raise UsageError(
            f"the largest number of signal is {np.abs(given).max():g}, and squares sum to infinity",
            expected="smaller numbers", remedy="divide signal, penalty and l1 by the same number",
        )  # fmt: skip
    if whole == math.inf:
        raise UsageError("penalty times the weights sums to infinity", expected="smaller numbers")
    made = _network(graph, prices)
    done = launch(graph, where, lambda worker: _work(worker, made, given, solver))
    middle, regions, ratios, rounds, sent = done.answer
    found = np.sign(middle) * np.maximum(np.abs(middle) - l1, 0.0)
    dual = _duals(graph, made, ratios, prices)
    objective, gap = _certificate(graph, given, found, prices, dual, l1)
    result = FusedLasso(
        "fused_lasso", graph, {"signal": found, "region": _numbered(regions)}, [], True, done.seconds,
        done.compile_seconds, objective=objective, gap=gap, dual=dual, rounds=rounds, sent=sent,
        validator=lambda one: af.validate.fused_lasso(
            graph, given, one["signal"], penalty, one.dual, l1=l1, weight=weight
        ),
    )  # fmt: skip
    return done.finish(result)


def _network(graph: Graph, prices: Array) -> tuple[Graph, Array]:
    """Neighbours in both directions and a sink behind all, with the price of each pair; and the reverse arcs."""
    from arcflux.graph.build import reverse

    n = graph.vertices
    source, target, places = graph.edge_numbers()
    every, sink = np.arange(n), np.full(n, n)
    ends = [source.astype(np.int64), target.astype(np.int64)]
    costs = np.concatenate([prices[places], prices[places], np.zeros(2 * n)])
    made = Graph.from_edges(
        np.concatenate([*ends, every, sink]), np.concatenate([*ends[::-1], sink, every]), columns={"price": costs},
        vertices=n + 1, deduplicate="sum", drop_self_loops=True,
    )  # fmt: skip
    back = reverse(*made.out, carry=True)[2]
    assert back is not None
    return made, back


def _work(
    worker: Worker, made: tuple[Graph, Array], signal: Array, method: type[Solver]
) -> tuple[Array, Array, Array, int, dict[str, int]]:  # fmt: skip
    """The solution without l1, its regions, the share of its price on each arc, rounds, and bytes sent."""
    graph, back = made
    (offsets, heads), n = graph.out, graph.vertices - 1
    mean = float(signal.mean()) if n else 0.0
    whole = float(np.abs(signal - mean).sum())
    bits = _BITS - 2 - math.frexp(whole)[1]
    # No edge carries more than the total, so a larger price is as good as infinite.
    price = np.rint(np.ldexp(np.minimum(graph.columns["price"], 2 * whole or 1.0), bits)).astype(np.int64)
    free = Network(offsets, heads, back, np.zeros_like(price), 1.0, 0)
    rows = np.repeat(np.arange(n + 1), np.diff(offsets).astype(np.int64))
    solver = method(worker, free)
    state = _Regions(np.rint(np.ldexp(signal - mean, bits)).astype(np.int64), rows, heads.astype(np.int64), price)
    full = np.where(price > 0, graph.columns["price"], 1.0)
    with worker.task("fused lasso", n, "vertices") as task:
        while state.live.any():
            capacity, excess = state.demand(offsets)
            solver.reset(capacity, excess)
            solver.flow(n, n)
            taken = np.ldexp((capacity - solver.rows_left()).astype(np.float64), -bits)
            state.split(~solver.reaches()[:n], taken / full)
            task.at(n - int(state.live.sum()))
    return np.ldexp(state.level, -bits) + mean, state.region, state.ratio, state.rounds, solver.traffic.total()


class _Regions:
    """Regions of vertices, in units; live: int bool[n], those whose region may still be split."""

    def __init__(self, signal: Array, rows: Array, heads: Array, price: Array) -> None:
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        self.n = len(signal)
        self.base, self.rows, self.heads, self.price = signal, rows, heads, price
        self.inner = (rows < self.n) & (heads < self.n)
        joined = self.inner & (price > 0)
        # With 64-bit indices, scipy 1.11 finds no components, without an error.
        ends = rows[joined].astype(np.int32), heads[joined].astype(np.int32)
        links = csr_array((np.ones(len(ends[0]), np.int8), ends), (self.n, self.n))
        self.region = connected_components(links, directed=False)[1].astype(np.int64)
        self.live, self.level = np.ones(self.n, bool), np.zeros(self.n)
        self.ratio, self.rounds = np.zeros(len(rows)), 0

    def demand(self, offsets: Array) -> tuple[Array, Array]:
        """Capacities and excess of the next flow: vertices above their region's mean have excess, others room."""
        sums = np.zeros(int(self.region.max(initial=-1)) + 1, np.int64)
        np.add.at(sums, self.region, self.base)
        self.sizes = np.bincount(self.region)
        self.mean = sums / self.sizes
        middle = (2 * sums + self.sizes) // (2 * self.sizes)
        self.over = np.where(self.live, self.base - middle[self.region], 0)
        capacity = np.zeros(len(self.rows), np.int64)
        self.within = np.zeros(len(self.rows), bool)
        u, v = self.rows[self.inner], self.heads[self.inner]
        self.within[self.inner] = (self.region[u] == self.region[v]) & self.live[u]
        capacity[self.within] = self.price[self.within]
        capacity[offsets[1:-1].astype(np.int64) - 1] = np.maximum(0, -self.over)  # the last arc of a row: to the sink
        return capacity, np.append(np.maximum(0, self.over), 0)

    def split(self, high: Array, part: Array) -> None:
        """Split each region into the part that should be higher and the rest; or it is final, if that gains nothing.

        `part`: the flow on each arc, as a share of its full price.
        """
        self.rounds += 1
        high = high & self.live
        u, v = self.rows[self.within], self.heads[self.within]
        crossing = np.flatnonzero(self.within)[high[u] & ~high[v]]
        gain = np.zeros(len(self.sizes), np.int64)
        np.add.at(gain, self.region[high], self.over[high])
        np.subtract.at(gain, self.region[self.rows[crossing]], self.price[crossing])
        members = np.bincount(self.region[high], minlength=len(self.sizes))
        parted = (members > 0) & (members < self.sizes) & (gain > 2 * self.sizes)  # a smaller gain is rounding
        done = self.live & ~parted[self.region]
        self.level[done] = self.mean[self.region[done]]
        settled = self.within & done[np.minimum(self.rows, self.n - 1)] & (self.price > 0)
        self.ratio[settled] = np.clip(part[settled], -1.0, 1.0)
        crossing = crossing[parted[self.region[self.rows[crossing]]]]
        a, b, taken = self.rows[crossing], self.heads[crossing], self.price[crossing]
        np.subtract.at(self.base, a, taken)
        np.add.at(self.base, b, taken)
        self.ratio[crossing] = 1.0
        keys = self.rows * (self.n + 1) + self.heads
        self.ratio[np.searchsorted(keys, b * (self.n + 1) + a)] = -1.0
        self.live &= ~done
        self.region = np.unique(2 * self.region + (high & parted[self.region]), return_inverse=True)[1]


def _duals(graph: Graph, made: tuple[Graph, Array], ratios: Array, prices: Array) -> Array:
    """The price on each arc of the graph, as its share of that of all arcs between its ends."""
    (offsets, heads), size = made[0].out, made[0].vertices
    keys = np.repeat(np.arange(size), np.diff(offsets).astype(np.int64)) * size + heads.astype(np.int64)
    rows = np.repeat(np.arange(graph.vertices), np.diff(graph.out.offsets).astype(np.int64))
    own = rows * size + graph.out.neighbours.astype(np.int64)
    place = np.minimum(np.searchsorted(keys, own), len(keys) - 1)
    part = np.where(rows == graph.out.neighbours, 0.0, ratios[place]) if len(keys) else np.zeros(len(rows))
    return np.asarray(part * prices)


def _certificate(
    graph: Graph, signal: Array, found: Array, prices: Array, dual: Array, l1: float
) -> tuple[float, float]:  # fmt: skip
    """The objective, and the duality gap: how far the minimum can be below it."""
    source, target, places = graph.edge_numbers()
    spread = float((prices[places] * np.abs(found[source] - found[target])).sum())
    objective = 0.5 * float(((found - signal) ** 2).sum()) + spread + l1 * float(np.abs(found).sum())
    out = np.bincount(source, dual[places], graph.vertices) - np.bincount(target, dual[places], graph.vertices)
    out = out + np.clip(signal - out, -l1, l1)
    return objective, objective - float((signal * out - 0.5 * out**2).sum())


def _numbered(region: Array) -> Array:
    """Regions numbered by their first vertex, from 0 on."""
    _, first, number = np.unique(region, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    numbered: Array = rank[number]
    return numbered

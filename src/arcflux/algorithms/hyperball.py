"""HyperBall: closeness of large graphs, by counters of how many vertices are within some steps of each one.

Every vertex has 64 registers of a HyperLogLog counter (Flajolet and others 2007). In each superstep it takes the
maximum of its own and of its in-neighbours' registers: then it counts vertices one step further away. The number of new
vertices per step gives the distances (Boldi, Vigna, "In-core computation of geometric centralities with HyperBall",
2013).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

import arcflux as af
from arcflux.checks import flag, unwelcome
from arcflux.checks import seed as any_seed
from arcflux.engine.call import graph_call
from arcflux.graph import Graph

__all__ = ["HyperBall", "approximate_closeness"]


@af.program
class HyperBall:
    """`reached` estimates how many vertices lead here, including itself; `total` the sum of their distances."""

    seed: int = 0
    registers: af.u8[64]
    reached: af.f64
    total: af.f64
    harmonic: af.f64

    def start(v, p):
        v.registers[int(64.0 * af.random(v, 0, k=0, seed=p.seed)) % 64] = 1 + int(
            -math.log(1.0 - af.random(v, 0, k=1, seed=p.seed)) / math.log(2.0)
        )
        v.reached = 1.0
        return True

    def compute(v, u):
        v.registers = max(v.registers, u.registers)

    def update(v, old, step):
        changed = False
        empty = 0
        sum = 0.0
        for j in range(64):
            changed = changed or v.registers[j] != old.registers[j]
            empty += 1 if v.registers[j] == 0 else 0
            sum += 2.0 ** (-1.0 * v.registers[j])
        if not changed:
            return False
        estimate = 0.709 * 64.0 * 64.0 / sum
        if estimate < 160.0 and empty > 0:  # few vertices: estimated from the registers without a draw
            estimate = 64.0 * math.log(64.0 / empty)
        grown = max(0.0, estimate - old.reached)
        v.reached = old.reached + grown
        v.total = old.total + grown * (step + 1)
        v.harmonic = old.harmonic + grown / (step + 1)
        return True


@graph_call(wf_improved=flag, seed=any_seed, given=unwelcome)
def approximate_closeness(graph: Graph, wf_improved: bool = True, seed: int = 0, **options: Any) -> af.Result:
    """About :func:`arcflux.closeness_centrality` and `harmonic` centrality, in as many passes as the graph is deep.

    `centrality`, `harmonic` and `reached`, how many vertices lead to each, are estimates: numbers of vertices are right
    to about 13 % in theory (one standard deviation), and the same for the same seed, wherever it runs. Edges are
    followed in their direction and count 1.

    Examples
    --------
    >>> import arcflux as af
    >>> found = af.approximate_closeness("grid:30x30", seed=1)
    >>> bool(0.5 < found["centrality"].mean() / af.closeness_centrality("grid:30x30")["centrality"].mean() < 2)
    True
    """
    made = af.run(HyperBall, graph, seed=seed, **options)
    reached, total = made.values["reached"] - 1.0, made.values["total"]
    share = np.divide(reached, total, out=np.zeros(graph.vertices), where=total > 0)
    if wf_improved and graph.vertices > 1:
        share = share * np.minimum(1.0, reached / (graph.vertices - 1))
    values = {"centrality": share, "harmonic": made.values["harmonic"], "reached": np.maximum(0.0, reached)}
    return replace(made, name="approximate_closeness", values=values)

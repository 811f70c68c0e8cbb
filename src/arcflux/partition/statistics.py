"""How good a split is: how even, how many arcs it cuts, on how many parts a vertex is, what parts read of others."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux import config
from arcflux.graph.core import Graph
from arcflux.partition import kernels
from arcflux.partition.rule import Rule, Tables
from arcflux.spmd.memory import frozen, recycled
from arcflux.spmd.pool import run

__all__ = ["Statistics", "examine"]

Array = NDArray[Any]

_WORD = 64


@dataclass(frozen=True)
class Statistics:
    """What there is to say about some parts; lists have an entry for each part."""

    edge_imbalance: float
    """Arcs of the largest part, as a multiple of the mean."""
    vertex_imbalance: float
    """Owned vertices of the part with most, as a multiple of the mean."""
    cut: int
    """Arcs whose ends have different owners."""
    cut_share: float
    """The same as a share of all arcs."""
    replication: float
    """On how many parts a vertex is on average: where it is owned, or an end of an arc."""
    arcs: list[int] = field(repr=False)
    """Arcs at each part."""
    vertices: list[int] = field(repr=False)
    """Vertices that each part owns."""
    ins: list[int] = field(repr=False)
    """Sizes of INS: sources of the arcs at each part."""
    ons: list[int] = field(repr=False)
    """Sizes of ONS: targets of the arcs at each part."""
    uds: list[int] = field(repr=False)
    """Sizes of UDS when each part is a node: sources that another part owns."""

    def to_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return asdict(self)


def examine(graph: Graph, k: int, owner: Array, rule: Rule, *, duplicated: bool = False) -> Statistics:
    """The statistics of `k` parts, in one pass over the arcs and one for each 64 parts."""
    workers, n = config.threads(), graph.vertices
    tables = rule.tables(owner, graph)
    chunks = -(-n // kernels.CHUNK)
    arcs, cut = np.zeros((workers, k), np.int64), np.zeros(workers, np.int64)
    run(kernels.survey, chunks, graph.into, owner, tables, arcs, cut)
    here = arcs.sum(axis=0)
    owned = np.bincount(owner, minlength=k)
    ends = np.concatenate([_ends(graph, owner, k, base, tables) for base in range(0, k, _WORD)], axis=1)[:, :k]
    crossing = int(cut.sum())
    return Statistics(
        edge_imbalance=_imbalance(here),
        vertex_imbalance=_imbalance(owned),
        cut=crossing,
        cut_share=crossing / max(1, graph.arcs),
        replication=float(k) if duplicated else int(ends[3].sum()) / max(1, n),
        arcs=here.tolist(),
        vertices=owned.tolist(),
        ins=ends[0].tolist(),
        ons=ends[1].tolist(),
        uds=ends[2].tolist(),
    )


def _ends(graph: Graph, owner: Array, k: int, base: int, rule: Tables) -> NDArray[np.int64]:
    """For 64 parts from `base` on, how many vertices are a source, a target, a foreign source, or anything there."""
    n = graph.vertices
    numbers = frozen(np.arange(n, dtype=graph.out.neighbours.dtype))
    inside = np.arange(base, min(base + _WORD, k))
    bits = np.zeros(k, np.uint64)
    bits[inside] = np.uint64(1) << (inside - base).astype(np.uint64)
    full, chunks = np.bitwise_or.reduce(bits), -(-n // kernels.CHUNK)
    sources, targets = recycled(n, np.uint64), recycled(n, np.uint64)
    run(kernels.masks, chunks, graph.out, numbers, True, frozen(bits), full, rule, sources)
    run(kernels.masks, chunks, graph.into, numbers, False, frozen(bits), full, rule, targets)
    counts = np.zeros((config.threads(), 4, _WORD), np.int64)
    run(kernels.tally, -(-n // kernels.LIST), sources, targets, owner, np.uint64(base), counts)
    summed: NDArray[np.int64] = counts.sum(axis=0)
    return summed


def _imbalance(counts: NDArray[np.int64]) -> float:
    """The largest as a multiple of the mean; 1 when there is nothing."""
    return float(counts.max() / counts.mean()) if counts.any() else 1.0
